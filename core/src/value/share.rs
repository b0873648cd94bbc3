//! Shares of a bound that many have in common. Where the first to come may take all of it, one user
//! who means no harm shuts out everyone else; where each has a fixed part, few of them together do.

/// The part of what others have left that one may have.
const PART: u64 = 4;

/// Returns how much of a common bound one may have while others have `others` of it: a quarter of the rest, rounded up.
///
/// So one alone gets a quarter of it, and whoever has nothing gets something until nothing is left. Each who takes all that
/// he may leaves three quarters to the others: after ten of them, a twentieth of the bound is still there.
pub const fn share(bound: u64, others: u64) -> u64 {
    bound.saturating_sub(others).div_ceil(PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each has after everyone, one after the other, has taken all that he may.
    fn taken_by_all(bound: u64, users: u64) -> Vec<u64> {
        let mut taken = Vec::new();
        for _ in 0..users {
            taken.push(share(bound, taken.iter().sum()));
        }
        taken
    }

    #[test]
    fn one_alone_gets_a_quarter() {
        for (bound, part) in [(1_000, 250), (16, 4), (5, 2), (1, 1), (0, 0)] {
            assert_eq!(share(bound, 0), part);
        }
        assert_eq!(share(10, 11), 0, "more are there than the bound of a later release");
    }

    #[test]
    fn whoever_has_nothing_gets_something_until_nothing_is_left() {
        for bound in 0..200 {
            for others in 0..=bound {
                assert_eq!(share(bound, others) > 0, others < bound);
            }
        }
    }

    #[test]
    fn those_who_take_all_they_may_leave_something_to_the_next() {
        let taken = taken_by_all(1_000, 10);
        assert!(taken.is_sorted_by(|one, next| one > next), "{taken:?}");
        assert!(1_000 - taken.iter().sum::<u64>() >= 50, "{taken:?}");
        assert!(taken_by_all(1_000, 1_000).iter().sum::<u64>() <= 1_000);
    }

    /// Nobody's share grows by what he takes himself, so the order of requests does not matter.
    #[test]
    fn what_one_has_does_not_change_the_own_share_and_more_of_others_makes_it_no_larger() {
        for others in 0..100 {
            assert!(share(100, others + 1) <= share(100, others));
        }
    }
}
