//! `speedup study estimators`: the metrics of variability from observations and from fitted mixtures.

use clap::{Args, ValueEnum};
use speedup_statistics::mixture::{Component, FitMethod, Mixture};
use speedup_studies::{Estimators, Framework, VariabilityMetric};

use super::answer::show_estimators;
use super::options::{Replicating, named, or_all, replicates};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Whether observations or fitted mixtures estimate variability better
///
/// Worms 2016 §6.5.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup study estimators --metric mean_difference --frameworks 40\n\
    \x20 speedup study estimators --mixture 0.6:10:1,0.4:20:1.5 --mixture 1:12:2\n\n\
    docs/studies.md says what this reproduces of the paper.")]
pub(crate) struct Arguments {
    /// The metrics: mean_difference (I1), probability_below (I2), probability_shortest (I3) [default: all]
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',', value_parser = metric)]
    metric: Vec<VariabilityMetric>,
    /// Runs of each version
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [30])]
    runs: Vec<u64>,
    /// The versions that I3 compares
    #[arg(long, value_name = "R,R,…", value_delimiter = ',', default_values_t = [3])]
    versions: Vec<u64>,
    /// The number of random frameworks: a mixture per version, drawn as in the paper
    #[arg(long, value_name = "N", default_value_t = 20)]
    frameworks: u64,
    /// The mixture of a version as WEIGHT:MEAN:SD,…, once per version, instead of random ones
    #[arg(long, value_name = "W:M:S,…", value_parser = mixture, conflicts_with = "frameworks")]
    mixture: Vec<Mixture>,
    /// How to fit mixtures
    #[arg(long, value_enum, default_value_t, value_name = "FIT")]
    fit: Fit,
    /// The number of simulated experiments per line of the answer
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = replicates())]
    replicates: u32,
    #[command(flatten)]
    replicating: Replicating,
}

/// How to fit mixtures
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Fit {
    /// By the schedule of mclust, as in the paper.
    #[default]
    Mclust,
    /// From more starts, to convergence.
    Converged,
}

fn metric(text: &str) -> Result<VariabilityMetric, String> {
    named(text, &VariabilityMetric::ALL, VariabilityMetric::code)
}

fn mixture(text: &str) -> Result<Mixture, String> {
    let component = |text: &str| {
        let numbers: Vec<f64> = text.split(':').filter_map(|number| number.trim().parse().ok()).collect();
        match numbers[..] {
            [weight, mean, sd] => Ok(Component { weight, mean, sd }),
            _ => Err(format!("{text:?} is not a component WEIGHT:MEAN:SD")),
        }
    };
    let components: Result<Vec<Component>, String> = text.split(',').map(component).collect();
    Mixture::new(components?).map_err(|error| error.to_string())
}

pub(super) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let form = arguments.replicating.form();
    let framework = if arguments.mixture.is_empty() {
        Framework::Random { frameworks: arguments.frameworks }
    } else {
        Framework::Given { mixtures: arguments.mixture }
    };
    let method = match arguments.fit {
        Fit::Mclust => FitMethod::Mclust,
        Fit::Converged => FitMethod::Converged,
    };
    let study = Estimators {
        replication: arguments.replicating.replication(arguments.replicates),
        metrics: or_all(arguments.metric, &VariabilityMetric::ALL),
        runs: arguments.runs,
        versions: arguments.versions,
        framework,
        method,
    };
    let rows = study.run().map_err(Failure::refused)?;
    show_estimators(&study, &rows, form, console)
}
