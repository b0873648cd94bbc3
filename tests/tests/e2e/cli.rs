//! The command as its users type it.

mod baselines;
mod bench;
mod completion_notes;
mod doctor;
mod first_command;
mod first_screen;
mod guide;
mod limits;
mod selection;
mod tags;
mod trial;
mod watch;
