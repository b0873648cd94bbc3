//! The binary `speedup`.

use std::process::ExitCode;

fn main() -> ExitCode {
    speedup_cli::main()
}
