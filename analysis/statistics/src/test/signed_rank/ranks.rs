//! The ranks of the magnitudes of differences.

use crate::{number::rounding::Rounded, sample::Sample, test::SignedRankError, test::SignedRankStatistic};

/// Twice the mid-ranks of the differences that are not zero, in ascending order of their magnitudes: whole numbers.
pub(super) struct Ranks {
    pub(super) doubled: Vec<u64>,
    doubled_v: u64,
    zeros: usize,
    tie_term: f64,
}

impl Ranks {
    /// Ranks `differences`, zeros dropped. Where a difference was computed from numbers of some magnitude, `magnitude`
    /// beside its own, those within the rounding of that are equal; at zero only equal doubles are.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when none is left.
    pub(super) fn new(differences: &Sample, magnitude: f64) -> Result<Self, SignedRankError> {
        let rounded = |difference: &f64| {
            let size = difference.abs();
            let of = if magnitude > 0.0 { magnitude + size } else { 0.0 };
            (Rounded::new(size, of), *difference > 0.0)
        };
        let mut sizes: Vec<(Rounded, bool)> = differences.in_run_order().iter().map(rounded).collect();
        sizes.retain(|(size, _)| !size.may_be_zero());
        if sizes.is_empty() {
            return Err(SignedRankError::AllZero);
        }
        sizes.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
        let (mut doubled, mut doubled_v, mut tie_term) = (Vec::with_capacity(sizes.len()), 0, 0.0);
        for group in sizes.chunk_by(|(a, _), (b, _)| a.may_equal(b)) {
            let rank = (2 * doubled.len() + group.len() + 1) as u64;
            doubled.resize(doubled.len() + group.len(), rank);
            doubled_v += rank * group.iter().filter(|(_, is_positive)| *is_positive).count() as u64;
            let t = group.len() as f64;
            tie_term += t * (t * t - 1.0);
        }
        let zeros = differences.len() - doubled.len();
        Ok(Self { doubled, doubled_v, zeros, tie_term })
    }

    pub(super) fn statistic(&self) -> SignedRankStatistic {
        let Self { ref doubled, doubled_v, zeros, tie_term } = *self;
        SignedRankStatistic { doubled_v, n: doubled.len(), zeros, tie_term }
    }
}
