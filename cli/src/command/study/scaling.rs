//! `speedup study scaling`: how often the intervals of scaling contain the truth, and a law is rejected.

use clap::Args;
use speedup_core::experiment::gang::ScalingLaw;
use speedup_studies::{LawShape, ScalingStudy};

use super::answer::{Heading, show};
use super::options::{Replicating, named, or_all, replicates, shape};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// How often the intervals of scaling contain the truth, and how often a law is rejected
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup study scaling --hosts 1,2,4,8 --runs 10 --serial-share 0.1\n\n\
    docs/studies.md says what this shows, and explains the names of the methods.")]
pub(crate) struct Arguments {
    /// The kinds of scaling to simulate: strong, weak [default: both]
    #[arg(long, value_name = "SECTION,…", value_delimiter = ',', value_parser = section)]
    section: Vec<ScalingLaw>,
    /// The distributions: normal, lognormal, gamma, bimodal, floor, heavy_lognormal, pareto, clock, stalls
    #[arg(long, value_name = "SHAPE,…", value_delimiter = ',', default_value = "normal", value_parser = shape)]
    distribution: Vec<LawShape>,
    /// The numbers of hosts, the fewest first
    #[arg(long, value_name = "K,K,…", value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    hosts: Vec<u32>,
    /// Runs at each number of hosts
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [5, 10, 30])]
    runs: Vec<u64>,
    /// The standard deviation of a run on the fewest hosts, as a share of its mean; each doubling of the hosts adds as much
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.01)]
    variation: f64,
    /// The serial share of the work
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.05)]
    serial_share: f64,
    /// What each doubling of the hosts adds, as a share of the time on the fewest, in the version that breaks the law
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.01)]
    overhead: f64,
    /// The number of simulated experiments per line of the answer
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = replicates())]
    replicates: u32,
    #[command(flatten)]
    replicating: Replicating,
}

const HEADINGS: [Heading; 2] = [
    heading("strong", "The problem stays: intervals that cover, and laws that are rejected"),
    heading("weak", "The problem grows with the hosts: intervals that cover, and laws that are rejected"),
];

const fn heading(section: &'static str, sentence: &'static str) -> Heading {
    Heading { section, sentence, size: "runs", parameter: "overhead" }
}

fn section(text: &str) -> Result<ScalingLaw, String> {
    named(text, &ScalingLaw::ALL, ScalingLaw::name)
}

pub(super) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let form = arguments.replicating.form();
    let study = ScalingStudy {
        replication: arguments.replicating.replication(arguments.replicates),
        sections: or_all(arguments.section, &ScalingLaw::ALL),
        distributions: arguments.distribution,
        hosts: arguments.hosts,
        runs: arguments.runs,
        variation: arguments.variation,
        serial_share: arguments.serial_share,
        overhead: arguments.overhead,
    };
    let rows = study.run().map_err(Failure::refused)?;
    show("scaling", &study, &rows, &HEADINGS, form, console)
}
