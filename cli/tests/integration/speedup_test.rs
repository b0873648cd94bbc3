//! `speedup test` as a user has it: the real binary on real files.

mod folder;
mod outputs;
mod paper;
mod quirks;
mod reference;
mod refusals;
