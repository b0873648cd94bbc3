//! The status file: whether the analysis ended, and what was wrong if it did not.

use std::time::Duration;

use anyhow::Error;

/// The file of an analysis that ended.
pub(crate) fn ended(configuration: &str, elapsed: Duration) -> String {
    format!("The analysis of {configuration} ended.\nElapsed time: {:.3} s\n", elapsed.as_secs_f64())
}

/// The file of an analysis that was refused or failed.
pub(crate) fn failed(configuration: &str, error: &Error) -> String {
    format!(
        "The analysis of {configuration} failed.\nerror: {error:#}\n\
         The files beside this one, if there are any, are of an earlier analysis.\n"
    )
}
