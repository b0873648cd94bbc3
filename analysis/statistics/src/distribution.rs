//! Distribution functions with all their digits, in both tails.
//!
//! statrs is good to 1e-9 or so on the beta family (worse with many degrees of freedom) and 1e-10 on the
//! normal; the references ask for 1e-11 and for tails that are not `1 − cdf`. So the incomplete beta function
//! is our own, and Student's t, Fisher's F and the binomial are read off it; of statrs remains the normal
//! quantile (4e-16).
//!
//! * [`normal`]: tails by libm's `erfc`.
//! * [`beta`]: the regularized incomplete beta function, both tails at once, and its inverse.
//! * [`student_t`], [`fisher_f`], [`binomial`]: by the identities of DLMF §8.17(i) and Abramowitz & Stegun
//!   26.5–26.7.
//! * [`noncentral_t`]: by quadrature of its mixture of normal laws.
//! * [`kolmogorov`]: the limit law of the two-sample distance.

pub mod beta;
pub mod binomial;
pub mod fisher_f;
pub mod kolmogorov;
pub mod noncentral_t;
pub mod normal;
pub mod student_t;

/// The probabilities below and above a point: of a continuous law they add to 1, each keeps its own digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tails {
    /// `P[X ≤ x]`.
    pub lower: f64,
    /// `P[X > x]` of a continuous law; where X is discrete, the function that returns the tails says which.
    pub upper: f64,
}

impl Tails {
    /// The point of lower probability `p`: the upper one is 1 − p.
    pub fn from_lower(p: f64) -> Self {
        Self { lower: p, upper: 1.0 - p }
    }

    /// The point of upper probability `q`: the lower one is 1 − q.
    pub fn from_upper(q: f64) -> Self {
        Self { lower: 1.0 - q, upper: q }
    }

    /// The tails of −X at −x.
    pub fn mirrored(self) -> Self {
        Self { lower: self.upper, upper: self.lower }
    }
}
