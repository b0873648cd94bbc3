//! What every conclusion is told with, whether of an experiment or of plain samples: verdicts, why there is none, and what must
//! be known beside them.
//!
//! In reading order:
//! * [`Verdict`], of a [`Protocol`] or of a headline, and the [`Direction`] of what was observed;
//! * [`Reason`]: why there is no answer, named by a [`ReasonCode`];
//! * [`Warning`]: a caveat with the benchmarks that it concerns, named by a [`WarningCode`];
//! * [`Word`]: what a report writes as one word, of this release or of another.

mod reason;
mod verdict;
mod warning;
mod word;

pub use self::verdict::{Direction, EndpointVerdict, Protocol, Verdict};
pub use self::warning::{Warning, WarningCode};
pub(crate) use self::warning::{Warnings, listed};
pub use self::{reason::Reason, reason::ReasonCode, word::ReportWord, word::Word};
