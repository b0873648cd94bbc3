//! How often, on which hosts, and up to which bounds.

use super::Lowering;
use crate::experiment::{Independence, KeyPath, Limits, Rest, Rule};
use crate::plan::file::form::{IndependenceForm, LimitsForm, RepetitionsForm, RestForm};
use crate::plan::file::quantity::{PERCENT_HINT, SPAN_HINT, percent, span};
use crate::value::time::Span;

/// More than thirty: what the papers take for large enough that the mean's distribution is near normal.
const DEFAULT_RUNS: u32 = 31;

impl Lowering<'_> {
    /// The runs of the first stage, and the rule by which others follow.
    pub(super) fn repetitions(&mut self, form: &RepetitionsForm) -> (u32, Rule) {
        let mut rules = Vec::new();
        if form.precision.is_some() {
            rules.push("precision");
        }
        if form.budget.is_some() {
            rules.push("budget");
        }
        if form.looks.is_some() {
            rules.push("looks");
        }
        let Some(&rule) = rules.first() else { return self.fixed(form) };
        if let Some(second) = rules.get(1) {
            self.note_repetition(second, || {
                let cause = format!("[repetitions] has both `{rule}` and `{second}`");
                (cause, "keep one of them: they are different rules".to_owned())
            });
        }
        // With several rules the first one counts from here on: the plan is refused anyway.
        let maximum = self.maximum(form, rule);
        if rule == "looks" {
            return self.sequential(form, maximum);
        }
        if form.spending.is_some() {
            self.belongs("spending", "looks");
        }
        let precision = form.precision.as_ref().and_then(|text| self.precision(text));
        let budget =
            form.budget.as_ref().and_then(|text| self.length(&["repetitions", "budget"].into(), text));
        let rule = match (precision, budget) {
            (Some(precision), _) => Rule::Pilot { precision, maximum },
            (None, Some(time)) => Rule::Budget { time, maximum },
            (None, None) => Rule::Fixed,
        };
        (self.pilot(form), rule)
    }

    fn fixed(&mut self, form: &RepetitionsForm) -> (u32, Rule) {
        if form.pilot.is_some() {
            self.belongs("pilot", "precision` or `budget");
        }
        if form.maximum.is_some() {
            self.belongs("maximum", "precision`, `budget` or `looks");
        }
        if form.spending.is_some() {
            self.belongs("spending", "looks");
        }
        (form.runs.unwrap_or(DEFAULT_RUNS), Rule::Fixed)
    }

    fn maximum(&mut self, form: &RepetitionsForm, rule: &str) -> u32 {
        if form.maximum.is_none() {
            self.note_repetition(rule, || {
                let cause = format!("`{rule}` has no `maximum`");
                (cause, "write maximum = 200, the most runs of each benchmark in each version".to_owned())
            });
        }
        form.maximum.unwrap_or(DEFAULT_RUNS)
    }

    fn pilot(&mut self, form: &RepetitionsForm) -> u32 {
        match (form.pilot, form.runs) {
            (Some(pilot), None) => pilot,
            (Some(pilot), Some(_)) => {
                self.note_repetition("runs", || {
                    let cause = "[repetitions] has both `pilot` and `runs`".to_owned();
                    (cause, "remove `runs`: it is computed from the pilot".to_owned())
                });
                pilot
            }
            (None, _) => {
                self.note(&["repetitions"].into(), || {
                    let cause = "[repetitions] has no `pilot`".to_owned();
                    (cause, "write pilot = 10, the runs from which the number is computed".to_owned())
                });
                DEFAULT_RUNS
            }
        }
    }

    fn sequential(&mut self, form: &RepetitionsForm, maximum: u32) -> (u32, Rule) {
        let looks = form.looks.unwrap_or(1).max(1);
        for (key, given) in [("pilot", form.pilot.is_some()), ("runs", form.runs.is_some())] {
            if given {
                self.note_repetition(key, || {
                    let cause = format!("[repetitions] has both `looks` and `{key}`");
                    (cause, format!("remove `{key}`: each look has maximum / looks runs more"))
                });
            }
        }
        if form.maximum.is_some() && !maximum.is_multiple_of(looks) {
            self.note_repetition("maximum", || {
                let nearest = (maximum / looks).max(1).saturating_mul(looks);
                let cause = format!("{maximum} runs cannot be split over {looks} looks");
                (cause, format!("write a multiple of the looks, such as maximum = {nearest}"))
            });
        }
        let runs = maximum / looks;
        let spending = form.spending.unwrap_or_default();
        (runs, Rule::Sequential { looks: form.looks.unwrap_or(0), maximum: runs * looks, spending })
    }

    fn belongs(&mut self, key: &str, needs: &str) {
        self.note_repetition(key, || {
            let cause = format!("`{key}` says nothing without `{needs}`");
            (cause, format!("add `{needs}`, or remove `{key}`"))
        });
    }

    fn note_repetition(&mut self, key: &str, cause: impl FnOnce() -> (String, String)) {
        self.note(&["repetitions", key].into(), cause);
    }

    fn precision(&mut self, text: &str) -> Option<f64> {
        self.percentage(&["repetitions", "precision"].into(), text)
    }

    pub(super) fn percentage(&mut self, place: &KeyPath, text: &str) -> Option<f64> {
        self.readable(percent(text), text, place, "is no percentage", PERCENT_HINT)
    }

    pub(super) fn independence(&mut self, form: &IndependenceForm) -> Independence {
        let IndependenceForm { policy, scope, hosts, ref rest } = *form;
        Independence { policy, scope, hosts, rest: self.rest(rest) }
    }

    fn rest(&mut self, form: &RestForm) -> Rest {
        let place = KeyPath::from(["independence", "rest"]);
        let default = Rest::default();
        Rest {
            idle: self.length(&place.at("idle"), &form.idle).unwrap_or(default.idle),
            load_percent: form.load.map(|load| (load * 100.0).round() as u32),
            temperature_mc: form.temperature.map(|degrees| (degrees * 1000.0).round() as i32),
            frequency_percent: form.frequency,
            patience: self.length(&place.at("wait"), &form.wait).unwrap_or(default.patience),
        }
    }

    pub(super) fn limits(&mut self, form: &LimitsForm) -> Limits {
        let place = KeyPath::from(["limits", "host_time"]);
        let host_time = form.host_time.as_ref().and_then(|text| self.length(&place, text));
        Limits { attempts: form.attempts, all_attempts: form.all_attempts, host_time }
    }

    pub(super) fn length(&mut self, place: &KeyPath, text: &str) -> Option<Span> {
        self.readable(span(text), text, place, "is not a length of time", SPAN_HINT)
    }
}
