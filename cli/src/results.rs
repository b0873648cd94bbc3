//! What was measured: attempts as the coordinator keeps them, exported and bundled.

pub(crate) mod attempts;
pub(crate) mod bundle;
pub(crate) mod draft;
pub(crate) mod failed_runs;
pub(crate) mod report;
