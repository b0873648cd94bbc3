//! `speedup bisect`: which commit of a range made a program slower.

use std::path::PathBuf;

use clap::Args;
use speedup_core::experiment::prior::PathWeight;
use speedup_core::experiment::{Bisection, Experiment};
use speedup_core::plan::Plan;
use speedup_core::{repetition::FEWEST_OF_A_BLOCK, value::seed::Seed};
use speedup_statistics::inference::ConfidenceLevel;

use super::run::require_one_host;
use crate::command::cluster::hosts::prospects::HostsArguments;
use crate::command::experiments::wait;
use crate::{
    arguments::OutputArgument, arguments::fraction, arguments::heading, connection::CoordinatorArguments,
    connection::SubmittedExperiment, connection::selector, connection::started, console::Console,
    console::render::report::Extent, exit::Exit, exit::failure::Failure, gate, gate::Gate,
    gate::GateArguments, plan::doubt, plan::dropped, plan::feasibility, plan::feasibility::EstimateArguments,
    plan::files::LocalFiles, plan::line::CommitSearch, plan::prior::path_weight,
    plan::repository::GitRefusal, plan::repository::LineOptions, plan::repository::Range,
    plan::selection::OnlyArguments, plan::source, plan::source::TagArguments, results::report,
    results::report::AnsweredReport, results::report::ReportOptions, session::Remainder,
    session::ReportingOptions, session::Session,
};

/// Finds the commit of a range that made a program slower
///
/// Each commit is built when it is first to be run. A block of runs on one host has both ends of the range and the commits about which the runs say most. It ends with the commits of which one has the step, at the
/// confidence level, and the step's size; or with no step, or more than one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup bisect v1.2..HEAD plan.toml\n\
    \x20 speedup bisect v1.2..HEAD plan.toml --margin 2% --first-parent -- src\n\
    \x20 speedup bisect v1.2..HEAD plan.toml --prior src/codec=5\n\
    \x20 speedup bisect v1.2..HEAD plan.toml --submit --blocks 8\n\n\
    The plan has one benchmark, and a version with `git`, `build` and `products`, which stands for every commit. Without \
    --submit everything runs on this machine, which the plan must allow (policy = \"any\"). An interrupted bisection \
    goes on with `speedup resume last`. Commits that do not build, or whose runs all fail, are passed over. The exit code is 0 \
    whatever was found, 1 if an end of the range cannot be built or run, and otherwise that of the gates.")]
pub(crate) struct Arguments {
    /// The good end and the bad one; with three dots, the good end is their merge base
    #[arg(value_name = "GOOD..BAD", value_parser = range)]
    range: Range,
    /// The plan file; - reads standard input
    #[arg(value_name = "PLAN")]
    plan: String,
    /// Only commits that change one of these paths, relative to the repository that the plan names
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<String>,
    /// Take a merge as one commit: follow only the first parents
    #[arg(long, help_heading = "Search")]
    first_parent: bool,
    /// The metric in which a step is looked for, such as instructions, max_rss, or one of the plan's own [default: wall]
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    metric: Option<String>,
    /// Steps up to this share do not matter, such as 0.02 or 2% [default: the plan's, else any step matters]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::margin, help_heading = "Search")]
    margin: Option<f64>,
    /// The confidence level [default: the plan's]
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, value_parser = fraction::confidence_level, help_heading = "Search")]
    confidence: Option<ConfidenceLevel>,
    /// Commits that change files under PATH are WEIGHT times as likely, beforehand, as others to have the step; repeatable
    ///
    /// A commit weighs as much as the heaviest file that it changes; files under no PATH weigh 1. Weights are above 0 and at most 1000. The report names them.
    #[arg(long, value_name = "PATH=WEIGHT", value_parser = path_weight, help_heading = "Search")]
    prior: Vec<PathWeight>,
    /// Most runs of all commits, builds not counted
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(i64::from(FEWEST_OF_A_BLOCK)..), help_heading = "Search")]
    max_runs: u32,
    /// Runs of a block: of both ends, and of commits between them
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Search")]
    block: u32,
    /// Blocks that are run before the next commits are chosen: as many as there are hosts
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    blocks: u32,
    #[command(flatten)]
    only: OnlyArguments,
    /// The random seed, instead of the plan's [default: drawn at random]
    #[arg(long, value_name = "N", help_heading = heading::CHANGES)]
    seed: Option<u64>,
    /// The name of the experiment, instead of the plan's
    #[arg(long, value_name = "NAME", help_heading = heading::CHANGES)]
    name: Option<String>,
    #[command(flatten)]
    tags: TagArguments,
    /// Have a coordinator's hosts do it, and wait for the end
    #[arg(long, conflicts_with = "data", help_heading = "On a pool")]
    submit: bool,
    /// With --submit, accept the plan even if the pool has too few fresh hosts now
    #[arg(long, requires = "submit", help_heading = "On a pool")]
    wait_for_hosts: bool,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    /// The data directory [default: as of `speedup run`]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    gate: GateArguments,
    #[command(flatten)]
    output: OutputArgument,
}

fn range(text: &str) -> Result<Range, String> {
    text.parse().map_err(|refusal: GitRefusal| format!("{refusal}; {}", refusal.hint()))
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let gate = arguments.gate.gate()?;
    let (experiment, files) = read(&arguments, console)?;
    doubt::warn(&experiment, console);
    files.warn(console);
    dropped::tell(&experiment, console);
    if arguments.submit {
        return on_a_pool(&arguments, experiment, &files, gate, console).await;
    }
    let experiment = require_one_host(experiment)?;
    let session = Session::start(console, arguments.data.as_deref()).await?;
    let telling = ReportingOptions {
        extent: Extent::Brief,
        output: arguments.output.output,
        gate,
        rest: Remainder::Left,
    };
    session.carry_out(experiment, &files, telling).await
}

/// The plan, with a version of each commit.
fn read(arguments: &Arguments, console: &Console) -> Result<(Experiment, LocalFiles), Failure> {
    let (mut experiment, look) = source::template(&arguments.plan)?;
    if let Some(seed) = arguments.seed {
        experiment.seed = Seed(seed);
    }
    if let Some(name) = &arguments.name {
        experiment.name.clone_from(name);
    }
    arguments.only.apply(&mut experiment)?;
    experiment.tags = arguments.tags.added_to(experiment.tags);
    let Arguments { max_runs: maximum, block, blocks, .. } = *arguments;
    // What is asked for at once is never more than there may be.
    let block = block.min(maximum);
    let blocks = blocks.min((maximum / block.max(1)).max(1));
    let sought = CommitSearch {
        range: arguments.range.clone(),
        options: LineOptions { first_parent: arguments.first_parent, paths: arguments.paths.clone() },
        bisection: Bisection { maximum, block, blocks },
        prior: arguments.prior.clone(),
        metric: arguments.metric.clone(),
        margin: arguments.margin,
        confidence: arguments.confidence.map(ConfidenceLevel::get),
    };
    look.expand(experiment, &sought, console)
}

/// Submits it, waits for its end, and reports.
async fn on_a_pool(
    arguments: &Arguments,
    experiment: Experiment,
    files: &LocalFiles,
    gate: Option<Gate>,
    console: &Console,
) -> Result<Exit, Failure> {
    let (name, seed) = (experiment.name.clone(), experiment.seed);
    let connection = arguments.coordinator.connect().await?;
    let plan = Plan::draw(experiment);
    let feasibility = feasibility::ask(&connection, &plan, &EstimateArguments::default()).await?;
    let policy = plan.experiment.independence.policy;
    console.talk(format_args!("hosts: {}", feasibility::hosts(&feasibility, policy)));
    files.send(&connection, &plan.experiment, console).await?;
    let submitted = connection.submit(plan.experiment, arguments.wait_for_hosts, None).await?;
    let SubmittedExperiment { experiment, warning, .. } = submitted;
    if let Some(warning) = warning {
        console.talk(format_args!("warning: {warning}"));
    }
    started::note(experiment, &name, arguments.coordinator.place());
    let short = selector::short(experiment);
    console.talk(format_args!(
        "seed {seed}: {name} ({short}); Ctrl-C ends this command and not the bisection: `speedup wait {short}`, `speedup report {short}`"
    ));
    // From here on the coordinator carries on by itself, whatever becomes of this command.
    let hosts = HostsArguments { wait_for_hosts: arguments.wait_for_hosts };
    let exit = wait::until_finished(&connection, experiment, hosts, console).await?;
    let wanted =
        ReportOptions { noise_threshold: gate.and_then(Gate::noise_threshold), ..ReportOptions::default() };
    let report = AnsweredReport::parse(report::request(&connection, experiment, wanted).await?);
    connection.close().await;
    report.print(&Extent::Brief, arguments.output.output, console)?;
    let gated = gate.map_or(Ok(Exit::Done), |gate| gate.judge_report(&report, console))?;
    let found = gate::judge_ends(&report);
    Ok([exit, found, gated].into_iter().find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done))
}
