//! The launcher with real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod end;
mod meters;
mod output;
mod preparation;
mod start;

use std::{ffi::OsString, sync::atomic::AtomicBool, time::Duration};

use speedup_agent::launch::{Execution, LaunchCommand, LaunchError, Launcher, Preparation, Sink};

/// Says on the terminal, past the harness, that a test has not tested what it should.
fn skip(why: &str) {
    use std::io::Write as _;
    let test = std::thread::current();
    let name = test.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "{name} was not tested: {why}");
}

const CAPTURE: Sink = Sink::Capture { limit: 1 << 20, keep: 4096 };
/// For what must end by itself.
const LONG: Duration = Duration::from_secs(120);

fn command(argv: &[&str]) -> LaunchCommand {
    LaunchCommand {
        argv: argv.iter().map(OsString::from).collect(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        directory: "/".into(),
        timeout: LONG,
        kill_grace: LONG,
        stdout: CAPTURE,
        stderr: CAPTURE,
        preparation: Preparation::default(),
        metrics: Vec::new(),
    }
}

fn shell(script: &str) -> LaunchCommand {
    command(&["sh", "-c", script])
}

fn run(command: &LaunchCommand) -> Execution {
    Launcher::new().unwrap().execute(command, &AtomicBool::new(false)).unwrap()
}

fn sh(script: &str) -> Execution {
    run(&shell(script))
}

fn fail(command: &LaunchCommand) -> LaunchError {
    Launcher::new().unwrap().execute(command, &AtomicBool::new(false)).unwrap_err()
}

fn stdout(execution: &Execution) -> &[u8] {
    &execution.stdout.as_ref().unwrap().head
}

fn stderr(execution: &Execution) -> &[u8] {
    &execution.stderr.as_ref().unwrap().head
}

fn text(execution: &Execution) -> String {
    String::from_utf8(stdout(execution).to_owned()).unwrap()
}
