//! Whether the runs are what the methods take them for: independent, without drift, of a continuous metric.

use super::method::{Asked, FindResult, Found};
use super::{
    Findings, Inquiry, Method, Preference, blocks, pairing::Pair, pairing::Pairing, suite::Observed,
};
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

impl Asked for Options {
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

impl Found for Vec<DiagnosticsFinding> {
    fn reasons(&self) -> Vec<Reason> {
        let all = self.iter().flat_map(|one| &one.diagnostics);
        all.filter_map(|diagnostic| diagnostic.reason.clone()).collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|one| one.caveats.clone()).collect()
    }
}

fn find(pairing: &Pairing<'_>, level: ConfidenceLevel) -> Vec<DiagnosticsFinding> {
    let versions = pairing.versions.iter().zip(&pairing.samples);
    let one = |version: &str, one: &Observed<'_>| {
        of(version, &one.named.benchmark, (&one.sample, &one.groups()), level)
    };
    versions.flat_map(|(version, samples)| samples.iter().map(move |sample| one(version, sample))).collect()
}

/// Of what a method takes for independent: where it takes pairs, the ratios within them stand for both samples, as what is common
/// to a pair does not count.
pub(super) fn of_compared(
    pairing: &Pairing<'_>,
    method: &Method,
    level: ConfidenceLevel,
) -> Vec<DiagnosticsFinding> {
    let ratios = |candidate: &str, pair: &Pair<'_>| {
        let ratios = blocks::ratios(pair)?;
        Some(DiagnosticsFinding::of_runs(candidate, pair.benchmark, &ratios, level))
    };
    let of_pairs = method.asked().takes_pairs().then(|| pairing.each(Preference::Lower, ratios));
    let of_pairs: Vec<_> = of_pairs.into_iter().flatten().flatten().collect();
    let is_baseline = |one: &DiagnosticsFinding| pairing.versions.first() == Some(&one.version.as_str());
    let is_paired = |one: &DiagnosticsFinding| {
        let mut own = of_pairs.iter().filter(|pair| pair.benchmark == one.benchmark);
        own.any(|pair| pair.version == one.version || is_baseline(one))
    };
    let mut found = find(pairing, level);
    found.retain(|one| !is_paired(one));
    found.extend(of_pairs);
    found
}

/// That runs depend on their order, where the diagnostics of all samples, adjusted together, say so: whatever compares plain samples
/// takes their independence on trust.
pub fn order_dependence(found: &[DiagnosticsFinding], level: ConfidenceLevel) -> Option<Warning> {
    let all = || found.iter().flat_map(|one| one.diagnostics.iter().map(move |diagnostic| (one, diagnostic)));
    let p_values: Vec<_> = all().map(|(_, diagnostic)| diagnostic.p_value.map(PValue::clamped)).collect();
    let adjusted = Adjustment::Holm.adjust(&p_values);
    let rejects = |p_value: &Option<PValue>| p_value.is_some_and(|p_value| p_value.rejects_at(level.risk()));
    let signs = all().zip(&adjusted).filter(|(_, p_value)| rejects(p_value));
    let mut named: Vec<String> =
        signs.map(|((one, _), _)| format!("{} of {}", one.benchmark, one.version)).collect();
    named.dedup();
    let (first, more) = (named.first()?, named.len() - 1);
    let more =
        if more == 0 { String::new() } else { format!(" and {} more", counted(more as u64, "sample")) };
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
    /// Of the runs of one sample, in their order.
    pub fn of_runs(version: &str, benchmark: &str, sample: &Sample, level: ConfidenceLevel) -> Self {
        of(version, benchmark, (sample, std::slice::from_ref(sample)), level)
    }
}

/// Of a sample, within whose groups there is a first run.
fn of(
    version: &str,
    benchmark: &str,
    (sample, groups): (&Sample, &[Sample]),
    level: ConfidenceLevel,
) -> DiagnosticsFinding {
    let two_sided = Alternative::TwoSided;
    let drift = Drift::new(sample);
    let made = |statistic: f64, p_value: PValue| (statistic, p_value.told());
    let diagnostics = vec![
        Diagnostic::new(
            "autocorrelation",
            Autocorrelation::NAME,
            Autocorrelation::new(sample).map(|test| made(test.coefficient(), test.p_value(two_sided))),
        ),
        Diagnostic::new(
            "runs_test",
            RunsTest::NAME,
            RunsTest::new(sample).map(|test| made(test.series() as f64, test.p_value(two_sided))),
        ),
        Diagnostic::new(
            "drift",
            drift.as_ref().map_or(Drift::NAME_NORMAL, Drift::name),
            drift.as_ref().map(|test| made(test.s() as f64, test.p_value(two_sided))).map_err(|error| *error),
        ),
        Diagnostic::new(
            "first_run",
            FirstRunEffect::NAME,
            FirstRunEffect::new(groups).map(|test| made(test.difference(), test.p_value(two_sided))),
        ),
    ];
    let rejects = |one: &&Diagnostic| one.p_value.is_some_and(|p| p <= level.risk().get());
    let granularity = Granularity::new(sample);
    DiagnosticsFinding {
        version: version.to_owned(),
        benchmark: benchmark.to_owned(),
        signs: diagnostics.iter().filter(rejects).map(|one| one.code).collect(),
        diagnostics,
        slope: drift.ok().map(|drift| drift.slope()),
        tied_share: granularity.tied_share(),
        tie_probability: granularity.tie_probability(),
        grid: granularity.grid(),
        metric_kind: granularity.kind(),
        caveats: (granularity.tied_share() > 0.0).then(ties).into_iter().collect(),
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
    fn new(code: &'static str, method: &'static str, made: Result<(f64, f64), RunOrderError>) -> Self {
        let (statistic, p_value, reason) = match made {
            Ok((statistic, p_value)) => (Some(statistic), Some(p_value), None),
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
