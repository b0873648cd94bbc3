//! The answer: plain data with stable names.

use super::diagnostics;
use super::pairing::Pairing;
use super::remarks;
use super::suite::Observed;
use super::{Findings, Inquiry, Method, MethodEffort, Preference};
use crate::conclusion::{Reason, Warning};
use crate::gate::Conclusion;
use crate::study::ControlsReport;
use serde::Serialize;
use speedup_statistics::inference::ConfidenceLevel;

/// The version of the answer's shape; it changes when a field changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// What an inquiry found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What was done.
    pub method: MethodFacts,
    /// The confidence level of tests and intervals.
    pub confidence: ConfidenceLevel,
    /// Which values are the better.
    pub better: Preference,
    /// Where all randomness came from; absent where there was none.
    pub seed: Option<u64>,
    /// The versions, the baseline first.
    pub versions: Vec<String>,
    /// The samples that were analysed.
    pub samples: Vec<SampleFacts>,
    /// The benchmarks that some version lacks, which are not compared.
    pub unmatched: Vec<Unmatched>,
    /// What the method found.
    pub findings: Findings,
    /// What it found of the control, where nothing differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controls: Option<ControlsReport>,
    /// What must be known of all of it.
    pub caveats: Vec<Warning>,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodFacts {
    /// The method's full name.
    pub name: &'static str,
    /// The method and its options.
    pub options: Method,
    /// Where it is from.
    pub sources: Vec<&'static str>,
}

/// A sample in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleFacts {
    /// The version.
    pub version: String,
    /// The benchmark.
    pub benchmark: String,
    /// Its runs.
    pub runs: usize,
    /// Its values, of all runs.
    pub values: usize,
    /// The observations: the runs' values or means.
    pub n: usize,
    /// The least observation.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// Their standard deviation; absent for one observation.
    pub standard_deviation: Option<f64>,
}

/// A benchmark that some version lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// The benchmark.
    pub benchmark: String,
    /// The versions without it.
    pub missing_in: Vec<String>,
}

impl Findings {
    /// Why there is not enough data, and why intervals are missing, where there is not and they are.
    pub fn reasons(&self) -> Vec<Reason> {
        self.found().reasons()
    }

    /// What must be known of their parts.
    pub fn caveats(&self) -> Vec<Warning> {
        self.found().caveats()
    }

    pub(crate) fn conclusions(&self, level: ConfidenceLevel) -> Vec<Conclusion> {
        self.found().conclusions(level)
    }
}

impl Answer {
    pub(super) fn new(
        inquiry: &Inquiry,
        pairing: &Pairing<'_>,
        level: ConfidenceLevel,
        findings: Findings,
    ) -> Self {
        let method = &inquiry.method;
        let order =
            || diagnostics::order_dependence(&diagnostics::of_compared(pairing, method, level), level);
        let order = method.compares().then(order).flatten();
        let versions = pairing.versions.iter().zip(&pairing.samples);
        let samples = versions.flat_map(|(version, samples)| SampleFacts::all(version, samples));
        Self {
            schema_version: SCHEMA_VERSION,
            method: MethodFacts {
                name: method.name(),
                options: method.clone(),
                sources: method.asked().sources().to_vec(),
            },
            confidence: level,
            better: inquiry.better,
            seed: (method.effort() != MethodEffort::Computed).then_some(inquiry.seed.0),
            versions: pairing.versions.iter().map(|&version| version.to_owned()).collect(),
            samples: samples.collect(),
            unmatched: pairing.unmatched.clone(),
            findings,
            controls: None,
            caveats: remarks::of_observations(pairing, method).into_iter().chain(order).collect(),
        }
    }

    /// The same with what was found of a control.
    pub(super) fn with_control(
        mut self,
        control: &Pairing<'_>,
        (report, warnings): (ControlsReport, Vec<Warning>),
    ) -> Self {
        self.samples.extend(SampleFacts::all(control.versions[1], &control.samples[1]));
        self.caveats.extend(warnings);
        Self { controls: Some(report), ..self }
    }
}

impl SampleFacts {
    fn all(version: &str, samples: &[Observed<'_>]) -> Vec<Self> {
        let of = |one: &Observed<'_>| Self {
            version: version.to_owned(),
            benchmark: one.named.benchmark.clone(),
            runs: one.named.runs.len(),
            values: one.named.values().count(),
            n: one.sample.len(),
            min: one.sample.min(),
            mean: one.sample.mean(),
            median: one.sample.median(),
            standard_deviation: one.sample.standard_deviation(),
        };
        samples.iter().map(of).collect()
    }
}
