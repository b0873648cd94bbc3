//! Many indices below one bound, each equally likely: a hundred at a time, in vectors.
//!
//! Half a word times the bound is an index above the point and a fraction below it; words whose fraction falls below 2³² mod
//! the bound would favour an index and are drawn again (Lemire, ACM Transactions on Modeling and Computer Simulation 29, 2019).

use super::generator::Generator;

/// Streams side by side: several vectors of the widest kind, so that the compiler makes a loop of them.
const LANES: usize = 64;
/// Indices of one step: two a word.
const OF_A_STEP: usize = 2 * LANES;

/// The streams of blocks.
pub(super) type Streams = Generator<LANES>;

/// Fills `into` with indices below `bound`.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
pub(super) fn fill(streams: &mut Streams, bound: u32, into: &mut [u32]) {
    // 2³² mod the bound.
    let redraw_below = bound.wrapping_neg() % bound;
    let (steps, rest) = into.as_chunks_mut::<OF_A_STEP>();
    for step in steps {
        take_step(streams, bound, redraw_below, step);
    }
    if !rest.is_empty() {
        let mut step = [0; OF_A_STEP];
        take_step(streams, bound, redraw_below, &mut step);
        rest.copy_from_slice(&step[..rest.len()]);
    }
}

#[inline(always)]
fn take_step(streams: &mut Streams, bound: u32, redraw_below: u32, indices: &mut [u32; OF_A_STEP]) {
    let words = streams.next();
    let mut fractions = [0; OF_A_STEP];
    let mut least = u32::MAX;
    for lane in 0..LANES {
        let lower = (words[lane] & u64::from(u32::MAX)) * u64::from(bound);
        let upper = (words[lane] >> 32) * u64::from(bound);
        (indices[lane], fractions[lane]) = ((lower >> 32) as u32, lower as u32);
        (indices[lane + LANES], fractions[lane + LANES]) = ((upper >> 32) as u32, upper as u32);
        least = least.min(lower as u32).min(upper as u32);
    }
    if least < redraw_below {
        redraw(streams, bound, redraw_below, indices, &fractions);
    }
}

/// Draws anew the indices whose fractions favour them.
#[cold]
#[inline(never)]
fn redraw(
    streams: &mut Streams,
    bound: u32,
    redraw_below: u32,
    indices: &mut [u32; OF_A_STEP],
    fractions: &[u32; OF_A_STEP],
) {
    for (index, fraction) in indices.iter_mut().zip(fractions) {
        let mut fraction = *fraction;
        while fraction < redraw_below {
            let product = (streams.next()[0] >> 32) * u64::from(bound);
            (*index, fraction) = ((product >> 32) as u32, product as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::seed::Seed;

    #[test]
    fn every_index_is_as_likely() {
        // The last bound has nearly half of all words drawn again.
        for bound in [1, 2, 20, 400, 8000, 12_001, (1 << 31) + 1] {
            let mut streams = Streams::new(Seed(7), "test", 0);
            let mut drawn = vec![0; OF_A_STEP * 250 + 5];
            fill(&mut streams, bound, &mut drawn);
            assert!(drawn.iter().all(|&at| at < bound));
            let (draws, bound) = (drawn.len() as f64, f64::from(bound));
            let sum = drawn.iter().map(|&at| f64::from(at)).sum::<f64>();
            let (mean, variance) = ((bound - 1.0) / 2.0, (bound * bound - 1.0) / 12.0);
            let deviation = (sum / draws - mean) / (variance / draws).sqrt().max(f64::MIN_POSITIVE);
            assert!(deviation.abs() < 4.5, "{bound}: {deviation} standard errors off");
        }
    }

    #[test]
    fn all_places_of_a_step_are_drawn_apart() {
        let mut streams = Streams::new(Seed(7), "test", 1);
        let mut drawn = vec![0; 1024];
        fill(&mut streams, u32::MAX, &mut drawn);
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 1024);
    }
}
