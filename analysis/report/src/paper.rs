//! The Speedup-Test on the benchmarks of a configuration, in the forms of the paper's program and in ours.
//!
//! The four files of the program of Touati 2010 §6:
//! * [`results`]: one line a benchmark, as the original writes;
//! * [`report`]: overall gains and speedups, proportions, and the benchmarks one by one;
//! * [`warnings`]: what accompanies the tests, benchmark by benchmark;
//! * [`ended`] and [`failed`]: whether the analysis ended.
//!
//! For programs, with all digits: [`sheet`], which is rows. The answer itself serialises to JSON.

mod page;
mod results;
mod rows;

pub use self::{page::report, results::results, rows::sheet};

use std::{fmt::Display, fmt::Write as _, time::Duration};

use speedup_analysis::inquiry::configured::{BenchmarkAnswer, ConfiguredAnswer};
use speedup_analysis::{conclusion::Warning, count::counted};

/// The warnings file.
pub fn warnings(answer: &ConfiguredAnswer) -> String {
    let mut text = format!("Warnings of the analysis of {}\n", answer.configuration);
    push_section(&mut text, "Configuration", &answer.warnings);
    for benchmark in &answer.benchmarks {
        push_section(&mut text, &benchmark.name, &benchmark.warnings);
    }
    let _ = write!(text, "\n{}.\n", counted(answer.count_warnings(), "warning"));
    text
}

fn push_section(text: &mut String, name: &str, warnings: &[Warning]) {
    if warnings.is_empty() {
        return;
    }
    let _ = write!(text, "\n{name}:\n");
    for warning in warnings {
        let _ = writeln!(text, "  {}", warning.sentence);
    }
}

/// Why a benchmark was passed over, if it was.
pub fn passed_over(benchmark: &BenchmarkAnswer) -> Option<String> {
    if benchmark.tested().is_some() {
        return None;
    }
    let causes: Vec<&str> = benchmark.warnings.iter().map(|warning| warning.sentence.as_str()).collect();
    Some(causes.join(" "))
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
