//! The observations as the fit sees them: in standard units, sorted, equal ones counted.

/// Width of the sums: a multiple of every vector width in use.
pub(super) const LANES: usize = 8;

/// Distinct values in ascending order with their multiplicities, padded to whole vectors with weight zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    values: Vec<f64>,
    weights: Vec<f64>,
    total: f64,
    origin: f64,
    unit: f64,
}

impl Points {
    /// Takes `(x − origin) / unit` of each of `sorted`, in the memory that there is; a `unit` that is a power of two keeps
    /// every digit.
    pub(super) fn refill(&mut self, sorted: &[f64], origin: f64, unit: f64) {
        self.values.clear();
        self.weights.clear();
        let mut last = f64::NAN;
        for &x in sorted {
            if x == last {
                let place = self.weights.len() - 1;
                self.weights[place] += 1.0;
            } else {
                self.values.push((x - origin) / unit);
                self.weights.push(1.0);
                last = x;
            }
        }
        self.total = sorted.len() as f64;
        (self.origin, self.unit) = (origin, unit);
        let padded = self.values.len().next_multiple_of(LANES);
        let end = self.values.last().copied().unwrap_or(0.0);
        self.values.resize(padded, end);
        self.weights.resize(padded, 0.0);
    }

    /// Distinct values and padding: a multiple of [`LANES`].
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// How many observations have each value; zero in the padding.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How many observations there are.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The zero of the standard units.
    pub(super) fn origin(&self) -> f64 {
        self.origin
    }

    /// The standard unit.
    pub(super) fn unit(&self) -> f64 {
        self.unit
    }
}
