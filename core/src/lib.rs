//! The pure heart of Speedup: what an experiment is, how its runs are planned, and the two machines that carry them
//! out. Bytes, commands, times and seeds come in; events, effects and refusals go out.
//!
//! It is not a service: there is no file, socket, clock, thread or global randomness here, and `clippy.toml` keeps it so.
//!
//! In reading order:
//!
//! 1. [`value`]: ids, times, seeds and counts; errors in words; bounded reading;
//! 2. [`fingerprint`]: the facts by which hosts are identical or not;
//! 3. [`experiment`]: what is measured, on what and under which circumstances, how often
//!    ([`repetition`]) and how independent of each other ([`independence`]);
//! 4. [`plan`]: from the text that a user writes to every run in its order;
//! 5. [`run`]: the state of a run, the lease on it, the work it is, and the record of what was done;
//! 6. [`host`]: what a host states, and what the coordinator knows of it;
//! 7. [`machine`]: the coordinator's machine with its events, whether a pool can carry out a plan, and
//!    what to request from an engine; [`agent`]: the agent's machine, and the messages of the two;
//! 8. [`journal`]: the format in which events are stored.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod agent;
pub mod experiment;
pub mod fingerprint;
#[cfg(test)]
mod fixture;
pub mod host;
pub mod independence;
pub mod journal;
pub mod machine;
pub mod plan;
pub mod repetition;
pub mod run;
pub mod value;
