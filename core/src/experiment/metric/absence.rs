//! Why a metric that was wanted has no value: said as what it was, so that nobody takes it for zero.

use serde::{Deserialize, Serialize};

/// Most bytes of what the host said when it could not be read; longer texts are cut where they enter.
pub const MAX_ABSENCE_BYTES: usize = 200;

/// Why a metric that was wanted has no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// The host has no such counter, or no interface that knows it.
    Unsupported,
    /// The host has it, and the agent may not use it.
    NotPermitted,
    /// It is not above what the agent itself uses, which the kernel counts as the program's.
    BelowFloor,
    /// The host's counters had to take turns: what was counted is a part, and the whole would be a guess.
    Multiplexed,
    /// The counter was there and never counted.
    NotCounted,
    /// The run lasted so long that the counter may have begun anew more than once.
    Wrapped,
    /// Reading it failed.
    Unreadable {
        /// What was tried, and what the host said.
        reason: String,
    },
}

impl Absence {
    /// Its code name in exports and reports.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::NotPermitted => "not_permitted",
            Self::BelowFloor => "below_floor",
            Self::Multiplexed => "multiplexed",
            Self::NotCounted => "not_counted",
            Self::Wrapped => "wrapped",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// It in words, as they follow a colon.
    pub fn words(&self) -> String {
        match self {
            Self::Unsupported => "the host has no such counter".to_owned(),
            Self::NotPermitted => "the agent is not permitted to read it".to_owned(),
            Self::BelowFloor => "not above the agent's own".to_owned(),
            Self::Multiplexed => "the counters had to take turns; collect fewer of them at once".to_owned(),
            Self::NotCounted => "the host's counter did not count".to_owned(),
            Self::Wrapped => "the run was too long for the host's counter".to_owned(),
            Self::Unreadable { reason } => format!("it could not be read: {reason}"),
        }
    }
}
