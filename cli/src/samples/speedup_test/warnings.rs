//! The warnings file: what accompanies the tests, benchmark by benchmark.

use std::fmt::Write as _;

use super::answer::Answer;
use super::warning::Warning;
use crate::console::render;

/// The file as text.
pub(crate) fn text(answer: &Answer) -> String {
    let mut text = format!("Warnings of the analysis of {}\n", answer.configuration);
    let mut section = |name: &str, warnings: &[Warning]| {
        if !warnings.is_empty() {
            let _ = write!(text, "\n{name}:\n");
        }
        for warning in warnings {
            let _ = writeln!(text, "  {}", warning.sentence());
        }
    };
    section("Configuration", &answer.warnings);
    for benchmark in &answer.benchmarks {
        section(&benchmark.name, &benchmark.warnings);
    }
    let _ = write!(text, "\n{}.\n", render::counted(count(answer), "warning"));
    text
}

/// All warnings.
pub(crate) fn count(answer: &Answer) -> u64 {
    let of_benchmarks = answer.benchmarks.iter().map(|benchmark| benchmark.warnings.len());
    (answer.warnings.len() + of_benchmarks.sum::<usize>()) as u64
}
