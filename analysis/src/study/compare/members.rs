//! What the overall numbers are computed from: the samples of each benchmark, or, where the classes of hosts are blocks, the
//! samples of each class.
//!
//! A benchmark by classes is the mean over its classes by their weights nm/(n + m), as in its own verdict, so that a class
//! with more runs of one version is not taken for the version. Its classes are then members of the suite, each with its
//! share of the benchmark's weight, and all methods for suites stay as they are.

use crate::study::design::class_weight;
use speedup_statistics::ratio::{BenchmarkWeights, Overall, SpeedupMeans, SuiteError, SuiteMember, Summary};
use speedup_statistics::sample::Sample;

/// The samples behind the overall numbers.
pub(crate) struct Members<'a> {
    members: Vec<SuiteMember<'a>>,
    /// Of each member, the number of its benchmark and its share of it.
    shares: Vec<(usize, f64)>,
    benchmarks: usize,
    /// Of each member, the builds that the observations of its two versions are of, where they are of builds.
    builds: Vec<[Option<&'a [u32]>; 2]>,
}

impl<'a> Members<'a> {
    pub(crate) fn new() -> Self {
        Self { members: Vec::new(), shares: Vec::new(), benchmarks: 0, builds: Vec::new() }
    }

    /// Adds a benchmark, whose classes are `blocks` if there are any.
    pub(crate) fn add(
        &mut self,
        baseline: &'a Sample,
        candidate: &'a Sample,
        blocks: &'a [(Sample, Sample)],
        builds: [Option<&'a [u32]>; 2],
    ) {
        let number = self.benchmarks;
        self.benchmarks += 1;
        let blocks = with_errors(blocks);
        if blocks.is_empty() {
            self.members.push(SuiteMember { baseline, candidate });
            self.shares.push((number, 1.0));
            self.builds.push(builds);
            return;
        }
        let total: f64 = blocks.iter().map(|(x, y)| class_weight(x, y)).sum();
        for (baseline, candidate) in blocks {
            self.members.push(SuiteMember { baseline, candidate });
            self.shares.push((number, class_weight(baseline, candidate) / total));
            self.builds.push([None, None]);
        }
    }

    pub(crate) fn benchmarks(&self) -> usize {
        self.benchmarks
    }

    /// The members as the methods for suites take them.
    pub(crate) fn as_members(&self) -> &[SuiteMember<'a>] {
        &self.members
    }

    /// Of each member, the builds that the observations of its two versions are of, where they are of builds.
    pub(crate) fn builds(&self) -> &[[Option<&'a [u32]>; 2]] {
        &self.builds
    }

    /// Whether any benchmark is by classes.
    pub(crate) fn are_by_classes(&self) -> bool {
        self.members.len() > self.benchmarks
    }

    /// The weights of the members: those of their benchmarks, shared among the classes. `Fraction` goes by the mean, as in
    /// the verdict.
    pub(crate) fn weights(&self, of_benchmarks: &BenchmarkWeights, summary: Summary) -> BenchmarkWeights {
        if !self.are_by_classes() {
            return of_benchmarks.clone();
        }
        let [baselines, _] = self.times(summary);
        let shared = |(number, share): &(usize, f64)| {
            share
                * match of_benchmarks {
                    BenchmarkWeights::Equal => 1.0,
                    BenchmarkWeights::Fraction => baselines[*number],
                    BenchmarkWeights::Custom(weights) => weights.get(*number).copied().unwrap_or(f64::NAN),
                }
        };
        BenchmarkWeights::Custom(self.shares.iter().map(shared).collect())
    }

    /// The overall gain and speedup by a summary.
    pub(crate) fn overall(
        &self,
        weights: &BenchmarkWeights,
        summary: Summary,
    ) -> Result<Overall, SuiteError> {
        Overall::new(&self.members, summary, &self.weights(weights, summary))
    }

    /// The plain means of the benchmarks' speedups.
    pub(crate) fn speedup_means(&self, summary: Summary) -> Option<SpeedupMeans> {
        let [baselines, candidates] = self.times(summary);
        let speedups: Vec<f64> = baselines.iter().zip(&candidates).map(|(x, y)| x / y).collect();
        SpeedupMeans::from_speedups(&speedups).ok()
    }

    /// What stands for the times of each benchmark in either version.
    fn times(&self, summary: Summary) -> [Vec<f64>; 2] {
        let mut times = [vec![0.0; self.benchmarks], vec![0.0; self.benchmarks]];
        for (member, (number, share)) in self.members.iter().zip(&self.shares) {
            times[0][*number] += share * summary.of(member.baseline);
            times[1][*number] += share * summary.of(member.candidate);
        }
        times
    }
}

/// The speedup over classes by a summary: the ratio of the weighted means of the classes.
pub(crate) fn speedup_within(blocks: &[(Sample, Sample)], summary: Summary) -> f64 {
    let blocks = with_errors(blocks);
    let sum = |of: &dyn Fn(&(Sample, Sample)) -> f64| -> f64 {
        blocks.iter().map(|block| class_weight(&block.0, &block.1) * of(block)).sum()
    };
    sum(&|(x, _)| summary.of(x)) / sum(&|(_, y)| summary.of(y))
}

/// The classes whose means have errors: all, where none has.
fn with_errors(blocks: &[(Sample, Sample)]) -> Vec<&(Sample, Sample)> {
    let several: Vec<_> = blocks.iter().filter(|(x, y)| x.len() > 1 && y.len() > 1).collect();
    if several.is_empty() { blocks.iter().collect() } else { several }
}
