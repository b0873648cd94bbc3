//! `speedup report`: what the runs say.

use anyhow::Error;
use clap::Args;
use speedup_core::id::ExperimentId;
use speedup_proto::convert::id_bytes;
use speedup_proto::v1;

use super::print;
use crate::arguments::{Output, OutputArgument};
use crate::connection::{Connection, SourceArguments};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render;
use crate::render::report::Extent;
use crate::selector::Selector;

/// Reports what an experiment says, finished or not: is a version faster, by how much, and how sure is that
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  speedup report last\n  speedup report last --output json > report.json\n  \
    speedup report last --data ~/.local/state/speedup/local"
)]
pub(crate) struct Arguments {
    /// The experiment: its id, the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    experiment: Selector,
    #[command(flatten)]
    source: SourceArguments,
    /// Another confidence level than the plan's, as 0.99
    #[arg(long, value_name = "LEVEL", value_parser = confidence)]
    confidence: Option<f64>,
    /// Describes the clusters of every cell's times as well; of thousands of cells this takes minutes
    #[arg(long)]
    mixtures: bool,
    #[command(flatten)]
    output: OutputArgument,
}

fn confidence(text: &str) -> Result<f64, &'static str> {
    let level = text.parse().ok().filter(|level| *level > 0.0 && *level < 1.0);
    level.ok_or("a confidence level lies between 0 and 1")
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let connection = arguments.source.connect().await?;
    let asked = async {
        let experiment = arguments.experiment.resolve(&mut connection.experiments()).await?;
        ask(&connection, experiment, arguments.confidence, arguments.mixtures).await
    };
    let asked = asked.await;
    connection.close().await;
    show(&asked?, Extent::Whole, arguments.output.output, console)?;
    Ok(Exit::Done)
}

/// The report of an experiment, as JSON.
pub(crate) async fn ask(
    connection: &Connection,
    experiment: ExperimentId,
    confidence: Option<f64>,
    mixtures: bool,
) -> Result<String, Failure> {
    let request = v1::ReportRequest { experiment: id_bytes(experiment.0), confidence, mixtures, figures: false };
    let answer = connection.analysis().report(request).await;
    let answer = answer.map_err(|status| Failure::status("cannot make the report", &status))?;
    Ok(answer.into_inner().json)
}

/// Prints a report; the JSON is always whole.
pub(super) fn show(json: &str, extent: Extent, output: Output, console: &Console) -> Result<(), Failure> {
    let text = match output {
        Output::Json => render::json::indented(json),
        Output::Table => render::report::report(json, extent, console.out),
    };
    let text = text.map_err(|error| {
        Failure::infrastructure(Error::new(error).context("the analysis answered what is no JSON"))
    })?;
    print(console, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_level_lies_between_0_and_1() {
        assert_eq!(confidence("0.99"), Ok(0.99));
        assert!(confidence("1").is_err() && confidence("95").is_err() && confidence("NaN").is_err());
    }
}
