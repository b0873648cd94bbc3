//! Plain samples compared as a report compares those of an experiment: the same headlines, suite, family and share, without plan
//! and hosts.

use super::comparison::{BenchmarkReport, CellReport, Pair};
use super::{
    controls::ControlRow, controls::ControlsReport, endpoint, endpoint::EndpointReport,
    endpoint::EndpointRow, family, members::Members, suite::Suite, suite::SuiteReport,
};
use crate::conclusion::{Reason, Warning, Warnings, Word};
use crate::study::{
    RunUnit, design::IndependentUnits, gather::cell::CellRecords, two_sample::headline::HeadlineSpec,
    two_sample::headline::RatioFound,
};
use speedup_core::{experiment::Family, experiment::metric::Better};
use speedup_statistics::{ratio::BenchmarkWeights, sample::Sample, test::Selection};

/// The samples of two versions, benchmark by benchmark.
pub(crate) struct PlainSamples<'a> {
    pub(crate) baseline: &'a str,
    pub(crate) candidate: &'a str,
    pub(crate) benchmarks: Vec<PlainBenchmark<'a>>,
    pub(crate) weights: &'a BenchmarkWeights,
    pub(crate) selection: Selection,
    /// Whether the first samples are the candidate's, because larger values are better.
    pub(crate) larger_is_better: bool,
    /// The quantiles that get verdicts beside the centre.
    pub(crate) quantiles: &'a [f64],
}

/// A benchmark of two versions.
pub(crate) struct PlainBenchmark<'a> {
    pub(crate) name: &'a str,
    /// The observations of the version that is divided by the other.
    pub(crate) first: &'a Sample,
    pub(crate) second: &'a Sample,
    /// The pairs that a design made of them, if it did.
    pub(crate) arranged: Option<Result<IndependentUnits, Reason>>,
    /// Why the observations have no quantiles, where they are not single runs.
    pub(crate) no_single_runs: Option<Reason>,
}

/// What is said of a candidate.
pub(crate) struct PlainReport {
    pub(crate) suite: SuiteReport,
    pub(crate) benchmarks: Vec<BenchmarkReport>,
    pub(crate) endpoints: Vec<EndpointReport>,
    /// The caveats of all of it.
    pub(crate) warnings: Vec<Warning>,
}

impl PlainBenchmark<'_> {
    fn pairs(&self) -> Option<&IndependentUnits> {
        self.arranged.as_ref()?.as_ref().ok()
    }

    fn compared(&self) -> (&Sample, &Sample) {
        self.pairs().map_or((self.first, self.second), IndependentUnits::samples)
    }

    /// The ratio of the centres, or what it takes.
    fn found(&self, declared: &HeadlineSpec) -> Result<RatioFound, Reason> {
        let (first, second) = self.compared();
        declared.bounded(declared.found(first, second, self.pairs())?, self.pairs())
    }

    /// The ratio of the quantiles of single runs.
    fn quantile(
        &self,
        probability: f64,
        declared: &HeadlineSpec,
    ) -> Result<(RatioFound, Word<RunUnit>), Reason> {
        if let Some(reason) = &self.no_single_runs {
            return Err(reason.clone());
        }
        let samples = (self.first.clone(), self.second.clone());
        Ok((endpoint::quantiles(probability, &[samples], declared)?, RunUnit::Run.into()))
    }
}

impl PlainSamples<'_> {
    /// The second version as a control: the baseline's program under another name.
    pub(crate) fn control(&self, declared: &HeadlineSpec) -> (ControlsReport, Vec<Warning>) {
        let row = |of: &PlainBenchmark<'_>| ControlRow::of_found(of.name, self.candidate, of.found(declared));
        let rows = self.benchmarks.iter().map(row).collect();
        let report = ControlsReport::of_rows(rows, Some(self.candidate.to_owned()), declared.level);
        let mut warnings = Warnings::default();
        report.warn(declared.level, &mut warnings);
        (report, warnings.into_list())
    }

    /// The suite, its benchmarks and quantiles.
    pub(crate) fn compare(&self, declared: &HeadlineSpec) -> PlainReport {
        let mut warnings = Warnings::default();
        let mut benchmarks: Vec<BenchmarkReport> =
            self.benchmarks.iter().map(|of| self.benchmark(of, declared, &mut warnings)).collect();
        let mut total = self.suite(&benchmarks, declared).conclusion();
        let mut comparisons: Vec<_> =
            benchmarks.iter_mut().flat_map(|benchmark| &mut benchmark.comparisons).collect();
        let mut endpoints: Vec<EndpointReport> =
            self.quantiles.iter().map(|probability| self.endpoint(*probability, declared)).collect();
        let mut common: Vec<_> = EndpointReport::common(&mut endpoints, self.candidate).collect();
        let adjusted = family::adjust(&mut comparisons, &mut common, &mut total, declared.level);
        let suite =
            self.suite(&benchmarks, declared).report(total, &mut warnings).with_multiplicity(adjusted);
        PlainReport { suite, benchmarks, endpoints, warnings: warnings.into_list() }
    }

    fn endpoint(&self, probability: f64, declared: &HeadlineSpec) -> EndpointReport {
        let better = if self.larger_is_better { Better::Higher } else { Better::Lower };
        let row = |of: &PlainBenchmark<'_>| {
            EndpointRow::new((of.name, self.candidate), better, of.quantile(probability, declared))
        };
        EndpointReport {
            metric: String::new(),
            quantile: Some(probability),
            center: None,
            better,
            margin: declared.margin,
            family: Family::Common,
            rows: self.benchmarks.iter().map(row).collect(),
        }
    }

    fn benchmark(
        &self,
        of: &PlainBenchmark<'_>,
        declared: &HeadlineSpec,
        warnings: &mut Warnings,
    ) -> BenchmarkReport {
        let records = CellRecords::default();
        let names = match self.larger_is_better {
            true => [self.candidate, self.baseline],
            false => [self.baseline, self.candidate],
        };
        let PlainBenchmark { name, first, second, ref arranged, no_single_runs: _ } = *of;
        let [one, other] = [(names[0], first), (names[1], second)]
            .map(|(version, sample)| CellReport::new(version, Some(sample), &records));
        let pair = Pair {
            baseline: &one,
            candidate: &other,
            samples: [Some(first), Some(second)],
            arranged: arranged.as_ref(),
            looked: None,
        };
        let mut comparison = pair.compare(declared, name, warnings);
        if self.larger_is_better {
            std::mem::swap(&mut comparison.baseline_n, &mut comparison.candidate_n);
            self.candidate.clone_into(&mut comparison.candidate);
        }
        BenchmarkReport { name: name.to_owned(), cells: vec![one, other], comparisons: vec![comparison] }
    }

    fn suite<'s>(&'s self, benchmarks: &'s [BenchmarkReport], declared: &HeadlineSpec) -> Suite<'s> {
        let compared = benchmarks.iter().flat_map(|benchmark| {
            benchmark.comparisons.iter().map(move |comparison| (benchmark, comparison))
        });
        let mut members = Members::new();
        for (of, benchmark) in self.benchmarks.iter().zip(benchmarks) {
            if benchmark.comparisons.iter().all(|comparison| comparison.observed.is_some()) {
                let (first, second) = of.compared();
                members.add(first, second, &[], [None, None]);
            }
        }
        Suite {
            candidate: self.candidate,
            baseline: self.baseline,
            benchmarks: compared.collect(),
            members,
            // Where some have none, all are compared as if no blocks were shared.
            are_pairs: self.benchmarks.iter().all(|of| of.pairs().is_some()),
            is_by_looks: false,
            is_so_far: false,
            selection: self.selection,
            larger_is_better: self.larger_is_better,
            weights: self.weights.clone(),
            declared: *declared,
        }
    }
}
