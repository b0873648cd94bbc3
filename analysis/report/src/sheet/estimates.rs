//! The estimates beside the verdicts, each in a row of its own: its column `endpoint` says of what, `candidate` of
//! which version, the baseline among them.

use speedup_analysis::{
    conclusion::Reason, study::EfficiencyRatioRow, study::IntervalReport, study::RankValue, study::Report,
    study::ScalingReport, study::ScalingRow, study::ScalingValue, study::VersionRanks, study::VersionScaling,
};

use super::{NamedField, code, number};

/// What such a row is about: its column `finding`.
const SCALING: &str = "scaling";
const RANKS: &str = "ranks";

/// What more hosts bring: of each version speedup, efficiency and serial fraction on each number of hosts and the
/// serial share, of each candidate the ratios of its efficiencies.
pub(super) fn of_scaling(report: &Report) -> impl Iterator<Item = Vec<NamedField>> {
    report.scaling.iter().flat_map(|of| {
        let series = |mut row: Vec<NamedField>| {
            row.extend([("finding", SCALING.to_owned()), ("series", of.series.clone())]);
            row
        };
        let versions = of.versions.iter().flat_map(of_version);
        versions.chain(ratios(of)).map(series)
    })
}

fn of_version(of: &VersionScaling) -> impl Iterator<Item = Vec<NamedField>> {
    let rows = of.rows.iter().flat_map(|row| {
        let values = [
            ("speedup", &row.speedup),
            ("efficiency", &row.efficiency),
            ("serial_fraction", &row.serial_fraction),
        ];
        let known = values.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        known.map(|(name, value)| of_row(of, row, name, value))
    });
    let share = of.serial_share.as_ref().map(|share| {
        let mut row = estimate("serial_share", share.estimate, &share.interval);
        row.extend([("candidate", of.version.clone()), ("p_value", number(share.fit_p_value))]);
        row
    });
    let without = of.reason.as_ref().map(|reason| without("serial_share", &of.version, reason));
    rows.chain(share).chain(without)
}

fn of_row(of: &VersionScaling, row: &ScalingRow, name: &str, value: &ScalingValue) -> Vec<NamedField> {
    let mut named = estimate(name, value.estimate, &value.interval);
    named.extend([
        ("benchmark", row.benchmark.clone()),
        ("candidate", of.version.clone()),
        ("hosts", row.hosts.to_string()),
        ("candidate_runs", row.n.to_string()),
        ("candidate_mean_ns", number(Some(row.mean))),
    ]);
    named
}

fn ratios(of: &ScalingReport) -> impl Iterator<Item = Vec<NamedField>> {
    of.comparisons.iter().flat_map(|comparison| {
        let row = |row: &EfficiencyRatioRow| {
            let mut named = match (&row.ratio, &row.reason) {
                (Some(ratio), _) => estimate("efficiency_ratio", ratio.estimate, &ratio.interval),
                (None, Some(reason)) => without("efficiency_ratio", &comparison.candidate, reason),
                (None, None) => Vec::new(),
            };
            named.extend([
                ("candidate", comparison.candidate.clone()),
                ("hosts", row.hosts.to_string()),
                ("verdict", row.verdict.words().to_owned()),
            ]);
            named
        };
        comparison.rows.iter().map(row)
    })
}

/// What ranks took: of each version the slowest rank, skew, imbalance, and the ratio of slowest ranks.
pub(super) fn of_ranks(report: &Report) -> impl Iterator<Item = Vec<NamedField>> {
    report.ranks.iter().flat_map(|of| {
        let row = |version: &VersionRanks, name: &str, value: &RankValue| {
            let mut named = estimate(name, value.estimate, &value.interval);
            named.extend([
                ("finding", RANKS.to_owned()),
                ("benchmark", of.benchmark.clone()),
                ("candidate", version.version.clone()),
                ("hosts", of.hosts.to_string()),
                ("candidate_runs", version.n.to_string()),
            ]);
            named
        };
        of.versions.iter().flat_map(move |version| {
            let values = [
                ("slowest_rank_ns", &version.slowest_ns),
                ("speedup", &version.speedup),
                ("skew_ns", &version.skew_ns),
                ("imbalance", &version.imbalance),
            ];
            let known = values.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
            known.map(|(name, value)| row(version, name, value)).collect::<Vec<_>>()
        })
    })
}

fn estimate(name: &str, estimate: f64, interval: &IntervalReport) -> Vec<NamedField> {
    let ends = interval.ends();
    let mut named = vec![
        ("endpoint", name.to_owned()),
        ("estimate", number(Some(estimate))),
        ("estimate_lower", number(ends.map(|ends| ends.0))),
        ("estimate_upper", number(ends.map(|ends| ends.1))),
    ];
    named.extend(match interval {
        IntervalReport::Bounded { method, confidence, .. } => {
            vec![("interval_method", method.clone()), ("interval_confidence", number(Some(*confidence)))]
        }
        IntervalReport::Missing { reason } => vec![("reason", code(Some(reason)))],
    });
    named
}

fn without(name: &str, version: &str, reason: &Reason) -> Vec<NamedField> {
    vec![("endpoint", name.to_owned()), ("candidate", version.to_owned()), ("reason", code(Some(reason)))]
}
