//! What the reader must know of the hosts during the runs: disturbances, and settings that the plan wanted.

use crate::study::{Study, gather::cell::ConditionCounts, sampled::BenchmarkSamples};
use crate::{conclusion::WarningCode, conclusion::Warnings, count::counted, count::grouped};
use speedup_statistics::{inference::Alternative, inference::ConfidenceLevel, test::FisherExact};
use std::collections::BTreeMap;

/// Disturbed runs are in their samples: noise if both versions have their share of it, else bias.
pub(crate) fn warn(
    sampled: &[BenchmarkSamples<'_>],
    study: &Study,
    level: ConfidenceLevel,
    warnings: &mut Warnings,
) {
    let of = |sampled: &BenchmarkSamples<'_>| {
        ConditionCounts::sum(sampled.records.iter().map(|cell| &cell.conditions))
    };
    // Controls are measured runs as well.
    let all = ConditionCounts::sum(study.cells.iter().map(|cell| &cell.conditions));
    let disturbed = || counted(all.disturbed, "measured run");
    for concerned in sampled.iter().filter(|sampled| of(sampled).disturbed > 0) {
        warnings.concern(WarningCode::HostDisturbed, concerned.name, || {
            format!(
                "The host was disturbed during {} of {} ({}); they stay in their samples: find the cause, and \
                    repeat the experiment on idle hosts if the verdict depends on them.",
                disturbed(),
                grouped(all.recorded),
                told(&all.disturbances)
            )
        });
    }
    for concerned in sampled.iter().filter(|sampled| !of(sampled).unmet.is_empty()) {
        warnings.concern(WarningCode::EnvironmentUnmet, concerned.name, || {
            format!(
                "The plan's environment could not be set up for all measured runs ({}): the export says for \
                    which and on which hosts; strict = true in [environment] refuses such hosts.",
                told(&all.unmet)
            )
        });
    }
    for concerned in sampled.iter().filter(|sampled| !of(sampled).not_local.is_empty()) {
        warnings.concern(WarningCode::NetworkFileSystem, concerned.name, || {
            format!(
                "Measured runs stood in directories that are not on a disk of their host ({}): what they read and \
                    wrote there was timed with the network, the server, and everyone else who uses it. Name a local \
                    directory with `speedup agent start --scratch`, or as the benchmark's directory.",
                told(&all.not_local)
            )
        });
    }
    let of_version = |version: usize| {
        let cells = sampled.iter().filter_map(|sampled| sampled.records.get(version));
        let counts = ConditionCounts::sum(cells.map(|cell| &cell.conditions));
        (counts.disturbed, counts.recorded)
    };
    for (at, version) in study.plan.experiment.compared().iter().enumerate().skip(1) {
        let test = FisherExact::from_shares(of_version(0), of_version(at));
        if test.is_some_and(|test| test.p_value(Alternative::TwoSided).get() < 1.0 - level.get()) {
            warnings.concern(WarningCode::DisturbedUnevenly, &version.name, || {
                "A candidate's runs were disturbed in another share than the baseline's (Fisher's exact test at \
                    the report's confidence level), so that the disturbance may be part of the difference: look \
                    at the runs that the export marks before you rely on the verdict."
                    .to_owned()
            });
        }
    }
}

/// Names with their counts of runs.
fn told(counts: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> = counts.iter().map(|(name, runs)| format!("{name} {}", grouped(*runs))).collect();
    each.join(", ")
}
