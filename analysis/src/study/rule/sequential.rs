//! Looks at growing data: at each, a two-sided test of the declared centre of every benchmark at the risk that the spending
//! function gives the look; a benchmark whose candidates are all concluded gets no further runs.

use super::{Finding, LookReport, RuleRow, pilot, units};
use super::{look::Looked, look::Seen, units::Comparison};
use crate::count::{counted, p_value, percent};
use crate::study::{Study, two_sample::headline::trim_share};
use crate::{conclusion::Verdict, count};
use speedup_core::experiment::{Center, Experiment, Order, Rule, Spending};
use speedup_statistics::distribution::normal;
use speedup_statistics::inference::{ConfidenceLevel, PValue};
use speedup_statistics::planning::group_sequential::{
    self, GroupSequential, Look, LookDecision, LooksError, Sides, equal_fractions,
};
use speedup_statistics::{ratio::TrimmedRatio, sample::SampleQuantile};

/// Below it the ratio of the unbiased statistic to the observed one is what it is here.
const LEAST_STATISTIC: f64 = 1e-3;

/// The first look of an experiment at which anything could be concluded, from 1; none where its rule has no looks, or none of
/// them could. At the small risk of an early one the order statistics of a median may be too few.
pub fn first_decisive_look(experiment: &Experiment) -> Option<u32> {
    let Rule::Sequential { looks, spending, maximum: _ } = experiment.rule else { return None };
    let level = ConfidenceLevel::new(experiment.analysis.confidence).ok()?;
    let design = design(looks, spending, level).ok()?;
    let is_decisive = |(number, look): (u32, &Look)| {
        let units = u64::from(number) * experiment.units_of_a_cell();
        may_stop(experiment, look, units).then_some(number)
    };
    (1..).zip(design.looks()).find_map(is_decisive)
}

/// Whether so many observations of each version could be enough for a look to conclude.
fn may_stop(experiment: &Experiment, look: &Look, observations: u64) -> bool {
    let level = ConfidenceLevel::new(1.0 - look.nominal_risk.get());
    let Ok(level) = level else { return false };
    let trim = trim_share(experiment.analysis.trim);
    let needed = match experiment.center() {
        Center::Mean => return look.nominal_risk.get() > 0.0,
        Center::Median => Some(SampleQuantile::runs_needed(0.5, level)),
        Center::Trimmed if experiment.order == Order::Blocked => TrimmedRatio::pairs_needed(level, trim),
        Center::Trimmed => TrimmedRatio::runs_needed(level, trim),
    };
    needed.is_some_and(|needed| needed <= observations)
}

fn design(looks: u32, spending: Spending, level: ConfidenceLevel) -> Result<GroupSequential, LooksError> {
    let law = match spending {
        Spending::ObrienFleming => group_sequential::SpendingFunction::OBrienFlemingLike,
        Spending::Pocock => group_sequential::SpendingFunction::PocockLike,
    };
    GroupSequential::spending(&equal_fractions(looks as usize), Sides::Both, level, law)
}

/// What the looks say.
pub(super) fn find(study: &Study, level: ConfidenceLevel, looks: u32, spending: Spending) -> Finding {
    let plan = &study.plan;
    let (planned, step) = (units::planned(study), plan.experiment.runs);
    let design = design(looks, spending, level);
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
    let mut words = format!(
        "Look {latest} of {looks}: {concluded} of {} concluded. The risk of {} over all looks is of each comparison by itself, \
         not of all together.",
        counted(rows.len() as u64, "comparison"),
        percent(level.risk().get()),
    );
    if visits.iter().any(|visits| *visits > 0) {
        words += &format!(
            " A benchmark with all its candidates concluded gets no further runs, any other {} more of each version.",
            counted(step.into(), "run")
        );
    }
    if plan.experiment.center() == Center::Mean {
        words += " The looks are at means, which rare long runs move.";
    }
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
    let index = number as usize - 1;
    let at = design.ok().and_then(|design| Some((design, design.looks().get(index)?)));
    let seen = at.and_then(|(_, look)| looked.as_ref()?.see(look));
    let p = seen.as_ref().map(|seen| seen.p);
    let is_apart =
        at.zip(p).is_some_and(|((design, _), p)| design.decide(index, p) == Ok(LookDecision::Stop));
    let margin = looked.as_ref().and_then(Looked::shown_margin);
    let is_same = margin.is_some_and(|margin| {
        let interval = seen.as_ref().and_then(|seen| seen.speedup_interval);
        interval.is_some_and(|[lower, upper]| {
            margin > 0.0 && lower >= 1.0 / (1.0 + margin) && upper <= 1.0 + margin
        })
    });
    let speedup = looked.as_ref().map(Looked::speedup).filter(|speedup| speedup.is_finite());
    let is_over = is_apart || is_same || number == looks;
    let unbiased = design.ok().zip(looked.as_ref()).zip(seen.as_ref()).filter(|_| is_over);
    let unbiased =
        unbiased.and_then(|((design, looked), seen)| unbiased_speedup(study, design, index, looked, seen));
    let look = LookReport {
        number,
        of: looks,
        p: p.map(PValue::get),
        nominal_risk: at.map_or(0.0, |(_, look)| look.nominal_risk.get()),
        concluded: is_apart || is_same,
        unbiased,
    };
    let saved = looked.as_ref().map(Looked::saved);
    let verdict = match speedup {
        Some(_) if is_same => Verdict::Same,
        Some(speedup) if is_apart && speedup > 1.0 => Verdict::Faster,
        Some(_) if is_apart => Verdict::Slower,
        _ if p.is_some() && number == looks => Verdict::Undecided,
        _ => Verdict::NotEnoughData,
    };
    RuleRow {
        observations: looked.as_ref().map_or([0; 2], Looked::counts),
        saved_ns: saved,
        interval_ns: seen
            .as_ref()
            .and_then(|seen| seen.interval.as_ref())
            .map(|interval| [interval.lower, interval.upper]),
        speedup,
        speedup_interval: seen.as_ref().and_then(|seen| seen.speedup_interval),
        test: seen.map(|Seen { method, .. }| method.to_owned()),
        look: Some(look),
        verdict,
        sentence: in_words(comparison, look, saved),
        ..RuleRow::of(comparison, study, planned)
    }
}

/// The median-unbiased estimate of the speedup after look `index`, the last one: on the log scale, where the statistic is what a
/// normal one with the look's p-value would be (Jennison and Turnbull 2000, §3.3). Where very few runs make that a poor
/// description, it may leave the repeated interval and is not told. Nor is it where other ends than the boundaries were
/// possible: with several candidates a comparison goes on after it was concluded, with a margin it may end as the same.
fn unbiased_speedup(
    study: &Study,
    design: &GroupSequential,
    index: usize,
    looked: &Looked,
    seen: &Seen,
) -> Option<f64> {
    let experiment = &study.plan.experiment;
    if experiment.compared().len() > 2 || experiment.analysis.margin.is_some() {
        return None;
    }
    let last = design.looks().get(index)?;
    let observations = looked.counts().into_iter().min()? as f64;
    let could_stop = |look: &Look| {
        let then = (observations * look.fraction / last.fraction).round();
        may_stop(experiment, look, then as u64)
    };
    let z = normal::two_sided_critical(seen.p.told()).max(LEAST_STATISTIC);
    let drift = design.median_unbiased_drift(index, z, could_stop).ok()?;
    let speedup = (looked.speedup().ln() * drift * last.fraction.sqrt() / z).exp();
    let [lower, upper] = seen.speedup_interval?;
    (lower..=upper).contains(&speedup).then_some(speedup)
}

fn in_words(comparison: &Comparison<'_>, look: LookReport, saved: Option<f64>) -> String {
    let LookReport { number, of, p, nominal_risk, concluded, unbiased } = look;
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
    let unbiased = unbiased.map_or(String::new(), |speedup| {
        format!(
            " The median-unbiased speedup, which allows for the looks, is {}.",
            count::ratio(speedup, None)
        )
    });
    format!("{about}: {then} ({tested}), {}.{unbiased}", pilot::saved_in_words(saved))
}
