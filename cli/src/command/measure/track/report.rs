//! `speedup track report`: what a track says.

use clap::{Args, ValueEnum};
use speedup_report::{Document, html, latex, markdown, track};

use crate::{
    command::print, command::print_json, console::Console, console::render, exit::Exit,
    exit::failure::Failure, gate::GateArguments, tracks::TrackName, tracks::Tracks,
};

/// Reports what a track says: steps with their commits and sizes, levels, and the noise floor
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup track report prog\n\
    \x20 speedup track report prog --format html -o prog.html\n\
    \x20 speedup track report prog --fail-on-regression\n\n\
    The gates go by the steps to a worse level that nobody acknowledged.")]
pub(crate) struct Arguments {
    /// The track
    #[arg(value_name = "NAME")]
    name: TrackName,
    /// Print all points as well
    #[arg(short, long)]
    verbose: bool,
    /// Print the report in this form
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    format: Form,
    #[command(flatten)]
    gate: GateArguments,
}

/// The form of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For this terminal
    #[default]
    #[value(alias = "table")]
    Terminal,
    /// A page with drawings, in one file without scripts
    Html,
    /// Markdown for forges and wikis
    Md,
    /// A LaTeX document with drawings, for pdflatex
    Latex,
    /// The whole report with stable names
    Json,
    /// The points, one row per benchmark and commit
    Csv,
}

pub(super) fn execute(arguments: &Arguments, tracks: &Tracks, console: &Console) -> Result<Exit, Failure> {
    let gate = arguments.gate.gate()?;
    let report = tracks.require(&arguments.name)?.report()?;
    let whole = || Document::track(&report);
    match arguments.format {
        Form::Terminal => {
            let document = if arguments.verbose { whole() } else { Document::brief_track(&report) };
            print(console, &render::report::document(&document, console.out))?;
        }
        Form::Html => print(console, &html::page(&whole()))?,
        Form::Md => print(console, &markdown::text(&whole()))?,
        Form::Latex => print(console, &latex::document(&whole()))?,
        Form::Json => print_json(console, &report)?,
        Form::Csv => print(console, &track::sheet(&report).csv())?,
    }
    Ok(gate.map_or(Exit::Done, |gate| gate.judge_track(&report, console)))
}
