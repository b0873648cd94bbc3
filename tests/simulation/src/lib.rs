//! The deterministic simulation: the coordinator's machine and many agents' machines in one thread, with every fault as
//! a choice.
//!
//! It needs `core` alone, so that a change of `core` is tried against many histories within seconds.
//!
//! * [`world`]: what there is, what may happen to it, and the verdict on its journal;
//! * [`experiment`]: experiments as worlds draw them;
//! * [`history`]: worlds from their beginning to their end, each from a seed;
//! * [`crowd`]: thousands of hosts in simulated time, and how long gangs wait.

pub mod crowd;
pub mod experiment;
pub mod history;
pub mod world;
