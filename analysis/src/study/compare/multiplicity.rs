//! The verdicts again, with their p-values adjusted for their number.
//!
//! One family: the headlines of all benchmarks with runs of both versions, two-sided, and of several benchmarks their total; the
//! endpoints that the plan puts in it; where a margin is declared, also the tests of being the same. What could not be tested counts with a p-value of 1: whether it can
//! is seen in the data, so to leave it out would choose the family by its results. Gates go by this family.

use super::verdict_counts::VerdictCounts;
use crate::conclusion::Verdict;
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, ErrorRate, PValue};

/// The adjustments of the report: one of each error rate.
pub(super) const ADJUSTMENTS: [Adjustment; 2] = [Adjustment::Holm, Adjustment::BenjaminiHochberg];
/// One verdict needs no adjustment.
pub(super) const FEWEST_TESTS: usize = 2;

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

/// A verdict with the p-values that it is by.
#[derive(Clone, Copy)]
pub(super) struct TestedVerdict {
    pub(super) verdict: Verdict,
    /// Of a difference; none without runs to count.
    pub(super) differ: Option<PValue>,
    /// Of being the same, where a margin is declared.
    pub(super) same: Option<PValue>,
}

/// A verdict that is adjusted together with others.
pub(super) trait FamilyMember {
    fn tested(&self) -> TestedVerdict;

    /// Stores the verdict that an adjustment leaves, with the p-value that it is by.
    fn store(&mut self, adjustment: Adjustment, verdict: Verdict, p_value: PValue);
}

/// Adjusts the verdicts of a family by each of the [`ADJUSTMENTS`]. One verdict alone needs none.
pub(super) fn adjust_family(family: &mut [&mut dyn FamilyMember], level: ConfidenceLevel) {
    if family.len() < FEWEST_TESTS {
        return;
    }
    let tested: Vec<TestedVerdict> = family.iter().map(|member| member.tested()).collect();
    for adjustment in ADJUSTMENTS {
        for (member, adjusted) in family.iter_mut().zip(adjusted(&tested, adjustment, level)) {
            if let Some((verdict, p_value)) = adjusted {
                member.store(adjustment, verdict, p_value);
            }
        }
    }
}

/// What an adjustment leaves of each verdict of a family, with the p-value that it is by; none of what has no runs to count.
fn adjusted(
    family: &[TestedVerdict],
    adjustment: Adjustment,
    level: ConfidenceLevel,
) -> Vec<Option<(Verdict, PValue)>> {
    let (differ, same): (Vec<_>, Vec<_>) = family.iter().map(|one| (one.differ, one.same)).unzip();
    let adjusted = adjustment.adjust(&[differ, same].concat());
    let (differ, same) = adjusted.split_at(family.len());
    let one = |((tested, differ), same): ((&TestedVerdict, &Option<PValue>), &Option<PValue>)| {
        let differ = (*differ)?;
        let verdict = left_of(tested.verdict, differ, *same, level);
        Some((verdict, same.filter(|_| verdict == Verdict::Same).unwrap_or(differ)))
    };
    family.iter().zip(differ).zip(same).map(one).collect()
}

impl AdjustedReport {
    pub(super) fn new(adjustment: Adjustment, verdict: Verdict, p_value: PValue) -> Self {
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}
