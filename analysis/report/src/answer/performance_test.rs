//! The hierarchical performance test: a row for each benchmark.

use speedup_analysis::{conclusion::Verdict, inquiry::PerformanceFinding, inquiry::Preference};
use speedup_statistics::protocol::hierarchical_performance_test::{ReliableSpeedup, Winner};

use super::{Told, codes, reason, verdict};
use crate::facts::{Sheet, SheetCell, hidden, level, number, words};

impl Told for Vec<PerformanceFinding> {
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
            let of_all = || {
                [
                    verdict(finding.verdict),
                    SheetCell::of(finding.confidence),
                    SheetCell::of(finding.p_value),
                    finding.signed_rank.map_or(SheetCell::Absent, SheetCell::text),
                    SheetCell::Number(finding.speedup_under_test),
                    SheetCell::of(reliable(finding)),
                    SheetCell::of(finding.geometric_mean_speedup),
                    reason(finding.reason.as_ref()),
                    codes(&finding.caveats),
                ]
            };
            for one in &finding.benchmarks {
                let is_plain = finding.speedup_under_test == 1.0;
                // Whoever is not more than γ times faster may still be faster.
                let said = match one.verdict.winner {
                    Winner::Baseline if is_plain => "slower",
                    Winner::Baseline => "below γ",
                    Winner::Tie => "no difference shown",
                    Winner::Candidate if is_plain => "faster",
                    Winner::Candidate => "above γ",
                };
                let mut row = vec![
                    SheetCell::text(said),
                    SheetCell::text(&finding.candidate),
                    SheetCell::text(&one.benchmark),
                ];
                let own = &one.verdict;
                row.extend(
                    [own.candidate_median, own.baseline_median, own.difference, own.rank]
                        .map(SheetCell::Number),
                );
                row.extend(of_all());
                rows.push(row);
            }
            if finding.benchmarks.is_empty() {
                let mut row = vec![verdict(finding.verdict), SheetCell::text(&finding.candidate)];
                row.extend(std::iter::repeat_n(SheetCell::Absent, 5));
                row.extend(of_all());
                rows.push(row);
            }
        }
        Sheet { headings, rows }
    }

    fn sentences(&self, _better: Preference) -> Vec<String> {
        self.iter().map(sentence).collect()
    }
}

/// The r-Speedup, if there is a finite one above 1.
fn reliable(finding: &PerformanceFinding) -> Option<f64> {
    match finding.reliable_speedup? {
        ReliableSpeedup::Supremum { speedup, .. } => Some(speedup),
        ReliableSpeedup::NotFaster | ReliableSpeedup::Unbounded => None,
    }
}

fn sentence(finding: &PerformanceFinding) -> String {
    let under_test = finding.speedup_under_test;
    let what = if under_test == 1.0 {
        finding.verdict.words().to_owned()
    } else if finding.verdict == Verdict::Faster {
        format!("more than {under_test}× faster")
    } else {
        format!("not shown to be more than {under_test}× faster")
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
    format!("{}: {what}{confidence}{reliable}{geometric}.", finding.candidate)
}
