//! Which programs the measured runs of a cell executed, by their content: a version is one program, unless it is built.

use crate::conclusion::{WarningCode, Warnings};
use crate::count::grouped;
use crate::study::Study;
use crate::study::gather::sampled::Sampled;
use speedup_core::experiment::files::ContentHash;
use speedup_core::run::record::Record;
use std::collections::{BTreeMap, BTreeSet};

/// The contents that measured runs of a cell executed, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    /// By content, the hosts on which it was executed, by their numbers in the study.
    hosts: BTreeMap<ContentHash, BTreeSet<u32>>,
    /// Runs whose program is known.
    runs: u64,
}

impl Programs {
    /// Keeps what a measured run on a host executed.
    pub(crate) fn measured(&mut self, host: u32, record: &Record) {
        if let Some(hash) = record.program.as_ref().and_then(|program| program.blake3()) {
            self.hosts.entry(hash).or_default().insert(host);
            self.runs += 1;
        }
    }
}

impl Programs {
    /// The one file that all of so many runs executed.
    pub(super) fn only(&self, runs: usize) -> Option<ContentHash> {
        let mut contents = self.hosts.keys();
        let only = contents.next().filter(|_| self.runs == runs as u64)?;
        contents.next().is_none().then_some(*only)
    }
}

/// Raises that what is compared as one version was not one program. A version that is built has a program a build, of which
/// the comparison by builds takes care.
pub(crate) fn warn(study: &Study, sampled: &[Sampled<'_>], warnings: &mut Warnings) {
    let versions = &study.plan.experiment.versions;
    for sampled in sampled {
        let cells = versions.iter().zip(sampled.records).filter(|(version, _)| version.build.is_none());
        for (version, programs) in cells.map(|(version, cell)| (version, &cell.programs)) {
            if programs.hosts.len() < 2 {
                continue;
            }
            warnings.concern(WarningCode::ProgramChanged, sampled.name, || {
                let hosts: BTreeSet<&u32> = programs.hosts.values().flatten().collect();
                format!(
                    "Runs of one version did not execute one program: {} of {} was {} different files in {} runs on {} hosts, and \
                     times of different programs are no sample of one. The export's columns program and program_blake3 say which \
                     run executed which: install the same file on all hosts, let it travel with the plan ([files]), or let the \
                     plan build it.",
                    sampled.name,
                    version.name,
                    grouped(programs.hosts.len() as u64),
                    grouped(programs.runs),
                    grouped(hosts.len() as u64),
                )
            });
        }
    }
}
