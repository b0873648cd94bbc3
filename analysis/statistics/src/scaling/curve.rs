//! Run times at each number of hosts.

use super::{ScalingEffect, ideal};
use crate::{ratio::MeanRatio, ratio::RatioError, sample::Sample};
use serde::Serialize;
use speedup_core::experiment::gang::ScalingLaw;
use thiserror::Error;

/// The most numbers of hosts: more than powers of two there are machines for.
const MOST_SCALING_POINTS: usize = 64;

/// The run times of a program on a number of hosts, in one unit for all numbers; runs are independent.
#[derive(Clone, Copy, Debug)]
pub struct ScalingPoint<'a> {
    /// On how many hosts each run was.
    pub hosts: u32,
    /// What the runs took.
    pub times: &'a Sample,
}

/// Why there is no curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ScalingError {
    #[error("scaling needs run times on two numbers of hosts or more, but there are {points}")]
    TooFewPoints { points: usize },
    /// More than 64.
    #[error(
        "scaling takes run times on at most {MOST_SCALING_POINTS} numbers of hosts, but there are {points}"
    )]
    TooManyPoints { points: usize },
    #[error("a program runs on one host or more, not on 0")]
    NoHosts,
    #[error("the numbers of hosts must ascend, but {hosts} comes after {previous}")]
    Order { hosts: u32, previous: u32 },
}

speedup_core::hints! { ScalingError:
    Self::TooFewPoints { .. } => "measure on another number of hosts, such as twice as many",
    Self::Order { .. } => "give each number of hosts once, the fewest first",
}

/// Run times on two or more numbers of hosts, the fewest first.
///
/// ```
/// use speedup_core::experiment::gang::ScalingLaw;
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::scaling::{ScalingCurve, ScalingPoint, SerialShare};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A tenth of the work is serial: 100 s on one host take 55 s on two, and 32.5 s on four.
/// let times = |mean: f64| Sample::new([0.98, 0.99, 1.0, 1.01, 1.02].map(|factor| factor * mean).to_vec());
/// let (one, two, four) = (times(100.0)?, times(55.0)?, times(32.5)?);
/// let points = [(1, &one), (2, &two), (4, &four)].map(|(hosts, times)| ScalingPoint { hosts, times });
/// let curve = ScalingCurve::new(ScalingLaw::Strong, &points)?;
///
/// let on_four = curve.effects().last().ok_or("there are two effects")?;
/// assert!((on_four.speedup()? - 3.077).abs() < 5e-4);
/// assert!((on_four.efficiency()? - 0.769).abs() < 5e-4);
/// let share = SerialShare::new(&curve)?;
/// assert!((share.estimate() - 0.1).abs() < 1e-12);
/// let interval = share.interval(ConfidenceLevel::USUAL);
/// assert!(interval.bounded().is_some_and(|interval| interval.lower > 0.08 && interval.upper < 0.12));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ScalingCurve<'a> {
    law: ScalingLaw,
    points: Vec<ScalingPoint<'a>>,
}

impl<'a> ScalingCurve<'a> {
    /// The curve of `points`, whose numbers of hosts ascend.
    ///
    /// # Errors
    /// [`ScalingError`] for fewer than two points, too many, and numbers of hosts that are zero or do not ascend.
    pub fn new(law: ScalingLaw, points: &[ScalingPoint<'a>]) -> Result<Self, ScalingError> {
        let hosts: Vec<u32> = points.iter().map(|point| point.hosts).collect();
        Self::check(&hosts).map(|()| Self { law, points: points.to_vec() })
    }

    /// Refuses numbers of hosts that make no curve.
    ///
    /// # Errors
    /// As [`ScalingCurve::new`].
    pub fn check(hosts: &[u32]) -> Result<(), ScalingError> {
        let points = hosts.len();
        match hosts {
            [] | [_] => return Err(ScalingError::TooFewPoints { points }),
            [0, ..] => return Err(ScalingError::NoHosts),
            _ if points > MOST_SCALING_POINTS => return Err(ScalingError::TooManyPoints { points }),
            _ => {}
        }
        match hosts.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(ScalingError::Order { hosts: pair[1], previous: pair[0] }),
            None => Ok(()),
        }
    }

    /// What happens to the problem.
    pub fn law(&self) -> ScalingLaw {
        self.law
    }

    /// The numbers of hosts with their run times, the fewest first.
    pub fn points(&self) -> &[ScalingPoint<'a>] {
        &self.points
    }

    /// k₁: all numbers are relative to this many hosts.
    pub(crate) fn fewest_hosts(&self) -> u32 {
        self.points[0].hosts
    }

    /// What each further number of hosts brings.
    pub fn effects(&self) -> impl ExactSizeIterator<Item = ScalingEffect> + Clone + '_ {
        self.points[1..].iter().map(|point| self.effect(point))
    }

    fn effect(&self, point: &ScalingPoint<'_>) -> ScalingEffect {
        let factor = self.factor(point);
        let family = self.points.len() - 1;
        let ratio: Result<MeanRatio, RatioError> = MeanRatio::new(self.points[0].times, point.times);
        ScalingEffect { hosts: point.hosts, factor, ideal: ideal(self.law, factor), family, ratio }
    }

    /// p = k/k₁.
    pub(super) fn factor(&self, point: &ScalingPoint<'_>) -> f64 {
        f64::from(point.hosts) / f64::from(self.fewest_hosts())
    }
}
