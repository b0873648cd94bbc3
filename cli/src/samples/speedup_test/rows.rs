//! The answer as rows with all digits: benchmarks, overall numbers, means of speedups and proportions, told apart by `kind`.

use speedup_analysis::study::Protocol;
use speedup_statistics::inference::{Caveat, Interval};
use speedup_statistics::protocol::speedup_test::{ObservedSpeedups, SubTest};
use speedup_statistics::ratio::{SpeedupMeans, Summary};

use super::answer::{
    Answer, Benchmark, OverallAnswer, ProportionAnswer, SpeedupMeansAnswer, State, Tested, Verdict,
};
use super::warning::Warning;
use crate::samples::compare::sheet::{Cell, Sheet, hidden};

/// A row, whose columns are named as these.
#[derive(Default)]
struct Row {
    /// `benchmark`, `overall`, `speedup_mean` or `proportion`.
    kind: Cell,
    benchmark: Cell,
    /// Minimum, mean or median.
    by: Cell,
    speedup: Cell,
    gain: Cell,
    coefficient: Cell,
    /// The baseline's minimum, mean or median.
    baseline: Cell,
    candidate: Cell,
    baseline_n: Cell,
    candidate_n: Cell,
    significant: Cell,
    /// The level of that, or of a proportion's interval.
    confidence: Cell,
    /// The full name of the main test, of the interval, or which mean of speedups it is.
    method: Cell,
    statistic: Cell,
    p_value: Cell,
    probability_faster: Cell,
    accelerated: Cell,
    benchmarks: Cell,
    proportion: Cell,
    lower: Cell,
    upper: Cell,
    precision: Cell,
    benchmarks_needed: Cell,
    benchmarks_needed_by_wilson: Cell,
    /// Codes.
    warnings: Cell,
}

/// The rows.
pub(crate) fn sheet(answer: &Answer) -> Sheet {
    let benchmarks = answer.benchmarks.iter().flat_map(of_benchmark);
    let overall = answer.overall.iter().map(of_overall);
    let means = answer.speedup_means.iter().flat_map(of_means);
    let proportions = answer.proportions.iter().flat_map(of_proportion);
    let rows = benchmarks.chain(overall).chain(means).chain(proportions);
    let (names, rows): (Vec<_>, Vec<_>) = rows.map(Row::columns).map(|row| row.into_iter().unzip()).unzip();
    let names: Vec<&'static str> = names.into_iter().next().unwrap_or_default();
    Sheet { headings: names.into_iter().map(hidden).collect(), rows }
}

impl Row {
    fn of(kind: &str, by: Summary) -> Self {
        Self { kind: Cell::text(kind), by: Cell::text(by.name()), ..Self::default() }
    }

    fn columns(self) -> [(&'static str, Cell); 25] {
        [
            ("kind", self.kind),
            ("benchmark", self.benchmark),
            ("by", self.by),
            ("speedup", self.speedup),
            ("gain", self.gain),
            ("coefficient", self.coefficient),
            ("baseline", self.baseline),
            ("candidate", self.candidate),
            ("baseline_n", self.baseline_n),
            ("candidate_n", self.candidate_n),
            ("significant", self.significant),
            ("confidence", self.confidence),
            ("method", self.method),
            ("statistic", self.statistic),
            ("p_value", self.p_value),
            ("probability_faster", self.probability_faster),
            ("accelerated", self.accelerated),
            ("benchmarks", self.benchmarks),
            ("proportion", self.proportion),
            ("lower", self.lower),
            ("upper", self.upper),
            ("precision", self.precision),
            ("benchmarks_needed", self.benchmarks_needed),
            ("benchmarks_needed_by_wilson", self.benchmarks_needed_by_wilson),
            ("warnings", self.warnings),
        ]
    }
}

/// By minimum, which no protocol tests, by mean and by median; a benchmark that was passed over has its warnings alone.
fn of_benchmark(benchmark: &Benchmark) -> Vec<Row> {
    let warnings = || Cell::codes(benchmark.warnings.iter().map(Warning::code));
    let tested = match &benchmark.state {
        State::Tested(tested) => tested,
        State::Ignored { .. } => {
            let (kind, name) = (Cell::text("benchmark"), Cell::text(&benchmark.name));
            return vec![Row { kind, benchmark: name, warnings: warnings(), ..Row::default() }];
        }
    };
    let row = |(by, coefficient): (Summary, f64)| {
        let row = Row {
            benchmark: Cell::text(&benchmark.name),
            coefficient: Cell::Number(coefficient),
            probability_faster: Cell::Number(tested.probability_faster),
            warnings: warnings(),
            ..of_times(tested, by)
        };
        match by {
            Summary::Min => row,
            Summary::Mean => row.judged(tested.verdict(Protocol::Mean)),
            Summary::Median => row.judged(tested.verdict(Protocol::Median)),
        }
    };
    Summary::ALL.into_iter().zip(tested.coefficients).map(row).collect()
}

fn of_times(tested: &Tested, by: Summary) -> Row {
    let ObservedSpeedups { min, mean, median } = tested.speedups;
    let speedup = match by {
        Summary::Min => min,
        Summary::Mean => mean,
        Summary::Median => median,
    };
    let [baseline_n, candidate_n] = tested.sizes().map(|n| Cell::Count(n as u64));
    let [baseline, candidate] = tested.summaries(by).map(Cell::Number);
    Row {
        speedup: Cell::Number(speedup),
        baseline,
        candidate,
        baseline_n,
        candidate_n,
        ..Row::of("benchmark", by)
    }
}

impl Row {
    fn judged(self, verdict: &Verdict) -> Self {
        let (method, statistic, p_value) = match &verdict.conclusion.main_test {
            SubTest::Made { method, statistic, p_value } => {
                let statistic = Some(*statistic).filter(|statistic| statistic.is_finite());
                (*method, Cell::of(statistic), Cell::Number(p_value.get()))
            }
            SubTest::Refused { method, .. } => (*method, Cell::Absent, Cell::Absent),
        };
        Self {
            significant: verdict.significant.map_or(Cell::Absent, |is| Cell::text(is.to_string())),
            confidence: Cell::of(verdict.confidence),
            method: Cell::text(method),
            statistic,
            p_value,
            ..self
        }
    }
}

fn of_overall(overall: &OverallAnswer) -> Row {
    let OverallAnswer { by, gain, speedup } = *overall;
    Row { gain: Cell::Number(gain), speedup: Cell::Number(speedup), ..Row::of("overall", by) }
}

fn of_means(answer: &SpeedupMeansAnswer) -> [Row; 3] {
    let SpeedupMeans { arithmetic, geometric, harmonic } = answer.means;
    [("arithmetic mean", arithmetic), ("geometric mean", geometric), ("harmonic mean", harmonic)].map(
        |(method, speedup)| Row {
            speedup: Cell::Number(speedup),
            method: Cell::text(method),
            warnings: Cell::text(SpeedupMeans::CAVEAT.code()),
            ..Row::of("speedup_mean", answer.by)
        },
    )
}

/// One row an interval: the published one, the recommended one, and the one that was asked for.
fn of_proportion(proportion: &ProportionAnswer) -> Vec<Row> {
    let by = match proportion.by {
        Protocol::Mean => Summary::Mean,
        Protocol::Median => Summary::Median,
    };
    let intervals = [Some(&proportion.interval), Some(&proportion.recommended), proportion.asked.as_ref()];
    let row = |interval: &Interval| Row {
        accelerated: Cell::Count(proportion.accelerated),
        benchmarks: Cell::Count(proportion.benchmarks),
        proportion: Cell::Number(proportion.estimate),
        lower: Cell::Number(interval.lower),
        upper: Cell::Number(interval.upper),
        confidence: Cell::Number(interval.level.get()),
        method: Cell::text(interval.method),
        precision: Cell::Number(proportion.precision),
        benchmarks_needed: proportion.benchmarks_needed.map_or(Cell::Absent, Cell::Count),
        benchmarks_needed_by_wilson: Cell::Count(proportion.benchmarks_needed_by_wilson),
        warnings: Cell::codes(interval.caveats.iter().map(Caveat::code)),
        ..Row::of("proportion", by)
    };
    intervals.into_iter().flatten().map(row).collect()
}
