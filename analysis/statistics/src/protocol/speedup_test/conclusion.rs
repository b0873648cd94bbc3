//! The answer of a protocol, with all that it rests on.

use super::LARGE_ABOVE;
use crate::inference::{Alternative, Caveat, PValue, Risk, Side};
use crate::test::{FTestError, ShapiroWilkError, TTestError};
use serde::{Deserialize, Serialize};
use speedup_core::value::hint::Hinted;
use thiserror::Error;

/// What is asked of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Is the candidate faster: are the baseline's times the greater?
    CandidateFaster,
    /// Is the candidate slower?
    CandidateSlower,
}

/// A protocol's answer to a question at one risk.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProtocolConclusion {
    pub question: Question,
    /// The answer.
    pub outcome: ProtocolOutcome,
    /// The risk at which all tests were made; `None` when the search found no risk below ½.
    pub risk: Option<Risk>,
    /// The main test that the assumptions led to.
    pub main_test: SubTest,
    /// The assumptions, in the order of the protocol.
    pub assumptions: Vec<AssumptionCheck>,
    /// What the reader must know.
    pub caveats: Vec<Caveat>,
}

/// A protocol's verdict on whether the candidate is faster: a row of the original program's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProtocolVerdict {
    /// `IsMeanSignificant` or `IsMedianSignificant`; `None` is its NA.
    pub significant: Option<bool>,
    /// `MeanConfLevel` or `MedianConfLevel`, a fraction; `None` is its NA.
    pub confidence: Option<f64>,
    /// Whether a search found no level above one half.
    #[serde(skip)]
    pub no_level_above_half: bool,
    /// The protocol's answer at the last risk tried, with all its tests and caveats.
    pub conclusion: ProtocolConclusion,
}

/// Yes, no, or no answer: three different things.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProtocolOutcome {
    /// The difference asked for is statistically significant.
    Significant,
    /// It is not; which does not show that there is none.
    NotSignificant,
    /// The protocol does not allow an answer with these data.
    CannotConclude { reason: StopReason },
}

/// Why a protocol stopped.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum StopReason {
    /// A sample of at most 30 runs is not normal, so a t test is not valid (Touati 2010 Fig. 1).
    SmallNotNormal { sides: Vec<Side> },
    /// The versions differ by more than a shift, and a sample has at most 30 runs (Touati 2010 Fig. 2).
    SmallNoLocationShift { sides: Vec<Side> },
    /// A sub-test cannot be made.
    SubTestRefused { refusal: SubTestRefusal },
}

/// A sub-test's refusal.
#[derive(Clone, Copy, Debug, PartialEq, Error, Serialize)]
#[serde(tag = "test", content = "refusal", rename_all = "snake_case")]
pub enum SubTestRefusal {
    /// Of the normality test.
    #[error(transparent)]
    ShapiroWilk(#[from] ShapiroWilkError),
    /// Of the test of variances.
    #[error(transparent)]
    FTest(#[from] FTestError),
    /// Of the test of means.
    #[error(transparent)]
    TTest(#[from] TTestError),
}

speedup_core::hints! { SubTestRefusal:
    Self::ShapiroWilk(error) => error.hint(),
    Self::FTest(error) => error.hint(),
    Self::TTest(error) => error.hint(),
}

/// A test within a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SubTest {
    Made {
        /// The full name of the method.
        method: &'static str,
        /// Its statistic: W, F, t or D.
        statistic: f64,
        /// Its p-value.
        p_value: PValue,
    },
    /// It could not be made.
    Refused {
        /// The full name of the method.
        method: &'static str,
        refusal: SubTestRefusal,
    },
}

/// An assumption that a protocol makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// The baseline's times are normally distributed.
    NormalBaseline,
    /// The candidate's times are normally distributed.
    NormalCandidate,
    /// The differences of the pairs are normally distributed.
    NormalDifferences,
    /// Both versions have the same variance; if not, Welch's test is used.
    EqualVariances,
    /// The versions' times differ by a shift only.
    LocationShift,
}

/// What the data say of an assumption at the protocol's risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssumptionOutcome {
    /// Not rejected, which is not a proof.
    NotRejected,
    /// Rejected.
    Rejected,
    /// Not tested.
    Untested,
}

/// An assumption, the test of it, and what came out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AssumptionCheck {
    pub assumption: Assumption,
    pub test: SubTest,
    /// What came out at the protocol's risk.
    pub finding: AssumptionOutcome,
}

impl Question {
    /// The alternative hypothesis on (baseline, candidate).
    pub fn alternative(self) -> Alternative {
        match self {
            Self::CandidateFaster => Alternative::Greater,
            Self::CandidateSlower => Alternative::Less,
        }
    }
}

impl Assumption {
    /// Whether it is about the law of a sample.
    pub fn is_normality(self) -> bool {
        match self {
            Self::NormalBaseline | Self::NormalCandidate | Self::NormalDifferences => true,
            Self::EqualVariances | Self::LocationShift => false,
        }
    }
}

impl AssumptionCheck {
    pub(super) fn new(assumption: Assumption, test: SubTest, risk: Risk) -> Self {
        let finding = match test.p_value() {
            Some(p) if p.rejects_at(risk) => AssumptionOutcome::Rejected,
            Some(_) => AssumptionOutcome::NotRejected,
            None => AssumptionOutcome::Untested,
        };
        Self { assumption, test, finding }
    }
}

impl SubTest {
    pub(super) fn new<T, E: Copy + Into<SubTestRefusal>>(
        method: &'static str,
        made: &Result<T, E>,
        answer: impl FnOnce(&T) -> (f64, PValue),
    ) -> Self {
        match made {
            Ok(test) => {
                let (statistic, p_value) = answer(test);
                Self::Made { method, statistic, p_value }
            }
            Err(refusal) => Self::Refused { method, refusal: (*refusal).into() },
        }
    }

    /// The p-value, if the test was made.
    pub fn p_value(&self) -> Option<PValue> {
        match self {
            Self::Made { p_value, .. } => Some(*p_value),
            Self::Refused { .. } => None,
        }
    }

    /// The refusal, if it was not.
    pub fn refusal(&self) -> Option<SubTestRefusal> {
        match self {
            Self::Made { .. } => None,
            Self::Refused { refusal, .. } => Some(*refusal),
        }
    }
}

impl ProtocolOutcome {
    pub(super) fn from_main_test(p_value: PValue, risk: Risk) -> Self {
        if p_value.rejects_at(risk) { Self::Significant } else { Self::NotSignificant }
    }

    pub(super) fn refused(refusal: SubTestRefusal) -> Self {
        Self::CannotConclude { reason: StopReason::SubTestRefused { refusal } }
    }
}

impl ProtocolVerdict {
    /// The verdict of a protocol that is reported at the level `confidence`.
    pub fn new(confidence: Option<f64>, conclusion: ProtocolConclusion) -> Self {
        let significant = match &conclusion.outcome {
            ProtocolOutcome::Significant => Some(true),
            ProtocolOutcome::NotSignificant => Some(false),
            ProtocolOutcome::CannotConclude { .. } => None,
        };
        Self { significant, confidence, no_level_above_half: false, conclusion }
    }
}

impl ProtocolConclusion {
    /// The confidence level of the answer, 1 − risk; rounds to 1 for risks below 1e-16.
    pub fn confidence(&self) -> Option<f64> {
        self.risk.map(Risk::confidence)
    }

    /// Whether the difference asked for is significant.
    pub fn is_significant(&self) -> bool {
        self.outcome == ProtocolOutcome::Significant
    }

    /// The same of two samples that were given in the other order, as it is done where larger is better; the question
    /// stays, since who is faster was exchanged with them.
    pub fn exchanged(mut self) -> Self {
        if let ProtocolOutcome::CannotConclude {
            reason: StopReason::SmallNotNormal { sides } | StopReason::SmallNoLocationShift { sides },
        } = &mut self.outcome
        {
            sides.iter_mut().for_each(|side| *side = side.other());
            sides.sort_unstable();
        }
        for check in &mut self.assumptions {
            check.assumption = match check.assumption {
                Assumption::NormalBaseline => Assumption::NormalCandidate,
                Assumption::NormalCandidate => Assumption::NormalBaseline,
                same @ (Assumption::NormalDifferences
                | Assumption::EqualVariances
                | Assumption::LocationShift) => same,
            };
        }
        self.caveats = self.caveats.into_iter().map(Caveat::exchanged).collect();
        self
    }

    /// The answer of a search that found this risk, or found that nothing can be concluded at it.
    pub(super) fn found(mut self) -> Self {
        if self.is_significant() {
            self.caveats.push(Caveat::LevelFromData);
        } else {
            self.risk = None;
        }
        self
    }

    /// The answer of a search that found no risk below ½.
    pub(super) fn at_no_level(mut self) -> Self {
        self.outcome = ProtocolOutcome::NotSignificant;
        self.risk = None;
        self.caveats.push(Caveat::NoLevelAboveHalf);
        self
    }
}

impl StopReason {
    /// A sentence for a person, with a next step.
    pub fn sentence(&self) -> String {
        match self {
            Self::SmallNotNormal { sides } => format!(
                "The times of the {} seem not to be normally distributed, and with at most {LARGE_ABOVE} runs a \
                 t test is not valid: plan more than {LARGE_ABOVE} runs, or use the verdict on the \
                 median.",
                names(sides)
            ),
            Self::SmallNoLocationShift { sides } => format!(
                "The two versions differ by more than a shift, and with at most {LARGE_ABOVE} runs of the \
                 {} the rank-sum test is not valid: plan more than {LARGE_ABOVE} runs of each version.",
                names(sides)
            ),
            Self::SubTestRefused { refusal } => {
                format!("A test could not be made: {}", refusal.in_a_sentence())
            }
        }
    }
}

fn names(sides: &[Side]) -> String {
    sides.iter().map(|side| side.name()).collect::<Vec<_>>().join(" and the ")
}
