//! The ratio of the declared centres with its two-sided interval, and what follows for the suite: what the report of an experiment
//! says first, of plain samples.

use super::method::{Asked, FindResult, Found};
use super::pairing::{Pair, Pairing};
use super::{Findings, Inquiry, InquiryError, Preference, effect, suite::Grouping};
use crate::conclusion::{Reason, ReasonCode, Warning, WarningCode};
use crate::gate::Conclusion;
use crate::study::compare::headline::Declared;
use crate::study::compare::plain::{PlainBenchmark, PlainReport, PlainSamples};
use crate::study::{BenchmarkReport, ComparisonReport, ControlsReport, EndpointReport, SuiteReport};
use serde::{Deserialize, Serialize};
use speedup_core::{experiment::Center, experiment::endpoint::MAX_QUANTILES};
use speedup_statistics::{inference::ConfidenceLevel, sample::SampleQuantile, test::Proportion};

/// Options of the ratio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RatioOptions {
    /// Whose ratio: without it the median, or the mean where a sample has too few runs for an interval of the median.
    pub center: Option<Center>,
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

impl Asked for RatioOptions {
    fn name(&self) -> &'static str {
        "ratio of the declared centres, two-sided"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "Zou, Donner: Construction of Confidence Limits about Effect Measures, 2008",
            "David, Nagaraja: Order Statistics, 2003",
            effect::SOURCE,
            "DerSimonian, Laird: Meta-Analysis in Clinical Trials, 1986",
            "Knapp, Hartung: Improved Tests for a Random Effects Meta-Regression, 2003",
        ]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        // Refuses a population that is smaller than what was drawn from it.
        Proportion::new(0, pairing.benchmarks.len() as u64, inquiry.selection)?;
        let declared = declared(pairing, self, level);
        let of = |(number, candidate): (usize, &str)| {
            let pairs = pairing.pairs(number, inquiry.better);
            let PlainReport { suite, benchmarks, endpoints, warnings } =
                plain_samples(inquiry, pairing, candidate, &pairs, &self.quantiles).compare(&declared);
            RatioSuite {
                suite,
                benchmarks: benchmarks.into_iter().flat_map(findings).collect(),
                endpoints,
                caveats: warnings.into_iter().map(Warning::with_names).collect(),
            }
        };
        Ok(Findings::Ratio(pairing.candidates().map(of).collect()))
    }

    fn check(&self) -> Result<(), InquiryError> {
        if let Some(margin) = self.margin.filter(|margin| !(*margin > 0.0 && *margin < 1.0)) {
            return Err(InquiryError::Margin(margin));
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

impl Found for Vec<RatioSuite> {
    fn reasons(&self) -> Vec<Reason> {
        let of = |suite: &RatioSuite| {
            let of_benchmarks = suite.benchmarks.iter().filter_map(|one| one.comparison.reason.clone());
            let rows = suite.endpoints.iter().flat_map(|endpoint| &endpoint.rows);
            of_benchmarks.chain(rows.filter_map(|row| row.reason.clone())).collect::<Vec<_>>()
        };
        self.iter().flat_map(of).collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|suite| suite.caveats.clone()).collect()
    }

    fn conclusions(&self, _level: ConfidenceLevel) -> Vec<Conclusion> {
        let of = |suite: &RatioSuite| {
            let own = suite.benchmarks.iter().map(|one| (one.benchmark.as_str(), &one.comparison));
            Conclusion::of_suite(&suite.suite, own, &suite.endpoints)
        };
        self.iter().flat_map(of).collect()
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
    let declared = declared(pairing, options, level);
    let pairs = control.pairs(1, inquiry.better);
    let name = control.versions[1];
    let (report, warnings) = plain_samples(inquiry, control, name, &pairs, &[]).control(&declared);
    let lacking = control.unmatched.iter().filter(|one| pairing.benchmarks.contains(&one.benchmark.as_str()));
    let lacking: Vec<&str> = lacking.map(|one| one.benchmark.as_str()).collect();
    let uncontrolled = (!lacking.is_empty()).then(|| {
        let sentence = format!("The control has no runs of these benchmarks: {}.", lacking.join(", "));
        Warning::new(WarningCode::UncontrolledBenchmarks, sentence)
    });
    (report, warnings.into_iter().map(Warning::with_names).chain(uncontrolled).collect())
}

fn declared(pairing: &Pairing<'_>, options: &RatioOptions, level: ConfidenceLevel) -> Declared {
    Declared { center: center(pairing, options, level), margin: options.margin, level }
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

/// The declared centre; else by the number of runs, or of pairs, alone.
fn center(pairing: &Pairing<'_>, options: &RatioOptions, level: ConfidenceLevel) -> Center {
    let needed = SampleQuantile::runs_needed(0.5, level) as usize;
    let are_enough = |pair: &Pair<'_>| {
        let (first, second) = pair.compared();
        first.len().min(second.len()) >= needed
    };
    let enough = pairing.each(Preference::Lower, |_, pair| are_enough(pair));
    options.center.unwrap_or(match enough.into_iter().all(|enough| enough) {
        true => Center::Median,
        false => Center::Mean,
    })
}
