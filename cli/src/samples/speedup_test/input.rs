//! What a Speedup-Test reads: the configuration, and the files of samples that it names.
//!
//! Nothing is guessed. What cannot be read as it stands is refused with its file and line; what the original program
//! passed over (a sample file that cannot be opened) is passed over, with a warning.

pub(crate) mod configuration;
#[cfg(test)]
mod damage;
pub(crate) mod sample_file;

use std::path::{Path, PathBuf};

use speedup_analysis::inquiry::configured::{ConfigurationEntry, ConfiguredBenchmark, UnreadableFile};
use speedup_statistics::sample::Sample;
use thiserror::Error;

use self::configuration::Configuration;
use self::sample_file::{MAX_VALUES, SampleFileError};

#[derive(Debug)]
pub(crate) struct LoadedInput {
    pub(crate) benchmarks: Vec<ConfiguredBenchmark>,
    pub(crate) paths: Vec<PathBuf>,
}

/// A file of samples that says something else than positive numbers.
#[derive(Debug, Error)]
#[error("{}, of the benchmark {name:?}", path.display())]
pub(crate) struct NoSample {
    path: PathBuf,
    name: String,
    source: SampleFileError,
}

speedup_core::hints! { NoSample: Self { source, .. } => source.hint() }

/// Reads the samples of all benchmarks, in the order of the configuration.
pub(crate) fn load(configuration: Configuration, folder: &Path) -> Result<LoadedInput, NoSample> {
    let mut room = MAX_VALUES;
    let mut loaded = LoadedInput { benchmarks: Vec::new(), paths: Vec::new() };
    for entry in configuration.entries {
        let paths = entry.files.each_ref().map(|name| folder.join(name));
        loaded.benchmarks.push(load_one(entry, &paths, &mut room)?);
        loaded.paths.extend(paths);
    }
    Ok(loaded)
}

fn load_one(
    mut entry: ConfigurationEntry,
    paths: &[PathBuf; 2],
    room: &mut usize,
) -> Result<ConfiguredBenchmark, NoSample> {
    entry.files = paths.each_ref().map(|path| path.display().to_string());
    let mut samples = Vec::new();
    let mut unreadable = Vec::new();
    for (path, file) in paths.iter().zip(&entry.files) {
        match sample_file::read(path, *room) {
            Ok(sample) => {
                *room = room.saturating_sub(sample.len());
                samples.push(sample);
            }
            Err(SampleFileError::Unreadable(cause)) => {
                unreadable.push(UnreadableFile { path: file.clone(), cause: cause.to_string() });
            }
            Err(source) => return Err(NoSample { path: path.clone(), name: entry.name, source }),
        }
    }
    let samples = <[Sample; 2]>::try_from(samples).map_err(|_| unreadable);
    Ok(ConfiguredBenchmark { entry, samples })
}

/// The folder from which relative names of sample files start: the working directory, as in the original (Touati 2010 §6.2.1);
/// or that of the configuration, if the working directory has none of the files.
///
/// It is one folder for all of them, so that samples of two experiments are never mixed.
pub(crate) fn sample_folder(configuration: &Configuration, path: &Path) -> PathBuf {
    let here = PathBuf::new();
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(beside) = beside else { return here };
    let names = configuration.entries.iter().flat_map(|entry| entry.files.iter().map(Path::new));
    let mut relative = names.filter(|name| name.is_relative());
    let mut relative_beside = relative.clone().map(|name| beside.join(name));
    let any_here = relative.any(Path::exists);
    if !any_here && relative_beside.any(|path| path.exists()) { beside.to_owned() } else { here }
}
