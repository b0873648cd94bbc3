//! The ratio of the declared centres with its two-sided interval, and what follows for the suite: what the report of an experiment
//! says first, of plain samples.

use super::method::{FindResult, MethodFindings, MethodSpec};
use super::pairing::{Pair, Pairing};
use super::{Findings, Inquiry, InquiryError, Preference, effect, missing, suite::Grouping};
use crate::conclusion::{Reason, ReasonCode, Warning, WarningCode};
use crate::gate::Conclusion;
use crate::study::compare::plain::{PlainBenchmark, PlainReport, PlainSamples};
use crate::study::two_sample::headline::{HeadlineSpec, trim_share};
use crate::study::{BenchmarkReport, ComparisonReport, ControlsReport, EndpointReport, SuiteReport};
use serde::{Deserialize, Serialize};
use speedup_core::{experiment::Center, experiment::endpoint::MAX_QUANTILES};
use speedup_statistics::{
    inference::ConfidenceLevel, inference::Threshold, ratio::TrimShare, test::Proportion,
};

/// Options of the ratio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RatioOptions {
    /// Whose ratio; without it that of the trimmed means.
    pub center: Option<Center>,
    /// The share of the runs that a trimmed mean leaves out at each end, 0 to 0.25; without it 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<f64>,
    /// Within what versions count as the same; without it none do.
    pub margin: Option<f64>,
    /// The quantiles that get verdicts beside the centre, in one family with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<f64>,
    /// The version that is the baseline's program under another name: what is found of it is no difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
}

/// A candidate over all benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioSuite {
    /// What all benchmarks say together, as in the report of an experiment.
    pub suite: SuiteReport,
    pub benchmarks: Vec<RatioFinding>,
    /// The verdicts on the quantiles that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointReport>,
    pub caveats: Vec<Warning>,
}

/// One benchmark of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioFinding {
    pub benchmark: String,
    /// The comparison, as in the report of an experiment.
    #[serde(flatten)]
    pub comparison: ComparisonReport,
}

impl MethodSpec for RatioOptions {
    fn name(&self) -> &'static str {
        "ratio of the declared centres, two-sided"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "Yuen: The Two-Sample Trimmed t for Unequal Population Variances, 1974",
            "Janssen: Studentized Permutation Tests for Non-i.i.d. Hypotheses, 1997",
            "Chung, Romano: Exact and Asymptotically Robust Permutation Tests, 2013",
            "Zou, Donner: Construction of Confidence Limits about Effect Measures, 2008",
            "David, Nagaraja: Order Statistics, 2003",
            effect::SOURCE,
            "Viechtbauer: Confidence Intervals for the Amount of Heterogeneity in Meta-Analysis, 2007",
            "Nagashima, Noma, Furukawa: Prediction Intervals for Random-Effects Meta-Analysis, 2019",
        ]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        // Refuses a population that is smaller than what was drawn from it.
        Proportion::new(0, pairing.benchmarks.len() as u64, inquiry.selection)?;
        let declared =
            HeadlineSpec { noise: inquiry.noise_threshold, ..self.declared(pairing.benchmarks.len(), level) };
        let mut suites = Vec::new();
        for (number, candidate) in pairing.candidates() {
            let pairs = pairing.pairs(number, inquiry.better);
            let PlainReport { suite, benchmarks, endpoints, warnings } =
                plain_samples(inquiry, pairing, candidate, &pairs, &self.quantiles).compare(&declared);
            suites.push(RatioSuite {
                suite,
                benchmarks: benchmarks.into_iter().flat_map(findings).collect(),
                endpoints,
                caveats: warnings.into_iter().map(Warning::with_names).collect(),
            });
        }
        Ok(Findings::Ratio(suites))
    }

    fn check(&self) -> Result<(), InquiryError> {
        if let Some(margin) = self.margin.filter(|margin| !(*margin > 0.0 && *margin < 1.0)) {
            return Err(InquiryError::Margin(margin));
        }
        if let Some(trim) = self.trim {
            TrimShare::new(trim).map_err(InquiryError::Trim)?;
            let center = self.center.unwrap_or_default();
            if center != Center::Trimmed {
                return Err(InquiryError::TrimOfOtherCenter(center.name()));
            }
        }
        if self.quantiles.len() > MAX_QUANTILES {
            return Err(InquiryError::TooManyQuantiles(self.quantiles.len()));
        }
        for (at, quantile) in self.quantiles.iter().enumerate() {
            if !(*quantile > 0.0 && *quantile < 1.0) {
                return Err(InquiryError::Probability(*quantile));
            }
            if self.quantiles[..at].contains(quantile) {
                return Err(InquiryError::QuantileTwice(*quantile));
            }
        }
        Ok(())
    }

    fn control(&self) -> Option<&str> {
        self.control.as_deref()
    }

    fn takes_pairs(&self) -> bool {
        true
    }
}

impl MethodFindings for Vec<RatioSuite> {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for suite in self {
            reasons.extend(suite.benchmarks.iter().filter_map(|one| one.comparison.reason.clone()));
            let rows = suite.endpoints.iter().flat_map(|endpoint| &endpoint.rows);
            reasons.extend(rows.filter_map(|row| row.reason.clone()));
        }
        reasons
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|suite| suite.caveats.clone()).collect()
    }

    fn conclusions(&self, level: ConfidenceLevel, noise: Threshold) -> Vec<Conclusion> {
        let mut conclusions = Vec::new();
        for suite in self {
            let own = suite.benchmarks.iter().map(|one| (one.benchmark.as_str(), &one.comparison));
            conclusions.extend(Conclusion::of_suite(&suite.suite, own, &suite.endpoints, (noise, level)));
        }
        conclusions
    }
}

/// What is found of the control, by what is declared of the versions of `pairing`.
pub(super) fn control(
    inquiry: &Inquiry,
    pairing: &Pairing<'_>,
    control: &Pairing<'_>,
    options: &RatioOptions,
    level: ConfidenceLevel,
) -> (ControlsReport, Vec<Warning>) {
    let declared = options.declared(pairing.benchmarks.len(), level);
    let pairs = control.pairs(1, inquiry.better);
    let name = control.versions[1];
    let (report, warnings) = plain_samples(inquiry, control, name, &pairs, &[]).control(&declared);
    let mut warnings: Vec<Warning> = warnings.into_iter().map(Warning::with_names).collect();
    let lacking = control.unmatched.iter().map(|one| one.benchmark.as_str());
    let lacking: Vec<&str> = lacking.filter(|name| pairing.benchmarks.contains(name)).collect();
    if !lacking.is_empty() {
        let sentence = format!("The control has no runs of these benchmarks: {}.", lacking.join(", "));
        warnings.push(Warning::new(WarningCode::UncontrolledBenchmarks, sentence));
    }
    warnings.extend(missing::caveats(&control.available[1..], &[]));
    (report, warnings)
}

impl RatioOptions {
    fn declared(&self, benchmarks: usize, level: ConfidenceLevel) -> HeadlineSpec {
        HeadlineSpec {
            center: self.center.unwrap_or_default(),
            is_by_size: false,
            trim: trim_share(self.trim),
            margin: self.margin,
            level,
            noise: Threshold::NONE,
            clock_step: None,
            tests: benchmarks * (1 + self.quantiles.len()),
        }
    }
}

fn plain_samples<'p>(
    inquiry: &Inquiry,
    pairing: &'p Pairing<'_>,
    candidate: &'p str,
    pairs: &'p [Pair<'p>],
    quantiles: &'p [f64],
) -> PlainSamples<'p> {
    PlainSamples {
        baseline: pairing.versions[0],
        candidate,
        benchmarks: pairs.iter().map(plain_benchmark).collect(),
        weights: &pairing.weights,
        selection: inquiry.selection,
        larger_is_better: inquiry.better == Preference::Higher,
        quantiles,
    }
}

fn plain_benchmark<'p>(pair: &'p Pair<'p>) -> PlainBenchmark<'p> {
    let (first, second) = pair.samples();
    let arranged = pair.arranged().cloned().map(Ok);
    let are_means = [pair.first, pair.second].iter().any(|one| one.grouping == Grouping::RunMeans);
    let observed = match (&arranged, are_means) {
        (Some(_), _) => Some("pairs within blocks"),
        (None, true) => Some("means of several values"),
        (None, false) => None,
    };
    let no_single_runs = observed.map(|observed| {
        let sentence = format!(
            "A quantile is of single independent runs, but the independent observations here are {observed}: \
                name the run of each value with --run-column if runs have nothing in common"
        );
        Reason::new(ReasonCode::NoSingleRuns, sentence)
    });
    PlainBenchmark { name: pair.benchmark, first, second, arranged, no_single_runs }
}

fn findings(benchmark: BenchmarkReport) -> impl Iterator<Item = RatioFinding> {
    let BenchmarkReport { name, comparisons, .. } = benchmark;
    comparisons.into_iter().map(move |comparison| RatioFinding { benchmark: name.clone(), comparison })
}
