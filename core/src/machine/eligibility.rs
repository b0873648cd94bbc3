//! What the plan of an experiment asks of a host before it begins a visit: that it is fresh, has
//! rested, can boot anew where the visit needs that, and keeps its allocation until the visit ends.

use super::Active;
use super::lane::{hosts_of_lane, lanes, tasks_of, use_of_lane};
use super::time_limit::{longest_of_any_build, longest_unbuilt};
use crate::{
    experiment::Experiment, experiment::Order, host::ALLOCATION_MARGIN, host::Host, host::Use,
    independence::Since, independence::Traces, independence::Violation, plan::Plan, plan::Task,
    value::id::ExperimentId, value::id::RunIndex, value::time::Span, value::time::Timestamp,
};

/// What a host served of what counts as the same use of it.
pub(super) fn used(host: &Host, id: ExperimentId, active: &Active, lane: u32) -> Option<Use> {
    host.used(id, use_of_lane(&active.kept.plan, lane)?)
}

/// What is against a host's beginning a visit where this is what it served before in the scope. Whether it has rested is
/// another question: it will have, if nothing comes between.
pub(super) fn violation(host: &Host, active: &Active, lane: u32, used: Option<Use>) -> Option<Violation> {
    let independence = active.independence();
    let Some(used) = used else { return independence.violation(&Traces::UNUSED) };
    let is_set = independence.policy.is_of_sets() && hosts_of_lane(&active.kept.plan, lane) == 1;
    independence.violation(&Traces { was_set_used: is_set, ..traces(host, used) })
}

fn traces(host: &Host, used: Use) -> Traces {
    Traces {
        was_used: true,
        boot: Since::compare(&[Some(used.boot)], Some(host.boot())),
        allocation: Since::compare(&[used.allocation], host.allocation()),
        ..Traces::UNUSED
    }
}

/// Whether the allocation of a host holds a whole visit of a lane, even if each run takes as long as it may: where one
/// was cut off, another host would have to serve the rest.
pub(super) fn holds(now: Timestamp, host: &Host, active: &Active, lane: u32) -> bool {
    host.facts.allocation_ends.is_none() || lasts(now, host, longest_visit(active, lane))
}

/// The longest that a visit of a lane may rightly take.
pub(super) fn longest_visit(active: &Active, lane: u32) -> Span {
    longest_visit_of(&active.kept.plan, lane, |task| longest_of_any_build(active, task))
}

/// How long an allocation has to last to hold any visit of a plan that was not begun, even if each run takes as long as it
/// may.
pub fn needed_allocation(plan: &Plan) -> Span {
    let visits =
        (0..lanes(plan) as u32).map(|lane| longest_visit_of(plan, lane, |task| longest_unbuilt(plan, task)));
    visits.max().unwrap_or_default() + ALLOCATION_MARGIN
}

fn longest_visit_of(plan: &Plan, lane: u32, longest: impl Fn(Task) -> Span) -> Span {
    let visit = tasks_of(plan, lane).into_iter().map(|task| {
        let runs = match (task, plan.experiment.order) {
            (Task::Build(_), _) => 1,
            (Task::Run(_), Order::Blocked) => match plan.experiment.bisection() {
                Some(bisection) => u64::from(bisection.block),
                None => plan.experiment.versions.len() as u64 * u64::from(plan.visit().size()),
            },
            (Task::Run(_), Order::Randomized | Order::Interleaved) => u64::from(plan.visit().size()),
        };
        longest(task).times(runs)
    });
    visit.max().unwrap_or_default()
}

/// Whether the allocation of a host lasts for so long.
pub(super) fn lasts(now: Timestamp, host: &Host, span: Span) -> bool {
    host.facts.allocation_ends.is_none_or(|ends| now + span + ALLOCATION_MARGIN <= ends)
}

/// When a host has rested for an experiment that wants it to; builds go to any host.
pub(super) fn rests_until(host: &Host, active: &Active) -> Option<Timestamp> {
    if active.kept.plan.is_building() {
        return None;
    }
    active.independence().rests_until(host.rests_since()?)
}

/// Whether a visit of what an experiment does now needs a host that boots anew in the course of it: builds do not.
pub(super) fn boots_in_visits(active: &Active) -> bool {
    !active.kept.plan.is_building() && needs_reboots(&active.kept.plan.experiment)
}

/// Whether a visit of an experiment needs a host that boots anew in the course of it.
pub(crate) fn needs_reboots(experiment: &Experiment) -> bool {
    experiment.independence.boots_within_blocks(experiment.order) || experiment.levels.boots() > 1
}

/// Whether the host has to boot anew between a run of a visit and the run before.
pub(super) fn boots_before(active: &Active, run: RunIndex) -> bool {
    let plan = &active.kept.plan;
    let experiment = &active.kept.plan.experiment;
    let place = plan.place(run);
    place.group != run
        && (experiment.independence.boots_within_blocks(experiment.order)
            || place.boot > plan.place(RunIndex(run.0 - 1)).boot)
}
