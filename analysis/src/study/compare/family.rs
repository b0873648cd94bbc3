//! The verdicts on one candidate, adjusted together.

use super::multiplicity::{ADJUSTMENTS, FEWEST_TESTS, FamilyMember, MultiplicityReport, adjust_family};
use super::verdict_counts::VerdictCounts;
use super::{comparison::ComparisonReport, endpoint::EndpointRow, suite::Total};
use crate::{conclusion::Verdict, count::counted, count::grouped, count::percent};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, ErrorRate};

/// Adjusts the headlines of one candidate over its benchmarks together with its total, and with the `endpoints` that share their risk.
/// Returns what is left of the headlines by each adjustment; nothing where a headline is alone.
pub(crate) fn adjust(
    comparisons: &mut [&mut ComparisonReport],
    endpoints: &mut [&mut EndpointRow],
    total: &mut Total,
    level: ConfidenceLevel,
) -> Vec<MultiplicityReport> {
    let headlines = comparisons.iter().filter(|comparison| comparison.tested().differ.is_some()).count();
    let rows = endpoints.len();
    if headlines + rows < FEWEST_TESTS {
        return Vec::new();
    }
    let mut family: Vec<&mut dyn FamilyMember> = Vec::new();
    for comparison in comparisons.iter_mut() {
        family.push(&mut **comparison);
    }
    for row in endpoints.iter_mut() {
        family.push(&mut **row);
    }
    // Of one benchmark the total is its own.
    if headlines > 1 {
        family.push(total);
    }
    adjust_family(&mut family, level);
    if let [only] = comparisons {
        total.adjusted.clone_from(&only.adjusted);
    }
    ADJUSTMENTS.map(|adjustment| summary(comparisons, [headlines, rows], adjustment, level)).to_vec()
}

fn summary(
    comparisons: &[&mut ComparisonReport],
    [tests, endpoints]: [usize; 2],
    adjustment: Adjustment,
    level: ConfidenceLevel,
) -> MultiplicityReport {
    let (tests, endpoints) = (tests as u64, endpoints as u64);
    let verdicts: Vec<Verdict> = comparisons
        .iter()
        .map(|comparison| {
            let adjusted = comparison.adjusted.iter().find(|one| one.adjustment == adjustment);
            adjusted.map_or(Verdict::NotEnoughData, |adjusted| adjusted.verdict)
        })
        .collect();
    let benchmarks = VerdictCounts::of(verdicts.iter());
    let controls = adjustment.controls();
    let kept = match controls {
        ErrorRate::Familywise => {
            format!("the chance of any false positive is at most {}", percent(level.risk().get()))
        }
        ErrorRate::FalseDiscovery => format!(
            "at most {} of them are expected to be wrong, if the benchmarks are independent",
            percent(level.risk().get())
        ),
    };
    let same =
        if benchmarks.same > 0 { format!(", same on {}", grouped(benchmarks.same)) } else { String::new() };
    let sentence = format!(
        "{}, adjusted for {}: faster on {}, slower on {}{same}; {kept}.",
        adjustment.name(),
        of_family(tests, endpoints),
        grouped(benchmarks.faster),
        grouped(benchmarks.slower),
    );
    MultiplicityReport { adjustment, controls, tests, endpoints, benchmarks, sentence }
}

/// What a family is made of, in words.
fn of_family(tests: u64, endpoints: u64) -> String {
    let benchmarks = counted(tests, "benchmark");
    match (tests, endpoints) {
        (_, 0) => format!("{benchmarks} and their total"),
        (1, _) => format!("{benchmarks} and {} on other endpoints", counted(endpoints, "verdict")),
        _ => format!("{benchmarks}, their total and {} on other endpoints", counted(endpoints, "verdict")),
    }
}
