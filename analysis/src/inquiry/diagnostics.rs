//! Whether the runs are what the methods take them for: independent, without drift, of a continuous metric.

use super::method::{FindResult, MethodFindings, MethodSpec};
use super::{Findings, Inquiry, Method, Preference, pairing::Pairing};
use crate::conclusion::{Reason, ReasonCode, Warning, WarningCode};
use crate::count::{counted, percent};
use serde::Serialize;
use speedup_statistics::diagnostics::run_order::{
    Autocorrelation, Drift, FirstRunEffect, RunOrderError, RunsTest,
};
use speedup_statistics::diagnostics::{Granularity, MetricKind};
use speedup_statistics::inference::{Adjustment, Alternative, ConfidenceLevel, PValue};
use speedup_statistics::sample::Sample;

/// What the order and the values of one sample say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiagnosticsFinding {
    pub version: String,
    pub benchmark: String,
    /// The codes of the diagnostics that reject at the level, without adjustment.
    pub signs: Vec<&'static str>,
    /// In the order of [`speedup_statistics::diagnostics::run_order`].
    pub diagnostics: Vec<Diagnostic>,
    /// The slope of the runs, in the unit of the values a run, by Theil and Sen.
    pub slope: Option<f64>,
    /// The share of runs whose value another run has as well.
    pub tied_share: f64,
    /// The estimated probability that two runs are equal.
    pub tie_probability: f64,
    /// The step of the grid on which all values lie, if there is one.
    pub grid: Option<f64>,
    /// Whether the metric is continuous enough.
    pub metric_kind: MetricKind,
    pub caveats: Vec<Warning>,
}

/// One diagnostic of run order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// `autocorrelation`, `runs_test`, `drift` or `first_run`.
    pub code: &'static str,
    /// The full name of the method.
    pub method: &'static str,
    /// The coefficient, the number of series, Kendall's S, or the difference of the first run.
    pub statistic: Option<f64>,
    /// Its two-sided p-value of random order.
    pub p_value: Option<f64>,
    /// Why it was not made.
    pub reason: Option<Reason>,
}

pub(super) struct Options;

impl MethodSpec for Options {
    fn name(&self) -> &'static str {
        "diagnostics of run order and granularity"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "Wald, Wolfowitz: On a Test Whether Two Samples Are from the Same Population, 1940",
            "Mann: Nonparametric Tests Against Trend, 1945",
            "Sen: Estimates of the Regression Coefficient Based on Kendall's Tau, 1968",
        ]
    }

    fn find(&self, _inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        Ok(Findings::Diagnostics(find(pairing, level)))
    }

    fn compares(&self) -> bool {
        false
    }
}

impl MethodFindings for Vec<DiagnosticsFinding> {
    fn reasons(&self) -> Vec<Reason> {
        let all = self.iter().flat_map(|one| &one.diagnostics);
        all.filter_map(|diagnostic| diagnostic.reason.clone()).collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|one| one.caveats.clone()).collect()
    }
}

fn find(pairing: &Pairing<'_>, level: ConfidenceLevel) -> Vec<DiagnosticsFinding> {
    let mut found = Vec::new();
    for (version, samples) in pairing.versions.iter().zip(&pairing.samples) {
        for one in samples {
            let benchmark = &one.named.benchmark;
            found.push(diagnose(version, benchmark, &one.sample, &one.groups(), level));
        }
    }
    found
}

/// Diagnoses what a method takes for independent: where it takes pairs, the ratios within them stand for both samples, as what is
/// common to a pair does not count.
pub(super) fn diagnose_compared(
    pairing: &Pairing<'_>,
    method: &Method,
    level: ConfidenceLevel,
) -> Vec<DiagnosticsFinding> {
    let mut found = find(pairing, level);
    if !method.spec().takes_pairs() {
        return found;
    }
    let of_pairs = pairing.each(Preference::Lower, |candidate, pair| {
        Some(DiagnosticsFinding::for_runs(candidate, pair.benchmark, &pair.ratios()?, level))
    });
    let of_pairs: Vec<_> = of_pairs.into_iter().flatten().collect();
    let baseline = pairing.versions.first().copied();
    // A baseline's sample is in the pairs of any candidate.
    found.retain(|one| {
        let is_baseline = baseline == Some(one.version.as_str());
        let mut own = of_pairs.iter().filter(|pair| pair.benchmark == one.benchmark);
        !own.any(|pair| is_baseline || pair.version == one.version)
    });
    found.extend(of_pairs);
    found
}

/// Warns that runs depend on their order, where the diagnostics of all samples, adjusted together, say so: whatever compares plain
/// samples takes their independence on trust.
pub(crate) fn order_dependence(found: &[DiagnosticsFinding], level: ConfidenceLevel) -> Option<Warning> {
    let mut samples = Vec::new();
    let mut p_values = Vec::new();
    for one in found {
        for diagnostic in &one.diagnostics {
            samples.push(one);
            p_values.push(diagnostic.p_value.map(PValue::clamped));
        }
    }
    // All diagnostics of all samples are one family: each alone would alarm in one of twenty samples.
    let mut named = Vec::new();
    for (one, p_value) in samples.into_iter().zip(Adjustment::Holm.adjust(&p_values)) {
        if p_value.is_some_and(|p_value| p_value.rejects_at(level.risk())) {
            named.push(format!("{} of {}", one.benchmark, one.version));
        }
    }
    named.dedup();
    let first = named.first()?;
    let more = match named.len() - 1 {
        0 => String::new(),
        more => format!(" and {} more", counted(more as u64, "sample")),
    };
    Some(Warning::new(
        WarningCode::OrderDependence,
        format!(
            "Runs depend on their order ({first}{more}; Holm over {} diagnostics at {}), so they are not independent and no level \
             here holds: see `speedup compare --method diagnostics`, and run each on a fresh host or in random order.",
            p_values.iter().flatten().count(),
            percent(level.get())
        ),
    ))
}

impl DiagnosticsFinding {
    /// Diagnoses the runs of one sample, in their order.
    pub(crate) fn for_runs(version: &str, benchmark: &str, sample: &Sample, level: ConfidenceLevel) -> Self {
        diagnose(version, benchmark, sample, std::slice::from_ref(sample), level)
    }
}

/// Diagnoses a sample, in each of whose `groups` there is a first run.
fn diagnose(
    version: &str,
    benchmark: &str,
    sample: &Sample,
    groups: &[Sample],
    level: ConfidenceLevel,
) -> DiagnosticsFinding {
    let two_sided = Alternative::TwoSided;
    let autocorrelation = Autocorrelation::new(sample);
    let runs_test = RunsTest::new(sample);
    let drift = Drift::new(sample);
    let first_run = FirstRunEffect::new(groups);
    let drift_name = drift.as_ref().map_or(Drift::NAME_NORMAL, Drift::name);
    let diagnostics = vec![
        Diagnostic::new(
            "autocorrelation",
            Autocorrelation::NAME,
            autocorrelation.map(|test| (test.coefficient(), test.p_value(two_sided))),
        ),
        Diagnostic::new(
            "runs_test",
            RunsTest::NAME,
            runs_test.map(|test| (test.series() as f64, test.p_value(two_sided))),
        ),
        Diagnostic::new(
            "drift",
            drift_name,
            drift.as_ref().map(|test| (test.s() as f64, test.p_value(two_sided))).map_err(|error| *error),
        ),
        Diagnostic::new(
            "first_run",
            FirstRunEffect::NAME,
            first_run.map(|test| (test.difference(), test.p_value(two_sided))),
        ),
    ];
    let risk = level.risk().get();
    let signs = diagnostics.iter().filter(|one| one.p_value.is_some_and(|p_value| p_value <= risk));
    let granularity = Granularity::new(sample);
    DiagnosticsFinding {
        version: version.to_owned(),
        benchmark: benchmark.to_owned(),
        signs: signs.map(|one| one.code).collect(),
        diagnostics,
        slope: drift.ok().map(|drift| drift.slope()),
        tied_share: granularity.tied_share(),
        tie_probability: granularity.tie_probability(),
        grid: granularity.grid(),
        metric_kind: granularity.kind(),
        caveats: if granularity.tied_share() > 0.0 { vec![ties()] } else { Vec::new() },
    }
}

fn ties() -> Warning {
    Warning::new(
        WarningCode::Ties,
        "Some values are equal, so tests by ranks are approximate and mixtures may take steps for modes: use a finer clock \
         or a longer run.",
    )
}

impl Diagnostic {
    fn new(code: &'static str, method: &'static str, made: Result<(f64, PValue), RunOrderError>) -> Self {
        let (statistic, p_value, reason) = match made {
            Ok((statistic, p_value)) => (Some(statistic), Some(p_value.told()), None),
            Err(error) => {
                let cause = match error {
                    RunOrderError::TooFew { .. } => ReasonCode::TooFewRuns,
                    RunOrderError::Constant => ReasonCode::Constant,
                };
                (None, None, Some(Reason::of(cause, &error)))
            }
        };
        Self { code, method, statistic, p_value, reason }
    }
}
