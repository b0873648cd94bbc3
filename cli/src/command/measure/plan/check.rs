//! `speedup plan check`: validates a plan and says what it would take. Runs nothing, unless a trial is asked for.

use std::{fmt, time::Duration};

use clap::Args;
use serde::Serialize;
use speedup_analysis::study::{TailTakes, first_decisive_look};
use speedup_core::{
    experiment::Benchmark, experiment::Center, experiment::CommandLine, experiment::Endpoint,
    experiment::EndpointSubject, experiment::Experiment, experiment::Independence, experiment::Rule,
    experiment::commit::Commit, experiment::files::Content, experiment::files::FileSource,
    experiment::files::StagedFile, experiment::metric::OwnMetric, machine::feasibility::Feasibility,
    plan::Plan, value::seed::Seed, value::time::Span,
};

use crate::{
    arguments::Output, arguments::OutputArgument, command::block_on, command::print, command::print_json,
    connection::CoordinatorArguments, connection::SourceArguments, console::Console, console::Paint,
    console::moment, console::render::table::Column, console::render::table::table, exit::Exit,
    exit::failure::Failure, plan::doubt, plan::feasibility, plan::feasibility::EstimateArguments,
    plan::source::PlanArguments, session::trial::Trial, session::trial::TriedCell,
};

/// Most benchmarks that are shown to people; JSON has all.
const SHOWN: usize = 50;
/// Most characters of a command that are shown.
const COMMAND: usize = 60;

/// Validates a plan, and says which hosts and how long it needs
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup plan check examples/locale.toml\n\
    \x20 speedup plan check plan.toml --hosts 40 --estimate 10s\n\
    \x20 speedup plan check plan.toml --trial\n\n\
    The exit code is 2 if the plan is invalid, or if the pool cannot execute it; 1 if a benchmark failed in the trial.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    plan: PlanArguments,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    estimate: EstimateArguments,
    /// Execute each benchmark once in each version on this machine, to tell how long it takes and whether it works
    ///
    /// Nothing that is measured is kept.
    #[arg(long, conflicts_with = "estimate")]
    trial: bool,
    /// Check against a pool of N identical hosts instead of asking a coordinator
    #[arg(long, value_name = "N", conflicts_with_all = ["coordinator", "access_file"])]
    hosts: Option<u32>,
    #[command(flatten)]
    output: OutputArgument,
}

/// What a plan would take.
#[derive(Debug, Serialize)]
struct PlanCheck<'a> {
    name: &'a str,
    seed: Seed,
    versions: Vec<&'a str>,
    /// The commits that versions are built from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commits: Vec<CheckedCommit<'a>>,
    /// The name under which the baseline runs again.
    baseline_again: Option<&'a str>,
    benchmarks: Vec<CheckedBenchmark<'a>>,
    /// How many benchmarks there are to draw from, when they are drawn.
    population: Option<usize>,
    cells: u32,
    runs: u32,
    metrics: Vec<&'a str>,
    own_metrics: &'a [OwnMetric],
    /// What gets a verdict beside the centre of the wall times.
    endpoints: Vec<CheckedEndpoint>,
    /// The looks of the rule, where it has any.
    looks: Option<CheckedLooks>,
    files: &'a [StagedFile],
    independence: Independence,
    /// What a trial of each cell measured, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<&'a [TriedCell]>,
    #[serde(flatten)]
    feasibility: Feasibility,
}

#[derive(Debug, Serialize)]
struct CheckedEndpoint {
    name: String,
    /// The independent units of each version that its interval takes, runs or what the plan repeats over, at the plan's level; none where that level is none.
    runs_needed: Option<u64>,
    /// Whether the plan has fewer, and neither has fewer units of more runs.
    has_too_few: bool,
    /// The same for people.
    #[serde(skip)]
    takes: Option<TailTakes>,
}

/// Looks at growing data.
#[derive(Debug, Serialize)]
struct CheckedLooks {
    looks: u32,
    /// What is compared at each.
    center: Center,
    /// The first at which anything could be concluded, from 1.
    first_decisive: Option<u32>,
}

/// The commit that a version is built from.
#[derive(Debug, Serialize)]
struct CheckedCommit<'a> {
    version: &'a str,
    #[serde(flatten)]
    commit: &'a Commit,
}

#[derive(Debug, Serialize)]
struct CheckedBenchmark<'a> {
    name: &'a str,
    command: &'a CommandLine,
    warmup: u32,
    timeout_ns: Span,
}

pub(super) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let source = SourceArguments { coordinator: arguments.coordinator.clone(), data: None };
    let (experiment, local) = block_on(arguments.plan.read_with_files(&source))?;
    doubt::warn(&experiment, console);
    local.warn(console);
    let plan = Plan::draw(experiment);
    let trial = match arguments.trial {
        true => Some(block_on(Trial::run(&plan, &local, console))?),
        false => None,
    };
    let tried = trial.as_ref().and_then(|trial| trial.executions(&plan));
    let estimate = arguments.estimate.clone().with_trial(tried);
    let feasibility = block_on(feasibility(arguments, &estimate, &plan, console))?;
    let checked =
        PlanCheck { trial: trial.as_ref().map(|trial| &trial.cells[..]), ..check(&plan, feasibility) };
    match arguments.output.output {
        Output::Json => print_json(console, &checked)?,
        Output::Table => print(console, &shown(&checked, console.out))?,
    }
    let fits = checked.feasibility.pool.as_ref().is_none_or(|pool| pool.fits);
    let tried = trial.map_or(Exit::Done, |trial| trial.conclude(console));
    Ok(if fits { tried } else { Exit::Usage })
}

/// What the plan takes. A coordinator that was named has to answer; one that may have been left over need not.
async fn feasibility(
    arguments: &Arguments,
    estimate: &EstimateArguments,
    plan: &Plan,
    console: &Console,
) -> Result<Feasibility, Failure> {
    let alone = || feasibility::alone(plan, arguments.hosts, estimate);
    if arguments.hosts.is_some() || arguments.coordinator.find()?.is_none() {
        return Ok(alone());
    }
    let asked = async {
        let connection = arguments.coordinator.connect().await?;
        let asked = feasibility::ask(&connection, plan, estimate).await;
        connection.close().await;
        asked
    };
    match asked.await {
        Ok(feasibility) => Ok(feasibility),
        Err(failure)
            if failure.exit == Exit::Infrastructure && arguments.coordinator.coordinator.is_none() =>
        {
            console.warn(format_args!("the pool is not known: {}", failure.error));
            Ok(alone())
        }
        Err(failure) => Err(failure),
    }
}

fn check(plan: &Plan, feasibility: Feasibility) -> PlanCheck<'_> {
    let experiment = &plan.experiment;
    let benchmarks: Vec<&Benchmark> =
        plan.benchmarks.iter().filter_map(|index| experiment.benchmark(*index)).collect();
    PlanCheck {
        name: &experiment.name,
        seed: experiment.seed,
        versions: experiment.compared().iter().map(|version| version.name.as_str()).collect(),
        commits: experiment
            .compared()
            .iter()
            .filter_map(|version| {
                Some(CheckedCommit { version: &version.name, commit: version.commit.as_ref()? })
            })
            .collect(),
        baseline_again: experiment.control().map(|(_, control)| control.name.as_str()),
        population: experiment.drawn.map(|_| experiment.benchmarks.len()),
        cells: plan.cells(),
        runs: plan.with_first_runs().runs() - plan.builds(),
        metrics: experiment.metrics.iter().map(|metric| metric.name()).collect(),
        own_metrics: &experiment.own_metrics,
        endpoints: experiment
            .endpoints()
            .iter()
            .map(|endpoint| checked_endpoint(endpoint, experiment))
            .collect(),
        looks: match experiment.rule {
            Rule::Sequential { looks, .. } => Some(CheckedLooks {
                looks,
                center: experiment.center(),
                first_decisive: first_decisive_look(experiment),
            }),
            Rule::Fixed | Rule::Pilot { .. } | Rule::Budget { .. } | Rule::Bisection(_) => None,
        },
        files: &experiment.files,
        independence: experiment.independence,
        trial: None,
        feasibility,
        benchmarks: benchmarks.into_iter().map(checked_benchmark).collect(),
    }
}

fn checked_endpoint(endpoint: &Endpoint<'_>, experiment: &Experiment) -> CheckedEndpoint {
    let (name, takes) = match endpoint.subject {
        EndpointSubject::Quantile(probability) => {
            (format!("quantile {probability} of wall"), TailTakes::of(experiment, probability))
        }
        EndpointSubject::Metric(metric) => (metric.name().to_owned(), None),
        EndpointSubject::Own(_, own) => (own.name.clone(), None),
    };
    let (runs_needed, has_too_few) =
        (takes.map(|takes| takes.units), takes.is_some_and(|takes| takes.has_too_few));
    CheckedEndpoint { name, runs_needed, has_too_few, takes }
}

/// As in `4 looks at the medians; none before look 2 can conclude, for its risk takes more runs`.
impl fmt::Display for CheckedLooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { looks, center, first_decisive } = self;
        let of = match center {
            Center::Mean => "means",
            Center::Median => "medians",
            Center::Trimmed => "trimmed means",
        };
        write!(f, "{looks} looks at the {of}")?;
        match first_decisive {
            Some(1) => Ok(()),
            Some(first) => {
                write!(f, "; none before look {first} can conclude, for their risks take more runs")
            }
            None => f.write_str("; none can conclude, for their risks take more runs"),
        }
    }
}

/// As in `quantile 0.99 of wall: takes 368 independent runs of each version, and the plan has fewer`.
impl fmt::Display for CheckedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let Some(takes) = self.takes else { return Ok(()) };
        write!(f, ": {takes}")?;
        if self.has_too_few { f.write_str(", and the plan has fewer") } else { Ok(()) }
    }
}

fn checked_benchmark(benchmark: &Benchmark) -> CheckedBenchmark<'_> {
    let Benchmark { name, command, warmup, timeout, .. } = benchmark;
    CheckedBenchmark { name, command, warmup: *warmup, timeout_ns: *timeout }
}

fn shown(checked: &PlanCheck<'_>, paint: Paint) -> String {
    let columns = [
        Column::Words("benchmark"),
        Column::Number("warm-ups"),
        Column::Number("timeout"),
        Column::Words("command"),
    ];
    let row = |one: &CheckedBenchmark<'_>| {
        vec![one.name.to_owned(), one.warmup.to_string(), length(one.timeout_ns), command(one.command)]
    };
    let mut text = table(&columns, checked.benchmarks.iter().take(SHOWN).map(row), paint);
    if checked.benchmarks.len() > SHOWN {
        text += &format!("\nand {} more; --format json has all", checked.benchmarks.len() - SHOWN);
    }
    let facts = facts(checked).into_iter().map(|(label, fact)| format!("\n{label:<16}{fact}"));
    text + "\n" + &facts.collect::<String>()
}

fn facts(checked: &PlanCheck<'_>) -> Vec<(&'static str, String)> {
    let (baseline, candidates) = checked.versions.split_first().unwrap_or((&"", &[]));
    let each = checked.runs / checked.cells.max(1);
    let benchmarks = match checked.population {
        Some(population) => format!("{} drawn from a population of {population}", checked.benchmarks.len()),
        None => checked.benchmarks.len().to_string(),
    };
    let mut facts = vec![
        ("experiment", checked.name.to_owned()),
        ("seed", checked.seed.to_string()),
        ("versions", format!("{baseline} (baseline), {}", candidates.join(", "))),
    ];
    let commit = |of: &CheckedCommit<'_>| ("commit", format!("{}: {}", of.version, of.commit.in_words()));
    facts.extend(checked.commits.iter().map(commit));
    facts.extend([
        ("benchmarks", benchmarks),
        ("control", control(checked)),
        ("runs", format!("{} = {} cells × {each}", checked.runs, checked.cells)),
        ("metrics", metrics(checked)),
    ]);
    facts.extend(checked.endpoints.iter().map(|endpoint| ("verdict on", endpoint.to_string())));
    facts.extend(checked.looks.iter().map(|looks| ("looks", looks.to_string())));
    facts.extend([
        ("files", files(checked.files)),
        ("hosts", feasibility::hosts(&checked.feasibility, checked.independence.policy)),
        ("duration", feasibility::duration(&checked.feasibility, checked.trial.is_some())),
    ]);
    let labels = std::iter::once("would fit with").chain(std::iter::repeat("or"));
    facts.extend(labels.zip(feasibility::remedies(&checked.feasibility)));
    facts
}

/// The control, or how to have one.
fn control(checked: &PlanCheck<'_>) -> String {
    match checked.baseline_again {
        Some(name) => format!("the baseline again, as {name}"),
        None => {
            "none; baseline_again = true in [controls] shows what this experiment says where nothing differs"
                .to_owned()
        }
    }
}

fn metrics(checked: &PlanCheck<'_>) -> String {
    let own = checked.own_metrics.iter().map(|own| {
        let unit = if own.unit.is_empty() { String::new() } else { format!(" in {}", own.unit) };
        format!("{}{unit} from {}", own.name, own.pattern.key())
    });
    let known = checked.metrics.iter().map(|name| (*name).to_owned());
    known.chain(own).collect::<Vec<_>>().join(", ")
}

fn files(files: &[StagedFile]) -> String {
    if files.is_empty() {
        return "none".to_owned();
    }
    let each = files.iter().map(|file| match &file.source {
        FileSource::Content(Content { bytes, .. }) => format!("{} (content, {bytes} bytes)", file.name),
        FileSource::Shared { path, .. } => format!("{} (shared, {path})", file.name),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn length(span: Span) -> String {
    let length = Duration::from(span);
    if length < Duration::from_secs(60) { span.to_string() } else { moment::roughly(length) }
}

fn command(line: &CommandLine) -> String {
    let line = match line {
        CommandLine::Exact(words) => words.iter().map(word).collect::<Vec<_>>().join(" "),
        CommandLine::Shell(line) => format!("sh -c {line}"),
    };
    let first = line.lines().next().unwrap_or_default();
    let cut = first.chars().count() > COMMAND || first.len() < line.len();
    let shown: String = first.chars().take(COMMAND).collect();
    if cut { shown + "…" } else { shown }
}

/// A word that would not be seen as one is quoted.
fn word(word: &String) -> String {
    let plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control());
    if plain { word.clone() } else { format!("{word:?}") }
}

#[cfg(test)]
mod tests {
    use speedup_core::plan;

    use super::*;
    use crate::plan::source::tests::PLAN;

    fn text(hosts: Option<u32>) -> String {
        let plan = Plan::draw(plan::file::parse(PLAN, Seed(42)).unwrap());
        let feasibility = feasibility::alone(&plan, hosts, &EstimateArguments::default());
        shown(&check(&plan, feasibility), Console::plain().out)
    }

    #[test]
    fn what_a_plan_takes_is_told() {
        let text = text(Some(8));
        for part in [
            "sort              0  10 min 0 s  sort /etc/services",
            "seed            42",
            "utf8 (baseline), c",
            "6 = 2 cells × 3",
            "6 fresh ones",
            "duration        unknown",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn the_metrics_are_told() {
        let own =
            "[metrics]\ncollect = [\"cycles\"]\n[metrics.output.rate]\nregex = '(x)'\nunit = \"MB/s\"\n";
        let plan = Plan::draw(plan::file::parse(&format!("{PLAN}\n{own}"), Seed(42)).unwrap());
        let checked = check(&plan, feasibility::alone(&plan, None, &EstimateArguments::default()));
        assert_eq!(metrics(&checked), "wall, cycles, rate in MB/s from regex");
        let json = serde_json::to_value(&checked).unwrap();
        assert_eq!(json["own_metrics"][0]["pattern"]["regex"], "(x)");
    }

    #[test]
    fn a_pool_that_is_too_small_or_unknown_is_told() {
        let small = text(Some(2));
        for part in [
            "the plan needs 6 fresh hosts",
            "the pool has 2\n",
            "`speedup plan check --trial`",
            "would fit with  runs = 1 in [repetitions]\nor              4 more agents",
        ] {
            assert!(small.contains(part), "{part}: {small}");
        }
        assert!(text(None).contains("the pool is not known"));
    }

    #[test]
    fn a_long_command_is_cut() {
        let shown = |line: &str| command(&CommandLine::Shell(line.to_owned()));
        let exact = ["sort", "-t", "\t", "a b"].map(str::to_owned).to_vec();
        assert_eq!(command(&CommandLine::Exact(exact)), r#"sort -t "\t" "a b""#);
        assert_eq!(shown("true"), "sh -c true");
        assert_eq!(shown("a\nb"), "sh -c a…");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), COMMAND + 1);
    }
}
