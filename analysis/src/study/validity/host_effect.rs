//! Whether it mattered on which host a run was made, over all cells at once.
//!
//! Every run is taken less its cell's mean and in its cell's standard deviations, so that benchmarks of different
//! lengths and versions of different speeds count alike. Where each host served one run a host cannot be told from its
//! run, and nothing is tested: that is the price of independence, and what a selftest of the pool is for.

use super::diagnostic::{DiagnosedCell, DiagnosticReport, Sign};
use crate::study::gather::evidence::HostLabel;
use crate::{
    conclusion::Reason, conclusion::ReasonCode, conclusion::Verdict, count::counted, count::percent,
};
use serde::{Deserialize, Serialize};
use speedup_statistics::diagnostics::host_effect::{CellsAndHosts, HostEffectError, HostRanks};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample};
use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet};

/// Outlying hosts that are named; the others are counted.
const MOST_HOSTS_NAMED: usize = 10;

/// Whether hosts differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostEffectReport {
    /// Hosts served several runs, or sets of hosts, where several serve a run together.
    Tested {
        /// The full name of the method.
        method: String,
        /// The hosts.
        hosts: u64,
        /// The sets of hosts, which are what is compared where runs have several hosts; absent where each has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sets: Option<u64>,
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
        /// Hosts that are unlike the others, where runs have several hosts: of these more can be seen than of their
        /// sets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outlying: Option<OutlyingReport>,
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

/// A host that is unlike the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlyingHost {
    /// Its id.
    pub host: String,
    /// What people call it, where that is known and no other host of the experiment has the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// What the hosts are called that served all of its runs with it, and no others, so that it cannot be told which
    /// of them it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
    /// Its runs; those in which it took part, where runs have several hosts.
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
    fn called(&self) -> String {
        let name = self.host_name.as_ref().unwrap_or(&self.host);
        match self.together.is_empty() {
            true => name.clone(),
            false => format!("{name} or {}", self.together.join(" or ")),
        }
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
        if cells.iter().any(|cell| !cell.gangs.is_empty()) {
            return Self::of_gangs(cells, names, level);
        }
        let cells: Vec<(Cow<'_, Sample>, Vec<u32>)> =
            cells.iter().flat_map(DiagnosedCell::by_build_and_class).collect();
        let cells: Vec<(&Sample, &[u32])> =
            cells.iter().map(|(sample, hosts)| (&**sample, &hosts[..])).collect();
        let (found, ranks) = rayon::join(|| CellsAndHosts::new(&cells), || HostRanks::new(&cells, level));
        match found {
            Ok(found) => Self::Tested {
                method: CellsAndHosts::NAME.to_owned(),
                hosts: found.hosts() as u64,
                sets: None,
                runs: found.runs() as u64,
                share: found.estimate(),
                test: DiagnosticReport::new(found.f(), found.p_value()),
                outlying: ranks.ok().map(|found| {
                    OutlyingReport::new(&found, names, |host| difference(&cells, |of| *of == host))
                }),
            },
            Err(error) => Self::NotTested { reason: refusal(error), outlying: None },
        }
    }

    /// Of runs of which some have several hosts: a set of hosts that served several runs is what one host is
    /// otherwise, and each host is compared by the runs in which it took part.
    fn of_gangs(cells: &[DiagnosedCell<'_>], names: &[HostLabel], level: ConfidenceLevel) -> Self {
        let cells: Vec<(Cow<'_, Sample>, Vec<Vec<u32>>)> =
            cells.iter().flat_map(DiagnosedCell::gangs_by_build_and_class).collect();
        let gangs: Vec<(&Sample, &[Vec<u32>])> =
            cells.iter().map(|(sample, hosts)| (&**sample, &hosts[..])).collect();
        let outlying = HostRanks::from_gangs(&gangs, level).ok().map(|found| {
            OutlyingReport::new(&found, names, |host| difference(&gangs, |of| of.contains(&host)))
        });
        let mut numbers: BTreeMap<&[u32], u32> = BTreeMap::new();
        let mut number = |set| {
            let next = numbers.len() as u32;
            *numbers.entry(set).or_insert(next)
        };
        let sets: Vec<(&Sample, Vec<u32>)> = gangs
            .iter()
            .map(|(sample, of_runs)| (*sample, of_runs.iter().map(|set| number(set.as_slice())).collect()))
            .collect();
        let sets: Vec<(&Sample, &[u32])> = sets.iter().map(|(sample, sets)| (*sample, &sets[..])).collect();
        match CellsAndHosts::new(&sets) {
            Ok(found) => {
                let hosts: BTreeSet<u32> = numbers.keys().flat_map(|set| set.iter().copied()).collect();
                Self::Tested {
                    method: CellsAndHosts::NAME_OF_SETS.to_owned(),
                    hosts: hosts.len() as u64,
                    sets: Some(found.hosts() as u64),
                    runs: found.runs() as u64,
                    share: found.estimate(),
                    test: DiagnosticReport::new(found.f(), found.p_value()),
                    outlying,
                }
            }
            Err(error) => Self::NotTested { reason: refusal_of_sets(error), outlying },
        }
    }

    /// The tests with what they are signs of.
    pub(crate) fn tests(&mut self) -> Vec<(Sign, &mut DiagnosticReport)> {
        let (test, outlying) = match self {
            Self::NotTested { outlying, .. } => (None, outlying),
            Self::Tested { test, outlying, .. } => (Some((Sign::HostEffect, test)), outlying),
        };
        let outlying = outlying.as_mut().map(|outlying| (Sign::OutlyingHosts, &mut outlying.test));
        test.into_iter().chain(outlying).collect()
    }

    /// The same, to add to.
    pub(crate) fn outlying_mut(&mut self) -> Option<&mut OutlyingReport> {
        match self {
            Self::Tested { outlying, .. } | Self::NotTested { outlying, .. } => outlying.as_mut(),
        }
    }

    /// The outlying hosts, if they were looked for.
    pub fn outlying(&self) -> Option<&OutlyingReport> {
        match self {
            Self::Tested { outlying, .. } | Self::NotTested { outlying, .. } => outlying.as_ref(),
        }
    }

    /// What is known, in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotTested { reason, .. } => reason.sentence.clone(),
            Self::Tested { hosts, sets, runs, share, test, .. } => {
                let (what, of, one) = match sets {
                    Some(sets) => ("Sets of hosts", counted(*sets, "set"), "one set"),
                    None => ("Hosts", counted(*hosts, "host"), "one host"),
                };
                format!(
                    "{what} make {} of the variance within cells ({of}, {}; F test, adjusted p-value {}): runs of {one} \
                    resemble each other, so use policy = \"distinct\", or hosts that are alike.",
                    percent((share * 1e3).round() / 1e3),
                    counted(*runs, "run"),
                    crate::count::p_value(test.adjusted)
                )
            }
        }
    }
}

impl OutlyingReport {
    /// `difference` is the mean of a host's runs less that of the others, in standard deviations of a cell.
    fn new(found: &HostRanks, names: &[HostLabel], difference: impl Fn(u32) -> f64) -> Self {
        let label = |host: u32| names.get(host as usize).cloned().unwrap_or_default();
        let called = |host: &u32| {
            let (host, host_name) = label(*host);
            host_name.unwrap_or(host)
        };
        let named = found.outlying().iter().take(MOST_HOSTS_NAMED).map(|rank| {
            let (host, host_name) = label(rank.host);
            OutlyingHost {
                host,
                host_name,
                together: rank.together.iter().map(called).collect(),
                runs: rank.runs as u64,
                difference: difference(rank.host),
                slower_percent: Some(100.0 * rank.slower),
                p_value: Some(rank.p.told()),
                adjusted: rank.adjusted.get(),
            }
        });
        Self {
            method: HostRanks::NAME.to_owned(),
            compared: found.hosts() as u64,
            test: DiagnosticReport::new(found.most_unlikely().z.abs(), found.p_value()),
            hosts: named.collect(),
            more: found.outlying().len().saturating_sub(MOST_HOSTS_NAMED) as u64,
            without: Vec::new(),
        }
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
            None => host.called(),
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
fn difference<T>(cells: &[(&Sample, &[T])], is_own: impl Fn(&T) -> bool) -> f64 {
    let (mut own, mut others) = ((0.0, 0.0), (0.0, 0.0));
    for (sample, hosts) in cells {
        let Some(sd) = sample.standard_deviation().filter(|sd| *sd > 0.0) else { continue };
        for (value, of) in sample.in_run_order().iter().zip(*hosts) {
            let (sum, count) = if is_own(of) { &mut own } else { &mut others };
            *sum += (value - sample.mean()) / sd;
            *count += 1.0;
        }
    }
    if own.1 > 0.0 && others.1 > 0.0 { own.0 / own.1 - others.0 / others.1 } else { 0.0 }
}

/// Why sets of hosts cannot be compared.
fn refusal_of_sets(error: HostEffectError) -> Reason {
    match error {
        HostEffectError::Unrepeated => Reason::new(
            ReasonCode::HostServedOnce,
            "Each set of hosts served one run or one cell only, so set and run cannot be told apart, and it cannot be \
                tested whether sets differ: let few hosts make many runs (policy \"any\") in an experiment of its own",
        ),
        HostEffectError::FewHosts { hosts: 1.., .. } => Reason::new(
            ReasonCode::OneHost,
            "All runs were made on one set of hosts, so there is no other to compare it with",
        ),
        HostEffectError::FewHosts { .. } | HostEffectError::Unmatched { .. } | HostEffectError::Constant => {
            refusal(error)
        }
    }
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
