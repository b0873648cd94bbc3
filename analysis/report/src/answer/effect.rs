//! Effect sizes: a row for each benchmark.

use speedup_analysis::inquiry::EffectFinding;
use speedup_statistics::inference::ThresholdDecision;

use super::{Told, achieved, codes, lower, method, reason, upper};
use crate::facts::{Sheet, SheetCell, hidden, number, words};

impl Told for Vec<EffectFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let drawn = self.iter().any(|one| one.bootstrap.is_some());
        let mut headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            number("speedup", "speedup"),
            hidden("lower"),
            hidden("upper"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            number("time_ratio", "time ratio"),
            hidden("time_ratio_lower"),
            hidden("time_ratio_upper"),
            words("baseline_t2", "T² of the baseline"),
            words("candidate_t2", "T² of the candidate"),
        ];
        if drawn {
            headings.extend([
                words("bootstrap_verdict", "by bootstrap"),
                number("bootstrap_speedup", "speedup"),
                hidden("bootstrap_lower"),
                hidden("bootstrap_upper"),
                hidden("bootstrap_confidence"),
                hidden("bootstrap_method"),
            ]);
        }
        headings.extend([words("reason", "reason"), hidden("caveats")]);
        let row = |one: &EffectFinding| {
            let mut row = vec![
                SheetCell::text(decision(one.decision)),
                SheetCell::text(&one.candidate),
                SheetCell::text(&one.benchmark),
                SheetCell::speedup(Some(one.speedup), one.interval.ends()),
                lower(&one.interval),
                upper(&one.interval),
                achieved(&one.interval),
                method(&one.interval),
                SheetCell::speedup(Some(one.time_ratio), one.time_ratio_interval.ends()),
                lower(&one.time_ratio_interval),
                upper(&one.time_ratio_interval),
            ];
            for levels in [&one.baseline_levels, &one.candidate_levels] {
                row.push(SheetCell::List(levels.levels.iter().map(|level| level.unbiased).collect(), 3));
            }
            if drawn {
                row.extend(match &one.bootstrap {
                    Some(bootstrap) => [
                        SheetCell::text(decision(bootstrap.decision)),
                        SheetCell::speedup(bootstrap.speedup, bootstrap.interval.ends()),
                        lower(&bootstrap.interval),
                        upper(&bootstrap.interval),
                        achieved(&bootstrap.interval),
                        method(&bootstrap.interval),
                    ],
                    None => [const { SheetCell::Absent }; 6],
                });
            }
            row.extend([reason(one.reason.as_ref()), codes(&one.caveats())]);
            row
        };
        Sheet { headings, rows: self.iter().map(row).collect() }
    }
}

/// A decision in words.
fn decision(decision: ThresholdDecision) -> &'static str {
    match decision {
        ThresholdDecision::Faster => "faster",
        ThresholdDecision::Slower => "slower",
        ThresholdDecision::WithinThreshold => "within the threshold",
        ThresholdDecision::NotEnoughData => "not enough data",
    }
}
