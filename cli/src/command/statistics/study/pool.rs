//! `speedup study pool`: runs of one version compared with themselves (A/A): how often a test sees a difference that is not
//! there, and how large one must be to be seen.

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use speedup_analysis::{conclusion::Warning, count::counted, count::percent};
use speedup_core::value::seed::Seed;
use speedup_statistics::diagnostics::aa::{AaError, AaOptions, AaStudy, AaTest, Detectable, FalseAlarms};
use speedup_statistics::inference::{Alternative, Caveat, ConfidenceLevel};
use speedup_statistics::sample::Sample;

use crate::{
    arguments::FormArgument, arguments::fraction, command::print_answer,
    command::statistics::samples::pilot::PilotArguments, console::Console, console::Paint,
    console::render::table::of_sheet, exit::Exit, exit::failure::Failure,
};
use speedup_report::facts::{Sheet, SheetCell, number, significant, words};

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

/// How often one version is called different from itself (A/A)
///
/// It also says which difference the runs could show.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup study pool examples/compare/two-modes.txt\n\
    \x20 speedup study pool runs.csv --column seconds --run-column host\n\n\
    The runs are repeatedly split at random into two halves. Values of one run stay together; with the host column \
    as --run-column, whole hosts do, as if each version had its own hosts. A rate above the risk says that the \
    values of one run or host resemble each other.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pilot: PilotArguments,
    /// The number of random splits
    #[arg(long, value_name = "N", default_value_t = 1000)]
    splits: u64,
    /// The probability of finding a difference
    #[arg(long, value_name = "POWER", allow_hyphen_values = true, default_value_t = 0.8)]
    power: f64,
    /// The confidence level of the tests
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    /// The random seed; the same seed gives the same answer
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: FormArgument,
}

#[derive(Debug, Serialize)]
struct Answer {
    schema_version: u32,
    study: &'static str,
    benchmark: String,
    /// Runs, or groups of values that stay together.
    units: usize,
    values: usize,
    confidence: ConfidenceLevel,
    power: f64,
    seed: u64,
    tests: Vec<PoolTest>,
    caveats: Vec<Warning>,
}

/// What one test says of the pool.
#[derive(Debug, Serialize)]
struct PoolTest {
    test: AaTest,
    method: &'static str,
    rejected: u64,
    splits: u64,
    /// Splits that the test refused, which count as not rejected.
    refused: u64,
    /// rejected/splits, and what the test promises.
    rate: f64,
    standard_error: f64,
    expected: f64,
    /// The least speedup that halves of the pool show with the power.
    detectable: Detectable,
}

pub(super) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let answer = arguments.answer(console)?;
    print_answer(console, arguments.output.output, &answer, shown, sheet)
}

impl Arguments {
    fn answer(&self, console: &Console) -> Result<Answer, Failure> {
        if !self.pilot.is_given() {
            return Err(Failure::usage(anyhow!("there is no pool to compare with itself"))
                .hint("give a file of samples of one version"));
        }
        let pool = self.pilot.read(console)?;
        if pool.candidate.is_some() {
            return Err(Failure::usage(anyhow!("a pool is of one version, and there are two"))
                .hint("give the file of one; speedup compare compares two"));
        }
        // Refuses what is no positive time, with its place.
        let means = pool.baseline.sample("the pool").map_err(Failure::refused)?;
        let runs = &pool.baseline.runs;
        let together = runs.len() > 1 && runs.iter().any(|run| run.len() > 1);
        let values: Vec<f64> = runs.iter().flatten().copied().collect();
        let groups: Vec<u32> =
            (0..).zip(runs).flat_map(|(group, run)| run.iter().map(move |_| group)).collect();
        let units = if together { runs.len() } else { means.len() };
        let all = Sample::new(values).map_err(Failure::refused)?;
        let mut tests = Vec::new();
        let mut caveats: Vec<Warning> = Vec::new();
        for test in [AaTest::Welch, AaTest::RankSum] {
            let options = AaOptions {
                test,
                alternative: Alternative::TwoSided,
                level: self.confidence,
                splits: self.splits,
                seed: Seed(self.seed),
            };
            let study = if together {
                AaStudy::by_hosts(&all, &groups, options)
            } else {
                AaStudy::by_runs(&all, options)
            };
            let study = study.map_err(refused)?;
            let detectable = study.minimum_detectable(self.power).map_err(refused)?;
            let alarms = study.false_alarms();
            warn(&mut caveats, &alarms.caveats);
            tests.push(self.tested(test, &alarms, detectable));
        }
        Ok(Answer {
            schema_version: SCHEMA_VERSION,
            study: "pool",
            benchmark: pool.benchmark,
            units,
            values: all.len(),
            confidence: self.confidence,
            power: self.power,
            seed: self.seed,
            tests,
            caveats,
        })
    }

    fn tested(&self, test: AaTest, alarms: &FalseAlarms, detectable: Detectable) -> PoolTest {
        let FalseAlarms { method, rejected, splits, refused, rate, standard_error, caveats: _ } = *alarms;
        let expected = self.confidence.risk().get();
        PoolTest { test, method, rejected, splits, refused, rate, standard_error, expected, detectable }
    }
}

fn refused(error: AaError) -> Failure {
    Failure::refused(error).context("cannot compare the pool with itself")
}

fn warn(warnings: &mut Vec<Warning>, caveats: &[Caveat]) {
    for warning in caveats.iter().map(Warning::from) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

fn sheet(answer: &Answer) -> Sheet {
    let headings = vec![
        words("test", "test"),
        number("rate", "called different"),
        number("standard_error", "standard error"),
        number("expected", "promised"),
        number("detectable", "least speedup found"),
    ];
    let row = |tested: &PoolTest| {
        vec![
            SheetCell::text(match tested.test {
                AaTest::Welch => "welch",
                AaTest::RankSum => "rank_sum",
            }),
            SheetCell::Number(tested.rate),
            SheetCell::Number(tested.standard_error),
            SheetCell::Number(tested.expected),
            match tested.detectable {
                // Factors are tried in steps of a hundredth of a percent.
                Detectable::Factor { factor } => SheetCell::Shown(factor, significant(factor, 5)),
                Detectable::NotWithin { .. } => SheetCell::Absent,
            },
        ]
    };
    Sheet { headings, rows: answer.tests.iter().map(row).collect() }
}

fn shown(answer: &Answer, paint: Paint) -> String {
    let Answer { benchmark, units, values, confidence, power, seed, .. } = answer;
    let opening = format!(
        "{benchmark}: {} in {} compared with themselves at confidence level {}, differences to be found with probability {}, \
         seed {seed}",
        counted(*values as u64, "value"),
        counted(*units as u64, "unit"),
        percent(confidence.get()),
        percent(*power),
    );
    let notes: Vec<String> =
        answer.caveats.iter().map(|note| format!("{}: {}", note.code, note.sentence)).collect();
    format!("{opening}\n\n{}\n\n{}", of_sheet(&sheet(answer), paint), notes.join("\n"))
}
