//! Whether a metric is continuous enough for methods that assume that no two runs are equal.

use crate::{inference::Caveat, sample::Sample};
use serde::Serialize;

/// How coarse the values of a sample are.
///
/// ```
/// use speedup_statistics::diagnostics::{Granularity, MetricKind};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Page faults, say: 4, 3 and 3 runs have one value.
/// let counts = Sample::new(vec![1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 3.0, 3.0])?;
/// let granularity = Granularity::new(&counts);
/// assert_eq!((granularity.kind(), granularity.grid()), (MetricKind::Discrete, Some(1.0)));
/// // 6 + 3 + 3 of the 45 pairs are equal.
/// assert!((granularity.tie_probability() - 12.0 / 45.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Granularity {
    runs: usize,
    distinct: usize,
    tied: usize,
    tie_probability: f64,
    grid: Option<f64>,
}

/// What follows for the methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// Ties are absent or rare: every method applies.
    Continuous,
    /// Ties are frequent: methods that correct for them apply, with a caveat.
    Coarse,
    /// A few values make up the sample: a count or a class, for which these methods are refused.
    Discrete,
    /// All runs have one value.
    Constant,
    /// Too few runs to tell.
    Unknown,
}

/// Below this many runs ties say nothing.
const FEWEST_RUNS: usize = 5;
/// Two random runs tie with at most this probability where a metric counts as continuous: a hundred effective levels.
const RARE: f64 = 0.01;
/// With at most this one it is coarse: ten effective levels.
const FREQUENT: f64 = 0.1;
/// Neighbouring values are whole steps apart up to this share of the step, or a few roundings of the value.
const GRID_TOLERANCE: f64 = 1e-6;

impl Granularity {
    /// The method's full name.
    pub const NAME: &'static str = "share of equal pairs (Simpson's index) and common grid";

    /// Of the values of `sample`.
    pub fn new(sample: &Sample) -> Self {
        let n = sample.len() as f64;
        let groups: Vec<usize> = sample.sorted().chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
        let equal_pairs: f64 = groups.iter().map(|t| *t as f64 * (*t as f64 - 1.0)).sum();
        Self {
            runs: sample.len(),
            distinct: groups.len(),
            tied: groups.iter().filter(|t| **t > 1).sum(),
            tie_probability: if sample.len() > 1 { equal_pairs / (n * (n - 1.0)) } else { 0.0 },
            grid: grid(sample.sorted()),
        }
    }

    /// The share of runs whose value another run has as well.
    pub fn tied_share(&self) -> f64 {
        self.tied as f64 / self.runs as f64
    }

    /// The unbiased estimate of the probability that two random runs are equal (Simpson, Nature 163, 1949); unlike the
    /// shares it does not grow with the number of runs.
    pub fn tie_probability(&self) -> f64 {
        self.tie_probability
    }

    /// The step of the grid on which all values lie, if there is one coarser than rounding: a clock's tick, or 1 for
    /// counts. In the unit of the observations.
    pub fn grid(&self) -> Option<f64> {
        self.grid
    }

    /// What follows for the methods.
    pub fn kind(&self) -> MetricKind {
        if self.runs < FEWEST_RUNS {
            MetricKind::Unknown
        } else if self.distinct == 1 {
            MetricKind::Constant
        } else if self.tie_probability <= RARE || self.tied <= 2 {
            // One pair of equal runs in a small sample is no evidence of a grid.
            MetricKind::Continuous
        } else if self.tie_probability <= FREQUENT {
            MetricKind::Coarse
        } else {
            MetricKind::Discrete
        }
    }

    /// What the reader must know.
    pub fn caveats(&self) -> Vec<Caveat> {
        if self.tied > 0 { vec![Caveat::Ties] } else { Vec::new() }
    }
}

/// The step of the clock that measured positive times, in their unit: that of the coarsest grid on which all of them lie; `None` for
/// times on no grid coarser than rounding. Times that are all equal bound the step by nothing but their own size, which is returned.
///
/// ```
/// use speedup_statistics::{diagnostics::common_step, sample::Sample};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let [one, other] = [Sample::new(vec![20.0, 19.0, 20.0])?, Sample::new(vec![20.0, 21.0, 20.0])?];
/// assert_eq!(common_step([&one, &other]), Some(1.0));
/// assert_eq!(common_step([&one, &one]), Some(1.0));
/// # Ok(())
/// # }
/// ```
pub fn common_step(samples: [&Sample; 2]) -> Option<f64> {
    let mut values: Vec<f64> = samples.iter().flat_map(|sample| sample.sorted()).copied().collect();
    let all = values.len();
    values.sort_by(f64::total_cmp);
    values.dedup();
    match values[..] {
        [only] => Some(only),
        [least, most] if all > 2 => Some(most - least),
        _ => grid(&values),
    }
}

/// The smallest gap between neighbours, if all other gaps are whole multiples of it.
fn grid(sorted: &[f64]) -> Option<f64> {
    let gaps = || sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    let step = gaps().fold(f64::INFINITY, f64::min);
    let magnitude = sorted[0].abs().max(sorted[sorted.len() - 1].abs());
    let rounding = 4.0 * f64::EPSILON * magnitude;
    if !step.is_finite() || step <= 1e3 * rounding || gaps().count() < 2 {
        return None;
    }
    let on_grid = |gap: f64| {
        let multiple = (gap / step).round();
        // The step itself is known to a rounding only, which a multiple multiplies.
        (gap - multiple * step).abs() <= (GRID_TOLERANCE * step).max(rounding * (multiple + 1.0))
            && multiple * GRID_TOLERANCE < 0.5
    };
    gaps().all(on_grid).then_some(step)
}
