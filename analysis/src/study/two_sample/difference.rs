//! The verdict on values of which some are not positive, so that no ratio can be formed: by the difference of the declared centres.
//!
//! It asks what the ratio asks, whether the centres are equal, and by the same means: of medians order statistics, of means the t law; of
//! what is independent by the plan's design. A margin is a share of a centre, as it is of a ratio.

use super::headline::{HeadlineSpec, RatioFound, Sides};
use crate::conclusion::{Reason, ReasonCode};
use crate::study::design::IndependentUnits;
use speedup_core::experiment::Center;
use speedup_statistics::ratio::difference::{
    CenterDifference, MeanDifference, PairedMeanDifference, PairedMedianDifference, QuantileDifference,
};
use speedup_statistics::{ratio::RatioError, ratio::TrimmedDifference, sample::Sample, test::TTestError};

impl HeadlineSpec {
    /// The ratio of the centres of two samples of what is independent, or their difference where a value of one is not positive. Values
    /// that are all equal have no mean with an error, and one centre: they are compared as medians, as are trimmed means where nothing
    /// varies after trimming.
    pub(crate) fn compared(
        &self,
        over: &Sample,
        under: &Sample,
        arranged: Option<&IndependentUnits>,
    ) -> Result<RatioFound, Reason> {
        let only = only_value([over, under]);
        let center = if only.is_some() { Center::Median } else { self.center };
        let declared = Self { center, ..*self };
        let is_ratio = [over, under].iter().all(|sample| sample.min() > 0.0);
        let found = match is_ratio {
            true => declared.found(over, under, arranged)?,
            false => declared.difference(over, under, arranged)?,
        };
        let found = declared.bounded(found, arranged)?;
        let fewest = over.len().min(under.len());
        let least = self.centre(over, fewest).min(self.centre(under, fewest));
        let note = match only {
            Some(value) => Some(self.of_one_value(value)),
            None if is_ratio => None,
            None => self.of_margin(least),
        };
        // A share of a negative centre is more than it.
        let at_threshold = if least < 0.0 { None } else { found.at_threshold };
        Ok(RatioFound { note, at_threshold, ..found })
    }

    fn difference(
        &self,
        over: &Sample,
        under: &Sample,
        arranged: Option<&IndependentUnits>,
    ) -> Result<RatioFound, Reason> {
        let difference: Box<dyn CenterDifference + '_> =
            match (self.center, Sides::new(over, under, arranged)) {
                (Center::Trimmed, sides) => {
                    let difference = match sides {
                        Sides::Apart(x, y) => TrimmedDifference::within([(x, y, 1.0)], self.trim),
                        Sides::Pairs(x, y) => TrimmedDifference::paired(x, y, self.trim),
                        Sides::Classes(strata) => TrimmedDifference::within(strata, self.trim),
                    };
                    match difference {
                        Ok(difference) => Box::new(difference.compared_at(self.least_risk())),
                        Err(RatioError::EssentiallyConstant) => {
                            let of_medians = Self { center: Center::Median, ..*self };
                            return of_medians
                                .bounded(of_medians.difference(over, under, arranged)?, arranged);
                        }
                        Err(error) => return Err(Reason::from(&error)),
                    }
                }
                (Center::Median, Sides::Apart(x, y)) => Box::new(QuantileDifference::median(x, y)),
                (Center::Median, Sides::Pairs(x, y)) => {
                    Box::new(PairedMedianDifference::new(x, y).ok_or_else(Reason::no_values)?)
                }
                (Center::Median, Sides::Classes(strata)) => {
                    Box::new(QuantileDifference::medians_within(strata).ok_or_else(Reason::no_values)?)
                }
                (Center::Mean, Sides::Pairs(x, y)) => {
                    Box::new(PairedMeanDifference::new(x, y).map_err(|error| refused(&error))?)
                }
                (Center::Mean, sides) => {
                    let means = match sides {
                        Sides::Apart(x, y) | Sides::Pairs(x, y) => MeanDifference::new(x, y),
                        Sides::Classes(strata) => MeanDifference::within(
                            strata.into_iter().filter(|(x, y, _)| x.len() > 1 && y.len() > 1),
                        ),
                    };
                    let means = means.map_err(|error| refused(&error))?;
                    Box::new(if self.is_by_size { means } else { means.by_smaller_side() })
                }
            };
        Ok(self.judge_difference(&*difference))
    }

    fn centre(&self, sample: &Sample, fewest: usize) -> f64 {
        match self.center {
            Center::Median => sample.median(),
            Center::Mean => sample.mean(),
            Center::Trimmed => self.trim.mean_of(sample, fewest),
        }
    }

    /// What a margin, which is a share, means where it is one of nothing.
    fn of_margin(&self, least: f64) -> Option<String> {
        self.margin.filter(|_| least <= 0.0).map(|_| {
            "The margin is a share of the centre, which is not positive here, so that only centres that are shown to be 0 are the same."
                .to_owned()
        })
    }

    fn of_one_value(&self, value: f64) -> String {
        let shown = match self.margin {
            Some(_) => "",
            None => " That they are the same is a verdict only where the plan declares a margin.",
        };
        format!("All values of both versions are equal ({value}).{shown}")
    }
}

/// The value that all observations have, if they have one.
fn only_value(samples: [&Sample; 2]) -> Option<f64> {
    let [first, _] = samples.map(|sample| sample.in_run_order()[0]);
    samples.iter().all(|sample| sample.sorted().iter().all(|value| *value == first)).then_some(first)
}

/// Why means have no difference with an error.
fn refused(error: &TTestError) -> Reason {
    match error {
        TTestError::EssentiallyConstant { .. } => constant(),
        TTestError::TooFew { .. } | TTestError::Unpaired { .. } => Reason::of(ReasonCode::TooFewRuns, error),
    }
}

fn constant() -> Reason {
    Reason::new(
        ReasonCode::Constant,
        "The values of each version do not vary, so that their means have no error: the median can be compared",
    )
}
