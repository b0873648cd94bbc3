//! The hierarchical performance test: a row for each benchmark.

use speedup_analysis::{conclusion::Verdict, inquiry::PerformanceFinding, inquiry::Preference};
use speedup_statistics::protocol::hierarchical_performance_test::{ReliableSpeedup, Winner};

use super::{Render, VerdictLine, codes, reason};
use crate::document::Tone;
use crate::facts::{Sheet, SheetCell, hidden, level, number, words};

impl Render for Vec<PerformanceFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            number("candidate_median", "candidate's score"),
            number("baseline_median", "baseline's score"),
            number("difference", "difference"),
            number("rank", "rank"),
            hidden("suite_verdict"),
            hidden("confidence"),
            hidden("p_value"),
            hidden("test"),
            hidden("speedup_under_test"),
            hidden("reliable_speedup"),
            hidden("geometric_mean_speedup"),
            words("reason", "reason"),
            hidden("caveats"),
        ];
        let mut rows = Vec::new();
        for finding in self {
            // What was found over all benchmarks stands in each row, so that any row can be read by itself.
            let of_all_benchmarks = [
                finding.verdict.into(),
                SheetCell::optional(finding.confidence),
                SheetCell::optional(finding.p_value),
                finding.signed_rank.map_or(SheetCell::Absent, SheetCell::text),
                SheetCell::Number(finding.speedup_under_test),
                SheetCell::optional(reliable(finding)),
                SheetCell::optional(finding.geometric_mean_speedup),
                reason(finding.reason.as_ref()),
                codes(&finding.caveats),
            ];
            for one in &finding.benchmarks {
                let own = &one.verdict;
                let mut row = vec![
                    winner(own.winner, finding.speedup_under_test),
                    SheetCell::text(&finding.candidate),
                    SheetCell::text(&one.benchmark),
                    SheetCell::Number(own.candidate_median),
                    SheetCell::Number(own.baseline_median),
                    SheetCell::Number(own.difference),
                    SheetCell::Number(own.rank),
                ];
                row.extend(of_all_benchmarks.clone());
                rows.push(row);
            }
            // Without benchmarks there is still a verdict, with its reason.
            if finding.benchmarks.is_empty() {
                let mut row = vec![finding.verdict.into(), SheetCell::text(&finding.candidate)];
                row.extend([const { SheetCell::Absent }; 5]);
                row.extend(of_all_benchmarks);
                rows.push(row);
            }
        }
        Sheet { headings, rows }
    }

    fn verdict(&self, _better: Preference) -> Vec<VerdictLine> {
        self.iter().map(verdict_line).collect()
    }
}

/// The verdict on a benchmark. Whoever is not more than γ times faster may still be faster.
fn winner(winner: Winner, speedup_under_test: f64) -> SheetCell {
    let is_plain = speedup_under_test == 1.0;
    match winner {
        Winner::Baseline if is_plain => Verdict::Slower.into(),
        Winner::Baseline => SheetCell::text("below γ"),
        Winner::Tie => SheetCell::text("no difference shown"),
        Winner::Candidate if is_plain => Verdict::Faster.into(),
        Winner::Candidate => SheetCell::text("above γ"),
    }
}

/// The r-Speedup, if there is a finite one above 1.
fn reliable(finding: &PerformanceFinding) -> Option<f64> {
    match finding.reliable_speedup? {
        ReliableSpeedup::Supremum { speedup, .. } => Some(speedup),
        ReliableSpeedup::NotFaster | ReliableSpeedup::Unbounded => None,
    }
}

fn verdict_line(finding: &PerformanceFinding) -> VerdictLine {
    let under_test = finding.speedup_under_test;
    let (what, tone) = if under_test == 1.0 {
        (finding.verdict.words().to_owned(), finding.verdict.into())
    } else if finding.verdict == Verdict::Faster {
        (format!("more than {under_test}× faster"), Tone::Better)
    } else {
        (format!("not shown to be more than {under_test}× faster"), Tone::Plain)
    };
    let confidence =
        finding.confidence.map_or_else(String::new, |share| format!(", confidence {}", level(share)));
    let geometric = finding.geometric_mean_speedup.map_or_else(String::new, |speedup| {
        format!("; the geometric mean, which has no confidence, is {speedup:.4}")
    });
    let reliable = match finding.reliable_speedup {
        Some(ReliableSpeedup::Supremum { speedup, .. }) => {
            format!("; r-Speedup at the level {speedup:.4}")
        }
        Some(ReliableSpeedup::NotFaster) => "; no speedup is confirmed at the level".to_owned(),
        Some(ReliableSpeedup::Unbounded) => "; any speedup is confirmed at so low a level".to_owned(),
        None => String::new(),
    };
    let text = format!("{}: {what}{confidence}{reliable}{geometric}.", finding.candidate);
    VerdictLine::toned(text, tone)
}
