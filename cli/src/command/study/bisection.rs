//! `speedup study bisection`: how often a bisection names the commit that made a program slower.

use clap::Args;
use speedup_studies::{BisectionSection, BisectionStudy, HistoryLaw, LawShape};

use super::answer::{Heading, show};
use super::options::{Replicating, named, or_all, replicates, shape};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// How often a bisection names the commit that made a program slower
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup study bisection --section one_step --commits 64 --runs 50,200\n\n\
    docs/studies.md says what this shows, and explains the names of the methods.")]
pub(crate) struct Arguments {
    /// The parts to simulate: one_step, no_step, two_steps, reverted, unbuildable, outcomes, prior, wrong_prior [default: all]
    #[arg(long, value_name = "SECTION,…", value_delimiter = ',', value_parser = section)]
    section: Vec<BisectionSection>,
    /// The distributions: normal, lognormal, gamma, bimodal, floor, heavy_lognormal, pareto, clock, stalls
    #[arg(long, value_name = "SHAPE,…", value_delimiter = ',', default_value = "normal", value_parser = shape)]
    distribution: Vec<LawShape>,
    /// Commits after the good end
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [64, 256])]
    commits: Vec<u64>,
    /// Runs of a search, those of the ends included
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [50, 200])]
    runs: Vec<u64>,
    /// Runs in a block, which are on one host: one of each end, and the others between
    #[arg(long, value_name = "N", default_value_t = 4)]
    block_runs: u64,
    /// The size of a step: the logarithm of the new value over the old one
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, default_value_t = 0.05)]
    step: f64,
    /// The standard deviation of a run, as a share of the value
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.05)]
    variation: f64,
    /// The standard deviation of the logarithm of a host's level
    #[arg(long, value_name = "SD", allow_hyphen_values = true, default_value_t = 0.05)]
    hosts: f64,
    /// The share of runs that stall, and take twice as long
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.03)]
    stalled: f64,
    /// The share of runs that fail before the step, where runs pass or fail
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.05)]
    failures_before: f64,
    /// The share of runs that fail from the step on
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.5)]
    failures_after: f64,
    /// How many times as likely as others one commit of eight is held to be, where some are
    #[arg(long, value_name = "WEIGHT", allow_hyphen_values = true, default_value_t = 10.0)]
    prior_weight: f64,
    /// The number of simulated searches per line of the answer
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = replicates())]
    replicates: u32,
    #[command(flatten)]
    replicating: Replicating,
}

const HEADINGS: [Heading; 8] = [
    heading("one_step", "One step: what is claimed, and how often it is right"),
    heading("no_step", "No step: what is claimed"),
    heading("two_steps", "Two steps of one size: what is claimed, and how often it is one of them"),
    heading(
        "reverted",
        "A step that is taken back: what is claimed, and how often it is one of the two commits",
    ),
    heading(
        "unbuildable",
        "One step, and a commit of five does not build: what is claimed, and how often it is right",
    ),
    heading("outcomes", "Runs that pass or fail, more often from a commit on: how often it is found"),
    heading(
        "prior",
        "One step, drawn by a prior that the search has: what is claimed, and how often it is right",
    ),
    heading(
        "wrong_prior",
        "One step where the search holds it to be unlikely: what is claimed, and how often it is right",
    ),
];

const fn heading(section: &'static str, sentence: &'static str) -> Heading {
    Heading { section, sentence, size: "runs", parameter: "commits" }
}

fn section(text: &str) -> Result<BisectionSection, String> {
    named(text, &BisectionSection::ALL, BisectionSection::code)
}

pub(super) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let form = arguments.replicating.form();
    let Arguments { step, variation, hosts, stalled, .. } = arguments;
    let study = BisectionStudy {
        replication: arguments.replicating.replication(arguments.replicates),
        sections: or_all(arguments.section, &BisectionSection::ALL),
        distributions: arguments.distribution,
        history: HistoryLaw { step, variation, hosts, stalled },
        commits: arguments.commits,
        runs: arguments.runs,
        block_runs: arguments.block_runs,
        failures: [arguments.failures_before, arguments.failures_after],
        prior_weight: arguments.prior_weight,
    };
    let rows = study.run().map_err(Failure::refused)?;
    show("bisection", &study, &rows, &HEADINGS, form, console)
}
