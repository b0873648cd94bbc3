//! `speedup study power`: how often a true speedup is found.

use clap::Args;
use speedup_studies::{LawShape, Power, PowerSection, SuiteModel};

use super::answer::{Heading, show};
use super::options::{Replicating, named, or_all, replicates, shape};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// How often a true speedup is found, and when a mean is normal
///
/// Chen 2012 §5.2 and Touati 2010 App. C.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup study power --section speedup_test --speedup 1.02 --runs 5,31\n\n\
    docs/studies.md says what this reproduces of the papers, and explains the names of the methods.")]
pub(crate) struct Arguments {
    /// The parts to simulate: suites, table_1, speedup_test, normal_means [default: all]
    #[arg(long, value_name = "SECTION,…", value_delimiter = ',', value_parser = section)]
    section: Vec<PowerSection>,
    /// The distributions: normal, lognormal, gamma, bimodal, floor, heavy_lognormal, pareto, clock, stalls
    #[arg(long, value_name = "SHAPE,…", value_delimiter = ',', default_value = "lognormal", value_parser = shape)]
    distribution: Vec<LawShape>,
    /// The true speedups
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', default_values_t = [1.0, 1.02, 1.05, 1.1, 1.2])]
    speedup: Vec<f64>,
    /// Runs of each version, for one benchmark
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [5, 10, 31, 50])]
    runs: Vec<u64>,
    /// The standard deviation of a run, as a share of the mean
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.1)]
    variation: f64,
    /// Benchmarks per suite
    #[arg(long, value_name = "N", default_value_t = 14)]
    suite: u64,
    /// Runs of each of its benchmarks on each machine
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [3, 5, 12])]
    suite_runs: Vec<u64>,
    /// The standard deviation of the logarithm of a benchmark's own speedup around the suite's
    #[arg(long, value_name = "SD", allow_hyphen_values = true, default_value_t = 0.1)]
    spread: f64,
    /// The speedups under test with the runs of Table 1 of Chen 2012
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', default_values_t = [1.4, 1.6, 1.7, 1.76, 1.8, 2.0])]
    claim: Vec<f64>,
    /// Runs per mean, for the normality of means
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [5, 10, 15, 20, 25, 30, 35, 50, 75, 100])]
    mean_runs: Vec<u64>,
    /// The number of simulated experiments per line of the answer
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = replicates())]
    replicates: u32,
    #[command(flatten)]
    replicating: Replicating,
}

const HEADINGS: [Heading; 4] = [
    Heading {
        section: "suites",
        sentence: "Share of suites for which the candidate's machine is called the faster",
        size: "runs",
        parameter: "speedup",
    },
    Heading {
        section: "table_1",
        sentence: "The printed runs of Table 1 of Chen 2012 drawn again: share of suites that bear out the claim, and average confidence",
        size: "runs",
        parameter: "claim",
    },
    Heading {
        section: "speedup_test",
        sentence: "Share of comparisons of one benchmark in which the candidate is called faster",
        size: "runs",
        parameter: "speedup",
    },
    Heading {
        section: "normal_means",
        sentence: "Share of sets of sample means and medians that Shapiro–Wilk finds not normal",
        size: "runs",
        parameter: "",
    },
];

fn section(text: &str) -> Result<PowerSection, String> {
    named(text, &PowerSection::ALL, PowerSection::code)
}

pub(super) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let form = arguments.replicating.form();
    let Arguments { variation, spread, .. } = arguments;
    let study = Power {
        replication: arguments.replicating.replication(arguments.replicates),
        sections: or_all(arguments.section, &PowerSection::ALL),
        distributions: arguments.distribution,
        suite_runs: arguments.suite_runs,
        suite: SuiteModel { benchmarks: arguments.suite, variation, spread },
        runs: arguments.runs,
        variation,
        speedups: arguments.speedup,
        claims: arguments.claim,
        mean_runs: arguments.mean_runs,
    };
    let rows = study.run().map_err(Failure::refused)?;
    show("power", &study, &rows, &HEADINGS, form, console)
}
