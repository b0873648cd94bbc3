//! Looks at growing data: at each, a two-sided test of the declared centre of every benchmark at the risk that the spending
//! function gives the look; a benchmark whose candidates are all concluded gets no further runs.

use super::{Finding, LookReport, RuleRow, pilot, units};
use super::{look::InterimSample, look::InterimTest, units::Comparison};
use crate::count::{counted, p_value, percent};
use crate::study::{Study, two_sample::headline::trim_share};
use crate::{conclusion::Verdict, count};
use speedup_core::experiment::{Center, Experiment, Order, Rule, Spending};
use speedup_statistics::distribution::normal;
use speedup_statistics::inference::ConfidenceLevel;
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
    let design = design(looks, spending, level).ok();
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

/// The row of a comparison after look `number`.
fn look(
    study: &Study,
    comparison: &Comparison<'_>,
    design: Option<&GroupSequential>,
    number: u32,
    planned: &[u32],
) -> RuleRow {
    let index = number as usize - 1;
    let looks = design.map_or(0, |design| design.looks().len()) as u32;
    let scheduled = design.and_then(|design| design.looks().get(index));
    let mut row = RuleRow::of(comparison, study, planned);
    let mut report = LookReport {
        number,
        of: looks,
        p: None,
        nominal_risk: scheduled.map_or(0.0, |look| look.nominal_risk.get()),
        concluded: false,
        unbiased: None,
    };
    if let Some(sample) = InterimSample::new(study, comparison) {
        row.observations = sample.counts();
        row.saved_ns = Some(sample.saved());
        row.speedup = Some(sample.speedup()).filter(|speedup| speedup.is_finite());
        if let (Some(design), Some(scheduled)) = (design, scheduled)
            && let Some(test) = sample.test(scheduled)
        {
            let is_apart = design.decide(index, test.p) == Ok(LookDecision::Stop);
            let is_same = is_within(sample.shown_margin(), test.speedup_interval);
            report.p = Some(test.p.get());
            report.concluded = is_apart || is_same;
            // A comparison that goes on has no estimate yet.
            if report.concluded || number == looks {
                report.unbiased = unbiased_speedup(study, design, index, &sample, &test);
            }
            row.verdict = match row.speedup {
                Some(_) if is_same => Verdict::Same,
                Some(speedup) if is_apart && speedup > 1.0 => Verdict::Faster,
                Some(_) if is_apart => Verdict::Slower,
                Some(_) | None if number == looks => Verdict::Undecided,
                Some(_) | None => Verdict::NotEnoughData,
            };
            row.interval_ns = test.interval.map(|interval| [interval.lower, interval.upper]);
            row.speedup_interval = test.speedup_interval;
            row.test = Some(test.method.to_owned());
        }
    }
    row.look = Some(report);
    row.sentence = in_words(comparison, report, row.saved_ns);
    row
}

/// Whether the interval of a speedup lies within the margin on both sides of 1.
fn is_within(margin: Option<f64>, interval: Option<[f64; 2]>) -> bool {
    let (Some(margin), Some([lower, upper])) = (margin, interval) else { return false };
    margin > 0.0 && lower >= 1.0 / (1.0 + margin) && upper <= 1.0 + margin
}

/// The median-unbiased estimate of the speedup after look `index`, the last one: on the log scale, where the statistic is what a
/// normal one with the look's p-value would be (Jennison and Turnbull 2000, §3.3). Where very few runs make that a poor
/// description, it may leave the repeated interval and is not told. Nor is it where other ends than the boundaries were
/// possible: with several candidates a comparison goes on after it was concluded, with a margin it may end as the same.
fn unbiased_speedup(
    study: &Study,
    design: &GroupSequential,
    index: usize,
    sample: &InterimSample,
    test: &InterimTest,
) -> Option<f64> {
    let experiment = &study.plan.experiment;
    if experiment.compared().len() > 2 || experiment.analysis.margin.is_some() {
        return None;
    }
    let last = design.looks().get(index)?;
    let observations = sample.counts().into_iter().min()? as f64;
    let could_stop = |look: &Look| {
        let then = (observations * look.fraction / last.fraction).round();
        may_stop(experiment, look, then as u64)
    };
    let z = normal::two_sided_critical(test.p.told()).max(LEAST_STATISTIC);
    let drift = design.median_unbiased_drift(index, z, could_stop).ok()?;
    let speedup = (sample.speedup().ln() * drift * last.fraction.sqrt() / z).exp();
    let [lower, upper] = test.speedup_interval?;
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
