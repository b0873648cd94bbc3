//! The answer: plain data with stable names.

use super::suite::{Grouping, ObservedSample};
use super::{
    FasterShare, Findings, Inquiry, Method, MethodEffort, MissingSample, Preference, UnmatchedBenchmark,
    blocks, diagnostics, missing, pairing::Pairing,
};
use crate::conclusion::{Reason, Warning, WarningCode};
use crate::{gate::Conclusion, gate::GateError, study::ControlsReport};
use serde::Serialize;
use speedup_statistics::{inference::ConfidenceLevel, inference::Threshold};

/// The version of the answer's shape; it changes when a field changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// What an inquiry found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
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
    pub unmatched: Vec<UnmatchedBenchmark>,
    /// What is missing of each version, and why; runs that failed too, where the others are compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingSample>,
    /// What the method found.
    pub findings: Findings,
    /// The slowdown that gates ignore; left out where any slowdown counts.
    #[serde(skip_serializing_if = "Threshold::is_none")]
    pub noise_threshold: Threshold,
    /// What gates, tests of JUnit and annotations go by; empty by a method that no gate can use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Conclusion>,
    /// On how many benchmarks each candidate is faster by the amounts that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faster_shares: Vec<FasterShare>,
    /// What it found of the control, where nothing differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controls: Option<ControlsReport>,
    pub caveats: Vec<Warning>,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodFacts {
    /// The method's full name.
    pub name: &'static str,
    pub options: Method,
    /// Where it is from.
    pub sources: Vec<&'static str>,
}

/// A sample in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleFacts {
    pub version: String,
    pub benchmark: String,
    pub runs: usize,
    /// Its values, of all runs.
    pub values: usize,
    /// The observations: the runs' values or means.
    pub n: usize,
    /// The least observation.
    pub min: f64,
    pub mean: f64,
    pub median: f64,
    /// Their standard deviation; absent for one observation.
    pub standard_deviation: Option<f64>,
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

    pub(crate) fn conclusions(&self, level: ConfidenceLevel, noise: Threshold) -> Vec<Conclusion> {
        self.found().conclusions(level, noise)
    }
}

impl Conclusion {
    /// Those of an answer: each candidate over all benchmarks, where the method has such a verdict, then on each.
    ///
    /// # Errors
    /// [`GateError`] for methods that have no verdict or know no slowdown.
    pub fn from_answer(answer: &Answer) -> Result<Vec<Self>, GateError> {
        answer.method.options.check_gate()?;
        Ok(answer.gates.clone())
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
        let mut caveats = remarks(pairing, method);
        // Methods that compare take independence on trust.
        if method.compares() {
            let diagnosed = diagnostics::diagnose_compared(pairing, method, level);
            caveats.extend(diagnostics::order_dependence(&diagnosed, level));
        }
        let mut samples = Vec::new();
        for (version, observed) in pairing.versions.iter().zip(&pairing.samples) {
            samples.extend(observed.iter().map(|one| SampleFacts::new(version, one)));
        }
        Self {
            schema_version: SCHEMA_VERSION,
            method: MethodFacts {
                name: method.name(),
                options: method.clone(),
                sources: method.spec().sources().to_vec(),
            },
            confidence: level,
            better: inquiry.better,
            seed: (method.effort() != MethodEffort::Computed).then_some(inquiry.seed.0),
            versions: pairing.versions.iter().map(|&version| version.to_owned()).collect(),
            samples,
            unmatched: pairing.unmatched.clone(),
            missing: pairing.available.iter().flat_map(|version| version.missing.values().cloned()).collect(),
            findings,
            noise_threshold: inquiry.noise_threshold,
            gates: Vec::new(),
            faster_shares: Vec::new(),
            controls: None,
            caveats,
        }
    }

    /// The same with what was found of a control.
    pub(super) fn with_control(
        mut self,
        control: &Pairing<'_>,
        (report, warnings): (ControlsReport, Vec<Warning>),
    ) -> Self {
        self.samples.extend(control.samples[1].iter().map(|one| SampleFacts::new(control.versions[1], one)));
        self.caveats.extend(warnings);
        Self { controls: Some(report), ..self }
    }
}

impl SampleFacts {
    fn new(version: &str, observed: &ObservedSample<'_>) -> Self {
        let ObservedSample { named, sample, .. } = observed;
        Self {
            version: version.to_owned(),
            benchmark: named.benchmark.clone(),
            runs: named.runs.len(),
            values: named.values().count(),
            n: sample.len(),
            min: sample.min(),
            mean: sample.mean(),
            median: sample.median(),
            standard_deviation: sample.standard_deviation(),
        }
    }
}

/// What must be known of how observations came about.
fn remarks(pairing: &Pairing<'_>, method: &Method) -> Vec<Warning> {
    let all: Vec<&ObservedSample<'_>> = pairing.samples.iter().flatten().collect();
    let mut warnings = Vec::new();
    if all.iter().any(|one| one.grouping == Grouping::OneRun) {
        warnings.push(Warning::new(
            WarningCode::OneRun,
            "Some samples are of a single run, whose values depend on each other as those of other runs \
                would not: restart the program for each value, or several times.",
        ));
    }
    if all.iter().any(|one| one.grouping == Grouping::RunMeans) && !method.spec().knows_levels() {
        warnings.push(Warning::new(
            WarningCode::RunMeans,
            "Several values of one run depend on each other, so the mean of each run is one observation: the effect \
             method keeps runs and values apart.",
        ));
    }
    // A single value is constant, and its method says that it is too few.
    if all.iter().any(|one| one.sample.len() > 1 && one.sample.is_constant()) {
        warnings.push(Warning::new(
            WarningCode::AllEqual,
            "All values of some sample are equal, so it says nothing about how much they vary: use a finer \
                clock or a longer run.",
        ));
    }
    if all.iter().any(|one| one.sample.differs_by_rounding()) {
        warnings.push(Warning::new(
            WarningCode::SpreadOfRounding,
            "The values of some sample differ only in their last digits, so the results describe rounding: \
                subtract the common part before recording.",
        ));
    }
    if method.compares() {
        warnings.extend(blocks::warnings(pairing.blocks(), method.spec().takes_pairs()));
    }
    warnings.extend(missing::caveats(&pairing.available, &pairing.unmatched));
    warnings
}
