//! How an experiment stands when its report is asked for.

use speedup_core::machine::event::Tally;
use speedup_core::value::id::ExperimentId;
use speedup_core::value::time::Timestamp;

/// How an experiment stands, as its coordinator says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyStanding {
    /// Which experiment.
    pub experiment: ExperimentId,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// Who submitted it.
    pub submitted_by: String,
    /// Whether its runs are still given out.
    pub phase: StudyPhase,
    /// How its runs stand.
    pub tally: Tally,
}

/// Whether runs are still given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StudyPhase {
    /// They are.
    Running,
    /// They would be, and no connected host can take any of them.
    WaitingForHosts,
    /// Not until someone resumes it.
    Paused {
        /// Why.
        reason: String,
    },
    /// All are settled, and the plan's rule has to say whether they are enough.
    Deciding,
    /// It was cancelled; runs under way end.
    Cancelling,
    /// All runs are settled.
    Finished {
        /// Since when.
        at: Timestamp,
        /// Whether it was cancelled.
        cancelled: bool,
    },
}
