//! The modes of a mixture's density.
//!
//! A univariate Gaussian mixture has no more modes than components, all of them between the least and the greatest mean
//! (M. Carreira-Perpiñán and C. Williams, "On the number of modes of a Gaussian mixture", 2003). The sign of f′ is
//! taken on a grid that is fine against every component, and each change from rising to falling is narrowed to the
//! last digit.

use super::{Component, Mixture};

/// Grid points a standard deviation of each component.
const STEPS_PER_SD: i32 = 16;
/// Standard deviations on either side of a mean: beyond, the component's slope is below 1e-7 of its largest.
const REACH: i32 = 6;

pub(super) fn modes(mixture: &Mixture) -> Vec<f64> {
    let components = mixture.components();
    let low = components[0].mean;
    let high = components[components.len() - 1].mean;
    let mut grid = vec![low, high];
    for c in components {
        let step = c.sd / f64::from(STEPS_PER_SD);
        let around = (-REACH * STEPS_PER_SD..=REACH * STEPS_PER_SD).map(|i| c.mean + f64::from(i) * step);
        grid.extend(around.filter(|x| low < *x && *x < high));
    }
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    // Left of the least mean the density rises, right of the greatest it falls.
    let mut modes = Vec::new();
    let mut rising = (low, true);
    for &x in &grid {
        let slope = slope(components, x);
        let falls = slope < 0.0 || x == high;
        if falls && rising.1 {
            modes.push(narrowed(components, rising.0, x));
        }
        if slope != 0.0 {
            rising = (x, !falls);
        }
    }
    modes.dedup();
    modes
}

/// Where the slope changes its sign between a rising `low` and a falling `high`.
fn narrowed(components: &[Component], mut low: f64, mut high: f64) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        let slope = slope(components, middle);
        if slope == 0.0 || middle <= low || middle >= high {
            return middle;
        }
        if slope > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// A number with the sign of f′(x): relative to the nearest component, so that it does not vanish between components
/// that are far apart.
fn slope(components: &[Component], x: f64) -> f64 {
    let z = |c: &Component| (x - c.mean) / c.sd;
    let log = |c: &Component| (c.weight / c.sd).ln() - 0.5 * z(c) * z(c);
    let largest = components.iter().map(log).fold(f64::NEG_INFINITY, f64::max);
    let unit = components.iter().map(|c| c.sd).fold(f64::INFINITY, f64::min);
    components.iter().map(|c| -z(c) * (unit / c.sd) * (log(c) - largest).exp()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixture(components: &[(f64, f64, f64)]) -> Mixture {
        let component = |&(weight, mean, sd): &(f64, f64, f64)| Component { weight, mean, sd };
        Mixture::new(components.iter().map(component).collect()).unwrap()
    }

    #[test]
    fn one_component_has_its_mean() {
        assert_eq!(mixture(&[(1.0, 3.5, 0.1)]).modes(), [3.5]);
    }

    #[test]
    fn equal_components_part_at_two_standard_deviations() {
        assert_eq!(mixture(&[(0.5, 0.0, 1.0), (0.5, 1.98, 1.0)]).modes().len(), 1);
        assert_eq!(mixture(&[(0.5, 0.0, 1.0), (0.5, 2.02, 1.0)]).modes().len(), 2);
    }

    #[test]
    fn a_needle_on_a_broad_law_and_one_far_away_are_seen() {
        let modes = mixture(&[(0.9, 0.0, 1.0), (0.01, 0.7, 1e-6), (0.09, 1e6, 1.0)]).modes();
        assert_eq!(modes.len(), 3, "{modes:?}");
        assert!((modes[1] - 0.7).abs() < 1e-6);
    }
}
