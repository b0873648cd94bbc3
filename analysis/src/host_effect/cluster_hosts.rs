//! Whether the clusters of a mixture are hosts.

use crate::{Caveat, PValue};
use serde::Serialize;
use speedup_core::seed::{Seed, shuffle};
use std::collections::BTreeMap;
use thiserror::Error;

/// More shuffles than this say nothing more.
pub const MOST_DRAWS: u64 = 1_000_000;

/// The association of cluster labels with hosts: Pearson's χ² of their table, its p-value by shuffling the labels over the
/// runs, (1 + draws at least as large)/(1 + draws) (Hope, JRSS B 30, 1968; R's `chisq.test(simulate.p.value = TRUE)`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClusterHosts {
    chi_square: f64,
    cramers_v: f64,
    draws: u64,
    as_large: u64,
}

/// Why no association can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClusterHostsError {
    /// Every run has one cluster and one host.
    #[error("{clusters} cluster labels and {hosts} hosts are named, but every run has one of each")]
    Unmatched {
        /// Labels.
        clusters: usize,
        /// Hosts.
        hosts: usize,
    },
    /// One cluster or one host is associated with nothing.
    #[error("an association needs at least two clusters and two hosts, and there are {clusters} and {hosts}")]
    OneLevel {
        /// Different clusters.
        clusters: usize,
        /// Different hosts.
        hosts: usize,
    },
    /// No draws, or too many.
    #[error("between 1 and {MOST_DRAWS} draws are made, and {0} is not such a number")]
    Draws(u64),
}

impl ClusterHosts {
    /// The method's full name.
    pub const NAME: &'static str = "chi-squared association of clusters and hosts (seeded permutation)";

    /// Of runs with these cluster labels and hosts.
    ///
    /// # Errors
    /// [`ClusterHostsError`] for different lengths, a single cluster or host, or an absurd number of draws.
    pub fn new(clusters: &[u32], hosts: &[u32], draws: u64, seed: Seed) -> Result<Self, ClusterHostsError> {
        if clusters.len() != hosts.len() {
            return Err(ClusterHostsError::Unmatched { clusters: clusters.len(), hosts: hosts.len() });
        }
        if draws == 0 || draws > MOST_DRAWS {
            return Err(ClusterHostsError::Draws(draws));
        }
        let (mut labels, columns) = numbered(clusters);
        let (hosts, rows) = numbered(hosts);
        if columns.len() < 2 || rows.len() < 2 {
            return Err(ClusterHostsError::OneLevel { clusters: columns.len(), hosts: rows.len() });
        }
        let mut table = Table { counts: vec![0; rows.len() * columns.len()], rows, columns };
        let chi_square = table.chi_square(&hosts, &labels);
        // Tables with the same χ² sum it in different orders.
        let threshold = chi_square - 1e-9 * chi_square.abs().max(1e-9);
        let mut random = seed.child("association of clusters and hosts");
        let mut as_large = 0;
        for _ in 0..draws {
            shuffle(&mut labels, &mut random);
            as_large += u64::from(table.chi_square(&hosts, &labels) >= threshold);
        }
        let least = table.rows.len().min(table.columns.len()) as f64 - 1.0;
        let cramers_v = (chi_square.max(0.0) / (labels.len() as f64 * least)).sqrt();
        Ok(Self { chi_square, cramers_v, draws, as_large })
    }

    /// χ².
    pub fn chi_square(&self) -> f64 {
        self.chi_square
    }

    /// Cramér's V: 0 for no association, 1 where the host determines the cluster or the cluster the host.
    pub fn cramers_v(&self) -> f64 {
        self.cramers_v
    }

    /// The p-value of labels that do not know their hosts; never below 1/(1 + draws).
    pub fn p_value(&self) -> PValue {
        PValue::clamped((1 + self.as_large) as f64 / (1 + self.draws) as f64)
    }

    /// What the reader must know.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::ByDraws { draws: self.draws }]
    }
}

/// The levels as positions 0, 1, …, and how often each occurs.
fn numbered(levels: &[u32]) -> (Vec<usize>, Vec<u64>) {
    let mut positions: BTreeMap<u32, usize> = levels.iter().map(|level| (*level, 0)).collect();
    for (number, position) in positions.values_mut().enumerate() {
        *position = number;
    }
    let mut counts = vec![0; positions.len()];
    let numbered: Vec<usize> = levels.iter().map(|level| positions[level]).collect();
    for position in &numbered {
        counts[*position] += 1;
    }
    (numbered, counts)
}

/// A table whose margins stay.
struct Table {
    rows: Vec<u64>,
    columns: Vec<u64>,
    counts: Vec<u64>,
}

impl Table {
    /// n(Σ O²/(row · column) − 1).
    fn chi_square(&mut self, of_rows: &[usize], of_columns: &[usize]) -> f64 {
        self.counts.fill(0);
        for (row, column) in of_rows.iter().zip(of_columns) {
            self.counts[row * self.columns.len() + column] += 1;
        }
        let mut sum = 0.0;
        for (cells, row) in self.counts.chunks(self.columns.len()).zip(&self.rows) {
            for (cell, column) in cells.iter().zip(&self.columns) {
                sum += (cell * cell) as f64 / (row * column) as f64;
            }
        }
        of_rows.len() as f64 * (sum - 1.0)
    }
}
