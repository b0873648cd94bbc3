//! Rules one by one, then a simulation: an engine that starts, fails, pre-empts and puts back jobs as it likes.

mod rules;
mod simulation;
