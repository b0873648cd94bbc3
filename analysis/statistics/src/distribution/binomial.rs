//! The binomial law.

use super::{Tails, beta, beta::UnitPoint};

/// `P[K ≤ k]` and `P[K > k]` of the number of successes in `trials`, each of probability `success` (DLMF
/// 8.17.5).
pub fn tails(k: u64, trials: u64, success: f64) -> Tails {
    if k >= trials {
        return Tails { lower: 1.0, upper: 0.0 };
    }
    beta::tails(UnitPoint::new(success), (k + 1) as f64, (trials - k) as f64).mirrored()
}
