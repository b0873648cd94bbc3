//! Any of the methods on plain samples: what is asked and what is answered, as data.
//!
//! An [`Inquiry`] holds the samples of two or more versions, each with its benchmarks, and the [`Method`]; [`Inquiry::answer`]
//! gives an [`Answer`] or a named refusal. Whoever has samples from anywhere asks here: no plan, no hosts, no files. All
//! randomness comes from the inquiry's seed.
//!
//! In reading order:
//! * `suite`: versions and benchmarks, checked; `pairing`: the benchmarks that all versions have; `blocks`: the runs that a
//!   design made pairs;
//! * the list of the methods below; `method`: what each of them answers of itself; `refusal`: why there is no answer;
//! * `answer`, `interval`: what every answer has; then one file a method, with its options, findings and conclusions;
//! * [`configured`]: the Speedup-Test as its published program makes it.
//!
//! ```
//! use speedup_analysis::inquiry::{Findings, Inquiry, Method, Suite};
//! use speedup_analysis::conclusion::Verdict;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let before = Suite::single("before", "sort", vec![2.799, 2.046, 2.259, 1.877, 2.244]);
//! let after = Suite::single("after", "sort", vec![1.046, 0.859, 0.877, 1.244, 1.799]);
//! let answer = Inquiry::new(vec![before, after], Method::ratio()).answer()?;
//! let Findings::Ratio(candidates) = &answer.findings else { return Err("another method answered".into()) };
//! assert_eq!(candidates[0].benchmarks[0].comparison.verdict, Verdict::Faster);
//! # Ok(())
//! # }
//! ```

mod answer;
mod blocks;
mod brunner_munzel;
pub mod configured;
mod diagnostics;
mod distribution;
mod earlier;
mod effect;
mod interval;
mod method;
mod missing;
mod mixture;
mod pairing;
mod performance_test;
mod proportion;
mod ratio;
mod refusal;
mod share;
mod signed_rank;
mod speedup_test;
mod suite;
#[cfg(test)]
mod tests;

pub use answer::{Answer, MethodFacts, SCHEMA_VERSION, SampleFacts};
pub use brunner_munzel::BrunnerMunzelFinding;
pub use diagnostics::{Diagnostic, DiagnosticsFinding};
pub use distribution::{AtMostFinding, DistributionFinding, DistributionOptions, QuantileFinding};
pub use earlier::{EarlierFinding, EarlierOptions, EarlierSuite};
pub use effect::{BootstrapFinding, EffectFinding, EffectOptions, LevelsFinding};
pub use interval::IntervalAnswer;
pub use method::{MethodEffort, Offer};
pub use missing::{MissingSample, UnmatchedBenchmark};
pub use mixture::{MetricFinding, MixtureFinding, MixtureFindings, MixtureOptions, ShortestFinding};
pub use performance_test::{PerformanceBenchmark, PerformanceFinding, PerformanceTestOptions};
pub use proportion::AcceleratedShare;
pub use ratio::{RatioFinding, RatioOptions, RatioSuite};
pub use refusal::{InquiryError, MOST_VALUES, MOST_VERSIONS};
pub use share::FasterShare;
pub use signed_rank::SignedRankFinding;
pub use speedup_test::{
    AdjustedVerdict, ProtocolFinding, PublishedFinding, SpeedupMeansFinding, SpeedupTestFinding,
    SpeedupTestMode, SpeedupTestOptions, SpeedupTestSuite,
};
pub use suite::{MissingBenchmark, MissingCause, NamedSample, Suite};

use crate::gate::{Conclusion, Ruling};
use method::{MethodFindings, MethodSpec, methods};
use pairing::Pairing;
use serde::{Deserialize, Serialize};
use speedup_core::value::seed::Seed;
use speedup_statistics::{
    inference::ConfidenceLevel, inference::Threshold, ratio::BenchmarkWeights, test::Selection,
};
use std::collections::BTreeMap;

methods! { $
    Ratio(options: RatioOptions) of ratio finds Vec<RatioSuite>, "ratio":
        "The ratio of trimmed means, medians or means with its two-sided interval, and what follows for the suite";
    SpeedupTest(options: SpeedupTestOptions) of speedup_test finds Vec<SpeedupTestSuite>, "speedup-test":
        "Verdicts on mean and median, best levels, suite and proportion (Touati, Worms, Briais 2010)";
    PerformanceTest(options: PerformanceTestOptions) of performance_test finds Vec<PerformanceFinding>, "hpt":
        "The hierarchical performance test over all benchmarks (Chen et al. 2012)";
    Effect(options: EffectOptions) of effect finds Vec<EffectFinding>, "effect":
        "The ratio of means with runs as a level, and a threshold (Kalibera, Jones 2012)";
    Mixture(options: MixtureOptions) of mixture finds MixtureFindings, "mixture":
        "Gaussian mixtures, their test of fit, and the metrics of variability (Worms, Touati 2016)";
    SignedRank of signed_rank finds Vec<SignedRankFinding>, "signed-rank":
        "The signed-rank test of runs that the design made pairs";
    BrunnerMunzel of brunner_munzel finds Vec<BrunnerMunzelFinding>, "brunner-munzel":
        "How probably a run of the candidate is the better one, whatever their laws (Brunner, Munzel 2000)";
    Earlier(options: EarlierOptions) of earlier finds Vec<EarlierSuite>, "earlier":
        "The authors' earlier protocol (Touati 2009)";
    Distribution(options: DistributionOptions) of distribution finds Vec<DistributionFinding>, "distribution":
        "Quantiles, probabilities and clusters of each sample, observed and by its mixture (Worms, Touati 2016)";
    Diagnostics of diagnostics finds Vec<DiagnosticsFinding>, "diagnostics":
        "Whether runs depend on their order, and whether their values are continuous";
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inquiry {
    /// The versions, the baseline first.
    pub suites: Vec<Suite>,
    pub method: Method,
    /// The confidence level of tests and intervals; 0.95 without it. The published mode of the Speedup-Test
    /// searches for the best level without it.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The slowdown that gates ignore.
    #[serde(default)]
    pub noise_threshold: Threshold,
    /// Amounts by which a candidate may be faster, such as 0.5 for a speedup of 1.5: each is answered by a [`FasterShare`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faster_by: Vec<f64>,
    /// Which values are the better.
    #[serde(default)]
    pub better: Preference,
    /// What each benchmark of the baseline counts in overall numbers, in their order there.
    #[serde(default = "equal_weights")]
    pub weights: BenchmarkWeights,
    /// How the benchmarks were selected, which says whether a proportion of them is one of other programs too.
    #[serde(default = "chosen")]
    pub selection: Selection,
    /// All randomness comes from here.
    #[serde(default = "seed_of_none")]
    pub seed: Seed,
}

/// Which values are the better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// The smaller ones: times, bytes. A speedup is baseline over candidate.
    #[default]
    Lower,
    /// The larger ones: rates, scores. A speedup is candidate over baseline.
    Higher,
}

impl Inquiry {
    /// An inquiry with the usual choices: 0.95, smaller is better, equal weights, chosen benchmarks, seed 0.
    pub fn new(suites: Vec<Suite>, method: Method) -> Self {
        Self {
            suites,
            method,
            confidence: None,
            noise_threshold: Threshold::NONE,
            faster_by: Vec::new(),
            better: Preference::Lower,
            weights: equal_weights(),
            selection: chosen(),
            seed: seed_of_none(),
        }
    }

    /// The answer.
    ///
    /// # Errors
    /// [`InquiryError`] for samples, options or weights that cannot be meant. What one benchmark does not allow is said
    /// with that benchmark instead.
    pub fn answer(&self) -> Result<Answer, InquiryError> {
        let level = match self.confidence {
            Some(level) => ConfidenceLevel::new(level).map_err(InquiryError::Confidence)?,
            None => ConfidenceLevel::USUAL,
        };
        self.method.spec().check()?;
        let (compared, control) = self.compared()?;
        let pairing = Pairing::new(self, &compared)?;
        let findings = self.method.spec().find(self, &pairing, level)?;
        let gates = self.gates(&findings, &pairing, level)?;
        let faster_shares = self.faster_shares(&gates, &pairing)?;
        let answer = Answer { gates, faster_shares, ..Answer::new(self, &pairing, level, findings) };
        match (&self.method, control) {
            (Method::Ratio(options), Some(control)) => {
                let control = Pairing::new(self, &[&self.suites[0], control]).map_err(control_refusal)?;
                let found = ratio::control(self, &pairing, &control, options, level);
                Ok(answer.with_control(&control, found))
            }
            _ => Ok(answer),
        }
    }

    /// The conclusions by which gates decide. The ratio method has tested against the threshold already. Other methods know no threshold,
    /// so they are asked again about candidates that are made faster by it.
    fn gates(
        &self,
        findings: &Findings,
        pairing: &Pairing<'_>,
        level: ConfidenceLevel,
    ) -> Result<Vec<Conclusion>, InquiryError> {
        if self.method.check_gate().is_err() {
            return Ok(Vec::new());
        }
        let mut gates = findings.conclusions(level, self.noise_threshold);
        if !self.noise_threshold.is_none() && !matches!(self.method, Method::Ratio(_)) {
            let mut rulings = BTreeMap::new();
            for one in self.faster_candidates().answer()?.gates {
                rulings
                    .insert((one.candidate, one.benchmark, one.endpoint), (one.ruling, one.ruling_p_value));
            }
            for one in &mut gates {
                let key = (one.candidate.clone(), one.benchmark.clone(), one.endpoint.clone());
                // Values at the edge of what can be computed may be beyond it when they are scaled.
                let beyond = rulings.get(&key).copied();
                (one.ruling, one.ruling_p_value) = beyond.unwrap_or((Ruling::Undecided, None));
            }
        }
        missing::add_missing(&mut gates, &pairing.available, &pairing.benchmarks.iter().copied().collect());
        Ok(gates)
    }

    /// The same question about candidates that are made faster by the threshold t: their times are divided by 1 + t, their rates multiplied.
    fn faster_candidates(&self) -> Self {
        let mut faster = self.with_candidates_slower(self.noise_threshold.slowest());
        faster.noise_threshold = Threshold::NONE;
        faster.faster_by.clear();
        faster.suites.iter_mut().for_each(|suite| suite.missing.clear());
        faster
    }

    /// The same question about candidates whose times are multiplied by a factor, or whose rates are divided by it.
    fn with_candidates_slower(&self, factor: f64) -> Self {
        let factor = match self.better {
            Preference::Lower => factor,
            Preference::Higher => 1.0 / factor,
        };
        let mut slower = self.clone();
        for sample in slower.suites.iter_mut().skip(1).flat_map(|suite| &mut suite.benchmarks) {
            sample.runs.iter_mut().flatten().for_each(|value| *value *= factor);
        }
        slower
    }

    /// The same question about candidates that are slower by an amount, where only *faster* and *slower* are verdicts.
    fn slowed(&self, by: f64) -> Result<Self, InquiryError> {
        let Method::Ratio(options) = &self.method else {
            return Err(InquiryError::SharesOfMethod(self.method.name()));
        };
        let mut slowed = self.with_candidates_slower(1.0 + by);
        slowed.suites.retain(|suite| options.control.as_ref() != Some(&suite.version));
        let RatioOptions { center, trim, .. } = *options;
        slowed.method = Method::Ratio(RatioOptions { center, trim, ..RatioOptions::default() });
        slowed.noise_threshold = Threshold::NONE;
        slowed.faster_by.clear();
        Ok(slowed)
    }

    /// The versions to compare, and the one that is the control.
    fn compared(&self) -> Result<(Vec<&Suite>, Option<&Suite>), InquiryError> {
        let Some(asked) = self.method.spec().control() else {
            return Ok((self.suites.iter().collect(), None));
        };
        let Some(at) = self.suites.iter().position(|suite| suite.version == asked) else {
            let versions = self.suites.iter().map(|suite| suite.version.clone()).collect();
            return Err(InquiryError::NoControl { asked: asked.to_owned(), versions });
        };
        match (at, self.suites.len()) {
            (0, _) => Err(InquiryError::ControlIsBaseline(asked.to_owned())),
            (_, 2) => Err(InquiryError::NoCandidate(asked.to_owned())),
            _ => {
                let (before, after) = (&self.suites[..at], &self.suites[at + 1..]);
                Ok((before.iter().chain(after).collect(), Some(&self.suites[at])))
            }
        }
    }
}

/// The refusal of a control: what it lacks says nothing of a candidate.
fn control_refusal(error: InquiryError) -> InquiryError {
    match error {
        InquiryError::NoResults { listed, .. } => InquiryError::NoResults { listed, gates: Vec::new() },
        other => other,
    }
}

fn equal_weights() -> BenchmarkWeights {
    BenchmarkWeights::Equal
}

fn chosen() -> Selection {
    Selection::Chosen
}

fn seed_of_none() -> Seed {
    Seed(0)
}
