//! The command `speedup`, built with the tests, so that they never run a stale one.

use std::process::ExitCode;

fn main() -> ExitCode {
    speedup_cli::main()
}
