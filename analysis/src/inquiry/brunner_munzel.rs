//! The Brunner–Munzel test: how probably a run of the candidate is the better one, whatever else the versions differ in.

use super::method::{FindResult, MethodFindings, MethodSpec};
use super::{Findings, Inquiry, IntervalAnswer, Preference, pairing::Pair, pairing::Pairing};
use crate::conclusion::{Reason, ReasonCode, Verdict, Warning, WarningCode};
use crate::gate::Conclusion;
use serde::Serialize;
use speedup_statistics::inference::{Alternative, ConfidenceLevel, PValue, Threshold};
use speedup_statistics::test::{BrunnerMunzel, BrunnerMunzelError, LeastPValues};

/// Below so many runs of a version Student's t is a rough law of the statistic (Brunner and Munzel 2000, §4).
const FEW_RUNS: usize = 10;

/// One benchmark of one candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BrunnerMunzelFinding {
    pub candidate: String,
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
    pub caveats: Vec<Warning>,
}

pub(super) struct Options;

impl MethodSpec for Options {
    fn name(&self) -> &'static str {
        BrunnerMunzel::NAME
    }

    fn sources(&self) -> &'static [&'static str] {
        &["Brunner, Munzel: The Nonparametric Behrens-Fisher Problem, 2000"]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let found = pairing.each(inquiry.better, |candidate, pair| compare(candidate, pair, inquiry, level));
        Ok(Findings::BrunnerMunzel(found))
    }
}

impl MethodFindings for Vec<BrunnerMunzelFinding> {
    fn reasons(&self) -> Vec<Reason> {
        self.iter().flat_map(|one| one.reason.iter().chain(one.interval.reason()).cloned()).collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|one| one.caveats.iter().chain(one.interval.caveats()).cloned()).collect()
    }

    /// Its interval is one of a probability, not of a speedup.
    fn conclusions(&self, level: ConfidenceLevel, _noise: Threshold) -> Vec<Conclusion> {
        let mut plain = Vec::with_capacity(self.len());
        for one in self {
            let p_values = [one.p_value_faster, one.p_value_slower].map(|p| p.map(PValue::clamped));
            let benchmark = Some(one.benchmark.as_str());
            plain.push((Conclusion::new(&one.candidate, benchmark, one.verdict, None, None), p_values));
        }
        Conclusion::adjusted(&plain, level)
    }
}

/// The first sample of a pair is the one whose values are to be the larger where the candidate is the better.
fn compare(
    candidate: &str,
    pair: &Pair<'_>,
    inquiry: &Inquiry,
    level: ConfidenceLevel,
) -> BrunnerMunzelFinding {
    let (first, second) = pair.samples();
    let (baseline, of_candidate) = match inquiry.better {
        Preference::Lower => (first, second),
        Preference::Higher => (second, first),
    };
    let mut finding = BrunnerMunzelFinding {
        candidate: candidate.to_owned(),
        benchmark: pair.benchmark.to_owned(),
        baseline_runs: baseline.len(),
        candidate_runs: of_candidate.len(),
        ..BrunnerMunzelFinding::default()
    };
    let sides = [Alternative::Less, Alternative::Greater];
    let least = LeastPValues::new(second, first);
    let least = sides.map(|side| least.against(side));
    let is_better = second.max() < first.min();
    let p_values = match BrunnerMunzel::new(second, first) {
        Ok(test) => {
            if first.len().min(second.len()) < FEW_RUNS {
                finding.caveats.push(few_runs());
            }
            finding.tested(&test, inquiry.better, level);
            sides.map(|side| test.p_value(side).get())
        }
        Err(BrunnerMunzelError::NoOverlap) if is_better || first.max() < second.min() => {
            finding.separated(is_better);
            // No other order of the runs is as extreme: its share among all orders is exact.
            if is_better { [least[0], 1.0] } else { [1.0, least[1]] }
        }
        Err(error) => {
            let reason = Reason::of(code(error), &error);
            finding.interval = IntervalAnswer::Missing { reason: reason.clone() };
            finding.reason = Some(reason);
            return finding;
        }
    };
    // What Student's t says beyond the rarest order of so few runs is its approximation.
    let [faster, slower] = [0, 1].map(|at| PValue::clamped(p_values[at].max(least[at])));
    finding.p_value_faster = Some(faster.told());
    finding.p_value_slower = Some(slower.told());
    if least[0].min(least[1]) > level.risk().get() {
        let sentence =
            format!("With so few runs no order of them is significant at {level}: plan more runs.");
        finding.reason = Some(Reason::new(ReasonCode::TooFewRuns, sentence));
        return finding;
    }
    finding.verdict = Verdict::one_sided(faster, slower, level);
    finding
}

/// What follows where all runs of one version are better than all of the other.
const SEPARATED: &str = "All runs of one version were faster than all of the other, which leaves no error to estimate: the p-value is the share \
         of this order among all orders of the runs, and the probability has no interval.";

impl BrunnerMunzelFinding {
    fn tested(&mut self, test: &BrunnerMunzel, better: Preference, level: ConfidenceLevel) {
        let mut interval = test.interval(level);
        (interval.lower, interval.upper) = (interval.lower.max(0.0), interval.upper.min(1.0));
        self.interval = IntervalAnswer::new(&interval, better);
        self.probability_better = Some(test.probability());
        self.statistic = Some(test.statistic());
        self.df = Some(test.df());
    }

    /// All runs of one version are better than all of the other.
    fn separated(&mut self, is_better: bool) {
        self.interval = IntervalAnswer::missing(ReasonCode::Separated, SEPARATED);
        self.probability_better = Some(if is_better { 1.0 } else { 0.0 });
        self.caveats.push(Warning::new(WarningCode::Separated, SEPARATED));
    }
}

fn few_runs() -> Warning {
    Warning::new(
        WarningCode::FewRuns,
        format!(
            "With fewer than {FEW_RUNS} runs of a version the law of the Brunner–Munzel test is a rough approximation: plan more \
             runs."
        ),
    )
}

fn code(error: BrunnerMunzelError) -> ReasonCode {
    match error {
        BrunnerMunzelError::TooFew { .. } => ReasonCode::TooFewRuns,
        BrunnerMunzelError::NoOverlap => ReasonCode::NoOverlap,
    }
}
