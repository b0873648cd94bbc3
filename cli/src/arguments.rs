//! Verbs and flags.

pub(crate) mod command_line;
pub(crate) mod fraction;
mod headings;
#[cfg(test)]
pub(crate) mod reference;
mod tips;
pub(crate) mod words;

use clap::{Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::command::{
    access, agent, analysis, baseline, bench, bisect, bundle, change, compare, completions, coordinator,
    doctor, events, explain, export, hosts, import, init, list, man, page, plan, report, resume, run,
    samples, scaling, study, submit, test, token, track, verify, wait, watch,
};
use crate::console::Color;
use crate::exit;

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
    Token(token::Verb),
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
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// How data is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    #[default]
    Table,
    /// For programs: one JSON value
    Json,
}

/// The choice between them.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct OutputArgument {
    /// Print the answer in this form
    #[arg(long = "format", value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: Output,
}

/// How data is printed that is rows as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people
    #[default]
    Table,
    /// For programs: one JSON value
    Json,
    /// For spreadsheets: comma-separated values with a header line
    Csv,
}

/// The choice between them.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct FormArgument {
    /// Print the answer in this form
    #[arg(long = "format", value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: Form,
}

/// How data is printed that goes into summaries as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryForm {
    /// For people
    #[default]
    Table,
    /// For programs: one JSON value
    Json,
    /// For spreadsheets: comma-separated values with a header line
    Csv,
    /// For pull requests, job summaries and wikis: Markdown
    Md,
    /// For continuous integration: JUnit XML, in which a test fails by a regression
    Junit,
}

/// The choice between them.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct SummaryFormArgument {
    /// Print the answer in this form
    #[arg(long = "format", value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: SummaryForm,
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
