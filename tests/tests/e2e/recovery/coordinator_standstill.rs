//! A coordinator that was suspended hears what waits on its sockets before it gives an attempt up.
#![expect(clippy::print_stdout, reason = "the figures are printed for whoever asks")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use speedup_core::run::lease::LEASE_MARGIN;
use speedup_tests::{plan::plan, pool::Pool, process::Killed};

use crate::SPEEDUP;

/// How long a run may take by the plan.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Beyond its deadline every lease is overdue that was given before.
const BEYOND: Duration = Duration::from_secs(3);
/// Runs of the plan.
const RUNS: usize = 40;

/// A way to the coordinator that can be cut, as a network is that was away.
struct Way {
    listens: String,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    /// A way to this address. It ends with the process: nobody comes in any more when the test is over.
    fn to(address: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let listens = format!("https://{}", listener.local_addr().expect("an address"));
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = open.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&address) else { continue };
                let ends = [(&near, &far), (&far, &near)];
                for (from, to) in ends {
                    let (from, to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
                    std::thread::spawn(move || carry(from, to));
                }
                kept.lock().expect("no panic").extend([near, far]);
            }
        });
        Self { listens, open }
    }

    fn cut(&self) {
        for stream in self.open.lock().expect("no panic").drain(..) {
            // It may be over already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

fn agent(pool: &Pool, host: &str, coordinator: &str) -> Killed {
    pool.write("token", pool.ok(&["token", "create", "--role", "agent"]));
    let mut command = pool.command();
    command.args(["agent", "start", "--coordinator", coordinator, "--host-id", host, "--boot-id", host]);
    command.arg("--state").arg(pool.path().join(host)).arg("--token-file").arg(pool.path().join("token"));
    Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("an agent"))
}

/// Four hosts execute runs while the coordinator stands still for longer than any lease lasts. Two stay connected, the
/// connection of one breaks and is made anew, one dies. Nothing is lost but what the dead one held.
#[test]
fn nothing_is_lost_while_it_stood_still_but_what_a_dead_host_held() {
    let mut pool = Pool::start(SPEEDUP, 3);
    // Longer than an agent pauses between attempts to connect.
    pool.set_grace("20s");
    pool.stop_coordinator();
    pool.start_coordinator();
    let way = Way::to(pool.url().replace("https://", ""));
    let _behind = agent(&pool, "behind", &way.listens);
    pool.wait_for_hosts(4);
    let timeout = TIMEOUT.as_secs();
    let rest = format!(
        "[benchmarks.brief]\ncommand = [\"sleep\", \"0.3\"]\ntimeout = \"{timeout}s\"\n[limits]\nattempts = 5\n"
    );
    let plan = plan("standstill", RUNS / 2, "any", &rest);
    let experiment = pool.submit(&plan, &[]);
    pool.wait_until_all_have_a_run();
    let coordinator = Pid::from_raw(pool.coordinator_id().cast_signed()).expect("a process");
    kill_process(coordinator, Signal::STOP).expect("a signal");
    // Neither end of that connection knows of the other's; the host comes back by itself.
    way.cut();
    pool.kill_agent(2);
    let margin = Duration::from_nanos(LEASE_MARGIN.0);
    let overdue = Instant::now() + margin + TIMEOUT + BEYOND;
    // The time that passes is what is tested.
    std::thread::sleep(overdue - Instant::now());
    kill_process(coordinator, Signal::CONT).expect("a signal");
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(RUNS), RUNS);
    ledger.assert_leases_are_unique();
    let lost: Vec<_> = ledger.rows.iter().filter(|row| row["counts"] != "true").collect();
    println!("lost: {:?}", lost.iter().map(|row| (&row["host"], &row["why_not"])).collect::<Vec<_>>());
    assert!(lost.iter().all(|row| row["host"] == "host-2"), "only the dead host lost anything: {lost:?}");
    assert!(lost.len() <= 1, "it held one lease at most: {lost:?}");
    assert!(pool.logged("coordinator").contains("was suspended"), "it is told");
}
