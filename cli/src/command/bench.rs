//! `speedup bench`: two or more commands compared on this machine, without a plan file.
//!
//! In reading order: [`Arguments`], `variant` (the commands with their parameters filled in), `experiment` (what is
//! carried out), `around` (what is executed before and after it all), `hyperfine` (the values for other tools).

mod around;
mod experiment;
mod hyperfine;
mod variant;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use speedup_core::value::time::Span;
use speedup_statistics::inference::ConfidenceLevel;

use crate::arguments::center::CenterName;
use crate::arguments::{OutputArgument, fraction};
use crate::command::coordinator::span;
use crate::command::run::{Session, Telling};
use crate::connection::directories;
use crate::console::Console;
use crate::console::render::report::Extent;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::exit::gate::GateArguments;
use crate::plan::files::LocalFiles;
use crate::samples::named::{NamedSamples, NamedSeries, Samples, SetName};
use variant::{Scan, Variant};

/// Compares commands on this machine: interleaved at random, one process at a time, with tests and intervals
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  speedup bench 'sort words.txt' 'LC_ALL=C sort words.txt'\n  \
    speedup bench -N -r 50 -w 3 'gzip -k -f -1 words.txt' 'gzip -k -f -9 words.txt'\n  \
    speedup bench -L threads 1,2,4 -p 'make clean' 'make -j{threads}'\n\n\
    The first command is the baseline. The runs of all commands are drawn into one random order, so that whatever drifts \
    on this machine meets all of them alike. They still share one machine: the report says that independence was not \
    provided. For a claim that holds beyond this machine, write a plan and submit it to a pool of hosts.\n\n\
    Commands stand in this directory and see HOME, PATH, LANG, LC_ALL, TZ and LD_LIBRARY_PATH of this shell, and what \
    --env names.")]
pub(crate) struct Arguments {
    /// The commands, the baseline first
    #[arg(value_name = "COMMAND", required = true)]
    commands: Vec<String>,
    /// Timed runs of each command
    #[arg(short, long, value_name = "N", default_value_t = 31)]
    runs: u32,
    /// Executions of each command before the first timed run, each with --prepare and --conclude
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    warmup: u32,
    /// Executed by the shell before each timed run, outside the clock
    #[arg(short, long, value_name = "COMMAND")]
    prepare: Option<String>,
    /// Executed by the shell after each timed run, outside the clock
    #[arg(short = 'C', long, value_name = "COMMAND")]
    conclude: Option<String>,
    /// Executed by the shell before everything: once, or with parameters once for each of their values
    #[arg(short, long, value_name = "COMMAND")]
    setup: Option<String>,
    /// Executed by the shell after everything, as the setup
    #[arg(short, long, value_name = "COMMAND")]
    cleanup: Option<String>,
    /// Execute the commands directly; otherwise the start of /bin/sh is part of each time alike
    #[arg(short = 'N', long = "no-shell")]
    no_shell: bool,
    /// A parameter: {VAR} in commands stands for each of the values in turn, separated by commas (\, is a comma)
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUES"], action = clap::ArgAction::Append)]
    parameter_list: Vec<String>,
    /// A parameter: {VAR} in commands stands for each number from MIN to MAX
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], action = clap::ArgAction::Append,
        allow_negative_numbers = true)]
    parameter_scan: Vec<String>,
    /// The step of the parameter scans
    #[arg(short = 'D', long, value_name = "STEP", default_value = "1", requires = "parameter_scan")]
    parameter_step_size: String,
    /// Count runs that end with another exit code than 0: with these, or with any
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    ignore_failure: Option<experiment::Ignored>,
    /// What to call a command, in the order of the commands
    #[arg(short = 'n', long, value_name = "NAME")]
    command_name: Vec<String>,
    /// A variable of the environment for the commands: a value, or the one of this shell
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// A run that lasts longer has failed
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = span)]
    timeout: Span,
    /// The confidence level of tests and intervals
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    /// Whose ratio the verdicts are on; without it the median, or the mean of fewer than 6 runs
    #[arg(long, value_enum)]
    center: Option<CenterName>,
    /// Times within this share of each other count as the same
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::margin)]
    margin: Option<f64>,
    /// All randomness comes from here; drawn when absent
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the times as hyperfine does (its first JSON format, which most tools read)
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Keep the times by a name, for --baseline of `speedup compare`
    #[arg(long, value_name = "NAME")]
    save_baseline: Option<SetName>,
    /// Where all that is measured is kept [default: $XDG_STATE_HOME/speedup/local]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    gate: GateArguments,
    #[command(flatten)]
    output: OutputArgument,
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let gate = arguments.gate.gate()?;
    let directory = std::env::current_dir().context("cannot tell the current directory");
    let directory = directory.map_err(Failure::infrastructure)?;
    let scans =
        Scan::all(&arguments.parameter_list, &arguments.parameter_scan, &arguments.parameter_step_size)?;
    let variants = Variant::all(&arguments.commands, &scans, &arguments.command_name)?;
    let experiment = experiment::build(&arguments, &variants, &directory)?;
    let data = directories::or_state(arguments.data.as_deref(), "local")?;
    if let Some(path) = &arguments.export_json {
        hyperfine::claim(path)?;
    }
    for Variant { name, command, .. } in &variants {
        console.talk(format_args!("{name}: {command}"));
    }
    let lines = |line: &Option<String>| {
        line.as_ref().map_or_else(Vec::new, |line| Variant::all_filled(&variants, line))
    };
    for setup in lines(&arguments.setup) {
        around::shell(&experiment, "the setup", &setup)?;
    }
    let done = match around::warm_up(&experiment, arguments.warmup) {
        Ok(()) => {
            let session = Session::start(console, data.clone()).await?;
            let telling = Telling { extent: Extent::Brief, output: arguments.output.output, gate };
            session.carry_out(experiment.clone(), &LocalFiles::default(), telling).await
        }
        Err(failure) => Err(failure),
    };
    // What was set up is cleaned up, whatever happened in between.
    let cleanups = lines(&arguments.cleanup);
    let cleaned = cleanups.iter().try_for_each(|line| around::shell(&experiment, "the cleanup", line));
    let exit = done?;
    cleaned?;
    if exit == Exit::Failed && arguments.ignore_failure.is_none() && gate.is_none() {
        console.talk("hint: -i counts runs that end with another exit code than 0; --ignore-failure=CODES those with these");
    }
    if arguments.export_json.is_none() && arguments.save_baseline.is_none() {
        return Ok(exit);
    }
    let series = hyperfine::read(&data, &variants).await?;
    if let Some(path) = &arguments.export_json {
        hyperfine::write(path, &series)?;
    }
    // Half of what was planned is no baseline.
    if let Some(name) = arguments.save_baseline.as_ref().filter(|_| exit != Exit::Interrupted) {
        let series = series.iter().map(|series| NamedSeries::new(None, series)).collect();
        NamedSamples::open()?.save(name, &Samples { series, are_commands: true })?;
    }
    Ok(exit)
}
