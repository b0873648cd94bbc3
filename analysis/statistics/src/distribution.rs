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

/// The binomial law.
pub mod binomial {
    use super::{Tails, beta, beta::UnitPoint};

    /// `P[K ≤ k]` and `P[K > k]` of the number of successes in `trials`, each of probability `success` (DLMF
    /// 8.17.5).
    pub fn tails(k: u64, trials: u64, success: f64) -> Tails {
        if k >= trials {
            return Tails { lower: 1.0, upper: 0.0 };
        }
        beta::tails(UnitPoint::new(success), (k + 1) as f64, (trials - k) as f64).mirrored()
    }
}

/// Fisher's F law.
pub mod fisher_f {
    use super::{Tails, beta, beta::UnitPoint};

    /// `P[F ≤ f]` and `P[F > f]` for `df1` and `df2` degrees of freedom: I at df1·f/(df1·f + df2) with shapes
    /// df1/2, df2/2.
    pub fn tails(f: f64, df1: f64, df2: f64) -> Tails {
        beta::tails(UnitPoint::from_parts(df1 * f, df2), df1 / 2.0, df2 / 2.0)
    }

    /// The F that has these tails.
    pub fn quantile(tails: Tails, df1: f64, df2: f64) -> f64 {
        df2 / df1 * beta::quantile_logit(tails, df1 / 2.0, df2 / 2.0).exp()
    }
}
