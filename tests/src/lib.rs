//! What the whole-system tests stand on.
//!
//! * [`world`]: the coordinator's machine and many agents' machines in one thread, with every fault as a choice;
//! * [`pool`]: a coordinator and agents as real processes on loopback, to be killed and started again;
//! * [`process`]: a process as the kernel shows it from outside;
//! * [`ledger`]: the checker that reads only an export.

pub mod ledger;
pub mod pool;
pub mod process;
pub mod world;

/// BLAKE3 of bytes, as plans write it.
pub fn blake3_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
