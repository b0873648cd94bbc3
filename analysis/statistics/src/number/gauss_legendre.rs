//! Gauss–Legendre quadrature: 20 points a panel, panels halved until their halves agree.

use std::{f64::consts::PI, sync::LazyLock};

/// Points of a panel: exact for polynomials of degree 39.
pub(crate) const POINTS: usize = 20;
/// Halvings of one integral: a step takes about fifty, and rounding noise is not looked into for ever.
const HALVINGS: u32 = 2_000;

static RULE: LazyLock<[Node; POINTS]> = LazyLock::new(rule);

/// A point of the rule on [−1, 1] and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: f64,
    pub(crate) weight: f64,
}

/// The rule moved to `[lower, upper]`.
pub(crate) fn nodes(lower: f64, upper: f64) -> impl Iterator<Item = Node> {
    let middle = lower + (upper - lower) / 2.0;
    let half = (upper - lower) / 2.0;
    RULE.iter().map(move |node| Node { at: middle + half * node.at, weight: half * node.weight })
}

/// ∫ f over the panels between ascending `breaks`, of a function that is nowhere negative, to about 1e-13 of
/// itself.
pub(crate) fn integral(breaks: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let first: Vec<f64> = breaks.windows(2).map(|ends| panel(ends[0], ends[1], &f)).collect();
    let whole: f64 = first.iter().sum();
    let mut halvings = HALVINGS;
    let refined = breaks.windows(2).zip(first).map(|(ends, coarse)| {
        let matters = coarse > NEGLIGIBLE * whole;
        if matters { refine((ends[0], ends[1]), coarse, whole, &mut halvings, &f) } else { coarse }
    });
    refined.sum()
}

/// A panel with a smaller share of the whole is not looked at again.
const NEGLIGIBLE: f64 = 1e-18;
/// Halves that agree with their panel to this share of the whole are accepted,
const AGREEMENT: f64 = 1e-15;
/// or to this share of the panel: the halves are then better by many digits.
const PANEL_AGREEMENT: f64 = 1e-12;

fn refine(ends: (f64, f64), coarse: f64, whole: f64, halvings: &mut u32, f: &impl Fn(f64) -> f64) -> f64 {
    let middle = ends.0 + (ends.1 - ends.0) / 2.0;
    let left = panel(ends.0, middle, f);
    let right = panel(middle, ends.1, f);
    let fine = left + right;
    if *halvings == 0 || (fine - coarse).abs() <= (AGREEMENT * whole).max(PANEL_AGREEMENT * fine) {
        return fine;
    }
    *halvings -= 1;
    refine((ends.0, middle), left, whole, halvings, f) + refine((middle, ends.1), right, whole, halvings, f)
}

fn panel(lower: f64, upper: f64, f: &impl Fn(f64) -> f64) -> f64 {
    nodes(lower, upper).map(|node| node.weight * f(node.at)).sum()
}

/// The zeros of the Legendre polynomial by Newton's method from Chebyshev's points, with weights 2/((1 − x²)
/// P′(x)²) (Abramowitz & Stegun 25.4.29).
fn rule() -> [Node; POINTS] {
    std::array::from_fn(|i| {
        let mut x = -((i as f64 + 0.75) / (POINTS as f64 + 0.5) * PI).cos();
        for _ in 0..10 {
            let (value, slope) = legendre(x);
            x -= value / slope;
        }
        let (_, slope) = legendre(x);
        Node { at: x, weight: 2.0 / ((1.0 - x * x) * slope * slope) }
    })
}

/// The Legendre polynomial of degree [`POINTS`] and its derivative.
fn legendre(x: f64) -> (f64, f64) {
    let mut before = 1.0;
    let mut value = x;
    for degree in 2..=POINTS {
        let k = degree as f64;
        (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
    }
    (value, POINTS as f64 * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates_what_has_a_closed_form() {
        let power = integral(&[0.0, 1.0], |x| x.powi(39));
        assert!((power * 40.0 - 1.0).abs() < 1e-13, "{power}");
        let narrow = integral(&[-3.0, 0.1, 4.0], |x| (-(1e4 * x * x)).exp());
        assert!((narrow / (PI.sqrt() / 100.0) - 1.0).abs() < 1e-13, "{narrow}");
    }
}
