//! What the canary says of the hosts: a program of the plan's that is timed after each run and that no version changes, so
//! that a trend in its times is of the host, or of what all hosts share.
//!
//! Each host with enough readings is tested for a trend over its own readings; and all hosts together for what they have in
//! common, over the readings of each, or, where hosts served once, over the first readings of the hosts in the order in which
//! they were taken. All these tests are one family under Holm's bound.

use crate::conclusion::{WarningCode, Warnings};
use crate::count::{counted, grouped, p_value, percent};
use serde::{Deserialize, Serialize};
use speedup_core::{run::record::Record, value::id::LeaseEpoch};
use speedup_statistics::diagnostics::run_order::{Drift, RegionalDrift};
use speedup_statistics::inference::{Adjustment, Alternative, ConfidenceLevel, PValue};
use speedup_statistics::sample::Sample;
use std::collections::BTreeMap;

/// Below this many readings of a host its trend could not be significant among others.
const FEWEST_READINGS: usize = 5;
/// Drifting hosts that are named; the others are counted.
const MOST_NAMED: usize = 10;

/// What the canary says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CanaryReport {
    /// What it shows.
    pub outcome: CanaryOutcome,
    /// All of it in a sentence.
    pub sentence: String,
    /// Runs after which it was timed.
    pub readings: u64,
    /// Runs after which it failed.
    pub failed: u64,
    /// The hosts with readings.
    pub hosts: u64,
    /// Those with enough readings for a test of their own.
    pub tested: u64,
    /// The full names of the methods.
    pub method: String,
    /// What the hosts have in common; `None` where there is too little to see it.
    pub pool: Option<PoolTrend>,
    /// The hosts with a p-value of at most the report's risk in the family, the most unlikely first; at most ten.
    pub drifting: Vec<HostTrend>,
    /// Further ones.
    pub more: u64,
}

/// What the canary shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanaryOutcome {
    /// It becomes slower or faster.
    Drift,
    /// No trend was seen, which does not show that there is none.
    NoneSeen,
    /// There are too few readings to see any.
    TooFew,
}

/// The trend of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostTrend {
    /// Its id.
    pub host: String,
    /// What people call it, where that is known and no other host of the experiment has the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Its readings.
    pub readings: u64,
    /// Kendall's tau with the order of the readings; positive is slower.
    pub tau: f64,
    /// By the Theil–Sen slope, the change from its first to its last reading, in percent of its median.
    pub change_percent: f64,
    /// Its first reading, in nanoseconds.
    pub first_ns: f64,
    /// Its last.
    pub last_ns: f64,
    /// Its p-value.
    pub p_value: f64,
    /// The same adjusted for the family.
    pub adjusted: f64,
}

/// The readings of a pool's trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendOver {
    /// Those of each host.
    WithinHosts,
    /// The first of each host.
    AcrossHosts,
}

/// What the hosts have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolTrend {
    /// Over which readings.
    pub over: TrendOver,
    /// The hosts that were taken.
    pub hosts: u64,
    /// The change from first to last reading in percent of the median: of hosts that were tested alone the median, else
    /// over all hosts. `None` where the hosts have too few readings for a slope.
    pub change_percent: Option<f64>,
    /// Its p-value.
    pub p_value: f64,
    /// The same adjusted for the family.
    pub adjusted: f64,
}

/// The readings so far.
#[derive(Debug, Default)]
pub(crate) struct Canary {
    /// By the number of the host; of each in the order of the leases.
    readings: BTreeMap<u32, BTreeMap<LeaseEpoch, f64>>,
    failed: u64,
}

impl Canary {
    /// Keeps what a record says.
    pub(crate) fn keep(&mut self, host: u32, lease: LeaseEpoch, record: &Record) {
        self.failed += u64::from(record.canary_failed.is_some());
        if let Some(time) = record.canary {
            self.readings.entry(host).or_default().insert(lease, time.0 as f64);
        }
    }

    /// What they say; `names` are the ids of the hosts, by number, and `name_of` says what people call one.
    pub(crate) fn report(
        &self,
        names: &BTreeMap<u32, String>,
        name_of: impl Fn(&str) -> Option<String>,
        level: ConfidenceLevel,
    ) -> CanaryReport {
        let series =
            |readings: &BTreeMap<LeaseEpoch, f64>| Sample::new(readings.values().copied().collect()).ok();
        let named = self.readings.iter().filter_map(|(host, readings)| {
            Some((names.get(host).cloned().unwrap_or_default(), series(readings)?))
        });
        let mut hosts: Vec<(String, Sample)> = named.collect();
        hosts.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut trends: Vec<HostTrend> =
            hosts.iter().filter_map(|(host, sample)| HostTrend::new(host, sample)).collect();
        let mut pool = PoolTrend::new(&hosts, &trends, &self.first_readings());
        let family: Vec<Option<PValue>> = trends
            .iter()
            .map(|trend| trend.p_value)
            .chain(pool.iter().map(|pool| pool.p_value))
            .map(|p| Some(PValue::clamped(p)))
            .collect();
        let adjusted = Adjustment::Holm.adjust(&family);
        for (trend, p) in trends
            .iter_mut()
            .map(|trend| &mut trend.adjusted)
            .chain(pool.iter_mut().map(|pool| &mut pool.adjusted))
            .zip(adjusted)
        {
            *trend = p.map_or(1.0, PValue::get);
        }
        let tested = trends.len() as u64;
        let risk = level.risk().get();
        trends.retain(|trend| trend.adjusted <= risk);
        trends.sort_by(|a, b| a.p_value.total_cmp(&b.p_value).then_with(|| a.host.cmp(&b.host)));
        let drifts = !trends.is_empty() || pool.as_ref().is_some_and(|pool| pool.adjusted <= risk);
        let more = trends.len().saturating_sub(MOST_NAMED) as u64;
        trends.truncate(MOST_NAMED);
        let outcome = match (drifts, family.is_empty()) {
            (true, _) => CanaryOutcome::Drift,
            (false, false) => CanaryOutcome::NoneSeen,
            (false, true) => CanaryOutcome::TooFew,
        };
        trends.iter_mut().for_each(|trend| trend.host_name = name_of(&trend.host));
        let report = CanaryReport {
            outcome,
            sentence: String::new(),
            readings: hosts.iter().map(|(_, sample)| sample.len() as u64).sum(),
            failed: self.failed,
            hosts: hosts.len() as u64,
            tested,
            method: format!(
                "{} or its normal law; {}; {} over the hosts and the pool",
                Drift::NAME_EXACT,
                RegionalDrift::NAME,
                Adjustment::Holm.name()
            ),
            pool,
            drifting: trends,
            more,
        };
        CanaryReport { sentence: report.say(family.len() as u64, risk), ..report }
    }

    /// The first reading of each host, in the order in which they were taken.
    fn first_readings(&self) -> Option<Sample> {
        let first = self.readings.values().filter_map(BTreeMap::first_key_value);
        let in_order: BTreeMap<LeaseEpoch, f64> = first.map(|(lease, time)| (*lease, *time)).collect();
        Sample::new(in_order.into_values().collect()).ok()
    }
}

impl HostTrend {
    fn new(host: &str, sample: &Sample) -> Option<Self> {
        let readings = sample.in_run_order();
        let drift = Drift::new(sample).ok().filter(|_| readings.len() >= FEWEST_READINGS)?;
        let pairs = (readings.len() * (readings.len() - 1) / 2) as f64;
        let p_value = drift.p_value(Alternative::TwoSided).told();
        Some(Self {
            host: host.to_owned(),
            host_name: None,
            readings: readings.len() as u64,
            tau: drift.s() as f64 / pairs,
            change_percent: change(&drift, sample),
            first_ns: readings[0],
            last_ns: readings[readings.len() - 1],
            p_value,
            adjusted: p_value,
        })
    }
}

impl PoolTrend {
    fn new(hosts: &[(String, Sample)], trends: &[HostTrend], first: &Option<Sample>) -> Option<Self> {
        let series: Vec<Sample> = hosts.iter().map(|(_, sample)| sample.clone()).collect();
        if hosts.len() > 1
            && let Ok(found) = RegionalDrift::new(&series)
        {
            let changes = Sample::new(trends.iter().map(|trend| trend.change_percent).collect());
            let p_value = found.p_value(Alternative::TwoSided).told();
            return Some(Self {
                over: TrendOver::WithinHosts,
                hosts: found.series() as u64,
                change_percent: changes.ok().map(|changes| changes.median()),
                p_value,
                adjusted: p_value,
            });
        }
        let first = first.as_ref().filter(|first| first.len() >= FEWEST_READINGS)?;
        let drift = Drift::new(first).ok()?;
        let p_value = drift.p_value(Alternative::TwoSided).told();
        Some(Self {
            over: TrendOver::AcrossHosts,
            hosts: first.len() as u64,
            change_percent: Some(change(&drift, first)),
            p_value,
            adjusted: p_value,
        })
    }
}

/// The change over all readings by the Theil–Sen slope, in percent of the median.
fn change(drift: &Drift, sample: &Sample) -> f64 {
    100.0 * drift.slope() * (sample.len() - 1) as f64 / sample.median()
}

impl CanaryReport {
    fn say(&self, tests: u64, risk: f64) -> String {
        let of = format!("{} on {}", counted(self.readings, "reading"), counted(self.hosts, "host"));
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(" It failed after {}.", counted(failed, "run")),
        };
        let said = match self.outcome {
            CanaryOutcome::TooFew => format!(
                "The canary has too few readings to see a drift ({of}): a host needs {FEWEST_READINGS} that vary, or the pool \
                 as many hosts."
            ),
            CanaryOutcome::NoneSeen => format!(
                "No drift of the canary was seen ({of}; {} of a trend under Holm's bound at {}).{}",
                counted(tests, "test"),
                percent(1.0 - risk),
                self.of_pool(" Over")
            ),
            CanaryOutcome::Drift => {
                let hosts = self.drifting.iter().map(|trend| {
                    format!(
                        "{} {} over {} (adjusted p-value {})",
                        trend.host_name.as_ref().unwrap_or(&trend.host),
                        signed(trend.change_percent),
                        counted(trend.readings, "reading"),
                        p_value(trend.adjusted)
                    )
                });
                let mut parts: Vec<String> = hosts.collect();
                if self.more > 0 {
                    parts.push(format!("{} more", grouped(self.more)));
                }
                let hosts = match parts.is_empty() {
                    true => String::new(),
                    false => format!(" {}.", parts.join(", ")),
                };
                format!("The canary drifts ({of}):{hosts}{}", self.of_pool(" Over"))
            }
        };
        said + &failed
    }

    /// What the hosts have in common, in a sentence.
    fn of_pool(&self, over: &str) -> String {
        let Some(PoolTrend { over: kind, hosts, change_percent, adjusted, .. }) = &self.pool else {
            return String::new();
        };
        let what = match kind {
            TrendOver::WithinHosts => "within the hosts",
            TrendOver::AcrossHosts => "from host to host",
        };
        let size = change_percent.map_or_else(String::new, |percent| format!("{} ", signed(percent)));
        format!(
            "{over} {} together, {what}: {size}(adjusted p-value {}).",
            counted(*hosts, "host"),
            p_value(*adjusted)
        )
    }

    /// Raises what the reader must know.
    pub(crate) fn warn(&self, warnings: &mut Warnings) {
        if self.outcome == CanaryOutcome::Drift {
            let sentence = format!(
                "{} The hosts change during the experiment, so the spread of the runs is not that of one state: \
                    find what changes before you use the pool again.",
                self.sentence
            );
            warnings.raise(WarningCode::CanaryDrift, sentence);
        }
    }
}

/// A change with its sign: "+4.2 %".
fn signed(percent: f64) -> String {
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{:.1}\u{a0}%", percent.abs())
}
