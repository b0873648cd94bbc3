//! The answer as rows with all digits: benchmarks, overall numbers, means of speedups and proportions, told apart by `kind`.

use speedup_analysis::conclusion::{Protocol, Spelled as _, WarningCode};
use speedup_analysis::inquiry::AcceleratedShare;
use speedup_analysis::inquiry::configured::{
    BenchmarkAnswer, ConfiguredAnswer, MeansOfSpeedups, OverallGain, ProtocolVerdict, TestedBenchmark,
};
use speedup_statistics::protocol::speedup_test::{ObservedSpeedups, SubTest};
use speedup_statistics::{inference::Interval, ratio::SpeedupMeans, ratio::Summary};

use crate::facts::{Sheet, SheetCell, hidden};

/// A row, whose columns are named as these.
#[derive(Default)]
struct Row {
    /// `benchmark`, `overall`, `speedup_mean` or `proportion`.
    kind: SheetCell,
    benchmark: SheetCell,
    /// Minimum, mean or median.
    by: SheetCell,
    speedup: SheetCell,
    gain: SheetCell,
    coefficient: SheetCell,
    /// The baseline's minimum, mean or median.
    baseline: SheetCell,
    candidate: SheetCell,
    baseline_n: SheetCell,
    candidate_n: SheetCell,
    significant: SheetCell,
    /// The level of that, or of a proportion's interval.
    confidence: SheetCell,
    /// The full name of the main test, of the interval, or which mean of speedups it is.
    method: SheetCell,
    statistic: SheetCell,
    p_value: SheetCell,
    probability_faster: SheetCell,
    accelerated: SheetCell,
    benchmarks: SheetCell,
    proportion: SheetCell,
    lower: SheetCell,
    upper: SheetCell,
    precision: SheetCell,
    benchmarks_needed: SheetCell,
    benchmarks_needed_by_wilson: SheetCell,
    warnings: SheetCell,
}

/// The rows.
pub fn sheet(answer: &ConfiguredAnswer) -> Sheet {
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
        Self { kind: SheetCell::text(kind), by: SheetCell::text(by.name()), ..Self::default() }
    }

    fn columns(self) -> [(&'static str, SheetCell); 25] {
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
fn of_benchmark(benchmark: &BenchmarkAnswer) -> Vec<Row> {
    let warnings = || SheetCell::codes(benchmark.warnings.iter().map(|warning| warning.code().name()));
    let Some(tested) = benchmark.tested() else {
        let (kind, name) = (SheetCell::text("benchmark"), SheetCell::text(&benchmark.name));
        return vec![Row { kind, benchmark: name, warnings: warnings(), ..Row::default() }];
    };
    let row = |(by, coefficient): (Summary, f64)| {
        let row = Row {
            benchmark: SheetCell::text(&benchmark.name),
            coefficient: SheetCell::Number(coefficient),
            probability_faster: SheetCell::Number(tested.probability_faster),
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

fn of_times(tested: &TestedBenchmark, by: Summary) -> Row {
    let ObservedSpeedups { min, mean, median } = tested.speedups;
    let speedup = match by {
        Summary::Min => min,
        Summary::Mean => mean,
        Summary::Median => median,
    };
    let [baseline_n, candidate_n] = tested.sizes().map(|n| SheetCell::Count(n as u64));
    let [baseline, candidate] = tested.summaries(by).map(SheetCell::Number);
    Row {
        speedup: SheetCell::Number(speedup),
        baseline,
        candidate,
        baseline_n,
        candidate_n,
        ..Row::of("benchmark", by)
    }
}

impl Row {
    fn judged(self, verdict: &ProtocolVerdict) -> Self {
        let (method, statistic, p_value) = match &verdict.conclusion.main_test {
            SubTest::Made { method, statistic, p_value } => {
                let statistic = Some(*statistic).filter(|statistic| statistic.is_finite());
                (*method, SheetCell::optional(statistic), SheetCell::Number(p_value.get()))
            }
            SubTest::Refused { method, .. } => (*method, SheetCell::Absent, SheetCell::Absent),
        };
        Self {
            significant: verdict.significant.map_or(SheetCell::Absent, |is| SheetCell::text(is.to_string())),
            confidence: SheetCell::optional(verdict.confidence),
            method: SheetCell::text(method),
            statistic,
            p_value,
            ..self
        }
    }
}

fn of_overall(overall: &OverallGain) -> Row {
    let OverallGain { by, gain, speedup } = *overall;
    Row { gain: SheetCell::Number(gain), speedup: SheetCell::Number(speedup), ..Row::of("overall", by) }
}

fn of_means(answer: &MeansOfSpeedups) -> [Row; 3] {
    let SpeedupMeans { arithmetic, geometric, harmonic } = answer.means;
    [("arithmetic mean", arithmetic), ("geometric mean", geometric), ("harmonic mean", harmonic)].map(
        |(method, speedup)| Row {
            speedup: SheetCell::Number(speedup),
            method: SheetCell::text(method),
            warnings: SheetCell::text(WarningCode::from(&SpeedupMeans::CAVEAT).name()),
            ..Row::of("speedup_mean", answer.by)
        },
    )
}

/// One row an interval: the published one, the recommended one, and the one that was asked for.
fn of_proportion(proportion: &AcceleratedShare<Interval, OverallGain>) -> Vec<Row> {
    let by = Summary::from(proportion.by);
    let intervals = [Some(&proportion.interval), Some(&proportion.recommended), proportion.asked.as_ref()];
    let row = |interval: &Interval| Row {
        accelerated: SheetCell::Count(proportion.accelerated),
        benchmarks: SheetCell::Count(proportion.benchmarks),
        proportion: SheetCell::Number(proportion.estimate),
        lower: SheetCell::Number(interval.lower),
        upper: SheetCell::Number(interval.upper),
        confidence: SheetCell::Number(interval.level.get()),
        method: SheetCell::text(interval.method),
        precision: SheetCell::Number(proportion.precision),
        benchmarks_needed: proportion.benchmarks_needed.map_or(SheetCell::Absent, SheetCell::Count),
        benchmarks_needed_by_wilson: SheetCell::Count(proportion.benchmarks_needed_by_wilson),
        warnings: SheetCell::codes(interval.caveats.iter().map(|caveat| WarningCode::from(caveat).name())),
        ..Row::of("proportion", by)
    };
    intervals.into_iter().flatten().map(row).collect()
}
