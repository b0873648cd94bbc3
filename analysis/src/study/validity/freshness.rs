//! Whether each measured run found a fresh host, by the evidence alone: what the leases say of the attempts before, and what
//! the attempts themselves say in their order.
//!
//! A visit that the plan made of several runs is fresh or not as a whole, by what came before it on its host.

use crate::study::gather::evidence::{Evidence, Seat, Served};
use speedup_core::independence::{Independence, Since, Traces, Violation};
use speedup_core::plan::{Place, Plan};
use speedup_core::value::id::{Attempt, LeaseEpoch, RunIndex};
use std::collections::{BTreeMap, BTreeSet};

/// A measured run on one of its hosts, with what the evidence says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) cell: u32,
    pub(crate) attempt: Attempt,
    pub(crate) seat: Seat,
    pub(crate) allocation: Option<u32>,
    /// The first run of the visit.
    pub(crate) visit: RunIndex,
    /// Whether its host was fresh by the policy; where the policy asks for nothing, whether it had served nothing in the scope.
    pub(crate) is_fresh: bool,
    pub(crate) violation: Option<Violation>,
    /// The host that this is against: of a run on several hosts the first of them, in the order of their seats, that
    /// was not fresh.
    pub(crate) violating: u32,
    /// The lease; those of a run are numbered in the order of the seats.
    epoch: LeaseEpoch,
    /// Whether it is of a further host in a run, which another has measured.
    pub(crate) is_part: bool,
}

/// All measured runs, in run order, each on all of its hosts: first on the one that started the program, with what is against any of them.
pub(crate) fn judge(evidence: &Evidence, plan: &Plan) -> Vec<Judged> {
    let mut judged = Vec::new();
    let (by_host, spent) = (evidence.by_host(), spent_sets(evidence, plan));
    for of_host in by_host.chunk_by(|one, other| one.seat.host == other.seat.host) {
        judge_host(of_host, plan, &spent, &mut judged);
    }
    judged.sort_unstable_by_key(|one| (one.seat.run, one.attempt, one.is_part, one.epoch));
    let of_attempts =
        judged.chunk_by_mut(|one, other| (one.seat.run, one.attempt) == (other.seat.run, other.attempt));
    of_attempts.for_each(as_one);
    // The parts of a run that failed are of no run that was measured.
    let mut measured = None;
    judged.retain(|one| {
        if !one.is_part {
            measured = Some((one.seat.run, one.attempt));
        }
        measured == Some((one.seat.run, one.attempt))
    });
    judged
}

/// The attempts whose hosts had served in the scope together before, where the policy asks. Of an attempt that was lost no more may
/// be known than one of its hosts: there the lease of the next says so.
fn spent_sets(evidence: &Evidence, plan: &Plan) -> BTreeSet<(RunIndex, Attempt)> {
    let asked = plan.experiment.independence;
    if !asked.policy.is_of_sets() {
        return BTreeSet::new();
    }
    let versions = plan.experiment.versions.len().max(1) as u32;
    let mut attempts: BTreeMap<(RunIndex, Attempt), (LeaseEpoch, u32, BTreeSet<u32>)> = BTreeMap::new();
    for served in &evidence.served {
        let key = asked.scope.number(served.cell, versions);
        let new = || (served.epoch, key, BTreeSet::new());
        let of = attempts.entry((served.seat.run, served.attempt)).or_insert_with(new);
        of.0 = of.0.min(served.epoch);
        of.2.insert(served.seat.host);
    }
    let mut in_order: Vec<_> =
        attempts.into_iter().map(|(attempt, (epoch, key, set))| (epoch, attempt, (key, set))).collect();
    in_order.sort_unstable();
    let mut before = BTreeSet::new();
    in_order.into_iter().filter_map(|(_, attempt, set)| (!before.insert(set)).then_some(attempt)).collect()
}

/// A run is as fresh as the least fresh of its hosts.
fn as_one(of_attempt: &mut [Judged]) {
    let is_fresh = of_attempt.iter().all(|one| one.is_fresh);
    let against = of_attempt.iter().find_map(|one| Some((one.violation?, one.seat.host)));
    let Some(first) = of_attempt.first_mut() else { return };
    first.is_fresh = is_fresh;
    if let Some((violation, host)) = against {
        (first.violation, first.violating) = (Some(violation), host);
    }
}

/// What a host did last within one key of the scope, and whether that was fresh.
struct Visit<'s> {
    group: RunIndex,
    last: &'s Served,
    boot: u32,
    is_fresh: bool,
    violation: Option<Violation>,
}

fn judge_host(
    of_host: &[&Served],
    plan: &Plan,
    spent: &BTreeSet<(RunIndex, Attempt)>,
    judged: &mut Vec<Judged>,
) {
    let asked = plan.experiment.independence;
    let versions = plan.experiment.versions.len().max(1) as u32;
    let mut visits: BTreeMap<u32, Visit<'_>> = BTreeMap::new();
    let mut before: Option<&Served> = None;
    for served in of_host {
        let place = plan.place(served.seat.run);
        let key = asked.scope.number(served.cell, versions);
        let last = visits.remove(&key);
        let visit = match last {
            Some(visit) if visit.group == place.group => visit.goes_on(served, place),
            last => {
                let mut traces = traces(served, last.as_ref().map(|visit| visit.last), before);
                traces.was_set_used |= spent.contains(&(served.seat.run, served.attempt));
                Visit::begins(served, place, &traces, asked)
            }
        };
        if served.is_measured || served.is_part {
            judged.push(Judged {
                cell: served.cell,
                attempt: served.attempt,
                seat: served.seat,
                allocation: served.allocation,
                visit: place.group,
                is_fresh: visit.is_fresh,
                violation: visit.violation,
                violating: served.seat.host,
                epoch: served.epoch,
                is_part: served.is_part,
            });
        }
        visits.insert(key, visit);
        before = Some(served);
    }
}

impl<'s> Visit<'s> {
    fn begins(served: &'s Served, place: Place, traces: &Traces, asked: Independence) -> Self {
        let violation = asked.violation(traces);
        let is_fresh = violation.is_none() && (asked.policy.asks_for_freshness() || !traces.was_used);
        let (group, boot) = (place.group, place.boot);
        Self { group, last: served, boot, is_fresh, violation }
    }

    /// A further run of the visit is as fresh as its first, in its own boot where the plan says so.
    fn goes_on(self, served: &'s Served, place: Place) -> Self {
        let kept = place.boot != self.boot && self.last.seat.boot == served.seat.boot;
        let violation = if kept { Some(Violation::BootKept) } else { self.violation };
        Self { last: served, boot: place.boot, is_fresh: self.is_fresh && !kept, violation, ..self }
    }
}

/// What is known of a host when an attempt begins a visit, from the attempts of the experiment and from its lease.
fn traces(served: &Served, last: Option<&Served>, before: Option<&Served>) -> Traces {
    let since_before = before.map(|before| served.began - before.ended);
    let since_any = served.idle.map(|idle| idle + (served.began - served.granted));
    let boots = [last.map(|last| last.seat.boot), served.boot_before];
    let allocations = [last.and_then(|last| last.allocation), served.allocation_before];
    Traces {
        was_used: last.is_some() || served.served_in_scope > 0,
        was_set_used: served.set_served,
        boot: Since::of(&boots, Some(served.seat.boot)),
        allocation: Since::of(&allocations, served.allocation),
        idle: since_before.into_iter().chain(since_any).min(),
        readings: served.readings,
    }
}
