//! Whether the pool can carry a plan out, as `plan check` and `submit` say it.

use std::time::Duration;

use clap::Args;
use speedup_analysis::study::Report;
use speedup_core::experiment::Policy;
use speedup_core::feasibility::{
    Estimate, EstimateSource, Feasibility, Pool, PoolFeasibility, Remedy, assess,
};
use speedup_core::plan::Plan;
use speedup_core::time::Span;
use speedup_proto::v1;

use crate::command::report;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::moment::roughly;
use crate::render::counted;
use crate::selector;

/// Most runs of an earlier experiment that is read for its times: a report of more takes long for an estimate.
const MOST_READ: u32 = 100_000;

/// How long runs are taken to last.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EstimateArguments {
    /// How long one execution lasts, as 10s; else the last experiment of this name says it, or the timeouts do
    #[arg(long, value_name = "TIME", value_parser = crate::command::coordinator::span)]
    estimate: Option<Span>,
}

/// What a plan takes of the pool that a coordinator has.
pub(crate) async fn ask(
    connection: &Connection,
    plan: &Plan,
    arguments: &EstimateArguments,
) -> Result<Feasibility, Failure> {
    let pool = pool(connection).await?;
    let estimate = match arguments.estimate {
        Some(execution) => Estimate::given(plan, execution),
        None => measured(connection, plan).await?.unwrap_or_else(|| Estimate::by_timeouts(plan)),
    };
    Ok(assess(plan, Some(&pool), &estimate))
}

/// What a plan takes of a pool of so many hosts, or of one that is not known.
pub(crate) fn alone(plan: &Plan, hosts: Option<u32>, arguments: &EstimateArguments) -> Feasibility {
    let estimate = match arguments.estimate {
        Some(execution) => Estimate::given(plan, execution),
        None => Estimate::by_timeouts(plan),
    };
    assess(plan, hosts.map(Pool::of).as_ref(), &estimate)
}

async fn pool(connection: &Connection) -> Result<Pool, Failure> {
    const TRIED: &str = "cannot ask what the pool has";
    let answer = connection.hosts().summary(v1::HostsSummaryRequest {}).await;
    let answer = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
    Pool::try_from(answer).map_err(|error| Failure::malformed(TRIED, error))
}

/// The mean times of the newest experiment of the same name that measured every benchmark of the plan.
async fn measured(connection: &Connection, plan: &Plan) -> Result<Option<Estimate>, Failure> {
    let known = selector::list(&mut connection.experiments(), 0).await?;
    let same = |status: &&speedup_proto::convert::ExperimentStatus| {
        status.name == plan.experiment.name && status.tally.measured > 0 && status.tally.runs() <= MOST_READ
    };
    let Some(earlier) = known.iter().find(same) else { return Ok(None) };
    let json = report::ask(connection, earlier.experiment, report::Wanted::default()).await?;
    let report: Option<Report> = serde_json::from_str(&json).ok();
    Ok(report.and_then(|report| estimate(plan, &report)))
}

/// Of each benchmark the slowest version's mean; none if a benchmark was not measured.
fn estimate(plan: &Plan, report: &Report) -> Option<Estimate> {
    let mean = |name: &str| {
        let benchmark = report.benchmarks.iter().find(|benchmark| benchmark.name == name)?;
        let means = benchmark.cells.iter().filter_map(|cell| Some(cell.wall_ns.as_ref()?.mean));
        means.fold(None, |most: Option<f64>, mean| Some(most.map_or(mean, |most| most.max(mean))))
    };
    let names = plan.benchmarks.iter().filter_map(|index| plan.experiment.benchmark(*index));
    let executions: Option<Vec<Span>> =
        names.map(|benchmark| mean(&benchmark.name).map(|ns| Span(ns.ceil() as u64))).collect();
    let source = EstimateSource::Measured { experiment: report.head.experiment.clone() };
    Some(Estimate { executions: executions?, source, ..Estimate::by_timeouts(plan) })
}

/// What is needed and there.
pub(crate) fn hosts(feasibility: &Feasibility, policy: Policy) -> String {
    let Feasibility { hosts_needed, hosts_needed_at_most, pool, .. } = feasibility;
    let needed = match policy {
        Policy::Any => "1 is enough, because the policy is any: the runs will not be independent".to_owned(),
        policy @ Policy::Distinct => {
            format!("{hosts_needed} fresh ones needed under the policy {}", policy.name())
        }
        policy @ (Policy::Rebooted | Policy::Reallocated | Policy::Rested) => {
            format!("{hosts_needed} needed under the policy {}, which lets hosts come again", policy.name())
        }
    };
    let more = match hosts_needed_at_most {
        most if most > hosts_needed => format!(", up to {most} where the rule asks for all it may"),
        _ => String::new(),
    };
    let there = match pool {
        None => "the pool is not known, as no coordinator answers".to_owned(),
        Some(PoolFeasibility { fits: true, hosts, .. }) => format!("{hosts} are there"),
        Some(PoolFeasibility { hosts, hosts_of_all_classes, .. }) if hosts < hosts_of_all_classes => {
            format!("only {hosts} of one class are there, of {hosts_of_all_classes} in all")
        }
        Some(PoolFeasibility { hosts, .. }) => format!("only {hosts} are there"),
    };
    format!("{needed}{more}; {there}")
}

/// How long it takes, and where that is known from.
pub(crate) fn duration(feasibility: &Feasibility) -> String {
    let Feasibility { pool, host_time_ns, estimate, builds, .. } = feasibility;
    let host_time = format!("{} of host time", roughly(Duration::from(*host_time_ns)));
    let known = pool.as_ref().and_then(|pool| Some((pool.waves?, pool.wall_time_ns?)));
    let lasts = known.map_or(String::new(), |(waves, wall)| {
        format!("{} in {}, ", roughly(Duration::from(wall)), counted(waves.into(), "wave"))
    });
    let source = match estimate {
        EstimateSource::Given => "about, by the estimate".to_owned(),
        EstimateSource::Measured { experiment } => format!("about, as in experiment {experiment}"),
        EstimateSource::Timeouts => {
            "at most, by the timeouts, as nothing better is known before a run".to_owned()
        }
    };
    // Nothing is known of builds but how long they may last.
    let building = match builds {
        0 => String::new(),
        builds => format!("; {} by their timeouts", counted(u64::from(*builds), "build")),
    };
    format!("{lasts}{host_time} ({source}{building}; without setup and retries)")
}

/// What would make a plan fit that does not.
pub(crate) fn remedies(feasibility: &Feasibility) -> Vec<String> {
    feasibility.pool.iter().flat_map(|pool| &pool.remedies).map(Remedy::words).collect()
}

#[cfg(test)]
mod tests {
    use speedup_core::plan_file;
    use speedup_core::seed::Seed;

    use super::*;
    use crate::plan_source::tests::PLAN;

    fn plan() -> Plan {
        Plan::draw(plan_file::parse(PLAN, Seed(42)).unwrap())
    }

    #[test]
    fn a_plan_that_fits_has_its_time() {
        let arguments = EstimateArguments { estimate: Some(Span::from_secs(600)) };
        let feasibility = alone(&plan(), Some(8), &arguments);
        assert_eq!(
            hosts(&feasibility, Policy::Distinct),
            "6 fresh ones needed under the policy distinct; 8 are there"
        );
        assert_eq!(
            duration(&feasibility),
            "10 min 0 s in 1 wave, 1 h 0 min of host time (about, by the estimate; without setup and retries)"
        );
        assert!(remedies(&feasibility).is_empty());
    }

    #[test]
    fn a_plan_that_does_not_fit_has_remedies() {
        let feasibility = alone(&plan(), Some(4), &EstimateArguments::default());
        assert_eq!(
            hosts(&feasibility, Policy::Distinct),
            "6 fresh ones needed under the policy distinct; only 4 are there"
        );
        assert_eq!(
            remedies(&feasibility),
            [
                "runs = 2 in [repetitions]",
                "2 more agents, started before or, with --wait-for-hosts, after the submission"
            ]
        );
        assert!(duration(&feasibility).starts_with("1 h 0 min of host time (at most, by the timeouts"));
    }
}
