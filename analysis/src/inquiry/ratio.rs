//! The ratio of the declared centres with its two-sided interval, and what follows for the suite: what the report of an experiment
//! says first, of plain samples.

use super::answer::Found;
use super::pairing::Pairing;
use super::{Inquiry, InquiryError, Preference, Remark};
use crate::study::compare::headline::Declared;
use crate::study::compare::plain::PlainSamples;
use crate::study::{BenchmarkReport, ComparisonReport, Reason, SuiteReport, Warning};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::Center;
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::sample::SampleQuantile;
use speedup_statistics::test::Proportion;

/// Options of the ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RatioOptions {
    /// Whose ratio: without it the median, or the mean where a sample has too few runs for an interval of the median.
    pub center: Option<Center>,
    /// Within what versions count as the same; without it none do.
    pub margin: Option<f64>,
}

/// A candidate over all benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioSuite {
    /// What all benchmarks say together, as in the report of an experiment.
    pub suite: SuiteReport,
    /// Each benchmark.
    pub benchmarks: Vec<RatioFinding>,
    /// What must be known.
    pub caveats: Vec<Remark>,
}

/// One benchmark of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioFinding {
    /// The benchmark.
    pub benchmark: String,
    /// The comparison, as in the report of an experiment.
    #[serde(flatten)]
    pub comparison: ComparisonReport,
}

impl Found for Vec<RatioSuite> {
    fn reasons(&self) -> Vec<Reason> {
        let of = |suite: &RatioSuite| {
            suite.benchmarks.iter().filter_map(|one| one.comparison.reason.clone()).collect::<Vec<_>>()
        };
        self.iter().flat_map(of).collect()
    }

    fn caveats(&self) -> Vec<Remark> {
        self.iter().flat_map(|suite| suite.caveats.clone()).collect()
    }
}

pub(super) fn find(
    inquiry: &Inquiry,
    pairing: &Pairing<'_>,
    options: RatioOptions,
    level: ConfidenceLevel,
) -> Result<Vec<RatioSuite>, InquiryError> {
    // Refuses a population that is smaller than what was drawn from it.
    Proportion::new(0, pairing.benchmarks.len() as u64, inquiry.selection)?;
    let declared = Declared { center: center(pairing, options, level), margin: options.margin, level };
    let of = |(number, candidate): (usize, &str)| {
        let pairs = pairing.pairs(number, inquiry.better);
        let samples = PlainSamples {
            baseline: pairing.versions[0],
            candidate,
            benchmarks: pairs
                .iter()
                .map(|pair| (pair.benchmark, pair.samples().0, pair.samples().1))
                .collect(),
            weights: &pairing.weights,
            selection: inquiry.selection,
            larger_is_better: inquiry.better == Preference::Higher,
        };
        let (suite, benchmarks, warnings) = samples.compare(&declared);
        RatioSuite {
            suite,
            benchmarks: benchmarks.into_iter().flat_map(findings).collect(),
            caveats: warnings.into_iter().map(Remark::from).collect(),
        }
    };
    Ok(pairing.candidates().map(of).collect())
}

fn findings(benchmark: BenchmarkReport) -> impl Iterator<Item = RatioFinding> {
    let BenchmarkReport { name, comparisons, .. } = benchmark;
    comparisons.into_iter().map(move |comparison| RatioFinding { benchmark: name.clone(), comparison })
}

/// The declared centre; else by the number of runs alone.
fn center(pairing: &Pairing<'_>, options: RatioOptions, level: ConfidenceLevel) -> Center {
    let needed = SampleQuantile::runs_needed(0.5, level) as usize;
    let mut samples = pairing.samples.iter().flatten();
    options.center.unwrap_or(match samples.all(|one| one.sample.len() >= needed) {
        true => Center::Median,
        false => Center::Mean,
    })
}

impl From<Warning> for Remark {
    fn from(warning: Warning) -> Self {
        /// Benchmarks that are named.
        const MOST_NAMED: usize = 4;
        let Warning { code, sentence, concerns } = warning;
        let named = concerns.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let sentence = match concerns.len() {
            0 => sentence,
            number if number > MOST_NAMED => format!("{named} and {} more: {sentence}", number - MOST_NAMED),
            _ => format!("{named}: {sentence}"),
        };
        Self { code, sentence }
    }
}
