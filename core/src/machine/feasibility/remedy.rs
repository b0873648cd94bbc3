//! What would make a plan fit a pool, each change by itself and tried before it is told.

use serde::Serialize;

use super::{Estimate, Pool, assess, can_come_again, redrawn};
use crate::experiment::{Repetition, Rule, Sameness, Scope};
use crate::independence::{Renewal, Reuse};
use crate::machine::{hosts_needed, largest_gang, needs_reboots};
use crate::plan::Plan;
use crate::value::time::Span;

/// A change after which a plan fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Remedy {
    FewerRuns {
        runs: u32,
    },
    FewerVisits {
        hosts: u32,
    },
    /// The policy `rebooted`, because hosts can boot anew.
    Rebooted {
        hosts: u32,
    },
    /// The scope `benchmark`: a host serves one run of each benchmark.
    ScopeBenchmark {
        hosts_needed: u32,
    },
    /// Hosts of all classes, which become blocks of the analysis.
    Classes {
        hosts: u32,
    },
    /// Hosts that can boot anew.
    RebootingHosts {
        more: u32,
    },
    WaitForHosts {
        more: u32,
    },
}

impl Remedy {
    /// What the user can do, as the plan and the command say it.
    pub fn words(&self) -> String {
        match self {
            Self::FewerRuns { runs } => format!("runs = {runs} in [repetitions]"),
            Self::FewerVisits { hosts } => format!("hosts = {hosts} in [repetitions]"),
            Self::Rebooted { hosts } => {
                format!("policy = \"rebooted\" in [independence], as {hosts} of the hosts can reboot")
            }
            Self::ScopeBenchmark { hosts_needed } => format!(
                "scope = \"benchmark\" in [independence], which needs {hosts_needed} hosts: each serves one run of every \
                 benchmark"
            ),
            Self::Classes { hosts } => {
                format!(
                    "hosts = \"classes\" in [independence], which may take all {hosts} hosts, by their classes"
                )
            }
            Self::RebootingHosts { more } => {
                format!(
                    "a --reboot-command for {more} more agents, before or, with --wait-for-hosts, after the submission"
                )
            }
            Self::WaitForHosts { more } => {
                format!("{more} more agents, started before or, with --wait-for-hosts, after the submission")
            }
        }
    }
}

/// All that help, the least costly first.
pub(super) fn all(plan: &Plan, pool: &Pool, fullest_lane: u32, usable: u32) -> Vec<Remedy> {
    let independence = plan.experiment.independence;
    let mut remedies = Vec::new();
    if independence.scope == Scope::Experiment && plan.benchmarks.len() > 1 {
        let other = redrawn(plan, |experiment| experiment.independence.scope = Scope::Benchmark);
        let needed = assess(&other, None, &nothing(&other)).hosts_needed;
        let remedy = Remedy::ScopeBenchmark { hosts_needed: needed };
        remedies.extend(fits(&other, pool).then_some(remedy));
    }
    let class = pool.of_one_experiment(independence.hosts);
    if class.can_reboot > 0
        && let Some(policy) = independence.policy.with_reboots()
    {
        let other = redrawn(plan, |experiment| experiment.independence.policy = policy);
        remedies.extend(fits(&other, pool).then_some(Remedy::Rebooted { hosts: class.can_reboot }));
    }
    if independence.hosts.pins_classes() {
        let other = redrawn(plan, |experiment| experiment.independence.hosts = Sameness::Classes);
        let all = pool.of_one_experiment(Sameness::Classes).available;
        remedies.extend(fits(&other, pool).then_some(Remedy::Classes { hosts: all }));
    }
    let least = hosts_needed(plan);
    let again = can_come_again(plan, &class);
    // Hosts that come again are wanted for the visits of a cell; those that do not, for all that count as the same use.
    let reuse = independence.policy.reuse();
    let (wanted, have) = match reuse {
        Reuse::AmongOthers | Reuse::Free => (least, usable),
        Reuse::After(Renewal::Boot) if least > 1 => (least, again),
        Reuse::Never | Reuse::After(_) => (fullest_lane, usable),
    };
    remedies.extend(fewer(plan, pool, wanted, have));
    let fresh = match reuse {
        Reuse::AmongOthers | Reuse::Free => least,
        Reuse::Never | Reuse::After(_) => fullest_lane,
    };
    let of_one_class = pool.of_one_experiment(Sameness::Identical).available;
    let apart = largest_gang(plan).saturating_sub(of_one_class);
    let more = fresh.saturating_sub(usable).max(apart).max(1);
    if independence.policy.renews_by_boot() {
        remedies.push(Remedy::RebootingHosts { more: least.saturating_sub(again).max(1) });
    } else if needs_reboots(&plan.experiment) {
        remedies.push(Remedy::RebootingHosts { more: hosts_needed(plan).saturating_sub(usable).max(1) });
    }
    // Where visits go over boots, hosts that cannot boot anew are of no use.
    if !needs_reboots(&plan.experiment) {
        remedies.push(Remedy::WaitForHosts { more });
    }
    remedies
}

/// Fewer visits of each cell, as many as the hosts there are allow.
fn fewer(plan: &Plan, pool: &Pool, fullest_lane: u32, hosts: u32) -> Option<Remedy> {
    let repetition = plan.experiment.repetition();
    let now = repetition.visits();
    // A pilot and looks have their numbers from elsewhere.
    if plan.experiment.rule != Rule::Fixed || fullest_lane == 0 {
        return None;
    }
    let most = if plan.experiment.independence.policy.is_of_sets() {
        most_of_sets(now, |visits| fits(&with_visits(plan, visits), pool))
    } else {
        u32::try_from(u64::from(now) * u64::from(hosts) / u64::from(fullest_lane)).unwrap_or(now)
    };
    if most == 0 || most >= now {
        return None;
    }
    let other = with_visits(plan, most);
    let remedy = match repetition {
        Repetition::Runs(_) => Remedy::FewerRuns { runs: most },
        Repetition::Nested { .. } => Remedy::FewerVisits { hosts: most },
    };
    fits(&other, pool).then_some(remedy)
}

fn with_visits(plan: &Plan, visits: u32) -> Plan {
    redrawn(plan, |experiment| experiment.set_visits(visits))
}

/// The most visits that fit, of fewer than `now`: hosts have more sets than there are hosts, so they are found by halving.
fn most_of_sets(now: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let mut fit = 0;
    let mut too_many = now;
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        if fits(middle) { fit = middle } else { too_many = middle }
    }
    fit
}

fn fits(plan: &Plan, pool: &Pool) -> bool {
    assess(plan, Some(pool), &nothing(plan)).pool.is_some_and(|pool| pool.fits)
}

/// Times do not matter for whether a plan fits.
fn nothing(plan: &Plan) -> Estimate {
    Estimate::given(plan, Span(0))
}
