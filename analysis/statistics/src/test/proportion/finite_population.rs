//! A share of a finite population from which benchmarks were drawn without replacement.

/// The fewest and the most members of a population of `size` that may be accelerated, `accelerated` of `drawn` being so: all K
/// that neither of the two exact tests, each at half the `risk`, rejects. The law is the hypergeometric one.
///
/// A tail as large as half the risk rejects, so that the truth is missed with a probability of at most the risk.
pub(super) fn members(accelerated: u64, drawn: u64, size: u64, risk: f64) -> (u64, u64) {
    // What was seen bounds the members; the tail of so many or more grows with them, the other one falls.
    let fewest = accelerated;
    let most = size - (drawn - accelerated);
    let tails = |members| Tails::new(accelerated, Population { members, drawn, size });
    let rejects = |tail: f64| tail <= risk / 2.0 * (1.0 + ROUNDING);
    let mut rejected_from = fewest;
    let mut kept = most;
    // Below `fewest` nothing need be asked: fewer were not seen.
    while rejected_from < kept {
        let middle = rejected_from + (kept - rejected_from) / 2;
        if rejects(tails(middle).at_least) { rejected_from = middle + 1 } else { kept = middle }
    }
    let lowest = kept;
    let mut kept = fewest;
    let mut rejected_to = most;
    while kept < rejected_to {
        let middle = rejected_to - (rejected_to - kept) / 2;
        if rejects(tails(middle).at_most) { rejected_to = middle - 1 } else { kept = middle }
    }
    (lowest, kept)
}

/// A level of 80 % leaves a risk of 0.19999999999999996, and a tail of one tenth is its half.
const ROUNDING: f64 = 1e-12;

#[derive(Clone, Copy)]
struct Population {
    members: u64,
    drawn: u64,
    size: u64,
}

/// The probabilities of drawing at most, and at least, so many members.
struct Tails {
    at_most: f64,
    at_least: f64,
}

impl Tails {
    /// By the ratios of neighbouring probabilities from the most probable count on, whose term is 1: no term overflows, and
    /// only positive terms are added.
    fn new(count: u64, of: Population) -> Self {
        let Population { members, drawn, size } = of;
        let others = size - members;
        let least = drawn.saturating_sub(others);
        let most = drawn.min(members);
        let mode = (u128::from(drawn + 1) * u128::from(members + 1) / u128::from(size + 2)) as u64;
        let mode = mode.clamp(least, most);
        // P[i + 1]/P[i] = (K − i)(b − i) / ((i + 1)(N − K − b + i + 1)).
        let ratio = |i: u64| {
            let rising = (members - i) as f64 * (drawn - i) as f64;
            rising / ((i + 1) as f64 * ((others + i + 1) - drawn) as f64)
        };
        let mut sums = [0.0; 3];
        let mut add = |i: u64, term: f64| {
            sums[match i.cmp(&count) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => 1,
                std::cmp::Ordering::Greater => 2,
            }] += term;
        };
        add(mode, 1.0);
        let mut term = 1.0;
        for i in mode..most {
            term *= ratio(i);
            add(i + 1, term);
        }
        let mut term = 1.0;
        for i in (least..mode).rev() {
            term /= ratio(i);
            add(i, term);
        }
        let [below, at, above] = sums;
        let all = below + at + above;
        Self { at_most: (below + at) / all, at_least: (at + above) / all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C(n, k) in whole numbers.
    fn binomial(n: u64, k: u64) -> u128 {
        if k > n {
            return 0;
        }
        (1..=k.min(n - k)).fold(1_u128, |ways, i| ways * u128::from(n - k.min(n - k) + i) / u128::from(i))
    }

    #[test]
    fn one_of_four_drawn_from_five() {
        assert_eq!(members(1, 4, 5, 0.05), (1, 2));
        assert_eq!(members(0, 4, 4, 0.05), (0, 0));
        // Of a population without end the ends are Clopper and Pearson's of 3 of 4.
        let (lowest, highest) = members(3, 4, 1_000_000_000_000, 0.05);
        assert_eq!((lowest / 10_000_000, highest / 10_000_000), (19_412, 99_369));
    }

    /// For every population up to 60, every number drawn and every number of members, by whole numbers: the members are
    /// missed at most as often as the risk allows, and the ends are members that there can be.
    #[test]
    fn every_small_population_is_covered() {
        for (size, hundredths) in
            (1..=60).flat_map(|size| [80_u64, 90, 95, 99].map(|level| (size, 100 - level)))
        {
            let risk = 1.0 - (1.0 - hundredths as f64 / 100.0);
            for drawn in 1..=size {
                let intervals: Vec<_> = (0..=drawn).map(|a| members(a, drawn, size, risk)).collect();
                for (a, (lowest, highest)) in (0..=drawn).zip(&intervals) {
                    assert!(a <= *lowest && lowest <= highest && *highest <= size - (drawn - a));
                }
                for truth in 0..=size {
                    let ways = |a: u64| binomial(truth, a) * binomial(size - truth, drawn - a);
                    let missed = (0..=drawn)
                        .zip(&intervals)
                        .filter(|(_, (lowest, highest))| truth < *lowest || *highest < truth);
                    let missed: u128 = missed.map(|(a, _)| ways(a)).sum();
                    assert!(
                        missed * 100 <= binomial(size, drawn) * u128::from(hundredths),
                        "{drawn} of {size}, {truth} members, risk {risk}"
                    );
                }
            }
        }
    }
}
