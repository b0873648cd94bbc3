//! `speedup test`: the Speedup-Test on sample files, in place of the program of Touati 2010.

use std::{fs::File, io, path::Path, path::PathBuf, time::Instant};

use anyhow::{Error, anyhow};
use clap::Args;
use speedup_analysis::inquiry::SpeedupTestMode;
use speedup_analysis::inquiry::configured::{ConfiguredAnswer, ConfiguredOptions};
use speedup_core::{experiment::Weights, value::hint::Hinted as _};
use speedup_report::paper;
use speedup_statistics::{inference::ConfidenceLevel, test::ProportionMethod};

use crate::command::{print, print_json};
use crate::{
    arguments::Form, arguments::FormArgument, arguments::fraction, arguments::words::proportion_intervals,
    arguments::words::words, console::Console, console::Paint, console::render,
    console::render::table::table, exit::Exit, exit::failure::Failure, results::draft,
    samples::speedup_test::Outputs, samples::speedup_test::input,
    samples::speedup_test::input::configuration::Configuration,
    samples::speedup_test::input::configuration::ConfigurationError,
};

/// The name of standard input.
const STDIN: &str = "-";

/// Runs the Speedup-Test on sample files
///
/// It tests whether the speedup of each benchmark is significant, and summarises all benchmarks.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup test examples/speedup-test/bench.cfg -o /tmp/bench\n\n\
    The configuration is a CSV file with the columns Name,Sample1,Sample2,ConfLevel,Coef; the last two may be empty \
    or NA. A sample file has one time per line. Names of sample files are relative to the working directory or, if \
    it has none of them, to the configuration's folder. The command writes PREFIX.out, PREFIX.report, PREFIX.warning \
    and PREFIX.status, and replaces existing files.")]
pub(crate) struct Arguments {
    /// The configuration; - reads standard input
    #[arg(value_name = "CONFIG")]
    configuration: PathBuf,
    /// The confidence level of all tests, such as 0.95 [default: the configuration's, or the best level above 50 %]
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, value_parser = fraction::confidence_level)]
    conf_level: Option<ConfidenceLevel>,
    /// The weight of each benchmark in the overall gain and speedup
    #[arg(long, default_value = "custom", value_name = "WEIGHT", value_parser = words([
        ("custom", Weights::Custom, "The coefficients of the configuration; equal if it has none"),
        ("equal", Weights::Equal, "All equal"),
        ("fraction", Weights::Fraction, "Its share of the baseline's time"),
    ]))]
    weight: Weights,
    /// The half-width to which the proportion of accelerated benchmarks should be known
    #[arg(long, value_name = "R", allow_hyphen_values = true, default_value_t = 0.05, value_parser = fraction::precision)]
    precision: f64,
    /// Another interval of that proportion, besides the published and the recommended one
    #[arg(long, value_name = "METHOD", value_parser = proportion_intervals())]
    proportion_interval: Option<ProportionMethod>,
    /// The prefix of the four files that are written [default: the configuration's name]
    #[arg(short = 'o', long = "output", alias = "prefix", value_name = "PREFIX")]
    prefix: Option<PathBuf>,
    /// Whose verdicts to give
    #[arg(long, default_value = "published", value_name = "MODE", value_parser = words([
        ("published", SpeedupTestMode::Published, "Those of the published program, quirks included"),
        (
            "exact",
            SpeedupTestMode::Exact,
            "The best level in closed form, levels of the configuration first, coefficients unchanged",
        ),
    ]))]
    mode: SpeedupTestMode,
    /// Use the Kolmogorov-Smirnov test of R before 4.2, when the program was published: approximate if values are tied
    #[arg(long)]
    legacy_ks: bool,
    #[command(flatten)]
    output: FormArgument,
}

pub(crate) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let begin = Instant::now();
    if arguments.legacy_ks && arguments.mode == SpeedupTestMode::Exact {
        return Err(Failure::usage(anyhow!("--legacy-ks belongs to --mode published")));
    }
    let outputs = Outputs::new(arguments.prefix()?);
    // Before anything is written, not even that it failed.
    let inputs = (!arguments.reads_stdin()).then_some(arguments.configuration.as_path());
    outputs.spare(inputs).map_err(|error| arguments.failure(error, Some("name another prefix with -o")))?;
    let shown = arguments.shown();
    let answer = match conclude(arguments, &outputs) {
        Ok(answer) => answer,
        Err(Refused::BeforeWriting(failure)) => return Err(failure),
        Err(Refused::Analysis(failure)) => {
            // Whoever looks there must not find the success of an earlier analysis. The first error is the one to tell.
            let _ = draft::replace(&outputs.status, &paper::failed(&shown, &failure.error));
            return Err(failure);
        }
    };
    draft::replace(&outputs.results, &paper::results(&answer))?;
    let text = paper::report(&answer, |sheet| table(&sheet.columns(), sheet.shown_rows(), Paint::NONE));
    draft::replace(&outputs.report, &text)?;
    draft::replace(&outputs.warnings, &paper::warnings(&answer))?;
    draft::replace(&outputs.status, &paper::ended(&shown, begin.elapsed()))?;
    match arguments.output.output {
        Form::Json => print_json(console, &answer)?,
        Form::Table => print(console, &text)?,
        Form::Csv => print(console, &paper::sheet(&answer).csv())?,
    }
    tell_warnings(&answer, &outputs, console);
    Ok(Exit::Done)
}

/// Why there is no answer: whether the status file may say so.
enum Refused {
    BeforeWriting(Failure),
    Analysis(Failure),
}

fn conclude(arguments: &Arguments, outputs: &Outputs) -> Result<ConfiguredAnswer, Refused> {
    let analysis = Refused::Analysis;
    let configuration = arguments.read_configuration().map_err(|error| {
        let hint = error.hint();
        analysis(arguments.failure(error, hint))
    })?;
    let folder = input::sample_folder(&configuration, &arguments.configuration);
    let loaded = input::load(configuration, &folder)
        .map_err(|error| analysis(Failure::refused(error).context("cannot read the samples")))?;
    let files = loaded.paths.iter().map(PathBuf::as_path);
    outputs.spare(files).map_err(|error| {
        Refused::BeforeWriting(arguments.failure(error, Some("name another prefix with -o")))
    })?;
    ConfiguredAnswer::new(arguments.shown(), &loaded.benchmarks, &arguments.options()).map_err(|error| {
        let hint = error.hint();
        analysis(arguments.failure(error, hint))
    })
}

/// Says on standard error that there is more to read, and what was left out.
fn tell_warnings(answer: &ConfiguredAnswer, outputs: &Outputs, console: &Console) {
    for benchmark in &answer.benchmarks {
        if let Some(causes) = paper::passed_over(benchmark) {
            console.warn(format_args!("{}: {causes}", benchmark.name));
        }
    }
    if let Some(order) = &answer.order {
        console.warn(&order.sentence);
    }
    let count = answer.count_warnings();
    if count > 0 {
        console.talk(format_args!("{} in {}", render::counted(count, "warning"), outputs.warnings.display()));
    }
}

impl Arguments {
    fn reads_stdin(&self) -> bool {
        self.configuration == Path::new(STDIN)
    }

    fn shown(&self) -> String {
        if self.reads_stdin() {
            "standard input".to_owned()
        } else {
            self.configuration.display().to_string()
        }
    }

    fn prefix(&self) -> Result<&Path, Failure> {
        match &self.prefix {
            Some(prefix) => Ok(prefix),
            None if self.reads_stdin() => {
                Err(Failure::usage(anyhow!("standard input has no name for the output files"))
                    .hint("give one with -o PREFIX"))
            }
            None => Ok(&self.configuration),
        }
    }

    fn read_configuration(&self) -> Result<Configuration, ConfigurationError> {
        if self.reads_stdin() {
            return Configuration::read(io::stdin().lock());
        }
        let file = File::open(&self.configuration).map_err(ConfigurationError::Unreadable)?;
        Configuration::read(file)
    }

    fn options(&self) -> ConfiguredOptions {
        ConfiguredOptions {
            mode: self.mode,
            legacy_ks: self.legacy_ks,
            level: self.conf_level,
            weights: self.weight,
            precision: self.precision,
            proportion_interval: self.proportion_interval,
        }
    }

    /// A refusal that concerns the configuration.
    fn failure(&self, error: impl Into<Error>, hint: Option<&'static str>) -> Failure {
        let tried = format!("cannot test the benchmarks of {}", self.shown());
        Failure::usage(error.into().context(tried)).hint_if(hint)
    }
}
