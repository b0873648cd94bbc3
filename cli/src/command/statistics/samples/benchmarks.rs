//! `speedup samples benchmarks`: how many benchmarks to draw, to know the proportion of those that a version accelerates.

use clap::Args;
use serde::Serialize;
use speedup_analysis::count::{counted, percent};
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::test::{Selection, benchmarks_by_wald, benchmarks_by_wilson};

use crate::{
    arguments::FormArgument, arguments::fraction, command::print_answer, console::Console, console::Paint,
    console::render::table::of_sheet, exit::Exit, exit::failure::Failure,
};
use speedup_report::facts::{Sheet, SheetCell, hidden, number, words};

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

/// How many benchmarks to draw at random to know a proportion precisely
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup samples benchmarks --proportion 17/30 --precision 0.05\n\n\
    The answer has two numbers: by Wald's interval, as published (Touati 2010 §5), which fails for proportions near \
    0 and 1, and by Wilson's interval, which holds there too. Neither means anything unless you draw the benchmarks \
    at random.")]
pub(crate) struct Arguments {
    /// The expected proportion, such as 0.57 or 17/30; one half needs the most benchmarks
    #[arg(long, value_name = "C", allow_hyphen_values = true, default_value = "0.5", value_parser = proportion)]
    proportion: f64,
    /// The half-width of its confidence interval
    #[arg(long, value_name = "R", allow_hyphen_values = true, default_value_t = 0.05, value_parser = fraction::precision)]
    precision: f64,
    /// The confidence level of the interval
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    /// The number of benchmarks to draw from, without replacement [default: many]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    population: Option<u64>,
    #[command(flatten)]
    output: FormArgument,
}

#[derive(Debug, Serialize)]
struct Answer {
    schema_version: u32,
    proportion: f64,
    precision: f64,
    confidence: ConfidenceLevel,
    population: Option<u64>,
    /// By the published formula; absent at the proportions 0 and 1, of which it knows nothing.
    benchmarks_needed: Option<u64>,
    benchmarks_needed_by_wilson: u64,
}

/// A share, as a decimal number, a percentage or a quotient.
fn proportion(text: &str) -> Result<f64, String> {
    let count = |text: &str| text.trim().parse::<f64>().ok();
    let value = match text.split_once('/') {
        Some((accelerated, benchmarks)) => count(accelerated)
            .zip(count(benchmarks))
            .map(|(accelerated, benchmarks)| accelerated / benchmarks),
        None => fraction::fraction(text),
    };
    let value = value.filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| "a proportion lies between 0 and 1, such as 0.57, 57% or 17/30".to_owned())
}

pub(super) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let Arguments { proportion, precision, confidence, population, output } = *arguments;
    let selection = population.map_or(Selection::Drawn, |size| Selection::DrawnFromFinite { size });
    let by_wald =
        benchmarks_by_wald(proportion, precision, confidence, selection).map_err(Failure::refused)?;
    let by_wilson =
        benchmarks_by_wilson(proportion, precision, confidence, selection).map_err(Failure::refused)?;
    let answer = Answer {
        schema_version: SCHEMA_VERSION,
        proportion,
        precision,
        confidence,
        population,
        benchmarks_needed: (by_wald > 0).then_some(by_wald),
        benchmarks_needed_by_wilson: by_wilson,
    };
    print_answer(console, output.output, &answer, shown, sheet)
}

/// Each method with the number that it gives, if it gives one.
fn sheet(answer: &Answer) -> Sheet {
    let headings = vec![
        words("method", "by the interval of"),
        number("benchmarks_needed", "benchmarks"),
        hidden("proportion"),
        hidden("precision"),
        hidden("confidence"),
        hidden("population"),
    ];
    let row = |method: &str, needed: Option<u64>| {
        vec![
            SheetCell::text(method),
            needed.map_or(SheetCell::Absent, SheetCell::Count),
            SheetCell::Number(answer.proportion),
            SheetCell::Number(answer.precision),
            SheetCell::Number(answer.confidence.get()),
            answer.population.map_or(SheetCell::Absent, SheetCell::Count),
        ]
    };
    let rows = vec![
        row("Wald (published)", answer.benchmarks_needed),
        row("Wilson", Some(answer.benchmarks_needed_by_wilson)),
    ];
    Sheet { headings, rows }
}

fn shown(answer: &Answer, paint: Paint) -> String {
    let Answer { proportion, precision, confidence, population, .. } = answer;
    let from = population.map_or_else(String::new, |size| format!(" from {}", counted(size, "benchmark")));
    let opening = format!(
        "To know a proportion of {} to ±{} at confidence level {confidence}, draw at random{from}:",
        percent(*proportion),
        percent(*precision),
    );
    let silent = match answer.benchmarks_needed {
        Some(_) => "",
        None => {
            "\n\nWald's interval has no width at the proportions 0 and 1, and so gives no number of benchmarks."
        }
    };
    format!("{opening}\n\n{}{silent}", of_sheet(&sheet(answer), paint))
}
