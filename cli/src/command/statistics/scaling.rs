//! `speedup scaling`: what more hosts bring, from files with times on several numbers of them.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use comfy_table::Table;
use speedup_analysis::{count::counted, inquiry::Suite, study::ScalingReport, study::ScalingSample};
use speedup_core::{experiment::gang::ScalingLaw, value::causes::with_causes, value::hint::Hinted as _};
use speedup_report::terminal::{self, Terminal, USUAL_WIDTH};
use speedup_report::{Document, html, markdown};
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::sample::Sample;
use speedup_statistics::scaling::{ScalingCurve, ScalingError};

use crate::command::{print, print_json};
use crate::{
    arguments::fraction, console::Console, console::render, exit::Exit, exit::failure::Failure,
    samples::compare::source::ReadingArguments, samples::compare::versions::Versions,
};

/// Computes what more hosts bring from files with times
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup scaling 1=one.txt 2=two.txt 4=four.txt 8=eight.txt\n\
    \x20 speedup scaling --weak 1=one.json 16=sixteen.json --format html -o weak.html\n\n\
    Each file has the times of the runs on one number of hosts, in any form that `speedup compare` reads. The runs must be independent. \
    docs/scaling.md describes what is computed.")]
pub(crate) struct Arguments {
    /// Numbers of hosts, each with the file of its times; - is standard input
    #[arg(value_name = "HOSTS=FILE", required = true, value_parser = point)]
    points: Vec<(u32, PathBuf)>,
    /// The problem grows with the hosts (weak scaling); without this it stays (strong scaling)
    #[arg(long)]
    weak: bool,
    /// The confidence level of intervals and of the test of the law
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    /// The metric, if the files have several [default: wall]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    #[command(flatten)]
    reading: ReadingArguments,
    /// Print the answer in this form
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    format: ScalingForm,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ScalingForm {
    /// For people
    #[default]
    Table,
    /// For programs: one JSON value
    Json,
    /// For pull requests and wikis: Markdown
    Md,
    /// A page with a drawing, in one file without scripts
    Html,
}

/// `4=FILE`.
fn point(text: &str) -> Result<(u32, PathBuf), String> {
    let parsed = text.split_once('=').and_then(|(hosts, file)| Some((hosts.trim().parse().ok()?, file)));
    match parsed {
        Some((hosts, file)) if !file.is_empty() => Ok((hosts, PathBuf::from(file))),
        Some(_) | None => Err("it is not a number of hosts and a file, such as 4=four.txt".to_owned()),
    }
}

pub(crate) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let mut points = arguments.points.clone();
    // Efficiency is relative to the fewest hosts, which have to come first.
    points.sort_by_key(|(hosts, _)| *hosts);
    let (hosts, files): (Vec<u32>, Vec<PathBuf>) = points.into_iter().unzip();
    ScalingCurve::check(&hosts).map_err(Failure::refused)?;
    let sources = arguments.reading.sources(&files, console)?;
    sources.iter().for_each(|source| source.tell(console));
    let versions = Versions::new(&sources, arguments.metric.as_deref(), None).map_err(|error| {
        Failure::refused(error).context("cannot take the files as times on numbers of hosts")
    })?;
    let times: Vec<Sample> = versions.suites.iter().map(only_sample).collect::<Result<_, _>>()?;
    let files = hosts.iter().zip(&versions.suites).zip(&times);
    let samples = files.map(|((hosts, suite), times)| ScalingSample {
        hosts: *hosts,
        benchmark: &suite.version,
        times,
    });
    let law = if arguments.weak { ScalingLaw::Weak } else { ScalingLaw::Strong };
    let measured = [(versions.metric.as_str(), samples.collect())];
    let report = ScalingReport::of(&versions.metric, law, &measured, arguments.confidence)
        .ok_or_else(|| Failure::refused(ScalingError::TooFewPoints { points: hosts.len() }))?;
    let unit = versions.unit.to_string();
    let document = || Document::scaling(&report, arguments.confidence.get(), &versions.metric, &unit);
    match arguments.format {
        ScalingForm::Json => print_json(console, &report)?,
        ScalingForm::Md => print(console, &markdown::text(&document()))?,
        ScalingForm::Html => print(console, &html::page(&document()))?,
        ScalingForm::Table => {
            let width = Table::new().width().map_or(USUAL_WIDTH, usize::from);
            let (coloured, plots) = (console.out.is_coloured(), render::report::plots());
            print(console, &terminal::text(&document(), Terminal { width, coloured, plots }))?;
        }
    }
    Ok(Exit::Done)
}

/// The times of a file that holds those of one benchmark.
fn only_sample(suite: &Suite) -> Result<Sample, Failure> {
    let [only] = &suite.benchmarks[..] else {
        let count = counted(suite.benchmarks.len() as u64, "benchmark");
        return Err(Failure::usage(anyhow!(
            "{} has {count}, and a number of hosts has the times of one",
            suite.version
        )));
    };
    only.sample(&suite.version).map_err(|error| {
        let hint = error.hint();
        Failure::usage(
            anyhow!(with_causes(&error)).context("cannot take the files as times on numbers of hosts"),
        )
        .hint_if(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_number_of_hosts_and_a_file() {
        assert_eq!(point("16=a=b.txt"), Ok((16, PathBuf::from("a=b.txt"))));
        for none in ["16", "=a.txt", "4=", "-1=a.txt", "four=a.txt"] {
            assert!(point(none).is_err(), "{none}");
        }
    }
}
