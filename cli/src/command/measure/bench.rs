//! `speedup bench`: commands measured on this machine, and compared where there are several, without a plan file.
//!
//! In reading order: [`Arguments`], `variant` (the commands with their parameters filled in), `checkout` (commits), `shell` and `streams` (how they are
//! executed), `inherited` (what they see of the environment), `bounds` (how many runs), `experiment` (what is carried out),
//! `around` (what is executed before and after it all), `measured` (the values), `timing`, `table` and `exports` (the values
//! in a few numbers).

mod around;
mod bounds;
mod checkout;
mod experiment;
mod exports;
mod inherited;
mod measured;
mod shell;
mod streams;
mod table;
mod timing;
mod variant;

use std::{ffi::OsString, path::PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use speedup_core::experiment::{Center, Experiment};
use speedup_core::value::hint::with_hint;
use speedup_core::value::id::ExperimentId;
use speedup_core::{value::seed::Seed, value::time::Span};
use speedup_formats::Series;
use speedup_statistics::inference::ConfidenceLevel;

use crate::{
    arguments::Output, arguments::fraction, arguments::span, arguments::words::centers, command::print,
    connection::Connection, console::Color, console::Console, console::render::report::Extent,
    console::render::table::of_sheet, exit::Exit, exit::failure::Failure, gate::GateArguments,
    plan::files::LocalFiles, plan::repository::GitRefusal, plan::repository::Range,
    plan::source::TagArguments, plan::source::drawn_seed, samples::named::NamedSamples,
    samples::named::NamedSeries, samples::named::Samples, samples::named::SetName, session::Remainder,
    session::ReportingOptions, session::Session,
};
use bounds::Bounds;
use checkout::{Checkout, CheckoutGuard};
use experiment::Setting;
use exports::Exports;
use inherited::CommandEnvironment;
use measured::MeasuredCommands;
use shell::Shell;
use streams::{Destination, OutputWord, Streams};
use timing::{SortOrder, TimeUnit, Timing};
use variant::{CommandArguments, Scan, Variant};

/// What Git goes by in the environment.
const OF_GIT: &str = "GIT_";

/// Measures and compares commands on this machine
///
/// The runs of all commands are interleaved in random order, one process at a time. The report has a verdict with a
/// confidence interval for each comparison.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup bench 'sort words.txt'\n\
    \x20 speedup bench 'sort words.txt' 'LC_ALL=C sort words.txt'\n\
    \x20 speedup bench -N -r 50 -w 3 'gzip -kf -1 words.txt' 'gzip -kf -9 words.txt'\n\
    \x20 speedup bench -L threads 1,2,4 -p 'make clean' 'make -j{threads}'\n\
    \x20 speedup bench --save-baseline before 'sort words.txt'\n\
    \x20 speedup bench --git main..HEAD --build 'make' './prog'\n\n\
    The baseline is the first command, or that of --reference. The runs of all commands are interleaved in random \
    order, so that drift on this machine affects all commands alike. They still share one machine, and the report \
    says that independence was not provided. For a claim beyond this machine, write a plan and submit it to a pool \
    of hosts.\n\n\
    Commands run in this directory with the environment of this shell, which is stored with the results. Variables \
    that look like secrets are not passed on unless --env names them.")]
pub(crate) struct Arguments {
    /// The commands; the first is the baseline
    #[arg(value_name = "COMMAND", required = true)]
    commands: Vec<String>,
    #[command(flatten)]
    bounds: Bounds,
    /// Compare two commits of this repository
    ///
    /// A..B measures B against A, A...B against their merge base. Each commit is measured in a copy of its files, which is removed afterwards. What is not committed is in neither.
    #[arg(long, value_name = "A..B", value_parser = range, conflicts_with = "reference", help_heading = "Commands")]
    git: Option<Range>,
    /// With --git, build each commit by this command
    ///
    /// It is a line of the shell, executed in the copy of each commit, and is not timed.
    #[arg(long, value_name = "COMMAND", requires = "git", help_heading = "Commands")]
    build: Option<String>,
    /// Untimed executions of each command before the first timed run
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000), help_heading = "Number of runs")]
    warmup: u32,
    /// Shell command to run before each timed run, untimed; one for all commands, or one per command
    #[arg(short, long, value_name = "COMMAND", help_heading = "Execution")]
    prepare: Vec<String>,
    /// Shell command to run after each timed run, untimed; one for all commands, or one per command
    #[arg(short = 'C', long, value_name = "COMMAND", help_heading = "Execution")]
    conclude: Vec<String>,
    /// Shell command to run first; with parameters, once per value
    #[arg(short, long, value_name = "COMMAND", help_heading = "Execution")]
    setup: Option<String>,
    /// Shell command to run last; with parameters, once per value
    #[arg(short, long, value_name = "COMMAND", help_heading = "Execution")]
    cleanup: Option<String>,
    /// The baseline, in front of the other commands; it has no parameters
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    reference: Option<String>,
    /// The name of the reference command
    #[arg(long, value_name = "NAME", requires = "reference", help_heading = "Commands")]
    reference_name: Option<String>,
    /// The shell and its options; `none` is --no-shell, `default` is /bin/sh, whose start-up is part of every time
    #[arg(short = 'S', long, value_name = "SHELL", default_value = "default", hide_default_value = true)]
    #[arg(help_heading = "Execution")]
    shell: Shell,
    /// Execute the commands without a shell
    #[arg(short = 'N', long = "no-shell", conflicts_with = "shell", help_heading = "Execution")]
    no_shell: bool,
    /// The standard input of the commands: a file, or null [default: null]
    #[arg(long, value_name = "WHERE", help_heading = "Execution")]
    input: Option<PathBuf>,
    /// Where the output of the commands goes, once or once per command: pipe (memory, the default), null, inherit
    /// (standard error), or a path with a slash
    #[arg(long, value_name = "WHERE", help_heading = "Execution")]
    output: Vec<OutputWord>,
    /// Show the output of the commands; the same as --output inherit
    #[arg(long, help_heading = "Execution")]
    show_output: bool,
    /// Replace {VAR} in the commands by each of these comma-separated values (\, is a comma)
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUES"], action = clap::ArgAction::Append,
        allow_hyphen_values = true, help_heading = "Commands")]
    parameter_list: Vec<String>,
    /// Replace {VAR} in the commands by each number from MIN to MAX
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], action = clap::ArgAction::Append,
        allow_negative_numbers = true, help_heading = "Commands")]
    parameter_scan: Vec<String>,
    /// The step of the parameter scans
    #[arg(short = 'D', long, value_name = "STEP", default_value = "1", requires = "parameter_scan")]
    #[arg(help_heading = "Commands")]
    parameter_step_size: String,
    /// Accept runs with a nonzero exit code: with these, or with any
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = "all", help_heading = "Execution")]
    ignore_failure: Option<experiment::IgnoredExits>,
    /// The name of a command, in the order of the commands
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "Commands")]
    command_name: Vec<String>,
    /// An environment variable for the commands; without a value, the one of this shell
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Execution")]
    env: Vec<String>,
    /// Pass on only the environment variables that --env names, as in a plan
    #[arg(long, help_heading = "Execution")]
    clean_env: bool,
    /// A run that takes longer fails
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = span, help_heading = "Execution")]
    timeout: Span,
    /// The confidence level of tests and intervals
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level, help_heading = "Statistics")]
    confidence: ConfidenceLevel,
    /// Verdicts are on the ratio of these [default: trimmed]
    #[arg(long, value_name = "OF", value_parser = centers(), help_heading = "Statistics")]
    center: Option<Center>,
    /// The share of the runs that a trimmed mean leaves out at each end [default: 0.1]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::share, help_heading = "Statistics")]
    trim: Option<f64>,
    /// Times within this share of each other count as the same, such as 1%
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::margin, help_heading = "Statistics")]
    margin: Option<f64>,
    /// Also give a verdict on this quantile of the times, such as 0.99
    #[arg(long, value_name = "Q", help_heading = "Statistics")]
    quantile: Vec<f64>,
    /// Measure the baseline a second time under another name, to show what differs by chance
    #[arg(long, help_heading = "Statistics")]
    control: bool,
    /// The random seed [default: drawn at random]
    #[arg(long, value_name = "N", help_heading = "Statistics")]
    seed: Option<u64>,
    #[command(flatten)]
    tags: TagArguments,
    #[command(flatten)]
    exports: Exports,
    /// The unit in tables of times [default: one that fits]
    #[arg(short = 'u', long, value_enum, value_name = "UNIT", help_heading = "Results")]
    time_unit: Option<TimeUnit>,
    /// The order of the tables of times
    #[arg(long, value_enum, value_name = "METHOD", default_value_t, hide_default_value = true)]
    #[arg(help_heading = "Results")]
    sort: SortOrder,
    /// How much to show, and how
    #[arg(long, value_enum, value_name = "TYPE", default_value_t, hide_default_value = true)]
    #[arg(help_heading = "Results")]
    style: Style,
    /// Save the times under a name, for `speedup compare --baseline`
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    save_baseline: Option<SetName>,
    /// The data directory [default: $XDG_STATE_HOME/speedup/local; local-2 and so on while other commands measure]
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    data: Option<PathBuf>,
    /// Print the report in this form [default: table]
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Results")]
    format: Option<Output>,
    #[command(flatten)]
    gate: GateArguments,
}

/// How much is shown, in hyperfine's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Style {
    /// What suits the terminal
    #[default]
    Auto,
    /// No colours and no progress line
    Basic,
    /// Colours and a progress line, even without a terminal
    Full,
    /// A progress line without colours
    Nocolor,
    /// Colours without a progress line
    Color,
    /// Nothing but errors
    None,
}

impl Style {
    /// The console in this style.
    fn console(self, console: &Console) -> Console {
        let with = |color, interactive| Console { interactive, ..Console::new(color) };
        match self {
            Self::Auto => console.clone(),
            Self::Basic => with(Color::Never, false),
            Self::Full => with(Color::Always, true),
            Self::Nocolor => with(Color::Never, true),
            Self::Color => with(Color::Always, false),
            Self::None => Console { silent: true, interactive: false, ..console.clone() },
        }
    }
}

impl Arguments {
    /// What executes the commands.
    fn shell(&self) -> &Shell {
        if self.no_shell { &Shell::None } else { &self.shell }
    }

    fn answer(&self) -> Output {
        if let Some(form) = self.format {
            return form;
        }
        // Of several, the last counts, as of other options.
        let forms = self.output.iter().rev();
        let mut forms =
            forms.filter_map(|word| if let OutputWord::Answer(form) = word { Some(*form) } else { None });
        forms.next().unwrap_or_default()
    }

    /// Where each command reads from and writes to.
    fn streams(&self, variants: &[Variant]) -> Result<Vec<Streams>, Failure> {
        let given = self.output.iter();
        let given =
            given.filter_map(|word| if let OutputWord::Of(to) = word { Some(to.clone()) } else { None });
        let mut given: Vec<Destination> = given.collect();
        if self.show_output {
            if !given.is_empty() {
                return Err(Failure::usage(anyhow!(
                    "--show-output and --output both say where the commands write"
                )));
            }
            given.push(Destination::Here);
        }
        let input = self.input.clone().filter(|path| path.as_os_str() != "null");
        // In a copy of a commit, a path means what it means here.
        let absolute = |path: PathBuf| match &self.git {
            Some(_) => std::path::absolute(&path).unwrap_or(path),
            None => path,
        };
        let input = input.map(absolute);
        let mut all = Vec::new();
        for (at, variant) in variants.iter().enumerate() {
            let output = variant.own(at, variants, &given, "--output")?.cloned().unwrap_or_default();
            let streams = Streams { input: input.clone(), output: output.at(absolute) };
            streams.claim()?;
            all.push(streams);
        }
        Ok(all)
    }

    fn variants(&self) -> Result<Vec<Variant>, Failure> {
        let scans = Scan::all(&self.parameter_list, &self.parameter_scan, &self.parameter_step_size)?;
        let given = CommandArguments {
            commands: &self.commands,
            names: &self.command_name,
            reference: self.reference.as_deref(),
            reference_name: self.reference_name.as_deref(),
        };
        let variants = Variant::all(given, &scans)?;
        // Two commits of each.
        let measured = variants.len() * if self.git.is_some() { 2 } else { 1 };
        self.bounds.check(measured)?;
        if measured < 2 && self.gate.is_asked() {
            return Err(only_one("a gate"));
        }
        if measured < 2 && self.control {
            return Err(only_one("--control"));
        }
        Ok(variants)
    }
}

/// The refusal of what needs two commands where there is one.
fn only_one(what: &str) -> Failure {
    Failure::usage(anyhow!("{what} needs a comparison, but there is only one command"))
        .hint("give two commands, or a parameter: -L threads 1,2 'make -j{threads}'")
}

/// The range of `--git`.
fn range(text: &str) -> Result<Range, String> {
    text.parse().map_err(|refusal: GitRefusal| with_hint(&refusal, Some(&refusal.hint())))
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let gate = arguments.gate.gate()?;
    let variants = arguments.variants()?;
    let streams = arguments.streams(&variants)?;
    let mut console = arguments.style.console(console);
    // What the commands write would stand in the midst of a line that is drawn anew.
    console.interactive &= streams.iter().all(|streams| streams.output != Destination::Here);
    let console = &console;
    let directory = std::env::current_dir().context("cannot determine the current directory");
    let directory = directory.map_err(Failure::infrastructure)?;
    // A path that is not UTF-8 cannot travel in a plan.
    let directory =
        directory.to_str().ok_or_else(|| Failure::usage(anyhow!("this directory's path is not UTF-8")))?;
    // In a hook, Git says where its repository and index are: the copies of commits are not there.
    let is_of_git = |name: &OsString| arguments.git.is_some() && name.to_string_lossy().starts_with(OF_GIT);
    let shell = std::env::vars_os().filter(|(name, _)| !is_of_git(name));
    let inherited = CommandEnvironment::new(shell, arguments.clean_env, &arguments.env)?;
    let seed = arguments.seed.map_or_else(drawn_seed, Seed);
    let environment = &inherited.variables;
    let mut guard = arguments.git.as_ref().map(|_| CheckoutGuard::start()).transpose()?;
    let checkouts = match arguments.git.as_ref().zip(guard.as_ref()) {
        Some((range, guard)) => Checkout::all(range, guard, console)?,
        None => Vec::new(),
    };
    let setting = Setting {
        variants: &variants,
        streams: &streams,
        environment,
        directory,
        checkouts: &checkouts,
        seed,
    };
    // Without durations the fewest runs: what is wrong is told before anything is executed.
    let first = experiment::build(&arguments, setting, arguments.bounds.settle(&[], arguments.confidence))?;
    claim_kept(&arguments, &first)?;
    tell(&variants, &inherited, console);
    if let Some((guard, line)) = guard.as_mut().zip(arguments.build.as_ref()) {
        guard.build(&checkouts, &first, &arguments.shell().argv_of_line(line), console)?;
    }
    let shell = arguments.shell();
    let lines = |what: &str, line: &Option<String>| {
        let lines = line.as_ref().map_or_else(Vec::new, |line| Variant::all_filled(&variants, line));
        // Of commits each has its own directory.
        let places = 0..checkouts.len().max(1) as u32;
        let mut all = places.flat_map(|place| lines.iter().map(move |line| (place, line)));
        all.try_for_each(|(place, line)| around::line(&first, place, shell, what, line))
    };
    lines("the setup", &arguments.setup)?;
    let done = match settled(&arguments, setting, &first, console) {
        Ok(experiment) => {
            let rest = if checkouts.is_empty() { Remainder::Left } else { Remainder::Cancelled };
            let telling = ReportingOptions { extent: Extent::Brief, output: arguments.answer(), gate, rest };
            measure(experiment, Session::start(console, arguments.data.as_deref()).await?, telling).await
        }
        Err(failure) => Err(failure),
    };
    // What was set up is cleaned up, whatever happened in between.
    let cleaned = lines("the cleanup", &arguments.cleanup);
    let removed = guard.map_or(Ok(()), CheckoutGuard::remove);
    let (exit, series) = done?;
    cleaned?;
    removed?;
    if exit == Exit::Failed && arguments.ignore_failure.is_none() && gate.is_none() {
        console
            .hint("-i accepts runs with a nonzero exit code, --ignore-failure=CODES those with these codes");
    }
    show_and_keep(&arguments, &series, exit, console)?;
    Ok(exit)
}

/// Carries the experiment out and reports; how that ended, and the values.
async fn measure(
    experiment: Experiment,
    mut session: Session<'_>,
    telling: ReportingOptions,
) -> Result<(Exit, Vec<Series>), Failure> {
    let done = session.conduct(experiment, &LocalFiles::default(), telling).await;
    let measured = match &done {
        Ok((experiment, _)) => measured::read(session.connection(), *experiment).await,
        Err(_) => Ok(None),
    };
    let exit = session.end(done.map(|(_, exit)| exit)).await?;
    Ok((exit, measured?.map_or_else(Vec::new, |measured| measured.series)))
}

/// Shows the times of the commands of an experiment of this verb; nothing of others.
pub(crate) async fn show_times(
    connection: &Connection,
    experiment: ExperimentId,
    console: &Console,
) -> Result<(), Failure> {
    let Some(MeasuredCommands { series, level }) = measured::read(connection, experiment).await? else {
        return Ok(());
    };
    let timings = Timing::all(&series);
    if timings.is_empty() {
        return Ok(());
    }
    show(&timing::sorted(&timings, true), None, level, console)
}

/// What is about to be executed, and with what.
fn tell(variants: &[Variant], inherited: &CommandEnvironment, console: &Console) {
    for Variant { name, command, .. } in variants {
        console.talk(format_args!("{name}: {command}"));
    }
    if !inherited.withheld.is_empty() {
        let names = inherited.withheld.join(", ");
        console.talk(format_args!(
            "not passed on, because they look like secrets or are too long: {names}; --env NAME passes one on \
                and stores it"
        ));
    }
}

/// Warms up, and settles how many runs there are.
fn settled(
    arguments: &Arguments,
    setting: Setting<'_>,
    first: &Experiment,
    console: &Console,
) -> Result<Experiment, Failure> {
    let is_open = arguments.bounds.are_open();
    let durations = around::warm_up(first, if is_open { arguments.warmup.max(1) } else { arguments.warmup })?;
    if !is_open {
        return Ok(first.clone());
    }
    let settled = arguments.bounds.settle(&durations, arguments.confidence);
    let longest = durations.into_iter().max().unwrap_or_default().as_secs_f64();
    let runs = settled.runs;
    console.talk(format_args!(
        "{runs} runs of each command (-r, -m, -M), because an untimed execution took at most {longest:.3} s"
    ));
    let experiment = experiment::build(arguments, setting, settled)?;
    claim_kept(arguments, &experiment)?;
    Ok(experiment)
}

/// Sees to it that what is going to be measured can be written and saved as it was asked for.
fn claim_kept(arguments: &Arguments, experiment: &Experiment) -> Result<(), Failure> {
    let series = measured::planned(experiment)?;
    arguments.exports.claim(&series, arguments.confidence)?;
    match &arguments.save_baseline {
        Some(name) => NamedSamples::open()?.claim(name, &samples(&series), experiment.runs as usize),
        None => Ok(()),
    }
}

fn samples(series: &[Series]) -> Samples<'_> {
    let series = series.iter().map(|series| NamedSeries::new(None, series)).collect();
    Samples { series, are_commands: true, remarks: Vec::new() }
}

fn show(
    timings: &[&Timing],
    unit: Option<TimeUnit>,
    level: ConfidenceLevel,
    console: &Console,
) -> Result<(), Failure> {
    let unit = timing::unit_of(timings, unit);
    let table = of_sheet(&timing::sheet(timings, unit, level), console.out);
    let legend = timing::legend(unit, level);
    let lines = table.trim_end().lines().chain(legend.lines()).map(|line| format!("\n  {line}"));
    print(console, &format!("\n{}{}", console.out.strong("Commands"), lines.collect::<String>()))
}

/// Shows the times of each command and writes them where they are wanted.
fn show_and_keep(
    arguments: &Arguments,
    series: &[Series],
    exit: Exit,
    console: &Console,
) -> Result<(), Failure> {
    let timings = Timing::all(series);
    if arguments.answer() == Output::Table && !timings.is_empty() {
        let sorted = timing::sorted(&timings, arguments.sort != SortOrder::Command);
        show(&sorted, arguments.time_unit, arguments.confidence, console)?;
    }
    let in_files = timing::sorted(&timings, arguments.sort == SortOrder::MeanTime);
    arguments.exports.write(series, &in_files, arguments.time_unit, arguments.confidence, console)?;
    // Half of what was planned is no baseline.
    if let Some(name) = &arguments.save_baseline
        && !exit.is_by_signal()
    {
        NamedSamples::open()?.save(name, &samples(series))?;
    }
    Ok(())
}
