//! Whether one of several members is the extreme one more often than chance makes it.

use crate::{distribution::binomial, inference::PValue};
use serde::Serialize;

/// The member of several that is the extreme one, say the slowest, more often than chance explains best.
///
/// Of members that can be exchanged each is the extreme one of a trial with the same probability, whatever the law of
/// their values, as long as there is but one: trials with a tie say nothing and are left out beforehand. So how often
/// a member is it is binomial, exactly; each member could have been the one (Bonferroni).
///
/// ```
/// use speedup_statistics::diagnostics::{MostOften, OftenCount};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Of four ranks the third was the slowest in five of six runs, the first in one.
/// let counts = [(0, 1), (2, 5)].map(|(member, hits)| OftenCount { member, hits, trials: 6 });
/// let found = MostOften::new(&counts, 4, 0.25).ok_or("there were trials")?;
/// // P[K ≥ 5] = (6 · 3 + 1)/4⁶, and any of four could have been it.
/// assert_eq!((found.of.member, found.alike), (2, 0));
/// assert!((found.adjusted.get() - 4.0 * 19.0 / 4096.0).abs() < 1e-15);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MostOften {
    /// The member, with how often it was the extreme one.
    pub of: OftenCount,
    /// How many others were it as often, of as many trials.
    pub alike: usize,
    /// How often chance would make it so: the mean.
    pub expected: f64,
    /// The probability that chance makes this member so as often or more.
    pub p: PValue,
    /// The same adjusted for the number of members.
    pub adjusted: PValue,
}

/// How often a member was the extreme one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OftenCount {
    pub member: u32,
    /// In how many trials it was.
    pub hits: u64,
    /// In how many it could have been.
    pub trials: u64,
}

impl MostOften {
    /// The method's full name.
    pub const NAME: &'static str =
        "one-sided exact binomial test of the member that is the slowest most often (Bonferroni)";

    /// Tests `members` members. `counts` lists those that were extreme at least once; under the null hypothesis each
    /// participant of a trial is extreme with probability `chance`, above 0 and below 1. Reports the least likely member, among
    /// equally unlikely ones that with more hits, then the first. `None` if no member was ever extreme.
    pub fn new(counts: &[OftenCount], members: u64, chance: f64) -> Option<Self> {
        let tail = |count: &OftenCount| match count.hits.checked_sub(1) {
            None => 1.0,
            Some(below) => binomial::tails(below, count.trials, chance).upper,
        };
        let mut found: Option<(f64, OftenCount)> = None;
        for count in counts.iter().filter(|count| count.hits > 0) {
            let p = tail(count);
            if found.is_none_or(|(least, of)| p < least || (p == least && count.hits > of.hits)) {
                found = Some((p, *count));
            }
        }
        let (p, of) = found?;
        let is_alike = |count: &&OftenCount| (count.hits, count.trials) == (of.hits, of.trials);
        Some(Self {
            of,
            alike: counts.iter().filter(is_alike).count() - 1,
            expected: of.trials as f64 * chance,
            p: PValue::clamped(p),
            adjusted: PValue::clamped(p * members as f64),
        })
    }
}
