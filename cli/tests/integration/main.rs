//! The verbs that need no coordinator, through the command.

mod compare;
mod facts;
mod samples;
mod scaling;
mod speedup_test;
mod summary;
