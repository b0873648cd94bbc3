//! Whether the clusters of a mixture are hosts.

use crate::inference::{Caveat, PValue};
use rand_chacha::{ChaCha8Rng, rand_core::Rng as _};
use serde::Serialize;
use speedup_core::value::seed::Seed;
use std::collections::BTreeMap;
use thiserror::Error;

/// More shuffles than this say nothing more.
pub const MOST_DRAWS: u64 = 1_000_000;
/// Shuffles at least as large as the sample's table after which the p-value is known to a fourteenth of itself: see
/// [`Shuffles::until_as_large`].
pub const ENOUGH_AS_LARGE: u64 = 200;

/// How many shuffles are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shuffles {
    most: u64,
    enough: u64,
}

/// The association of cluster labels with hosts: Pearson's χ² of their table, its p-value by shuffling the labels over the
/// runs (Hope, JRSS B 30, 1968; R's `chisq.test(simulate.p.value = TRUE)`).
///
/// ```
/// use speedup_core::value::seed::Seed;
/// use speedup_statistics::diagnostics::host_effect::{ClusterHosts, Shuffles};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Two clusters that are two hosts: χ² is the number of runs, and 2 of the C(8, 4) orders are as extreme.
/// let (clusters, hosts) = ([0, 0, 0, 0, 1, 1, 1, 1], [5, 5, 5, 5, 6, 6, 6, 6]);
/// let association = ClusterHosts::new(&clusters, &hosts, Shuffles::all(10_000), Seed(1))?;
/// assert!((association.chi_square() - 8.0).abs() < 1e-12);
/// assert!((association.cramers_v() - 1.0).abs() < 1e-12);
/// assert!((association.p_value().get() - 2.0 / 70.0).abs() < 0.01);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClusterHosts {
    chi_square: f64,
    cramers_v: f64,
    shuffles: Shuffles,
    draws: u64,
    as_large: u64,
}

/// Why no association can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClusterHostsError {
    /// Every run has one cluster and one host.
    #[error("{clusters} cluster labels and {hosts} hosts are named, but every run has one of each")]
    Unmatched { clusters: usize, hosts: usize },
    /// One cluster or one host is associated with nothing.
    #[error("an association needs at least two clusters and two hosts, but there are {clusters} and {hosts}")]
    OneLevel { clusters: usize, hosts: usize },
    #[error("the number of draws must be between 1 and {MOST_DRAWS}, not {0}")]
    Draws(u64),
}

impl Shuffles {
    /// So many.
    pub fn all(most: u64) -> Self {
        Self { most, enough: u64::MAX }
    }

    /// Until [`ENOUGH_AS_LARGE`] are at least as large as the sample's, and `most` at most. If the h-th of these is the l-th shuffle, h/l is
    /// a p-value: it is at most h/l exactly when among the first l − 1 shuffles and the sample itself no more than h are as
    /// large, and the sample has any rank among them alike (J. Besag and P. Clifford, "Sequential Monte Carlo p-values",
    /// Biometrika 78, 1991). A p-value below h/`most` is that of making all.
    pub fn until_as_large(most: u64) -> Self {
        Self { most, enough: ENOUGH_AS_LARGE }
    }
}

impl ClusterHosts {
    /// The method's full name.
    pub const NAME: &'static str = "chi-squared association of clusters and hosts (seeded permutation)";

    /// Of runs with these cluster labels and hosts.
    ///
    /// # Errors
    /// [`ClusterHostsError`] for different lengths, a single cluster or host, or an absurd number of draws.
    pub fn new(
        clusters: &[u32],
        hosts: &[u32],
        shuffles: Shuffles,
        seed: Seed,
    ) -> Result<Self, ClusterHostsError> {
        if clusters.len() != hosts.len() {
            return Err(ClusterHostsError::Unmatched { clusters: clusters.len(), hosts: hosts.len() });
        }
        if shuffles.most == 0 || shuffles.most > MOST_DRAWS {
            return Err(ClusterHostsError::Draws(shuffles.most));
        }
        let mut table = Table::new(clusters, hosts);
        let columns = table.columns;
        let rows = table.rows;
        if columns < 2 || rows < 2 {
            return Err(ClusterHostsError::OneLevel { clusters: columns, hosts: rows });
        }
        let chi_square = table.chi_square();
        // Tables with the same χ² sum it in different orders.
        let threshold = chi_square - 1e-9 * chi_square.abs().max(1e-9);
        let mut random = seed.child("association of clusters and hosts");
        let mut draws = 0;
        let mut as_large = 0;
        while draws < shuffles.most && as_large < shuffles.enough {
            shuffle(&mut table.labels, &mut random);
            draws += 1;
            as_large += u64::from(table.chi_square() >= threshold);
        }
        let least = rows.min(columns) as f64 - 1.0;
        let cramers_v = (chi_square.max(0.0) / (clusters.len() as f64 * least)).sqrt();
        Ok(Self { chi_square, cramers_v, shuffles, draws, as_large })
    }

    /// χ².
    pub fn chi_square(&self) -> f64 {
        self.chi_square
    }

    /// Cramér's V: 0 for no association, 1 where the host determines the cluster or the cluster the host.
    pub fn cramers_v(&self) -> f64 {
        self.cramers_v
    }

    /// How many shuffles were made.
    pub fn draws(&self) -> u64 {
        self.draws
    }

    /// The p-value of labels that do not know their hosts: (1 + as large)/(1 + draws) of all shuffles, never below 1/(1 + draws);
    /// as large/draws where these ended as [`Shuffles::until_as_large`] says.
    pub fn p_value(&self) -> PValue {
        let Self { draws, as_large, .. } = *self;
        if as_large >= self.shuffles.enough {
            PValue::clamped(as_large as f64 / draws as f64)
        } else {
            PValue::clamped((1 + as_large) as f64 / (1 + draws) as f64)
        }
    }

    /// What the reader must know.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::ByDraws { draws: self.draws }]
    }
}

/// A table of hosts and clusters whose margins stay, row after row.
struct Table {
    /// The cluster of each run.
    labels: Vec<u32>,
    /// Where the row of each run's host begins.
    starts: Vec<usize>,
    counts: Vec<u32>,
    /// For each cell 1/(row · column).
    weights: Vec<f64>,
    rows: usize,
    columns: usize,
}

/// Sums whose order no compiler changes.
const LANES: usize = 8;

impl Table {
    fn new(clusters: &[u32], hosts: &[u32]) -> Self {
        let (labels, columns) = numbered(clusters);
        let (hosts, rows) = numbered(hosts);
        let weight = |row: u64| columns.iter().map(move |column| 1.0 / (row * column) as f64);
        let mut weights: Vec<f64> = rows.iter().flat_map(|row| weight(*row)).collect();
        weights.resize(weights.len().next_multiple_of(LANES), 0.0);
        Self {
            labels,
            starts: hosts.into_iter().map(|host| host as usize * columns.len()).collect(),
            counts: vec![0; weights.len()],
            weights,
            rows: rows.len(),
            columns: columns.len(),
        }
    }

    /// n(Σ O²/(row · column) − 1).
    fn chi_square(&mut self) -> f64 {
        self.counts.fill(0);
        for (start, label) in self.starts.iter().zip(&self.labels) {
            self.counts[start + *label as usize] += 1;
        }
        let mut sums = [0.0; LANES];
        for (counts, weights) in self.counts.chunks_exact(LANES).zip(self.weights.chunks_exact(LANES)) {
            for ((sum, count), weight) in sums.iter_mut().zip(counts).zip(weights) {
                let count = f64::from(*count);
                *sum += count * count * weight;
            }
        }
        self.labels.len() as f64 * (sums.iter().sum::<f64>() - 1.0)
    }
}

/// The levels as positions 0, 1, …, and how often each occurs.
fn numbered(levels: &[u32]) -> (Vec<u32>, Vec<u64>) {
    let mut runs: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    levels.iter().for_each(|level| runs.entry(*level).or_default().1 += 1);
    runs.values_mut().zip(0..).for_each(|((position, _), number)| *position = number);
    (levels.iter().map(|level| runs[level].0).collect(), runs.into_values().map(|(_, runs)| runs).collect())
}

/// Fisher–Yates with numbers of 32 bits: no experiment has more runs, and a hundred thousand shuffles wait for their numbers.
fn shuffle(labels: &mut [u32], random: &mut ChaCha8Rng) {
    for last in (1..labels.len()).rev() {
        labels.swap(last, below(last as u32 + 1, random) as usize);
    }
}

/// A number below `bound`, each equally likely, nearly always without a division (D. Lemire, "Fast random integer generation in an
/// interval", ACM TOMACS 29, 2019).
fn below(bound: u32, random: &mut ChaCha8Rng) -> u32 {
    let mut product = u64::from(random.next_u32()) * u64::from(bound);
    if (product as u32) < bound {
        let uneven = bound.wrapping_neg() % bound;
        while (product as u32) < uneven {
            product = u64::from(random.next_u32()) * u64::from(bound);
        }
    }
    (product >> 32) as u32
}
