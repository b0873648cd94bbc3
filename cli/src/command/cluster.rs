//! What serves and looks after a pool of hosts: the verbs under *Operate a cluster*.

pub(crate) mod access;
pub(crate) mod agent;
pub(crate) mod analysis;
pub(crate) mod coordinator;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod hosts;
pub(crate) mod page;
