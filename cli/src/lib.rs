//! The command `speedup`: it asks, and shows what was answered. Nothing is decided here that the plan, the
//! coordinator or the analysis decides.
//!
//! It is a library so that other binaries (those of the whole-system tests) can be the same command; the binary's main
//! is [`main`] alone.
//!
//! In reading order:
//!
//! 1. `command`: one file a verb, in groups; `arguments`: options that verbs share; `exit`: how a command ends;
//! 2. `compose`: the libraries put together; `connection`: where the coordinator is, and which experiment is meant;
//! 3. `plan`: the plan as the user gives it; `follow`: while it is carried out; `results`: what was measured;
//!    `session`: all of it on this machine; `gate`: exit codes from verdicts;
//! 4. `samples`: sample files, without a coordinator; `tracks`: standing experiments kept by name; `console`: how it is shown.

mod arguments;
mod command;
mod compose;
mod connection;
mod console;
mod exit;
mod follow;
mod gate;
mod plan;
mod results;
mod samples;
mod session;
mod tracks;

use std::process::ExitCode;

use speedup_agent::launch::timed_rank;

use crate::{
    command::command_line, command::command_line::CommandRequest, console::Color, console::Console,
    results::draft,
};

/// The whole command, or the timer of a rank where it is started under that name: reads the arguments of the process, does what they ask, and gives the exit code.
pub fn main() -> ExitCode {
    if let Some(ended) = timed_rank() {
        return ended;
    }
    if let Err(failure) = compose::resources::prepare() {
        return ExitCode::from(failure.tell(&Console::new(Color::Auto)).code());
    }
    compose::settle_name_service();
    let read = match command_line::read(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(read) => read,
        Err(error) => {
            // Help that nobody reads to the end is no failure.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::Exit::Usage.code()));
        }
    };
    let CommandRequest { arguments, answer_file, outdated } = read;
    let color = arguments.color;
    let console = Console::new(color);
    if let Some(outdated) = outdated {
        console.warn(outdated);
    }
    // Whether standard output is a terminal is known once it goes where the answer goes.
    let work = || command::execute(arguments, &Console::new(color));
    let done = match &answer_file {
        Some(path) => draft::redirect(path, work),
        None => work(),
    };
    ExitCode::from(done.unwrap_or_else(|failure| failure.tell(&console)).code())
}
