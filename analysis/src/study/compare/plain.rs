//! Plain samples compared as a report compares those of an experiment: the same headlines, suite, family and share, without plan
//! and hosts.

use super::comparison::{BenchmarkReport, CellReport, Pair};
use super::headline::Declared;
use super::members::Members;
use super::multiplicity;
use super::suite::{Suite, SuiteReport};
use crate::study::gather::cell::CellRecords;
use crate::study::validity::warning::{Warning, Warnings};
use speedup_statistics::ratio::BenchmarkWeights;
use speedup_statistics::sample::Sample;
use speedup_statistics::test::Selection;

/// The samples of two versions, benchmark by benchmark.
pub(crate) struct PlainSamples<'a> {
    pub(crate) baseline: &'a str,
    pub(crate) candidate: &'a str,
    /// The name of each benchmark, and its samples: the one to be divided by the other first.
    pub(crate) benchmarks: Vec<(&'a str, &'a Sample, &'a Sample)>,
    pub(crate) weights: &'a BenchmarkWeights,
    pub(crate) selection: Selection,
    /// Whether the first samples are the candidate's, because larger values are better.
    pub(crate) larger_is_better: bool,
}

impl PlainSamples<'_> {
    /// The suite, its benchmarks, and the caveats of both.
    pub(crate) fn compare(&self, declared: &Declared) -> (SuiteReport, Vec<BenchmarkReport>, Vec<Warning>) {
        let mut warnings = Warnings::default();
        let mut benchmarks: Vec<BenchmarkReport> =
            self.benchmarks.iter().map(|of| self.benchmark(of, declared, &mut warnings)).collect();
        let total = self.suite(&benchmarks, declared).conclusion();
        let mut comparisons: Vec<_> =
            benchmarks.iter_mut().flat_map(|benchmark| &mut benchmark.comparisons).collect();
        let adjusted =
            multiplicity::adjust(&mut comparisons, &mut [], (total.verdict, total.p_value), declared.level);
        let report = SuiteReport {
            multiplicity: adjusted.reports,
            adjusted: adjusted.total,
            ..self.suite(&benchmarks, declared).report(total, &mut warnings)
        };
        (report, benchmarks, warnings.into_list())
    }

    fn benchmark(
        &self,
        (name, first, second): &(&str, &Sample, &Sample),
        declared: &Declared,
        warnings: &mut Warnings,
    ) -> BenchmarkReport {
        let records = CellRecords::default();
        let names = match self.larger_is_better {
            true => [self.candidate, self.baseline],
            false => [self.baseline, self.candidate],
        };
        let [one, other] = [(names[0], *first), (names[1], *second)]
            .map(|(version, sample)| CellReport::new(version, Some(sample), &records));
        let pair = Pair {
            baseline: &one,
            candidate: &other,
            samples: [Some(first), Some(second)],
            arranged: None,
            looked: None,
        };
        let mut comparison = pair.compare(declared, name, warnings);
        if self.larger_is_better {
            std::mem::swap(&mut comparison.baseline_n, &mut comparison.candidate_n);
            self.candidate.clone_into(&mut comparison.candidate);
        }
        BenchmarkReport { name: (*name).to_owned(), cells: vec![one, other], comparisons: vec![comparison] }
    }

    fn suite<'s>(&'s self, benchmarks: &'s [BenchmarkReport], declared: &Declared) -> Suite<'s> {
        let compared = benchmarks.iter().flat_map(|benchmark| {
            benchmark.comparisons.iter().map(move |comparison| (benchmark, comparison))
        });
        let mut members = Members::new();
        for ((_, first, second), benchmark) in self.benchmarks.iter().zip(benchmarks) {
            if benchmark.comparisons.iter().all(|comparison| comparison.observed.is_some()) {
                members.add(first, second, &[], [None, None]);
            }
        }
        Suite {
            candidate: self.candidate,
            baseline: self.baseline,
            benchmarks: compared.collect(),
            members,
            are_pairs: false,
            is_by_looks: false,
            selection: self.selection,
            larger_is_better: self.larger_is_better,
            weights: self.weights.clone(),
            level: declared.level,
        }
    }
}
