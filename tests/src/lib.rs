//! What the whole-system tests stand on.
//!
//! * [`world`]: the coordinator's machine and many agents' machines in one thread, with every fault as a choice.

pub mod world;
