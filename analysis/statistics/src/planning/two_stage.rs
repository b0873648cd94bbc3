//! Two stages with a valid level: a pilot, then as many runs as its spread demands.
//!
//! Stein (Annals of Mathematical Statistics 16, 1945): the pilot's variance is independent of the mean of all runs,
//! so that the t interval with the *pilot's* variance and degrees of freedom, but the mean of *all* runs, has its
//! level whatever number of runs the pilot asked for. The half-width must be fixed before the pilot; for a relative
//! one, compare the logarithms of times: their difference is the logarithm of the speedup of geometric means.

use crate::inference::{Alternative, ConfidenceLevel, Interval, PValue};
use crate::{distribution::Tails, distribution::student_t, sample::Sample};
use serde::Serialize;
use thiserror::Error;

/// An experiment of normal observations in two stages, after its pilot.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::planning::two_stage::TwoStage;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A pilot with the standard deviation 1; the mean is to be known to within 1.
/// let plan = TwoStage::of_mean(&Sample::new(vec![9.0, 11.0, 10.0])?, 1.0, ConfidenceLevel::USUAL)?;
/// // (4.303·1/1)² = 18.5, of which three runs are made.
/// assert_eq!((plan.runs(), plan.further_runs()), (19, 16));
/// let all = [vec![9.0, 11.0, 10.0], vec![10.0; 16]].concat();
/// let interval = plan.interval(&Sample::new(all)?)?;
/// assert!(interval.lower >= 9.0 && interval.upper <= 11.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwoStage {
    estimated: Estimated,
    pilot_runs: usize,
    /// Of the pilot, in the unit of the observations.
    pilot_sd: f64,
    df: f64,
    half_width: f64,
    level: ConfidenceLevel,
    runs: u64,
}

/// What an experiment in two stages estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimated {
    /// The mean of one sample.
    Mean,
    /// The difference of the means of two samples of one size and one variance.
    Difference,
}

/// Why an experiment in two stages is refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum TwoStageError {
    #[error("a pilot needs at least 2 runs of each version, and one has {runs}")]
    SmallPilot { runs: usize },
    #[error("both versions need the same number of pilot runs, and these have {n} and {m}")]
    UnequalPilots { n: usize, m: usize },
    #[error("the pilot's runs do not vary")]
    Constant,
    /// A half-width that is not a positive number.
    #[error("a half-width must be positive and finite, not {0}")]
    HalfWidth(f64),
    #[error("the half-width needs {runs:e} runs")]
    TooMany { runs: f64 },
    /// The second stage is not complete, so the interval has no level yet.
    #[error("the second stage needs {needed} runs of each version, but there are {runs}")]
    Incomplete { needed: u64, runs: usize },
}

speedup_core::hints! { TwoStageError:
    Self::SmallPilot { .. } => "make a larger pilot",
    Self::Constant => "use a finer clock or a longer run",
    Self::TooMany { .. } => "ask for a wider interval, or make a larger pilot",
    Self::Incomplete { .. } => "make the rest",
}

/// A plan of more runs than this is a mistake.
const MOST_RUNS: f64 = 1e12;

impl TwoStage {
    /// The method's full name.
    pub const NAME: &'static str = "Stein's two-stage interval";

    /// The mean of the sample that begins with `pilot`, to within `half_width` in the unit of the observations.
    ///
    /// # Errors
    /// [`TwoStageError`] for pilots without spread, and half-widths out of range or of absurd cost.
    pub fn of_mean(pilot: &Sample, half_width: f64, level: ConfidenceLevel) -> Result<Self, TwoStageError> {
        let variance = pilot.variance().ok_or(TwoStageError::SmallPilot { runs: pilot.len() })?;
        check_spread(&[pilot], variance)?;
        let df = (pilot.len() - 1) as f64;
        Self::new(Estimated::Mean, pilot.len(), (variance.sqrt(), df), half_width, level)
    }

    /// The mean of the first less that of the second, to within `half_width`; the pilots have one size, and the
    /// second stage adds the same number of runs to both.
    ///
    /// # Errors
    /// [`TwoStageError`] for pilots of different sizes or without spread, and half-widths out of range or of absurd
    /// cost.
    pub fn of_difference(
        first: &Sample,
        second: &Sample,
        half_width: f64,
        level: ConfidenceLevel,
    ) -> Result<Self, TwoStageError> {
        if first.len() != second.len() {
            return Err(TwoStageError::UnequalPilots { n: first.len(), m: second.len() });
        }
        Self::of_difference_with_losses(first, second, half_width, level)
    }

    /// As [`TwoStage::of_difference`], where lost runs may have left pilots of different sizes: the variance is pooled
    /// by the degrees of freedom, n + m − 2 in all, which is independent of both means as well.
    ///
    /// # Errors
    /// [`TwoStageError`] for pilots without spread, and half-widths out of range or of absurd cost.
    pub fn of_difference_with_losses(
        first: &Sample,
        second: &Sample,
        half_width: f64,
        level: ConfidenceLevel,
    ) -> Result<Self, TwoStageError> {
        let (n, m) = (first.len(), second.len());
        let (Some(v1), Some(v2)) = (first.variance(), second.variance()) else {
            return Err(TwoStageError::SmallPilot { runs: n.min(m) });
        };
        let df = (n + m - 2) as f64;
        // Shares, so that one half of each is what equal pilots have.
        let share = (n - 1) as f64 / df;
        let pooled = v1 * share + v2 * (1.0 - share);
        check_spread(&[first, second], pooled)?;
        Self::new(Estimated::Difference, n.min(m), (pooled.sqrt(), df), half_width, level)
    }

    fn new(
        estimated: Estimated,
        pilot_runs: usize,
        (pilot_sd, df): (f64, f64),
        half_width: f64,
        level: ConfidenceLevel,
    ) -> Result<Self, TwoStageError> {
        if !(half_width > 0.0 && half_width.is_finite()) {
            return Err(TwoStageError::HalfWidth(half_width));
        }
        let t = student_t::two_sided_critical(level.risk().get(), df);
        let needed = estimated.samples() * (t * pilot_sd / half_width).powi(2);
        if needed.is_nan() || needed > MOST_RUNS {
            return Err(TwoStageError::TooMany { runs: needed });
        }
        let runs = (needed.ceil() as u64).max(pilot_runs as u64);
        Ok(Self { estimated, pilot_runs, pilot_sd, df, half_width, level, runs })
    }

    /// The runs of each version that both stages have together: max(n₀, ⌈s·(t₍df₎ s₀/d)²⌉), s samples.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The runs of each version that the second stage adds; zero when the pilot is enough.
    pub fn further_runs(&self) -> u64 {
        self.runs - self.pilot_runs as u64
    }

    /// The interval of the mean from `all` runs, those of the pilot first, at the level of the plan.
    ///
    /// # Errors
    /// [`TwoStageError::Incomplete`] before the second stage is over.
    pub fn interval(&self, all: &Sample) -> Result<Interval, TwoStageError> {
        self.check_complete(all)?;
        Ok(self.around(all.mean(), all.len()))
    }

    /// The interval of the difference from all runs of both versions.
    ///
    /// # Errors
    /// [`TwoStageError`] before the second stage is over, or for samples of different sizes.
    pub fn interval_of_difference(&self, first: &Sample, second: &Sample) -> Result<Interval, TwoStageError> {
        if first.len() != second.len() {
            return Err(TwoStageError::UnequalPilots { n: first.len(), m: second.len() });
        }
        self.check_complete(first)?;
        Ok(self.around(first.mean_minus_mean_of(second), first.len()))
    }

    /// The interval of the mean from whatever runs there are, those of the pilot first: at the level of the plan, and
    /// wider than planned where the second stage is short of runs.
    pub fn interval_at_hand(&self, all: &Sample) -> Interval {
        self.around_with(all.mean(), self.standard_error(all.len()), (all.len() as u64) < self.runs)
    }

    /// The interval of the difference from whatever runs of both versions there are: at the level of the plan, for the
    /// number of runs depends on the pilot's spread alone, and wider than planned where the second stage is short.
    pub fn interval_of_difference_at_hand(&self, first: &Sample, second: &Sample) -> Interval {
        let (n, m) = (first.len(), second.len());
        let error = self.pilot_sd * (1.0 / n as f64 + 1.0 / m as f64).sqrt();
        self.around_with(first.mean_minus_mean_of(second), error, (n.min(m) as u64) < self.runs)
    }

    /// Half the width that was planned, in the unit of the observations.
    pub fn half_width(&self) -> f64 {
        self.half_width
    }

    /// The p-value of the estimate being `hypothesis`, from an `estimate` over `runs` runs of each version.
    ///
    /// # Errors
    /// [`TwoStageError::Incomplete`] before the second stage is over.
    pub fn p_value(
        &self,
        estimate: f64,
        runs: usize,
        hypothesis: f64,
        alternative: Alternative,
    ) -> Result<PValue, TwoStageError> {
        if (runs as u64) < self.runs {
            return Err(TwoStageError::Incomplete { needed: self.runs, runs });
        }
        let tails = student_t::tails((estimate - hypothesis) / self.standard_error(runs), self.df);
        Ok(alternative.p_value(tails.lower, tails.upper))
    }

    fn check_complete(&self, all: &Sample) -> Result<(), TwoStageError> {
        if (all.len() as u64) < self.runs {
            return Err(TwoStageError::Incomplete { needed: self.runs, runs: all.len() });
        }
        Ok(())
    }

    fn standard_error(&self, runs: usize) -> f64 {
        self.pilot_sd * (self.estimated.samples() / runs as f64).sqrt()
    }

    fn around(&self, estimate: f64, runs: usize) -> Interval {
        self.around_with(estimate, self.standard_error(runs), false)
    }

    fn around_with(&self, estimate: f64, standard_error: f64, is_short: bool) -> Interval {
        let t = student_t::quantile(Tails::from_upper(self.level.risk().get() / 2.0), self.df);
        // Rounding may leave a complete second stage a little wider than was asked for.
        let most = if is_short { f64::INFINITY } else { self.half_width };
        let half_width = (t * standard_error).min(most);
        Interval {
            method: Self::NAME,
            lower: estimate - half_width,
            upper: estimate + half_width,
            level: self.level,
            caveats: Vec::new(),
        }
    }
}

impl Estimated {
    fn samples(self) -> f64 {
        match self {
            Self::Mean => 1.0,
            Self::Difference => 2.0,
        }
    }
}

/// Refuses spreads that the rounding of the observations made, by the bound of R's `t.test`.
fn check_spread(pilots: &[&Sample], variance: f64) -> Result<(), TwoStageError> {
    let magnitude = pilots.iter().map(|pilot| pilot.mean().abs()).fold(0.0, f64::max);
    let runs = pilots.iter().map(|pilot| pilot.len()).max().unwrap_or(1) as f64;
    let error = (variance / runs).sqrt();
    if error > 0.0 && error >= 10.0 * f64::EPSILON * magnitude && error.is_finite() {
        Ok(())
    } else {
        Err(TwoStageError::Constant)
    }
}
