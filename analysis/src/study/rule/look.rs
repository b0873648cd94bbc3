//! One look at one comparison: a two-sided test at the risk of the look, with its interval.

use super::units::{Comparison, Units};
use crate::study::{
    Study, design::Design, design::class_weight, gather::numbers::Number, two_sample::headline::HeadlineSpec,
    two_sample::headline::Sides, two_sample::stratified,
};
use speedup_core::{experiment::Center, experiment::metric::Metric, value::id::RunIndex};
use speedup_statistics::{
    inference::Alternative, inference::ConfidenceLevel, inference::Interval, inference::PValue,
    inference::Risk, inference::Threshold, planning::group_sequential::Look, ratio::MeanRatio,
    ratio::PairedMedianRatio, ratio::PairedRatio, ratio::QuantileRatio, ratio::RatioError, ratio::Speedup,
    ratio::SuiteRatioError, ratio::TrimmedRatio, sample::Sample, test::OneSampleTTest, test::PairedTTest,
    test::WelchTTest,
};
use std::collections::BTreeMap;

/// The observations of a comparison at a look, and how they are compared.
pub(super) struct InterimSample {
    /// What is compared of the versions, as the plan declares it; the median in place of trimmed means where nothing varies after trimming.
    declared: HeadlineSpec,
    observations: Observations,
}

enum Observations {
    /// The observations of the rules.
    Units(Units),
    /// The two samples of each fingerprint class of hosts, where the plan allows several and several took part.
    Within(Vec<[Sample; 2]>),
}

/// The test of a look at one comparison.
pub(super) struct InterimTest {
    /// The method's full name.
    pub(super) method: &'static str,
    pub(super) p: PValue,
    /// Of what the candidate saves, at the look's nominal risk: all looks together keep the plan's level (Jennison and
    /// Turnbull 2000, §9.1). Of means alone.
    pub(super) interval: Option<Interval>,
    /// Of the speedup, likewise.
    pub(super) speedup_interval: Option<[f64; 2]>,
}

impl InterimSample {
    /// The observations of `comparison` so far; none where a version has none.
    pub(super) fn new(study: &Study, comparison: &Comparison<'_>) -> Option<Self> {
        let observations = match within(study, comparison) {
            Some(blocks) if blocks.is_empty() => return None,
            Some(blocks) => Observations::Within(blocks),
            None => Observations::Units(comparison.units(study, study.plan.runs())?),
        };
        let declared = HeadlineSpec::new(&study.plan.experiment, ConfidenceLevel::USUAL, Threshold::NONE);
        let mut sample = Self { declared, observations };
        let is_constant = sample.declared.center == Center::Trimmed
            && matches!(
                sample.ratio(declared.level.risk()),
                Err(SuiteRatioError::Ratio(RatioError::EssentiallyConstant))
            );
        if is_constant {
            sample.declared.center = Center::Median;
        }
        Some(sample)
    }

    /// The samples, as the design has them.
    fn sides(&self) -> Sides<'_> {
        match &self.observations {
            Observations::Units(Units::Apart([x, y])) => Sides::Apart(x, y),
            Observations::Units(Units::Paired { pairs: [x, y], .. }) => Sides::Pairs(x, y),
            Observations::Within(blocks) => {
                Sides::Classes(blocks.iter().map(|[x, y]| (x, y, class_weight(x, y))).collect())
            }
        }
    }

    /// The ratio of the medians or trimmed means, with a p-value that can be as small as `least`.
    fn ratio(&self, least: Risk) -> Result<Box<dyn Speedup + '_>, SuiteRatioError> {
        self.declared.ratio(&self.sides(), least)
    }

    /// The margin less what the step of the clock leaves open, of classes the largest step.
    pub(super) fn shown_margin(&self) -> Option<f64> {
        let shown = |x: &Sample, y: &Sample| self.declared.by_clock_of(x, y).shown_margin();
        match self.sides() {
            Sides::Apart(x, y) | Sides::Pairs(x, y) => shown(x, y),
            Sides::Classes(strata) => strata.into_iter().filter_map(|(x, y, _)| shown(x, y)).reduce(f64::min),
        }
    }

    /// How many there are of each version.
    pub(super) fn counts(&self) -> [u64; 2] {
        match &self.observations {
            Observations::Units(units) => units.counts(),
            Observations::Within(blocks) => {
                [0, 1].map(|side| blocks.iter().map(|block| block[side].len() as u64).sum::<u64>())
            }
        }
    }

    /// The baseline's centre less the candidate's, in nanoseconds; of pairs the centre of their differences.
    pub(super) fn saved(&self) -> f64 {
        match (&self.observations, self.declared.center) {
            (Observations::Units(Units::Paired { differences, .. }), Center::Mean) => differences.mean(),
            (Observations::Units(Units::Paired { differences, .. }), Center::Median) => differences.median(),
            (Observations::Units(Units::Apart([x, y]) | Units::Paired { pairs: [x, y], .. }), _) => {
                self.declared.saved(x, y)
            }
            (Observations::Within(blocks), _) => over_classes(blocks, |[x, y]| self.declared.saved(x, y)),
        }
    }

    /// The observed speedup of the centre.
    pub(super) fn speedup(&self) -> f64 {
        match (&self.observations, self.declared.center) {
            (
                Observations::Units(Units::Apart([x, y]) | Units::Paired { pairs: [x, y], .. }),
                Center::Mean,
            ) => x.mean() / y.mean(),
            (Observations::Within(blocks), Center::Mean) => {
                over_classes(blocks, |[x, _]| x.mean()) / over_classes(blocks, |[_, y]| y.mean())
            }
            (_, Center::Median | Center::Trimmed) => {
                self.ratio(self.declared.level.risk()).map_or(f64::NAN, |ratio| ratio.estimate())
            }
        }
    }

    /// Tests at the risk of `look`; `None` where nothing can be tested.
    pub(super) fn test(&self, look: &Look) -> Option<InterimTest> {
        let level = ConfidenceLevel::new(1.0 - look.nominal_risk.get()).ok();
        match self.declared.center {
            Center::Mean => self.test_means(level),
            Center::Median | Center::Trimmed => self.test_ratio(look.nominal_risk, level),
        }
    }

    fn test_means(&self, level: Option<ConfidenceLevel>) -> Option<InterimTest> {
        let two_sided = Alternative::TwoSided;
        let (method, p, interval, speedup_interval) = match &self.observations {
            Observations::Units(Units::Apart([x, y])) => {
                let test = WelchTTest::new(x, y).ok()?;
                let interval = level.map(|level| test.interval(two_sided, level));
                let ratio = MeanRatio::new(x, y).ok();
                (
                    WelchTTest::NAME,
                    test.p_value(two_sided),
                    interval,
                    ratio.and_then(|ratio| ends(&ratio, level)),
                )
            }
            Observations::Units(Units::Paired { differences, pairs: [x, y] }) => {
                let test = OneSampleTTest::new(differences, 0.0).ok()?;
                let interval = level.map(|level| test.interval(two_sided, level));
                let ratio = PairedRatio::new(x, y).ok();
                (
                    PairedTTest::NAME,
                    test.p_value(two_sided),
                    interval,
                    ratio.and_then(|ratio| ends(&ratio, level)),
                )
            }
            Observations::Within(blocks) => {
                let ratio = stratified::ratio_of_means(blocks.iter().map(|[x, y]| (x, y))).ok()?;
                (stratified::T_TEST_NAME, ratio.p_value(1.0, two_sided), None, ends(&ratio, level))
            }
        };
        Some(InterimTest { method, p, interval, speedup_interval })
    }

    fn test_ratio(&self, risk: Risk, level: Option<ConfidenceLevel>) -> Option<InterimTest> {
        let are_pairs = matches!(self.observations, Observations::Units(Units::Paired { .. }));
        let method = match (self.declared.center, are_pairs) {
            (Center::Trimmed, true) => TrimmedRatio::NAME_OF_PAIRS,
            (Center::Trimmed, false) => TrimmedRatio::NAME,
            (Center::Median | Center::Mean, true) => PairedMedianRatio::NAME,
            (Center::Median | Center::Mean, false) => QuantileRatio::NAME,
        };
        let ratio = self.ratio(risk).ok()?;
        Some(InterimTest {
            method,
            p: ratio.p_value(1.0, Alternative::TwoSided),
            interval: None,
            speedup_interval: ends(&*ratio, level),
        })
    }
}

/// The ends of the interval at a level, if it has two.
fn ends(ratio: &(impl Speedup + ?Sized), level: Option<ConfidenceLevel>) -> Option<[f64; 2]> {
    let interval = ratio.interval(level?);
    interval.bounded().map(|interval| [interval.lower, interval.upper])
}

/// The samples of each class with at least two runs of both versions, as one has no error; `None` where classes are no
/// blocks.
fn within(study: &Study, comparison: &Comparison<'_>) -> Option<Vec<[Sample; 2]>> {
    (Design::of(&study.plan) == Design::Classes).then_some(())?;
    let end = RunIndex(study.plan.runs());
    let mut by_class: BTreeMap<Option<Number>, [Vec<f64>; 2]> = BTreeMap::new();
    let by_name = study.evidence.by_name();
    for (side, cell) in comparison.cells.iter().enumerate() {
        let records = &study.cells[*cell as usize];
        let locations = records.locations(Metric::Wall);
        for (location, (run, value)) in locations.iter().zip(records.values_by_run(Metric::Wall)) {
            if run < end {
                by_class.entry(by_name.location(*location).class).or_default()[side].push(value);
            }
        }
    }
    (by_class.len() > 1).then_some(())?;
    let several = by_class.into_values().filter(|sides| sides.iter().all(|side| side.len() > 1));
    several.map(|[x, y]| Some([Sample::new(x).ok()?, Sample::new(y).ok()?])).collect()
}

/// The mean of what `of` says of each class, by the weights of the classes.
fn over_classes(blocks: &[[Sample; 2]], of: impl Fn(&[Sample; 2]) -> f64) -> f64 {
    let weight = |[x, y]: &[Sample; 2]| class_weight(x, y);
    let total: f64 = blocks.iter().map(weight).sum();
    blocks.iter().map(|block| weight(block) * of(block)).sum::<f64>() / total
}
