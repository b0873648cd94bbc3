//! The files of the Speedup-Test as the program of Touati 2010 §6 names them: those that are
//! written, and in `input` the configuration and the samples that it names.

pub(crate) mod input;

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::Path, path::PathBuf};

use thiserror::Error;

/// Where the four output files are, named by one prefix. What is there already is replaced, as the original does.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    pub(crate) results: PathBuf,
    pub(crate) report: PathBuf,
    pub(crate) warnings: PathBuf,
    pub(crate) status: PathBuf,
}

/// An output file that is an input file too.
#[derive(Debug, Error)]
#[error("{} is read by the analysis and would be overwritten by it", .0.display())]
pub(crate) struct OverInput(PathBuf);

impl Outputs {
    /// The files whose names begin with `prefix`.
    pub(crate) fn new(prefix: &Path) -> Self {
        let named = |ending: &str| {
            let mut name = prefix.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Self {
            results: named(".out"),
            report: named(".report"),
            warnings: named(".warning"),
            status: named(".status"),
        }
    }

    /// Refuses to write over one of `inputs`, under whatever name.
    pub(crate) fn spare<'a>(&self, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), OverInput> {
        let own: BTreeSet<_> = [&self.results, &self.report, &self.warnings, &self.status]
            .into_iter()
            .filter_map(|path| identity(path))
            .collect();
        if own.is_empty() {
            return Ok(());
        }
        let taken = inputs.into_iter().find(|path| identity(path).is_some_and(|file| own.contains(&file)));
        taken.map_or(Ok(()), |path| Err(OverInput(path.to_owned())))
    }
}

/// What makes a file itself: device and inode.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}
