//! Experiments of three levels, as Kalibera 2012 §8.4 simulates them.

use super::draws::Draws;
use crate::{LawShape, SimulationError, error::LEAST_VARIATION};
use clap::Args;
use speedup_statistics::levels::LevelTree;
use std::str::FromStr;

/// The standard deviations of the levels as shares of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// Of the binaries' means.
    pub compilation: f64,
    /// Of the executions' means within a binary.
    pub execution: f64,
    /// Of the measurements within an execution.
    pub measurement: f64,
}

/// The law of an experiment's measurements.
#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct LevelModel {
    /// How much compilation, execution and measurement vary, in percent of the mean, such as 3.4,8.2,1.4; or a benchmark of Table VII
    /// of Kalibera 2012, such as fft-opt.
    #[arg(id = "levels", long, default_value = "fft-na-opt")]
    pub variation: Variation,
    /// Measurements of an execution.
    #[arg(long, default_value_t = 5)]
    pub measurements: u64,
    /// Executions of a binary.
    #[arg(long, default_value_t = 5)]
    pub executions: u64,
}

/// The mean of the old system; every method is equivariant under its choice.
pub(crate) const MEAN: f64 = 100.0;
/// The most measurements of one simulated experiment: 80 megabytes.
const MOST_MEASUREMENTS: u64 = 10_000_000;

impl Variation {
    /// Table VII of Kalibera 2012: the variations that its authors estimated, S where it and T differ, as §8.4 takes them.
    pub const TABLE_VII: [(&'static str, Self); 10] = [
        ("fft-na-opt", Self::percent(3.4, 8.2, 1.4)),
        ("fft-na", Self::percent(3.4, 7.8, 1.4)),
        ("fft-opt", Self::percent(4.4, 8.2, 4.3)),
        ("fft", Self::percent(4.1, 6.7, 4.6)),
        ("http-opt", Self::percent(0.2, 0.8, 22.5)),
        ("http", Self::percent(0.2, 0.7, 21.5)),
        ("rijndael-opt", Self::percent(0.4, 3.8, 9.3)),
        ("rijndael", Self::percent(0.4, 3.5, 9.1)),
        ("tcp-opt", Self::percent(0.6, 1.7, 41.8)),
        ("tcp", Self::percent(0.6, 1.8, 38.6)),
    ];

    const fn percent(compilation: f64, execution: f64, measurement: f64) -> Self {
        let compilation = compilation / 100.0;
        let execution = execution / 100.0;
        let measurement = measurement / 100.0;
        Self { compilation, execution, measurement }
    }
}

impl FromStr for Variation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, variation)) = Self::TABLE_VII.iter().find(|(name, _)| *name == text) {
            return Ok(*variation);
        }
        let percents: Result<Vec<f64>, _> = text.split(',').map(str::parse).collect();
        match percents.as_deref() {
            Ok(&[compilation, execution, measurement]) => {
                Ok(Self::percent(compilation, execution, measurement))
            }
            _ => Err("it is neither a benchmark of Table VII nor three percentages, such as 3.4,8.2,1.4"),
        }
    }
}

impl LevelModel {
    pub(crate) fn check(&self, binaries: &[u64]) -> Result<(), SimulationError> {
        let Variation { compilation, execution, measurement } = self.variation;
        let given = [measurement, execution, compilation];
        if given.iter().any(|sd| !(0.0..1.0).contains(sd)) || given.iter().all(|sd| *sd < LEAST_VARIATION) {
            return Err(SimulationError::LevelVariations { given });
        }
        SimulationError::check_counts("measurements of an execution", 1, &[self.measurements])?;
        SimulationError::check_counts("executions of a binary", 1, &[self.executions])?;
        SimulationError::check_counts("binaries", 2, binaries)?;
        let of_binary = self.measurements * self.executions;
        match binaries.iter().find(|binaries| **binaries * of_binary > MOST_MEASUREMENTS) {
            Some(binaries) => {
                Err(SimulationError::TooLarge { measurements: binaries * of_binary, most: MOST_MEASUREMENTS })
            }
            None => Ok(()),
        }
    }

    /// An experiment with `binaries`, its mean `factor` times [`MEAN`], its deviations those of the old system. One
    /// binary makes an experiment of two levels, which knows nothing of compilation.
    pub(crate) fn draw(
        &self,
        shape: LawShape,
        binaries: u64,
        factor: f64,
        draws: &mut Draws,
    ) -> Option<LevelTree> {
        let Variation { compilation, execution, measurement } = self.variation;
        let mut values = Vec::with_capacity((binaries * self.executions * self.measurements) as usize);
        for _ in 0..binaries {
            let binary = MEAN * (factor + compilation * shape.deviate(draws));
            for _ in 0..self.executions {
                let mean = binary + MEAN * execution * shape.deviate(draws);
                values
                    .extend((0..self.measurements).map(|_| mean + MEAN * measurement * shape.deviate(draws)));
            }
        }
        let counts = [self.measurements, self.executions, binaries].map(|count| count as usize);
        let repeated = if binaries == 1 { &counts[..2] } else { &counts[..] };
        LevelTree::balanced(values, repeated).ok()
    }

    /// The same with `executions` of a binary.
    pub(crate) fn with_executions(self, executions: u64) -> Self {
        Self { executions, ..self }
    }
}
