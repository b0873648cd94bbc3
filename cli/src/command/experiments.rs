//! What follows and changes experiments of a coordinator: the verbs under *Experiments on a cluster*.

pub(crate) mod change;
pub(crate) mod explain;
pub(crate) mod submit;
pub(crate) mod wait;
pub(crate) mod watch;
