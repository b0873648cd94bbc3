//! What is against a run having found a fresh host.

use serde::{Deserialize, Serialize};

/// What is against a run having found a fresh host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// Its host had served in the scope before.
    HostUsed,
    /// Its hosts had served in the scope together before.
    SetUsed,
    /// Its host had not booted since it last served in the scope.
    NotRebooted,
    /// Its host sat in the allocation in which it last served in the scope.
    NotReallocated,
    /// Its host named no allocation, now or when it last served in the scope.
    NoAllocation,
    /// Its host had served a run of the experiment more recently than the plan allows.
    NotRested,
    /// A reading of its host was beyond the plan's bounds.
    BeyondBounds,
    /// A reading that the plan bounds is not there.
    NoReadings,
    /// The plan has it in another boot of its visit than the run before, and its host had not booted.
    BootKept,
}

impl Violation {
    /// What happened, in words after "the host".
    pub fn words(self) -> &'static str {
        match self {
            Self::HostUsed => "had served in the scope before",
            Self::SetUsed => "had served in the scope before, with the same others",
            Self::NotRebooted => "had not booted since it last served",
            Self::NotReallocated => "was in the same allocation as before",
            Self::NoAllocation => "named no allocation, now or before",
            Self::NotRested => "had not rested as long as asked",
            Self::BeyondBounds => "read beyond the bounds",
            Self::NoReadings => "gave no reading of what is bounded",
            Self::BootKept => "had not booted between the boots of a visit",
        }
    }
}
