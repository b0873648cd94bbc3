//! Looks at growing data: at each, a two-sided t test of every benchmark at the risk that the spending function gives the
//! look; a benchmark whose candidates are all concluded gets no further runs.

use super::units::{self, Comparison, Units};
use super::{Finding, LookReport, RuleRow, pilot};
use crate::group_sequential::{Decision, GroupSequential, Look, LooksError, Sides, equal_fractions};
use crate::study::Study;
use crate::study::count::{counted, p_value, percent};
use crate::study::verdict::Verdict;
use crate::{
    Alternative, ConfidenceLevel, Interval, OneSampleTTest, PValue, TTestError, WelchTTest, group_sequential,
};
use speedup_core::experiment::Spending;

/// What one look at one comparison says.
struct Seen {
    p: PValue,
    /// At the look's nominal risk: all looks together keep the plan's level (Jennison and Turnbull 2000, §9.1).
    interval: Option<Interval>,
}

/// What the looks say.
pub(super) fn find(study: &Study, level: ConfidenceLevel, looks: u32, spending: Spending) -> Finding {
    let plan = &study.plan;
    let (planned, step) = (units::planned(study), plan.experiment.runs);
    let law = match spending {
        Spending::ObrienFleming => group_sequential::Spending::OBrienFlemingLike,
        Spending::Pocock => group_sequential::Spending::PocockLike,
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
    let units = comparison.units(study, study.plan.runs());
    let looks = design.map_or(0, |design| design.looks().len()) as u32;
    let at = design.ok().and_then(|design| Some((design, design.looks().get(number as usize - 1)?)));
    let seen = at.and_then(|(_, look)| see(units.as_ref()?, look).ok());
    let p = seen.as_ref().map(|seen| seen.p);
    let stops =
        at.zip(p).is_some_and(|((design, _), p)| design.decide(number as usize - 1, p) == Ok(Decision::Stop));
    let look = LookReport {
        number,
        of: looks,
        p: p.map(PValue::get),
        nominal_risk: at.map_or(0.0, |(_, look)| look.nominal_risk.get()),
        concluded: stops,
    };
    let saved = units.as_ref().map(Units::saved);
    let verdict = match (stops, saved) {
        (true, Some(saved)) if saved > 0.0 => Verdict::Faster,
        (true, Some(_)) => Verdict::Slower,
        (_, _) if p.is_some() && number == looks => Verdict::NoDifferenceShown,
        (_, _) => Verdict::NotEnoughData,
    };
    RuleRow {
        benchmark: comparison.benchmark.to_owned(),
        candidate: comparison.candidate.to_owned(),
        observations: units.as_ref().map_or([0; 2], Units::counts),
        missing: comparison.missing(study, planned),
        required: None,
        further: 0,
        saved_ns: saved,
        interval_ns: seen.and_then(|seen| seen.interval).map(|interval| [interval.lower, interval.upper]),
        half_width_ns: None,
        look: Some(look),
        verdict,
        sentence: in_words(comparison, look, saved),
    }
}

fn see(units: &Units, look: &Look) -> Result<Seen, TTestError> {
    let level = ConfidenceLevel::new(1.0 - look.nominal_risk.get()).ok();
    let (p, interval) = match units {
        Units::Apart([baseline, candidate]) => {
            let test = WelchTTest::new(baseline, candidate)?;
            let interval = level.map(|level| test.interval(Alternative::TwoSided, level));
            (test.p_value(Alternative::TwoSided), interval)
        }
        Units::Paired { differences, .. } => {
            let test = OneSampleTTest::new(differences, 0.0)?;
            let interval = level.map(|level| test.interval(Alternative::TwoSided, level));
            (test.p_value(Alternative::TwoSided), interval)
        }
    };
    Ok(Seen { p, interval })
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
