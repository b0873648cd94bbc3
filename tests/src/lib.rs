//! What the whole-system tests stand on: all of it panics where something does not go as it should.
//! The simulation is a crate of its own, `speedup-simulation`.
//!
//! * [`pool`]: a coordinator and agents as real processes on loopback, to be killed and started again;
//! * [`desk`]: a directory for commands that need no coordinator;
//! * [`output`]: what commands say; [`plan`]: plans;
//! * [`process`]: a process as the kernel shows it from outside;
//! * [`screen`]: a terminal whose screen is read and whose keys are pressed;
//! * [`cluster`]: simulated hosts with addresses, boots and disks of their own, to be cut off, crashed and rebooted;
//! * [`ledger`]: an export and the checks that need nothing else;
//! * [`block_device`]: a block device that loses power while a file system on it is in use;
//! * [`wire`]: messages made from the description of the API, and what is nearly one;
//! * [`checker`]: the judge of an export and its plan, which knows every rule and shares no code with what it judges.

pub mod block_device;
pub mod checker;
pub mod cluster;
pub mod desk;
pub mod ledger;
pub mod output;
pub mod plan;
pub mod pool;
pub mod process;
pub mod screen;
pub mod siege;
pub mod wire;

/// The root of the repository.
pub fn root() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// BLAKE3 of bytes, as plans write it.
pub fn blake3_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Says on the terminal, past the harness, that a test could not test what it is for.
pub fn skip(why: &str) {
    use std::io::Write as _;
    let thread = std::thread::current();
    // A terminal that is gone reads nothing.
    let _ = writeln!(std::io::stderr(), "{} was not tested: {why}", thread.name().unwrap_or("something"));
}
