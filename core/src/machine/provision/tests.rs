//! Rules one by one, then a simulation: an engine that starts, fails, preempts and puts back jobs as it likes.

mod rules;
mod simulation;
