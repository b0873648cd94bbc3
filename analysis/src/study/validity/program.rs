//! Whether the measured runs of a cell executed one program: a version is one, unless it is built.

use crate::conclusion::{WarningCode, Warnings};
use crate::count::grouped;
use crate::study::Study;
use crate::study::gather::sampled::Sampled;
use std::collections::BTreeSet;

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
