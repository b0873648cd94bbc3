//! The earlier protocol of the Speedup-Test's authors (Touati 2009), as a named option.
//!
//! S. Touati, "Towards a statistical methodology to evaluate program speedups and their optimisation
//! techniques", 2009. Samples of at least 30 runs count as large; smaller ones must look normal (§2.1). A
//! speedup is conceded when the one-sided interval of the difference of the means, baseline less candidate,
//! lies above zero (§2.2, Welch's interval in its examples); it is then measured by the ratio of the means or
//! medians (§2.3). A suite is as sure as its least sure benchmark (§3).
//!
//! The later paper ([`crate::protocol::speedup_test::SpeedupTest`]) has superseded it: it tests variances, has a protocol for the
//! median, and calls more than 30 runs large.

use crate::inference::{Alternative, ConfidenceLevel, Interval, PValue, Side};
use crate::test::{ShapiroWilk, ShapiroWilkError, TTestError, WelchTTest};
use crate::{ratio::RatioError, ratio::mean::require_positive, sample::Sample};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// From this many runs on a sample needs no test of normality (Touati 2009 §2.1).
pub const EARLIER_LARGE_SAMPLE: usize = 30;

/// Two versions by the earlier protocol.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::protocol::{EarlierProtocol, NormalityReading};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?;
/// let candidate = Sample::new(vec![1.046, 0.259, 0.877, 1.244, 1.799])?;
/// // Touati 2009, examples 2.1 and 2.2: a speedup at 95 %, and none at 99 %.
/// let protocol = EarlierProtocol::new(&baseline, &candidate)?;
/// protocol.check_normality(ConfidenceLevel::USUAL, NormalityReading::NotRejected)?;
/// assert!(protocol.at(ConfidenceLevel::USUAL).accelerated);
/// assert!(!protocol.at(ConfidenceLevel::new(0.99)?).accelerated);
/// assert!((1.0 / protocol.median_speedup() - 0.5112414).abs() < 1e-7);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EarlierProtocol<'a> {
    baseline: &'a Sample,
    candidate: &'a Sample,
    difference: WelchTTest,
}

/// How a small sample is found normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormalityReading {
    /// Shapiro–Wilk does not reject: p above the risk.
    NotRejected,
    /// W reaches the tabled value at the confidence level itself, as in example 2.1: p at least the level.
    /// That asks for a shape more normal than most normal samples have.
    TabledAtLevel,
}

/// What the protocol says at a level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Acceleration {
    /// The one-sided interval of the difference of the means, in the unit of the observations.
    pub difference: Interval,
    /// Whether zero lies below it.
    pub accelerated: bool,
}

/// Why the protocol says nothing.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EarlierError {
    #[error("the means were not compared")]
    Means(#[from] TTestError),
    #[error("the speedups were not computed")]
    Ratio(#[from] RatioError),
    /// The normality of a small sample could not be tested.
    #[error("the normality of the {} was not tested", side.name())]
    Untested {
        side: Side,
        #[source]
        source: ShapiroWilkError,
    },
    #[error(
        "the {} has fewer than {EARLIER_LARGE_SAMPLE} runs and is not normal (p = {:.2e})",
        side.name(),
        p_value.get()
    )]
    NotNormal { side: Side, p_value: PValue },
}

speedup_core::hints! { EarlierError:
    Self::Means(error) => error.hint(),
    Self::Ratio(error) => error.hint(),
    Self::Untested { source, .. } => source.hint(),
    Self::NotNormal { .. } => "plan at least 30 runs",
}

impl<'a> EarlierProtocol<'a> {
    /// The method's full name.
    pub const NAME: &'static str = "earlier Speedup-Test protocol (Touati 2009)";

    /// Compares the times of `candidate` with those of `baseline`.
    ///
    /// # Errors
    /// [`EarlierError`] for times that are not positive, single runs, or essentially constant data.
    pub fn new(baseline: &'a Sample, candidate: &'a Sample) -> Result<Self, EarlierError> {
        require_positive(baseline, candidate)?;
        let difference = WelchTTest::new(baseline, candidate)?;
        Ok(Self { baseline, candidate, difference })
    }

    /// Step 1: whether small samples look normal at `level`.
    ///
    /// # Errors
    /// [`EarlierError::NotNormal`] if one does not, [`EarlierError::Untested`] if it cannot be tested.
    pub fn check_normality(
        &self,
        level: ConfidenceLevel,
        reading: NormalityReading,
    ) -> Result<(), EarlierError> {
        for (side, sample) in [(Side::Baseline, self.baseline), (Side::Candidate, self.candidate)] {
            if sample.len() >= EARLIER_LARGE_SAMPLE {
                continue;
            }
            let test = ShapiroWilk::new(sample).map_err(|source| EarlierError::Untested { side, source })?;
            let p_value = test.p_value();
            let normal = match reading {
                NormalityReading::NotRejected => !p_value.rejects_at(level.risk()),
                NormalityReading::TabledAtLevel => p_value.get() >= level.get(),
            };
            if !normal {
                return Err(EarlierError::NotNormal { side, p_value });
            }
        }
        Ok(())
    }

    /// Step 2: whether the candidate is faster in the mean, at `level`.
    pub fn at(&self, level: ConfidenceLevel) -> Acceleration {
        let difference = self.difference.interval(Alternative::Greater, level);
        Acceleration { accelerated: difference.lower > 0.0, difference }
    }

    /// Step 3: the ratio of the means, baseline over candidate.
    pub fn mean_speedup(&self) -> f64 {
        self.baseline.mean() / self.candidate.mean()
    }

    /// Step 3: the ratio of the medians, baseline over candidate, which the paper prefers.
    pub fn median_speedup(&self) -> f64 {
        self.baseline.median() / self.candidate.median()
    }
}
