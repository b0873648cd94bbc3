//! The share of the benchmarks on which a candidate is truly faster by at least some amount, with a band that covers it: what a
//! count of point estimates (`fast_p` of KernelBench) leaves open.
//!
//! Holm's adjustment shows, with one risk for all, some benchmarks to be faster than by the amount, and others to be less fast.
//! Those are the ends of the band; what failed is not faster. The two sides are the tails of one two-sided test, so that both ends
//! hold together at its level.

use super::{Inquiry, InquiryError, pairing::Pairing};
use crate::conclusion::Verdict;
use crate::gate::Conclusion;
use serde::Serialize;
use speedup_statistics::inference::Threshold;

/// The most amounts that are asked for: each is an analysis of its own.
pub const MOST_SHARES: usize = 16;

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
        let mut shares = Vec::new();
        if self.faster_by.len() > MOST_SHARES {
            return Err(InquiryError::TooManyShares(self.faster_by.len()));
        }
        for &by in &self.faster_by {
            if !(0.0..=1e6).contains(&by) {
                return Err(InquiryError::FasterBy(by));
            }
            self.method.check_gate().map_err(InquiryError::SharesOfMethod)?;
            let slowed = self.with_candidates_slower(1.0 + by);
            let slowed = Self { noise_threshold: Threshold::NONE, faster_by: Vec::new(), ..slowed };
            let beyond = slowed.answer()?.gates;
            for (_, candidate) in pairing.candidates() {
                shares.push(FasterShare {
                    candidate: candidate.to_owned(),
                    by,
                    benchmarks: pairing.benchmarks.len() + pairing.unmatched.len(),
                    observed: of_benchmarks(gates, candidate)
                        .filter(|one| one.speedup.is_some_and(|speedup| speedup >= 1.0 + by))
                        .count(),
                    shown: with_verdict(&beyond, candidate, Verdict::Faster),
                    excluded: with_verdict(&beyond, candidate, Verdict::Slower) + pairing.failures(candidate),
                });
            }
        }
        Ok(shares)
    }
}

/// The conclusions on the benchmarks themselves.
fn of_benchmarks<'g>(gates: &'g [Conclusion], candidate: &'g str) -> impl Iterator<Item = &'g Conclusion> {
    gates
        .iter()
        .filter(move |one| one.candidate == candidate && one.benchmark.is_some() && one.endpoint.is_none())
}

fn with_verdict(gates: &[Conclusion], candidate: &str, verdict: Verdict) -> usize {
    of_benchmarks(gates, candidate).filter(|one| one.adjusted_verdict == verdict).count()
}
