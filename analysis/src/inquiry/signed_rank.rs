//! Wilcoxon's signed-rank test of pairs: the runs of both versions in one block; without blocks the i-th with the i-th, which is
//! valid where the design made them pairs.
//!
//! Tested are the logarithms of the ratios, so that test, estimate and interval speak of one thing: the speedup of a
//! pair, whose Hodges–Lehmann pseudo-median is the antilogarithm.

use super::method::{FindResult, MethodFindings, MethodSpec};
use super::{
    Findings, Inquiry, IntervalAnswer, Preference, blocks::BlockedSamples, pairing::Pair, pairing::Pairing,
};
use crate::conclusion::{Reason, ReasonCode, Verdict, Warning, WarningCode};
use crate::study::two_sample::paired::logarithms;
use crate::{count::counted, gate::Conclusion};
use serde::Serialize;
use speedup_statistics::inference::{Alternative, ConfidenceLevel, PValue, Threshold};
use speedup_statistics::test::{PseudoMedian, SignedRank, SignedRankError};

/// One benchmark of one candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SignedRankFinding {
    pub candidate: String,
    pub benchmark: String,
    /// The verdict, each direction one-sided at the level.
    pub verdict: Verdict,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
    pub pairs: usize,
    /// The full name of the test that suits the pairs.
    pub test: Option<String>,
    /// V, the sum of the ranks of pairs in which the candidate is the better.
    pub statistic: Option<f64>,
    /// The p-value of the candidate being faster.
    pub p_value_faster: Option<f64>,
    /// The p-value of its being slower.
    pub p_value_slower: Option<f64>,
    /// The typical speedup of a pair.
    pub speedup: Option<f64>,
    pub interval: IntervalAnswer,
    pub caveats: Vec<Warning>,
}

pub(super) struct Options;

impl MethodSpec for Options {
    fn name(&self) -> &'static str {
        "Wilcoxon signed-rank test of paired log ratios"
    }

    fn sources(&self) -> &'static [&'static str] {
        &["Hollander, Wolfe: Nonparametric Statistical Methods, §3.1–3.3"]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let found = pairing.each(inquiry.better, |candidate, pair| compare(candidate, pair, inquiry, level));
        Ok(Findings::SignedRank(found))
    }

    fn takes_pairs(&self) -> bool {
        true
    }
}

impl MethodFindings for Vec<SignedRankFinding> {
    fn reasons(&self) -> Vec<Reason> {
        self.iter().flat_map(|one| one.reason.iter().chain(one.interval.reason()).cloned()).collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|one| one.caveats.iter().chain(one.interval.caveats()).cloned()).collect()
    }

    fn conclusions(&self, level: ConfidenceLevel, _noise: Threshold) -> Vec<Conclusion> {
        let mut plain = Vec::with_capacity(self.len());
        for one in self {
            let p_values = [one.p_value_faster, one.p_value_slower].map(|p| p.map(PValue::clamped));
            let benchmark = Some(one.benchmark.as_str());
            let ends = one.interval.ends();
            plain
                .push((Conclusion::new(&one.candidate, benchmark, one.verdict, one.speedup, ends), p_values));
        }
        Conclusion::adjusted(&plain, level)
    }
}

fn compare(candidate: &str, pair: &Pair<'_>, inquiry: &Inquiry, level: ConfidenceLevel) -> SignedRankFinding {
    let (first, second) = pair.compared();
    let mut finding = SignedRankFinding {
        candidate: candidate.to_owned(),
        benchmark: pair.benchmark.to_owned(),
        pairs: first.len().min(second.len()),
        ..SignedRankFinding::default()
    };
    match &pair.blocked {
        Some(BlockedSamples { pairs: None, .. }) => {
            finding.pairs = 0;
            let sentence =
                "No block has runs of both versions, but this is a test of pairs: use the method ratio";
            return finding.refused(Reason::new(ReasonCode::NoPairs, sentence));
        }
        Some(BlockedSamples { pairs: Some(_), .. }) => {}
        None => finding.caveats.push(pairs_by_order()),
    }
    if first.len() != second.len() {
        return finding.failed(&SignedRankError::Unpaired { x: first.len(), y: second.len() });
    }
    let logs = match logarithms(first, second) {
        Ok(logs) => logs,
        Err(error) => return finding.failed(&SignedRankError::Difference(error)),
    };
    let test = match SignedRank::from_logarithms(&logs) {
        Ok(test) => test,
        Err(error) => return finding.failed(&error),
    };
    let typical = PseudoMedian::new(&logs);
    let faster = test.p_value(Alternative::Greater);
    let slower = test.p_value(Alternative::Less);
    finding.verdict = Verdict::one_sided(faster, slower, level);
    // Undecided would say that there may be no difference, where none could have been seen.
    if finding.verdict == Verdict::Undecided && test.least_p_value() > level.risk().get() {
        finding.verdict = Verdict::NotEnoughData;
        let unlike = test.statistic().n();
        let sentence = format!(
            "With {} that {} no outcome is significant at {level}: plan more pairs.",
            counted(unlike as u64, "pair"),
            if unlike == 1 { "differs" } else { "differ" }
        );
        finding.reason = Some(Reason::new(ReasonCode::TooFewPairs, sentence));
    }
    finding.test = Some(test.name().to_owned());
    finding.caveats.extend(test.caveats().iter().map(Warning::from));
    finding.statistic = Some(test.statistic().v());
    finding.p_value_faster = Some(faster.told());
    finding.p_value_slower = Some(slower.told());
    finding.speedup = Some(typical.estimate().exp());
    finding.interval = typical_interval(&typical, level, inquiry.better);
    finding.interval.warn_beside(finding.verdict);
    finding
}

/// The interval of the typical speedup of a pair, from that of its logarithm.
pub(super) fn typical_interval(
    typical: &PseudoMedian<'_>,
    level: ConfidenceLevel,
    better: Preference,
) -> IntervalAnswer {
    match typical.interval(level) {
        Ok(mut interval) => {
            (interval.lower, interval.upper) = (interval.lower.exp(), interval.upper.exp());
            IntervalAnswer::new(&interval, better)
        }
        Err(error) => IntervalAnswer::refused(code(&error), &error),
    }
}

fn code(error: &SignedRankError) -> ReasonCode {
    match error {
        SignedRankError::Unpaired { .. } => ReasonCode::Unpaired,
        SignedRankError::Difference(_) => ReasonCode::NoDifferences,
        SignedRankError::AllZero => ReasonCode::AllZero,
        SignedRankError::TiesOrZeros => ReasonCode::TiesOrZeros,
        SignedRankError::TooFew { .. } => ReasonCode::TooFewPairs,
        SignedRankError::TooMany { .. } => ReasonCode::TooManyPairs,
    }
}

fn pairs_by_order() -> Warning {
    Warning::new(
        WarningCode::PairsByOrder,
        "The runs of both versions are paired by their order, which is valid only where the design made these \
            pairs, as blocks of one host each do: name them in a column `block`, or use the Speedup-Test for \
            independent samples.",
    )
}

impl SignedRankFinding {
    fn failed(self, error: &SignedRankError) -> Self {
        self.refused(Reason::of(code(error), error))
    }

    fn refused(mut self, reason: Reason) -> Self {
        self.interval = IntervalAnswer::Missing { reason: reason.clone() };
        self.reason = Some(reason);
        self
    }
}
