//! The command `speedup`, built with the tests, so that they never run a stale one.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, ExitCode},
};

/// `SIGINT` and `SIGQUIT` in the masks of `/proc/self/status`.
const SIGNALS_OF_THE_KEYBOARD: u64 = 0b110;

/// Whether whoever started the tests ignores a signal that tests send. A shell does, for what it starts in the background.
fn ignores_a_signal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGNALS_OF_THE_KEYBOARD != 0)
}

fn main() -> ExitCode {
    let this = std::env::current_exe().expect("the path of this program");
    // Under another name the command is another program, and `env` cannot pass a name on.
    let has_own_name =
        std::env::args_os().next().is_some_and(|name| Path::new(&name).file_name() == this.file_name());
    if has_own_name && ignores_a_signal() {
        // An ignored signal stays ignored in all that is executed, so the program `env` resets it, in this same process.
        let mut reset = Command::new("/usr/bin/env");
        reset.arg("--default-signal=INT,QUIT").arg(this).args(std::env::args_os().skip(1));
        panic!("/usr/bin/env is missing: {}", reset.exec());
    }
    speedup_cli::main()
}
