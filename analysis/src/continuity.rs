//! Whether a normal approximation of a count is corrected for the count being whole.

use serde::Serialize;

/// The continuity correction of a normal approximation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuity {
    /// The count is moved by ½ toward its mean, never beyond: R's default.
    Corrected,
    /// The count is taken as it is.
    Uncorrected,
}
