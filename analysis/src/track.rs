//! What a track says: the commits of a branch, each measured beside references that stay, point after point.
//!
//! In reading order:
//! * [`TrackTerms`]: what is declared before the first point;
//! * [`PointRuns`]: from the attempts of an experiment to a [`TrackEntry`], one for each experiment;
//! * [`TrackHistory`]: all of it, with what was acknowledged, and [`TrackReport`]: what that says.

mod entry;
mod history;
mod point_runs;
mod report;
#[cfg(test)]
mod tests;
mod words;

pub use self::entry::{PointBlocks, TrackAcknowledgement, TrackEntry, TrackEntryState, TrackTerms};
use self::report::TrackStanding;
pub use self::{
    history::TrackHistory, history::TrackReportError, point_runs::PointRuns, report::NoiseFloorReport,
    report::RatioReport, report::TRACK_SCHEMA_VERSION, report::TrackBenchmark, report::TrackCommit,
    report::TrackLevelReport, report::TrackPointReport, report::TrackReport, report::TrackStepReport,
};
