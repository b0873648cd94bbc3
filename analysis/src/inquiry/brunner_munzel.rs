//! The Brunner–Munzel test: how probably a run of the candidate is the better one, whatever else the versions differ in.

use super::answer::Found;
use super::pairing::{Pair, Pairing};
use super::{Inquiry, IntervalAnswer, Preference, Remark};
use crate::study::{Reason, Verdict};
use serde::Serialize;
use speedup_statistics::inference::{Alternative, ConfidenceLevel, PValue};
use speedup_statistics::test::{BrunnerMunzel, BrunnerMunzelError, LeastPValues};

/// Below so many runs of a version Student's t is a rough law of the statistic (Brunner and Munzel 2000, §4).
const FEW_RUNS: usize = 10;

/// One benchmark of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrunnerMunzelFinding {
    /// The candidate.
    pub candidate: String,
    /// The benchmark.
    pub benchmark: String,
    /// The verdict, each direction one-sided at the level.
    pub verdict: Verdict,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
    /// The baseline's runs.
    pub baseline_runs: usize,
    /// The candidate's runs.
    pub candidate_runs: usize,
    /// The estimated probability that a run of the candidate is better than one of the baseline, equal ones counted half.
    pub probability_better: Option<f64>,
    /// Its interval, within 0 and 1.
    pub interval: IntervalAnswer,
    /// The statistic: how many standard errors the probability is above 1/2.
    pub statistic: Option<f64>,
    /// The degrees of freedom of its law.
    pub df: Option<f64>,
    /// The p-value of the candidate being faster.
    pub p_value_faster: Option<f64>,
    /// The p-value of its being slower.
    pub p_value_slower: Option<f64>,
    /// What must be known.
    pub caveats: Vec<Remark>,
}

impl Found for Vec<BrunnerMunzelFinding> {
    fn reasons(&self) -> Vec<Reason> {
        self.iter().flat_map(|one| one.reason.iter().chain(one.interval.reason()).cloned()).collect()
    }

    fn caveats(&self) -> Vec<Remark> {
        self.iter().flat_map(|one| one.caveats.iter().chain(one.interval.caveats()).cloned()).collect()
    }
}

pub(super) fn find(
    inquiry: &Inquiry,
    pairing: &Pairing<'_>,
    level: ConfidenceLevel,
) -> Vec<BrunnerMunzelFinding> {
    let of = |(number, candidate)| {
        let pairs = pairing.pairs(number, inquiry.better);
        pairs.iter().map(|pair| one(candidate, pair, inquiry, level)).collect::<Vec<_>>()
    };
    pairing.candidates().flat_map(of).collect()
}

/// The first sample of a pair is the one whose values are to be the larger where the candidate is the better.
fn one(candidate: &str, pair: &Pair<'_>, inquiry: &Inquiry, level: ConfidenceLevel) -> BrunnerMunzelFinding {
    let (first, second) = pair.samples();
    let (baseline, of_candidate) = match inquiry.better {
        Preference::Lower => (first, second),
        Preference::Higher => (second, first),
    };
    let mut finding = BrunnerMunzelFinding {
        candidate: candidate.to_owned(),
        benchmark: pair.benchmark.to_owned(),
        verdict: Verdict::NotEnoughData,
        reason: None,
        baseline_runs: baseline.len(),
        candidate_runs: of_candidate.len(),
        probability_better: None,
        interval: IntervalAnswer::missing("not_enough_data", "there is no test"),
        statistic: None,
        df: None,
        p_value_faster: None,
        p_value_slower: None,
        caveats: Vec::new(),
    };
    let least = LeastPValues::new(second, first);
    let [faster, slower] = match BrunnerMunzel::new(second, first) {
        Ok(test) => {
            if first.len().min(second.len()) < FEW_RUNS {
                finding.caveats.push(few_runs());
            }
            let mut interval = test.interval(level);
            (interval.lower, interval.upper) = (interval.lower.max(0.0), interval.upper.min(1.0));
            finding.interval = IntervalAnswer::new(&interval, inquiry.better);
            finding.probability_better = Some(test.probability());
            finding.statistic = Some(test.statistic());
            finding.df = Some(test.df());
            [Alternative::Less, Alternative::Greater].map(|side| test.p_value(side))
        }
        Err(error) => {
            let is_better = second.max() < first.min();
            if error != BrunnerMunzelError::NoOverlap || !is_better && first.max() >= second.min() {
                let reason = Reason::new(code(error), error);
                finding.interval = IntervalAnswer::Missing { reason: reason.clone() };
                finding.reason = Some(reason);
                return finding;
            }
            // No other order of the runs is as extreme: its share among all orders is exact.
            let remark = separated();
            finding.interval = IntervalAnswer::missing(&remark.code, &remark.sentence);
            finding.caveats.push(remark);
            finding.probability_better = Some(if is_better { 1.0 } else { 0.0 });
            let least =
                [Alternative::Less, Alternative::Greater].map(|side| PValue::clamped(least.against(side)));
            if is_better { [least[0], PValue::clamped(1.0)] } else { [PValue::clamped(1.0), least[1]] }
        }
    };
    finding.verdict = if faster.rejects_at(level.risk()) {
        Verdict::Faster
    } else if slower.rejects_at(level.risk()) {
        Verdict::Slower
    } else {
        Verdict::NoDifferenceShown
    };
    // What Student's t says of so few runs that no order of them is rare enough is its approximation.
    if least.against(Alternative::Less).min(least.against(Alternative::Greater)) > level.risk().get() {
        finding.verdict = Verdict::NotEnoughData;
        let sentence =
            format!("With so few runs no order of them is significant at {level}: plan more runs.");
        finding.reason = Some(Reason::new("too_few_runs", sentence));
    }
    finding.p_value_faster = Some(faster.told());
    finding.p_value_slower = Some(slower.told());
    finding
}

fn few_runs() -> Remark {
    Remark::new(
        "few_runs",
        format!(
            "With fewer than {FEW_RUNS} runs of a version the law of the Brunner–Munzel test is a rough approximation: plan more \
             runs."
        ),
    )
}

fn separated() -> Remark {
    Remark::new(
        "separated",
        "All runs of one version were faster than all of the other, which leaves no error to estimate: the p-value is the share \
         of this order among all orders of the runs, and the probability has no interval.",
    )
}

fn code(error: BrunnerMunzelError) -> &'static str {
    match error {
        BrunnerMunzelError::TooFew { .. } => "too_few_runs",
        BrunnerMunzelError::NoOverlap => "no_overlap",
    }
}
