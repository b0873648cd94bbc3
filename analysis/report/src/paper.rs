//! The Speedup-Test on the benchmarks of a configuration, in the forms of the paper's program and in ours.
//!
//! The four files of the program of Touati 2010 §6:
//! * [`results`]: one line a benchmark, as the original writes;
//! * [`report`]: overall gains and speedups, proportions, and the benchmarks one by one;
//! * [`warnings`]: what accompanies the tests, benchmark by benchmark;
//! * [`ended`] and [`failed`]: whether the analysis ended.
//!
//! For programs, with all digits: [`json`], and [`sheet`], which is rows.

mod json;
mod page;
mod results;
mod rows;
mod warning;

pub use self::{json::json, page::report, results::results, rows::sheet};

use std::{fmt::Display, fmt::Write as _, time::Duration};

use speedup_analysis::inquiry::configured::{BenchmarkAnswer, ConfiguredAnswer};
use speedup_analysis::{conclusion::Warning, count::counted};

/// The warnings file.
pub fn warnings(answer: &ConfiguredAnswer) -> String {
    let mut text = format!("Warnings of the analysis of {}\n", answer.configuration);
    let mut section = |name: &str, warnings: Vec<Warning>| {
        if !warnings.is_empty() {
            let _ = write!(text, "\n{name}:\n");
        }
        for warning in warnings {
            let _ = writeln!(text, "  {}", warning.sentence);
        }
    };
    section("Configuration", answer.warnings.iter().map(warning::of_configuration).collect());
    for benchmark in &answer.benchmarks {
        section(&benchmark.name, benchmark.warnings.iter().map(warning::of_benchmark).collect());
    }
    let _ = write!(text, "\n{}.\n", counted(answer.count_warnings(), "warning"));
    text
}

/// Why a benchmark was passed over, if it was.
pub fn passed_over(benchmark: &BenchmarkAnswer) -> Option<String> {
    let causes = || benchmark.warnings.iter().map(|one| warning::of_benchmark(one).sentence);
    benchmark.tested().is_none().then(|| causes().collect::<Vec<_>>().join(" "))
}

/// The status file of an analysis that ended.
pub fn ended(configuration: &str, elapsed: Duration) -> String {
    format!("The analysis of {configuration} ended.\nElapsed time: {:.3} s\n", elapsed.as_secs_f64())
}

/// The status file of an analysis that was refused or failed.
pub fn failed(configuration: &str, error: impl Display) -> String {
    format!(
        "The analysis of {configuration} failed.\nerror: {error:#}\n\
         The files beside this one, if there are any, are of an earlier analysis.\n"
    )
}
