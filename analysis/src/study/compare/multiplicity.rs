//! The verdicts again, with their p-values adjusted for their number.
//!
//! One family: the headlines of all benchmarks with runs of both versions, two-sided, and of several benchmarks their total; where
//! a margin is declared, also the tests of being the same. What could not be tested counts with a p-value of 1: whether it can
//! is seen in the data, so to leave it out would choose the family by its results. Gates go by this family.

use super::comparison::ComparisonReport;
use super::suite::VerdictCounts;
use crate::count::{counted, grouped, percent};
use crate::study::verdict::Verdict;
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, ErrorRate, PValue};

/// The adjustments of the report: one of each error rate.
const ADJUSTMENTS: [Adjustment; 2] = [Adjustment::Holm, Adjustment::BenjaminiHochberg];
/// One benchmark needs no adjustment.
const FEWEST_BENCHMARKS: usize = 2;

/// The one-sided p-values of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneSidedReport {
    /// Of the candidate being no faster.
    pub faster: f64,
    /// Of the candidate being no slower.
    pub slower: f64,
}

/// The headline of one benchmark after an adjustment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdjustedReport {
    /// `holm` or `benjamini_hochberg`.
    pub adjustment: String,
    /// The verdict by the adjusted p-values.
    pub verdict: Verdict,
    /// The adjusted p-value that it is by.
    pub p_value: f64,
}

/// What is left of the verdicts on a suite's benchmarks after an adjustment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiplicityReport {
    /// `holm` or `benjamini_hochberg`.
    pub adjustment: String,
    /// `familywise` or `false_discovery`: the error rate that it keeps.
    pub controls: String,
    /// The benchmarks of the family.
    pub tests: u64,
    /// How many benchmarks have which verdict.
    pub benchmarks: VerdictCounts,
    /// The counts in a sentence.
    pub sentence: String,
}

/// What an adjustment leaves of a candidate.
pub(crate) struct Multiplicity {
    /// Of its benchmarks, in words.
    pub(crate) reports: Vec<MultiplicityReport>,
    /// Of its total.
    pub(crate) total: Vec<AdjustedReport>,
}

/// Adjusts the headlines of one candidate over its benchmarks together with its total, of verdict and two-sided p-value, and tells
/// what is left of them. Of one benchmark nothing is adjusted.
pub(crate) fn adjust(
    comparisons: &mut [&mut ComparisonReport],
    total: (Verdict, Option<f64>),
    level: ConfidenceLevel,
) -> Multiplicity {
    let (differ, same): (Vec<_>, Vec<_>) = comparisons.iter().map(|one| p_values(one)).unzip();
    let tests = differ.iter().flatten().count();
    if tests < FEWEST_BENCHMARKS {
        return Multiplicity { reports: Vec::new(), total: Vec::new() };
    }
    let of_total = Some(PValue::clamped(total.1.unwrap_or(1.0)));
    let family: Vec<Option<PValue>> = differ.into_iter().chain(same).chain([of_total]).collect();
    let mut adjusted_total = Vec::new();
    let reports = ADJUSTMENTS.into_iter().map(|adjustment| {
        let adjusted = adjustment.adjust(&family);
        let (differ, rest) = adjusted.split_at(comparisons.len());
        let (same, of_total) = rest.split_at(comparisons.len());
        for ((comparison, differ), same) in comparisons.iter_mut().zip(differ).zip(same) {
            if let Some(differ) = *differ {
                let verdict = left_of(comparison.verdict, differ, *same, level);
                let p_value = same.filter(|_| verdict == Verdict::Same).unwrap_or(differ);
                comparison.adjusted.push(AdjustedReport::new(adjustment, verdict, p_value));
            }
        }
        if let [Some(p_value)] = *of_total {
            let verdict = left_of(total.0, p_value, None, level);
            adjusted_total.push(AdjustedReport::new(adjustment, verdict, p_value));
        }
        summary(comparisons, adjustment, tests as u64, level)
    });
    let reports = reports.collect();
    Multiplicity { reports, total: adjusted_total }
}

impl AdjustedReport {
    fn new(adjustment: Adjustment, verdict: Verdict, p_value: PValue) -> Self {
        Self { adjustment: code(adjustment).to_owned(), verdict, p_value: p_value.told() }
    }

    /// Whether it keeps the probability of any wrong verdict.
    pub fn is_familywise(&self) -> bool {
        self.adjustment == code(Adjustment::Holm)
    }
}

/// The p-values of a comparison, of its difference and of its being the same; none when it has no runs to count, or no margin.
fn p_values(comparison: &ComparisonReport) -> (Option<PValue>, Option<PValue>) {
    if comparison.observed.is_none() {
        return (None, None);
    }
    let first = comparison.first.as_ref().filter(|_| comparison.verdict != Verdict::NotEnoughData);
    let differ = first.and_then(|first| first.p_value).unwrap_or(1.0);
    let same = first.and_then(|first| first.p_same);
    (Some(PValue::clamped(differ)), same.map(PValue::clamped))
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

/// What is left of a verdict by the adjusted p-values of two one-sided questions.
pub(crate) fn adjusted_by(plain: Verdict, faster: PValue, slower: PValue, level: ConfidenceLevel) -> Verdict {
    let risk = level.risk();
    match plain {
        Verdict::NotEnoughData => Verdict::NotEnoughData,
        Verdict::Faster if faster.rejects_at(risk) => Verdict::Faster,
        Verdict::Slower if slower.rejects_at(risk) => Verdict::Slower,
        Verdict::Same | Verdict::Faster | Verdict::Slower | Verdict::Undecided => Verdict::Undecided,
    }
}

fn summary(
    comparisons: &[&mut ComparisonReport],
    adjustment: Adjustment,
    tests: u64,
    level: ConfidenceLevel,
) -> MultiplicityReport {
    let verdicts: Vec<Verdict> = comparisons
        .iter()
        .map(|comparison| {
            let adjusted = comparison.adjusted.iter().find(|one| one.adjustment == code(adjustment));
            adjusted.map_or(Verdict::NotEnoughData, |adjusted| adjusted.verdict)
        })
        .collect();
    let benchmarks = VerdictCounts::of(verdicts.iter());
    let (controls, kept) = match adjustment.controls() {
        ErrorRate::Familywise => {
            ("familywise", format!("the chance of any wrong one is at most {}", percent(level.risk().get())))
        }
        ErrorRate::FalseDiscovery => (
            "false_discovery",
            format!(
                "at most {} of them are expected to be wrong, if the benchmarks are independent",
                percent(level.risk().get())
            ),
        ),
    };
    let same =
        if benchmarks.same > 0 { format!(", same on {}", grouped(benchmarks.same)) } else { String::new() };
    let sentence = format!(
        "{}, adjusted for {} and their total: faster on {}, slower on {}{same}; {kept}.",
        adjustment.name(),
        counted(tests, "benchmark"),
        grouped(benchmarks.faster),
        grouped(benchmarks.slower),
    );
    MultiplicityReport {
        adjustment: code(adjustment).to_owned(),
        controls: controls.to_owned(),
        tests,
        benchmarks,
        sentence,
    }
}

fn code(adjustment: Adjustment) -> &'static str {
    match adjustment {
        Adjustment::Bonferroni => "bonferroni",
        Adjustment::Holm => "holm",
        Adjustment::Hochberg => "hochberg",
        Adjustment::Hommel => "hommel",
        Adjustment::BenjaminiHochberg => "benjamini_hochberg",
        Adjustment::BenjaminiYekutieli => "benjamini_yekutieli",
    }
}
