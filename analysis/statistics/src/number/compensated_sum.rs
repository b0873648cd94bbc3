//! A sum whose rounding error does not grow with the number of terms.
//!
//! Neumaier's variant of Kahan summation (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
//! endlicher Summen", ZAMM 54, 1974): the part that each addition rounds away is kept in a second number. Run
//! times differ in their last digits only, so a mean that loses digits would be most of the effect we look
//! for.

/// The running sum of the terms added so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    /// The sum of all `terms`.
    pub(crate) fn of(terms: impl IntoIterator<Item = f64>) -> f64 {
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
    fn keeps_what_plain_addition_drops() {
        assert_eq!(CompensatedSum::of([1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(CompensatedSum::of([]), 0.0);
    }
}
