//! What reads results: the verbs under *Read results*.

pub(crate) mod bundle;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod report;
pub(crate) mod verify;
