//! How often, in which order, on which hosts, and up to which bounds.

use super::super::problem::{Fault, KeyPath, Problems};
use super::super::{Bisection, Experiment, MAX_ATTEMPTS, MAX_PRIORITY, MAX_RUNS, Order, Rest, Rule};
use super::check_range;
use crate::independence::MAX_REST;
use crate::repetition::{FEWEST_OF_A_BLOCK, MAX_BLOCKS, MAX_LOOKS, MAX_OF_A_BLOCK, MAX_OF_A_LEVEL};
use crate::value::time::Span;

impl Experiment {
    pub(super) fn check_repetitions(&self, problems: &mut Problems) {
        if self.priority.unsigned_abs() > MAX_PRIORITY.unsigned_abs() {
            let allowed = format!("-{MAX_PRIORITY} to {MAX_PRIORITY}");
            let fault = Fault::OutOfRange { value: self.priority.to_string(), allowed };
            problems.refuse(["experiment", "priority"], fault);
        }
        for (key, count) in [("hosts", self.levels.hosts), ("boots", self.levels.boots)] {
            if let Some(count) = count {
                check_range(u64::from(count), 1, u64::from(MAX_OF_A_LEVEL), ["repetitions", key], problems);
            }
        }
        let runs = match self.rule {
            Rule::Fixed => {
                check_range(u64::from(self.runs), 1, MAX_RUNS, ["repetitions", "runs"], problems);
                self.runs_of_a_cell()
            }
            Rule::Pilot { precision, maximum } => {
                check_share(precision, ["repetitions", "precision"], problems);
                self.check_pilot(maximum, problems)
            }
            Rule::Budget { time, maximum } => {
                check_positive(time, ["repetitions", "budget"], problems);
                self.check_pilot(maximum, problems)
            }
            Rule::Sequential { looks, maximum, spending: _ } => self.check_looks(looks, maximum, problems),
            Rule::Bisection(bisection) => return self.check_bisection(bisection, problems),
        };
        self.check_total(runs, problems);
    }

    fn check_bisection(&self, bisection: Bisection, problems: &mut Problems) {
        let Bisection { maximum, block, blocks } = bisection;
        check_range(
            u64::from(block),
            FEWEST_OF_A_BLOCK.into(),
            MAX_OF_A_BLOCK.into(),
            ["repetitions", "block"],
            problems,
        );
        check_range(u64::from(blocks), 1, MAX_BLOCKS.into(), ["repetitions", "blocks"], problems);
        let round = u64::from(block) * u64::from(blocks);
        check_range(u64::from(maximum), round.min(MAX_RUNS), MAX_RUNS, ["repetitions", "maximum"], problems);
        let place = ["repetitions"];
        // The model of a bisection has one line of versions and independent blocks on one benchmark, and nothing else.
        if self.benchmarks.len() != 1 {
            problems.refuse(place, Fault::Bisection("it has not exactly one benchmark"));
        }
        if self.drawn.is_some() {
            problems.refuse(place, Fault::Bisection("benchmarks are drawn"));
        }
        if self.baseline_again {
            problems.refuse(place, Fault::Bisection("the baseline is measured again"));
        }
        if self.order != Order::Blocked {
            problems.refuse(place, Fault::Bisection("its order is not blocked"));
        }
        if self.levels.are_nested() {
            problems.refuse(place, Fault::Bisection("it repeats over hosts or boots"));
        }
        let mut builds = self.versions.iter().map(|version| version.build.as_ref().map(|build| build.builds));
        if builds.any(|builds| builds != Some(1)) {
            problems.refuse(place, Fault::Bisection("a version is not built exactly once"));
        }
        if self.analysis.verdicts.len() > 1 {
            problems.refuse(place, Fault::Bisection("several metrics have verdicts"));
        }
    }

    fn check_looks(&self, looks: u32, maximum: u32, problems: &mut Problems) -> u64 {
        check_range(u64::from(looks), 1, u64::from(MAX_LOOKS), ["repetitions", "looks"], problems);
        check_range(
            u64::from(maximum),
            u64::from(looks.max(1)),
            MAX_RUNS,
            ["repetitions", "maximum"],
            problems,
        );
        if u64::from(self.runs) * u64::from(looks) != u64::from(maximum) {
            let allowed = format!("a multiple of the {looks} looks");
            problems.refuse(
                ["repetitions", "maximum"],
                Fault::OutOfRange { value: maximum.to_string(), allowed },
            );
        }
        if self.levels.are_nested() {
            problems.refuse(["repetitions", "looks"], Fault::LooksAtLevels);
        }
        u64::from(maximum)
    }

    fn check_pilot(&self, maximum: u32, problems: &mut Problems) -> u64 {
        let place = ["repetitions", "pilot"];
        check_range(u64::from(self.runs), 1, MAX_RUNS, place, problems);
        // A spread needs two.
        let pilot = self.runs_of_a_cell();
        if pilot < 2 {
            let allowed = "at least 2, because a spread is computed".to_owned();
            problems.refuse(place, Fault::OutOfRange { value: pilot.to_string(), allowed });
        }
        let least = pilot.min(MAX_RUNS);
        check_range(u64::from(maximum), least, MAX_RUNS, ["repetitions", "maximum"], problems);
        u64::from(maximum).max(pilot)
    }

    fn check_total(&self, of_a_cell: u64, problems: &mut Problems) {
        let benchmarks = self.benchmarks.len();
        let taking_part = self.drawn.map_or(benchmarks, |drawn| benchmarks.min(drawn as usize)) as u64;
        let runs = taking_part.saturating_mul(self.versions.len() as u64).saturating_mul(of_a_cell);
        let runs = runs.saturating_add(self.builds());
        if runs > MAX_RUNS && u64::from(self.runs) <= MAX_RUNS {
            problems.refuse(["repetitions", "runs"], Fault::TooManyRuns(runs));
        }
    }

    pub(super) fn check_independence(&self, problems: &mut Problems) {
        let Rest { idle, load_percent: _, temperature_mc: _, frequency_percent, patience } =
            self.independence.rest;
        for (key, span) in [("idle", idle), ("wait", patience)] {
            if span > MAX_REST {
                let allowed = format!("at most {MAX_REST}");
                let fault = Fault::OutOfRange { value: span.to_string(), allowed };
                problems.refuse(["independence", "rest", key], fault);
            }
        }
        if let Some(percent) = frequency_percent {
            check_range(u64::from(percent), 1, 100, ["independence", "rest", "frequency"], problems);
        }
        if !self.independence.policy.allows_longer_visits() {
            if self.order == Order::Blocked {
                problems.refuse(["design", "order"], Fault::SharedReallocated);
            }
            if self.levels.are_nested() {
                problems.refuse(["independence", "policy"], Fault::SharedReallocated);
            }
        }
    }

    pub(super) fn check_limits(&self, problems: &mut Problems) {
        let attempts = u64::from(self.limits.attempts);
        check_range(attempts, 1, u64::from(MAX_ATTEMPTS), ["limits", "attempts"], problems);
        if let Some(all) = self.limits.all_attempts {
            check_range(all, 1, MAX_RUNS * u64::from(MAX_ATTEMPTS), ["limits", "all_attempts"], problems);
        }
        if let Some(time) = self.limits.host_time {
            check_positive(time, ["limits", "host_time"], problems);
        }
    }
}

fn check_share(value: f64, place: impl Into<KeyPath>, problems: &mut Problems) {
    if !(value > 0.0 && value < 1.0) {
        let allowed = "more than 0 and less than 100%".to_owned();
        problems.refuse(place, Fault::OutOfRange { value: format!("{}%", value * 100.0), allowed });
    }
}

fn check_positive(span: Span, place: impl Into<KeyPath>, problems: &mut Problems) {
    if span == Span(0) {
        let allowed = "a length of time that is not zero".to_owned();
        problems.refuse(place, Fault::OutOfRange { value: span.to_string(), allowed });
    }
}
