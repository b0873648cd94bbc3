//! `speedup track add`: declares a track.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use speedup_analysis::track::{TrackHistory, TrackTerms};
use speedup_core::{
    experiment::Experiment, experiment::Metric, experiment::metric::Better, value::seed::Seed,
};
use speedup_statistics::inference::ConfidenceLevel;
use uuid::Uuid;

use crate::{
    arguments::fraction, arguments::heading, command::measure::run::require_one_host,
    connection::CoordinatorArguments, connection::started::KeptAt, console::Console,
    console::render::counted, exit::Exit, exit::failure::Failure, plan::doubt, plan::repository::Repository,
    plan::selection::OnlyArguments, plan::source, tracks::Cadence, tracks::Definition, tracks::TrackName,
    tracks::Tracks,
};

/// Points a year of a track with one a day; the fewest for which one is declared whose commits are all measured.
const DAYS: f64 = 365.0;

/// Declares a track: a branch, the references beside which its commits are measured, and how many false alarms a year
///
/// Each point is an experiment: the commit, the references and a control in blocks, each block on one host. So what changes with hosts and days
/// cancels. `speedup track run` measures what is due, and is to be called by cron, a timer, or continuous integration.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup track add plan.toml --branch main --reference v1.0 --margin 2%\n\
    \x20 speedup track add plan.toml --branch main --reference v1.0 --submit\n\n\
    The plan has a version with `git`, `build` and `products`, which stands for every commit, and any benchmarks. Without \
    --submit points are measured on this machine, which the plan must allow (policy = \"any\").")]
pub(crate) struct Arguments {
    /// The plan file; - reads standard input
    #[arg(value_name = "PLAN")]
    plan: String,
    /// The branch whose commits are measured; a merge is one commit
    #[arg(long, value_name = "BRANCH", help_heading = "Points")]
    branch: String,
    /// A commit beside which each commit is measured; repeatable, and ratios are to the first
    #[arg(long = "reference", value_name = "COMMIT", required = true, help_heading = "Points")]
    references: Vec<String>,
    /// The commit of the branch after which the points begin [default: where branch and reference fork]
    #[arg(long, value_name = "COMMIT", help_heading = "Points")]
    from: Option<String>,
    /// Which commits become points
    #[arg(long, value_enum, default_value = "commit", value_name = "CADENCE", help_heading = "Points")]
    every: Cadence,
    /// The declared number of false alarms a year, of all benchmarks together
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1.0)]
    #[arg(help_heading = "Alarms")]
    false_alarms: f64,
    /// The points a year for which it is declared [default: 365, or the commits of the last year if they are more]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Alarms")]
    points_a_year: Option<f64>,
    /// Changes up to this share count as none, such as 0.02 or 2% [default: the plan's]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::margin, help_heading = "Alarms")]
    margin: Option<f64>,
    /// Builds of equally fast programs are equally fast, within the margin: each block counts
    ///
    /// Otherwise each point counts as one ratio, since the layout of a build moves all of its blocks. If it is said and not so, there are more false alarms
    /// than declared.
    #[arg(long, help_heading = "Alarms")]
    builds_alike: bool,
    /// The metric that is followed, such as instructions, max_rss, or one of the plan's own [default: wall]
    #[arg(long, value_name = "NAME", help_heading = "Points")]
    metric: Option<String>,
    /// The confidence level of sets of commits and sizes [default: the plan's]
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, value_parser = fraction::confidence_level, help_heading = "Alarms")]
    confidence: Option<ConfidenceLevel>,
    /// Blocks of each benchmark at a point [default: the runs of the plan]
    #[arg(long, value_name = "N", help_heading = "Points")]
    blocks: Option<u32>,
    #[command(flatten)]
    only: OnlyArguments,
    /// The random seed, instead of the plan's [default: drawn at random]
    #[arg(long, value_name = "N", help_heading = heading::CHANGES)]
    seed: Option<u64>,
    /// The name of the track [default: the plan's]
    #[arg(long, value_name = "NAME", help_heading = heading::CHANGES)]
    name: Option<TrackName>,
    /// Have a coordinator's hosts measure the points
    #[arg(long, help_heading = "On a pool")]
    submit: bool,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
}

pub(super) fn execute(arguments: &Arguments, tracks: &Tracks, console: &Console) -> Result<Exit, Failure> {
    let plan = source::text(&arguments.plan)?;
    let directory = directory(&arguments.plan)?;
    let (mut experiment, look) = source::kept_template(&plan, &directory)?;
    let name = arguments.name.clone().map_or_else(|| name_of(&experiment), Ok)?;
    tracks.require_free(&name)?;
    arguments.only.apply(&mut experiment)?;
    let (_, repository) = look.template(&experiment)?;
    let terms = terms(arguments, &name, &experiment, &repository)?;
    let history = TrackHistory { terms: terms.clone(), entries: Vec::new(), acknowledged: Vec::new() };
    history.rule().map_err(|error| {
        Failure::usage(error).hint("declare few false alarms, such as 1 a year, or 0.1: one in ten years")
    })?;
    let place = match arguments.submit {
        true => arguments.coordinator.place(),
        false => KeptAt::Data(tracks.data(&name)),
    };
    let definition = Definition {
        version: 1,
        id: Uuid::new_v4(),
        every: arguments.every,
        blocks: arguments.blocks.unwrap_or(experiment.runs),
        seed: arguments.seed.map_or(experiment.seed, Seed),
        terms,
        plan,
        directory,
        center: Some(experiment.analysis.center.unwrap_or_default()),
        place,
    };
    let terms = &definition.terms;
    // The first point is built here already: what is wrong with it is reported now and not in the first night.
    let line = repository.since(&terms.start, &terms.branch)?;
    let (point, files) = definition.point(line.last().unwrap_or(&terms.start))?;
    doubt::warn(&point, console);
    files.warn(console);
    if !arguments.submit {
        require_one_host(point)?;
    }
    tracks.create(&name, &definition)?;
    for reference in &terms.references {
        console.talk(format_args!("reference: {}", reference.in_words()));
    }
    let after = counted(line.len() as u64, "commit");
    console.talk(format_args!("Track {name}: {} has {after} after {}.", terms.branch, terms.start.short()));
    console.talk(format_args!("`speedup track run {name}` measures what is due."));
    Ok(Exit::Done)
}

fn terms(
    arguments: &Arguments,
    name: &TrackName,
    experiment: &Experiment,
    repository: &Repository,
) -> Result<TrackTerms, Failure> {
    let Arguments { branch, every, metric, .. } = arguments;
    let references: Result<Vec<_>, _> =
        arguments.references.iter().map(|reference| repository.commit(reference)).collect();
    let references = references?;
    if (1..references.len()).any(|at| references[..at].iter().any(|one| one.id == references[at].id)) {
        return Err(Failure::usage(anyhow!("two references are one commit")).hint("name each commit once"));
    }
    let start = match (&arguments.from, arguments.references.first()) {
        (Some(from), _) => repository.commit(from)?,
        (None, Some(reference)) => repository.fork(reference, branch)?,
        (None, None) => repository.commit(branch)?,
    };
    let metric = metric.clone().unwrap_or_else(|| Metric::Wall.name().to_owned());
    let commits_of_last_year = match every {
        Cadence::Commit => f64::from(repository.commits_of_last_year(branch)?),
        Cadence::Night => DAYS,
    };
    Ok(TrackTerms {
        name: name.to_string(),
        branch: branch.clone(),
        references,
        start,
        benchmarks: experiment.benchmarks.iter().map(|benchmark| benchmark.name.clone()).collect(),
        better: better(experiment, &metric)?,
        margin: arguments.margin.or(experiment.analysis.margin),
        builds_alike: arguments.builds_alike,
        confidence: arguments.confidence.map_or(experiment.analysis.confidence, ConfidenceLevel::get),
        false_alarms_a_year: arguments.false_alarms,
        points_a_year: arguments.points_a_year.unwrap_or(commits_of_last_year.max(DAYS)),
        metric,
    })
}

/// Which values of a metric are good.
fn better(experiment: &Experiment, metric: &str) -> Result<Better, Failure> {
    if Metric::ALL.iter().any(|known| known.name() == metric) {
        return Ok(Better::Lower);
    }
    let own = experiment.own_metrics.iter().find(|own| own.name == metric);
    let own = own.ok_or_else(|| {
        Failure::usage(anyhow!("there is no metric {metric}"))
            .hint("name one that every agent knows, such as wall or instructions, or one of the plan's [metrics.output]")
    })?;
    Ok(own.better)
}

/// The name of the plan as that of a track.
fn name_of(experiment: &Experiment) -> Result<TrackName, Failure> {
    let name = experiment.name.parse();
    name.map_err(|refusal: String| {
        Failure::usage(anyhow!("{:?}: {refusal}", experiment.name)).hint("name it: --name NAME")
    })
}

/// The directory to which files of the plan are relative, from wherever the track is run.
fn directory(plan: &str) -> Result<PathBuf, Failure> {
    let beside = if plan == source::STDIN { None } else { Path::new(plan).parent() };
    let beside = beside.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = beside.canonicalize().with_context(|| format!("cannot find {}", beside.display()));
    directory.map_err(Failure::usage)
}
