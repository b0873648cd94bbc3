//! `speedup study track`: how often a track of commits raises a false alarm, and how soon it finds a change.

use clap::Args;
use speedup_statistics::inference::Threshold;
use speedup_statistics::track::AlarmRate;
use speedup_studies::{LawShape, SeriesKind, SeriesLaw, TrackStudy};

use super::answer::{Heading, show};
use super::options::{Replicating, named, or_all, replicates, shape};
use crate::arguments::fraction;
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// How often a track of commits raises a false alarm, and how soon it finds a change
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup study track --section quiet,machines --blocks 6 --step 0.02\n\n\
    docs/studies.md says what this shows, and explains the names of the methods.")]
pub(crate) struct Arguments {
    /// The kinds of series to simulate: quiet, stalls, machines, builds [default: all]
    #[arg(long, value_name = "SECTION,…", value_delimiter = ',', value_parser = section)]
    section: Vec<SeriesKind>,
    /// The distributions: normal, lognormal, gamma, bimodal, floor, heavy_lognormal, pareto, clock, stalls
    #[arg(long, value_name = "SHAPE,…", value_delimiter = ',', default_value = "normal", value_parser = shape)]
    distribution: Vec<LawShape>,
    /// Points of a series; a change comes in the middle
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [100])]
    points: Vec<u64>,
    /// Blocks of a point, each with a run of the commit and one of the reference
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [6])]
    blocks: Vec<u64>,
    /// The declared number of false alarms a year
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1.0)]
    alarms: f64,
    /// Points a year
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 365.0)]
    points_a_year: f64,
    /// Benchmarks among which the false alarms are divided
    #[arg(long, value_name = "N", default_value_t = 1)]
    benchmarks: u32,
    /// Changes up to this share do not count
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value = "0", value_parser = fraction::share)]
    margin: f64,
    /// The size of a change: the logarithm of the new level over the old one
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, default_value_t = 0.01)]
    step: f64,
    /// The standard deviation of a run, as a share of the value
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.01)]
    variation: f64,
    /// The standard deviation of the logarithm of a machine's level
    #[arg(long, value_name = "SD", allow_hyphen_values = true, default_value_t = 0.01)]
    machines: f64,
    /// The points that a machine serves in a row
    #[arg(long, value_name = "N", default_value_t = 10)]
    machine_points: u64,
    /// The share of runs that stall, and take twice as long
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value_t = 0.02)]
    stalled: f64,
    /// The standard deviation of the logarithm of a build's level
    #[arg(long, value_name = "SD", allow_hyphen_values = true, default_value_t = 0.005)]
    builds: f64,
    /// The number of simulated series of each sort per line of the answer
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = replicates())]
    replicates: u32,
    #[command(flatten)]
    replicating: Replicating,
}

const HEADINGS: [Heading; 4] = [
    heading("quiet", "Nothing but the noise of runs: false alarms, and what is said of a change"),
    heading("stalls", "Some runs stall: false alarms, and what is said of a change"),
    heading("machines", "Another machine every few points: false alarms, and what is said of a change"),
    heading("builds", "Each build has a level of its own: false alarms, and what is said of a change"),
];

const fn heading(section: &'static str, sentence: &'static str) -> Heading {
    Heading { section, sentence, size: "blocks", parameter: "points" }
}

fn section(text: &str) -> Result<SeriesKind, String> {
    named(text, &SeriesKind::ALL, SeriesKind::code)
}

pub(super) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let form = arguments.replicating.form();
    let Arguments { alarms, points_a_year, benchmarks, margin, .. } = arguments;
    let Arguments { step, variation, machines, machine_points, stalled, builds, .. } = arguments;
    let study = TrackStudy {
        replication: arguments.replicating.replication(arguments.replicates),
        sections: or_all(arguments.section, &SeriesKind::ALL),
        distributions: arguments.distribution,
        series: SeriesLaw { step, variation, machines, machine_points, stalled, builds },
        points: arguments.points,
        blocks: arguments.blocks,
        alarms: AlarmRate::new(alarms, points_a_year, benchmarks).map_err(Failure::refused)?,
        points_a_year,
        margin: Threshold::new(margin).map_err(Failure::refused)?,
    };
    let rows = study.run().map_err(Failure::refused)?;
    show("track", &study, &rows, &HEADINGS, form, console)
}
