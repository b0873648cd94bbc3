//! What the verdicts would be without the outlying hosts. Nothing is left out of any sample; this says what depends on it.

use super::host_effect::WithoutReport;
use crate::conclusion::Warnings;
use crate::study::Study;
use crate::study::compare::comparison::BenchmarkReport;
use crate::study::compare::suite::SuiteReport;
use crate::study::gather::cell::CellRecords;
use crate::study::gather::sampled::Sampled;
use crate::study::report::assembly::{Circumstances, adjust, benchmarks, concluded, suite};
use speedup_core::value::id::HostId;
use std::collections::BTreeSet;

/// Each candidate without the hosts of these names, beside what is reported of it.
pub(crate) fn without(
    study: &Study,
    names: &BTreeSet<&str>,
    circumstances: &Circumstances<'_>,
    reported: &[BenchmarkReport],
) -> Vec<WithoutReport> {
    let hosts: BTreeSet<u32> = study
        .evidence
        .hosts
        .numbered()
        .into_iter()
        .filter(|(name, _)| names.contains(HostId::as_str(name)))
        .map(|(_, number)| number)
        .collect();
    let runs = study.evidence.runs_on(&hosts);
    let cells: Vec<CellRecords> = study.cells.iter().map(|cell| cell.without(&runs)).collect();
    let versions = study.plan.experiment.compared().len();
    let sampled = Sampled::of_cells(study, &cells);
    // What these verdicts are worth is not asked.
    let mut unsaid = Warnings::default();
    let mut compared = benchmarks(&sampled, circumstances, &mut unsaid);
    let candidate = |version: usize| {
        let total = concluded(&sampled, &compared, version, circumstances);
        adjust(&mut compared, &mut [], version, &total, circumstances.level);
        let SuiteReport { candidate, verdict, speedup, .. } =
            suite(&sampled, &compared, version, total, circumstances, &mut unsaid);
        let others = reported.iter().zip(&compared).filter(|(with, without)| {
            with.comparisons[version - 1].verdict != without.comparisons[version - 1].verdict
        });
        let changed = others.map(|(with, _)| with.name.clone()).collect();
        WithoutReport { candidate, verdict, speedup, changed }
    };
    (1..versions).map(candidate).collect()
}
