//! The estimates beside the verdicts, each in a row of its own: its column `endpoint` says of what, `candidate` of
//! which version, the baseline among them.

use speedup_analysis::{
    conclusion::Reason, study::IntervalReport, study::Report, study::ScalingReport, study::VersionScaling,
};

use super::{NamedField, code, number};

/// What such a row is about: its column `finding`.
const SCALING: &str = "scaling";
const RANKS: &str = "ranks";

/// What more hosts bring: of each version speedup, efficiency and serial fraction on each number of hosts and the
/// serial share, of each candidate the ratios of its efficiencies.
pub(super) fn scaling_rows(report: &Report) -> Vec<Vec<NamedField>> {
    let mut rows = Vec::new();
    for scaling in &report.scaling {
        let mut of_series: Vec<Vec<NamedField>> = scaling.versions.iter().flat_map(version_rows).collect();
        of_series.extend(efficiency_ratios(scaling));
        for mut row in of_series {
            row.extend([("finding", SCALING.to_owned()), ("series", scaling.series.clone())]);
            rows.push(row);
        }
    }
    rows
}

fn version_rows(version: &VersionScaling) -> Vec<Vec<NamedField>> {
    let mut rows = Vec::new();
    for row in &version.rows {
        for (name, value) in [
            ("speedup", &row.speedup),
            ("efficiency", &row.efficiency),
            ("serial_fraction", &row.serial_fraction),
        ] {
            let Some(value) = value else { continue };
            let mut named = estimate(name, value.estimate, &value.interval);
            named.extend([
                ("benchmark", row.benchmark.clone()),
                ("candidate", version.version.clone()),
                ("hosts", row.hosts.to_string()),
                ("candidate_runs", row.n.to_string()),
                ("candidate_mean_ns", number(Some(row.mean))),
            ]);
            rows.push(named);
        }
    }
    if let Some(share) = &version.serial_share {
        let mut named = estimate("serial_share", share.estimate, &share.interval);
        named.extend([("candidate", version.version.clone()), ("p_value", number(share.fit_p_value))]);
        rows.push(named);
    }
    if let Some(reason) = &version.reason {
        rows.push(without("serial_share", &version.version, reason));
    }
    rows
}

fn efficiency_ratios(scaling: &ScalingReport) -> Vec<Vec<NamedField>> {
    let mut rows = Vec::new();
    for comparison in &scaling.comparisons {
        for row in &comparison.rows {
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
            rows.push(named);
        }
    }
    rows
}

/// What ranks took: of each version the slowest rank, skew, imbalance, and the ratio of slowest ranks.
pub(super) fn rank_rows(report: &Report) -> Vec<Vec<NamedField>> {
    let mut rows = Vec::new();
    for ranks in &report.ranks {
        for version in &ranks.versions {
            for (name, value) in [
                ("slowest_rank_ns", &version.slowest_ns),
                ("speedup", &version.speedup),
                ("skew_ns", &version.skew_ns),
                ("imbalance", &version.imbalance),
            ] {
                let Some(value) = value else { continue };
                let mut named = estimate(name, value.estimate, &value.interval);
                named.extend([
                    ("finding", RANKS.to_owned()),
                    ("benchmark", ranks.benchmark.clone()),
                    ("candidate", version.version.clone()),
                    ("hosts", ranks.hosts.to_string()),
                    ("candidate_runs", version.n.to_string()),
                ]);
                rows.push(named);
            }
        }
    }
    rows
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
