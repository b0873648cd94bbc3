//! Whether each measured run found a fresh host, by the evidence alone: what the leases say of the attempts before, and what
//! the attempts themselves say in their order.
//!
//! A visit that the plan made of several runs is fresh or not as a whole, by what came before it on its host.

use super::evidence::{Evidence, Readings, Seat, Served};
use serde::{Deserialize, Serialize};
use speedup_core::id::{Attempt, RunIndex};
use speedup_core::independence::{Independence, Policy, Scope};
use speedup_core::plan::{Place, Plan};
use std::collections::BTreeMap;

/// What is against a run having found a fresh host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// Its host had served in the scope before.
    HostUsed,
    /// Its host had not booted since it last served in the scope.
    NotRebooted,
    /// Its host sat in the allocation in which it last served in the scope.
    NotReallocated,
    /// Its host named no allocation, now or when it last served in the scope.
    NoAllocation,
    /// Its host had served a run of the experiment more recently than the plan allows.
    NotRested,
    /// A reading of its host was beyond the plan's bounds.
    BeyondBounds,
    /// A reading that the plan bounds is not there.
    NoReadings,
    /// The plan has it in another boot of its visit than the run before, and its host had not booted.
    BootKept,
}

impl Violation {
    /// What happened, in words after "the host".
    pub fn words(self) -> &'static str {
        match self {
            Self::HostUsed => "had served in the scope before",
            Self::NotRebooted => "had not booted since it last served",
            Self::NotReallocated => "was in the same allocation as before",
            Self::NoAllocation => "named no allocation, now or before",
            Self::NotRested => "had not rested as long as asked",
            Self::BeyondBounds => "read beyond the bounds",
            Self::NoReadings => "gave no reading of what is bounded",
            Self::BootKept => "had not booted between the boots of a visit",
        }
    }
}

/// A measured run with what the evidence says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    pub(super) cell: u32,
    pub(super) attempt: Attempt,
    pub(super) seat: Seat,
    pub(super) allocation: Option<u32>,
    /// The first run of the visit.
    pub(super) visit: RunIndex,
    /// Whether its host was fresh by the policy; under [`Policy::Any`] whether it had served nothing in the scope.
    pub(super) is_fresh: bool,
    pub(super) violation: Option<Violation>,
}

/// All measured runs, in run order.
pub(super) fn judge(evidence: &Evidence, plan: &Plan) -> Vec<Judged> {
    let mut judged = Vec::new();
    let by_host = evidence.by_host();
    for of_host in by_host.chunk_by(|one, other| one.seat.host == other.seat.host) {
        judge_host(of_host, plan, &mut judged);
    }
    judged.sort_unstable_by_key(|one| one.seat.run);
    judged
}

/// What a host did last within one key of the scope, and whether that was fresh.
struct Visit<'s> {
    group: RunIndex,
    last: &'s Served,
    boot: u32,
    is_fresh: bool,
    violation: Option<Violation>,
}

fn judge_host(of_host: &[&Served], plan: &Plan, judged: &mut Vec<Judged>) {
    let asked = plan.experiment.independence;
    let versions = plan.experiment.versions.len().max(1) as u32;
    let mut visits: BTreeMap<u32, Visit<'_>> = BTreeMap::new();
    let mut before: Option<&Served> = None;
    for served in of_host {
        let place = plan.place(served.seat.run);
        let key = match asked.scope {
            Scope::Experiment => 0,
            Scope::Benchmark => served.cell / versions,
            Scope::Cell => served.cell,
        };
        let last = visits.remove(&key);
        let visit = match last {
            Some(visit) if visit.group == place.group => visit.goes_on(served, place),
            last => Visit::begins(served, place, last.as_ref(), before, asked),
        };
        if served.is_measured {
            judged.push(Judged {
                cell: served.cell,
                attempt: served.attempt,
                seat: served.seat,
                allocation: served.allocation,
                visit: place.group,
                is_fresh: visit.is_fresh,
                violation: visit.violation,
            });
        }
        visits.insert(key, visit);
        before = Some(served);
    }
}

impl<'s> Visit<'s> {
    fn begins(
        served: &'s Served,
        place: Place,
        last: Option<&Visit<'_>>,
        before: Option<&Served>,
        asked: Independence,
    ) -> Self {
        let last_use = last.map(|visit| visit.last);
        let is_first = last_use.is_none() && served.served_in_scope == 0;
        let violation = match asked.policy {
            Policy::Any => None,
            Policy::Distinct => (!is_first).then_some(Violation::HostUsed),
            Policy::Rebooted => [last_use.map(|last| last.seat.boot), served.boot_before]
                .contains(&Some(served.seat.boot))
                .then_some(Violation::NotRebooted),
            Policy::Reallocated => not_reallocated(served, last_use),
            Policy::Rested => not_rested(served, before, asked),
        };
        let is_fresh = violation.is_none() && (asked.policy != Policy::Any || is_first);
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

fn not_reallocated(served: &Served, last: Option<&Served>) -> Option<Violation> {
    if last.is_none() && served.served_in_scope == 0 {
        return None;
    }
    let before = [last.and_then(|last| last.allocation), served.allocation_before];
    match served.allocation {
        None => Some(Violation::NoAllocation),
        Some(_) if before == [None, None] => Some(Violation::NoAllocation),
        now => before.contains(&now).then_some(Violation::NotReallocated),
    }
}

fn not_rested(served: &Served, before: Option<&Served>, asked: Independence) -> Option<Violation> {
    let since_before = before.map(|before| served.began - before.ended);
    let since_any = served.idle.map(|idle| idle + (served.began - served.granted));
    if since_before.into_iter().chain(since_any).any(|idle| idle < asked.rest.idle) {
        return Some(Violation::NotRested);
    }
    match served.readings {
        Readings::Within => None,
        Readings::Beyond => Some(Violation::BeyondBounds),
        Readings::Absent => Some(Violation::NoReadings),
    }
}
