//! The verdicts of the two protocols on a benchmark, by the published program or by us.

use serde::Serialize;
use speedup_statistics::inference::{Caveat, ConfidenceLevel};
use speedup_statistics::protocol::speedup_test::{
    ProtocolConclusion, ProtocolOutcome, Question, Rules, SpeedupTest, published, published::PublishedVerdict,
};

use super::ConfiguredOptions;
use crate::inquiry::SpeedupTestMode;

const FASTER: Question = Question::CandidateFaster;

/// What a protocol says of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct ProtocolVerdict {
    /// Whether the speedup is statistically significant; absent where nothing can be concluded.
    pub significant: Option<bool>,
    /// The confidence level of that.
    pub confidence: Option<f64>,
    /// The protocol at the last risk tried, with all its tests.
    pub conclusion: ProtocolConclusion,
}

/// The rules of the sub-tests.
pub(super) fn rules(options: &ConfiguredOptions) -> Rules {
    match options.mode {
        SpeedupTestMode::Exact => Rules::PUBLISHED_TESTS,
        SpeedupTestMode::Published if options.legacy_ks => Rules::PUBLISHED_BEFORE_R_4_2,
        SpeedupTestMode::Published => Rules::PUBLISHED,
    }
}

/// The verdicts on the mean and on the median, at the level of the configuration's line or of the command line, or at
/// the best one.
pub(super) fn verdicts(
    test: &SpeedupTest,
    own: Option<ConfidenceLevel>,
    options: &ConfiguredOptions,
) -> [ProtocolVerdict; 2] {
    match options.mode {
        SpeedupTestMode::Published => {
            let level = options.level.or(own);
            [
                published::verdict(level, |risk| test.mean.at_risk(FASTER, risk)).into(),
                published::verdict(level, |risk| test.median.at_risk(FASTER, risk)).into(),
            ]
        }
        SpeedupTestMode::Exact => match own.or(options.level) {
            Some(level) => [test.mean.at(FASTER, level), test.median.at(FASTER, level)]
                .map(|conclusion| ProtocolVerdict::new(Some(level.get()), conclusion)),
            None => [test.mean.best(FASTER), test.median.best(FASTER)].map(|conclusion| {
                // A risk too small for a double does not make certainty.
                let confidence = conclusion.confidence().map(|level| level.min(1.0 - f64::EPSILON / 2.0));
                ProtocolVerdict::new(confidence, conclusion)
            }),
        },
    }
}

impl From<PublishedVerdict> for ProtocolVerdict {
    fn from(verdict: PublishedVerdict) -> Self {
        let PublishedVerdict { significant, confidence, no_level_above_half, mut conclusion } = verdict;
        if no_level_above_half {
            conclusion.caveats.push(Caveat::NoLevelAboveHalf);
        }
        Self { significant, confidence, conclusion }
    }
}

impl ProtocolVerdict {
    fn new(confidence: Option<f64>, conclusion: ProtocolConclusion) -> Self {
        let significant = match &conclusion.outcome {
            ProtocolOutcome::Significant => Some(true),
            ProtocolOutcome::NotSignificant => Some(false),
            ProtocolOutcome::CannotConclude { .. } => None,
        };
        Self { significant, confidence, conclusion }
    }
}
