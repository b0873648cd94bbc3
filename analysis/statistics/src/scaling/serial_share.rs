//! The serial share of the work, from the times on all numbers of hosts.
//!
//! If a share f of the work is serial, the mean time in the ideal time is a line in the number of hosts: `T/ideal = T₁(1 + f(p − 1))`, with p = k/k₁. The line
//! is fitted to the means by weighted least squares, with the inverses of their squared standard errors as weights; f is slope over intercept.
//!
//! The weights are estimated, each from a few runs. So the covariance of intercept and slope is corrected for that (M. G. Kenward and J. H. Roger, Small sample inference for
//! fixed effects from restricted maximum likelihood, Biometrics 53, 1997, eq. 3; for a common mean this is Meier's, Biometrics 9, 1953), the degrees of freedom are Satterthwaite's at the estimate, and the
//! interval is Fieller's with correlated errors. Whether the points lie on a line is asked of the weighted sum of squared residuals, whose law with estimated weights is that of a multiple of F
//! (S. Johansen, The Welch–James approximation to the distribution of the residual sum of squares in a weighted linear regression, Biometrika 67, 1980); χ² would reject too often,
//! in simulations at a risk of 5 % in 9 % of curves of four points with 10 runs each, and in 12 % with eight points.

use super::{ScalingCurve, ScalingPoint, ideal};
use crate::inference::{Alternative, ConfidenceLevel, Interval, PValue, RatioInterval};
use crate::ratio::{fieller, fieller::Estimate, fieller::unit_of};
use crate::{distribution::fisher_f, distribution::student_t, number::rounding::CompensatedSum};
use serde::Serialize;
use thiserror::Error;

/// The fewest runs of a point for a serial share: with fewer, the weights are so uncertain that neither interval nor test keeps its level (with 3 runs at 8 points
/// the interval covers 87 % instead of 95 %).
pub const FEWEST_RUNS_OF_A_SHARE: usize = 5;

/// Why there is no serial share.
#[derive(Clone, Copy, Debug, PartialEq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SerialShareError {
    #[error(
        "a serial share needs at least {FEWEST_RUNS_OF_A_SHARE} runs at each number of hosts, but there are {runs} at {hosts}"
    )]
    TooFew { hosts: u32, runs: usize },
    #[error("a serial share is of positive times, and the runs at {hosts} hosts have {value}")]
    NotPositive {
        hosts: u32,
        /// Its smallest time.
        value: f64,
    },
    /// Runs that took the same time, so that the point has no weight.
    #[error(
        "all runs at {hosts} hosts took the same time but for rounding, so the error of their mean is not known"
    )]
    Constant { hosts: u32 },
}

speedup_core::hints! { SerialShareError:
    Self::TooFew { .. } => "plan more runs",
    Self::Constant { .. } => "use a finer clock or a longer run",
}

/// A share of the work that no host shares with another, by all points of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct SerialShare {
    /// The fitted time on the fewest hosts, in [`SerialShare::unit`]s, and its squared error.
    intercept: Estimate,
    /// What the time in the ideal time grows by, for each k₁ further hosts.
    slope: Estimate,
    covariance: f64,
    df: f64,
    unit: f64,
    lack_of_fit: Option<LackOfFit>,
}

/// The test that the points lie on a line, as a constant serial share has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    statistic: f64,
    df: [f64; 2],
}

impl SerialShare {
    /// The method's full name.
    pub const NAME: &'static str = "serial share by weighted least squares, Fieller interval (Kenward–Roger errors, Satterthwaite degrees of freedom)";

    /// The serial share of `curve`. Two points determine it; three or more can contradict it.
    ///
    /// # Errors
    /// [`SerialShareError`] for a point with too few runs, none that vary, or times that are not positive.
    pub fn new(curve: &ScalingCurve<'_>) -> Result<Self, SerialShareError> {
        let unit = unit_of(curve.points()[0].times.mean());
        let points = curve.points().iter().map(|point| Point::new(curve, point, unit));
        let points: Vec<Point> = points.collect::<Result<_, _>>()?;
        let line = Line::new(&points);
        let over = |of: &dyn Fn(&Point, [f64; 2]) -> f64| {
            CompensatedSum::sum(points.iter().zip(&line.coefficients).map(|(point, by)| of(point, *by)))
        };
        // What the corrected error of a point's mean counts for, its leverage being by[0] + by[1]·at.
        let corrected = |point: &Point, by: [f64; 2]| {
            point.squared_error * (1.0 + 4.0 * (1.0 - point.leverage(by)) / point.df)
        };
        let squared_error = |of: usize| over(&|point, by| by[of] * by[of] * corrected(point, by));
        let [intercept, slope] =
            [0, 1].map(|of| Estimate { mean: line.at[of], squared_error: squared_error(of) });
        let share = slope.mean / intercept.mean;
        let part = |point: &Point, by: [f64; 2]| (by[1] - share * by[0]).powi(2) * point.squared_error;
        let df = over(&part).powi(2) / over(&|point, by| part(point, by).powi(2) / point.df);
        let covariance = over(&|point, by| by[0] * by[1] * corrected(point, by));
        Ok(Self { intercept, slope, covariance, df, unit, lack_of_fit: LackOfFit::new(&points, &line) })
    }

    /// f, the serial share: 0 if hosts share all of the work; negative where more hosts are faster than that (superlinear).
    pub fn estimate(&self) -> f64 {
        self.slope.mean / self.intercept.mean
    }

    /// The mean time on the fewest hosts by the fit, in the unit of the times.
    pub fn time_on_fewest(&self) -> f64 {
        self.intercept.mean * self.unit
    }

    /// The two-sided interval of the share; unbounded where the time on the fewest hosts cannot be told from zero.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let t = student_t::two_sided_critical(level.risk().get(), self.df);
        let (method, (slope, shift)) = (Self::NAME, self.uncorrelated_slope());
        match fieller::limits(slope, self.intercept, t) {
            Ok([lower, upper]) => {
                let [lower, upper] = [lower + shift, upper + shift];
                RatioInterval::Bounded(Interval { method, lower, upper, level, caveats: Vec::new() })
            }
            Err(reason) => RatioInterval::Unbounded { method, level, reason },
        }
    }

    /// The p-value of the serial share being `share`; the interval is of those that it does not reject.
    pub fn p_value(&self, share: f64, alternative: Alternative) -> PValue {
        let (slope, shift) = self.uncorrelated_slope();
        let tails = student_t::tails(fieller::statistic(slope, self.intercept, share - shift), self.df);
        alternative.p_value(tails.lower, tails.upper)
    }

    /// Whether the points lie on a line; none of two points.
    pub fn lack_of_fit(&self) -> Option<LackOfFit> {
        self.lack_of_fit
    }

    /// The slope less so many times the intercept, which does not depend on the intercept, and how many: the ratio is less by as much.
    fn uncorrelated_slope(&self) -> (Estimate, f64) {
        let shift = self.covariance / self.intercept.squared_error;
        let mean = self.slope.mean - shift * self.intercept.mean;
        let squared_error = (self.slope.squared_error - shift * self.covariance).max(0.0);
        (Estimate { mean, squared_error }, shift)
    }
}

impl LackOfFit {
    /// The method's full name.
    pub const NAME: &'static str = "lack-of-fit test of the weighted regression (Welch–James; Johansen 1980)";

    fn new(points: &[Point], line: &Line) -> Option<Self> {
        if points.len() <= 2 {
            return None;
        }
        let q = (points.len() - 2) as f64;
        let residual = |point: &Point| point.mean - line.at[0] - line.at[1] * point.at;
        let squares =
            CompensatedSum::sum(points.iter().map(|point| residual(point).powi(2) / point.squared_error));
        let freedom = |(point, by): (&Point, &[f64; 2])| (1.0 - point.leverage(*by)).powi(2) / point.df;
        let a = CompensatedSum::sum(points.iter().zip(&line.coefficients).map(freedom));
        let scale = q + 2.0 * a - 6.0 * a / (q + 2.0);
        Some(Self { statistic: squares / scale, df: [q, q * (q + 2.0) / (3.0 * a)] })
    }

    /// The weighted sum of squared residuals in its approximate expectation.
    pub fn statistic(&self) -> f64 {
        self.statistic
    }

    /// The degrees of freedom of the F law.
    pub fn df(&self) -> [f64; 2] {
        self.df
    }

    /// The p-value of a serial share that is the same at all numbers of hosts.
    pub fn p_value(&self) -> PValue {
        PValue::clamped(fisher_f::tails(self.statistic, self.df[0], self.df[1]).upper)
    }
}

/// The mean time of a point in its ideal time.
struct Point {
    /// p − 1.
    at: f64,
    mean: f64,
    squared_error: f64,
    /// Degrees of freedom of its error.
    df: f64,
}

impl Point {
    fn new(curve: &ScalingCurve<'_>, point: &ScalingPoint<'_>, unit: f64) -> Result<Self, SerialShareError> {
        let &ScalingPoint { hosts, times } = point;
        let runs = times.len();
        if let Some(value) = times.not_positive() {
            return Err(SerialShareError::NotPositive { hosts, value });
        }
        let variance = match times.variance() {
            Some(variance) if runs >= FEWEST_RUNS_OF_A_SHARE => variance,
            _ => return Err(SerialShareError::TooFew { hosts, runs }),
        };
        if variance == 0.0 || times.differs_by_rounding() {
            return Err(SerialShareError::Constant { hosts });
        }
        let factor = curve.factor(point);
        let unit = unit * ideal(curve.law(), factor);
        Ok(Self {
            at: factor - 1.0,
            mean: times.mean() / unit,
            squared_error: variance / unit / unit / runs as f64,
            df: (runs - 1) as f64,
        })
    }

    /// How much the fitted value here follows the mean here, from 0 to 1.
    fn leverage(&self, by: [f64; 2]) -> f64 {
        by[0] + by[1] * self.at
    }
}

/// Intercept and slope, and what each point's mean counts for in them.
struct Line {
    at: [f64; 2],
    coefficients: Vec<[f64; 2]>,
}

impl Line {
    fn new(points: &[Point]) -> Self {
        let over = |of: &dyn Fn(&Point) -> f64| {
            CompensatedSum::sum(points.iter().map(|point| of(point) / point.squared_error))
        };
        let weights = over(&|_| 1.0);
        let center = over(&|point| point.at) / weights;
        let spread = over(&|point| (point.at - center).powi(2));
        let of = |point: &Point| {
            let slope = (point.at - center) / spread / point.squared_error;
            [1.0 / weights / point.squared_error - center * slope, slope]
        };
        let coefficients: Vec<[f64; 2]> = points.iter().map(of).collect();
        let sum = |of: usize| {
            CompensatedSum::sum(points.iter().zip(&coefficients).map(|(point, by)| by[of] * point.mean))
        };
        Self { at: [sum(0), sum(1)], coefficients }
    }
}
