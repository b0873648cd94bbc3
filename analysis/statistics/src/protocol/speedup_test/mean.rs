//! The protocol of the mean (Touati 2010 §4.1, Fig. 1).

use super::conclusion::{
    Assumption, AssumptionCheck, ProtocolConclusion, ProtocolOutcome, Question, StopReason, SubTest,
    SubTestRefusal,
};
use super::{LARGE_ABOVE, LARGEST_RISK};
use crate::inference::{Alternative, Caveat, ConfidenceLevel, Risk, Side};
use crate::sample::Sample;
use crate::test::{FTest, FTestError, ShapiroWilk, ShapiroWilkError, StudentTTest, TTestError, WelchTTest};
use serde::Serialize;

/// All sub-tests of the protocol of the mean.
#[derive(Clone, Debug)]
pub struct MeanTest {
    samples: [Normality; 2],
    variances: Result<FTest, FTestError>,
    student: Result<StudentTTest, TTestError>,
    welch: Result<WelchTTest, TTestError>,
    beyond_5000: Beyond5000,
}

/// What happens to samples of more runs than Shapiro–Wilk can test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond5000 {
    /// They are large samples, with a caveat.
    Large,
    /// The protocol stops, as the original program does.
    Refused,
}

/// One sample's size and normality test.
#[derive(Clone, Copy, Debug)]
struct Normality {
    side: Side,
    assumption: Assumption,
    n: usize,
    test: Result<ShapiroWilk, ShapiroWilkError>,
}

impl Normality {
    fn new(side: Side, assumption: Assumption, sample: &Sample) -> Self {
        Self { side, assumption, n: sample.len(), test: ShapiroWilk::new(sample) }
    }

    fn is_small(&self) -> bool {
        self.n <= LARGE_ABOVE
    }

    fn sub_test(&self) -> SubTest {
        SubTest::new(ShapiroWilk::NAME, &self.test, |test| (test.statistic(), test.p_value()))
    }

    /// What stops the protocol whatever the risk.
    fn refusal(&self, beyond_5000: Beyond5000) -> Option<SubTestRefusal> {
        match (self.test, beyond_5000) {
            (Ok(_), _) | (Err(ShapiroWilkError::TooMany { .. }), Beyond5000::Large) => None,
            (Err(refusal), _) => Some(refusal.into()),
        }
    }

    /// At and above this risk, a small sample stops the protocol.
    fn stops_from(&self) -> f64 {
        match self.test {
            Ok(test) if self.is_small() => test.p_value().get(),
            Ok(_) | Err(_) => f64::INFINITY,
        }
    }

    fn rejected_at(&self, risk: Risk) -> bool {
        self.test.is_ok_and(|test| test.p_value().rejects_at(risk))
    }

    fn caveat(&self, risk: Risk, beyond_5000: Beyond5000) -> Option<Caveat> {
        let Self { side, n, .. } = *self;
        match self.test {
            Ok(_) => {
                let is_doubtful = !self.is_small() && self.rejected_at(risk);
                if is_doubtful { Some(Caveat::NotNormalLarge { side, n }) } else { None }
            }
            Err(ShapiroWilkError::TooMany { .. }) => match beyond_5000 {
                Beyond5000::Large => Some(Caveat::NormalityUntested { side, n }),
                // It stops the protocol, which says so.
                Beyond5000::Refused => None,
            },
            Err(_) => None,
        }
    }
}

impl MeanTest {
    pub(super) fn new(baseline: &Sample, candidate: &Sample, beyond_5000: Beyond5000) -> Self {
        Self {
            samples: [
                Normality::new(Side::Baseline, Assumption::NormalBaseline, baseline),
                Normality::new(Side::Candidate, Assumption::NormalCandidate, candidate),
            ],
            variances: FTest::new(baseline, candidate),
            student: StudentTTest::new(baseline, candidate),
            welch: WelchTTest::new(baseline, candidate),
            beyond_5000,
        }
    }

    /// The normality test of the baseline and of the candidate.
    pub fn normality(&self) -> [SubTest; 2] {
        self.samples.map(|sample| sample.sub_test())
    }

    /// The two-sided F test.
    pub fn variances(&self) -> SubTest {
        SubTest::new(FTest::NAME, &self.variances, |test| {
            (test.statistic(), test.p_value(Alternative::TwoSided))
        })
    }

    /// Student's test of `question`.
    pub fn student(&self, question: Question) -> SubTest {
        SubTest::new(StudentTTest::NAME, &self.student, |test| {
            (test.statistic().t(), test.p_value(question.alternative()))
        })
    }

    /// Welch's test of `question`.
    pub fn welch(&self, question: Question) -> SubTest {
        SubTest::new(WelchTTest::NAME, &self.welch, |test| {
            (test.statistic().t(), test.p_value(question.alternative()))
        })
    }

    /// The answer at `level`.
    pub fn at(&self, question: Question, level: ConfidenceLevel) -> ProtocolConclusion {
        self.at_risk(question, level.risk())
    }

    /// The answer at `risk`, which is also the risk of the tests of the assumptions.
    pub fn at_risk(&self, question: Question, risk: Risk) -> ProtocolConclusion {
        let variances = self.variances();
        let unequal = variances.p_value().is_some_and(|p| p.rejects_at(risk));
        let main_test = if unequal { self.welch(question) } else { self.student(question) };
        let [baseline, candidate] =
            self.samples.map(|sample| AssumptionCheck::new(sample.assumption, sample.sub_test(), risk));
        let equal_variances = AssumptionCheck::new(Assumption::EqualVariances, variances, risk);
        ProtocolConclusion {
            question,
            outcome: self.outcome(&main_test, risk),
            risk: Some(risk),
            main_test,
            assumptions: vec![baseline, candidate, equal_variances],
            caveats: self.samples.iter().filter_map(|sample| sample.caveat(risk, self.beyond_5000)).collect(),
        }
    }

    fn outcome(&self, main_test: &SubTest, risk: Risk) -> ProtocolOutcome {
        if let Some(refusal) = self.refusal() {
            return ProtocolOutcome::refused(refusal);
        }
        let stopping = self.samples.iter().filter(|s| s.is_small() && s.rejected_at(risk));
        let sides: Vec<Side> = stopping.map(|s| s.side).collect();
        if !sides.is_empty() {
            return ProtocolOutcome::CannotConclude { reason: StopReason::SmallNotNormal { sides } };
        }
        match *main_test {
            SubTest::Made { p_value, .. } => ProtocolOutcome::from_main_test(p_value, risk),
            SubTest::Refused { refusal, .. } => ProtocolOutcome::refused(refusal),
        }
    }

    /// What stops the protocol whatever the risk.
    fn refusal(&self) -> Option<SubTestRefusal> {
        let of_samples = self.samples.iter().find_map(|sample| sample.refusal(self.beyond_5000));
        of_samples
            .or_else(|| self.variances.err().map(SubTestRefusal::from))
            .or_else(|| self.student.err().map(SubTestRefusal::from))
            .or_else(|| self.welch.err().map(SubTestRefusal::from))
    }

    /// The answer at the least risk that makes it significant, if one below ½ does.
    ///
    /// In closed form, since the set of such risks is not an interval from some risk on: Student's test is
    /// used below the F test's p-value and Welch's from there, and small samples stop the protocol from s,
    /// their least normality p-value. So the infimum is the smaller of p_student, if below p_F and s, and
    /// max(p_welch, p_F), if below s; it is attained. Where a risk would do but for s, the answer is that
    /// nothing can be concluded.
    pub fn best(&self, question: Question) -> ProtocolConclusion {
        let stops_from = self.samples.iter().map(Normality::stops_from).fold(f64::INFINITY, f64::min);
        let feasible =
            self.least_risk(question, stops_from).or_else(|| self.least_risk(question, f64::INFINITY));
        let half = Risk::literal(LARGEST_RISK);
        match (self.refusal(), feasible) {
            (Some(_), _) => ProtocolConclusion { risk: None, ..self.at_risk(question, half) },
            (None, Some(risk)) => self.at_risk(question, risk).found(),
            (None, None) => self.at_risk(question, half).at_no_level(),
        }
    }

    fn least_risk(&self, question: Question, stops_from: f64) -> Option<Risk> {
        let p_f = self.variances().p_value()?.get();
        let p_student = self.student(question).p_value()?.get();
        let p_welch = self.welch(question).p_value()?.get();
        let by_student = Some(p_student).filter(|risk| *risk < p_f.min(stops_from));
        let by_welch = Some(p_welch.max(p_f)).filter(|risk| *risk < stops_from);
        let least = by_student.into_iter().chain(by_welch).fold(f64::INFINITY, f64::min);
        if least < LARGEST_RISK { Risk::new(least).ok() } else { None }
    }
}
