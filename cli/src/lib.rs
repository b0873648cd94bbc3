//! The command `speedup`: it asks, and shows what was answered. Nothing is decided here that the plan, the
//! coordinator or the analysis decides.
//!
//! It is a library so that other binaries (those of the whole-system tests) can be the same command; the binary's main
//! is [`main`] alone.
//!
//! In reading order:
//!
//! 1. `arguments`: verbs and flags; `command`: one file a verb; `fraction`: what some flags hold; `exit`, `failure`: how
//!    a command ends;
//! 2. `compose`: the libraries put together; `web`: the page beside a coordinator; `local_agent`: the agent of `speedup run`;
//! 3. `connection`, `access`, `directories`: where the coordinator is; `selector`: which experiment is meant;
//! 4. `plan_source`: the plan as the user gives it; `files`: those it names; `follow`, `progress`, `live`, `interrupt`: while it
//!    is carried out;
//! 5. `attempts`, `export`, `bundle`, `failed_runs`: what was done; `speedup_test`, `compare`, `named_samples`: on
//!    sample files, without a coordinator;
//! 6. `gate`: exit codes by verdicts; `draft`: files put in place when whole; `render`, `console`, `moment`, `standing`: how it is
//!    shown; `reference`: the pages that are made from the code, by tests.

mod access;
mod arguments;
mod attempts;
mod bundle;
mod command;
mod compare;
mod compose;
mod connection;
mod console;
mod directories;
mod draft;
mod exit;
mod export;
mod failed_runs;
mod failure;
mod feasibility;
mod files;
mod follow;
mod fraction;
mod gate;
mod interrupt;
mod live;
mod local_agent;
mod moment;
mod named_samples;
mod plan_source;
mod progress;
mod proportion_interval;
#[cfg(test)]
mod reference;
mod relative;
mod render;
mod selector;
mod speedup_test;
mod standing;
mod web;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Arguments;
use crate::console::Console;

/// The whole command: reads the arguments of the process, does what they ask, and gives the exit code.
pub fn main() -> ExitCode {
    compose::name_service::settle();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help that nobody reads to the end is no failure.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::Exit::Usage.code()));
        }
    };
    let console = Console::new(arguments.color);
    let exit = command::execute(arguments, &console).unwrap_or_else(|failure| failure.tell(&console));
    ExitCode::from(exit.code())
}
