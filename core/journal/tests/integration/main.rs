//! The journal on a disk that fails: files, answers, checkpoints and power cuts.

mod answers;
mod checkpoint;
mod disk;
mod faults;
mod files;
mod powercut;
