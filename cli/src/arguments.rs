//! Options that several verbs share, and how the values of options are read.

pub(crate) mod fraction;
pub(crate) mod words;

/// Headings under which `--help` shows options of several verbs.
pub(crate) mod heading {
    /// How to reach a coordinator.
    pub(crate) const REACHING: &str = "Coordinator options";
    /// How input files are read.
    pub(crate) const FILES: &str = "Input files";
    /// What changes a plan for this once.
    pub(crate) const CHANGES: &str = "Changes to the plan";
    /// Which samples are the pilot.
    pub(crate) const PILOT: &str = "Pilot";
}

use anyhow::anyhow;
use clap::ValueEnum;
use jiff::SignedDuration;
use speedup_core::value::time::Span;

/// The id of `-o/--output FILE` of the verbs whose answer has several forms.
pub(crate) const ANSWER_FILE: &str = "answer_file";

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

/// A length of time as in plan files.
pub(crate) fn span(text: &str) -> Result<Span, anyhow::Error> {
    let length: SignedDuration =
        text.parse().map_err(|_| anyhow!("write a length of time with its unit: 500ms, 60s, 10m or 1h"))?;
    u64::try_from(length.as_nanos()).map(Span).map_err(|_| anyhow!("it is negative or longer than 500 years"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_written_as_in_plans() {
        assert_eq!(span("60s").unwrap(), Span::from_secs(60));
        assert_eq!(span("500ms").unwrap(), Span::from_millis(500));
        assert!(span("60").is_err() && span("-1s").is_err());
    }
}
