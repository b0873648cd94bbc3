//! What needs no plan: the verbs under *Statistics on your own data*.

pub(crate) mod baseline;
pub(crate) mod compare;
pub(crate) mod import;
pub(crate) mod samples;
pub(crate) mod scaling;
pub(crate) mod study;
pub(crate) mod test;
