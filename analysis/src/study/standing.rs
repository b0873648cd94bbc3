//! How an experiment stands when its report is asked for.

use speedup_core::{machine::event::Tally, value::id::ExperimentId, value::time::Timestamp};

/// How an experiment stands, as its coordinator says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyStanding {
    pub experiment: ExperimentId,
    /// When it was submitted.
    pub submitted: Timestamp,
    pub submitted_by: String,
    /// Whether its runs are still given out.
    pub phase: StudyPhase,
    /// How its runs stand.
    pub tally: Tally,
}

/// Whether runs are still given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StudyPhase {
    Running,
    /// They would be, and no connected host can take any of them.
    WaitingForHosts,
    /// Not until someone resumes it.
    Paused {
        reason: String,
    },
    /// All are settled, and the plan's rule has to say whether they are enough.
    Deciding,
    /// It was cancelled; runs under way end.
    Cancelling,
    /// All runs are settled.
    Finished {
        at: Timestamp,
        /// Whether it was cancelled.
        cancelled: bool,
    },
}
