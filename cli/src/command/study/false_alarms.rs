//! `speedup study false-alarms`: how often equal versions are called different.

use clap::Args;
use speedup_core::value::hint::{Hinted, with_hint};
use speedup_statistics::inference::Threshold;
use speedup_studies::{AlarmSection, FalseAlarmStudy, LawShape, SuiteModel};

use super::answer::{Heading, show};
use super::options::{ByLevels, Replicating, named, or_all, replicates, shape};
use crate::arguments::fraction;
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// How often equal versions are called different
///
/// Touati 2010 §4 and Kalibera 2012 §8.3.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup study false-alarms --section samples --distribution normal --runs 5\n\n\
    docs/studies.md says what this reproduces of the papers, and explains the names of the methods.")]
pub(crate) struct Arguments {
    /// The parts to simulate: samples, levels, one_binary, suites, headlines, unlike_shapes, same, tails, gates,
    /// dependent, hosts, rare_stalls, looks [default: all]
    #[arg(long, value_name = "SECTION,…", value_delimiter = ',', value_parser = section)]
    section: Vec<AlarmSection>,
    /// The distributions: normal, lognormal, gamma, bimodal, floor, heavy_lognormal, pareto, clock, stalls
    #[arg(long, value_name = "SHAPE,…", value_delimiter = ',', default_value = "normal", value_parser = shape)]
    distribution: Vec<LawShape>,
    /// Runs of each version, for two samples and for the benchmarks of a suite
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [5, 10, 20, 31, 50])]
    runs: Vec<u64>,
    /// The standard deviation of a run there, as a share of the mean
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.1)]
    variation: f64,
    /// The thresholds below which a difference does not matter, for the effect size
    #[arg(long, value_name = "DELTA,…", allow_hyphen_values = true, value_delimiter = ',', default_value = "0,0.01,0.02,0.05", value_parser = threshold)]
    threshold: Vec<Threshold>,
    #[command(flatten)]
    by_levels: ByLevels,
    /// Benchmarks per suite
    #[arg(long, value_name = "N", default_value_t = 14)]
    suite: u64,
    /// The standard deviation of the logarithm of a benchmark's own speedup around the suite's
    #[arg(long, value_name = "SD", allow_hyphen_values = true, default_value_t = 0.0)]
    spread: f64,
    /// The number of simulated experiments per line of the answer
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = replicates())]
    replicates: u32,
    #[command(flatten)]
    replicating: Replicating,
}

const HEADINGS: [Heading; 13] = [
    Heading {
        section: "samples",
        sentence: "Share of comparisons of equal versions that are called different",
        size: "runs",
        parameter: "threshold",
    },
    Heading {
        section: "levels",
        sentence: "The same with three levels",
        size: "binaries",
        parameter: "threshold",
    },
    Heading {
        section: "one_binary",
        sentence: "The same where compilation varies and one binary is measured",
        size: "executions",
        parameter: "threshold",
    },
    Heading {
        section: "suites",
        sentence: "Share of suites on equal machines for which one is called the faster",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "headlines",
        sentence: "Share of headlines that call two samples of one law faster or slower",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "unlike_shapes",
        sentence: "The same of unlike laws with equal medians, or equal means",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "same",
        sentence: "Share of versions that differ by the margin and are called the same within it",
        size: "runs",
        parameter: "margin",
    },
    Heading {
        section: "tails",
        sentence: "Share of quantiles of two samples of one law that are called better or worse",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "gates",
        sentence: "Share of suites without any difference for which it is concluded",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "dependent",
        sentence: "Share of equal versions, each run like the one before it, that are called faster or slower",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "hosts",
        sentence: "Share of equal versions on unlike hosts that are called faster or slower",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "rare_stalls",
        sentence: "Share of versions of equal mean, one with rare stalls, that are called faster or slower",
        size: "runs",
        parameter: "",
    },
    Heading {
        section: "looks",
        sentence: "Share of experiments with four looks that are called faster or slower; of a true speedup, whose interval \
            covers it, and whose observed and median-unbiased speedup is above it",
        size: "runs",
        parameter: "speedup",
    },
];

fn section(text: &str) -> Result<AlarmSection, String> {
    named(text, &AlarmSection::ALL, AlarmSection::code)
}

fn threshold(text: &str) -> Result<Threshold, String> {
    let number = fraction::fraction(text)
        .ok_or_else(|| with_hint("it is not a number", Some("3 % is written 0.03 or 3%")))?;
    Threshold::new(number).map_err(|error| with_hint(error, error.hint()))
}

pub(super) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let form = arguments.replicating.form();
    let Arguments { variation, spread, .. } = arguments;
    let study = FalseAlarmStudy {
        replication: arguments.replicating.replication(arguments.replicates),
        sections: or_all(arguments.section, &AlarmSection::ALL),
        distributions: arguments.distribution,
        runs: arguments.runs,
        variation,
        thresholds: arguments.threshold,
        levels: arguments.by_levels.model(),
        binaries: arguments.by_levels.binaries,
        executions: arguments.by_levels.one_binary,
        draws: arguments.by_levels.draws,
        suite: SuiteModel { benchmarks: arguments.suite, variation, spread },
    };
    let rows = study.run().map_err(Failure::refused)?;
    show("false_alarms", &study, &rows, &HEADINGS, form, console)
}
