//! `speedup coordinator backup` and `restore`: all that cannot be made anew, out of a data directory and into one.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use speedup_core::value::hint::Hinted;

use crate::arguments::{Output, OutputArgument};
use crate::command::{coordinator, json_line, print};
use crate::compose::{self, BackupError};
use crate::connection::access;
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Saves a data directory into a new one, also while its coordinator runs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup coordinator backup /backup/speedup-$(date +%F)\n\n\
    What was acknowledged when the command began is in the backup. It holds the authority's key: keep it as secret as the \
    data directory. It is made from the files, so it has to run on the coordinator's machine, as its user.")]
pub(crate) struct BackupArguments {
    /// The directory to make
    #[arg(value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: OutputArgument,
}

/// Restores a backup into a data directory that is empty or not there
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  speedup coordinator restore /backup/speedup-2026-11-22 --data /var/lib/speedup\n\n\
    Every file is checked first. Start the coordinator with the same --data afterwards; agents and users are let in as \
    before, and what was recorded after the backup is gone."
)]
pub(crate) struct RestoreArguments {
    /// The backup
    #[arg(value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: OutputArgument,
}

/// Whose data directory it is.
#[derive(Debug, Args)]
struct Place {
    /// Which of several coordinators of this user it is
    #[arg(long, value_name = "NAME", default_value = access::DEFAULT, value_parser = access::name)]
    name: String,
    /// Where journal and store lie [default: $XDG_STATE_HOME/speedup/coordinator, or coordinators/NAME beside it]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Place {
    fn data(&self) -> Result<PathBuf, Failure> {
        coordinator::data_directory(self.data.as_deref(), &self.name)
    }
}

pub(super) fn back_up(arguments: &BackupArguments, console: &Console) -> Result<Exit, Failure> {
    let data = arguments.place.data()?;
    let contents = compose::back_up(&data, &arguments.to)
        .map_err(|error| failed(&format!("cannot save {}", data.display()), error))?;
    tell(console, arguments.output, "saved", &arguments.to, contents)
}

pub(super) fn restore(arguments: &RestoreArguments, console: &Console) -> Result<Exit, Failure> {
    let data = arguments.place.data()?;
    let contents = compose::restore(&arguments.from, &data)
        .map_err(|error| failed(&format!("cannot restore {}", arguments.from.display()), error))?;
    tell(console, arguments.output, "restored", &data, contents)
}

fn tell(
    console: &Console,
    output: OutputArgument,
    done: &str,
    place: &Path,
    contents: compose::Contents,
) -> Result<Exit, Failure> {
    let compose::Contents { position, files, bytes } = contents;
    if output.output == Output::Json {
        let answer = json!({ done: place, "position": position.0, "files": files, "bytes": bytes });
        print(console, &json_line(&answer))?;
    } else {
        let place = place.display();
        print(
            console,
            &format!("{done} {place}: all events before {position}, {files} files, {bytes} bytes"),
        )?;
    }
    Ok(Exit::Done)
}

/// What is there or damaged is the user's to choose anew; the rest is the disk's.
fn failed(tried: &str, error: BackupError) -> Failure {
    let hint = error.hint();
    let failure = match error {
        BackupError::Exists(_) | BackupError::NotEmpty { .. } | BackupError::Manifest { .. } => {
            Failure::usage(error)
        }
        BackupError::Damaged { .. }
        | BackupError::Journal(_)
        | BackupError::Short { .. }
        | BackupError::Disk { .. } => Failure::infrastructure(error),
    };
    failure.context(tried).hint_if(hint)
}
