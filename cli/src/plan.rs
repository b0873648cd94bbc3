//! The plan that a command is given: where it is read from, the files it names, and whether the pool can carry it out.

pub(crate) mod commits;
pub(crate) mod doubt;
pub(crate) mod dropped;
pub(crate) mod feasibility;
pub(crate) mod files;
pub(crate) mod line;
pub(crate) mod point;
pub(crate) mod prior;
pub(crate) mod repository;
pub(crate) mod selection;
pub(crate) mod source;
