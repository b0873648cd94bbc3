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
mod terms;
mod words;

pub use self::entry::{PointBlocks, TrackAcknowledgement, TrackEntry, TrackEntryState};
pub use self::history::{TrackHistory, TrackReportError};
pub use self::point_runs::PointRuns;
pub use self::report::{
    NoiseFloorReport, RatioReport, TRACK_SCHEMA_VERSION, TrackBenchmark, TrackCommit, TrackLevelReport,
    TrackPointReport, TrackReport, TrackStepReport,
};
pub use self::terms::TrackTerms;
