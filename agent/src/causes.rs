//! An error in one line: what was tried, and each cause behind it.

use std::error::Error;
use std::iter::successors;

/// The error and its causes, the outermost first.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    successors(error.source(), |&cause| cause.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
