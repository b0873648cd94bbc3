//! Integrals of smooth non-negative functions over a line that is cut where they bend.

/// Nodes of the Gauss–Legendre rule: exact for polynomials of degree 31.
const NODES: usize = 16;
/// An interval is halved until this changes its integral by less than this share of the whole.
const TOLERANCE: f64 = 1e-12;
/// Halvings of an interval. Between breaks at whole standard deviations one or two are enough.
const MOST_HALVINGS: u32 = 20;

/// ∫ `f` from the first to the last of the ascending `breaks`.
pub(super) fn integral(f: impl Fn(f64) -> f64, breaks: &[f64]) -> f64 {
    let rule = rule();
    let panel = |low: f64, high: f64| {
        let middle = low + (high - low) / 2.0;
        let half = (high - low) / 2.0;
        half * rule.iter().map(|(x, w)| w * (f(middle + half * x) + f(middle - half * x))).sum::<f64>()
    };
    let first: Vec<(f64, f64, f64)> =
        breaks.windows(2).map(|ends| (ends[0], ends[1], panel(ends[0], ends[1]))).collect();
    let whole: f64 = first.iter().map(|(_, _, value)| value).sum();
    // Each interval may be off by an equal share of the tolerance.
    let enough = TOLERANCE * whole / first.len().max(1) as f64;
    let mut sum = 0.0;
    let mut open: Vec<(f64, f64, f64, u32)> =
        first.into_iter().map(|(a, b, value)| (a, b, value, 0)).collect();
    while let Some((low, high, value, halvings)) = open.pop() {
        let middle = low + (high - low) / 2.0;
        let left = panel(low, middle);
        let right = panel(middle, high);
        if (left + right - value).abs() <= enough || halvings >= MOST_HALVINGS {
            sum += left + right;
        } else {
            open.push((low, middle, left, halvings + 1));
            open.push((middle, high, right, halvings + 1));
        }
    }
    sum
}

/// The positive nodes on (−1, 1) with their weights: roots of the Legendre polynomial by Newton's method (Abramowitz
/// and Stegun 25.4.29).
fn rule() -> [(f64, f64); NODES / 2] {
    std::array::from_fn(|i| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (NODES as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..10 {
            let (value, derivative) = legendre(x);
            slope = derivative;
            x -= value / derivative;
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    })
}

/// The Legendre polynomial of degree [`NODES`] at `x`, and its derivative.
fn legendre(x: f64) -> (f64, f64) {
    let mut before = 1.0;
    let mut value = x;
    for n in 2..=NODES {
        let degree = n as f64;
        (before, value) = (value, ((2.0 * degree - 1.0) * x * value - (degree - 1.0) * before) / degree);
    }
    (value, NODES as f64 * (before - x * value) / (1.0 - x * x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_integrates_polynomials_and_a_bell() {
        let weights: f64 = rule().iter().map(|(_, w)| 2.0 * w).sum();
        assert!((weights - 2.0).abs() < 1e-14);
        assert!((integral(|x| x.powi(30), &[-1.0, 1.0]) - 2.0 / 31.0).abs() < 1e-15);
        let bell = integral(|x| (-0.5 * x * x).exp(), &[-39.0, -5.0, 0.0, 5.0, 39.0]);
        assert!((bell - (2.0 * std::f64::consts::PI).sqrt()).abs() < 1e-12);
    }
}
