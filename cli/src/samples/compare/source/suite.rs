//! The directory that criterion.rs keeps (`target/criterion`): every benchmark's `sample.json` in every baseline, as one suite whose
//! versions are the baselines.

use std::{collections::BTreeMap, fs, fs::File, path::Path, path::PathBuf};

use anyhow::{Context as _, Error, anyhow};
use speedup_formats::bounds::{MAX_FILE_BYTES, MAX_SERIES, MAX_VALUES};
use speedup_formats::{Format, Imported, MachineFacts, Options, criterion_name, read};

use super::{Source, bounded, shown};
use crate::exit::failure::Failure;

/// What criterion calls a measurement, and the latest one, which is a copy where it was saved by a name.
const SAMPLE: &str = "sample.json";
const LATEST: &str = "new";
/// The benchmark's own name, beside it.
const DESCRIPTION: &str = "benchmark.json";
/// Directories inside each other: criterion has group, function, value and baseline.
const MAX_DEPTH: usize = 16;
/// Directories that are looked into: criterion has a handful for each of its benchmarks.
const MAX_DIRECTORIES: usize = 8 * MAX_SERIES;

struct Measurement {
    baseline: PathBuf,
    bytes: Vec<u8>,
}

pub(super) fn read_suite(directory: &Path) -> Result<Source, Failure> {
    let name = shown(directory);
    let mut suite = Imported {
        format: Format::CriterionSample,
        tool_version: None,
        machine: MachineFacts::default(),
        series: Vec::new(),
        failures: Vec::new(),
        warnings: Vec::new(),
        are_commands: false,
    };
    let mut values = 0;
    for baselines in measured(directory)?.into_values() {
        for measurement in measurements(&baselines)? {
            let read = series_of(&measurement)?;
            values += read.series.iter().map(|series| series.runs.values().len()).sum::<usize>();
            suite.series.extend(read.series);
            suite.warnings.extend(read.warnings);
            if suite.series.len() > MAX_SERIES || values > MAX_VALUES {
                return Err(Failure::usage(anyhow!("{name} has more measurements than are read at once"))
                    .hint("give the directories of some of its benchmarks"));
            }
        }
    }
    if suite.series.is_empty() {
        let without = anyhow!("it is a directory without any {SAMPLE} of criterion");
        return Err(Failure::usage(without.context(format!("cannot read {name}")))
            .hint("a directory is read where criterion wrote it, as target/criterion; of other tools give the files"));
    }
    Ok(Source { name, imported: suite })
}

/// The baselines of each benchmark below a directory, by the benchmark's own directory.
fn measured(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<PathBuf>>, Failure> {
    let (mut found, mut open, mut looked_at) = (BTreeMap::new(), vec![(directory.to_owned(), 0)], 0);
    while let Some((directory, depth)) = open.pop() {
        looked_at += 1;
        if depth > MAX_DEPTH || looked_at > MAX_DIRECTORIES {
            return Err(Failure::usage(anyhow!(
                "{} has more directories than criterion makes",
                shown(&directory)
            ))
            .hint("give the directory that criterion writes: target/criterion"));
        }
        let tried = || format!("cannot read the directory {}", shown(&directory));
        for entry in fs::read_dir(&directory).with_context(tried).map_err(Failure::usage)? {
            let entry = entry.with_context(tried).map_err(Failure::usage)?;
            // Links are not followed: they may lead around in circles.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push((entry.path(), depth + 1));
            } else if entry.file_name() == SAMPLE {
                let benchmark = directory.parent().unwrap_or(&directory).to_owned();
                found.entry(benchmark).or_insert_with(Vec::new).push(directory.clone());
            }
        }
    }
    Ok(found)
}

/// A benchmark's measurements, by baseline; the latest is left out where a baseline is the same one.
fn measurements(baselines: &[PathBuf]) -> Result<Vec<Measurement>, Failure> {
    let mut baselines = baselines.to_vec();
    baselines.sort();
    let read = |baseline: PathBuf| {
        let path = baseline.join(SAMPLE);
        let bytes = File::open(&path).and_then(bounded);
        let bytes = bytes.with_context(|| format!("cannot read {}", shown(&path))).map_err(Failure::usage)?;
        Ok(Measurement { baseline, bytes })
    };
    let mut all: Vec<Measurement> = baselines.into_iter().map(read).collect::<Result<_, Failure>>()?;
    let is_latest = |one: &Measurement| one.baseline.file_name().is_some_and(|name| name == LATEST);
    let has_twin = |one: &Measurement| all.iter().any(|other| !is_latest(other) && other.bytes == one.bytes);
    let copy = all.iter().position(|one| is_latest(one) && has_twin(one));
    if let Some(copy) = copy {
        all.remove(copy);
    }
    Ok(all)
}

fn series_of(Measurement { baseline, bytes }: &Measurement) -> Result<Imported, Failure> {
    let path = baseline.join(SAMPLE);
    let tried = || format!("cannot read {}", shown(&path));
    let description = File::open(baseline.join(DESCRIPTION)).and_then(bounded).ok();
    let benchmark = description
        .filter(|bytes| bytes.len() <= MAX_FILE_BYTES)
        .and_then(|bytes| criterion_name(&bytes).ok());
    let path = path.to_string_lossy();
    let options = Options { path: Some(&path), benchmark, ..Options::default() };
    read(bytes, Format::CriterionSample, &options).map_err(|error| {
        let hint = error.hint();
        Failure::usage(Error::new(error).context(tried())).hint_if(hint)
    })
}
