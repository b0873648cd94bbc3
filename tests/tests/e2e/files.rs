//! Files, builds, commits and software that runs need.

mod builds;
mod git;
mod programs;
mod scratch;
mod software;
mod staged;
