//! The report of an export that is at hand, by the code that answers `Analysis.Report`.

use speedup_proto::v1;
use tonic::Status;

use crate::intake::Intake;
use crate::reporter::{Asked, report_of};

/// The JSON that `Analysis.Report` answers to `request` where the coordinator's export is `pieces`.
///
/// # Errors
/// The status that the door answers: for a request that cannot be meant, and for an export that is none.
pub fn recompute(
    request: v1::ReportRequest,
    pieces: impl IntoIterator<Item = v1::ExportChunk>,
) -> Result<String, Status> {
    let asked = Asked::try_from(request)?;
    let mut intake = Intake::new(asked.experiment);
    for piece in pieces {
        intake.take(piece)?;
    }
    Ok(report_of(&intake.into_study()?, asked)?.json)
}
