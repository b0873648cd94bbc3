//! One question for all intervals: at a level, against an alternative.
//!
//! The ends of an equal-tailed interval each miss with half of the risk. So the one end of a one-sided interval at a level is
//! that end of the two-sided interval at twice the risk, and no method needs a second formula.

use crate::diagnostics::host_effect::VarianceShare;
use crate::inference::{Alternative, ConfidenceLevel, Critical, Interval, RatioInterval};
use crate::levels::{EffectSize, MeanErrorUnknown, RandomEffects, RatioReplicates, Replicates};
use crate::ratio::{MeanRatio, MedianRatio, PairedRatio, SuiteRatio};
use crate::test::{PseudoMedian, SignedRankError};

/// An estimate whose two-sided interval misses on either side with half of its risk.
pub trait EqualTailed {
    /// An interval, or what stands where there may be none.
    type Interval: OneSided;

    /// The two-sided interval at the least level not below `level` that the method offers.
    fn two_sided(&self, level: ConfidenceLevel) -> Self::Interval;

    /// The interval against `alternative`: a lower end alone against [`Alternative::Greater`], an upper one alone against
    /// [`Alternative::Less`]. It carries the level that it achieves, which is above `level` for exact methods on few runs, and
    /// for one-sided levels of one half and below, where no two-sided interval has that end.
    fn interval_against(&self, alternative: Alternative, level: ConfidenceLevel) -> Self::Interval {
        self.two_sided(alternative.two_sided_level(level)).one_sided(alternative)
    }
}

/// What can be read one-sided.
pub trait OneSided {
    /// The same with the ends that `alternative` leaves, at the level at which they hold.
    #[must_use]
    fn one_sided(self, alternative: Alternative) -> Self;
}

impl OneSided for Interval {
    fn one_sided(self, alternative: Alternative) -> Self {
        Self::one_sided(self, alternative)
    }
}

impl OneSided for RatioInterval {
    fn one_sided(self, alternative: Alternative) -> Self {
        Self::one_sided(self, alternative)
    }
}

impl<E> OneSided for Result<Interval, E> {
    fn one_sided(self, alternative: Alternative) -> Self {
        self.map(|interval| interval.one_sided(alternative))
    }
}

macro_rules! asks_its_interval {
    ($($estimate:ty => $interval:ty),* $(,)?) => {$(
        impl EqualTailed for $estimate {
            type Interval = $interval;

            fn two_sided(&self, level: ConfidenceLevel) -> $interval {
                self.interval(level)
            }
        }
    )*};
}
asks_its_interval!(
    MeanRatio => RatioInterval,
    MedianRatio<'_> => RatioInterval,
    PairedRatio => RatioInterval,
    SuiteRatio => RatioInterval,
    RatioReplicates => RatioInterval,
    Replicates => Interval,
    VarianceShare => Interval,
    PseudoMedian<'_> => Result<Interval, SignedRankError>,
);

/// With Student's t; [`EffectSize::interval`] has the normal law as well.
impl EqualTailed for EffectSize {
    type Interval = RatioInterval;

    fn two_sided(&self, level: ConfidenceLevel) -> RatioInterval {
        self.interval(level, Critical::Student)
    }
}

/// With Student's t; [`RandomEffects::interval`] has the normal law as well.
impl EqualTailed for RandomEffects {
    type Interval = Result<Interval, MeanErrorUnknown>;

    fn two_sided(&self, level: ConfidenceLevel) -> Result<Interval, MeanErrorUnknown> {
        self.interval(level, Critical::Student)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::{LevelTree, RandomEffects};
    use crate::sample::Sample;
    use crate::test::{OneSampleTTest, Proportion, ProportionMethod, Selection};

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    fn level(level: f64) -> ConfidenceLevel {
        ConfidenceLevel::new(level).unwrap()
    }

    fn effects(values: &[f64]) -> RandomEffects {
        RandomEffects::new(&LevelTree::of_counts(values.to_vec(), &[vec![values.len()]]).unwrap())
    }

    const ALTERNATIVES: [Alternative; 3] = [Alternative::TwoSided, Alternative::Greater, Alternative::Less];

    /// A test against the same alternative has at the end of the interval the risk of its level.
    #[test]
    fn ends_are_where_the_test_of_the_same_alternative_rejects() {
        let (x, y) = (sample(&[10.0, 11.0, 12.5, 9.0, 10.4]), sample(&[8.0, 8.5, 9.5, 9.1]));
        let mean = MeanRatio::new(&x, &y).unwrap();
        let median = MedianRatio::new(&x, &y).unwrap();
        for alternative in ALTERNATIVES {
            let RatioInterval::Bounded(of_mean) = mean.interval_against(alternative, level(0.9)) else {
                panic!()
            };
            assert!((of_mean.level.get() - 0.9).abs() < 1e-12, "{of_mean:?}");
            let RatioInterval::Bounded(of_median) = median.interval_against(alternative, level(0.9)) else {
                panic!()
            };
            let achieved = of_median.level.risk().get();
            assert!(achieved <= 0.1 + 1e-12, "{of_median:?}");
            for (mean_end, median_end, beyond) in
                [(of_mean.lower, of_median.lower, 1.0 - 1e-9), (of_mean.upper, of_median.upper, 1.0 + 1e-9)]
            {
                assert_eq!(mean_end.is_finite(), median_end.is_finite(), "{alternative:?}");
                if !mean_end.is_finite() {
                    continue;
                }
                assert!((mean.p_value(mean_end, alternative).get() - 0.1).abs() < 1e-9, "{alternative:?}");
                let p = median.test(median_end * beyond).unwrap().p_value(alternative).get();
                assert!((p - achieved).abs() < 1e-9, "{alternative:?}: {p} {achieved}");
            }
        }
    }

    #[test]
    fn the_mean_by_one_level_is_the_one_sample_t_test() {
        let x = sample(&[10.0, 11.0, 12.5, 9.0, 10.4]);
        let effects = effects(x.in_run_order());
        for alternative in ALTERNATIVES {
            let ours = effects.interval_against(alternative, level(0.9)).unwrap();
            let theirs = OneSampleTTest::new(&x, 0.0).unwrap().interval(alternative, level(0.9));
            for (a, b) in [(ours.lower, theirs.lower), (ours.upper, theirs.upper)] {
                assert!(a == b || (a - b).abs() < 1e-12, "{alternative:?}: {a} {b}");
            }
            assert!((ours.level.get() - 0.9).abs() < 1e-12);
            let p = effects.p_value(9.5, alternative).unwrap().get();
            assert!((p - OneSampleTTest::new(&x, 9.5).unwrap().p_value(alternative).get()).abs() < 1e-12);
        }
    }

    #[test]
    fn signs_and_effect_sizes_are_asked_alike() {
        let differences = sample(&[4.03, -1.1, 2.27, 3.41, 5.56, 1.49]);
        let typical = PseudoMedian::new(&differences);
        for alternative in ALTERNATIVES {
            let interval = typical.interval_against(alternative, level(0.8)).unwrap();
            let end = if interval.lower.is_finite() { interval.lower - 1e-9 } else { interval.upper + 1e-9 };
            let p = typical.test(end).unwrap().p_value(alternative).get();
            assert!((p - interval.level.risk().get()).abs() < 1e-12, "{alternative:?}: {p} {interval:?}");
        }
        let size =
            EffectSize::new(effects(&[10.0, 11.0, 12.5, 9.0]), effects(&[8.0, 8.5, 9.5, 9.1])).unwrap();
        for alternative in ALTERNATIVES {
            let RatioInterval::Bounded(interval) = size.interval_against(alternative, level(0.95)) else {
                panic!()
            };
            let end = if interval.lower.is_finite() { interval.lower } else { interval.upper };
            assert!((size.p_value(end, alternative).get() - 0.05).abs() < 1e-9, "{alternative:?}");
        }
    }

    #[test]
    fn a_proportion_is_asked_one_sided() {
        let proportion = Proportion::new(17, 30, Selection::Drawn).unwrap();
        let exact = ProportionMethod::ClopperPearson;
        let above = proportion.interval_against(exact, Alternative::Greater, ConfidenceLevel::USUAL);
        assert_eq!(above.upper, 1.0);
        assert!((above.level.get() - 0.95).abs() < 1e-12);
        let below = proportion.interval_against(exact, Alternative::Less, ConfidenceLevel::USUAL);
        assert_eq!(below.lower, 0.0);
        // So many or more have the risk of the level at the end: Σ C(30, k) cᵏ (1 − c)³⁰⁻ᵏ from 17 on.
        let at_least = crate::distribution::binomial::tails(16, 30, above.lower).upper;
        assert!((at_least - 0.05).abs() < 1e-9, "{at_least}");
    }

    /// At one half and below there is no such two-sided interval; a narrower promise is kept by a wider interval.
    #[test]
    fn low_one_sided_levels_are_achieved_and_more() {
        let ratio = MeanRatio::new(&sample(&[2.0, 2.2, 2.1]), &sample(&[1.0, 1.2, 1.1])).unwrap();
        let RatioInterval::Bounded(interval) = ratio.interval_against(Alternative::Greater, level(0.3))
        else {
            panic!()
        };
        assert!(interval.level.get() >= 0.5 && interval.lower <= ratio.estimate(), "{interval:?}");
    }
}
