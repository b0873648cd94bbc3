//! The files of a bundle, made of an export: the same pieces give the same bytes.

use anyhow::{Error, anyhow};
use prost::Message as _;
use speedup_core::{plan::Plan, value::id::ExperimentId};
use speedup_observations::{ExportForm, PagesError, RowForm, RowWriter, RunSheet};
use speedup_proto::{convert::ExperimentStatus, convert::ExportPart, convert::Malformed, v1};

use super::manifest::Asked;
use crate::{compose, exit::failure::Failure};

/// The export exactly: messages `speedup.v1.ExportChunk`, each after its length as a varint.
pub(crate) const OBSERVATIONS: &str = "observations.pb";
/// The same for people, as `speedup export` writes it.
pub(crate) const TABLE: &str = "observations.csv";
/// The facts of the hosts that had runs, as they were recorded.
pub(crate) const HOSTS: &str = "hosts.json";
pub(crate) const REPORT: &str = "report.json";
/// What a bundle is, for who finds one.
pub(crate) const README: &str = "README.txt";

/// What stands in [`README`].
pub(crate) const ABOUT: &str = "\
This is a bundle of Speedup: everything that one report is from.

manifest.json     what made it, what was asked of the report, and the BLAKE3 hash of every other file
observations.pb   plan, observations and their evidence: messages speedup.v1.ExportChunk, each after its length
observations.csv  the same as a table, one row per attempt
hosts.json        the facts of the hosts that had runs
report.json       the report

`speedup verify FILE` computes the report from observations.pb again and says whether it is the same, byte for byte.
";

pub(crate) fn encoded(pieces: &[v1::ExportChunk]) -> Vec<u8> {
    pieces.iter().flat_map(prost::Message::encode_length_delimited_to_vec).collect()
}

pub(crate) fn decoded(bytes: &[u8]) -> Result<Vec<v1::ExportChunk>, Failure> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        let piece = v1::ExportChunk::decode_length_delimited(&mut rest);
        pieces.push(piece.map_err(|error| unreadable(Error::new(error).context(format!("at byte {at}"))))?);
    }
    Ok(pieces)
}

/// The report of an export, as JSON.
pub(crate) fn report(
    experiment: ExperimentId,
    asked: Asked,
    pieces: Vec<v1::ExportChunk>,
) -> Result<String, Failure> {
    compose::recompute(asked.request(experiment), pieces)
        .map_err(|status| Failure::status("cannot compute the report", &status))
}

/// What the head of an export says of its experiment, and every planned run.
pub(crate) fn planned(pieces: &[v1::ExportChunk]) -> Result<(ExperimentStatus, Plan), Failure> {
    let mut head = None;
    let mut order = Vec::new();
    for part in parts(pieces) {
        match part? {
            ExportPart::Head { status, experiment, benchmarks, stages, exclusions: _ } => {
                head = Some((*status, *experiment, benchmarks, stages));
            }
            ExportPart::Order(piece) => order.extend(piece),
            ExportPart::Attempts(_) => break,
        }
    }
    let Some((status, experiment, benchmarks, stages)) = head else {
        return Err(unreadable(anyhow!("they have no head")));
    };
    let plan = Plan::restore(experiment, benchmarks, order, &stages);
    Ok((status, plan.map_err(|error| unreadable(error.into()))?))
}

pub(crate) fn table(pieces: &[v1::ExportChunk]) -> Result<Vec<u8>, Failure> {
    let (status, plan) = planned(pieces)?;
    let sheet = RunSheet::new(&status, &plan);
    let form = RowForm::new(ExportForm::Csv, &sheet);
    let mut bytes = Vec::new();
    let mut writer = RowWriter::new(&form, &mut bytes).map_err(unwritten)?;
    for part in parts(pieces) {
        if let ExportPart::Attempts(attempts) = part? {
            let page = form.page(attempts.read()).map_err(|error| match error {
                PagesError::Page(malformed) => unreadable(malformed.into()),
                PagesError::Write(error) => unwritten(error),
            })?;
            writer.page(page).map_err(unwritten)?;
        }
    }
    writer.end().map_err(unwritten)?;
    Ok(bytes)
}

fn unwritten(error: std::io::Error) -> Failure {
    Failure::infrastructure(Error::new(error).context("cannot write the table"))
}

/// The pieces one by one, so that never all of them are there twice.
pub(crate) fn parts(pieces: &[v1::ExportChunk]) -> impl Iterator<Item = Result<ExportPart, Failure>> {
    let part = |piece: &v1::ExportChunk| ExportPart::try_from(piece.clone());
    pieces.iter().map(move |piece| part(piece).map_err(|error: Malformed| unreadable(error.into())))
}

pub(crate) fn unreadable(error: Error) -> Failure {
    Failure::usage(error.context("the observations cannot be read"))
        .hint("get the bundle again, or use a newer release of speedup")
}
