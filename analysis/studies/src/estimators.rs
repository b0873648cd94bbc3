//! The metrics of variability from observations alone and from fitted mixtures: which estimate is the better (Worms 2016 §6.5).
//!
//! For each of many *frameworks*, random mixtures for the versions, samples are drawn again and again, and both estimates
//! compared with the metric of the mixtures themselves. The paper says how it draws a framework but for the bounds of means
//! and standard deviations; ours are `MEANS` and `SDS`.

mod framework;

use super::{Replication, SimulationError};
use crate::law::draws::Draws;
use clap::{Args, ValueEnum};
use serde::Serialize;
use speedup_statistics::mixture::variability::{empirical, modelled};
use speedup_statistics::mixture::{FitMethod, Mixture, MixtureFit};
use speedup_statistics::sample::Sample;

/// The study of estimators.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(mut_arg("replicates", |arg| arg.default_value("100")))]
pub struct Estimators {
    /// How often, whence, at which level.
    #[command(flatten)]
    pub replication: Replication,
    /// The metrics.
    #[arg(long = "metric", value_enum, value_delimiter = ',', default_values_t = VariabilityMetric::value_variants())]
    pub metrics: Vec<VariabilityMetric>,
    /// The runs of each version.
    #[arg(long, value_delimiter = ',', default_values_t = [30])]
    pub runs: Vec<u64>,
    /// The versions that I₃ compares.
    #[arg(long, value_delimiter = ',', default_values_t = [3])]
    pub versions: Vec<u64>,
    /// The number of random frameworks.
    #[arg(long, default_value_t = 20)]
    pub frameworks: u64,
}

speedup_core::words! {
    /// A metric of Worms 2016 §6.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
    #[serde(rename_all = "snake_case")]
    #[value(rename_all = "snake_case")]
    pub enum VariabilityMetric {
        /// I₁, `E|X − Y|`.
        MeanDifference = "mean_difference",
        /// I₂, `P[X < Y]`.
        ProbabilityBelow = "probability_below",
        /// I₃, `P[X₁ < min(X₂ … Xᵣ)]`.
        ProbabilityShortest = "probability_shortest",
    }
    /// A short name that stays the same between releases.
    fn code;
}

speedup_core::words! {
    /// What is told of an estimate in a framework.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Quantity {
        /// The mean squared error by mixtures over that by observations: below 1, mixtures are the better.
        SquaredErrorRatio,
        /// The mean absolute error by observations as a share of the metric.
        AbsoluteErrorEmpirical,
        /// The same by mixtures.
        AbsoluteErrorModelled,
        /// The mean error by observations as a share of the metric.
        BiasEmpirical,
        /// The same by mixtures.
        BiasModelled,
    }
    const ALL;
}

/// The quantiles of a quantity over the frameworks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimatorRow {
    pub metric: VariabilityMetric,
    /// How many versions are compared.
    pub versions: u64,
    pub runs: u64,
    /// What is told.
    pub quantity: Quantity,
    /// The least over the frameworks.
    pub min: f64,
    /// The first quartile, of type 7.
    pub first_quartile: f64,
    pub median: f64,
    pub mean: f64,
    pub third_quartile: f64,
    /// The greatest.
    pub max: f64,
    /// The median over the frameworks of the quantity's standard error in one framework, from the finite number of
    /// replicates.
    pub standard_error: f64,
    pub frameworks: u64,
    /// Replicates of a framework.
    pub replicates: u64,
    /// Replicates over all frameworks in which no mixture could be fitted.
    pub unanswered: u64,
}

/// The errors of both estimates in one replicate, as shares of the metric.
type Errors = [f64; 2];

impl VariabilityMetric {
    fn modelled_value(self, laws: &[Mixture]) -> f64 {
        match self {
            Self::MeanDifference => modelled::mean_difference(&laws[0], &laws[1]),
            Self::ProbabilityBelow => modelled::probability_below(&laws[0], &laws[1], 0.0).below,
            Self::ProbabilityShortest => {
                modelled::probability_shortest(&laws.iter().collect::<Vec<_>>()).shares[0]
            }
        }
    }

    fn empirical_value(self, samples: &[Sample]) -> f64 {
        match self {
            Self::MeanDifference => empirical::mean_difference(&samples[0], &samples[1]),
            Self::ProbabilityBelow => empirical::probability_below(&samples[0], &samples[1], 0.0).below,
            Self::ProbabilityShortest => {
                empirical::probability_shortest(&samples.iter().collect::<Vec<_>>()).shares[0]
            }
        }
    }
}

impl Quantity {
    /// The quantity and its standard error from the replicates of one framework.
    fn estimate(self, errors: &[Errors]) -> [f64; 2] {
        let empirical = || errors.iter().map(|[empirical, _]| *empirical);
        let modelled = || errors.iter().map(|[_, modelled]| *modelled);
        match self {
            Self::SquaredErrorRatio => squared_error_ratio(errors),
            Self::AbsoluteErrorEmpirical => mean_and_error(empirical().map(f64::abs)),
            Self::AbsoluteErrorModelled => mean_and_error(modelled().map(f64::abs)),
            Self::BiasEmpirical => mean_and_error(empirical()),
            Self::BiasModelled => mean_and_error(modelled()),
        }
    }
}

impl Estimators {
    /// The quantiles over the frameworks.
    pub fn run(&self) -> Result<Vec<EstimatorRow>, SimulationError> {
        self.replication.check()?;
        SimulationError::check_counts("runs", 2, &self.runs)?;
        SimulationError::check_counts("versions", 2, &self.versions)?;
        SimulationError::check_counts("frameworks", 1, &[self.frameworks])?;
        let mut rows = Vec::new();
        for metric in &self.metrics {
            let versions = match metric {
                VariabilityMetric::MeanDifference | VariabilityMetric::ProbabilityBelow => &[2],
                VariabilityMetric::ProbabilityShortest => self.versions.as_slice(),
            };
            for versions in versions {
                for runs in &self.runs {
                    rows.extend(self.cell(*metric, *versions, *runs));
                }
            }
        }
        Ok(rows)
    }

    fn cell(&self, metric: VariabilityMetric, versions: u64, runs: u64) -> Vec<EstimatorRow> {
        let mut unanswered = 0;
        let mut of_frameworks: Vec<Vec<Errors>> = Vec::new();
        for framework in 0..self.frameworks {
            let laws = framework::laws(self.replication.seed, framework, versions);
            let truth = metric.modelled_value(&laws);
            let stream = format!("simulation estimators {} {versions} {runs} {framework}", metric.code());
            let replicates = self.replication.each(&stream, |draws| {
                let estimates = estimates(metric, &laws, runs, draws)?;
                Some(estimates.map(|estimate| (estimate - truth) / truth))
            });
            unanswered += replicates.iter().filter(|errors| errors.is_none()).count() as u64;
            of_frameworks.push(replicates.into_iter().flatten().collect());
        }
        let row = |quantity: Quantity| {
            let of_each: Vec<[f64; 2]> =
                of_frameworks.iter().map(|errors| quantity.estimate(errors)).collect();
            let of = |which: usize| Sample::new(of_each.iter().map(|pair| pair[which]).collect()).ok();
            let values = of(0)?;
            let errors = of(1)?;
            let quantile = |p| values.quantile(p).unwrap_or(f64::NAN);
            Some(EstimatorRow {
                metric,
                versions,
                runs,
                quantity,
                min: values.min(),
                first_quartile: quantile(0.25),
                median: values.median(),
                mean: values.mean(),
                third_quartile: quantile(0.75),
                max: values.max(),
                standard_error: errors.median(),
                frameworks: self.frameworks,
                replicates: u64::from(self.replication.replicates),
                unanswered,
            })
        };
        Quantity::ALL.into_iter().filter_map(row).collect()
    }
}

/// From observations and from mixtures, which are fitted as in the paper; none where a sample has no mixture.
fn estimates(metric: VariabilityMetric, laws: &[Mixture], runs: u64, draws: &mut Draws) -> Option<[f64; 2]> {
    let mut samples = Vec::with_capacity(laws.len());
    let mut fitted = Vec::with_capacity(laws.len());
    for law in laws {
        let sample = draws.mixture_sample(law, runs)?;
        fitted.push(MixtureFit::with_method(&sample, FitMethod::Mclust).ok()?.mixture);
        samples.push(sample);
    }
    Some([metric.empirical_value(&samples), metric.modelled_value(&fitted)])
}

/// The mean and its standard error.
fn mean_and_error(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    [mean, (squares / (n - 1.0) / n).sqrt()]
}

/// The ratio of the mean squares, and its standard error by the delta method: that of the mean of m² − r·e² over the mean
/// of e².
fn squared_error_ratio(errors: &[Errors]) -> [f64; 2] {
    let mean_square = |which: usize| {
        errors.iter().map(|error| error[which] * error[which]).sum::<f64>() / errors.len() as f64
    };
    let empirical = mean_square(0);
    let modelled = mean_square(1);
    let ratio = modelled / empirical;
    let residues = errors.iter().map(|[e, m]| m * m - ratio * e * e);
    [ratio, mean_and_error(residues)[1] / empirical]
}
