//! Effect sizes: a row for each benchmark.

use speedup_analysis::inquiry::EffectFinding;
use speedup_statistics::inference::ThresholdDecision;

use super::{Render, codes, interval_cells, lower, reason, upper};
use crate::document::Tone;
use crate::facts::{Sheet, SheetCell, hidden, number, words};

impl Render for Vec<EffectFinding> {
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
        Sheet { headings, rows: self.iter().map(|one| row(one, drawn)).collect() }
    }
}

/// A benchmark; `drawn` says whether the rows have the columns of the bootstrap.
fn row(one: &EffectFinding, drawn: bool) -> Vec<SheetCell> {
    let mut row = vec![
        decision(one.decision),
        SheetCell::text(&one.candidate),
        SheetCell::text(&one.benchmark),
        SheetCell::speedup(Some(one.speedup), one.interval.ends()),
    ];
    row.extend(interval_cells(&one.interval));
    row.extend([
        SheetCell::speedup(Some(one.time_ratio), one.time_ratio_interval.ends()),
        lower(&one.time_ratio_interval),
        upper(&one.time_ratio_interval),
    ]);
    for levels in [&one.baseline_levels, &one.candidate_levels] {
        row.push(SheetCell::List(levels.levels.iter().map(|level| level.unbiased).collect(), 3));
    }
    match &one.bootstrap {
        Some(bootstrap) => {
            row.push(decision(bootstrap.decision));
            row.push(SheetCell::speedup(bootstrap.speedup, bootstrap.interval.ends()));
            row.extend(interval_cells(&bootstrap.interval));
        }
        None if drawn => row.extend([const { SheetCell::Absent }; 6]),
        None => {}
    }
    row.extend([reason(one.reason.as_ref()), codes(&one.caveats())]);
    row
}

fn decision(decision: ThresholdDecision) -> SheetCell {
    match decision {
        ThresholdDecision::Faster => SheetCell::Verdict("faster", Tone::Better),
        ThresholdDecision::Slower => SheetCell::Verdict("slower", Tone::Worse),
        ThresholdDecision::WithinThreshold => SheetCell::text("within the threshold"),
        ThresholdDecision::NotEnoughData => SheetCell::text("not enough data"),
    }
}
