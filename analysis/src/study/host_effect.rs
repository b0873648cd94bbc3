//! Whether it mattered on which host a run was made, over all cells at once.
//!
//! Every run is taken less its cell's mean and in its cell's standard deviations, so that benchmarks of different
//! lengths and versions of different speeds count alike. Where each host served one run a host cannot be told from its
//! run, and nothing is tested: that is the price of independence, and what a selftest of the pool is for.

use super::count::{counted, percent};
use super::diagnostics::{DiagnosedCell, DiagnosticReport};
use super::verdict::Reason;
use crate::host_effect::{ByHost, CellsAndHosts, HostEffectError, OutlyingHosts};
use crate::{Alternative, ConfidenceLevel, Sample};
use serde::{Deserialize, Serialize};

/// Every host is compared with the others, which is quadratic in their number.
const MOST_HOSTS_COMPARED: usize = 2_000;
/// Outlying hosts that are named; the others are counted.
const MOST_HOSTS_NAMED: usize = 10;

/// Whether hosts differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostEffectReport {
    /// Hosts served several runs.
    Tested {
        /// The full name of the method.
        method: String,
        /// The hosts.
        hosts: u64,
        /// The runs that were compared.
        runs: u64,
        /// The estimated share of the variance within cells that is of hosts.
        share: f64,
        /// Whether it is more than nothing; the statistic is F.
        test: DiagnosticReport,
        /// Hosts that are unlike the others.
        outlying: Option<OutlyingReport>,
    },
    /// It cannot be seen.
    NotTested {
        /// Why.
        reason: Reason,
    },
}

/// Hosts that are unlike the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlyingReport {
    /// The full name of the method.
    pub method: String,
    /// The hosts with at least half as many runs as the busiest: only those are compared.
    pub compared: u64,
    /// Whether any is outlying; the statistic is the largest studentised residual, the p-value is Holm's over the hosts.
    pub test: DiagnosticReport,
    /// Those with a p-value of at most the report's risk among the hosts, the farthest first; at most ten.
    pub hosts: Vec<OutlyingHost>,
    /// Further ones.
    pub more: u64,
}

/// A host that is unlike the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlyingHost {
    /// Its name.
    pub host: String,
    /// Its runs.
    pub runs: u64,
    /// Its mean less that of the others, in standard deviations of a cell; positive is slower.
    pub difference: f64,
    /// Its p-value adjusted for the number of hosts.
    pub adjusted: f64,
}

impl HostEffectReport {
    pub(super) fn new(cells: &[DiagnosedCell<'_>], names: &[String], level: ConfidenceLevel) -> Self {
        let hosts: Vec<Vec<u32>> =
            cells.iter().map(|cell| cell.seats.iter().map(|seat| seat.host).collect()).collect();
        let cells: Vec<(&Sample, &[u32])> =
            cells.iter().zip(&hosts).map(|(cell, hosts)| (cell.sample, &hosts[..])).collect();
        match CellsAndHosts::new(&cells) {
            Ok(found) => Self::Tested {
                method: CellsAndHosts::NAME.to_owned(),
                hosts: found.hosts() as u64,
                runs: found.runs() as u64,
                share: found.estimate(),
                test: DiagnosticReport::new(found.f(), found.p_value()),
                outlying: OutlyingReport::new(&cells, names, level).ok().flatten(),
            },
            Err(error) => Self::NotTested { reason: refusal(error) },
        }
    }

    /// The tests with the code names of their caveats.
    pub(super) fn tests(&mut self) -> Vec<(&'static str, &mut DiagnosticReport)> {
        match self {
            Self::NotTested { .. } => Vec::new(),
            Self::Tested { test, outlying, .. } => {
                let outlying = outlying.as_mut().map(|outlying| ("outlying_hosts", &mut outlying.test));
                std::iter::once(("host_effect", test)).chain(outlying).collect()
            }
        }
    }

    /// The outlying hosts, if they were looked for.
    pub fn outlying(&self) -> Option<&OutlyingReport> {
        match self {
            Self::Tested { outlying, .. } => outlying.as_ref(),
            Self::NotTested { .. } => None,
        }
    }

    /// What is known, in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotTested { reason } => reason.sentence.clone(),
            Self::Tested { hosts, runs, share, test, .. } => format!(
                "Hosts make {} of the variance within cells ({}, {}; F test, p-value {}): runs of one host resemble each other, \
                 so take policy = \"distinct\", or hosts that are alike.",
                percent((share * 1e3).round() / 1e3),
                counted(*hosts, "host"),
                counted(*runs, "run"),
                super::count::p_value(test.p_value)
            ),
        }
    }
}

impl OutlyingReport {
    fn new(
        cells: &[(&Sample, &[u32])],
        names: &[String],
        level: ConfidenceLevel,
    ) -> Result<Option<Self>, HostEffectError> {
        let by_host = ByHost::over_cells(cells)?;
        let half = by_host.most_runs().div_ceil(2);
        let by_host = by_host.with_at_least(half);
        if by_host.hosts() > MOST_HOSTS_COMPARED {
            return Ok(None);
        }
        let found = OutlyingHosts::new(&by_host, Alternative::TwoSided)?;
        let largest = found.verdicts().iter().map(|host| host.t.abs()).fold(0.0, f64::max);
        let mut outlying: Vec<_> =
            found.verdicts().iter().filter(|host| host.adjusted.rejects_at(level.risk())).collect();
        outlying.sort_by(|a, b| b.t.abs().total_cmp(&a.t.abs()).then(a.host.cmp(&b.host)));
        let named = outlying.iter().take(MOST_HOSTS_NAMED).map(|host| OutlyingHost {
            host: names.get(host.host as usize).cloned().unwrap_or_default(),
            runs: host.runs as u64,
            difference: host.difference,
            adjusted: host.adjusted.get(),
        });
        Ok(Some(Self {
            method: OutlyingHosts::NAME.to_owned(),
            compared: by_host.hosts() as u64,
            test: DiagnosticReport::new(largest, found.p_value()),
            hosts: named.collect(),
            more: outlying.len().saturating_sub(MOST_HOSTS_NAMED) as u64,
        }))
    }
}

fn refusal(error: HostEffectError) -> Reason {
    match error {
        HostEffectError::Unrepeated => Reason::new(
            "host_served_once",
            "Each host served one run, or one cell alone, so host and run cannot be told apart and whether hosts differ \
             cannot be tested: let hosts make several runs (policy \"any\") in an experiment of its own",
        ),
        HostEffectError::FewHosts { hosts: 0, .. } => {
            Reason::new("nothing_varies", "No cell has runs that vary, so nothing can be said of hosts")
        }
        HostEffectError::FewHosts { .. } => {
            Reason::new("one_host", "All runs were made on one host, so there is no other to compare it with")
        }
        HostEffectError::Unmatched { .. } => Reason::new("unmatched", error),
        HostEffectError::Constant => {
            Reason::new("constant", "The runs of a host do not vary, so hosts cannot be compared")
        }
    }
}
