//! Where a monotone function crosses zero.

/// Enough for 200 bisections and then some; Brent's method needs about ten.
const STEPS: usize = 400;
/// Doublings of the distance while a bracket is looked for.
const EXPANSIONS: usize = 64;

/// Where `f` crosses zero between `lower` and `upper`, at which it has opposite signs, to the last digits.
///
/// Brent's method (Algorithms for Minimization Without Derivatives, 1973, ch. 4): inverse interpolation while
/// it shrinks the bracket, halving otherwise.
pub(crate) fn between(lower: f64, upper: f64, f: impl Fn(f64) -> f64) -> f64 {
    let mut a = lower;
    let mut b = upper;
    let mut fa = f(a);
    let mut fb = f(b);
    let mut c = a;
    let mut fc = fa;
    let mut step = b - a;
    let mut before = b - a;
    for _ in 0..STEPS {
        if (fb > 0.0) == (fc > 0.0) {
            (c, fc) = (a, fa);
            step = b - a;
            before = step;
        }
        if fc.abs() < fb.abs() {
            (a, fa) = (b, fb);
            (b, fb) = (c, fc);
            (c, fc) = (a, fa);
        }
        let tolerance = 2.0 * f64::EPSILON * b.abs() + f64::MIN_POSITIVE;
        let half = (c - b) / 2.0;
        if half.abs() <= tolerance || fb == 0.0 {
            return b;
        }
        let proposed = interpolate([a, b, c], [fa, fb, fc]);
        let shrinks = proposed.abs() < (1.5 * half).abs()
            && proposed * half > 0.0
            && proposed.abs() < before.abs() / 2.0
            && before.abs() >= tolerance;
        before = if shrinks { step } else { half };
        step = if shrinks { proposed } else { half };
        (a, fa) = (b, fb);
        b += if step.abs() > tolerance { step } else { tolerance.copysign(half) };
        fb = f(b);
    }
    b
}

/// The step from the second point to the zero of the inverse parabola through the three, or of the secant
/// where two coincide. Not a number when the function is flat.
fn interpolate([a, b, c]: [f64; 3], [fa, fb, fc]: [f64; 3]) -> f64 {
    let s = fb / fa;
    if a == c {
        return (c - b) * s / (s - 1.0);
    }
    let q = fa / fc;
    let r = fb / fc;
    let numerator = s * ((c - b) * q * (q - r) - (b - a) * (r - 1.0));
    -numerator / ((q - 1.0) * (r - 1.0) * (s - 1.0))
}

/// Where the increasing function `f` crosses zero, looked for from `start` in steps that double, within `[least,
/// greatest]`; `Err` with the end at which it still has not.
pub(crate) fn increasing(
    start: f64,
    (least, greatest): (f64, f64),
    f: impl Fn(f64) -> f64,
) -> Result<f64, f64> {
    let at_start = f(start);
    if at_start == 0.0 {
        return Ok(start);
    }
    let (direction, end) = if at_start < 0.0 { (1.0, greatest) } else { (-1.0, least) };
    let mut near = start;
    let mut distance = 1.0;
    for _ in 0..EXPANSIONS {
        let far = (start + direction * distance).clamp(least, greatest);
        let value = f(far);
        if value == 0.0 {
            return Ok(far);
        }
        if (value > 0.0) != (at_start > 0.0) {
            return Ok(between(near, far, f));
        }
        if far == end {
            return Err(end);
        }
        (near, distance) = (far, distance * 2.0);
    }
    Err(end)
}

/// The least whole number in `[least, greatest]` for which `holds`, which once true stays true; `None` if it
/// never is.
pub(crate) fn least_whole(least: u64, greatest: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if least > greatest {
        return None;
    }
    if holds(least) {
        return Some(least);
    }
    let mut below = least;
    let mut step = 1_u64;
    let mut enough = loop {
        let candidate = below.saturating_add(step).min(greatest);
        if holds(candidate) {
            break candidate;
        }
        if candidate == greatest {
            return None;
        }
        (below, step) = (candidate, step.saturating_mul(2));
    };
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if holds(middle) { enough = middle } else { below = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_known() {
        assert!((between(0.0, 3.0, |x| x * x - 2.0) - 2.0_f64.sqrt()).abs() < 1e-15);
        assert!((increasing(1.0, (-1e9, 1e9), |x| x - 12345.678).unwrap() - 12345.678).abs() < 1e-11);
        assert_eq!(increasing(1.0, (0.0, 8.0), |x| x - 9.0), Err(8.0));
        assert_eq!(increasing(1.0, (0.0, 8.0), |x| x + 9.0), Err(0.0));
        assert_eq!(least_whole(2, 1_000_000, |n| n * n >= 777), Some(28));
        assert_eq!(least_whole(2, 20, |n| n * n >= 777), None);
    }
}
