//! Suites of benchmarks on two machines, as Chen 2012 compares them.

use super::draws::Draws;
use crate::{LawShape, SimulationError};
use clap::Args;
use speedup_statistics::protocol::hierarchical_performance_test::ScoreSuite;
use speedup_statistics::{sample::Sample, test::PairedTTest, test::WelchTTest};

/// The law of a suite's scores.
#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct SuiteModel {
    /// How many benchmarks.
    #[arg(id = "suite", long, default_value_t = 14)]
    pub benchmarks: u64,
    /// The standard deviation of the logarithm of a benchmark's own speedup around the suite's.
    #[arg(long, default_value_t = 0.0)]
    pub spread: f64,
}

/// The scores of a suite: the candidate's and the baseline's, a sample a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Scores {
    pub(crate) candidate: Vec<Sample>,
    pub(crate) baseline: Vec<Sample>,
}

/// The two parametric techniques with which Chen 2012 §5.2 compares, on the mean scores of the benchmarks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeanScoreTests {
    pub(crate) paired: PairedTTest,
    /// The interval of the difference of the two machines' means, the benchmarks taken as one sample each.
    pub(crate) unpaired: WelchTTest,
}

impl SuiteModel {
    pub(crate) fn check(&self) -> Result<(), SimulationError> {
        SimulationError::check_counts("benchmarks of a suite", 2, &[self.benchmarks])?;
        let in_range = (0.0..=2.0).contains(&self.spread);
        let what = "spread of the speedups";
        let given = self.spread;
        if in_range { Ok(()) } else { Err(SimulationError::Range { what, given, above: 0.0, below: 2.0 }) }
    }

    /// A suite with `runs` of each benchmark on each machine, whose standard deviation is the share `variation` of their mean. Over all benchmarks that there
    /// could be, the machines are equally fast in the geometric mean.
    pub(crate) fn draw(
        &self,
        shape: LawShape,
        runs: u64,
        variation: f64,
        draws: &mut Draws,
    ) -> Option<Scores> {
        let mut scores = Scores { candidate: Vec::new(), baseline: Vec::new() };
        for _ in 0..self.benchmarks {
            let own = libm::exp(self.spread * draws.normal());
            scores.baseline.push(draws.times(shape, runs, 1.0, variation)?);
            scores.candidate.push(draws.times(shape, runs, own, own * variation)?);
        }
        Some(scores)
    }
}

impl Scores {
    /// The candidate's scores divided by `speedup`.
    pub(crate) fn divided(&self, speedup: f64) -> Option<Self> {
        let divided = |sample: &Sample| {
            Sample::new(sample.in_run_order().iter().map(|score| score / speedup).collect()).ok()
        };
        let candidate: Option<Vec<Sample>> = self.candidate.iter().map(divided).collect();
        Some(Self { candidate: candidate?, baseline: self.baseline.clone() })
    }

    pub(crate) fn suite(&self) -> Option<ScoreSuite> {
        ScoreSuite::of_matrices(self.candidate.clone(), self.baseline.clone()).ok()
    }

    /// None where neither machine's mean scores vary.
    pub(crate) fn tests_of_means(&self) -> Option<MeanScoreTests> {
        let means = |scores: &[Sample]| Sample::new(scores.iter().map(Sample::mean).collect()).ok();
        let candidate = means(&self.candidate)?;
        let baseline = means(&self.baseline)?;
        Some(MeanScoreTests {
            paired: PairedTTest::new(&candidate, &baseline).ok()?,
            unpaired: WelchTTest::new(&candidate, &baseline).ok()?,
        })
    }
}
