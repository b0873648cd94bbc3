//! `speedup track list`: the tracks of this user.

use clap::Args;
use serde::Serialize;
use speedup_report::facts::{Sheet, SheetCell, number, words};

use crate::{
    arguments::Form, arguments::FormArgument, command::print, command::print_json, console::Console,
    console::render::table::of_sheet, exit::Exit, exit::failure::Failure, tracks::Cadence, tracks::Tracks,
};

/// Lists tracks
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup track list")]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: FormArgument,
}

#[derive(Serialize)]
struct TrackSummary {
    name: String,
    branch: String,
    reference: String,
    every: Cadence,
    points: usize,
    steps: usize,
    /// Steps to a worse level that nobody acknowledged.
    regressions: usize,
}

pub(super) fn execute(arguments: &Arguments, tracks: &Tracks, console: &Console) -> Result<Exit, Failure> {
    let mut listed = Vec::new();
    for name in tracks.list()? {
        let kept = tracks.require(&name)?;
        let report = kept.report()?;
        let reference = report.terms.references.first().map(|commit| commit.revision.clone());
        listed.push(TrackSummary {
            name: name.to_string(),
            branch: report.terms.branch.clone(),
            reference: reference.unwrap_or_default(),
            every: kept.definition.every,
            points: report.points(),
            steps: report.steps.len(),
            regressions: report.regressions().count(),
        });
    }
    match arguments.output.output {
        Form::Json => print_json(console, &listed)?,
        Form::Csv => print(console, &sheet(&listed).csv())?,
        Form::Table if listed.is_empty() => {
            console.talk("There is no track yet; `speedup track add` adds one.");
        }
        Form::Table => print(console, &of_sheet(&sheet(&listed), console.out))?,
    }
    Ok(Exit::Done)
}

fn sheet(listed: &[TrackSummary]) -> Sheet {
    let headings = vec![
        words("name", "name"),
        words("branch", "branch"),
        words("reference", "reference"),
        words("every", "every"),
        number("points", "points"),
        number("steps", "steps"),
        number("regressions", "regressions"),
    ];
    let row = |one: &TrackSummary| {
        let every = match one.every {
            Cadence::Commit => "commit",
            Cadence::Night => "night",
        };
        vec![
            SheetCell::text(&one.name),
            SheetCell::text(&one.branch),
            SheetCell::text(&one.reference),
            SheetCell::text(every),
            SheetCell::Count(one.points as u64),
            SheetCell::Count(one.steps as u64),
            SheetCell::Count(one.regressions as u64),
        ]
    };
    Sheet { headings, rows: listed.iter().map(row).collect() }
}
