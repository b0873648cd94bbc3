//! `speedup bundle`: everything that a report is from, in one file.

use std::{collections::BTreeSet, io::BufWriter, path::Path, path::PathBuf};

use anyhow::anyhow;
use clap::Args;
use prost::Message as _;
use speedup_core::value::id::{ExperimentId, HostId};
use speedup_proto::{convert::ExportPart, v1};
use speedup_statistics::inference::ConfidenceLevel;

use crate::arguments::fraction;
use crate::command::cluster::hosts;
use crate::connection::selector::{self, Selector};
use crate::connection::{Connection, SourceArguments};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::results::bundle::archive::{self, MAX_UNPACKED_BYTES};
use crate::results::bundle::contents::{self, ABOUT, HOSTS, OBSERVATIONS, README, REPORT, TABLE};
use crate::results::bundle::manifest::{Asked, Listed, Manifest, RELEASE, SCHEMA_VERSION};
use crate::{results::draft::Draft, results::report::ReportOptions};

/// Packs a report and everything it is computed from into one file
///
/// That is the plan, the observations with their evidence, the hosts, the seeds, the versions, and the report.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup bundle last -o locale.speedup.tar.gz\n  \
    speedup verify locale.speedup.tar.gz")]
pub(crate) struct Arguments {
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    experiment: Selector,
    #[command(flatten)]
    source: SourceArguments,
    /// The confidence level, such as 0.99, instead of the plan's
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, value_parser = fraction::confidence_level)]
    confidence: Option<ConfidenceLevel>,
    /// Also describe the clusters in the times of every cell
    #[arg(long)]
    mixtures: bool,
    /// Include the values and curves that plots are drawn from
    #[arg(long)]
    figures: bool,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let (connection, experiment) = arguments.source.find(&arguments.experiment).await?;
    let packed = async {
        let pieces = export(&connection, experiment).await?;
        let hosts = hosts::facts(&connection, &hosts_of(&pieces)?).await?;
        Ok((pieces, hosts))
    };
    let packed: Result<_, Failure> = packed.await;
    connection.close().await;
    let (pieces, hosts) = packed?;
    let wanted = ReportOptions {
        noise_threshold: None,
        confidence: arguments.confidence.map(ConfidenceLevel::get),
        mixtures: arguments.mixtures,
        figures: arguments.figures,
    };
    let (manifest, files) = pack(experiment, wanted.into(), pieces, hosts)?;
    write(&arguments.output, &manifest, &files)?;
    console.talk(format_args!("{} ({experiment}) is in {}", manifest.name, arguments.output.display()));
    Ok(Exit::Done)
}

async fn export(connection: &Connection, experiment: ExperimentId) -> Result<Vec<v1::ExportChunk>, Failure> {
    let tried = |status: tonic::Status| Failure::status("cannot read the attempts", &status);
    let mut stream = connection
        .experiments()
        .export(selector::export(experiment, true))
        .await
        .map_err(tried)?
        .into_inner();
    let mut pieces = Vec::new();
    let mut bytes = 0;
    while let Some(mut piece) = stream.message().await.map_err(tried)? {
        bytes += piece.encoded_len() as u64;
        // The table of them is about as large, and has to fit as well.
        if bytes > MAX_UNPACKED_BYTES / 2 {
            return Err(Failure::usage(anyhow!("the experiment has more observations than a bundle holds"))
                .hint("keep its observations by `speedup export last --format parquet`"));
        }
        // It says where an export goes on, and this one is whole.
        piece.cursor.clear();
        pieces.push(piece);
    }
    Ok(pieces)
}

fn hosts_of(pieces: &[v1::ExportChunk]) -> Result<BTreeSet<HostId>, Failure> {
    let mut hosts = BTreeSet::new();
    for part in contents::parts(pieces) {
        if let ExportPart::Attempts(attempts) = part? {
            for ended in attempts.read() {
                hosts.insert(ended.map_err(|error| contents::unreadable(error.into()))?.lease.host);
            }
        }
    }
    Ok(hosts)
}

type BundleParts = (Manifest, Vec<(&'static str, Vec<u8>)>);

fn pack(
    experiment: ExperimentId,
    asked: Asked,
    pieces: Vec<v1::ExportChunk>,
    hosts: Vec<u8>,
) -> Result<BundleParts, Failure> {
    let (_, plan) = contents::planned(&pieces)?;
    let (observations, table) = (contents::encoded(&pieces), contents::table(&pieces)?);
    // The report is of these observations, whatever the experiment has by now.
    let report = contents::report(experiment, asked, pieces)?.into_bytes();
    let files = vec![
        (README, ABOUT.as_bytes().to_vec()),
        (REPORT, report),
        (HOSTS, hosts),
        (OBSERVATIONS, observations),
        (TABLE, table),
    ];
    let bytes: usize = files.iter().map(|(_, content)| content.len()).sum();
    if bytes as u64 > MAX_UNPACKED_BYTES {
        return Err(Failure::usage(anyhow!(
            "the bundle would have {bytes} bytes, more than can be verified"
        ))
        .hint("keep the observations by `speedup export last --format parquet`"));
    }
    let manifest = Manifest {
        schema_version: SCHEMA_VERSION,
        release: RELEASE.to_owned(),
        experiment,
        name: plan.experiment.name.clone(),
        seed: plan.experiment.seed.0,
        report: asked,
        files: files.iter().map(|(name, content)| Listed::new(name, content)).collect(),
    };
    Ok((manifest, files))
}

/// Half a bundle must not look like a whole one.
fn write(path: &Path, manifest: &Manifest, files: &[(&str, Vec<u8>)]) -> Result<(), Failure> {
    let (file, draft) = Draft::begin(path)?;
    let written = archive::write(manifest, files, BufWriter::new(file));
    let written = written.map_err(|error| draft.refused(error));
    draft.end(written)
}
