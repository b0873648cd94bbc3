//! The share of the benchmarks on which a candidate is truly faster by at least some amount, with a band that covers it: what a
//! count of point estimates (`fast_p` of KernelBench) leaves open.
//!
//! Holm's adjustment shows, with one risk for all, some benchmarks to be faster than by the amount, and others to be less fast.
//! Those are the ends of the band; what failed is not faster. The ratio's tests have two sides, so that both ends hold together at
//! their level.

use super::{Inquiry, InquiryError, pairing::Pairing, refusal::MOST_SHARES};
use crate::conclusion::Verdict;
use crate::gate::Conclusion;
use serde::Serialize;
use std::collections::BTreeSet;

/// On how many benchmarks of the suite a candidate is faster by at least an amount.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FasterShare {
    pub candidate: String,
    /// The amount: 0.5 for a speedup of at least 1.5.
    pub by: f64,
    /// All benchmarks, those without a result included.
    pub benchmarks: usize,
    /// On how many the speedup that was measured is so large.
    pub observed: usize,
    /// On how many it is shown to be.
    pub shown: usize,
    /// On how many it is shown not to be, or failed.
    pub excluded: usize,
}

impl FasterShare {
    /// The ends of the band, as shares of all benchmarks.
    pub fn band(&self) -> (f64, f64) {
        let all = self.benchmarks as f64;
        (self.shown as f64 / all, 1.0 - self.excluded as f64 / all)
    }
}

impl Inquiry {
    /// The shares that are asked for, of each candidate. `gates` are the conclusions on the samples as they are.
    pub(super) fn faster_shares(
        &self,
        gates: &[Conclusion],
        pairing: &Pairing<'_>,
    ) -> Result<Vec<FasterShare>, InquiryError> {
        if self.faster_by.len() > MOST_SHARES {
            return Err(InquiryError::TooManyShares(self.faster_by.len()));
        }
        let mut shares = Vec::new();
        for &by in &self.faster_by {
            if !(0.0..=1e6).contains(&by) {
                return Err(InquiryError::FasterBy(by));
            }
            // Faster by an amount is faster than a baseline that is slowed by it, at the same level.
            let beyond = self.slowed(by)?.answer()?.gates;
            for (number, candidate) in pairing.candidates() {
                let failures = pairing.failures(number);
                let mut share = FasterShare {
                    candidate: candidate.to_owned(),
                    by,
                    benchmarks: pairing.benchmarks.len() + pairing.unmatched.len(),
                    observed: 0,
                    shown: 0,
                    excluded: failures.len(),
                };
                for one in benchmark_conclusions(gates, candidate, &failures) {
                    share.observed += usize::from(one.speedup.is_some_and(|speedup| speedup >= 1.0 + by));
                }
                for one in benchmark_conclusions(&beyond, candidate, &failures) {
                    share.shown += usize::from(one.adjusted_verdict == Verdict::Faster);
                    share.excluded += usize::from(one.adjusted_verdict == Verdict::Slower);
                }
                shares.push(share);
            }
        }
        Ok(shares)
    }
}

/// The conclusions on a candidate's benchmarks themselves, without those that failed.
fn benchmark_conclusions<'g>(
    gates: &'g [Conclusion],
    candidate: &'g str,
    failures: &'g BTreeSet<&str>,
) -> impl Iterator<Item = &'g Conclusion> {
    gates.iter().filter(move |one| {
        let has_sample = one.benchmark.as_deref().is_some_and(|benchmark| !failures.contains(benchmark));
        one.candidate == candidate && has_sample && one.endpoint.is_none()
    })
}
