//! How often, in which order, on which hosts, and up to which bounds.

use super::super::problem::{Fault, KeyPath, Problems};
use super::super::{Bisection, Experiment, MAX_ATTEMPTS, MAX_PRIORITY, MAX_RUNS, Order, Rest, Rule, Version};
use super::check_range;
use crate::independence::MAX_REST;
use crate::repetition::{FEWEST_OF_A_BLOCK, MAX_BLOCKS, MAX_LOOKS, MAX_OF_A_BLOCK, MAX_OF_A_LEVEL};
use crate::value::time::Span;

impl Experiment {
    pub(super) fn check_repetitions(&self, problems: &mut Problems) {
        let of = |key: &'static str| move || KeyPath::from(["repetitions", key]);
        if self.priority.unsigned_abs() > MAX_PRIORITY.unsigned_abs() {
            let allowed = format!("-{MAX_PRIORITY} to {MAX_PRIORITY}");
            let fault = Fault::OutOfRange { value: self.priority.to_string(), allowed };
            problems.refuse(["experiment", "priority"].into(), fault);
        }
        for (key, count) in [("hosts", self.levels.hosts), ("boots", self.levels.boots)] {
            if let Some(count) = count {
                check_range(u64::from(count), 1, u64::from(MAX_OF_A_LEVEL), of(key), problems);
            }
        }
        let runs = match self.rule {
            Rule::Fixed => {
                check_range(u64::from(self.runs), 1, MAX_RUNS, of("runs"), problems);
                self.runs_of_a_cell()
            }
            Rule::Pilot { precision, maximum } => {
                check_share(precision, of("precision"), problems);
                self.check_pilot(maximum, problems)
            }
            Rule::Budget { time, maximum } => {
                check_positive(time, of("budget"), problems);
                self.check_pilot(maximum, problems)
            }
            Rule::Sequential { looks, maximum, spending: _ } => self.check_looks(looks, maximum, problems),
            Rule::Bisection(bisection) => return self.check_bisection(bisection, problems),
        };
        self.check_total(runs, problems);
    }

    fn check_bisection(&self, bisection: Bisection, problems: &mut Problems) {
        let Bisection { maximum, block, blocks } = bisection;
        let of = |key: &'static str| move || KeyPath::from(["repetitions", key]);
        check_range(u64::from(block), FEWEST_OF_A_BLOCK.into(), MAX_OF_A_BLOCK.into(), of("block"), problems);
        check_range(u64::from(blocks), 1, MAX_BLOCKS.into(), of("blocks"), problems);
        let round = u64::from(block) * u64::from(blocks);
        check_range(u64::from(maximum), round.min(MAX_RUNS), MAX_RUNS, of("maximum"), problems);
        let built_once = |version: &Version| version.build.as_ref().is_some_and(|build| build.builds == 1);
        let against = [
            (self.benchmarks.len() != 1, "it has not exactly one benchmark"),
            (self.drawn.is_some(), "benchmarks are drawn"),
            (self.baseline_again, "the baseline is measured again"),
            (self.order != Order::Blocked, "its order is not blocked"),
            (self.levels.are_nested(), "it repeats over hosts or boots"),
            (!self.versions.iter().all(built_once), "a version is not built exactly once"),
            (self.analysis.verdicts.len() > 1, "several metrics have verdicts"),
        ];
        for (_, why) in against.into_iter().filter(|(is_against, _)| *is_against) {
            problems.refuse(["repetitions"].into(), Fault::Bisection(why));
        }
    }

    fn check_looks(&self, looks: u32, maximum: u32, problems: &mut Problems) -> u64 {
        let of = |key: &'static str| move || KeyPath::from(["repetitions", key]);
        check_range(u64::from(looks), 1, u64::from(MAX_LOOKS), of("looks"), problems);
        check_range(u64::from(maximum), u64::from(looks.max(1)), MAX_RUNS, of("maximum"), problems);
        if u64::from(self.runs) * u64::from(looks) != u64::from(maximum) {
            let allowed = format!("a multiple of the {looks} looks");
            problems.refuse(of("maximum")(), Fault::OutOfRange { value: maximum.to_string(), allowed });
        }
        if self.levels.are_nested() {
            problems.refuse(of("looks")(), Fault::LooksAtLevels);
        }
        u64::from(maximum)
    }

    fn check_pilot(&self, maximum: u32, problems: &mut Problems) -> u64 {
        let place = || KeyPath::from(["repetitions", "pilot"]);
        check_range(u64::from(self.runs), 1, MAX_RUNS, place, problems);
        // A spread needs two.
        let pilot = self.runs_of_a_cell();
        if pilot < 2 {
            let (value, allowed) = (pilot.to_string(), "at least 2, because a spread is computed".to_owned());
            problems.refuse(place(), Fault::OutOfRange { value, allowed });
        }
        let place = || KeyPath::from(["repetitions", "maximum"]);
        check_range(u64::from(maximum), pilot.min(MAX_RUNS), MAX_RUNS, place, problems);
        u64::from(maximum).max(pilot)
    }

    fn check_total(&self, of_a_cell: u64, problems: &mut Problems) {
        let benchmarks = self.benchmarks.len();
        let taking_part = self.drawn.map_or(benchmarks, |drawn| benchmarks.min(drawn as usize)) as u64;
        let runs = taking_part.saturating_mul(self.versions.len() as u64).saturating_mul(of_a_cell);
        let runs = runs.saturating_add(self.builds());
        if runs > MAX_RUNS && u64::from(self.runs) <= MAX_RUNS {
            problems.refuse(["repetitions", "runs"].into(), Fault::TooManyRuns(runs));
        }
    }

    pub(super) fn check_independence(&self, problems: &mut Problems) {
        let place = KeyPath::from(["independence", "rest"]);
        let Rest { idle, load_percent: _, temperature_mc: _, frequency_percent, patience } =
            self.independence.rest;
        for (key, span) in [("idle", idle), ("wait", patience)] {
            if span > MAX_REST {
                let (value, allowed) = (span.to_string(), format!("at most {MAX_REST}"));
                problems.refuse(place.at(key), Fault::OutOfRange { value, allowed });
            }
        }
        if let Some(percent) = frequency_percent {
            check_range(u64::from(percent), 1, 100, || place.at("frequency"), problems);
        }
        if !self.independence.policy.allows_longer_visits() {
            if self.order == Order::Blocked {
                problems.refuse(["design", "order"].into(), Fault::SharedReallocated);
            }
            if self.levels.are_nested() {
                problems.refuse(["independence", "policy"].into(), Fault::SharedReallocated);
            }
        }
    }

    pub(super) fn check_limits(&self, problems: &mut Problems) {
        let of = |key: &'static str| move || KeyPath::from(["limits", key]);
        let attempts = u64::from(self.limits.attempts);
        check_range(attempts, 1, u64::from(MAX_ATTEMPTS), of("attempts"), problems);
        if let Some(all) = self.limits.all_attempts {
            check_range(all, 1, MAX_RUNS * u64::from(MAX_ATTEMPTS), of("all_attempts"), problems);
        }
        if let Some(time) = self.limits.host_time {
            check_positive(time, of("host_time"), problems);
        }
    }
}

fn check_share(value: f64, place: impl Fn() -> KeyPath, problems: &mut Problems) {
    if !(value > 0.0 && value < 1.0) {
        let allowed = "more than 0 and less than 100%".to_owned();
        problems.refuse(place(), Fault::OutOfRange { value: format!("{}%", value * 100.0), allowed });
    }
}

fn check_positive(span: Span, place: impl Fn() -> KeyPath, problems: &mut Problems) {
    if span == Span(0) {
        let allowed = "a length of time that is not zero".to_owned();
        problems.refuse(place(), Fault::OutOfRange { value: span.to_string(), allowed });
    }
}
