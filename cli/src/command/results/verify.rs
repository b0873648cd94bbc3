//! `speedup verify`: the report of a bundle, computed again.

use std::{fs::File, io::BufReader, path::Path, path::PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use speedup_core::value::{foreign::one_line, id::ExperimentId};

use crate::arguments::{Output, OutputArgument};
use crate::command::{print, print_json};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::results::bundle::archive::{self, Files};
use crate::results::bundle::contents::{self, OBSERVATIONS, REPORT, TABLE};
use crate::results::bundle::difference::{MOST_NAMED, differences};
use crate::results::bundle::manifest::{Manifest, RELEASE};

/// Recomputes the report of a bundle, and compares it byte for byte
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup verify locale.speedup.tar.gz\n\n\
    The exit code is 0 if the report is the same, 1 if it differs, and 2 if the file is not a bundle, is damaged, or \
    comes from a newer version. Nothing is written to disk.")]
pub(crate) struct Arguments {
    /// The bundle
    #[arg(value_name = "FILE")]
    bundle: PathBuf,
    #[command(flatten)]
    output: OutputArgument,
}

#[derive(Serialize)]
struct Verification {
    schema_version: u32,
    experiment: ExperimentId,
    name: String,
    /// The release that made the bundle, and this one.
    release: String,
    this_release: &'static str,
    /// Whether the report is the same, byte for byte.
    report_is_same: bool,
    /// Whether the table of the observations is.
    table_is_same: bool,
    /// Where the report differs; the first few places.
    differences: Vec<String>,
}

pub(crate) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let (manifest, files) = read(&arguments.bundle)?;
    let verified = verify(manifest, &files)
        .map_err(|failure| failure.context(format!("cannot verify {}", arguments.bundle.display())))?;
    if verified.release != RELEASE {
        console.talk(format_args!(
            "the bundle is of release {}, and this is {RELEASE}: a difference between the reports may come from \
                the releases",
            verified.release
        ));
    }
    match arguments.output.output {
        Output::Json => print_json(console, &verified)?,
        Output::Table => print(console, &verified.text())?,
    }
    Ok(if verified.report_is_same && verified.table_is_same { Exit::Done } else { Exit::Failed })
}

fn read(path: &Path) -> Result<(Manifest, Files), Failure> {
    let tried = || format!("cannot verify {}", path.display());
    let file = File::open(path).with_context(tried).map_err(Failure::usage)?;
    archive::read(BufReader::new(file)).map_err(|error| Failure::refused(error).context(tried()))
}

fn verify(manifest: Manifest, files: &Files) -> Result<Verification, Failure> {
    let file = |name: &str| {
        let lacks =
            || Failure::usage(anyhow!("its manifest lists no {name}")).hint("it is not a bundle of a report");
        files.get(name).ok_or_else(lacks)
    };
    let (before, table) = (file(REPORT)?, file(TABLE)?);
    let pieces = contents::decoded(file(OBSERVATIONS)?)?;
    let table_is_same = contents::table(&pieces)? == *table;
    let now = contents::report(manifest.experiment, manifest.report, pieces)?;
    let report_is_same = now.as_bytes() == before.as_slice();
    let found = if report_is_same { Vec::new() } else { places(before, &now)? };
    Ok(Verification {
        schema_version: manifest.schema_version,
        experiment: manifest.experiment,
        name: manifest.name,
        release: manifest.release,
        this_release: RELEASE,
        report_is_same,
        table_is_same,
        differences: found,
    })
}

fn places(before: &[u8], now: &str) -> Result<Vec<String>, Failure> {
    let json = |text: &[u8]| -> Result<Value, Failure> {
        serde_json::from_slice(text).with_context(|| format!("{REPORT} is no JSON")).map_err(Failure::usage)
    };
    let found = differences(&json(before)?, &json(now.as_bytes())?);
    Ok(found.iter().map(ToString::to_string).collect())
}

impl Verification {
    fn text(&self) -> String {
        let mut text = format!("{} ({}): the report ", self.name, self.experiment);
        if self.report_is_same {
            text += "is the same, byte for byte";
        } else if self.differences.is_empty() {
            text += "says the same in different bytes";
        } else {
            text += "differs:";
            self.differences.iter().for_each(|one| text += &format!("\n  {}", one_line(one)));
            if self.differences.len() == MOST_NAMED {
                text += "\n  and perhaps more";
            }
        }
        if !self.table_is_same {
            text += &format!("\n{TABLE} differs from what {OBSERVATIONS} gives");
        }
        text
    }
}
