//! Numbers that rounding has moved apart, and sums that rounding does not move.
//!
//! 0.1 − 0.05 and 0.15 − 0.1 are two doubles, 100 − 50 and 150 − 100 are one. Whatever asks whether computed values are
//! equal asks it here, so that no answer depends on the unit of the observations.

/// A computed value and how far rounding may have moved it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded {
    pub(crate) value: f64,
    noise: f64,
}

/// Half a unit in the last place for each of: the reading of a decimal number, its conversion to another unit, a mean of two,
/// and the computation itself; twice that for two operands.
const NOISE: f64 = 4.0 * f64::EPSILON;

impl Rounded {
    /// A `value` computed from operands of at most `magnitude`.
    pub(crate) fn new(value: f64, magnitude: f64) -> Self {
        Self { value, noise: NOISE * magnitude }
    }

    /// Whether the `next` value in ascending order may be this one.
    ///
    /// Neighbours are joined, and through them their neighbours: equality stays transitive. A fixed grid would cut between
    /// values that lie on both sides of one of its lines.
    pub(crate) fn may_equal(&self, next: &Self) -> bool {
        next.value - self.value <= self.noise + next.noise
    }

    /// Whether the value may be nothing.
    pub(crate) fn may_be_zero(&self) -> bool {
        self.value.abs() <= self.noise
    }
}

/// The running sum of the terms added so far, whose rounding error does not grow with their number.
///
/// Neumaier's variant of Kahan summation (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher
/// Summen", ZAMM 54, 1974): the part that each addition rounds away is kept in a second number. Run times differ in their
/// last digits only, so a mean that loses digits would be most of the effect we look for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = Self::default();
        for term in terms {
            sum.add(term);
        }
        sum.value()
    }

    fn add(&mut self, term: f64) {
        let total = self.sum + term;
        self.lost +=
            if self.sum.abs() >= term.abs() { (self.sum - total) + term } else { (term - total) + self.sum };
        self.sum = total;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_by_rounding_is_equal_and_what_was_measured_apart_is_not() {
        let a = Rounded::new(0.1 - 0.05, 0.15);
        let b = Rounded::new(0.15 - 0.1, 0.25);
        let (least, most) = if a.value <= b.value { (a, b) } else { (b, a) };
        assert!(a.value != b.value && least.may_equal(&most));
        assert!(!Rounded::new(0.05, 0.15).may_equal(&Rounded::new(0.05 + 1e-13, 0.15)));
        assert!(Rounded::new(0.3 - 0.2 - 0.1, 0.3).may_be_zero() && !Rounded::new(1e-12, 0.3).may_be_zero());
    }

    #[test]
    fn keeps_what_plain_addition_drops() {
        assert_eq!(CompensatedSum::sum([1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(CompensatedSum::sum([]), 0.0);
    }
}
