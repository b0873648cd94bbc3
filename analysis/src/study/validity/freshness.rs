//! Whether each measured run found a fresh host, by the evidence alone: what the leases say of the attempts before, and what
//! the attempts themselves say in their order.
//!
//! A visit that the plan made of several runs is fresh or not as a whole, by what came before it on its host.

use crate::study::gather::evidence::{Evidence, HostAttempt, HostStay, PriorUse};
use crate::study::gather::numbers::Number;
use speedup_core::independence::{Independence, Readings, Since, Traces, Violation};
use speedup_core::plan::{Place, Plan};
use speedup_core::value::{id::Attempt, id::LeaseEpoch, id::RunIndex, time::Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// A measured run on one of its hosts, with what the evidence says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunFreshness<'s> {
    pub(crate) served: &'s HostAttempt,
    pub(crate) stay: &'s HostStay,
    /// The first run of the visit.
    pub(crate) visit: RunIndex,
    /// Whether its host was fresh by the policy; where the policy asks for nothing, whether it had served nothing in the scope.
    pub(crate) is_fresh: bool,
    pub(crate) violation: Option<Violation>,
}

/// What is against a measured run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaleRun {
    pub(crate) run: RunIndex,
    pub(crate) attempt: Attempt,
    pub(crate) violation: Violation,
    /// The host; of a run on several the first of them, in the order of their seats, that was not fresh.
    pub(crate) host: u32,
}

/// How many measured runs were fresh on all of their hosts, and what is against the others, in run order. Tells `of_host`
/// what each of the hosts did in these runs, one host after another.
pub(crate) fn judge(
    evidence: &Evidence,
    plan: &Plan,
    mut of_host: impl FnMut(&[RunFreshness<'_>]),
) -> (u64, Vec<StaleRun>) {
    let (counts, spent) = (evidence.counted(), spent_sets(evidence, plan));
    let mut course = HostHistory { evidence, plan, spent, visits: Vec::new() };
    let mut is_stale = vec![false; plan.runs() as usize];
    let (mut judged, mut runs, mut against) = (Vec::new(), 0, Vec::new());
    for places in evidence.by_host() {
        judged.clear();
        judged.extend(course.judge_host(&places).filter(|one| counts(one.served)));
        for one in &judged {
            runs += u64::from(one.served.is_measured);
            is_stale[one.served.location.run.0 as usize] |= !one.is_fresh;
            against.extend(one.violation.map(|violation| (one.served, violation)));
        }
        of_host(&judged);
    }
    // The leases of a run are numbered in the order of the seats; the host that started the program comes first.
    against.sort_unstable_by_key(|(one, _)| (one.location.run, one.is_part, one.epoch));
    against.dedup_by_key(|(one, _)| one.location.run);
    let told = |(one, violation): (&HostAttempt, Violation)| StaleRun {
        run: one.location.run,
        attempt: one.attempt,
        violation,
        host: evidence.stay(one.location).host,
    };
    let stale = is_stale.into_iter().filter(|is_stale| *is_stale).count() as u64;
    (runs - stale, against.into_iter().map(told).collect())
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
        let key = asked.scope.number(plan.cell_number(served.location.run), versions);
        let new = || (served.epoch, key, BTreeSet::new());
        let of = attempts.entry((served.location.run, served.attempt)).or_insert_with(new);
        of.0 = of.0.min(served.epoch);
        of.2.insert(evidence.stay(served.location).host);
    }
    let mut in_order: Vec<_> =
        attempts.into_iter().map(|(attempt, (epoch, key, set))| (epoch, attempt, (key, set))).collect();
    in_order.sort_unstable();
    let mut before = BTreeSet::new();
    in_order.into_iter().filter_map(|(_, attempt, set)| (!before.insert(set)).then_some(attempt)).collect()
}

/// What hosts did last within each key of the scope.
struct HostHistory<'s> {
    evidence: &'s Evidence,
    plan: &'s Plan,
    spent: BTreeSet<(RunIndex, Attempt)>,
    /// By the key; of whichever host came last.
    visits: Vec<Option<Visit<'s>>>,
}

/// What a host did last within one key of the scope, and whether that was fresh.
#[derive(Clone, Copy)]
struct Visit<'s> {
    group: RunIndex,
    last: &'s HostStay,
    boot: u32,
    is_fresh: bool,
    violation: Option<Violation>,
}

impl<'s> HostHistory<'s> {
    /// Of all attempts of a host, in their order.
    fn judge_host<'a>(&'a mut self, places: &'a [u32]) -> impl Iterator<Item = RunFreshness<'s>> + 'a {
        let asked = self.plan.experiment.independence;
        let versions = self.plan.experiment.versions.len().max(1) as u32;
        let mut ended = None;
        places.iter().map(move |at| {
            let (served, before) = self.evidence.attempt(*at);
            let (run, stay) = (served.location.run, self.evidence.stay(served.location));
            let (place, cell) = (self.plan.place(run), self.plan.cell_number(run));
            let key = asked.scope.number(cell, versions) as usize;
            self.visits.resize(self.visits.len().max(key + 1), None);
            let last = self.visits[key].filter(|visit| visit.last.host == stay.host);
            let visit = match last {
                Some(visit) if visit.group == place.group => visit.goes_on(stay, place),
                last => {
                    let mut traces = traces(served, stay, before, last.map(|visit| visit.last), ended);
                    traces.was_set_used |= self.spent.contains(&(run, served.attempt));
                    Visit::begins(stay, place, &traces, asked)
                }
            };
            self.visits[key] = Some(visit);
            ended = before.map(|before| before.ended);
            RunFreshness {
                served,
                stay,
                visit: place.group,
                is_fresh: visit.is_fresh,
                violation: visit.violation,
            }
        })
    }
}

impl<'s> Visit<'s> {
    fn begins(stay: &'s HostStay, place: Place, traces: &Traces, asked: Independence) -> Self {
        let violation = asked.violation(traces);
        let is_fresh = violation.is_none() && (asked.policy.asks_for_freshness() || !traces.was_used);
        let (group, boot) = (place.group, place.boot);
        Self { group, last: stay, boot, is_fresh, violation }
    }

    /// A further run of the visit is as fresh as its first, in its own boot where the plan says so.
    fn goes_on(self, stay: &'s HostStay, place: Place) -> Self {
        let kept = place.boot != self.boot && self.last.boot == stay.boot;
        let violation = if kept { Some(Violation::BootKept) } else { self.violation };
        Self { last: stay, boot: place.boot, is_fresh: self.is_fresh && !kept, violation, ..self }
    }
}

/// What is known of a host when an attempt begins a visit, from the attempts of the experiment and from its lease.
/// `ended` is when the host's attempt before it ended.
fn traces(
    served: &HostAttempt,
    stay: &HostStay,
    before: Option<&PriorUse>,
    last: Option<&HostStay>,
    ended: Option<Timestamp>,
) -> Traces {
    let number = |number: Number| number.get();
    let since_before = before.zip(ended).map(|(before, ended)| before.began - ended);
    let boots = [last.map(|last| last.boot), before.and_then(|before| before.boot).map(number)];
    let allocations = [last.and_then(|last| last.allocation), before.and_then(|before| before.allocation)];
    Traces {
        was_used: last.is_some() || served.had_served,
        was_set_used: before.is_some_and(|before| before.set_served),
        boot: Since::compare(&boots, Some(stay.boot)),
        allocation: Since::compare(&allocations, stay.allocation),
        idle: since_before.into_iter().chain(before.and_then(|before| before.idle)).min(),
        readings: before.map_or(Readings::Within, |before| before.readings),
    }
}
