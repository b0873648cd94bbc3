//! `speedup report`: what the runs say.

use std::{path::Path, path::PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum, builder::PossibleValuesParser, builder::TypedValueParser};
use speedup_analysis::study::Report;
use speedup_report::document::Kind;
use speedup_report::junit::JunitRules;
use speedup_report::markdown::DrawingFile;
use speedup_report::terminal::Plots;
use speedup_report::{Document, bencher, github_benchmark, html, junit, latex, markdown, openmetrics, sheet};
use speedup_statistics::inference::ConfidenceLevel;

use crate::command::print;
use crate::command::statistics::compare::AnswerForm;
use crate::{
    arguments::ANSWER_FILE, arguments::Output, arguments::SummaryForm, arguments::fraction,
    connection::SourceArguments, connection::selector::Selector, console::Console, console::render,
    console::render::json::escaped, console::render::report::Extent, exit::Exit, exit::failure::Failure,
    gate::GateArguments, plan::selection::OnlyArguments, results::draft::replace, results::report,
    results::report::AnsweredReport, results::report::ParsedReport, results::report::ReportOptions,
    results::report::not_json, samples::named::SetName,
};

/// Reports what the runs say: which version is faster, by how much
///
/// The experiment need not be finished.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  speedup report last\n  speedup report last --format html -o report.html\n  \
    speedup report last --format json > report.json\n  \
    speedup report last --format md --figures -o report.md\n  \
    speedup report last --fail-on-regression --noise-threshold 1%\n  \
    speedup report last --data ~/.local/state/speedup/local"
)]
pub(crate) struct Arguments {
    /// The experiment: its id or the first digits of it, its name, or last; or saved:NAME for imported samples
    #[arg(value_name = "ID")]
    experiment: Selector,
    #[command(flatten)]
    source: SourceArguments,
    /// Print the whole report instead of what fits a screen
    #[arg(short, long, conflicts_with = "section")]
    verbose: bool,
    #[command(flatten)]
    only: OnlyArguments,
    /// Print only these sections, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = section())]
    section: Vec<Kind>,
    /// The confidence level, such as 0.99, instead of the plan's
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, value_parser = fraction::confidence_level)]
    confidence: Option<ConfidenceLevel>,
    /// Also describe the clusters in the times of every cell; with thousands of cells this takes minutes
    #[arg(long)]
    mixtures: bool,
    /// Include the values and curves that plots are drawn from
    ///
    /// HTML, LaTeX and terminals always have them. With --format md -o FILE, the drawings are written as FILE-1.svg and
    /// so on.
    #[arg(long)]
    figures: bool,
    /// Print the report in this form
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    format: Format,
    /// Write the report to FILE instead of standard output
    #[arg(id = ANSWER_FILE, short = 'o', long = "output", alias = "out", value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    gate: GateArguments,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For this terminal, with plots
    #[default]
    #[value(alias = "table")]
    Terminal,
    /// A page with drawings, in one file without scripts
    Html,
    /// Markdown for forges and wikis; drawings with --figures
    Md,
    /// The whole report with stable names
    Json,
    /// The table of benchmarks, one row per benchmark
    Csv,
    /// A LaTeX document with drawings, for pdflatex
    Latex,
    /// JUnit XML: a test per benchmark, which fails by a regression
    Junit,
    /// OpenMetrics text, for Prometheus
    Openmetrics,
    /// Bencher Metric Format, for `bencher run --adapter json`
    Bmf,
    /// What github-action-benchmark takes as customSmallerIsBetter
    GithubBenchmark,
}

impl Format {
    /// Whether it has sections to choose from.
    const fn has_sections(self) -> bool {
        matches!(self, Self::Terminal | Self::Html | Self::Md | Self::Latex)
    }
}

fn section() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::whole().map(Kind::slug))
        .map(|word| Kind::whole().find(|kind| kind.slug() == word).unwrap_or(Kind::Verdict))
}

impl Arguments {
    /// How much of the report is shown: a page or a document is whole, and so is what a screen shows where it is asked for.
    fn extent(&self) -> Extent {
        match self.section.as_slice() {
            [] if self.verbose || self.format != Format::Terminal => Extent::Whole,
            [] => Extent::Brief,
            sections => Extent::Sections(sections.to_vec()),
        }
    }
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let format = arguments.format;
    // Tests have a threshold of noise without a gate.
    let gate = match format {
        Format::Junit if !arguments.gate.is_used() => None,
        _ => arguments.gate.gate()?,
    };
    let rules = arguments.gate.junit_rules();
    if !arguments.section.is_empty() && !format.has_sections() {
        return Err(Failure::usage(anyhow!("this form has no sections"))
            .hint("omit --section, or use --format terminal, md, html or latex"));
    }
    if let Some(name) = SetName::from_selector(&arguments.experiment) {
        return report_samples(&name?, &arguments, format, console);
    }
    let (connection, experiment) = arguments.source.find(&arguments.experiment).await?;
    let wanted = ReportOptions {
        confidence: arguments.confidence.map(ConfidenceLevel::get),
        noise_threshold: arguments.gate.noise_threshold,
        mixtures: arguments.mixtures,
        figures: arguments.figures || (draws(format) && arguments.extent() != Extent::Brief),
    };
    let asked = report::request(&connection, experiment, wanted).await;
    connection.close().await;
    let whole = AnsweredReport::parse(asked?);
    let selected = selected(&whole, &arguments.only)?;
    let shown = selected.as_ref().unwrap_or(&whole);
    if format == Format::Md
        && arguments.figures
        && let Some(file) = arguments.file.as_deref().filter(|file| *file != Path::new("-"))
    {
        write_drawings(shown, &arguments.extent(), file, console)?;
    } else {
        print(console, &written(shown, format, &arguments.extent(), rules, console)?)?;
    }
    if console.interactive && arguments.extent() == Extent::Brief {
        console.talk(format_args!("`speedup report {} -v` shows all of the report.", arguments.experiment));
    }
    gate.map_or(Ok(Exit::Done), |gate| gate.judge_report(&whole, console))
}

/// The report of some of its benchmarks, where they are asked for.
fn selected(report: &AnsweredReport, only: &OnlyArguments) -> Result<Option<AnsweredReport>, Failure> {
    if !only.is_given() {
        return Ok(None);
    }
    let report = known(report)?;
    let names: Vec<&str> = report.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    only.require(&names)?;
    let report = report.clone().only(&only.words(), |name| only.takes(name));
    AnsweredReport::from_report(report).map(Some)
}

/// Prints Markdown, which `-o` has go to the file `out`, and writes its drawings as files beside that.
fn write_drawings(
    report: &AnsweredReport,
    extent: &Extent,
    out: &Path,
    console: &Console,
) -> Result<(), Failure> {
    let stem = out.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let (text, drawings) = markdown::with_drawings(&extent.document(known(report)?), &stem);
    for DrawingFile { name, svg } in drawings {
        replace(&out.with_file_name(name), &svg)?;
    }
    print(console, &text)
}

/// Whether plots are drawn on standard output.
pub(crate) fn draws_on_terminal(output: Output) -> bool {
    output == Output::Table && render::report::plots() != Plots::None
}

/// Whether the form shows what plots are drawn from.
fn draws(format: Format) -> bool {
    match format {
        Format::Terminal => draws_on_terminal(Output::Table),
        Format::Html | Format::Latex => true,
        Format::Md
        | Format::Json
        | Format::Csv
        | Format::Junit
        | Format::Openmetrics
        | Format::Bmf
        | Format::GithubBenchmark => false,
    }
}

/// Samples that were imported have no plan and no hosts, which a report is about as well: what they say is a comparison.
fn report_samples(
    name: &SetName,
    arguments: &Arguments,
    format: Format,
    console: &Console,
) -> Result<Exit, Failure> {
    let form = match format {
        Format::Terminal => AnswerForm::Usual(SummaryForm::Table),
        Format::Json => AnswerForm::Usual(SummaryForm::Json),
        Format::Csv => AnswerForm::Usual(SummaryForm::Csv),
        Format::Md => AnswerForm::Usual(SummaryForm::Md),
        Format::Html => AnswerForm::Html,
        Format::Latex => AnswerForm::Latex,
        Format::Junit => AnswerForm::Usual(SummaryForm::Junit),
        Format::Openmetrics | Format::Bmf | Format::GithubBenchmark => {
            return Err(Failure::usage(anyhow!(
                "{} are samples without an experiment, which this form is of",
                name.as_file()
            ))
            .hint("use --format json, or junit for what the gates say"));
        }
    };
    if arguments.only.is_given() {
        return Err(Failure::usage(anyhow!(
            "{} are samples without a plan, so --only does not apply",
            name.as_file()
        )));
    }
    if arguments.mixtures || arguments.figures {
        return Err(Failure::usage(anyhow!(
            "{} are samples without plan and hosts: their report is a comparison, which has neither mixtures nor figures",
            name.as_file()
        ))
        .hint("`speedup compare` has its other methods, as --method mixture, and its options"));
    }
    crate::command::statistics::compare::report_saved(
        name,
        arguments.confidence,
        arguments.gate,
        form,
        console,
    )
}

/// The report in a form for people or machines.
fn written(
    report: &AnsweredReport,
    format: Format,
    extent: &Extent,
    rules: JunitRules,
    console: &Console,
) -> Result<String, Failure> {
    let form: fn(&Document) -> String = match format {
        Format::Terminal => return report.text(extent, Output::Table, console.out),
        Format::Json => return report.text(extent, Output::Json, console.out),
        Format::Csv => return Ok(sheet::csv(known(report)?)),
        Format::Html => html::page,
        Format::Md => markdown::text,
        Format::Latex => latex::document,
        Format::Junit => return Ok(junit::report(known(report)?, rules)),
        Format::Openmetrics => return Ok(openmetrics::text(known(report)?)),
        Format::Bmf => return Ok(escaped(&bencher::json(known(report)?)).into_owned()),
        Format::GithubBenchmark => return Ok(escaped(&github_benchmark::json(known(report)?)).into_owned()),
    };
    Ok(form(&extent.document(known(report)?)))
}

/// A report in the schema that is known here.
fn known(report: &AnsweredReport) -> Result<&Report, Failure> {
    match report.parsed().map_err(not_json)? {
        ParsedReport::Known(report) => Ok(report),
        ParsedReport::Newer => {
            Err(Failure::usage(anyhow!("the report has a newer schema than this command knows"))
                .hint("use the command of the coordinator's release, or --format json"))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Parsed {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_confidence_level_lies_between_0_and_1() {
        let read = |level| {
            let arguments = Parsed::try_parse_from(["report", "last", "--confidence", level]);
            arguments.ok().and_then(|parsed| parsed.arguments.confidence).map(ConfidenceLevel::get)
        };
        assert_eq!(["0.99", "99%", "1", "95", "NaN"].map(read), [Some(0.99), Some(0.99), None, None, None]);
    }
}
