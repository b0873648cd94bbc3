//! What the experiment shows so far: the analysis' reports as they come.

use std::time::Duration;

use speedup_core::value::id::ExperimentId;
use speedup_proto::{convert::id_text, v1};
use speedup_report::{Document, document::Element, document::Tone};
use tokio::sync::mpsc::Sender;
use tonic::{Code, Status};

use crate::{connection::Connection, results::report::ParsedReport};

/// Rows of a table that are shown: who wants more of a hundred thousand benchmarks asks for the report.
const ROWS: usize = 500;
/// How long it takes until a stream that broke off is asked for again.
const PAUSE: Duration = Duration::from_secs(5);

/// What is known of the results.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Estimates {
    /// The first report is being computed.
    Awaited,
    /// The latest report, in brief.
    Known(Box<Document>),
    /// There is none, and why.
    Unknown(String),
}

/// Sends what the experiment shows, now and whenever that changes.
pub(super) async fn ask(connection: &Connection, experiment: ExperimentId, to: Sender<Estimates>) {
    loop {
        match follow(connection, experiment, &to).await {
            Ok(()) => return,
            Err(status) => {
                let again = !matches!(
                    status.code(),
                    Code::Unimplemented | Code::PermissionDenied | Code::Unauthenticated
                );
                let told = Estimates::Unknown(format!("There are no estimates: {}", first_line(&status)));
                if to.send(told).await.is_err() || !again {
                    return;
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow(
    connection: &Connection,
    experiment: ExperimentId,
    to: &Sender<Estimates>,
) -> Result<(), Status> {
    let request = v1::ReportRequest { experiment: id_text(experiment.0), ..Default::default() };
    let mut reports = connection.analysis().watch(request).await?.into_inner();
    while let Some(v1::ReportResponse { json, .. }) = reports.message().await? {
        // A report may have a hundred thousand benchmarks: it is read apart from the keys.
        let read = tokio::task::spawn_blocking(move || estimates(&json)).await;
        let told = read.unwrap_or_else(|_| Estimates::Unknown("The report cannot be read.".to_owned()));
        if to.send(told).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

fn estimates(json: &str) -> Estimates {
    match ParsedReport::parse(json) {
        Ok(ParsedReport::Known(report)) => Estimates::Known(Box::new(shortened(Document::brief(&report)))),
        Ok(ParsedReport::Newer) => {
            Estimates::Unknown("The report has a newer schema than this command knows.".to_owned())
        }
        Err(error) => Estimates::Unknown(format!("The report cannot be read: {error}")),
    }
}

/// The document with the first rows of its tables.
fn shortened(mut document: Document) -> Document {
    for section in &mut document.sections {
        let mut left_out = 0;
        for block in &mut section.blocks {
            if let Element::Table(table) = block {
                left_out += table.rows.len().saturating_sub(ROWS);
                table.rows.truncate(ROWS);
            }
        }
        if left_out > 0 {
            let text = format!("and {left_out} more; `speedup report` has all");
            section.blocks.push(Element::Paragraph { text, tone: Tone::Plain });
        }
    }
    document
}

fn first_line(status: &Status) -> &str {
    status.message().lines().next().unwrap_or("the analysis does not answer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_told() {
        let told = |json| match estimates(json) {
            Estimates::Unknown(words) => words,
            other => panic!("{other:?}"),
        };
        assert!(told("{").contains("cannot be read"));
        assert!(told(r#"{"schema_version":4000000000}"#).contains("newer"));
    }
}
