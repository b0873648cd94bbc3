//! Rules one by one, then simulations: an engine that starts, fails, preempts and puts back jobs as it likes, and several queues
//! among which the need is divided.

mod division;
mod rules;
mod simulation;
