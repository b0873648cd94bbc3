//! Whether the pool can carry a plan out, as `plan check` and `submit` say it.

use std::time::Duration;

use clap::Args;
use speedup_analysis::study::Report;
use speedup_core::experiment::Policy;
use speedup_core::machine::feasibility::{
    Estimate, EstimateSource, Feasibility, Pool, PoolFeasibility, Remedy, assess,
};
use speedup_core::{plan::Plan, value::time::Span};
use speedup_proto::v1;

use crate::connection::{Connection, selector};
use crate::console::moment::roughly;
use crate::console::render::counted;
use crate::exit::failure::Failure;
use crate::results::report::{self, ReportOptions};

/// Most runs of an earlier experiment that is read for its times: a report of more takes long for an estimate.
const MOST_READ: u32 = 100_000;

/// How long runs are taken to last.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EstimateArguments {
    /// How long one execution takes, such as 10s [default: as in the last experiment of this name]
    #[arg(long, value_name = "TIME", value_parser = crate::arguments::span)]
    estimate: Option<Span>,
    /// How long one build takes, such as 5m [default: its timeout]
    #[arg(long, value_name = "TIME", value_parser = crate::arguments::span)]
    estimate_build: Option<Span>,
    /// How long an execution of each benchmark took in a trial.
    #[arg(skip)]
    tried: Option<Vec<Span>>,
}

impl EstimateArguments {
    /// With how long an execution of each benchmark took in a trial, where there was one.
    pub(crate) fn with_trial(self, tried: Option<Vec<Span>>) -> Self {
        Self { tried, ..self }
    }

    /// By what the user said, or a trial found.
    fn told(&self, plan: &Plan) -> Option<Estimate> {
        let given = self.estimate.map(|execution| Estimate::given(plan, execution));
        given.or_else(|| Some(Estimate::tried(plan, self.tried.clone()?)))
    }

    /// With what is said of builds.
    fn with_builds(&self, plan: &Plan, estimate: Estimate) -> Estimate {
        match self.estimate_build {
            Some(build) => estimate.with_builds(plan, build),
            None => estimate,
        }
    }
}

/// What a plan takes of the pool that a coordinator has.
pub(crate) async fn ask(
    connection: &Connection,
    plan: &Plan,
    arguments: &EstimateArguments,
) -> Result<Feasibility, Failure> {
    let pool = pool(connection).await?;
    let estimate = match arguments.told(plan) {
        Some(estimate) => estimate,
        None => measured(connection, plan).await?.unwrap_or_else(|| Estimate::by_timeouts(plan)),
    };
    Ok(assess(plan, Some(&pool), &arguments.with_builds(plan, estimate)))
}

/// What a plan takes of a pool of so many hosts, or of one that is not known.
pub(crate) fn alone(plan: &Plan, hosts: Option<u32>, arguments: &EstimateArguments) -> Feasibility {
    let estimate = arguments.told(plan).unwrap_or_else(|| Estimate::by_timeouts(plan));
    assess(plan, hosts.map(Pool::alike).as_ref(), &arguments.with_builds(plan, estimate))
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
    let json = report::request(connection, earlier.experiment, ReportOptions::default()).await?;
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
    let name = policy.name();
    let needed = if !policy.asks_for_freshness() {
        let are = if *hosts_needed == 1 { "is" } else { "are" };
        format!("{hosts_needed} {are} enough, because the policy is {name}: the runs will not be independent")
    } else if policy.reuses_hosts() {
        format!("{hosts_needed} needed under the policy {name}, which reuses hosts")
    } else {
        format!("{hosts_needed} fresh ones needed under the policy {name}")
    };
    // A rule of repetition may ask for more hosts than the first runs need.
    let more = match hosts_needed_at_most {
        most if most > hosts_needed => format!(", up to {most} if the rule asks for its maximum"),
        _ => String::new(),
    };
    let there = match pool {
        None => "the pool is not known, as no coordinator answers".to_owned(),
        Some(PoolFeasibility { fits: true, hosts, .. }) => format!("{hosts} are there"),
        Some(PoolFeasibility { hosts, hosts_of_all_classes, .. }) if hosts < hosts_of_all_classes => {
            format!("only {hosts} of one class are there, of {hosts_of_all_classes} in all")
        }
        Some(PoolFeasibility { shortage: Some(shortage), .. }) => {
            return format!("{needed}{more}, and the plan does not fit: {shortage}");
        }
        Some(PoolFeasibility { hosts, .. }) => format!("only {hosts} are there"),
    };
    format!("{needed}{more}; {there}")
}

/// How long it takes, and where that is known from. Timeouts say how long it may take, which is no guess of how long it does.
/// `was_tried` says that a trial was to tell.
pub(crate) fn duration(feasibility: &Feasibility, was_tried: bool) -> String {
    let Feasibility { pool, host_time_ns, estimate, .. } = feasibility;
    if *estimate == EstimateSource::Timeouts {
        let told = match was_tried {
            true => "the trial did not measure every benchmark: fix what failed",
            false => "no run of it was measured: `speedup plan check --trial` tells",
        };
        return format!("unknown, because {told}, or give --estimate 10s");
    }
    let host_time = format!("{} of host time", roughly(Duration::from(*host_time_ns)));
    let known = pool.as_ref().and_then(|pool| Some((pool.waves?, pool.wall_time_ns?)));
    let lasts = known.map_or(String::new(), |(waves, wall)| {
        format!("{} in {}, ", roughly(Duration::from(wall)), counted(waves.into(), "wave"))
    });
    let source = match estimate {
        EstimateSource::Given => "about, by the estimate".to_owned(),
        EstimateSource::Measured { experiment } => format!("about, as in experiment {experiment}"),
        EstimateSource::Trial => "about, by one execution of each cell on this machine".to_owned(),
        EstimateSource::Timeouts => "at most, by the timeouts".to_owned(),
    };
    let building = building(feasibility).map_or_else(String::new, |building| format!("; {building}"));
    format!("{lasts}{host_time} ({source}{building}; without setup and retries)")
}

/// What the builds take of it: of those nothing is known but how long they may last, unless it is said.
fn building(feasibility: &Feasibility) -> Option<String> {
    let Feasibility { pool, builds, build_host_time_ns, builds_are_given, .. } = feasibility;
    if *builds == 0 {
        return None;
    }
    let counted = counted(u64::from(*builds), "build");
    let host_time = roughly(Duration::from(*build_host_time_ns));
    let first = match pool.as_ref().and_then(|pool| pool.build_wall_time_ns) {
        Some(wall) => format!("the first {}, ", roughly(Duration::from(wall))),
        None => String::new(),
    };
    let source = if *builds_are_given { "the estimate" } else { "their timeouts" };
    Some(format!("of it {counted}: {first}{host_time} of host time, by {source}"))
}

/// What would make a plan fit that does not.
pub(crate) fn remedies(feasibility: &Feasibility) -> Vec<String> {
    feasibility.pool.iter().flat_map(|pool| &pool.remedies).map(Remedy::words).collect()
}

#[cfg(test)]
mod tests {
    use speedup_core::{experiment::CommandLine, experiment::build::Build, plan, value::seed::Seed};

    use super::*;
    use crate::plan::source::tests::PLAN;

    fn plan() -> Plan {
        Plan::draw(plan::file::parse(PLAN, Seed(42)).unwrap())
    }

    #[test]
    fn a_plan_that_fits_has_its_time() {
        let arguments =
            EstimateArguments { estimate: Some(Span::from_secs(600)), ..EstimateArguments::default() };
        let feasibility = alone(&plan(), Some(8), &arguments);
        let hosts = hosts(&feasibility, Policy::Distinct);
        let duration = duration(&feasibility, false);
        assert!(hosts.starts_with("6 fresh ones") && hosts.contains("; 8 "), "{hosts}");
        assert!(duration.starts_with("10 min 0 s in 1 wave, 1 h 0 min "), "{duration}");
        assert!(remedies(&feasibility).is_empty());
    }

    /// Their time is counted and told apart, by what is said of a build or by their timeouts.
    #[test]
    fn builds_have_their_share() {
        let mut experiment = plan::file::parse(PLAN, Seed(42)).unwrap();
        experiment.versions[1].build = Some(Build {
            command: CommandLine::Shell("make".to_owned()),
            builds: 5,
            products: [("prog".to_owned(), "prog".to_owned())].into(),
            timeout: Span::from_secs(3_600),
        });
        let plan = Plan::draw(experiment);
        let of = |estimate_build| {
            let estimate = Some(Span::from_secs(600));
            duration(
                &alone(&plan, Some(8), &EstimateArguments { estimate, estimate_build, tried: None }),
                false,
            )
        };
        let estimated = of(Some(Span::from_secs(120)));
        assert!(estimated.starts_with("12 min 0 s in 1 wave, 1 h 10 min "), "{estimated}");
        assert!(estimated.contains(" 2 min 0 s, 10 min 0 s "), "{estimated}");
        let by_timeouts = of(None);
        assert!(by_timeouts.contains(" 1 h 0 min, 5 h 0 min "), "{by_timeouts}");
        assert!(by_timeouts.contains("timeouts"), "{by_timeouts}");
    }

    #[test]
    fn a_plan_that_does_not_fit_has_remedies() {
        let feasibility = alone(&plan(), Some(4), &EstimateArguments::default());
        let hosts = hosts(&feasibility, Policy::Distinct);
        assert!(hosts.contains("needs 6 fresh hosts") && hosts.contains("has 4"), "{hosts}");
        let remedies = remedies(&feasibility);
        let [fewer, more] = &remedies[..] else { panic!("{remedies:?}") };
        assert!(fewer.starts_with("runs = 2 ") && more.starts_with("2 more agents"), "{fewer}; {more}");
        assert!(duration(&feasibility, false).starts_with("unknown"));
    }
}
