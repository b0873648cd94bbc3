//! What makes a host fresh and identical, and what disturbed a run.

mod environment;
mod evidence;
mod identity;
mod inherited;
mod selftest;
mod silence;
