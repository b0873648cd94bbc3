//! `speedup study coverage`: how often the intervals contain the truth.

use clap::Args;
use speedup_studies::{Coverage, CoverageSection, LawShape};

use super::answer::{Heading, show};
use super::options::{ByLevels, Replicating, named, or_all, replicates, shape};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// How often the intervals contain the true value
///
/// Kalibera 2012 §8.4, and all other intervals that Speedup prints.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup study coverage --section levels --levels fft-opt --binaries 3,10\n\n\
    docs/studies.md says what this reproduces of the papers, and explains the names of the methods.")]
pub(crate) struct Arguments {
    /// The parts to simulate: levels, one_binary, samples, proportions, true_share [default: all]
    #[arg(long, value_name = "SECTION,…", value_delimiter = ',', value_parser = section)]
    section: Vec<CoverageSection>,
    /// The distributions: normal, lognormal, gamma, bimodal, floor, heavy_lognormal, pareto, clock, stalls
    #[arg(long, value_name = "SHAPE,…", value_delimiter = ',', default_value = "normal", value_parser = shape)]
    distribution: Vec<LawShape>,
    #[command(flatten)]
    by_levels: ByLevels,
    /// The true effect size of experiments by levels, new mean over old
    #[arg(long, value_name = "RATIO", allow_hyphen_values = true, default_value_t = 0.95)]
    effect: f64,
    /// The runs of each version, for two samples
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [5, 10, 20, 50])]
    runs: Vec<u64>,
    /// The standard deviation of a run there, as a share of the mean
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.1)]
    variation: f64,
    /// The numbers of benchmarks, for proportions
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [10, 30, 100])]
    benchmarks: Vec<u64>,
    /// The true proportions of accelerated benchmarks
    #[arg(long, value_name = "C,C,…", value_delimiter = ',', default_values_t = [0.5, 0.7, 0.9])]
    proportion: Vec<f64>,
    /// The number of simulated experiments per line of the answer
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = replicates())]
    replicates: u32,
    #[command(flatten)]
    replicating: Replicating,
}

const HEADINGS: [Heading; 5] = [
    Heading {
        section: "levels",
        sentence: "Share of intervals that contain the truth, three levels",
        size: "binaries",
        parameter: "",
    },
    Heading {
        section: "one_binary",
        sentence: "The same where compilation varies and one binary is measured",
        size: "executions",
        parameter: "",
    },
    Heading {
        section: "samples",
        sentence: "Share of intervals that contain the truth, two samples",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "proportions",
        sentence: "Share of intervals that contain the proportion",
        size: "benchmarks",
        parameter: "proportion",
    },
    Heading {
        section: "true_share",
        sentence: "Share of intervals that contain the share of truly faster benchmarks",
        size: "benchmarks",
        parameter: "share",
    },
];

fn section(text: &str) -> Result<CoverageSection, String> {
    named(text, &CoverageSection::ALL, CoverageSection::code)
}

pub(super) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let form = arguments.replicating.form();
    let study = Coverage {
        replication: arguments.replicating.replication(arguments.replicates),
        sections: or_all(arguments.section, &CoverageSection::ALL),
        distributions: arguments.distribution,
        levels: arguments.by_levels.model(),
        effect: arguments.effect,
        binaries: arguments.by_levels.binaries,
        executions: arguments.by_levels.one_binary,
        draws: arguments.by_levels.draws,
        runs: arguments.runs,
        variation: arguments.variation,
        benchmarks: arguments.benchmarks,
        proportions: arguments.proportion,
    };
    let rows = study.run().map_err(Failure::refused)?;
    show("coverage", &study, &rows, &HEADINGS, form, console)
}
