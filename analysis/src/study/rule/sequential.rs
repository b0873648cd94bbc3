//! Looks at growing data: at each, a two-sided t test of every benchmark at the risk that the spending function gives the
//! look; a benchmark whose candidates are all concluded gets no further runs.

use super::look::{Looked, Seen};
use super::units::{self, Comparison};
use super::{Finding, LookReport, RuleRow, pilot};
use crate::count::{counted, p_value, percent};
use crate::study::Study;
use crate::study::verdict::Verdict;
use speedup_core::experiment::Spending;
use speedup_statistics::inference::{ConfidenceLevel, PValue};
use speedup_statistics::planning::group_sequential::{
    self, GroupSequential, LookDecision, LooksError, Sides, equal_fractions,
};

/// What the looks say.
pub(super) fn find(study: &Study, level: ConfidenceLevel, looks: u32, spending: Spending) -> Finding {
    let plan = &study.plan;
    let (planned, step) = (units::planned(study), plan.experiment.runs);
    let law = match spending {
        Spending::ObrienFleming => group_sequential::SpendingFunction::OBrienFlemingLike,
        Spending::Pocock => group_sequential::SpendingFunction::PocockLike,
    };
    let design = GroupSequential::spending(&equal_fractions(looks as usize), Sides::Both, level, law);
    let mut visits = vec![0; plan.benchmarks.len()];
    let mut rows = Vec::new();
    for comparison in units::comparisons(study) {
        let runs = comparison.planned(&planned);
        let number = (runs / step.max(1)).clamp(1, looks.max(1));
        let row = look(study, &comparison, design.as_ref(), number, &planned);
        let is_open = row.look.is_some_and(|look| !look.concluded);
        if is_open && number < looks {
            visits[comparison.place] = step;
        }
        rows.push(row);
    }
    let concluded = rows.iter().filter(|row| row.look.is_some_and(|look| look.concluded)).count() as u64;
    let latest = rows.iter().filter_map(|row| Some(row.look?.number)).max().unwrap_or(1);
    let words = format!(
        "Look {latest} of {looks}: {} of {} concluded. The risk of {} over all looks is of each comparison by itself, not of \
         all together; a benchmark with all its candidates concluded gets no further runs, another {} of each version.",
        concluded,
        counted(rows.len() as u64, "comparison"),
        percent(level.risk().get()),
        counted(step.into(), "run"),
    );
    Finding { rows, visits, shape: plan.visit(), words }
}

fn look(
    study: &Study,
    comparison: &Comparison<'_>,
    design: Result<&GroupSequential, &LooksError>,
    number: u32,
    planned: &[u32],
) -> RuleRow {
    let looked = Looked::new(study, comparison);
    let looks = design.map_or(0, |design| design.looks().len()) as u32;
    let at = design.ok().and_then(|design| Some((design, design.looks().get(number as usize - 1)?)));
    let seen = at.and_then(|(_, look)| looked.as_ref()?.see(look));
    let p = seen.as_ref().map(|seen| seen.p);
    let stops = at
        .zip(p)
        .is_some_and(|((design, _), p)| design.decide(number as usize - 1, p) == Ok(LookDecision::Stop));
    let look = LookReport {
        number,
        of: looks,
        p: p.map(PValue::get),
        nominal_risk: at.map_or(0.0, |(_, look)| look.nominal_risk.get()),
        concluded: stops,
    };
    let saved = looked.as_ref().map(Looked::saved);
    let verdict = match (stops, saved) {
        (true, Some(saved)) if saved > 0.0 => Verdict::Faster,
        (true, Some(_)) => Verdict::Slower,
        (_, _) if p.is_some() && number == looks => Verdict::Undecided,
        (_, _) => Verdict::NotEnoughData,
    };
    RuleRow {
        benchmark: comparison.benchmark.to_owned(),
        candidate: comparison.candidate.to_owned(),
        observations: looked.as_ref().map_or([0; 2], Looked::counts),
        missing: comparison.missing(study, planned),
        required: None,
        further: 0,
        saved_ns: saved,
        interval_ns: seen
            .as_ref()
            .and_then(|seen| seen.interval.as_ref())
            .map(|interval| [interval.lower, interval.upper]),
        speedup: looked.as_ref().map(Looked::speedup).filter(|speedup| speedup.is_finite()),
        speedup_interval: seen.as_ref().and_then(|seen| seen.speedup_interval),
        test: seen.map(|Seen { method, .. }| method.to_owned()),
        half_width_ns: None,
        look: Some(look),
        verdict,
        sentence: in_words(comparison, look, saved),
    }
}

fn in_words(comparison: &Comparison<'_>, look: LookReport, saved: Option<f64>) -> String {
    let LookReport { number, of, p, nominal_risk, concluded } = look;
    let about = format!("{}, {}: look {number} of {of}", comparison.benchmark, comparison.candidate);
    let (Some(p), Some(saved)) = (p, saved) else {
        return format!(
            "{about}: no test, because the measured runs of a version are fewer than two or do not vary."
        );
    };
    let tested = format!("p {} against {}", p_value(p), p_value(nominal_risk));
    let then = match (concluded, number == of) {
        (true, _) => "concluded",
        (false, true) => "not concluded, and this was the last look",
        (false, false) => "not concluded yet",
    };
    format!("{about}: {then} ({tested}), {} saved.", pilot::milliseconds(saved))
}
