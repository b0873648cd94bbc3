//! The answer as rows with all digits: benchmarks, overall numbers, means of speedups and proportions, told apart by `kind`.

use speedup_analysis::conclusion::{ReportWord as _, WarningCode};
use speedup_analysis::inquiry::AcceleratedShare;
use speedup_analysis::inquiry::configured::{
    BenchmarkAnswer, ConfiguredAnswer, MeansOfSpeedups, OverallGain, TestedBenchmark,
};
use speedup_statistics::protocol::speedup_test::{ObservedSpeedups, ProtocolVerdict, SubTest};
use speedup_statistics::{inference::Interval, ratio::SpeedupMeans, ratio::Summary};

use crate::facts::{Sheet, SheetCell, hidden};

/// Declares a row, whose columns are named as its fields.
macro_rules! row {
    ($($(#[$about:meta])* $column:ident),+ $(,)?) => {
        #[derive(Default)]
        struct Row {
            $($(#[$about])* $column: SheetCell,)+
        }

        impl Row {
            fn columns(self) -> Vec<(&'static str, SheetCell)> {
                vec![$((stringify!($column), self.$column)),+]
            }
        }
    };
}

row! {
    /// `benchmark`, `overall`, `speedup_mean` or `proportion`.
    kind,
    benchmark,
    /// Minimum, mean or median.
    by,
    speedup, gain, coefficient,
    /// The baseline's minimum, mean or median.
    baseline,
    candidate, baseline_n, candidate_n, significant,
    /// The level of that, or of a proportion's interval.
    confidence,
    /// The full name of the main test, of the interval, or which mean of speedups it is.
    method,
    statistic, p_value, probability_faster, accelerated, benchmarks, proportion, lower, upper, precision,
    benchmarks_needed, benchmarks_needed_by_wilson, warnings
}

/// The rows.
pub fn sheet(answer: &ConfiguredAnswer) -> Sheet {
    let mut rows = Vec::new();
    for benchmark in &answer.benchmarks {
        push_benchmark(&mut rows, benchmark);
    }
    rows.extend(answer.overall.iter().map(overall_row));
    rows.extend(answer.speedup_means.iter().flat_map(means_rows));
    for proportion in &answer.proportions {
        // The published interval, the recommended one, and the one that was asked for.
        rows.push(proportion_row(proportion, &proportion.interval));
        rows.push(proportion_row(proportion, &proportion.recommended));
        rows.extend(proportion.asked.as_ref().map(|asked| proportion_row(proportion, asked)));
    }
    let headings = Row::default().columns().into_iter().map(|(name, _)| hidden(name)).collect();
    let cells = rows.into_iter().map(|row| row.columns().into_iter().map(|(_, cell)| cell).collect());
    Sheet { headings, rows: cells.collect() }
}

impl Row {
    fn new(kind: &str, by: Summary) -> Self {
        Self { kind: SheetCell::text(kind), by: SheetCell::text(by.name()), ..Self::default() }
    }
}

/// Pushes a row by minimum, which no protocol tests, by mean and by median; a benchmark that was passed over has one, with
/// its warnings alone.
fn push_benchmark(rows: &mut Vec<Row>, benchmark: &BenchmarkAnswer) {
    let name = SheetCell::text(&benchmark.name);
    let warnings = SheetCell::codes(benchmark.warnings.iter().map(|warning| warning.code.as_str()));
    let Some(tested) = benchmark.tested() else {
        let kind = SheetCell::text("benchmark");
        rows.push(Row { kind, benchmark: name, warnings, ..Row::default() });
        return;
    };
    for (by, coefficient) in Summary::ALL.into_iter().zip(tested.coefficients) {
        let row = Row {
            benchmark: name.clone(),
            coefficient: SheetCell::Number(coefficient),
            probability_faster: SheetCell::Number(tested.probability_faster),
            warnings: warnings.clone(),
            ..times_row(tested, by)
        };
        rows.push(match by {
            Summary::Min => row,
            Summary::Mean => row.with_verdict(&tested.mean),
            Summary::Median => row.with_verdict(&tested.median),
        });
    }
}

fn times_row(tested: &TestedBenchmark, by: Summary) -> Row {
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
        ..Row::new("benchmark", by)
    }
}

impl Row {
    fn with_verdict(self, verdict: &ProtocolVerdict) -> Self {
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

fn overall_row(overall: &OverallGain) -> Row {
    let OverallGain { by, gain, speedup } = *overall;
    Row { gain: SheetCell::Number(gain), speedup: SheetCell::Number(speedup), ..Row::new("overall", by) }
}

fn means_rows(answer: &MeansOfSpeedups) -> [Row; 3] {
    let SpeedupMeans { arithmetic, geometric, harmonic } = answer.means;
    [("arithmetic mean", arithmetic), ("geometric mean", geometric), ("harmonic mean", harmonic)].map(
        |(method, speedup)| Row {
            speedup: SheetCell::Number(speedup),
            method: SheetCell::text(method),
            warnings: SheetCell::text(WarningCode::from(&SpeedupMeans::CAVEAT).name()),
            ..Row::new("speedup_mean", answer.by)
        },
    )
}

fn proportion_row(proportion: &AcceleratedShare<Interval, OverallGain>, interval: &Interval) -> Row {
    Row {
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
        ..Row::new("proportion", Summary::from(proportion.by))
    }
}
