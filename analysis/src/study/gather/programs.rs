//! Which programs the measured runs of a cell executed, by their content.

use speedup_core::experiment::files::ContentHash;
use speedup_core::run::record::Record;
use std::collections::{BTreeMap, BTreeSet};

/// The contents that measured runs of a cell executed, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    /// By content, the hosts on which it was executed, by their numbers in the study.
    pub(in crate::study) hosts: BTreeMap<ContentHash, BTreeSet<u32>>,
    /// Runs whose program is known.
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
