//! Curves over a grid of times, and the values that stand for many.

use speedup_statistics::sample::Sample;
use std::f64::consts::PI;

/// Points of a curve: more than a plot shows apart.
const POINTS: usize = 160;
/// How far the grid goes beyond the values, as a share of their range: there the tails of the curves end.
const MARGIN: f64 = 0.08;
/// Significant digits of what is only drawn.
const DIGITS: usize = 5;
/// The interquartile range of the standard normal law, in standard deviations.
const NORMAL_IQR: f64 = 1.34;

/// Times at which curves are given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    from: f64,
    to: f64,
}

impl Grid {
    /// Over all values of these samples; no time is below 0.
    pub(super) fn over<'a>(samples: impl Iterator<Item = &'a Sample> + Clone) -> Self {
        let least = samples.clone().map(Sample::min).fold(f64::INFINITY, f64::min);
        let most = samples.map(Sample::max).fold(f64::NEG_INFINITY, f64::max);
        let margin = (most - least) * MARGIN;
        Self { from: (least - margin).max(0.0), to: most + margin }
    }

    /// A curve; empty where there is but one time, or none.
    pub(super) fn map(self, curve: impl Fn(f64) -> f64) -> Vec<f64> {
        if self.from >= self.to || !(self.to - self.from).is_finite() {
            return Vec::new();
        }
        let step = (self.to - self.from) / (POINTS - 1) as f64;
        (0..POINTS).map(|at| significant(curve((at as f64).mul_add(step, self.from)))).collect()
    }

    /// The times.
    pub(super) fn points(self) -> Vec<f64> {
        self.map(|x| x)
    }

    /// The Gaussian kernel's estimate of the density of `values`.
    pub(super) fn density(self, values: &[f64], bandwidth: f64) -> Vec<f64> {
        let scale = 1.0 / ((2.0 * PI).sqrt() * bandwidth * values.len() as f64);
        self.map(|x| {
            let kernel = |value: &f64| (-0.5 * ((x - value) / bandwidth).powi(2)).exp();
            scale * values.iter().map(kernel).sum::<f64>()
        })
    }
}

/// 0.9 min(s, IQR/1.34) n^(−1/5): Silverman (1986), eq. 3.31, R's `bw.nrd0`; of several clusters, whose distances s and IQR
/// are of, the spread `within` them if it is less. `None` where the values do not vary.
pub(super) fn bandwidth(sample: &Sample, within: Option<f64>) -> Option<f64> {
    let deviation = sample.standard_deviation().filter(|deviation| *deviation > 0.0)?;
    let quartile = |probability| sample.quantile(probability).ok();
    let range = (quartile(0.75)? - quartile(0.25)?) / NORMAL_IQR;
    let spread = if range > 0.0 { deviation.min(range) } else { deviation };
    let spread = within.filter(|within| *within > 0.0).map_or(spread, |within| spread.min(within));
    Some(0.9 * spread * (sample.len() as f64).powf(-0.2))
}

/// Ranks that stand for all of `n`: all of them, or `most` at even distances, the first and the last among them.
pub(super) fn picked_ranks(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = n.min(most);
    let last = n.saturating_sub(1);
    (0..shown).map(move |at| if shown == n { at } else { (at * last + (shown - 1) / 2) / (shown - 1) })
}

/// A number with as many digits as are drawn.
pub(super) fn significant(value: f64) -> f64 {
    format!("{value:.DIGITS$e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picked_ranks_span_all_and_none_comes_twice() {
        assert_eq!(picked_ranks(3, 10).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(picked_ranks(0, 10).count(), 0);
        for n in [11, 12, 100, 301, 10_007] {
            let ranks: Vec<usize> = picked_ranks(n, 10).collect();
            assert_eq!((ranks.len(), ranks[0], ranks[9]), (10, 0, n - 1), "{ranks:?}");
            assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "{ranks:?}");
        }
    }

    /// The quartiles of these are 2 and 8, and the range over 1.34 is below the standard deviation.
    #[test]
    fn the_bandwidth_is_silvermans() {
        let sample = Sample::new(vec![1.0, 2.0, 4.0, 8.0, 16.0]).unwrap();
        let by_hand = 0.9 * (6.0 / 1.34) * 5_f64.powf(-0.2);
        assert!((bandwidth(&sample, None).unwrap() - by_hand).abs() < 1e-12);
        let within = bandwidth(&sample, Some(2.0)).unwrap();
        assert!((within - by_hand * 2.0 / (6.0 / 1.34)).abs() < 1e-12);
        assert_eq!(bandwidth(&Sample::new(vec![3.0, 3.0]).unwrap(), None), None);
    }

    #[test]
    fn a_density_has_an_area_of_one() {
        let sample = Sample::new((0..50).map(|at| f64::from(at * at % 37)).collect()).unwrap();
        let grid = Grid { from: -60.0, to: 100.0 };
        let density = grid.density(sample.in_run_order(), bandwidth(&sample, None).unwrap());
        let area: f64 = density.iter().sum::<f64>() * 160.0 / (POINTS - 1) as f64;
        assert!((area - 1.0).abs() < 1e-4, "{area}");
    }

    #[test]
    fn without_times_there_are_no_curves() {
        assert!(Grid::over(std::iter::empty()).points().is_empty());
        let constant = Sample::new(vec![2.0, 2.0]).unwrap();
        assert!(Grid::over(std::iter::once(&constant)).points().is_empty());
    }
}
