//! Whether it mattered on which host a run was made, over all cells at once.
//!
//! Every run is taken less its cell's mean and in its cell's standard deviations, so that benchmarks of different
//! lengths and versions of different speeds count alike. Where each host served one run a host cannot be told from its
//! run, and nothing is tested: that is the price of independence, and what a selftest of the pool is for.

use super::diagnostic::{DiagnosedCell, DiagnosticReport, Sign};
use crate::conclusion::{Reason, ReasonCode, Verdict};
use crate::count::{counted, percent};
use serde::{Deserialize, Serialize};
use speedup_statistics::diagnostics::host_effect::{CellsAndHosts, HostEffectError, HostRank, HostRanks};
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::sample::Sample;

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
    /// The hosts that were compared: those with a run in a cell of several hosts.
    pub compared: u64,
    /// Whether any is outlying; the statistic is the largest distance of a rank sum in standard deviations, the p-value is
    /// Holm's over the hosts.
    pub test: DiagnosticReport,
    /// Those with a p-value of at most the report's risk among the hosts, the most unlikely first; at most ten.
    pub hosts: Vec<OutlyingHost>,
    /// Further ones.
    pub more: u64,
    /// What the verdicts would be without those named, one a candidate; empty where none is outlying, or where looks
    /// decided the number of runs.
    #[serde(default)]
    pub without: Vec<WithoutReport>,
}

/// The id of a host, and what people call it where that tells it from others.
pub(crate) type HostLabel = (String, Option<String>);

/// A host that is unlike the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlyingHost {
    /// Its id.
    pub host: String,
    /// What people call it, where that is known and no other host of the experiment has the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Its runs.
    pub runs: u64,
    /// Its mean less that of the others, in standard deviations of a cell; positive is slower.
    pub difference: f64,
    /// By how much its runs take longer than the median of the others in their cell, in percent: the median over its runs.
    /// `None` in reports from before it was told.
    #[serde(default)]
    pub slower_percent: Option<f64>,
    /// Its own two-sided p-value, likewise.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// Its p-value adjusted for the number of hosts.
    pub adjusted: f64,
}

impl OutlyingHost {
    fn called(&self) -> &str {
        self.host_name.as_ref().unwrap_or(&self.host)
    }
}

/// What the verdict on a candidate would be without the hosts that are named as outlying: to see what depends on them, not to be quoted in its
/// place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithoutReport {
    /// The candidate.
    pub candidate: String,
    /// The verdict on the suite.
    pub verdict: Verdict,
    /// Its speedup.
    pub speedup: Option<f64>,
    /// The benchmarks with another verdict than with all hosts, in plan order.
    pub changed: Vec<String>,
}

impl HostEffectReport {
    pub(crate) fn new(cells: &[DiagnosedCell<'_>], names: &[HostLabel], level: ConfidenceLevel) -> Self {
        let cells: Vec<(Sample, Vec<u32>)> =
            cells.iter().flat_map(DiagnosedCell::by_build_and_class).collect();
        let cells: Vec<(&Sample, &[u32])> =
            cells.iter().map(|(sample, hosts)| (sample, &hosts[..])).collect();
        match CellsAndHosts::new(&cells) {
            Ok(found) => Self::Tested {
                method: CellsAndHosts::NAME.to_owned(),
                hosts: found.hosts() as u64,
                runs: found.runs() as u64,
                share: found.estimate(),
                test: DiagnosticReport::new(found.f(), found.p_value()),
                outlying: OutlyingReport::new(&cells, names, level),
            },
            Err(error) => Self::NotTested { reason: refusal(error) },
        }
    }

    /// The tests with what they are signs of.
    pub(crate) fn tests(&mut self) -> Vec<(Sign, &mut DiagnosticReport)> {
        match self {
            Self::NotTested { .. } => Vec::new(),
            Self::Tested { test, outlying, .. } => {
                let outlying = outlying.as_mut().map(|outlying| (Sign::OutlyingHosts, &mut outlying.test));
                std::iter::once((Sign::HostEffect, test)).chain(outlying).collect()
            }
        }
    }

    /// The same, to add to.
    pub(crate) fn outlying_mut(&mut self) -> Option<&mut OutlyingReport> {
        match self {
            Self::Tested { outlying, .. } => outlying.as_mut(),
            Self::NotTested { .. } => None,
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
                "Hosts make {} of the variance within cells ({}, {}; F test, adjusted p-value {}): runs of one \
                    host resemble each other, so use policy = \"distinct\", or hosts that are alike.",
                percent((share * 1e3).round() / 1e3),
                counted(*hosts, "host"),
                counted(*runs, "run"),
                crate::count::p_value(test.adjusted)
            ),
        }
    }
}

impl OutlyingReport {
    fn new(cells: &[(&Sample, &[u32])], names: &[HostLabel], level: ConfidenceLevel) -> Option<Self> {
        let found = HostRanks::new(cells, level).ok()?;
        let label = |rank: &HostRank| names.get(rank.host as usize).cloned().unwrap_or_default();
        let labelled = found.outlying().iter().take(MOST_HOSTS_NAMED).map(|rank| (rank, label(rank)));
        let named = labelled.map(|(rank, (host, host_name))| OutlyingHost {
            host,
            host_name,
            runs: rank.runs as u64,
            difference: difference(cells, rank.host),
            slower_percent: Some(100.0 * rank.slower),
            p_value: Some(rank.p.told()),
            adjusted: rank.adjusted.get(),
        });
        Some(Self {
            method: HostRanks::NAME.to_owned(),
            compared: found.hosts() as u64,
            test: DiagnosticReport::new(found.most_unlikely().z.abs(), found.p_value()),
            hosts: named.collect(),
            more: found.outlying().len().saturating_sub(MOST_HOSTS_NAMED) as u64,
            without: Vec::new(),
        })
    }

    /// The outlying hosts with what they are outlying by: "host-3 (5.1 % slower, adjusted p-value < 0.0001)".
    pub fn named(&self) -> String {
        let named = self.hosts.iter().map(|host| match host.slower_percent {
            Some(percent) => format!(
                "{} ({:.1}\u{a0}% {}, {}, adjusted p-value {})",
                host.called(),
                percent.abs(),
                if percent < 0.0 { "faster" } else { "slower" },
                counted(host.runs, "run"),
                crate::count::p_value(host.adjusted)
            ),
            None => host.called().to_owned(),
        });
        let named: Vec<String> = named.collect();
        let more = match self.more {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more host")),
        };
        format!("{}{more}", named.join(", "))
    }
}

impl WithoutReport {
    /// What would change, in a sentence.
    pub fn sentence(&self) -> String {
        let Self { candidate, verdict, speedup, changed } = self;
        let size =
            speedup.map_or_else(String::new, |speedup| format!(" ({})", crate::count::ratio(speedup, None)));
        let changed = match changed.len() {
            0 => "no benchmark's verdict would change".to_owned(),
            few if few <= MOST_HOSTS_NAMED => format!("other verdicts on {}", changed.join(", ")),
            many => format!("other verdicts on {}", counted(many as u64, "benchmark")),
        };
        format!("Without them, {candidate} would be: {}{size}; {changed}.", verdict.words())
    }
}

/// The mean of a host's runs less that of the others, in standard deviations of a cell.
fn difference(cells: &[(&Sample, &[u32])], host: u32) -> f64 {
    let (mut own, mut others) = ((0.0, 0.0), (0.0, 0.0));
    for (sample, hosts) in cells {
        let Some(sd) = sample.standard_deviation().filter(|sd| *sd > 0.0) else { continue };
        for (value, of) in sample.in_run_order().iter().zip(*hosts) {
            let (sum, count) = if *of == host { &mut own } else { &mut others };
            *sum += (value - sample.mean()) / sd;
            *count += 1.0;
        }
    }
    if own.1 > 0.0 && others.1 > 0.0 { own.0 / own.1 - others.0 / others.1 } else { 0.0 }
}

fn refusal(error: HostEffectError) -> Reason {
    match error {
        HostEffectError::Unrepeated => Reason::new(
            ReasonCode::HostServedOnce,
            "Each host served one run or one cell only, so host and run cannot be told apart, and it cannot be \
                tested whether hosts differ: let hosts make several runs (policy \"any\") in an experiment of \
                its own",
        ),
        HostEffectError::FewHosts { hosts: 0, .. } => Reason::new(
            ReasonCode::NothingVaries,
            "No cell has runs that vary, so nothing can be said about hosts",
        ),
        HostEffectError::FewHosts { .. } => Reason::new(
            ReasonCode::OneHost,
            "All runs were made on one host, so there is no other to compare it with",
        ),
        HostEffectError::Unmatched { .. } => Reason::of(ReasonCode::Unmatched, &error),
        HostEffectError::Constant => {
            Reason::new(ReasonCode::Constant, "The runs of a host do not vary, so hosts cannot be compared")
        }
    }
}
