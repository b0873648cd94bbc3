//! What running plans could use of an engine that gives out hosts. Asked every few seconds at most: it looks at every host
//! of the engine and every lane in which something waits.

use std::collections::BTreeMap;

use super::eligibility::{holds, longest_visit, used, violation};
use super::lane::{hosts_of_lane, is_in_one_job};
use super::{Active, Machine};
use crate::host::{Host, Standing};
use crate::independence::{Renewal, Reuse};
use crate::machine::provision::{Demand, ProvidedHost, ServiceState, Worth, is_given_back};
use crate::run::HostNumber;
use crate::value::id::ExperimentId;
use crate::value::time::{Span, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Missing {
    hosts: u32,
    /// How many of them serve a run together.
    together: u32,
    /// Whether those have to be in one job.
    in_one_job: bool,
}

impl Default for Missing {
    fn default() -> Self {
        Self { hosts: 0, together: 1, in_one_job: false }
    }
}

impl Machine {
    /// What the running plans could use now.
    pub fn demand(&self, now: Timestamp) -> Demand {
        let wanting: Vec<(ExperimentId, &Active)> =
            self.turns.iter().map(|(_, id)| (*id, &self.experiments[id])).collect();
        let missing = wanting.iter().map(|(id, active)| self.missing(now, *id, active)).max();
        let Missing { hosts: missing, together, in_one_job } = missing.unwrap_or_default();
        let longest = wanting.iter().map(|(_, active)| longest_waiting(active)).max();
        let numbered = (0..).map(HostNumber).zip(&self.hosts);
        let provided = numbered.filter_map(|(number, host)| {
            let node = host.facts.node.clone()?;
            let takes = wanting.iter().filter(|(_, active)| !self.has_given_up(now, active, number));
            let left_out = wanting.iter().filter_map(|(_, active)| self.gives_up_until(now, active, number));
            let worth = takes.map(|(id, active)| worth(now, number, host, *id, active)).max();
            Some(ProvidedHost {
                host: host.facts.host.clone(),
                node,
                job: host.facts.job.clone(),
                boot: host.facts.boot.clone(),
                is_here: host.is_here(),
                is_busy: host.lease.is_some() || !host.visits.is_empty(),
                // What was last heard of it is the end of an attempt.
                has_served: host.lease.is_some() || host.idle_since == Some(host.heard),
                engaged: engaged(&host.standing),
                worth: worth.unwrap_or(Worth::Nothing),
                left_out_until: left_out.min(),
            })
        });
        Demand {
            missing,
            together,
            in_one_job,
            longest: longest.unwrap_or_default(),
            hosts: provided.collect(),
        }
    }

    /// How many more hosts an experiment could give something to without any of them serving twice what its policy holds
    /// against the same use: what waits in the fullest lane beyond those that may take it.
    fn missing(&self, now: Timestamp, id: ExperimentId, active: &Active) -> Missing {
        let numbered = (0..).map(HostNumber).zip(&self.hosts);
        let here: Vec<(HostNumber, &Host)> =
            numbered.filter(|(number, _)| self.may_be_given(now, active, *number)).collect();
        let of_lane = |(lane, visits): (u32, u32)| {
            let able = here.iter().filter(|(number, host)| {
                !active.has_visited(*number, lane) && worth_of_lane(now, host, id, active, lane) == Worth::Now
            });
            let together = hosts_of_lane(&active.kept.plan, lane);
            let in_one_job = is_in_one_job(&active.kept.plan, lane);
            // Where all sets of the hosts that are able have served, another host makes new ones.
            let are_spent = active.has_spent_sets(lane, able.clone().copied());
            let able = match in_one_job {
                true => in_whole_gangs(able.map(|(_, host)| host.job()), together),
                false => able.count() as u32,
            };
            let hosts = visits.saturating_mul(together).saturating_sub(able).max(are_spent.into());
            Missing { hosts, together, in_one_job }
        };
        active.queue.waiting_lanes().map(of_lane).max().unwrap_or_default()
    }
}

/// How many of these hosts, of which the jobs are given, can be of gangs within a job.
fn in_whole_gangs<'h>(jobs: impl Iterator<Item = Option<&'h str>>, together: u32) -> u32 {
    let mut of_job = BTreeMap::<&str, u32>::new();
    for job in jobs.flatten() {
        *of_job.entry(job).or_default() += 1;
    }
    of_job.into_values().map(|hosts| hosts / together * together).sum()
}

fn longest_waiting(active: &Active) -> Span {
    let lanes = active.queue.waiting_lanes();
    lanes.map(|(lane, _)| longest_visit(active, lane)).max().unwrap_or_default()
}

fn engaged(standing: &Standing) -> ServiceState {
    match standing {
        Standing::Serving => ServiceState::Serving,
        standing if is_given_back(standing) => ServiceState::GivenBack,
        Standing::Draining { .. } | Standing::Quarantined { .. } => ServiceState::OutOfService,
    }
}

fn worth(now: Timestamp, number: HostNumber, host: &Host, id: ExperimentId, active: &Active) -> Worth {
    if !active.admits(host.class) {
        return Worth::Nothing;
    }
    let lanes = active.queue.waiting_lanes().filter(|(lane, _)| !active.has_visited(number, *lane));
    let lanes = lanes.map(|(lane, _)| worth_of_lane(now, host, id, active, lane));
    // Nothing is worth more than now.
    let mut best = Worth::Nothing;
    for worth in lanes {
        best = best.max(worth);
        if best == Worth::Now {
            break;
        }
    }
    best
}

fn worth_of_lane(now: Timestamp, host: &Host, id: ExperimentId, active: &Active, lane: u32) -> Worth {
    let violation = violation(host, active, lane, used(host, id, active, lane));
    let policy = active.independence().policy;
    let boots_itself = policy.renews_by_boot() && host.facts.can_reboot;
    if (boots_itself || violation.is_none()) && holds(now, host, active, lane) {
        return Worth::Now;
    }
    // What it is worth once its engine has given it out anew.
    match (violation, policy.reuse()) {
        (None, _) | (Some(_), Reuse::Free | Reuse::After(Renewal::Allocation)) => Worth::NewAllocation,
        (Some(_), Reuse::After(Renewal::Boot)) => Worth::NewBoot,
        (Some(_), Reuse::Never | Reuse::AmongOthers) => Worth::Nothing,
    }
}
