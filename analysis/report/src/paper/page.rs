//! The report file, which is also what is printed for people: overall gains and speedups, the proportions of accelerated
//! benchmarks, and the benchmarks one by one.

use std::fmt::Write as _;

use speedup_analysis::inquiry::configured::{
    BenchmarkAnswer, ConfiguredAnswer, MeansOfSpeedups, OverallGain,
};
use speedup_analysis::inquiry::{AcceleratedShare, SpeedupTestMode};
use speedup_statistics::protocol::speedup_test::ProtocolVerdict;
use speedup_statistics::{inference::Interval, ratio::SpeedupMeans};

use super::results::{fifteen_digits, three_decimals};
use crate::facts::{ABSENT, Sheet, SheetCell, number, words};

/// The report as text; `table` draws a table.
pub fn report(answer: &ConfiguredAnswer, table: impl Fn(&Sheet) -> String) -> String {
    let mut text = format!("Analysis report of {}\n", answer.configuration);
    for OverallGain { by, gain, speedup } in &answer.overall {
        let by = by.name();
        let _ = write!(
            text,
            "\nOverall gain (ExecutionTime={by}) = {}\nOverall speedup (ExecutionTime={by}) = {}\n",
            three_decimals(*gain),
            three_decimals(*speedup)
        );
    }
    if answer.benchmarks.len() > 1 {
        text.push('\n');
        text += &means_lines(&answer.speedup_means);
    }
    for proportion in &answer.proportions {
        text.push('\n');
        text += &proportion_lines(proportion, answer.mode);
    }
    text.push('\n');
    text += &table(&benchmarks(answer));
    text.push('\n');
    text
}

/// The means that others quote, and why not to (Touati 2010 §3.2, example 3.1).
fn means_lines(means: &[MeansOfSpeedups]) -> String {
    let mut lines = String::new();
    for MeansOfSpeedups { by, means, .. } in means {
        let _ = writeln!(
            lines,
            "Means of the speedups (ExecutionTime={}): arithmetic {}, geometric {}, harmonic {}",
            by.name(),
            three_decimals(means.arithmetic),
            three_decimals(means.geometric),
            three_decimals(means.harmonic)
        );
    }
    format!("{lines}Remark: {}\n", SpeedupMeans::CAVEAT.sentence())
}

fn proportion_lines(proportion: &AcceleratedShare<Interval, OverallGain>, mode: SpeedupTestMode) -> String {
    let AcceleratedShare { accelerated, benchmarks, interval, precision, .. } = proportion;
    let by = proportion.by.name();
    let mut lines = vec![
        format!(
            "Accelerated benchmarks (speedup of the {by}): a/b = {accelerated}/{benchmarks} = {}",
            three_decimals(proportion.estimate)
        ),
        format!("Confidence level of the proportion's interval = {}", fifteen_digits(interval.level.get())),
        format!(
            "Proportion confidence interval (speedup of the {by}) = [{}; {}]",
            three_decimals(interval.lower),
            three_decimals(interval.upper)
        ),
    ];
    if !proportion.condition_holds {
        lines.push(
            "Warning: this interval may not be accurate, since a(1 - a/b) > 5 does not hold.".to_owned(),
        );
    }
    if let Some(needed) = proportion.benchmarks_needed {
        lines.push(format!(
            "Least number of benchmarks to draw at random for the precision r={precision} = {needed}"
        ));
    }
    if let Some(asked) = &proportion.asked {
        lines.push(format!("As asked: {}", with_method(asked)));
    }
    // The published program knows neither.
    if mode == SpeedupTestMode::Exact {
        lines.push(format!(
            "Recommended for so many benchmarks (Brown, Cai, DasGupta 2001): {}",
            with_method(&proportion.recommended)
        ));
        lines.push(format!(
            "The same number by the Wilson interval = {}",
            proportion.benchmarks_needed_by_wilson
        ));
    }
    lines.push(
        "Remark: the interval says nothing unless the benchmarks were drawn at random from many that represent them."
            .to_owned(),
    );
    lines.join("\n") + "\n"
}

fn with_method(interval: &Interval) -> String {
    let lower = three_decimals(interval.lower.max(0.0));
    let upper = three_decimals(interval.upper.min(1.0));
    format!("{} = [{lower}; {upper}]", interval.method)
}

fn benchmarks(answer: &ConfiguredAnswer) -> Sheet {
    let headings = vec![
        words("", "benchmark"),
        number("", "n"),
        number("", "min"),
        number("", "mean"),
        words("", "speedup of the mean"),
        number("", "level"),
        number("", "median"),
        words("", "speedup of the median"),
        number("", "level"),
    ];
    let rows = answer.benchmarks.iter().map(|benchmark| cells(benchmark).map(SheetCell::Words).to_vec());
    Sheet { headings, rows: rows.collect() }
}

fn cells(benchmark: &BenchmarkAnswer) -> [String; 9] {
    let Some(tested) = benchmark.tested() else {
        let mut cells = std::array::from_fn(|_| ABSENT.to_owned());
        cells[0].clone_from(&benchmark.name);
        cells[4] = "ignored".to_owned();
        cells[7] = "ignored".to_owned();
        return cells;
    };
    let runs = match tested.sizes() {
        [n, m] if n == m => n.to_string(),
        [n, m] => format!("{n}, {m}"),
    };
    [
        benchmark.name.clone(),
        runs,
        three_decimals(tested.speedups.min),
        three_decimals(tested.speedups.mean),
        word(&tested.mean),
        level(&tested.mean),
        three_decimals(tested.speedups.median),
        word(&tested.median),
        level(&tested.median),
    ]
}

fn level(verdict: &ProtocolVerdict) -> String {
    verdict.confidence.map_or_else(|| ABSENT.to_owned(), fifteen_digits)
}

fn word(verdict: &ProtocolVerdict) -> String {
    let word = match verdict.significant {
        Some(true) => "significant",
        Some(false) => "not significant",
        None => "cannot conclude",
    };
    word.to_owned()
}
