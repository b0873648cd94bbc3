//! The verdicts again, with their p-values adjusted for their number.
//!
//! One family: the headlines of all benchmarks with runs of both versions, two-sided, and of several benchmarks their total; the
//! endpoints that the plan puts in it; where a margin is declared, also the tests of being the same. What could not be tested counts with a p-value of 1: whether it can
//! is seen in the data, so to leave it out would choose the family by its results. Gates go by this family.

use super::{comparison::ComparisonReport, endpoint::EndpointRow, suite::Total, suite::VerdictCounts};
use crate::{conclusion::Verdict, count::counted, count::grouped, count::percent};
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Adjustment, Alternative, ConfidenceLevel, ErrorRate, PValue};

/// The adjustments of the report: one of each error rate.
const ADJUSTMENTS: [Adjustment; 2] = [Adjustment::Holm, Adjustment::BenjaminiHochberg];
/// One verdict needs no adjustment.
const FEWEST_TESTS: usize = 2;

/// The one-sided p-values of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneSidedReport {
    /// Of the candidate being no faster.
    pub faster: f64,
    /// Of the candidate being no slower.
    pub slower: f64,
}

impl OneSidedReport {
    /// The tests of the speedup being `ratio`.
    pub(super) fn new(ratio: f64, p_value: impl Fn(f64, Alternative) -> PValue) -> Self {
        Self {
            faster: p_value(ratio, Alternative::Greater).told(),
            slower: p_value(ratio, Alternative::Less).told(),
        }
    }

    /// The two-sided p-value of the same ratio.
    pub(crate) fn two_sided(self) -> PValue {
        PValue::clamped(2.0 * PValue::from_told(self.faster.min(self.slower)).get())
    }
}

/// The headline of one benchmark after an adjustment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdjustedReport {
    /// The adjustment: of a report `holm` or `benjamini_hochberg`.
    pub adjustment: Adjustment,
    /// The verdict by the adjusted p-values.
    pub verdict: Verdict,
    /// The adjusted p-value that it is by.
    pub p_value: f64,
}

/// What is left of the verdicts on a suite's benchmarks after an adjustment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiplicityReport {
    /// The adjustment: of a report `holm` or `benjamini_hochberg`.
    pub adjustment: Adjustment,
    /// The error rate that it keeps.
    pub controls: ErrorRate,
    /// The benchmarks of the family.
    pub tests: u64,
    /// The verdicts on other endpoints in it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub endpoints: u64,
    /// How many benchmarks have which verdict.
    pub benchmarks: VerdictCounts,
    /// The counts in a sentence.
    pub sentence: String,
}

/// What an adjustment leaves of a candidate.
pub(crate) struct Multiplicity {
    /// Of its benchmarks, in words.
    pub(crate) reports: Vec<MultiplicityReport>,
    pub(crate) total: Vec<AdjustedReport>,
}

/// A verdict with the p-values that it is by.
#[derive(Clone, Copy)]
pub(super) struct Tested {
    pub(super) verdict: Verdict,
    /// Of a difference; none without runs to count.
    pub(super) differ: Option<PValue>,
    /// Of being the same, where a margin is declared.
    pub(super) same: Option<PValue>,
}

/// Adjusts the headlines of one candidate over its benchmarks together with its total, and with the `endpoints` that share their risk;
/// tells what is left of the headlines. What is alone is not adjusted.
pub(crate) fn adjust(
    comparisons: &mut [&mut ComparisonReport],
    endpoints: &mut [&mut EndpointRow],
    total: &Total,
    level: ConfidenceLevel,
) -> Multiplicity {
    let headlines: Vec<Tested> = comparisons.iter().map(|one| Tested::headline(one)).collect();
    let tests = headlines.iter().filter(|one| one.differ.is_some()).count();
    if tests + endpoints.len() < FEWEST_TESTS {
        return Multiplicity { reports: Vec::new(), total: Vec::new() };
    }
    // Of one benchmark the total is its own.
    let of_total = (tests > 1).then(|| Tested {
        verdict: total.verdict,
        differ: Some(PValue::from_told(total.p_value.unwrap_or(1.0))),
        same: total.p_same.map(PValue::from_told),
    });
    let of_endpoints = endpoints.iter().map(|row| row.tested());
    let family: Vec<Tested> = headlines.iter().copied().chain(of_endpoints).chain(of_total).collect();
    let mut adjusted_total = Vec::new();
    let reports = ADJUSTMENTS.into_iter().map(|adjustment| {
        let mut left = left(&family, adjustment, level).into_iter();
        for (comparison, left) in comparisons.iter_mut().zip(&mut left) {
            let of = |(verdict, p_value)| AdjustedReport::new(adjustment, verdict, p_value);
            comparison.adjusted.extend(left.map(of));
        }
        keep(endpoints, &mut left, adjustment);
        let of_total =
            left.flatten().map(|(verdict, p_value)| AdjustedReport::new(adjustment, verdict, p_value));
        adjusted_total.extend(of_total);
        summary(comparisons, [tests, endpoints.len()], adjustment, level)
    });
    let reports = reports.collect();
    if let [only] = comparisons {
        adjusted_total.clone_from(&only.adjusted);
    }
    Multiplicity { reports, total: adjusted_total }
}

/// Adjusts the verdicts on one endpoint, a family of their own.
pub(super) fn adjust_rows(rows: &mut [&mut EndpointRow], level: ConfidenceLevel) {
    if rows.len() < FEWEST_TESTS {
        return;
    }
    let family: Vec<Tested> = rows.iter().map(|row| row.tested()).collect();
    for adjustment in ADJUSTMENTS {
        keep(rows, &mut left(&family, adjustment, level).into_iter(), adjustment);
    }
}

fn keep(
    rows: &mut [&mut EndpointRow],
    left: &mut impl Iterator<Item = Option<(Verdict, PValue)>>,
    adjustment: Adjustment,
) {
    for (row, left) in rows.iter_mut().zip(left) {
        left.into_iter().for_each(|left| row.keep(adjustment, left));
    }
}

/// What an adjustment leaves of each verdict of a family, with the p-value that it is by; none of what has no runs to count.
fn left(family: &[Tested], adjustment: Adjustment, level: ConfidenceLevel) -> Vec<Option<(Verdict, PValue)>> {
    let (differ, same): (Vec<_>, Vec<_>) = family.iter().map(|one| (one.differ, one.same)).unzip();
    let adjusted = adjustment.adjust(&[differ, same].concat());
    let (differ, same) = adjusted.split_at(family.len());
    let one = |((tested, differ), same): ((&Tested, &Option<PValue>), &Option<PValue>)| {
        let differ = (*differ)?;
        let verdict = left_of(tested.verdict, differ, *same, level);
        Some((verdict, same.filter(|_| verdict == Verdict::Same).unwrap_or(differ)))
    };
    family.iter().zip(differ).zip(same).map(one).collect()
}

impl Tested {
    /// A headline, as far as there are runs of both versions; one that could not be tested counts with a p-value of 1.
    fn headline(comparison: &ComparisonReport) -> Self {
        let verdict = comparison.verdict;
        if comparison.observed.is_none() {
            return Self { verdict, differ: None, same: None };
        }
        let first = comparison.first.as_ref().filter(|_| verdict != Verdict::NotEnoughData);
        let differ = first.and_then(|first| first.p_value).unwrap_or(1.0);
        let same = first.and_then(|first| first.p_same);
        Self { verdict, differ: Some(PValue::from_told(differ)), same: same.map(PValue::from_told) }
    }
}

impl AdjustedReport {
    fn new(adjustment: Adjustment, verdict: Verdict, p_value: PValue) -> Self {
        Self { adjustment, verdict, p_value: p_value.told() }
    }

    /// Whether it keeps the probability of any wrong verdict.
    pub(crate) fn is_familywise(&self) -> bool {
        self.adjustment == Adjustment::Holm
    }
}

/// What is left of a verdict by the adjusted p-values of a difference, and of being the same.
fn left_of(plain: Verdict, differ: PValue, same: Option<PValue>, level: ConfidenceLevel) -> Verdict {
    let risk = level.risk();
    let is_same = same.is_some_and(|same| same.rejects_at(risk));
    match plain {
        Verdict::NotEnoughData => Verdict::NotEnoughData,
        Verdict::Same if is_same => Verdict::Same,
        Verdict::Faster | Verdict::Slower if differ.rejects_at(risk) => plain,
        Verdict::Same | Verdict::Faster | Verdict::Slower | Verdict::Undecided => Verdict::Undecided,
    }
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}
