//! One file a verb, and one for the verbs that change an experiment. Each takes its arguments and
//! the console, and ends in an exit code or a failure.

pub(crate) mod access;
pub(crate) mod agent;
pub(crate) mod analysis;
pub(crate) mod baseline;
pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod bundle;
pub(crate) mod change;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod coordinator;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod hosts;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod samples;
pub(crate) mod scaling;
pub(crate) mod study;
pub(crate) mod submit;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod track;
pub(crate) mod verify;
pub(crate) mod wait;
pub(crate) mod watch;

use std::time::Duration;

use anyhow::{Context as _, Error};
use speedup_report::facts::Sheet;
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, Form, LogFormat, Verb};
use crate::compose;
use crate::console::{Console, Log, Paint, render};
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Threads of the event loop: a client needs one, an embedded coordinator is content with another.
const THREADS: usize = 2;
/// How long an idle thread stays: for good, because the kernel ends an agent with the *thread* that started it.
const THREAD_KEEP_ALIVE: Duration = Duration::MAX;
/// How long the end waits for threads that still write or compute.
const STRAGGLERS: Duration = Duration::from_secs(2);

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
        Verb::Token(verb) => block_on(token::execute(verb, console)),
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
        Verb::Completions(arguments) => completions::execute(&arguments, console),
        Verb::Man(arguments) => man::execute(&arguments),
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
    printed(console.print(text))
}

/// Says what was tried when printing failed.
fn printed(result: std::io::Result<()>) -> Result<(), Failure> {
    result.context("cannot write to standard output").map_err(Failure::infrastructure)
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

/// Who asks, for the event log where there is no certificate that says it.
pub(crate) fn by() -> String {
    format!("{}@{}", user(), rustix::system::uname().nodename().to_string_lossy())
}

fn user() -> String {
    let user = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    // Services and containers often have neither.
    user.or_else(speedup_agent::launch::User::own_login)
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}
