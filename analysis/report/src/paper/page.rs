//! The report file, which is also what is printed for people: overall gains and speedups, the proportions of accelerated
//! benchmarks, and the benchmarks one by one.

use std::fmt::Write as _;

use speedup_analysis::conclusion::Protocol;
use speedup_analysis::inquiry::configured::{
    BenchmarkAnswer, ConfiguredAnswer, MeansOfSpeedups, OverallGain, ProtocolVerdict,
};
use speedup_analysis::inquiry::{AcceleratedShare, SpeedupTestMode};
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
        text += &of_means(&answer.speedup_means);
    }
    for proportion in &answer.proportions {
        text.push('\n');
        text += &of_proportion(proportion, answer.mode);
    }
    text.push('\n');
    text += &table(&benchmarks(answer));
    text.push('\n');
    text
}

/// What others quote, and why not to (Touati 2010 §3.2, example 3.1).
fn of_means(means: &[MeansOfSpeedups]) -> String {
    let line = |MeansOfSpeedups { by, means, .. }: &MeansOfSpeedups| {
        let SpeedupMeans { arithmetic, geometric, harmonic } = *means;
        let [arithmetic, geometric, harmonic] = [arithmetic, geometric, harmonic].map(three_decimals);
        format!(
            "Means of the speedups (ExecutionTime={}): arithmetic {arithmetic}, geometric {geometric}, harmonic {harmonic}\n",
            by.name()
        )
    };
    let lines: String = means.iter().map(line).collect();
    format!("{lines}Remark: {}\n", SpeedupMeans::CAVEAT.sentence())
}

fn of_proportion(proportion: &AcceleratedShare<Interval, OverallGain>, mode: SpeedupTestMode) -> String {
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
    let by_method = |interval: &Interval| {
        let [lower, upper] = [interval.lower.max(0.0), interval.upper.min(1.0)].map(three_decimals);
        format!("{} = [{lower}; {upper}]", interval.method)
    };
    lines.extend(proportion.asked.as_ref().map(|asked| format!("As asked: {}", by_method(asked))));
    if mode == SpeedupTestMode::Exact {
        lines.push(format!(
            "Recommended for so many benchmarks (Brown, Cai, DasGupta 2001): {}",
            by_method(&proportion.recommended)
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
    let cells = |benchmark: &BenchmarkAnswer| row(benchmark).into_iter().map(SheetCell::Words).collect();
    Sheet { headings, rows: answer.benchmarks.iter().map(cells).collect() }
}

fn row(benchmark: &BenchmarkAnswer) -> Vec<String> {
    let Some(tested) = benchmark.tested() else {
        let mut row = vec![ABSENT.to_owned(); 9];
        row[0].clone_from(&benchmark.name);
        row[4] = "ignored".to_owned();
        row[7] = "ignored".to_owned();
        return row;
    };
    let of = |protocol: Protocol| {
        let verdict = tested.verdict(protocol);
        let level = verdict.confidence.map_or_else(|| ABSENT.to_owned(), fifteen_digits);
        [word(verdict).to_owned(), level]
    };
    let runs = match tested.sizes() {
        [n, m] if n == m => n.to_string(),
        [n, m] => format!("{n}, {m}"),
    };
    let [min, mean, median] =
        [tested.speedups.min, tested.speedups.mean, tested.speedups.median].map(three_decimals);
    let ([mean_word, mean_level], [median_word, median_level]) = (of(Protocol::Mean), of(Protocol::Median));
    vec![benchmark.name.clone(), runs, min, mean, mean_word, mean_level, median, median_word, median_level]
}

fn word(verdict: &ProtocolVerdict) -> &'static str {
    match verdict.significant {
        Some(true) => "significant",
        Some(false) => "not significant",
        None => "cannot conclude",
    }
}
