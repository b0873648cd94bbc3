//! Two stages with a valid level: a pilot, then as many runs as its spread demands.
//!
//! Stein (Annals of Mathematical Statistics 16, 1945): the pilot's variance is independent of the mean of all runs,
//! so that the t interval with the *pilot's* variance and degrees of freedom, but the mean of *all* runs, has its
//! level whatever number of runs the pilot asked for. The half-width must be fixed before the pilot; for a relative
//! one, compare the logarithms of times: their difference is the logarithm of the speedup of geometric means.
//!
//! A stall that the pilot did not have spoils both: the variance is too small, and the mean moves. Trimmed means with
//! winsorised variances (Yuen, Biometrika 61, 1974) bear stalls that are rarer than what is trimmed.

use crate::inference::{ConfidenceLevel, Interval};
use crate::{distribution::Tails, distribution::fisher_f, distribution::student_t};
use crate::{ratio::TrimShare, sample::Sample};
use serde::Serialize;
use thiserror::Error;

/// An experiment in two stages, after its pilot: of one sample its mean is estimated, of two the first mean less the second.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::planning::two_stage::TwoStage;
/// use speedup_statistics::{ratio::TrimShare, sample::Sample};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A pilot with the standard deviation 1; the mean is to be known to within 1.
/// let pilot = Sample::new(vec![9.0, 11.0, 10.0])?;
/// let plan = TwoStage::new(&[&pilot], TrimShare::NONE, 1.0, ConfidenceLevel::USUAL)?;
/// // (4.303·1/1)² = 18.5, of which three runs are made.
/// assert_eq!((plan.runs(), plan.further_runs()), (19, 16));
/// let all = Sample::new([vec![9.0, 11.0, 10.0], vec![10.0; 16]].concat())?;
/// let interval = plan.interval(&[&all]);
/// assert!(interval.lower >= 9.0 && interval.upper <= 11.0);
/// assert!(!plan.is_unsteady(&[&all]));
///
/// // Logarithms of times; each version had one stall among ten runs.
/// let logs = |stall: f64| Sample::new([vec![stall], (1..10).map(|run| f64::from(run) / 100.0).collect()].concat());
/// let pilots = [&logs(0.7)?, &logs(0.9)?];
/// let trimmed = TwoStage::new(&pilots, TrimShare::USUAL, 0.02, ConfidenceLevel::USUAL)?;
/// let by_means = TwoStage::new(&pilots, TrimShare::NONE, 0.02, ConfidenceLevel::USUAL)?;
/// assert!(trimmed.runs() < 50 && by_means.runs() > 1_000);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwoStage {
    /// How many samples there are.
    samples: usize,
    trim: TrimShare,
    pilot_runs: usize,
    pilot: Spread,
    half_width: f64,
    level: ConfidenceLevel,
    runs: u64,
}

/// The spread of a pilot, or of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Spread {
    /// √n times the error of a mean of n observations, in their unit.
    sd: f64,
    df: f64,
}

/// Why an experiment in two stages is refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum TwoStageError {
    #[error("a pilot needs at least 2 runs of each version, and one has {runs}")]
    SmallPilot { runs: usize },
    #[error("the pilot's runs do not vary")]
    Constant,
    /// A half-width that is not a positive number.
    #[error("a half-width must be positive and finite, not {0}")]
    HalfWidth(f64),
    #[error("the half-width needs {runs:e} runs")]
    TooMany { runs: f64 },
}

speedup_core::hints! { TwoStageError:
    Self::SmallPilot { .. } => "make a larger pilot",
    Self::Constant => "use a finer clock or a longer run",
    Self::TooMany { .. } => "ask for a wider interval, or make a larger pilot",
}

/// The share of pilots that are doubted in vain where nothing changes after them.
const RISK_OF_DOUBT: f64 = 0.01;
/// A plan of more runs than this is a mistake.
const MOST_RUNS: f64 = 1e12;

impl TwoStage {
    /// The method's full name.
    pub const NAME: &'static str = "Stein's two-stage interval";

    /// What is estimated of one or two samples that begin with `pilots`, to within `half_width` in the unit of the observations. The
    /// second stage adds the same number of runs to both; lost runs may have left pilots of different sizes.
    ///
    /// Without a `trim` it is of means, which are normal with one variance: their degrees of freedom add up. Trimmed means need not vary
    /// alike, so their degrees of freedom are one fewer than the observations that are left of the smaller pilot.
    ///
    /// # Errors
    /// [`TwoStageError`] for pilots without spread, and half-widths out of range or of absurd cost.
    pub fn new(
        pilots: &[&Sample],
        trim: TrimShare,
        half_width: f64,
        level: ConfidenceLevel,
    ) -> Result<Self, TwoStageError> {
        let pilot_runs = fewest(pilots);
        if pilot_runs < 2 {
            return Err(TwoStageError::SmallPilot { runs: pilot_runs });
        }
        let pilot = Spread::new(pilots, trim);
        check_spread(pilots, pilot.sd)?;
        if !(half_width > 0.0 && half_width.is_finite()) {
            return Err(TwoStageError::HalfWidth(half_width));
        }
        let t = student_t::two_sided_critical(level.risk().get(), pilot.df);
        let needed = pilots.len() as f64 * (t * pilot.sd / half_width).powi(2);
        if needed.is_nan() || needed > MOST_RUNS {
            return Err(TwoStageError::TooMany { runs: needed });
        }
        let runs = (needed.ceil() as u64).max(pilot_runs as u64);
        Ok(Self { samples: pilots.len(), trim, pilot_runs, pilot, half_width, level, runs })
    }

    /// The runs of each version that both stages have together: max(n₀, ⌈s·(t₍df₎ s₀/d)²⌉), s samples.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The runs of each version that the second stage adds; zero when the pilot is enough.
    pub fn further_runs(&self) -> u64 {
        self.runs - self.pilot_runs as u64
    }

    /// The interval from `all` runs that there are, those of the pilot first: at the level of the plan, for the number of runs depends on
    /// the pilot's spread alone, and wider than planned where the second stage is short.
    pub fn interval(&self, all: &[&Sample]) -> Interval {
        let t = student_t::quantile(Tails::from_upper(self.level.risk().get() / 2.0), self.pilot.df);
        let share: f64 = all.iter().map(|sample| 1.0 / sample.len() as f64).sum();
        // Rounding may leave a complete second stage a little wider than was asked for.
        let is_short = (fewest(all) as u64) < self.runs;
        let most = if is_short { f64::INFINITY } else { self.half_width };
        let half_width = (t * self.pilot.sd * share.sqrt()).min(most);
        let estimate = self.estimate(all);
        Interval {
            method: Self::NAME,
            lower: estimate - half_width,
            upper: estimate + half_width,
            level: self.level,
            caveats: Vec::new(),
        }
    }

    /// Whether all runs vary more than the pilot did, by the F law of their variances at a risk of 1 %: stalls or a drift came after the
    /// pilot, whose variance is then too small for the interval.
    pub fn is_unsteady(&self, all: &[&Sample]) -> bool {
        let Spread { sd, df } = Spread::new(all, self.trim);
        fisher_f::tails((sd / self.pilot.sd).powi(2), df, self.pilot.df).upper <= RISK_OF_DOUBT
    }

    fn estimate(&self, all: &[&Sample]) -> f64 {
        match all {
            [first, second] if self.trim == TrimShare::NONE => first.mean_minus_mean_of(second),
            _ => {
                let estimates = self.trim.estimates(all);
                estimates[0].value - estimates.get(1).map_or(0.0, |second| second.value)
            }
        }
    }
}

impl Spread {
    /// Of the means of samples of one variance, or of trimmed means.
    fn new(samples: &[&Sample], trim: TrimShare) -> Self {
        let mut variance = 0.0;
        let mut all_df = 0.0;
        let mut least_df = f64::INFINITY;
        for sample in samples {
            let estimate = trim.estimates(&[sample])[0];
            let df = estimate.left - 1.0;
            let share = if trim == TrimShare::NONE { df } else { 1.0 };
            variance += share * estimate.squared_error * sample.len() as f64;
            all_df += df;
            least_df = least_df.min(df);
        }
        if trim == TrimShare::NONE {
            Self { sd: (variance / all_df).sqrt(), df: all_df }
        } else {
            Self { sd: (variance / samples.len() as f64).sqrt(), df: least_df }
        }
    }
}

fn fewest(samples: &[&Sample]) -> usize {
    samples.iter().map(|sample| sample.len()).min().unwrap_or(0)
}

/// Refuses spreads that the rounding of the observations made, by the bound of R's `t.test`.
fn check_spread(pilots: &[&Sample], sd: f64) -> Result<(), TwoStageError> {
    let magnitude = pilots.iter().map(|pilot| pilot.mean().abs()).fold(0.0, f64::max);
    let runs = pilots.iter().map(|pilot| pilot.len()).max().unwrap_or(1) as f64;
    let error = sd / runs.sqrt();
    if error > 0.0 && error >= 10.0 * f64::EPSILON * magnitude && error.is_finite() {
        Ok(())
    } else {
        Err(TwoStageError::Constant)
    }
}
