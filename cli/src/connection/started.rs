//! What this user started, and where each experiment is kept: with a coordinator, or in a directory of this machine. So `last`
//! and the first digits of an id mean the same in every shell.
//!
//! It is an index and no truth: one line an experiment, in the order in which they were started. A line that cannot be read
//! is passed over, and an experiment that is not in it is found as before, by saying where it is.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use speedup_core::{value::id::ExperimentId, value::time::Timestamp};

use super::directories;
use crate::exit::failure::Failure;

/// When the older half of the lines goes: some five thousand experiments.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) experiment: ExperimentId,
    pub(crate) name: String,
    pub(crate) at: Timestamp,
    #[serde(flatten)]
    pub(crate) place: KeptAt,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeptAt {
    /// In this directory, by `run` or `bench`.
    Data(PathBuf),
    Coordinator {
        /// Its name or address; none for the usual one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The access file; none for the usual one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        access_file: Option<PathBuf>,
    },
}

/// Notes an experiment that was started now. Says whether it was kept: where there is no state directory, nothing is.
pub(crate) fn note(experiment: ExperimentId, name: &str, place: KeptAt) -> bool {
    let Ok(path) = file() else { return false };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = Timestamp(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
    append(&path, &Started { experiment, name: name.to_owned(), at, place }).is_ok()
}

/// All of them, the newest first.
pub(crate) fn all() -> Vec<Started> {
    file().ok().and_then(|path| read(&path).ok()).unwrap_or_default()
}

fn file() -> Result<PathBuf, Failure> {
    directories::or_state(None, "started.jsonl")
}

fn append(path: &Path, started: &Started) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut line = serde_json::to_string(started).map_err(io::Error::other)?;
    line.push('\n');
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    // One write, so that lines of several commands do not mix.
    file.write_all(line.as_bytes())?;
    if file.metadata()?.len() > MAX_BYTES {
        halve(path)?;
    }
    Ok(())
}

/// Keeps the newer half of the lines.
fn halve(path: &Path) -> io::Result<()> {
    let text = tail(path, MAX_BYTES / 2)?;
    let whole_lines = text.split_once('\n').map_or("", |(_, rest)| rest);
    let aside = path.with_extension(format!("{}.part", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(whole_lines.as_bytes())?;
    fs::rename(aside, path)
}

fn read(path: &Path) -> io::Result<Vec<Started>> {
    // Twice the bound, as several commands may have added a line before one of them halved it.
    let text = tail(path, 2 * MAX_BYTES)?;
    Ok(text.lines().rev().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn tail(path: &Path, most: u64) -> io::Result<String> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        file => file?,
    };
    let from = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn started(number: u128, place: KeptAt) -> Started {
        Started {
            experiment: ExperimentId(Uuid::from_u128(number)),
            name: format!("sort-{number}"),
            at: Timestamp(7),
            place,
        }
    }

    #[test]
    fn what_was_started_last_is_first_and_damage_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("speedup/started.jsonl");
        assert_eq!(read(&path).unwrap(), []);
        let local = started(1, KeptAt::Data("/data/local".into()));
        let named = KeptAt::Coordinator { name: Some("lab".to_owned()), access_file: None };
        let usual = KeptAt::Coordinator { name: None, access_file: Some("/access.toml".into()) };
        let (named, usual) = (started(2, named), started(3, usual));
        append(&path, &local).unwrap();
        append(&path, &named).unwrap();
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"experiment\":\n\xff\xfe\n")
            .unwrap();
        append(&path, &usual).unwrap();
        assert_eq!(read(&path).unwrap(), [usual, named, local]);
    }

    #[test]
    fn it_stays_within_its_bound_and_keeps_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("started.jsonl");
        let long = KeptAt::Data(PathBuf::from("/".to_owned() + &"d".repeat(4_000)));
        for number in 0..400 {
            append(&path, &started(number, long.clone())).unwrap();
        }
        assert!(fs::metadata(&path).unwrap().len() <= MAX_BYTES + 5_000);
        let kept = read(&path).unwrap();
        assert!(kept.len() > 100 && kept[0].name == "sort-399" && kept[1].name == "sort-398");
    }
}
