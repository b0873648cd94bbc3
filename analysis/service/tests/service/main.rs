//! The door against a coordinator that only exports.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod advise;
mod compare;
mod coordinator;
mod hostile;
mod observations;
mod report;
mod watch;
