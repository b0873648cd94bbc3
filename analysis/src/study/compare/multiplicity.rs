//! The verdicts again, with their p-values adjusted for the number of benchmarks: beside those of the papers, never in
//! their place.
//!
//! A verdict answers two questions, each at the report's level: is the candidate faster, is it slower? So there are two
//! families, one a question, each of all benchmarks with runs of both versions; of one benchmark an adjusted p-value is
//! the plain one. A benchmark on which no protocol can conclude counts with a p-value of 1: whether it can is seen in
//! the data, so to leave it out would choose the family by its results.

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

/// The p-values of the headline's protocol, one-sided each.
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
    /// The smaller of the two adjusted p-values.
    pub p_value: f64,
}

/// What is left of the verdicts on a suite's benchmarks after an adjustment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiplicityReport {
    /// `holm` or `benjamini_hochberg`.
    pub adjustment: String,
    /// `familywise` or `false_discovery`: the error rate that it keeps.
    pub controls: String,
    /// The benchmarks of each family.
    pub tests: u64,
    /// How many benchmarks have which verdict.
    pub benchmarks: VerdictCounts,
    /// The counts in a sentence.
    pub sentence: String,
}

/// Adjusts the headlines of one candidate over its benchmarks, and tells what is left of them.
pub(crate) fn adjust(
    comparisons: &mut [&mut ComparisonReport],
    level: ConfidenceLevel,
) -> Vec<MultiplicityReport> {
    let asked: Vec<Option<OneSidedReport>> = comparisons.iter().map(|one| p_values(one)).collect();
    let tests = asked.iter().flatten().count();
    if tests < FEWEST_BENCHMARKS {
        return Vec::new();
    }
    let reports = ADJUSTMENTS.into_iter().map(|adjustment| {
        let family = |of: fn(&OneSidedReport) -> f64| -> Vec<Option<PValue>> {
            let p_values: Vec<_> =
                asked.iter().map(|asked| asked.as_ref().map(|asked| PValue::clamped(of(asked)))).collect();
            adjustment.adjust(&p_values)
        };
        let families = family(|asked| asked.faster).into_iter().zip(family(|asked| asked.slower));
        for (comparison, (faster, slower)) in comparisons.iter_mut().zip(families) {
            if let (Some(faster), Some(slower)) = (faster, slower) {
                let adjusted = AdjustedReport {
                    adjustment: code(adjustment).to_owned(),
                    verdict: adjusted_by(comparison.verdict, faster, slower, level),
                    p_value: faster.told().min(slower.told()),
                };
                comparison.adjusted.push(adjusted);
            }
        }
        summary(comparisons, adjustment, tests as u64, level)
    });
    reports.collect()
}

/// The p-values that count for a comparison; `None` when it has no runs to count.
fn p_values(comparison: &ComparisonReport) -> Option<OneSidedReport> {
    comparison.observed?;
    let concluded = comparison.verdict != Verdict::NotEnoughData;
    Some(comparison.one_sided.filter(|_| concluded).unwrap_or(OneSidedReport { faster: 1.0, slower: 1.0 }))
}

/// What is left of a verdict by the adjusted p-values of both questions.
pub(crate) fn adjusted_by(plain: Verdict, faster: PValue, slower: PValue, level: ConfidenceLevel) -> Verdict {
    let risk = level.risk();
    match plain {
        Verdict::NotEnoughData => Verdict::NotEnoughData,
        Verdict::Faster if faster.rejects_at(risk) => Verdict::Faster,
        Verdict::Slower if slower.rejects_at(risk) => Verdict::Slower,
        Verdict::Faster | Verdict::Slower | Verdict::NoDifferenceShown => Verdict::NoDifferenceShown,
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
        ErrorRate::Familywise => (
            "familywise",
            format!("the probability of one or more wrong ones is at most {}", percent(level.risk().get())),
        ),
        ErrorRate::FalseDiscovery => (
            "false_discovery",
            format!(
                "at most {} of them are expected to be wrong, if the benchmarks are independent",
                percent(level.risk().get())
            ),
        ),
    };
    let sentence = format!(
        "{}, adjusted for {}: faster on {}, slower on {}; of either, {kept}.",
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
