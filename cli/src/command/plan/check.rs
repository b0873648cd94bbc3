//! `speedup plan check`: validates a plan and says what it would take. Runs nothing.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use speedup_core::experiment::{Benchmark, CommandLine, Experiment, Independence, Policy};
use speedup_core::files::{Content, FileSource, StagedFile};
use speedup_core::machine::hosts_needed;
use speedup_core::metric::OwnMetric;
use speedup_core::plan::Plan;
use speedup_core::seed::Seed;
use speedup_core::time::Span;
use speedup_proto::v1;

use crate::arguments::{Output, OutputArgument};
use crate::command::{block_on, print, print_json};
use crate::connection::CoordinatorArguments;
use crate::console::{Console, Paint};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment;
use crate::plan_source::PlanArguments;
use crate::relative;
use crate::render::table::{Column, table};

/// Most benchmarks that are shown to people; JSON has all.
const SHOWN: usize = 50;
/// Most characters of a command that are shown.
const COMMAND: usize = 60;

/// Validates a plan and says what it would take; runs nothing
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup plan check examples/locale.toml")]
pub(crate) struct Arguments {
    #[command(flatten)]
    plan: PlanArguments,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

/// What a plan would take.
#[derive(Debug, Serialize)]
struct Checked<'a> {
    name: &'a str,
    seed: Seed,
    versions: Vec<&'a str>,
    benchmarks: Vec<CheckedBenchmark<'a>>,
    /// How many benchmarks there are to draw from, when they are drawn.
    population: Option<usize>,
    cells: u32,
    runs: u32,
    metrics: Vec<&'a str>,
    own_metrics: &'a [OwnMetric],
    files: &'a [StagedFile],
    independence: Independence,
    hosts_needed: u32,
    /// Hosts connected now; absent when no coordinator answers.
    hosts_here: Option<u32>,
    /// What all runs take together when each lasts as long as its timeout allows. Nothing better is known before a run.
    machine_time_at_most_ns: Span,
}

#[derive(Debug, Serialize)]
struct CheckedBenchmark<'a> {
    name: &'a str,
    command: &'a CommandLine,
    warmup: u32,
    timeout_ns: Span,
}

pub(super) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let experiment = arguments.plan.read()?;
    relative::warn(&experiment, console);
    let hosts_here = block_on(hosts_here(arguments, &experiment, console))?;
    let plan = Plan::draw(experiment);
    let checked = check(&plan, hosts_here);
    match arguments.output.output {
        Output::Json => print_json(console, &checked)?,
        Output::Table => print(console, &shown(&checked, console.out))?,
    }
    Ok(Exit::Done)
}

/// What the pool has. A coordinator that was named has to answer; one that may have been left over need not.
async fn hosts_here(
    arguments: &Arguments,
    experiment: &Experiment,
    console: &Console,
) -> Result<Option<u32>, Failure> {
    if arguments.coordinator.url()?.is_none() {
        return Ok(None);
    }
    let asked = async {
        let connection = arguments.coordinator.connect().await?;
        let request = v1::CheckRequest { experiment: Some(experiment.into()) };
        let answer = connection.experiments().check(request).await;
        let answer = answer
            .map_err(|status| Failure::status("cannot check the plan with the coordinator", &status))?;
        connection.close().await;
        Ok::<_, Failure>(answer.into_inner().hosts_here)
    };
    match asked.await {
        Ok(hosts_here) => Ok(Some(hosts_here)),
        Err(failure)
            if failure.exit == Exit::Infrastructure && arguments.coordinator.coordinator.is_none() =>
        {
            console.warn(format_args!("the pool is not known: {}", failure.error));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

fn check(plan: &Plan, hosts_here: Option<u32>) -> Checked<'_> {
    let experiment = &plan.experiment;
    let benchmarks: Vec<&Benchmark> =
        plan.benchmarks.iter().filter_map(|index| experiment.benchmark(*index)).collect();
    let longest = |cell: u32| {
        let benchmark = experiment.benchmark(plan.cell_by_number(cell).benchmark);
        benchmark.map_or(Span(0), |one| one.timeout.times(u64::from(one.warmup) + 1))
    };
    Checked {
        name: &experiment.name,
        seed: experiment.seed,
        versions: experiment.versions.iter().map(|version| version.name.as_str()).collect(),
        population: experiment.drawn.map(|_| experiment.benchmarks.len()),
        cells: plan.cells(),
        runs: plan.runs(),
        metrics: experiment.metrics.iter().map(|metric| metric.name()).collect(),
        own_metrics: &experiment.own_metrics,
        files: &experiment.files,
        independence: experiment.independence,
        hosts_needed: hosts_needed(plan),
        hosts_here,
        machine_time_at_most_ns: plan.order().iter().fold(Span(0), |sum, cell| sum + longest(*cell)),
        benchmarks: benchmarks.into_iter().map(checked_benchmark).collect(),
    }
}

fn checked_benchmark(benchmark: &Benchmark) -> CheckedBenchmark<'_> {
    let Benchmark { name, command, warmup, timeout, .. } = benchmark;
    CheckedBenchmark { name, command, warmup: *warmup, timeout_ns: *timeout }
}

fn shown(checked: &Checked<'_>, paint: Paint) -> String {
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
        text += &format!("\nand {} more; --output json has all", checked.benchmarks.len() - SHOWN);
    }
    let facts = facts(checked).into_iter().map(|(label, fact)| format!("\n{label:<14}{fact}"));
    text + "\n" + &facts.collect::<String>()
}

fn facts(checked: &Checked<'_>) -> Vec<(&'static str, String)> {
    let (baseline, candidates) = checked.versions.split_first().unwrap_or((&"", &[]));
    let each = checked.runs / checked.cells.max(1);
    let benchmarks = match checked.population {
        Some(population) => format!("{} drawn from a population of {population}", checked.benchmarks.len()),
        None => checked.benchmarks.len().to_string(),
    };
    let most = Duration::from(checked.machine_time_at_most_ns);
    vec![
        ("experiment", checked.name.to_owned()),
        ("seed", checked.seed.to_string()),
        ("versions", format!("{baseline} (baseline), {}", candidates.join(", "))),
        ("benchmarks", benchmarks),
        ("runs", format!("{} = {} cells × {each}", checked.runs, checked.cells)),
        ("metrics", metrics(checked)),
        ("files", files(checked.files)),
        ("hosts", hosts(checked)),
        (
            "duration",
            format!(
                "not known before a run; at most {} of machine time by the timeouts, for the runs alone, without setup and retries",
                moment::roughly(most)
            ),
        ),
    ]
}

fn metrics(checked: &Checked<'_>) -> String {
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

fn hosts(checked: &Checked<'_>) -> String {
    let needed = match checked.independence.policy {
        Policy::Any => "1 is enough, because the policy is any: the runs will not be independent".to_owned(),
        policy @ (Policy::Distinct | Policy::Rebooted | Policy::Reallocated | Policy::Rested) => {
            format!("{} fresh ones needed under the policy {}", checked.hosts_needed, policy.name())
        }
    };
    match checked.hosts_here {
        None => format!("{needed}; the pool is not known, as no coordinator answers"),
        Some(here) if here >= checked.hosts_needed => format!("{needed}; {here} are connected"),
        Some(here) => {
            format!("{needed}; only {here} are connected: submit with --wait-for-hosts, or start more agents")
        }
    }
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
    use speedup_core::plan_file;

    use super::*;
    use crate::plan_source::tests::PLAN;

    fn text(hosts_here: Option<u32>) -> String {
        let plan = Plan::draw(plan_file::parse(PLAN, Seed(42)).unwrap());
        shown(&check(&plan, hosts_here), Console::plain().out)
    }

    #[test]
    fn what_a_plan_takes_is_told() {
        let text = text(Some(8));
        for part in [
            "sort              0  10 min 0 s  sort /etc/services",
            "seed          42",
            "utf8 (baseline), c",
            "6 = 2 cells × 3",
            "6 fresh ones needed under the policy distinct; 8 are connected",
            "at most 1 h 0 min of machine time",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn the_metrics_are_told() {
        let own =
            "[metrics]\ncollect = [\"cycles\"]\n[metrics.output.rate]\nregex = '(x)'\nunit = \"MB/s\"\n";
        let plan = Plan::draw(plan_file::parse(&format!("{PLAN}\n{own}"), Seed(42)).unwrap());
        let checked = check(&plan, None);
        assert_eq!(metrics(&checked), "wall, cycles, rate in MB/s from regex");
        let json = serde_json::to_value(&checked).unwrap();
        assert_eq!(json["own_metrics"][0]["pattern"]["regex"], "(x)");
    }

    #[test]
    fn a_pool_that_is_too_small_or_unknown_is_told() {
        assert!(text(Some(2)).contains("only 2 are connected: submit with --wait-for-hosts"));
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
