//! The files under a journal: what the pure format of speedup-core needs from a disk.
