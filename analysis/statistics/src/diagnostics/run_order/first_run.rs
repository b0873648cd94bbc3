//! Whether the first run of a group differs from the rest.

use super::RunOrderError;
use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::Tails, distribution::normal, sample::Sample, sample::median_of_sorted};
use serde::Serialize;

/// The rank of the first run among its group, summed over groups: of a cell, or of the runs that each host made.
///
/// In random order the first run has each rank of its group with one probability; the sum's law is their
/// convolution, given the ties. It is exact up to 1,000 runs in all, then normal.
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
    const EXACT_UP_TO: usize = 1_000;

    /// Of groups that are each in run order; groups of one run are left out, since they have no others.
    ///
    /// # Errors
    /// [`RunOrderError`] when no group has two runs, or no group varies.
    pub fn new(groups: &[Sample]) -> Result<Self, RunOrderError> {
        Self::from_runs(groups.iter().map(Sample::in_run_order))
    }

    /// The same of groups of finite values.
    ///
    /// # Errors
    /// As [`FirstRunEffect::new`].
    pub fn from_runs<'a>(groups: impl Iterator<Item = &'a [f64]> + Clone) -> Result<Self, RunOrderError> {
        let useful = groups.clone().filter(|group| group.len() > 1);
        let runs = useful.clone().map(<[f64]>::len).sum();
        if runs == 0 {
            return Err(RunOrderError::TooFew { runs: groups.count().min(1), needed: 2 });
        }
        let mut ranked = Ranked::default();
        let mut of_groups = Vec::new();
        let mut doubled_rank_sum = 0;
        let mut varies = false;
        let mut moments = Moments::default();
        let mut differences = Vec::new();
        for group in useful {
            differences.push(ranked.rank(group));
            doubled_rank_sum += ranked.ranks[ranked.first];
            varies |= ranked.sorted[0] < ranked.sorted[group.len() - 1];
            if runs <= Self::EXACT_UP_TO {
                of_groups.push(ranked.ranks.clone());
            } else {
                moments.add(&ranked.ranks);
            }
        }
        if !varies {
            return Err(RunOrderError::Constant);
        }
        let tails = match runs <= Self::EXACT_UP_TO {
            true => exact_tails(&of_groups, doubled_rank_sum),
            false => moments.tails(doubled_rank_sum),
        };
        let groups = differences.len();
        let difference = Sample::new(differences).map_or(f64::NAN, |differences| differences.median());
        Ok(Self { groups, runs, doubled_rank_sum, difference, tails })
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

/// One group by its values; kept for its room, as there may be as many groups as runs.
#[derive(Default)]
struct Ranked {
    /// Ascending.
    sorted: Vec<f64>,
    /// Twice the midrank of each in that order: a whole number.
    ranks: Vec<u64>,
    /// The place of the first run among them.
    first: usize,
}

impl Ranked {
    /// Ranks the runs of a group, and says by how much the first exceeds the median of the others.
    fn rank(&mut self, group: &[f64]) -> f64 {
        let first = group[0];
        self.sorted.clear();
        self.sorted.extend_from_slice(&group[1..]);
        self.sorted.sort_unstable_by(f64::total_cmp);
        let difference = first - median_of_sorted(&self.sorted);
        self.first = self.sorted.partition_point(|x| *x < first);
        self.sorted.insert(self.first, first);
        self.ranks.clear();
        for equal in self.sorted.chunk_by(|a, b| a == b) {
            let rank = 2 * self.ranks.len() + equal.len() + 1;
            self.ranks.extend(equal.iter().map(|_| rank as u64));
        }
        difference
    }
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

/// Mean and variance of the doubled sum.
#[derive(Default)]
struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    fn add(&mut self, ranks: &[u64]) {
        let n = ranks.len() as f64;
        self.mean += n + 1.0;
        self.variance += ranks.iter().map(|rank| (*rank as f64 - n - 1.0).powi(2)).sum::<f64>() / n;
    }

    fn tails(&self, observed: u64) -> Tails {
        let sd = self.variance.sqrt();
        // The doubled ranks of groups without ties are 2 apart: half of that is the continuity correction.
        let excess = observed as f64 - self.mean;
        Tails {
            lower: normal::tails((excess + 1.0) / sd).lower,
            upper: normal::tails((excess - 1.0) / sd).upper,
        }
    }
}
