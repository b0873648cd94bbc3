//! The differences within pairs: their median by the sign test, their mean by the t test.

use super::CenterDifference;
use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval, Unbounded};
use crate::{sample::Sample, sample::SampleQuantile, test::OneSampleTTest, test::TTestError};

/// The median of the differences within pairs, baseline less candidate: half of the pairs have a larger one. The sign test of those
/// differences, and its interval, between two of them (David and Nagaraja, Order Statistics, 2003, §7.1).
#[derive(Clone, Debug)]
pub struct PairedMedianDifference(Pairs);

/// The mean of the differences within pairs, baseline less candidate, with the paired t test.
#[derive(Clone, Debug)]
pub struct PairedMeanDifference(Pairs);

/// Two samples of one length, in the order of the pairs.
#[derive(Clone, Debug)]
struct Pairs {
    pairs: Vec<(f64, f64)>,
    differences: Sample,
}

impl Pairs {
    fn new(baseline: &Sample, candidate: &Sample) -> Option<Self> {
        let pairs = baseline.in_run_order().iter().copied().zip(candidate.in_run_order().iter().copied());
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let differences = differences(&pairs, 1.0)?;
        (baseline.len() == candidate.len()).then_some(Self { pairs, differences })
    }
}

/// The baseline's less so many times the candidate's.
fn differences(pairs: &[(f64, f64)], factor: f64) -> Option<Sample> {
    Sample::new(pairs.iter().map(|(x, y)| x - factor * y).collect()).ok()
}

impl PairedMedianDifference {
    /// The method's full name.
    pub const NAME: &'static str =
        "median of the differences within pairs, between order statistics (sign test)";

    /// Of the pairs that two samples of one length are, in run order; none of samples of different lengths.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Option<Self> {
        Pairs::new(baseline, candidate).map(Self)
    }

    fn p_at(&self, factor: f64, hypothesis: f64, alternative: Alternative) -> PValue {
        let differences = differences(&self.0.pairs, factor);
        let p = differences.map(|sample| SampleQuantile::median(&sample).p_value(hypothesis, alternative));
        p.unwrap_or(PValue::clamped(1.0))
    }
}

impl CenterDifference for PairedMedianDifference {
    fn estimate(&self) -> f64 {
        self.0.differences.median()
    }

    fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let interval = SampleQuantile::median(&self.0.differences).interval(level);
        let method = Self::NAME;
        if interval.lower.is_finite() && interval.upper.is_finite() {
            RatioInterval::Bounded(Interval { method, ..interval })
        } else {
            RatioInterval::Unbounded { method, level, reason: Unbounded::TooFewRuns }
        }
    }

    fn p_value(&self, factor: f64, alternative: Alternative) -> PValue {
        self.p_at(factor, 0.0, alternative)
    }

    fn p_same(&self, margin: f64) -> PValue {
        // At the margin they are the same: what is left out is below 0 and above it.
        let below = self.p_at(1.0 / (1.0 + margin), -f64::MIN_POSITIVE, Alternative::Greater);
        let above = self.p_at(1.0 + margin, f64::MIN_POSITIVE, Alternative::Less);
        PValue::clamped(below.told().max(above.told()))
    }
}

impl PairedMeanDifference {
    /// The method's full name.
    pub const NAME: &'static str = "mean of the differences within pairs (paired t test)";

    /// Of the pairs that two samples of one length are, in run order.
    ///
    /// # Errors
    /// [`TTestError`] for a single pair, for samples of different lengths, and for differences that do not vary beyond rounding.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, TTestError> {
        let too_few = TTestError::TooFew { n: baseline.len(), m: candidate.len() };
        let pairs = Pairs::new(baseline, candidate).ok_or(too_few)?;
        OneSampleTTest::new(&pairs.differences, 0.0)?;
        Ok(Self(pairs))
    }
}

impl CenterDifference for PairedMeanDifference {
    fn estimate(&self) -> f64 {
        self.0.differences.mean()
    }

    fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        match OneSampleTTest::new(&self.0.differences, 0.0) {
            Ok(test) => {
                let interval = test.interval(Alternative::TwoSided, level);
                RatioInterval::Bounded(Interval {
                    method: Self::NAME,
                    caveats: Vec::<Caveat>::new(),
                    ..interval
                })
            }
            Err(_) => RatioInterval::Unbounded { method: Self::NAME, level, reason: Unbounded::TooFewRuns },
        }
    }

    fn p_value(&self, factor: f64, alternative: Alternative) -> PValue {
        let differences = differences(&self.0.pairs, factor);
        let test = differences.and_then(|sample| OneSampleTTest::new(&sample, 0.0).ok());
        test.map_or(PValue::clamped(1.0), |test| test.p_value(alternative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(values: impl IntoIterator<Item = u8>) -> Sample {
        Sample::new(values.into_iter().map(f64::from).collect()).unwrap()
    }

    #[test]
    fn six_pairs_of_one_sign_are_shown_to_differ() {
        let x = sample([3, 4, 9, 5, 6, 7]);
        let y = sample([0, 1, 0, 0, 2, 0]);
        let median = PairedMedianDifference::new(&x, &y).unwrap();
        assert_eq!(median.estimate(), 4.5);
        assert!((median.p_value(1.0, Alternative::TwoSided).get() - 2.0 / 64.0).abs() < 1e-12);
        let interval = median.interval(ConfidenceLevel::USUAL);
        assert!(interval.bounded().is_some_and(|interval| (interval.lower, interval.upper) == (3.0, 9.0)));
        let zeros = sample([0; 6]);
        let none = PairedMedianDifference::new(&zeros, &zeros).unwrap();
        assert!((none.p_same(0.1).get() - 1.0 / 64.0).abs() < 1e-12);
        assert!(PairedMedianDifference::new(&x, &sample([1, 2])).is_none());
        assert!(PairedMeanDifference::new(&zeros, &zeros).is_err());
    }

    proptest! {
        /// Tests and intervals agree, and exchanging the versions turns them around.
        #[test]
        fn p_value_and_interval_agree(pairs in prop::collection::vec((0_u8..20, 0_u8..20), 6..40), risk in 0.01..0.3_f64) {
            let x = sample(pairs.iter().map(|pair| pair.0));
            let y = sample(pairs.iter().map(|pair| pair.1));
            let level = ConfidenceLevel::new(1.0 - risk).unwrap();
            let medians = [(&x, &y), (&y, &x)].map(|(x, y)| PairedMedianDifference::new(x, y).unwrap());
            let means = [(&x, &y), (&y, &x)].map(|(x, y)| PairedMeanDifference::new(x, y).ok());
            let mut both: Vec<[&dyn CenterDifference; 2]> = vec![[&medians[0], &medians[1]]];
            if let [Some(there), Some(back)] = &means {
                both.push([there, back]);
            }
            for [there, back] in both {
                let p = there.p_value(1.0, Alternative::TwoSided).get();
                prop_assert!((p - back.p_value(1.0, Alternative::TwoSided).get()).abs() < 1e-12);
                if let (Some(interval), Some(turned)) = (there.interval(level).bounded(), back.interval(level).bounded()) {
                    prop_assert!((interval.lower + turned.upper).abs() < 1e-9);
                    let leaves_out = interval.lower > 0.0 || interval.upper < 0.0;
                    prop_assert!(leaves_out == (p <= level.risk().get()) || (p - level.risk().get()).abs() < 1e-9);
                }
            }
        }
    }
}
