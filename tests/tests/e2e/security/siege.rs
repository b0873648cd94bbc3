//! Strangers who say nothing do not keep the known out: of the doors, of the page, of the metrics. Times are printed; that it
//! works is asserted.
#![expect(clippy::print_stdout, reason = "the figures are printed for whoever asks")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use speedup_tests::{plan::trivial, pool::Pool, process::Killed, siege::Siege};

use crate::{SPEEDUP, security::page::Browser};

/// What they say: nothing, or the first bytes of a handshake.
const SAID: [(&str, &[u8]); 2] =
    [("silent sockets", b""), ("half hellos", &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])];
/// How many there are, all from the address of those who are known.
const STRANGERS: usize = 1_000;
/// How often a command is tried.
const COMMANDS: usize = 20;

fn longest(times: impl Iterator<Item = Duration>) -> Duration {
    times.max().unwrap_or_default()
}

#[test]
fn commands_and_agents_come_through_a_thousand_who_say_nothing() {
    let mut pool = Pool::start(SPEEDUP, 2);
    for (what, says) in SAID {
        let siege = Siege::of(&pool.url().replace("https://", ""), STRANGERS, says);
        let times = (0..COMMANDS).map(|_| {
            let began = Instant::now();
            assert!(pool.speedup(&["list"]).status.success(), "{what}");
            began.elapsed()
        });
        let slowest = longest(times.collect::<Vec<_>>().into_iter());
        pool.kill_coordinator();
        let began = Instant::now();
        pool.start_coordinator();
        let started = began.elapsed();
        pool.wait_for_hosts(2);
        let back = began.elapsed();
        pool.finish(&trivial("besieged", 5));
        println!(
            "{what}: {STRANGERS} at once, {} in all; {COMMANDS} commands, the slowest {slowest:.2?}; a coordinator killed \
             and started anew listened after {started:.2?} and had its agents after {back:.2?}",
            siege.made()
        );
    }
}

#[test]
fn the_page_answers_beside_a_thousand_half_heads() {
    let pool = Pool::without_agents(SPEEDUP);
    let known = Browser::of(&pool, &pool.access_file());
    for (what, says) in [("silent sockets", &b""[..]), ("half heads", b"GET / HTTP/1.1\r\nHost:")] {
        let siege = Siege::of(known.authority(), STRANGERS, says);
        let times = (0..COMMANDS).map(|number| {
            let began = Instant::now();
            assert_eq!(known.get("/").code, 200, "{what}, page {number}");
            began.elapsed()
        });
        let slowest = longest(times.collect::<Vec<_>>().into_iter());
        let began = Instant::now();
        let another = Browser::of(&pool, &pool.access_file());
        assert_eq!(another.get("/").code, 200, "{what}: one who signs in anew");
        println!(
            "{what}: {STRANGERS} at once, {} in all; {COMMANDS} pages, the slowest {slowest:.2?}; signed in anew in {:.2?}",
            siege.made(),
            began.elapsed()
        );
    }
}

#[test]
fn metrics_are_told_beside_a_thousand_who_ask_nothing() {
    let pool = Pool::without_agents(SPEEDUP);
    let own = Watched::start(&pool);
    for (what, says) in [("silent sockets", &b""[..]), ("half heads", b"GET /metrics HTTP/1.1\r\n")] {
        let siege = Siege::of(&own.metrics, STRANGERS, says);
        let times = (0..COMMANDS).map(|_| {
            let began = Instant::now();
            assert!(asked(&own.metrics).starts_with("HTTP/1.1 200"), "{what}");
            began.elapsed()
        });
        let slowest = longest(times.collect::<Vec<_>>().into_iter());
        println!(
            "{what}: {STRANGERS} at once, {} in all; {COMMANDS} answers, the slowest {slowest:.2?}",
            siege.made()
        );
    }
}

/// A coordinator that tells its metrics, killed when dropped.
struct Watched {
    _child: Killed,
    /// Where they are told.
    metrics: String,
}

impl Watched {
    fn start(pool: &Pool) -> Self {
        let mut command = pool.command();
        command.args(["coordinator", "start", "--name", "watched", "--bind", "127.0.0.1:0", "--web", "off"]);
        command.args(["--metrics", "127.0.0.1:0", "--format", "json"]).env_remove("SPEEDUP_COORDINATOR");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a coordinator");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let started: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let url = started["metrics"].as_str().expect("an address");
        let metrics = url.replace("http://", "").replace("/metrics", "");
        Self { _child: Killed(child), metrics }
    }
}

fn asked(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("it is open");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}
