//! Mixtures, their fit, and the metrics of variability: a row for each sample.

use speedup_analysis::inquiry::{MixtureFinding, MixtureFindings};
use speedup_statistics::{mixture::Component, mixture::variability::ProbabilityShortest};

use super::{Render, codes, reason};
use crate::facts::{Heading, Sheet, SheetCell, hidden, number, words};

impl Render for MixtureFindings {
    fn sheet(&self, versions: &[String]) -> Sheet {
        let mut headings = vec![
            words("verdict", "fit"),
            words("version", "version"),
            words("benchmark", "benchmark"),
            number("components", "K"),
            words("model", "model"),
            number("bic", "BIC"),
            number("modes", "I4: modes"),
            words("weights", "weights"),
            words("means", "means"),
            words("standard_deviations", "sds"),
            number("fit_p_value", "KSfit p"),
            hidden("fit_distance"),
            hidden("fit_critical_distance"),
            hidden("fit_resamples"),
            words("reason", "reason"),
            hidden("caveats"),
        ];
        headings.extend(METRICS.map(hidden));
        let rows = self.samples.iter().map(|one| {
            let mut row = sample_cells(one);
            row.extend(metric_cells(self, versions, one));
            row
        });
        Sheet { headings, rows: rows.collect() }
    }

    fn second_sheet(&self, versions: &[String]) -> Option<(&'static str, Sheet)> {
        Some(("Metrics of variability", metrics(self, versions)))
    }
}

/// A sample's mixture and the test of its fit.
fn sample_cells(one: &MixtureFinding) -> Vec<SheetCell> {
    let fit = match (one.components_count, one.fits()) {
        (None, _) => "no mixture",
        (Some(_), None) => "not tested",
        (Some(_), Some(true)) => "not rejected",
        (Some(_), Some(false)) => "rejected",
    };
    vec![
        SheetCell::text(fit),
        SheetCell::text(&one.version),
        SheetCell::text(&one.benchmark),
        count(one.components_count),
        one.model.map_or(SheetCell::Absent, |letter| SheetCell::text(letter.to_string())),
        SheetCell::optional(one.bic),
        count(one.variability_level),
        component_values(one, |component| component.weight),
        component_values(one, |component| component.mean),
        component_values(one, |component| component.sd),
        fit_p_value(one),
        SheetCell::optional(one.fit_distance),
        SheetCell::optional(one.fit_critical_distance),
        count(one.fit_resamples),
        reason(one.reason.as_ref().or(one.fit_reason.as_ref())),
        codes(&one.caveats),
    ]
}

fn count(count: Option<usize>) -> SheetCell {
    count.map_or(SheetCell::Absent, |count| SheetCell::Count(count as u64))
}

fn component_values(one: &MixtureFinding, value: fn(&Component) -> f64) -> SheetCell {
    SheetCell::List(one.components.iter().map(|component| Some(value(component))).collect(), 4)
}

/// The columns of I₁ and I₂, which the baseline has not, and of I₃.
const METRICS: [&str; 8] = [
    "mean_difference",
    "mean_difference_modelled",
    "probability_better",
    "probability_better_modelled",
    "probability_tied",
    "probability_best_of_all",
    "probability_best_of_all_modelled",
    "probability_best_tied",
];

/// What stands in them.
fn metric_cells(
    findings: &MixtureFindings,
    versions: &[String],
    sample: &MixtureFinding,
) -> [SheetCell; METRICS.len()] {
    let beside_baseline = findings
        .metrics
        .iter()
        .find(|one| one.candidate == sample.version && one.benchmark == sample.benchmark);
    let [i1, i1_modelled, i2, i2_modelled, tied] = match beside_baseline {
        Some(one) => [
            SheetCell::Number(one.mean_difference),
            SheetCell::optional(one.mean_difference_modelled),
            SheetCell::Number(one.probability_better.below),
            SheetCell::optional(one.probability_better_modelled),
            SheetCell::Number(one.probability_better.tied),
        ],
        None => [const { SheetCell::Absent }; 5],
    };
    let of_all = findings.shortest.iter().find(|one| one.benchmark == sample.benchmark);
    let version = versions.iter().position(|version| *version == sample.version);
    let [i3, i3_modelled, i3_tied] = match of_all.zip(version) {
        Some((one, at)) => {
            let ProbabilityShortest { shares, tied } = &one.observed;
            let modelled = one.modelled.as_ref().and_then(|shares| shares.get(at).copied());
            [
                SheetCell::optional(shares.get(at).copied()),
                SheetCell::optional(modelled),
                SheetCell::Number(*tied),
            ]
        }
        None => [const { SheetCell::Absent }; 3],
    };
    [i1, i1_modelled, i2, i2_modelled, tied, i3, i3_modelled, i3_tied]
}

/// Never finer than its resamples.
fn fit_p_value(one: &MixtureFinding) -> SheetCell {
    match (one.fit_p_value, one.fit_resamples) {
        (Some(0.0), Some(resamples)) => SheetCell::Shown(0.0, format!("< 1/{resamples}")),
        (p, _) => SheetCell::p_value(p),
    }
}

/// I₁ and I₂ of every candidate, and I₃ of every version, from the observations and from the mixtures.
fn metrics(findings: &MixtureFindings, versions: &[String]) -> Sheet {
    let headings: Vec<Heading> = vec![
        words("metric", "metric"),
        words("version", "version"),
        words("benchmark", "benchmark"),
        number("observed", "observed"),
        number("modelled", "modelled"),
        number("tied", "tied"),
    ];
    let mut rows = Vec::new();
    for one in &findings.metrics {
        let better = one.probability_better;
        for (metric, observed, modelled, tied) in [
            ("I1: mean difference", one.mean_difference, one.mean_difference_modelled, None),
            ("I2: P[better]", better.below, one.probability_better_modelled, Some(better.tied)),
        ] {
            rows.push(vec![
                SheetCell::text(metric),
                SheetCell::text(&one.candidate),
                SheetCell::text(&one.benchmark),
                SheetCell::Number(observed),
                SheetCell::optional(modelled),
                SheetCell::optional(tied),
            ]);
        }
    }
    for one in &findings.shortest {
        for (at, version) in versions.iter().enumerate().take(one.observed.shares.len()) {
            rows.push(vec![
                SheetCell::text("I3: P[best of all]"),
                SheetCell::text(version),
                SheetCell::text(&one.benchmark),
                SheetCell::Number(one.observed.shares[at]),
                SheetCell::optional(one.modelled.as_ref().and_then(|shares| shares.get(at).copied())),
                SheetCell::Number(one.observed.tied),
            ]);
        }
    }
    Sheet { headings, rows }
}
