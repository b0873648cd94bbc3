//! The protocol of the median and of individual runs (Touati 2010 §4.2, Fig. 2).

use super::conclusion::{
    Assumption, AssumptionCheck, ProtocolConclusion, ProtocolOutcome, Question, StopReason, SubTest,
};
use super::{LARGE_ABOVE, LARGEST_RISK, Rules, TieRule};
use crate::test::{KolmogorovSmirnov, KolmogorovSmirnovStatistic, RankSum, RankSumChoice};
use crate::{
    inference::Caveat, inference::ConfidenceLevel, inference::Risk, inference::Side, sample::Sample,
};

/// All sub-tests of the protocol of the median.
#[derive(Clone, Debug)]
pub struct MedianTest {
    small: Vec<Side>,
    location_shift: KolmogorovSmirnov,
    rank_sum: RankSum,
}

impl MedianTest {
    pub(super) fn new(baseline: &Sample, candidate: &Sample, rules: Rules) -> Self {
        let sizes = [(Side::Baseline, baseline.len()), (Side::Candidate, candidate.len())];
        let small = sizes.into_iter().filter(|(_, n)| *n <= LARGE_ABOVE).map(|(side, _)| side);
        let (centred, rank_sum) = match rules.ties {
            TieRule::Conditional => (
                KolmogorovSmirnovStatistic::median_centred_within_rounding(baseline, candidate),
                RankSum::choose(baseline, candidate),
            ),
            TieRule::AsR => (
                KolmogorovSmirnovStatistic::median_centred(baseline, candidate),
                RankSum::r_default(baseline, candidate),
            ),
        };
        let location_shift = centred.test(rules.kolmogorov_smirnov);
        Self { small: small.collect(), location_shift, rank_sum }
    }

    /// The Kolmogorov–Smirnov test of the median-centred samples.
    pub fn location_shift(&self) -> SubTest {
        let test = &self.location_shift;
        SubTest::Made { method: test.name(), statistic: test.d(), p_value: test.p_value() }
    }

    /// The rank-sum test of `question`.
    pub fn rank_sum(&self, question: Question) -> SubTest {
        SubTest::Made {
            method: self.rank_sum.name(),
            statistic: self.rank_sum.statistic().w(),
            p_value: self.rank_sum.p_value(question.alternative()),
        }
    }

    /// The estimate of `P[X > Y]` + ½ `P[X = Y]`: the probability that a run of the candidate is the faster
    /// (Touati 2010 App. D).
    pub fn probability_faster(&self) -> f64 {
        self.rank_sum.statistic().probability_greater()
    }

    /// The answer at `level`.
    pub fn at(&self, question: Question, level: ConfidenceLevel) -> ProtocolConclusion {
        self.at_risk(question, level.risk())
    }

    /// The answer at `risk`, which is also the risk of the test of the location shift.
    pub fn at_risk(&self, question: Question, risk: Risk) -> ProtocolConclusion {
        let no_shift = self.location_shift.p_value().rejects_at(risk);
        // Large samples allow an answer without a common shape, with a caveat.
        let outcome = if no_shift && !self.small.is_empty() {
            let sides = self.small.clone();
            ProtocolOutcome::CannotConclude { reason: StopReason::SmallNoLocationShift { sides } }
        } else {
            ProtocolOutcome::from_main_test(self.rank_sum.p_value(question.alternative()), risk)
        };
        let mut caveats = Vec::new();
        if no_shift && self.small.is_empty() {
            caveats.push(Caveat::NoLocationShift);
        }
        if self.rank_sum.reason() == RankSumChoice::Ties {
            caveats.push(Caveat::Ties);
        }
        ProtocolConclusion {
            question,
            outcome,
            risk: Some(risk),
            main_test: self.rank_sum(question),
            assumptions: vec![AssumptionCheck::new(Assumption::LocationShift, self.location_shift(), risk)],
            caveats,
        }
    }

    /// The answer at the least risk that makes it significant, if one below ½ does.
    ///
    /// That is the rank sum's p-value, where a small sample does not stop the protocol: from the
    /// Kolmogorov–Smirnov p-value on. Where a risk would do but for that, the answer is that nothing can be
    /// concluded.
    pub fn best(&self, question: Question) -> ProtocolConclusion {
        let p_value = self.rank_sum.p_value(question.alternative()).get();
        let half = Risk::literal(LARGEST_RISK);
        match Risk::new(p_value) {
            Ok(risk) if risk < half => self.at_risk(question, risk).found(),
            Ok(_) | Err(_) => self.at_risk(question, half).at_no_level(),
        }
    }
}
