//! The verbs, in the groups in which `speedup --help` lists them, one file for each. Each takes its arguments and the
//! console, and ends in an exit code or a failure.

mod cluster;
pub(crate) mod command_line;
mod experiments;
mod measure;
#[cfg(test)]
mod reference;
mod results;
mod shell;
mod statistics;

use std::time::Duration;

use anyhow::{Context as _, Error};
use clap::{Parser, Subcommand, ValueEnum};
use speedup_report::facts::Sheet;
use tracing_subscriber::EnvFilter;

use crate::arguments::Form;
use crate::compose;
use crate::console::{Color, Console, Log, Paint, render};
use crate::exit;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use cluster::{access, agent, analysis, coordinator, doctor, events, hosts, page};
use experiments::{change, explain, submit, wait, watch};
use measure::{bench, bisect, init, plan, resume, run, track};
use results::{bundle, export, list, report, verify};
use statistics::{baseline, compare, import, samples, scaling, study, test};

/// Threads of the event loop: a client needs one, an embedded coordinator is content with another.
const THREADS: usize = 2;
/// How long an idle thread stays: for good, because the kernel ends an agent with the *thread* that started it.
const THREAD_KEEP_ALIVE: Duration = Duration::MAX;
/// How long the end waits for threads that still write or compute.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// Measures whether a program got faster, and how sure that is
///
/// Speedup runs each version of a program many times, on one machine or with every run on a fresh host of a pool, and
/// reports the difference with its confidence interval.
#[derive(Debug, Parser)]
#[command(name = "speedup", version, after_help = exit::help(), arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    /// What to log to standard error: error, warn, info, debug, trace, or a filter per module
    #[arg(long, global = true, env = "SPEEDUP_LOG", value_name = "FILTER", value_parser = filter)]
    pub(crate) log: Option<String>,
    /// How to log: as text, or as one JSON object per line
    #[arg(long, global = true, value_enum, default_value_t, env = "SPEEDUP_LOG_FORMAT", value_name = "FORM")]
    pub(crate) log_format: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// A filter is checked where it is written.
fn filter(text: &str) -> Result<String, tracing_subscriber::filter::ParseError> {
    EnvFilter::builder().parse(text).map(|_| text.to_owned())
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(run::Arguments),
    Bench(Box<bench::Arguments>),
    Bisect(Box<bisect::Arguments>),
    #[command(subcommand)]
    Coordinator(coordinator::Verb),
    #[command(subcommand)]
    Agent(agent::Verb),
    #[command(subcommand)]
    Analysis(analysis::Verb),
    #[command(subcommand)]
    Hosts(hosts::Verb),
    #[command(subcommand)]
    Access(access::Verb),
    #[command(subcommand)]
    Token(access::token::Verb),
    Doctor(doctor::Arguments),
    #[command(subcommand)]
    Plan(plan::Verb),
    Submit(submit::Arguments),
    Watch(watch::Arguments),
    Wait(wait::Arguments),
    List(list::Arguments),
    /// Pauses an experiment
    ///
    /// Runs in progress finish; no further runs start until you resume the experiment.
    #[command(after_help = "Example:\n  speedup pause last")]
    Pause(change::ExperimentArguments),
    Resume(resume::Arguments),
    /// Cancels an experiment
    ///
    /// Runs in progress finish, and all results so far are kept.
    #[command(after_help = "Example:\n  speedup cancel 0193a5b2-7c3d")]
    Cancel(change::ExperimentArguments),
    Extend(change::ExtendArguments),
    Explain(explain::Arguments),
    Events(events::Arguments),
    Page(page::Arguments),
    Report(report::Arguments),
    Export(export::Arguments),
    Bundle(bundle::Arguments),
    Verify(verify::Arguments),
    #[command(subcommand)]
    Track(track::Verb),
    Test(test::Arguments),
    Compare(Box<compare::Arguments>),
    Scaling(scaling::Arguments),
    Init(init::Arguments),
    Import(import::Arguments),
    #[command(subcommand)]
    Baseline(baseline::Verb),
    #[command(subcommand)]
    Samples(samples::Verb),
    #[command(subcommand)]
    Study(study::Verb),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
}

pub(crate) fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let Arguments { verb, log, log_format, color: _ } = arguments;
    let service = matches!(verb, Verb::Coordinator(_) | Verb::Agent(_) | Verb::Analysis(_));
    let filter = log.unwrap_or_else(|| if service { "info" } else { "warn" }.to_owned());
    log_to_stderr(&filter, log_format, console);
    match verb {
        // The agent counts on being alone in its process: no other thread may exist.
        Verb::Agent(verb) => agent::execute(verb, console),
        Verb::Plan(verb) => plan::execute(verb, console),
        Verb::Bench(arguments) => block_on(bench::execute(*arguments, console)),
        Verb::Bisect(arguments) => block_on(bisect::execute(*arguments, console)),
        Verb::Samples(verb) => samples::execute(&verb, console),
        Verb::Bundle(arguments) => block_on(bundle::execute(arguments, console)),
        Verb::Verify(arguments) => verify::execute(&arguments, console),
        Verb::Init(arguments) => init::execute(&arguments, console),
        Verb::Import(arguments) => import::execute(&arguments, console),
        Verb::Baseline(verb) => baseline::execute(&verb, console),
        Verb::Compare(arguments) => compare::execute(&arguments, console),
        Verb::Scaling(arguments) => scaling::execute(&arguments, console),
        Verb::Study(verb) => study::execute(&verb, console),
        Verb::Track(verb) => block_on(track::execute(verb, console)),
        Verb::Test(arguments) => test::execute(&arguments, console),
        Verb::Run(arguments) => block_on(run::execute(arguments, console)),
        Verb::Doctor(arguments) => block_on(doctor::execute(arguments, console)),
        Verb::Coordinator(verb) => {
            compose::resources::share_heap();
            block_on(coordinator::execute(verb, console))
        }
        Verb::Analysis(verb) => {
            compose::resources::share_heap();
            block_on(analysis::execute(verb, console))
        }
        Verb::Access(verb) => block_on(access::execute(verb, console)),
        Verb::Token(verb) => block_on(access::token::execute(verb, console)),
        Verb::Hosts(verb) => block_on(hosts::execute(verb, console)),
        Verb::Submit(arguments) => block_on(submit::execute(arguments, console)),
        Verb::Watch(arguments) => block_on(watch::execute(arguments, console)),
        Verb::Wait(arguments) => block_on(wait::execute(arguments, console)),
        Verb::List(arguments) => block_on(list::execute(arguments, console)),
        Verb::Pause(arguments) => block_on(change::pause(arguments, console)),
        Verb::Resume(arguments) => block_on(resume::execute(arguments, console)),
        Verb::Cancel(arguments) => block_on(change::cancel(arguments, console)),
        Verb::Extend(arguments) => block_on(change::extend(arguments, console)),
        Verb::Explain(arguments) => block_on(explain::execute(arguments, console)),
        Verb::Events(arguments) => block_on(events::execute(arguments, console)),
        Verb::Page(arguments) => block_on(page::execute(arguments, console)),
        Verb::Report(arguments) => block_on(report::execute(arguments, console)),
        Verb::Export(arguments) => block_on(export::execute(arguments, console)),
        Verb::Completions(arguments) => shell::complete(&arguments, console),
        Verb::Man(arguments) => shell::write_manual(&arguments),
    }
}

/// Runs to the end what waits for the network.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(THREADS).thread_keep_alive(THREAD_KEEP_ALIVE).enable_all().build();
    let runtime = runtime.context("cannot start the event loop").map_err(Failure::infrastructure)?;
    let done = runtime.block_on(work);
    // What had to be kept was waited for in `work`; a computation that nobody waits for must not keep the process.
    runtime.shutdown_timeout(STRAGGLERS);
    done
}

fn log_to_stderr(filter: &str, format: LogFormat, console: &Console) {
    // The filter was checked with the arguments; a logger is there already only in tests.
    let filter = EnvFilter::builder().parse_lossy(filter);
    // Whoever cannot write the log, because its disk is full, would panic on saying so.
    let logging = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    let paint = console.err;
    let logging = logging.with_writer(move || Log(paint));
    let _ = match format {
        LogFormat::Text => logging.with_ansi(console.err.is_coloured()).try_init(),
        LogFormat::Json => logging.json().flatten_event(true).try_init(),
    };
}

/// Prints data, which may fail as any writing does.
fn print(console: &Console, text: &str) -> Result<(), Failure> {
    console.print(text).map_err(Failure::printing)
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    let text =
        text.map_err(|error| Failure::infrastructure(Error::new(error).context("cannot write JSON")))?;
    Ok(render::json::escaped(&text).into_owned())
}

fn json_line(value: &serde_json::Value) -> String {
    render::json::escaped(&value.to_string()).into_owned()
}

/// Prints one JSON value.
fn print_json(console: &Console, value: &impl serde::Serialize) -> Result<(), Failure> {
    print(console, &json(value)?)
}

/// Prints rows as comma-separated values.
fn print_csv<T: serde::Serialize>(console: &Console, rows: &[T], columns: &[&str]) -> Result<(), Failure> {
    print(console, &render::csv::rows(rows, columns).map_err(Failure::infrastructure)?)
}

/// Prints an answer in the form that was chosen.
fn print_answer<A: serde::Serialize>(
    console: &Console,
    form: Form,
    answer: &A,
    text: fn(&A, Paint) -> String,
    sheet: fn(&A) -> Sheet,
) -> Result<Exit, Failure> {
    match form {
        Form::Table => print(console, &text(answer, console.out))?,
        Form::Json => print_json(console, answer)?,
        Form::Csv => print(console, &sheet(answer).csv())?,
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_sound() {
        command_line::command().debug_assert();
    }

    #[test]
    fn the_help_tells_the_exit_codes() {
        let help = command_line::command().render_help().to_string();
        assert!(help.contains("130  interrupted"), "{help}");
    }

    #[test]
    fn a_data_directory_and_a_coordinator_exclude_each_other() {
        let both = ["speedup", "list", "--data", "d", "--coordinator", "http://127.0.0.1:1"];
        assert!(Arguments::try_parse_from(both).is_err());
        assert!(Arguments::try_parse_from(&both[..4]).is_ok());
    }

    #[test]
    fn a_filter_that_is_none_is_refused() {
        assert!(Arguments::try_parse_from(["speedup", "list", "--log", "speedup=loud=er"]).is_err());
    }
}
