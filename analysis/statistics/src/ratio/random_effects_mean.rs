//! The typical speedup, the mean of the log speedups of benchmarks that differ, and the interval of a further benchmark's.
//!
//! Log speedups of a population scatter with variance τ² besides their errors. With the weights 1/(v + τ²), Q(τ²) = Σ w(y − μ)² follows
//! χ² with k − 1 degrees of freedom at the true τ² (Viechtbauer, Statistics in Medicine 26, 2007). So each value of that law is one of
//! τ²: its confidence distribution, here of τ² > 0, which for equal errors is the reference posterior of Bodnar et al. (Statistics in
//! Medicine 36, 2017). What is normal for a given τ² is mixed over it (Nagashima, Noma and Furukawa, Statistical Methods in Medical
//! Research 28, 2019): where benchmarks differ much, Student's t results; where they do not, the uncertainty of τ² stays in the intervals.
//! τ² itself is Paule and Mandel's (Journal of Research of the NBS 87, 1982). That errors are estimates from few runs widens the error
//! of the mean by Meier's factor (Biometrics 9, 1953).

use crate::inference::{ConfidenceLevel, Interval};
use crate::number::{gauss_legendre, gauss_legendre::Node, monotone_root, rounding::CompensatedSum};
use crate::{distribution::normal, ratio::LogEffect};
use thiserror::Error;

/// Why there is no typical speedup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RandomEffectsError {
    /// Two benchmarks say nothing of how benchmarks differ.
    #[error("a typical speedup needs at least three benchmarks, but there are {0}")]
    TooFew(usize),
    /// An estimate is not a number, or its variance or degrees of freedom are not positive.
    #[error("benchmark {number} has no error that is known, so it has no weight")]
    NoVariance {
        /// Its place in the suite, from 1.
        number: usize,
    },
}

speedup_core::hints! { RandomEffectsError: Self::NoVariance { .. } => "leave it out, or measure it again" }

/// The mean of log speedups of benchmarks that differ.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::ratio::{LogEffect, RandomEffectsMean};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let speedups = [1.10_f64, 1.32, 1.05, 1.21];
/// let effects = speedups.map(|speedup| LogEffect { estimate: speedup.ln(), variance: 1e-4, df: 9.0 });
/// let typical = RandomEffectsMean::new(&effects)?;
/// assert!((typical.mean().exp() - 1.165).abs() < 0.005);
/// // A further benchmark may be slower, although the typical one is not.
/// assert!(typical.prediction(ConfidenceLevel::USUAL).lower < typical.interval(ConfidenceLevel::USUAL).lower);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomEffectsMean {
    q: f64,
    tau_squared: f64,
    mean: f64,
    typical_variance: f64,
    components: Vec<Component>,
}

/// The mean as it is known if τ² has one of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Component {
    probability: f64,
    tau_squared: f64,
    mean: f64,
    /// The squared error of the mean.
    variance: f64,
}

/// Steps of Newton's method, of which a dozen do.
const STEPS: usize = 1000;
/// Panels of the quadrature over the law of Q, of 20 points each: the intervals are known to six digits.
const PANELS: usize = 5;
/// Where the density of Q has fallen by e⁻⁴⁰, nothing is left to be counted.
const NEGLIGIBLE: f64 = 40.0;

impl RandomEffectsMean {
    /// The method's full name.
    pub const NAME: &'static str =
        "random-effects mean of log ratios (Paule and Mandel; confidence distribution of the scatter)";

    /// The mean of `effects`, of which there must be three or more, each with a positive variance.
    ///
    /// # Errors
    /// [`RandomEffectsError`].
    pub fn new(effects: &[LogEffect]) -> Result<Self, RandomEffectsError> {
        if effects.len() < 3 {
            return Err(RandomEffectsError::TooFew(effects.len()));
        }
        let is_known = |effect: &LogEffect| {
            effect.estimate.is_finite()
                && effect.variance > 0.0
                && effect.variance.is_finite()
                && effect.df > 0.0
        };
        if let Some(place) = effects.iter().position(|effect| !is_known(effect)) {
            return Err(RandomEffectsError::NoVariance { number: place + 1 });
        }
        let df = (effects.len() - 1) as f64;
        let fixed = Weighted::new(effects, 0.0);
        let tau_squared = tau_squared_at(effects, df, 0.0);
        // Higgins and Thompson's: the error that a benchmark has as a rule (Statistics in Medicine 21, 2002, eq. 9).
        let weights = effects.iter().map(|one| 1.0 / one.variance);
        let typical_variance = df / CompensatedSum::sum(weights.map(|w| w * (1.0 - w / fixed.sum)));
        Ok(Self {
            q: fixed.residual,
            tau_squared,
            mean: Weighted::new(effects, tau_squared).mean,
            typical_variance,
            components: components(effects, fixed.residual, typical_variance),
        })
    }

    /// The mean log speedup: its exponential is the typical speedup.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// τ², the variance of the log speedups between benchmarks: Paule and Mandel's estimate.
    pub fn tau_squared(&self) -> f64 {
        self.tau_squared
    }

    /// Cochran's Q: the squares of what the log speedups differ from their weighted mean, each over its variance.
    pub fn q(&self) -> f64 {
        self.q
    }

    /// The share of the scatter of the observed log speedups that is of the benchmarks and not of the runs, I², from 0 to 1.
    pub fn heterogeneity(&self) -> f64 {
        self.tau_squared / (self.tau_squared + self.typical_variance)
    }

    /// The equal-tailed interval of the mean log speedup.
    pub fn interval(&self, level: ConfidenceLevel) -> Interval {
        self.between(Self::NAME, |component| component.variance, level)
    }

    /// The interval in which the true log speedup of a further benchmark of the population lies with probability `level`.
    pub fn prediction(&self, level: ConfidenceLevel) -> Interval {
        const NAME: &str =
            "prediction interval of a further benchmark (confidence distribution of the scatter)";
        self.between(NAME, |component| component.variance + component.tau_squared, level)
    }

    /// The quantiles of the mixture of normal laws with these variances.
    fn between(
        &self,
        method: &'static str,
        variance: fn(&Component) -> f64,
        level: ConfidenceLevel,
    ) -> Interval {
        // In the unit of a typical error, so that the search starts with a step of its size.
        let unit = (self.typical_variance + self.tau_squared).sqrt();
        let end = |probability: f64| {
            let excess = |at: f64| {
                let x = self.mean + unit * at;
                let below = self.components.iter().map(|component| {
                    component.probability * normal::lower((x - component.mean) / variance(component).sqrt())
                });
                below.sum::<f64>() - probability
            };
            let at = monotone_root::increasing(0.0, (f64::MIN, f64::MAX), excess);
            self.mean + unit * at.unwrap_or_else(|end| end)
        };
        let beyond = level.risk().get() / 2.0;
        Interval { method, lower: end(beyond), upper: end(1.0 - beyond), level, caveats: Vec::new() }
    }
}

/// Sums over the benchmarks by the weights 1/(v + τ²).
struct Weighted {
    /// Σ w.
    sum: f64,
    mean: f64,
    /// Σ w (y − μ)², which is Q(τ²).
    residual: f64,
    /// Σ w² (y − μ)², by which Q falls with τ².
    squared_residual: f64,
}

impl Weighted {
    fn new(effects: &[LogEffect], tau_squared: f64) -> Self {
        let over = |term: &dyn Fn(f64, f64) -> f64| {
            let terms = effects.iter().map(|one| term(1.0 / (one.variance + tau_squared), one.estimate));
            CompensatedSum::sum(terms)
        };
        let sum = over(&|w, _| w);
        let mean = over(&|w, y| w * y) / sum;
        Self {
            sum,
            mean,
            residual: over(&|w, y| w * (y - mean) * (y - mean)),
            squared_residual: over(&|w, y| w * w * (y - mean) * (y - mean)),
        }
    }

    /// The squared error of the mean, 1/Σw, by Meier's factor larger, as the weights are estimates themselves: of each by the share
    /// of its variance that is the estimated error.
    fn squared_error(&self, effects: &[LogEffect], tau_squared: f64) -> f64 {
        let terms = effects.iter().map(|one| {
            let weight = 1.0 / (one.variance + tau_squared);
            let estimated = one.variance * weight;
            let share = weight / self.sum;
            estimated * estimated * share * (1.0 - share) / one.df
        });
        (1.0 + 4.0 * CompensatedSum::sum(terms)) / self.sum
    }
}

/// The τ² at which Q is `q`, looked for from `least` upwards, or `least` where Q is smaller there.
fn tau_squared_at(effects: &[LogEffect], q: f64, least: f64) -> f64 {
    let mut tau_squared = least;
    for _ in 0..STEPS {
        let at = Weighted::new(effects, tau_squared);
        if at.residual <= q {
            break;
        }
        // 1/Q is concave and increases, so that Newton's steps on it never go too far.
        let step = (at.residual / q - 1.0) * at.residual / at.squared_residual;
        tau_squared += step;
        if step <= 1e-14 * tau_squared {
            break;
        }
    }
    tau_squared
}

/// The mean by each τ² > 0 of the confidence distribution, where Q(0) is `residual`.
fn components(effects: &[LogEffect], residual: f64, typical_variance: f64) -> Vec<Component> {
    let mut components = Vec::with_capacity(PANELS * gauss_legendre::POINTS);
    let mut tau_squared = 0.0;
    for Node { at: s, weight } in law_of_q(effects.len(), residual).into_iter().rev() {
        tau_squared = if residual > 0.0 {
            tau_squared_at(effects, residual * s * s, tau_squared)
        } else {
            // The limit of equal errors, for estimates that agree to the last digit.
            typical_variance * (1.0 / (s * s) - 1.0)
        };
        let at = Weighted::new(effects, tau_squared);
        let variance = at.squared_error(effects, tau_squared);
        components.push(Component { probability: weight, tau_squared, mean: at.mean, variance });
    }
    components
}

/// The law of s, the root of Q(τ²)/Q(0), given that τ² > 0: Q is χ² of k − 1 degrees of freedom, and s falls from 1 as τ² grows. The
/// weights of the ascending nodes add up to 1.
fn law_of_q(k: usize, residual: f64) -> Vec<Node> {
    let power = (k - 2) as f64;
    let log_density = |s: f64| power * s.ln() - residual * s * s / 2.0;
    let top = (power / residual).sqrt().min(1.0);
    let above_negligible = |log_s: f64| log_density(log_s.exp()) - log_density(top) + NEGLIGIBLE;
    let lower = monotone_root::between(top.ln() - 2.0 * NEGLIGIBLE, top.ln(), above_negligible).exp();
    // To the right of its top the density falls at least as fast as a normal one.
    let upper = (top + (2.0 * NEGLIGIBLE / residual).sqrt()).min(1.0);
    let panel = (upper - lower) / PANELS as f64;
    let mut law = Vec::with_capacity(PANELS * gauss_legendre::POINTS);
    for number in 0..PANELS {
        let start = lower + panel * number as f64;
        law.extend(gauss_legendre::nodes(start, start + panel));
    }
    for node in &mut law {
        node.weight *= (log_density(node.at) - log_density(top)).exp();
    }
    let all = CompensatedSum::sum(law.iter().map(|node| node.weight));
    for node in &mut law {
        node.weight /= all;
    }
    law
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::student_t;
    use proptest::prelude::*;

    const LEVEL: ConfidenceLevel = ConfidenceLevel::USUAL;

    fn effects(values: &[(f64, f64)]) -> Vec<LogEffect> {
        values
            .iter()
            .map(|(estimate, variance)| LogEffect { estimate: *estimate, variance: *variance, df: 9.0 })
            .collect()
    }

    fn ends(effects: &[LogEffect]) -> [f64; 5] {
        let typical = RandomEffectsMean::new(effects).unwrap();
        let [mean, further] = [typical.interval(LEVEL), typical.prediction(LEVEL)];
        [typical.mean(), mean.lower, mean.upper, further.lower, further.upper]
    }

    #[test]
    fn what_has_no_weight_is_refused() {
        let one = LogEffect { estimate: 0.1, variance: 0.01, df: 9.0 };
        assert_eq!(RandomEffectsMean::new(&[one, one]), Err(RandomEffectsError::TooFew(2)));
        let without = LogEffect { variance: 0.0, ..one };
        let refused = RandomEffectsMean::new(&[one, without, one]);
        assert_eq!(refused, Err(RandomEffectsError::NoVariance { number: 2 }));
        let nowhere = LogEffect { estimate: f64::NAN, ..one };
        let refused = RandomEffectsMean::new(&[nowhere, one, one]);
        assert_eq!(refused, Err(RandomEffectsError::NoVariance { number: 1 }));
    }

    /// Estimates that agree say that benchmarks differ little beside their errors, not that they do not differ.
    #[test]
    fn equal_effects_have_no_scatter_that_is_known() {
        let typical = RandomEffectsMean::new(&effects(&[(0.2, 0.01); 5])).unwrap();
        assert_eq!((typical.tau_squared(), typical.heterogeneity()), (0.0, 0.0));
        assert!((typical.mean() - 0.2).abs() < 1e-15);
        let nearly: Vec<(f64, f64)> = (0..5).map(|i| (0.2 + 1e-9 * f64::from(i % 2), 0.01)).collect();
        for (equal, near) in ends(&effects(&[(0.2, 0.01); 5])).iter().zip(ends(&effects(&nearly))) {
            assert!((equal - near).abs() < 1e-6, "{equal} {near}");
        }
    }

    /// Where benchmarks differ far more than their errors, they are a sample of normal numbers, whose intervals are Student's.
    #[test]
    fn of_a_wide_scatter_the_intervals_are_students() {
        for k in [3_usize, 5, 20, 65] {
            let values: Vec<(f64, f64)> = (0..k).map(|i| (((i * i) % 17) as f64, 1e-9)).collect();
            let [mean, lower, upper, least, most] = ends(&effects(&values));
            let squares: f64 = values.iter().map(|(value, _)| (value - mean).powi(2)).sum();
            let sd = (squares / (k - 1) as f64).sqrt();
            let t = student_t::two_sided_critical(LEVEL.risk().get(), (k - 1) as f64);
            let expected = 2.0 * t * sd / (k as f64).sqrt();
            assert!(((upper - lower) / expected - 1.0).abs() < 1e-5, "{k}");
            let expected = 2.0 * t * sd * (1.0 + 1.0 / k as f64).sqrt();
            assert!(((most - least) / expected - 1.0).abs() < 1e-5, "{k}");
        }
    }

    proptest! {
        /// Another order changes nothing, exchanged versions turn all around, and a unit moves it; the estimate is inside.
        #[test]
        fn order_exchange_and_unit(values in prop::collection::vec((-1.0..1.0_f64, 1e-6..0.1_f64), 3..30)) {
            let of = ends(&effects(&values));
            prop_assert!(of[3] <= of[1] && of[1] <= of[0] && of[0] <= of[2] && of[2] <= of[4], "{of:?}");
            let reversed: Vec<(f64, f64)> = values.iter().rev().copied().collect();
            let exchanged: Vec<(f64, f64)> = values.iter().map(|(y, v)| (-y, *v)).collect();
            let moved: Vec<(f64, f64)> = values.iter().map(|(y, v)| (3.0 + y, *v)).collect();
            let scaled: Vec<(f64, f64)> = values.iter().map(|(y, v)| (2.0 * y, 4.0 * v)).collect();
            let [mean, lower, upper, least, most] = ends(&effects(&exchanged));
            let turned = [-mean, -upper, -lower, -most, -least];
            let others = [ends(&effects(&reversed)), turned, ends(&effects(&moved)).map(|end| end - 3.0), ends(&effects(&scaled)).map(|end| end / 2.0)];
            for other in others {
                for (one, other) in of.iter().zip(other) {
                    prop_assert!((one - other).abs() < 1e-7, "{of:?} {other}");
                }
            }
        }

        /// Q at the estimate of τ² is what it is on average, or less without any.
        #[test]
        fn q_is_k_less_one_there(values in prop::collection::vec((-1.0..1.0_f64, 1e-4..0.1_f64), 3..30)) {
            let effects = effects(&values);
            let tau_squared = RandomEffectsMean::new(&effects).unwrap().tau_squared();
            let q = Weighted::new(&effects, tau_squared).residual;
            let df = (effects.len() - 1) as f64;
            prop_assert!(if tau_squared > 0.0 { (q - df).abs() < 1e-9 * df } else { q <= df }, "{q} {tau_squared}");
        }
    }
}
