//! `speedup coordinator backup` and `restore`: all that cannot be made anew, out of a data directory and into one.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use speedup_core::value::hint::Hinted;

use crate::{
    arguments::Output, arguments::OutputArgument, command::cluster::coordinator, command::json_line,
    command::print, compose, compose::BackupError, connection::access, console::Console, exit::Exit,
    exit::failure::Failure,
};

/// Backs up a data directory, even while its coordinator runs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup coordinator backup /backup/speedup-$(date +%F)\n\n\
    The backup has everything that was acknowledged when the command started, and the authority's private key: keep \
    it as secret as the data directory. Run the command on the coordinator's machine as the coordinator's user, \
    because it reads the files.")]
pub(crate) struct BackupArguments {
    /// The directory to create
    #[arg(value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    place: DataDirectory,
    #[command(flatten)]
    output: OutputArgument,
}

/// Restores a backup into an empty or new data directory
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup coordinator restore /backup/speedup-2026-11-22 --data /var/lib/speedup\n\n\
    All files are checked first. Then start the coordinator with the same --data. Agents and users keep their \
    access; what was recorded after the backup is lost.")]
pub(crate) struct RestoreArguments {
    /// The backup
    #[arg(value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    place: DataDirectory,
    #[command(flatten)]
    output: OutputArgument,
}

/// Whose data directory it is.
#[derive(Debug, Args)]
struct DataDirectory {
    /// The name of the coordinator, if you have several
    #[arg(long, value_name = "NAME", default_value = access::DEFAULT, value_parser = access::name)]
    name: String,
    /// The data directory, with journal and store [default: $XDG_STATE_HOME/speedup/coordinator, or coordinators/NAME
    /// there]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl DataDirectory {
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
