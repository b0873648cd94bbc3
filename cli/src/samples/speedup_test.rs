//! The files of the Speedup-Test as the program of Touati 2010 §6 names them.
//!
//! `input`: the configuration and the samples that it names; `outputs`: the four files that are written.

pub(crate) mod input;
pub(crate) mod outputs;
