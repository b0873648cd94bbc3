//! The authors' earlier protocol (Touati 2009).

use super::method::{FindResult, MethodFindings, MethodSpec};
use super::{Findings, Inquiry, IntervalAnswer, Preference, pairing::Pair, pairing::Pairing};
use crate::conclusion::{Reason, ReasonCode, Verdict, Warning, WarningCode};
use crate::gate::GateError;
use serde::{Deserialize, Serialize};
use speedup_core::value::hint::Hinted;
use speedup_statistics::inference::{Alternative, ConfidenceLevel, Side};
use speedup_statistics::protocol::{EarlierError, EarlierProtocol, NormalityReading};
use speedup_statistics::test::WelchTTest;

/// Options of the earlier protocol.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EarlierOptions {
    /// How a small sample is found normal.
    pub normality: NormalityReading,
}

impl Default for EarlierOptions {
    fn default() -> Self {
        Self { normality: NormalityReading::NotRejected }
    }
}

/// A candidate over all benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EarlierSuite {
    pub candidate: String,
    /// The accelerated benchmarks.
    pub accelerated: u64,
    /// The best levels of the accelerated benchmarks, of which the suite has the lowest (Touati 2009 §3); absent where none is.
    pub confidence: Option<f64>,
    pub benchmarks: Vec<EarlierFinding>,
    pub caveats: Vec<Warning>,
}

/// One benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EarlierFinding {
    pub benchmark: String,
    /// Faster, no difference shown, or not enough data: the protocol knows no slowdown.
    pub verdict: Verdict,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
    /// The one-sided interval of the difference of the means, in the unit of the values.
    pub difference: IntervalAnswer,
    /// The best level at which it is accelerated, 1 − p of Welch's test.
    pub best_confidence: Option<f64>,
    /// The ratio of the means.
    pub mean_speedup: f64,
    /// The ratio of the medians, which the paper prefers.
    pub median_speedup: f64,
}

impl MethodSpec for EarlierOptions {
    fn name(&self) -> &'static str {
        EarlierProtocol::NAME
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "Touati: Towards a Statistical Methodology to Evaluate Program Speedups and their Optimisation Techniques, 2009",
        ]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let mut suites = Vec::new();
        for (number, candidate) in pairing.candidates() {
            let pairs = pairing.pairs(number, inquiry.better);
            let benchmarks: Vec<_> =
                pairs.iter().map(|pair| compare(pair, inquiry.better, self, level)).collect();
            let levels: Vec<f64> = benchmarks.iter().filter_map(|one| one.best_confidence).collect();
            suites.push(EarlierSuite {
                candidate: candidate.to_owned(),
                accelerated: benchmarks.iter().filter(|one| one.verdict == Verdict::Faster).count() as u64,
                confidence: levels.into_iter().min_by(f64::total_cmp),
                benchmarks,
                caveats: vec![Warning::new(
                    WarningCode::Superseded,
                    "The authors' later protocol has superseded this one, whose verdict on small samples rests on a test of \
                     normality alone: use the Speedup-Test unless you compare with old results.",
                )],
            });
        }
        Ok(Findings::Earlier(suites))
    }

    fn check_gate(&self) -> Result<(), GateError> {
        Err(GateError::OneSided(self.name()))
    }
}

impl MethodFindings for Vec<EarlierSuite> {
    fn reasons(&self) -> Vec<Reason> {
        self.iter().flat_map(|suite| &suite.benchmarks).filter_map(|one| one.reason.clone()).collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|one| one.caveats.clone()).collect()
    }
}

fn compare(
    pair: &Pair<'_>,
    better: Preference,
    options: &EarlierOptions,
    level: ConfidenceLevel,
) -> EarlierFinding {
    let (first, second) = pair.samples();
    let mut finding = EarlierFinding {
        benchmark: pair.benchmark.to_owned(),
        mean_speedup: first.mean() / second.mean(),
        median_speedup: first.median() / second.median(),
        ..EarlierFinding::default()
    };
    let acceleration = EarlierProtocol::new(first, second).and_then(|protocol| {
        protocol.check_normality(level, options.normality)?;
        Ok(protocol.at(level))
    });
    match acceleration {
        Ok(acceleration) => {
            finding.verdict = Verdict::Undecided;
            finding.difference = IntervalAnswer::new(&acceleration.difference, better);
            if acceleration.accelerated {
                finding.verdict = Verdict::Faster;
                // The interval excludes zero at every level below this one.
                let test = WelchTTest::new(first, second).ok();
                finding.best_confidence = test.map(|test| 1.0 - test.p_value(Alternative::Greater).told());
            }
        }
        Err(error) => {
            let reason = refusal(&error, better);
            finding.difference = IntervalAnswer::Missing { reason: reason.clone() };
            finding.reason = Some(reason);
        }
    }
    finding
}

fn refusal(error: &EarlierError, better: Preference) -> Reason {
    match error {
        EarlierError::Means(source) => Reason::of(ReasonCode::Means, source),
        EarlierError::Ratio(source) => Reason::from(source),
        EarlierError::Untested { side, source } => Reason::new(
            ReasonCode::NormalityUntested,
            format!(
                "the normality of the {} cannot be tested: {}",
                oriented(*side, better).name(),
                source.in_a_sentence()
            ),
        ),
        EarlierError::NotNormal { side, p_value } => Reason::of(
            ReasonCode::SmallNotNormal,
            &EarlierError::NotNormal { side: oriented(*side, better), p_value: *p_value },
        ),
    }
}

/// The side as the inquiry names it: where larger is better, the samples were compared in the other order.
fn oriented(side: Side, better: Preference) -> Side {
    match better {
        Preference::Lower => side,
        Preference::Higher => side.other(),
    }
}
