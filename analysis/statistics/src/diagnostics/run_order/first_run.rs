//! Whether the first run of a group differs from the rest.

use super::RunOrderError;
use crate::distribution::{Tails, normal};
use crate::inference::{Alternative, Caveat, PValue};
use crate::sample::Sample;
use serde::Serialize;

/// The rank of the first run among its group, summed over groups: of a cell, or of the runs that each host made.
///
/// In random order the first run has each rank of its group with one probability; the sum's law is their
/// convolution, given the ties. It is exact up to [`FirstRunEffect::EXACT_UP_TO`] runs in all, then normal.
///
/// ```
/// use speedup_statistics::diagnostics::run_order::FirstRunEffect;
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // On each of three hosts the first of four runs is the slowest.
/// let host = Sample::new(vec![9.0, 1.0, 2.0, 3.0])?;
/// let effect = FirstRunEffect::new(&[host.clone(), host.clone(), host])?;
/// assert!((effect.p_value(Alternative::Greater).get() - 1.0 / 64.0).abs() < 1e-12);
/// assert_eq!(effect.difference(), 7.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FirstRunEffect {
    groups: usize,
    runs: usize,
    /// Twice the sum of the first runs' midranks.
    doubled_rank_sum: u64,
    difference: f64,
    #[serde(skip)]
    tails: Tails,
}

impl FirstRunEffect {
    /// The method's full name.
    pub const NAME: &'static str = "rank of the first run among its group (permutation law)";
    /// With more runs than this in all groups the law is taken as normal.
    pub const EXACT_UP_TO: usize = 1_000;

    /// Of groups that are each in run order; groups of one run are left out, since they have no others.
    ///
    /// # Errors
    /// [`RunOrderError`] when no group has two runs, or no group varies.
    pub fn new(groups: &[Sample]) -> Result<Self, RunOrderError> {
        let useful: Vec<&Sample> = groups.iter().filter(|group| group.len() > 1).collect();
        let runs = useful.iter().map(|group| group.len()).sum();
        if useful.is_empty() {
            return Err(RunOrderError::TooFew { runs: groups.len().min(1), needed: 2 });
        }
        if useful.iter().all(|group| group.is_constant()) {
            return Err(RunOrderError::Constant);
        }
        let ranks: Vec<Vec<u64>> = useful.iter().map(|group| doubled_midranks(group)).collect();
        let doubled_rank_sum =
            useful.iter().zip(&ranks).map(|(group, ranks)| ranks[position_of_first(group)]).sum();
        let tails = if runs <= Self::EXACT_UP_TO {
            exact_tails(&ranks, doubled_rank_sum)
        } else {
            normal_tails(&ranks, doubled_rank_sum)
        };
        let difference = typical_difference(&useful);
        Ok(Self { groups: useful.len(), runs, doubled_rank_sum, difference, tails })
    }

    /// The groups that had more than one run.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The median over groups of the first run less the median of the others, in the unit of the observations.
    pub fn difference(&self) -> f64 {
        self.difference
    }

    /// The p-value of random order; greater is a first run that is slower than the others, if the values are times.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        alternative.p_value(self.tails.lower, self.tails.upper)
    }

    /// What the reader must know.
    pub fn caveats(&self) -> Vec<Caveat> {
        if self.runs <= Self::EXACT_UP_TO { Vec::new() } else { vec![Caveat::NormalApproximation] }
    }
}

/// Twice the midrank of each observation in ascending order: a whole number.
fn doubled_midranks(group: &Sample) -> Vec<u64> {
    let mut ranks = Vec::with_capacity(group.len());
    for equal in group.sorted().chunk_by(|a, b| a == b) {
        let below = ranks.len() as u64;
        let rank = 2 * below + equal.len() as u64 + 1;
        ranks.extend(equal.iter().map(|_| rank));
    }
    ranks
}

fn position_of_first(group: &Sample) -> usize {
    let first = group.in_run_order()[0];
    group.sorted().partition_point(|x| *x < first)
}

fn typical_difference(groups: &[&Sample]) -> f64 {
    let difference = |group: &&Sample| {
        let (first, others) = group.in_run_order().split_first()?;
        Some(first - Sample::new(others.to_vec()).ok()?.median())
    };
    let differences: Vec<f64> = groups.iter().filter_map(difference).collect();
    Sample::new(differences).map_or(f64::NAN, |differences| differences.median())
}

/// `P[≤]` and `P[≥]` of the doubled sum.
fn exact_tails(ranks: &[Vec<u64>], observed: u64) -> Tails {
    let mut law = vec![1.0];
    for group in ranks {
        let mut longer = vec![0.0; law.len() + 2 * group.len()];
        let share = 1.0 / group.len() as f64;
        for (at, probability) in law.iter().enumerate().filter(|(_, probability)| **probability > 0.0) {
            for rank in group {
                longer[at + *rank as usize] += probability * share;
            }
        }
        law = longer;
    }
    let observed = observed as usize;
    Tails { lower: law[..=observed].iter().sum(), upper: law[observed..].iter().sum() }
}

fn normal_tails(ranks: &[Vec<u64>], observed: u64) -> Tails {
    let (mut mean, mut variance) = (0.0, 0.0);
    for group in ranks {
        let n = group.len() as f64;
        mean += n + 1.0;
        variance += group.iter().map(|rank| (*rank as f64 - n - 1.0).powi(2)).sum::<f64>() / n;
    }
    let sd = f64::sqrt(variance);
    // The doubled ranks of groups without ties are 2 apart: half of that is the continuity correction.
    let excess = observed as f64 - mean;
    Tails { lower: normal::tails((excess + 1.0) / sd).lower, upper: normal::tails((excess - 1.0) / sd).upper }
}
