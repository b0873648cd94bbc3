//! Memory is bounded before anybody is let in: streams without end over connections without a certificate.
#![expect(clippy::print_stdout, reason = "the figures are printed for whoever asks")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::nice;
use rustls::{ClientConnection, StreamOwned};
use speedup_tests::pool::{Pool, eventually};

use crate::{SPEEDUP, security::attacks::stranger};

const CONNECTIONS: usize = 8;
/// Streams that are opened in all.
const STREAMS: usize = 800_000;
/// Streams that are sent before it is heard what is said to them.
const AT_ONCE: u32 = 1_000;
/// What the coordinator may take for it, in KiB.
const MOST_KIB: u64 = 100 << 10;
/// What the kernel counts processor time in, for other programs.
const TICKS_PER_SECOND: f64 = 100.0;
/// The lowest priority of a thread.
const LOWEST: i32 = 19;
/// Pause before a connection is made anew that was not let in.
const PAUSE: Duration = Duration::from_millis(5);

const PLAN: &str = "[experiment]\nname = \"witness\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.true]\ncommand = [\"sleep\", \"0.02\"]\n[repetitions]\nruns = 150\n[independence]\npolicy = \"any\"\n";
const RUNS: f64 = 300.0;

#[test]
fn streams_without_end_cost_no_memory_and_leave_the_known_their_rate() {
    let pool = Pool::start(SPEEDUP, 2);
    let process = pool.coordinator_id();
    let before = resident_kib(process, "VmRSS");
    // From now on the peak is that of what follows.
    std::fs::write(format!("/proc/{process}/clear_refs"), "5").expect("a peak that is reset");
    let alone = witness(&pool);
    for (what, most) in [("a flood", STREAMS), ("a flood without end", usize::MAX)] {
        let flood = Flood { most, ..Flood::default() };
        let (began, busy) = (Instant::now(), processor_seconds(process));
        let beside = std::thread::scope(|scope| {
            let _end = EndOf(&flood);
            (0..CONNECTIONS).for_each(|_| drop(scope.spawn(|| flood.send(&pool))));
            let beside = witness(&pool);
            eventually("the streams were sent", || (flood.sent() >= STREAMS).then_some(()));
            beside
        });
        let (took, busy) = (began.elapsed().as_secs_f64(), processor_seconds(process) - busy);
        let peak = resident_kib(process, "VmHWM");
        println!(
            "{what}: {} streams in {took:.1} s over {CONNECTIONS} connections without certificate, made anew {} times: \
             resident memory {before} KiB before, {peak} KiB at its peak; the witness had {beside:.1} runs/s beside it and \
             {alone:.1} alone ({:.0} %); the coordinator took {busy:.1} s of processor",
            flood.sent(),
            flood.connected.load(Ordering::Relaxed),
            beside / alone * 100.0
        );
        assert!(peak.saturating_sub(before) < MOST_KIB, "{before} KiB grew to {peak} KiB");
    }
}

/// Streams without end, or as many as there are to be.
#[derive(Default)]
struct Flood {
    most: usize,
    sent: AtomicUsize,
    connected: AtomicUsize,
    is_over: AtomicBool,
}

/// Ends a flood when it is dropped, also by a panic.
struct EndOf<'a>(&'a Flood);

impl Drop for EndOf<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Flood {
    fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed) && self.sent() < self.most
    }

    /// Sends over one connection after the other.
    fn send(&self, pool: &Pool) {
        // Of this thread alone: an attacker has processors of its own and takes none from the pool.
        nice(LOWEST).expect("a lower priority");
        while self.goes_on() {
            self.connected.fetch_add(1, Ordering::Relaxed);
            self.send_over(stranger(pool));
            std::thread::sleep(PAUSE);
        }
    }

    /// Opens streams over one connection, each the beginning of a call, until it is ended.
    fn send_over(&self, mut stream: StreamOwned<ClientConnection, TcpStream>) {
        let mut next = 1;
        let mut batch = begin();
        while self.goes_on() {
            (0..AT_ONCE).for_each(|number| headers(next + 2 * number, &mut batch));
            if stream.write_all(&batch).and_then(|()| stream.flush()).is_err() {
                return;
            }
            self.sent.fetch_add(AT_ONCE as usize, Ordering::Relaxed);
            batch.clear();
            next += 2 * AT_ONCE;
            if !is_open(&mut stream) {
                return;
            }
        }
    }
}

/// Runs per second of a plan from submission to end.
fn witness(pool: &Pool) -> f64 {
    let began = Instant::now();
    pool.finish(PLAN);
    RUNS / began.elapsed().as_secs_f64()
}

/// Takes what was answered without looking at it: whoever does not read is not written to either.
fn is_open(stream: &mut StreamOwned<ClientConnection, TcpStream>) -> bool {
    let unread = |stream: &StreamOwned<ClientConnection, TcpStream>, whether| {
        stream.sock.set_nonblocking(whether).expect("a socket");
    };
    unread(stream, true);
    let is_open = loop {
        match stream.read(&mut [0; 16 << 10]) {
            Ok(0) => break false,
            Ok(_) => {}
            Err(error) => break error.kind() == ErrorKind::WouldBlock,
        }
    };
    unread(stream, false);
    is_open
}

/// How HTTP/2 begins, with empty settings.
fn begin() -> Vec<u8> {
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat()
}

/// The head of a call of the one method that strangers may call, which never goes on. The first one says it in words, which
/// those after it name by their numbers.
fn headers(stream: u32, to: &mut Vec<u8>) {
    let (post, https) = (0x83, 0x87);
    let mut block = vec![post, https];
    if stream == 1 {
        for (name, value) in [(0x44, "/speedup.v1.Access/Enrol"), (0x41, "x"), (0x5f, "application/grpc")] {
            block.extend([name, value.len() as u8]);
            block.extend(value.as_bytes());
        }
    } else {
        block.extend([0xc0, 0xbf, 0xbe]);
    }
    let end_headers = 4;
    to.extend([0, 0, block.len() as u8, 1, end_headers]);
    to.extend(stream.to_be_bytes());
    to.extend(block);
}

fn resident_kib(process: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix(what)).expect("its memory");
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number")
}

/// What a process has taken of the processors.
fn processor_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks"));
    ticks.sum::<u64>() as f64 / TICKS_PER_SECOND
}
