//! The Speedup-Test on sample files, as the program of Touati 2010 §6 reads and writes them.
//!
//! In reading order:
//!
//! 1. `input`: the configuration and the samples that it names;
//! 2. `answer`: what the statistics say of them, as plain data; `warning`: what the reader must know beside it;
//! 3. `results`, `report`, `warnings`, `status`: the texts of the four output files; `outputs`: the files.

pub(crate) mod answer;
pub(crate) mod input;
pub(crate) mod outputs;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod rows;
pub(crate) mod status;
pub(crate) mod warning;
pub(crate) mod warnings;
