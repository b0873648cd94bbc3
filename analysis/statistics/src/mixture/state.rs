//! The parameters of a mixture while it is being fitted, in standard units and without allocation.

/// The largest number of components that is tried (mclust's default range 1..9).
pub const MOST_COMPONENTS: usize = 9;

/// What the components' variances may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VarianceModel {
    /// One variance for all components: mclust's E, 2K parameters.
    Equal,
    /// A variance for each: mclust's V, 3K − 1 parameters.
    Varying,
}

impl VarianceModel {
    /// Both, the one with fewer parameters first.
    pub const ALL: [Self; 2] = [Self::Equal, Self::Varying];

    /// How many numbers describe a mixture of `components`.
    pub fn parameters(self, components: usize) -> usize {
        match self {
            Self::Equal => 2 * components,
            Self::Varying => 3 * components - 1,
        }
    }

    /// mclust's letter.
    pub fn letter(self) -> char {
        match self {
            Self::Equal => 'E',
            Self::Varying => 'V',
        }
    }
}

/// Weights, means and variances of the first `components` places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    pub(super) components: usize,
    pub(super) weight: [f64; MOST_COMPONENTS],
    pub(super) mean: [f64; MOST_COMPONENTS],
    pub(super) variance: [f64; MOST_COMPONENTS],
}

/// Σ wᵢ ln f(xᵢ), and for each component the posterior sums of 1, x − μ and (x − μ)², μ its mean before the pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) log_likelihood: f64,
    pub(super) weight: [f64; MOST_COMPONENTS],
    pub(super) first: [f64; MOST_COMPONENTS],
    pub(super) second: [f64; MOST_COMPONENTS],
}

/// Below this share of the second moment the new variance would be mostly rounding, for the mean moved by much more
/// than the new standard deviation.
const CANCELLED: f64 = 1e-5;

impl State {
    /// The M-step: parameters that maximise the expected log-likelihood of `total` observations given the posteriors.
    ///
    /// A component that no observation belongs to keeps its place with weight zero. `None` if a variance lost its
    /// digits in the subtraction; the caller then sums anew about the new means.
    pub(super) fn after(&self, sums: &Sums, total: f64, model: VarianceModel) -> (Self, bool) {
        let mut next = *self;
        let mut pooled = 0.0;
        let mut pooled_second = 0.0;
        let mut cancelled = false;
        for k in 0..self.components {
            next.weight[k] = sums.weight[k] / total;
            if sums.weight[k] > 0.0 {
                let shift = sums.first[k] / sums.weight[k];
                next.mean[k] = self.mean[k] + shift;
                let spread = (sums.second[k] - sums.first[k] * shift).max(0.0);
                next.variance[k] = spread / sums.weight[k];
                cancelled |= model == VarianceModel::Varying && spread < CANCELLED * sums.second[k];
                pooled += spread;
                pooled_second += sums.second[k];
            }
        }
        if model == VarianceModel::Equal {
            next.variance[..self.components].fill(pooled / total);
            cancelled = pooled < CANCELLED * pooled_second;
        }
        (next, cancelled)
    }

    pub(super) fn least_variance(&self) -> f64 {
        self.variance[..self.components].iter().fold(f64::INFINITY, |a, b| a.min(*b))
    }

    pub(super) fn least_weight(&self) -> f64 {
        self.weight[..self.components].iter().fold(f64::INFINITY, |a, b| a.min(*b))
    }
}
