//! What a Speedup-Test reads: the configuration, and the files of samples that it names.
//!
//! Nothing is guessed. What cannot be read as it stands is refused with its file and line; what the original program
//! passed over (a sample file that cannot be opened) is passed over, with a warning.

pub(crate) mod configuration;
#[cfg(test)]
mod damage;
pub(crate) mod sample_file;

use std::io;
use std::path::{Path, PathBuf};

use speedup_statistics::sample::Sample;
use thiserror::Error;

use self::configuration::{Configuration, Entry};
use self::sample_file::{MAX_VALUES, SampleFileError};

/// A benchmark with the samples of its versions, or why it has none.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) entry: Entry,
    pub(crate) paths: [PathBuf; 2],
    pub(crate) samples: Result<[Sample; 2], Vec<NotReadable>>,
}

/// A file of samples that cannot be opened or read.
#[derive(Debug)]
pub(crate) struct NotReadable {
    pub(crate) path: PathBuf,
    pub(crate) cause: io::Error,
}

/// A file of samples that says something else than positive numbers.
#[derive(Debug, Error)]
#[error("{}, of the benchmark {name:?}", path.display())]
pub(crate) struct NoSample {
    path: PathBuf,
    name: String,
    source: SampleFileError,
}

impl NoSample {
    /// What the user can do.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        self.source.hint()
    }
}

/// Reads the samples of all benchmarks, in the order of the configuration.
pub(crate) fn load(configuration: Configuration, folder: &Path) -> Result<Vec<Loaded>, NoSample> {
    let mut room = MAX_VALUES;
    configuration.entries.into_iter().map(|entry| load_one(entry, folder, &mut room)).collect()
}

fn load_one(entry: Entry, folder: &Path, room: &mut usize) -> Result<Loaded, NoSample> {
    let paths = entry.samples.each_ref().map(|name| folder.join(name));
    let (mut samples, mut unreadable) = (Vec::new(), Vec::new());
    for path in &paths {
        match sample_file::read(path, *room) {
            Ok(sample) => {
                *room = room.saturating_sub(sample.len());
                samples.push(sample);
            }
            Err(SampleFileError::Unreadable(cause)) => {
                unreadable.push(NotReadable { path: path.clone(), cause });
            }
            Err(source) => return Err(NoSample { path: path.clone(), name: entry.name, source }),
        }
    }
    let samples = <[Sample; 2]>::try_from(samples).map_err(|_| unreadable);
    Ok(Loaded { entry, paths, samples })
}

/// The folder from which relative names of sample files start: the working directory, as in the original (Touati 2010 §6.2.1);
/// or that of the configuration, if the working directory has none of the files.
///
/// It is one folder for all of them, so that samples of two experiments are never mixed.
pub(crate) fn sample_folder(configuration: &Configuration, path: &Path) -> PathBuf {
    let here = PathBuf::new();
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(beside) = beside else { return here };
    let names = configuration.entries.iter().flat_map(|entry| entry.samples.iter().map(Path::new));
    let mut relative = names.filter(|name| name.is_relative());
    let mut relative_beside = relative.clone().map(|name| beside.join(name));
    let any_here = relative.any(Path::exists);
    if !any_here && relative_beside.any(|path| path.exists()) { beside.to_owned() } else { here }
}
