//! Axes: where a value stands, and which values are labelled.

use speedup_analysis::count::decimals;

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Equal differences are equally far.
    Linear,
    /// Equal ratios are equally far.
    Logarithmic,
}

/// Values from one end of a drawing to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    spacing: Spacing,
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// From the least of `values` to the largest, with `margin` of their range beyond; values that are none are left out.
    pub(crate) fn over(spacing: Spacing, values: impl Iterator<Item = f64>, margin: f64) -> Self {
        let is_value = |value: &f64| value.is_finite() && (spacing == Spacing::Linear || *value > 0.0);
        let (mut from, mut to) = values
            .filter(is_value)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), value| (from.min(value), to.max(value)));
        if from > to {
            (from, to) = (1.0, 1.0);
        }
        let mut axis = Self { spacing, from, to, start: 0.0, end: 1.0 };
        let low = axis.place(from);
        let high = axis.place(to);
        // Around a single value there is room as well.
        let least = if high == 0.0 { 1.0 } else { high.abs() * 1e-2 };
        let beyond = if high > low { (high - low) * margin } else { least };
        (axis.from, axis.to) = (axis.value(low - beyond), axis.value(high + beyond));
        axis
    }

    pub(crate) fn between(spacing: Spacing, from: f64, to: f64) -> Self {
        Self { spacing, from, to, start: 0.0, end: 1.0 }
    }

    /// The same, laid out from `start` to `end`.
    pub(crate) fn across(self, start: f64, end: f64) -> Self {
        Self { start, end, ..self }
    }

    /// Where a value stands; beyond the ends, at the end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let low = self.place(self.from);
        let high = self.place(self.to);
        let share = ((self.place(value) - low) / (high - low)).clamp(0.0, 1.0);
        share.mul_add(self.end - self.start, self.start)
    }

    /// Whether a value is neither before nor beyond the ends.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Round values to be labelled, about `wanted` and no more than twice as many, and the decimals that tell them apart.
    pub(crate) fn ticks(&self, wanted: usize) -> (Vec<f64>, usize) {
        match self.spacing {
            // Over less than a decade steps of one size read more easily.
            Spacing::Logarithmic if self.to / self.from > 8.0 => self.decades(wanted),
            Spacing::Logarithmic | Spacing::Linear => self.steps(wanted),
        }
    }

    /// The same of an axis whose values are labelled in another unit, in that unit: one of it is so many of the axis.
    pub(crate) fn ticks_in(&self, unit: f64, wanted: usize) -> (Vec<f64>, usize) {
        Self { from: self.from / unit, to: self.to / unit, ..*self }.ticks(wanted)
    }

    fn steps(&self, wanted: usize) -> (Vec<f64>, usize) {
        let rough = (self.to - self.from) / wanted.max(1) as f64;
        if !(rough > 0.0 && rough.is_finite()) {
            return (Vec::new(), 0);
        }
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|by| by * power).find(|step| *step >= rough * 0.7);
        let step = step.unwrap_or(rough);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        ((first..=last).map(|at| at as f64 * step).collect(), decimals(step * 1.000_001, 9))
    }

    fn decades(&self, wanted: usize) -> (Vec<f64>, usize) {
        let low = self.from.log10().floor() as i32;
        let high = self.to.log10().ceil() as i32;
        let all = |within: &[f64]| -> Vec<f64> {
            let values = (low..=high).flat_map(|power| within.iter().map(move |by| by * 10_f64.powi(power)));
            values.filter(|value| self.holds(*value)).collect()
        };
        let fine = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0]].map(all);
        let ticks = fine.into_iter().find(|ticks| ticks.len() <= wanted + 1).unwrap_or_else(|| {
            let decades = all(&[1.0]);
            let every = decades.len().div_ceil(wanted.max(1));
            decades.into_iter().step_by(every.max(1)).collect()
        });
        let least = ticks.first().copied().unwrap_or(1.0);
        (ticks, decimals(least * 1.000_001, 9))
    }

    fn place(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => value,
            // An interval may begin below 0: that is before any start.
            Spacing::Logarithmic => value.max(0.0).ln(),
        }
    }

    fn value(&self, place: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => place,
            Spacing::Logarithmic => place.exp(),
        }
    }
}

/// A label with so many decimals at most; what is round has none.
pub(crate) fn label(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    if text == "-0" { "0".to_owned() } else { text.replace('-', "−") }
}

/// Labels of an axis of a small drawing, for which there is room.
pub(crate) const TICKS: usize = 5;

/// What stands at an axis.
pub(crate) struct Labels<'a> {
    pub(crate) axis: &'a Axis,
    /// What it is of, with its unit.
    pub(crate) name: String,
    /// Its values; without one there are no labels.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl<'a> Labels<'a> {
    /// Round values.
    pub(crate) fn round(axis: &'a Axis, name: impl Into<String>) -> Self {
        let (ticks, decimals) = axis.ticks(TICKS);
        let ticks = ticks.into_iter().map(|tick| (tick, label(tick, decimals))).collect();
        Self { axis, name: name.into(), ticks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, wanted: usize) -> Vec<String> {
        let (ticks, decimals) = axis.ticks(wanted);
        ticks.into_iter().map(|tick| label(tick, decimals)).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(labels(Axis::between(Spacing::Linear, 0.03, 1.04), 5), ["0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Axis::between(Spacing::Logarithmic, 0.89, 1.27), 4), ["0.9", "1", "1.1", "1.2"]);
        assert_eq!(
            labels(Axis::between(Spacing::Logarithmic, 0.4, 50.0), 8),
            ["0.5", "1", "2", "5", "10", "20", "50"]
        );
        let many = labels(Axis::between(Spacing::Logarithmic, 1e-3, 1e9), 5);
        assert!(many.len() <= 6 && many.len() > 2, "{many:?}");
    }

    #[test]
    fn values_stand_between_the_ends() {
        let axis = Axis::between(Spacing::Logarithmic, 0.5, 2.0).across(10.0, 110.0);
        assert!((axis.at(1.0) - 60.0).abs() < 1e-9);
        assert_eq!((axis.at(0.1), axis.at(9.0), axis.at(-0.4)), (10.0, 110.0, 10.0));
        let single = Axis::over(Spacing::Linear, [3.0, f64::NAN].into_iter(), 0.1).across(0.0, 1.0);
        assert!((single.at(3.0) - 0.5).abs() < 1e-9);
        assert!(Axis::over(Spacing::Linear, std::iter::empty(), 0.1).at(1.0).is_finite());
    }
}
