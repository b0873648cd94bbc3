//! Whether the order of the runs tells anything: independent runs have none.
//!
//! * [`Autocorrelation`]: a run resembles the one before it;
//! * [`RunsTest`]: runs above and below the median come in series;
//! * [`Drift`]: the runs become slower or faster;
//! * [`FirstRunEffect`]: the first run differs from the rest.
//!
//! Each is valid for any distribution: its law is that of the same values in random order. A diagnostic that
//! rejects does not say that a verdict is wrong, only that its runs were not as independent as it assumes.

mod autocorrelation;
mod drift;
mod first_run;
mod regional_drift;
mod runs_test;

pub use autocorrelation::Autocorrelation;
pub use drift::Drift;
pub use first_run::FirstRunEffect;
pub use regional_drift::RegionalDrift;
pub use runs_test::RunsTest;
use serde::Serialize;
use thiserror::Error;

/// Why the order of runs says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunOrderError {
    #[error("this diagnostic needs at least {needed} runs, but has {runs}")]
    TooFew { runs: usize, needed: usize },
    /// All values are equal, or all but those at the median.
    #[error("the runs do not vary, so their order says nothing")]
    Constant,
}

speedup_core::hints! { RunOrderError:
    Self::TooFew { .. } => "plan more runs",
    Self::Constant => "use a finer clock or a longer run",
}
