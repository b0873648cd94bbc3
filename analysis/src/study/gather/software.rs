//! Which software the measured runs of a cell had: the variables that a shell made, the image of
//! the container, and the contents of the programs.

use speedup_core::run::{record::Record, software::ImageIdentity};
use speedup_core::{experiment::files::ContentHash, value::time::Span};
use std::collections::{BTreeMap, BTreeSet};

/// The software that measured runs of a cell had, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct SoftwareSeen {
    /// By the variables, the hosts that had them, by their numbers in the study.
    pub(in crate::study) variables: BTreeMap<ContentHash, BTreeSet<u32>>,
    /// The same by image.
    pub(in crate::study) images: BTreeMap<ImageIdentity, BTreeSet<u32>>,
    /// Runs in a container.
    pub(in crate::study) contained: u64,
    /// The longest that the start of a container took on a host.
    pub(in crate::study) start: Option<Span>,
}

impl SoftwareSeen {
    /// Keeps what a measured run on a host had.
    pub(crate) fn measured(&mut self, host: u32, record: &Record) {
        let Some(used) = record.conditions.as_ref().and_then(|conditions| conditions.software.as_ref())
        else {
            return;
        };
        if let Some(variables) = &used.variables {
            self.variables.entry(variables.blake3).or_default().insert(host);
        }
        if let Some(container) = &used.container {
            self.images.entry(container.identity.clone()).or_default().insert(host);
            self.contained += 1;
            self.start = self.start.max(container.start);
        }
    }
}

/// The contents that measured runs of a cell executed, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    /// By content, the hosts on which it was executed, by their numbers in the study.
    pub(in crate::study) hosts: BTreeMap<ContentHash, BTreeSet<u32>>,
    pub(in crate::study) runs: u64,
}

impl Programs {
    /// Keeps what a measured run on a host executed.
    pub(crate) fn measured(&mut self, host: u32, record: &Record) {
        if let Some(hash) = record.program.as_ref().and_then(|program| program.blake3()) {
            self.hosts.entry(hash).or_default().insert(host);
            self.runs += 1;
        }
    }

    /// The one file that all of so many runs executed.
    pub(crate) fn only(&self, runs: usize) -> Option<ContentHash> {
        let mut contents = self.hosts.keys();
        let only = contents.next().filter(|_| self.runs == runs as u64)?;
        contents.next().is_none().then_some(*only)
    }
}
