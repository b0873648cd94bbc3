//! What measures: the verbs under *Measure* in `speedup --help`, and `resume`, which goes on with what they began.

pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod init;
pub(crate) mod plan;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod track;
