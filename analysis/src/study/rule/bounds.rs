//! What bounds the runs that a rule may append, beside its own maximum: the limits of the plan and of plans.

use super::Finding;
use crate::{count::counted, study::Study};
use speedup_core::{experiment::MAX_RUNS, value::time::Span};

/// Holds a finding within the bounds: all benchmarks give up the same share. Says which bound it was, if one was met.
pub(super) fn hold(study: &Study, finding: &mut Finding) -> Option<String> {
    let versions = study.plan.experiment.versions.len() as u64;
    let of_a_visit = u64::from(finding.shape.size()) * versions;
    let asked =
        finding.visits.iter().map(|visits| u64::from(*visits)).sum::<u64>().saturating_mul(of_a_visit);
    let (left, bound) = bounds(study).into_iter().min_by_key(|(left, _)| *left)?;
    if asked <= left {
        return None;
    }
    for visits in &mut finding.visits {
        // The product of two numbers below 2³² fits; the quotient is not above `visits`.
        *visits = (u128::from(*visits) * u128::from(left) / u128::from(asked)) as u32;
    }
    Some(format!(
        "The rule asks for {}, and {bound} leaves {left}: all benchmarks get the same share.",
        counted(asked, "run")
    ))
}

/// The runs that each bound leaves.
fn bounds(study: &Study) -> Vec<(u64, &'static str)> {
    let (limits, costs) = (study.plan.experiment.limits, &study.costs);
    let mut bounds = vec![(MAX_RUNS.saturating_sub(u64::from(study.plan.runs())), "the size of plans")];
    if let Some(all) = limits.all_attempts {
        bounds.push((all.saturating_sub(costs.attempts()), "all_attempts in [limits]"));
    }
    if let Some(Span(all)) = limits.host_time {
        let Span(spent) = costs.spent();
        let left = all.saturating_sub(spent);
        // By the mean of the attempts so far, as nothing better is known of those to come.
        let each = spent / costs.attempts().max(1);
        bounds.push((left.checked_div(each).unwrap_or(u64::MAX), "host_time in [limits]"));
    }
    bounds
}
