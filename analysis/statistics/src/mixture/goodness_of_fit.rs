//! Whether a sample can come from a Gaussian mixture: the test KSfit (Worms 2016 §5.1).
//!
//! D = sup |F̃ − F̂| is small because F̂ was fitted to the same observations, so no table gives its law. The parametric
//! bootstrap does: N samples of the fitted mixture, each fitted anew with its number of components chosen anew, and
//! the distance of each to its own fit.

use crate::mixture::{FitMethod, Mixture, MixtureFitError, Refit, Refits, distance, tied_share};
use crate::{inference::PValue, inference::Risk, sample::Sample};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use speedup_core::{value::seed::Seed, value::seed::below};
use thiserror::Error;

/// The fewest resamples; the paper finds the p-value's noise too large below (Worms 2016 §5.1.3).
pub const FEWEST_RESAMPLES: u32 = 200;
/// The usual number of resamples (Worms 2016 §5.1.3).
pub const USUAL_RESAMPLES: u32 = 500;
/// The most resamples: at a millisecond each a quarter of an hour.
pub const MOST_RESAMPLES: u32 = 1_000_000;

/// Of [`FEWEST_RESAMPLES`], farther ones after which the p-value is clearly large, above 0.1: see [`Drawing::UntilFarther`].
pub const ENOUGH_FARTHER: u32 = 20;
/// The most observations that are tested: their critical distance is near 0.006, below what matters in a law of run times, and of
/// millions each resample would take seconds.
pub const MOST_TESTED: usize = 20_000;
/// The least number of resamples that threads share before the next look.
const LEAST_ROUND: u32 = 8;

/// When no more resamples are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawing {
    /// When all are drawn.
    #[default]
    All,
    /// Or once so many, at least one, are farther than the sample: with h farther ones among the first l, the last of them the
    /// l-th, h/l is a p-value (J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991). Of N resamples
    /// a p-value of h/N or less is that of drawing all.
    UntilFarther(u32),
}

/// How many observations a resample has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResampleSize {
    /// As many as the sample.
    #[default]
    Same,
    /// ⌊0.9 n⌋: with several hundred observations the test rejects a little too often otherwise (Worms 2016 §5.2.3).
    NineTenths,
}

/// How the test is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GoodnessOfFitOptions {
    /// N, from [`FEWEST_RESAMPLES`] to [`MOST_RESAMPLES`].
    pub resamples: u32,
    /// Whether all of them are drawn.
    pub drawing: Drawing,
    pub size: ResampleSize,
    /// How the sample and every resample is fitted. The test is of the family of mixtures, and holds for either; mclust's
    /// schedule is many times faster.
    pub method: FitMethod,
    /// Which models of the resamples are fitted by mclust's schedule; of the sample itself all are.
    pub refits: Refits,
    /// Resample i draws from stream i of this seed's child `ksfit`, whatever thread it runs on.
    pub seed: Seed,
}

/// The distance of a sample to its mixture, among those of resamples to theirs.
///
/// ```
/// use speedup_core::value::seed::Seed;
/// use speedup_statistics::mixture::goodness_of_fit::{GoodnessOfFit, GoodnessOfFitOptions};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Two clusters of run times, near 10 and near 12.
/// let times = Sample::new(vec![9.79, 9.87, 9.92, 9.97, 10.02, 10.08, 10.14, 10.21, 11.83, 11.93, 12.01, 12.08, 12.17])?;
/// let options = GoodnessOfFitOptions { resamples: 200, ..GoodnessOfFitOptions::usual(Seed(1)) };
/// let test = GoodnessOfFit::new(&times, options)?;
/// assert_eq!(test.mixture.components().len(), 2);
/// // The p-value is the share of the resamples that are farther from their own mixtures.
/// let farther = test.resampled_distances().iter().filter(|distance| **distance > test.distance).count();
/// assert!((test.p_value().get() - farther as f64 / 200.0).abs() < 1e-12 && farther > 20);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoodnessOfFit {
    /// How the test was made.
    pub options: GoodnessOfFitOptions,
    /// F̂, the mixture that is tested, by the options' method: that of the tested observations.
    pub mixture: Mixture,
    /// D, in [0, 1].
    pub distance: f64,
    /// The observations of each resample.
    pub resample_size: usize,
    /// What the reader must know.
    pub caveats: Vec<GoodnessOfFitCaveat>,
    /// The distances of the resamples in ascending order.
    #[serde(skip)]
    distances: Vec<f64>,
}

/// Why the test was not made.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum GoodnessOfFitError {
    #[error("the sample has no mixture whose fit could be tested")]
    Mixture(#[from] MixtureFitError),
    /// Too few resamples for a p-value, or more than anyone waits for.
    #[error("the test takes {FEWEST_RESAMPLES} to {MOST_RESAMPLES} resamples, not {0}")]
    Resamples(u32),
    /// No resample has a mixture: the spread is lost in the rounding of the mean.
    #[error("samples of the fitted mixture are all equal: its spread is lost in rounding")]
    Rounding,
}

speedup_core::hints! { GoodnessOfFitError:
    Self::Mixture(error) => error.hint(),
    Self::Resamples(_) => "500 are usual",
    Self::Rounding => "subtract what is common before recording",
}

/// A condition that weakens the test without forbidding it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum GoodnessOfFitCaveat {
    /// Observations that equal another one: resamples have none, so the distance of the sample is larger by the ties alone.
    Ties { share: f64 },
    /// No resample is farther than the sample: the p-value is below its resolution.
    BelowResolution {
        /// 1/N.
        resolution: f64,
    },
    /// The sample has more than [`MOST_TESTED`] observations, and so many of them were tested, drawn at random.
    Subset { tested: usize, of: usize },
    /// Resamples that had no mixture, left out.
    ResamplesLeftOut { count: usize },
}

impl GoodnessOfFitOptions {
    /// 500 resamples of the sample's size, by mclust's schedule as in the paper.
    pub fn usual(seed: Seed) -> Self {
        Self {
            resamples: USUAL_RESAMPLES,
            drawing: Drawing::All,
            size: ResampleSize::Same,
            method: FitMethod::Mclust,
            refits: Refits::default(),
            seed,
        }
    }
}

impl GoodnessOfFit {
    /// The method's full name.
    pub const NAME: &'static str =
        "KSfit: Kolmogorov–Smirnov distance to the fitted mixture, parametric bootstrap";

    /// Tests whether `sample` could come from a Gaussian mixture.
    ///
    /// # Errors
    /// [`GoodnessOfFitError`] when the sample has no mixture, or the number of resamples is out of range.
    pub fn new(sample: &Sample, options: GoodnessOfFitOptions) -> Result<Self, GoodnessOfFitError> {
        if !(FEWEST_RESAMPLES..=MOST_RESAMPLES).contains(&options.resamples) {
            return Err(GoodnessOfFitError::Resamples(options.resamples));
        }
        let n = sample.len();
        if n < 2 {
            return Err(MixtureFitError::TooFew { n }.into());
        }
        let of = n;
        let subset = subset(sample, options.seed);
        let sample = subset.as_ref().unwrap_or(sample);
        let n = sample.len();
        if sample.is_constant() {
            return Err(MixtureFitError::AllEqual { n, value: sample.min() }.into());
        }
        let mut fit = Refit::new(options.method, Refits::Exhaustive);
        let mixture = fit.mixture(sample.sorted()).ok_or(MixtureFitError::NoFit { n })?;
        let resample_size = match options.size {
            ResampleSize::Same => n,
            ResampleSize::NineTenths => (n * 9 / 10).max(2),
        };
        let streams = options.seed.child("ksfit");
        let distance = distance(&mixture, sample.sorted());
        let resamples = Resamples { mixture: &mixture, size: resample_size, options, streams };
        let drawn = resamples.drawn(distance);
        let mut distances: Vec<f64> = drawn.iter().copied().flatten().collect();
        if distances.is_empty() {
            return Err(GoodnessOfFitError::Rounding);
        }
        distances.sort_unstable_by(f64::total_cmp);
        let left_out = drawn.len() - distances.len();
        let mut test = Self { options, distance, mixture, resample_size, caveats: Vec::new(), distances };
        test.caveats = test.caveats(sample, left_out);
        if n < of {
            test.caveats.push(GoodnessOfFitCaveat::Subset { tested: n, of });
        }
        Ok(test)
    }

    /// The share of the drawn resamples whose distance is strictly greater than the sample's. Zero means below
    /// 1/N: print it so.
    pub fn p_value(&self) -> PValue {
        let not_greater = self.distances.partition_point(|d| *d <= self.distance);
        PValue::clamped((self.distances.len() - not_greater) as f64 / self.distances.len() as f64)
    }

    /// The ⌊N(1 − risk)⌋-th smallest distance of the N drawn resamples: the sample does not fit at `risk` if its distance is
    /// greater. `None` if that is none of them.
    pub fn critical_distance(&self, risk: Risk) -> Option<f64> {
        // The product is rounded where R rounds it: 500 · (1 − 0.05) is 475.
        let rank = (self.distances.len() as f64 * (1.0 - risk.get())).floor() as usize;
        rank.checked_sub(1).map(|place| self.distances[place])
    }

    /// The distances of the resamples to their own fits, ascending.
    pub fn resampled_distances(&self) -> &[f64] {
        &self.distances
    }

    /// Whether not all observations were tested.
    pub fn is_of_subset(&self) -> bool {
        self.caveats.iter().any(|caveat| matches!(caveat, GoodnessOfFitCaveat::Subset { .. }))
    }

    fn caveats(&self, sample: &Sample, left_out: usize) -> Vec<GoodnessOfFitCaveat> {
        let mut caveats = Vec::new();
        let share = tied_share(sample.sorted());
        if share > 0.0 {
            caveats.push(GoodnessOfFitCaveat::Ties { share });
        }
        if self.p_value().get() == 0.0 {
            let resolution = 1.0 / self.distances.len() as f64;
            caveats.push(GoodnessOfFitCaveat::BelowResolution { resolution });
        }
        if left_out > 0 {
            caveats.push(GoodnessOfFitCaveat::ResamplesLeftOut { count: left_out });
        }
        caveats
    }
}

impl GoodnessOfFitCaveat {
    /// A sentence for a person, with a next step.
    pub fn sentence(&self) -> String {
        match self {
            Self::Ties { share } => format!(
                "{:.1} % of the observations equal another one; those of a mixture never do, so the fit looks worse than \
                 it is: use a finer clock or a longer run.",
                100.0 * share
            ),
            Self::BelowResolution { resolution } => {
                format!("The p-value is below {resolution}: take more resamples to know it.")
            }
            Self::Subset { tested, of } => format!(
                "The fit was tested on {tested} of the {of} observations, drawn at random: their law is the same, and differences that \
                 only more of them would show are not seen."
            ),
            Self::ResamplesLeftOut { count } => format!(
                "{count} resamples had no mixture and are left out: the spread is near the rounding of the mean."
            ),
        }
    }
}

/// [`MOST_TESTED`] of the observations, each as likely, where there are more.
fn subset(sample: &Sample, seed: Seed) -> Option<Sample> {
    if sample.len() <= MOST_TESTED {
        return None;
    }
    let mut values = sample.in_run_order().to_vec();
    let mut random = seed.child("ksfit subset");
    for place in 0..MOST_TESTED {
        let left = (values.len() - place) as u64;
        values.swap(place, place + below(left, &mut random) as usize);
    }
    values.truncate(MOST_TESTED);
    Sample::new(values).ok()
}

/// The samples of the fitted mixture, by number.
struct Resamples<'a> {
    mixture: &'a Mixture,
    size: usize,
    options: GoodnessOfFitOptions,
    streams: ChaCha8Rng,
}

impl Resamples<'_> {
    /// The distances of the resamples in the order of their numbers, as many as are drawn for a sample at `distance`; none
    /// for a resample without a mixture.
    fn drawn(&self, distance: f64) -> Vec<Option<f64>> {
        let all = self.options.resamples;
        let enough = match self.options.drawing {
            Drawing::All => return self.round(0, all),
            Drawing::UntilFarther(enough) => enough.max(1),
        };
        let mut drawn = Vec::new();
        let mut farther = 0;
        while (drawn.len() as u32) < all {
            // So many more at least: the threads look together, and what they drew beyond the last is dropped.
            let first = drawn.len() as u32;
            for one in self.round(first, (enough - farther).max(LEAST_ROUND).min(all - first)) {
                drawn.push(one);
                farther += u32::from(one.is_some_and(|one| one > distance));
                if farther == enough {
                    return drawn;
                }
            }
        }
        drawn
    }

    /// The distances of `count` resamples from number `first`.
    fn round(&self, first: u32, count: u32) -> Vec<Option<f64>> {
        let worker = || Refit::new(self.options.method, self.options.refits);
        let numbers: Vec<u32> = (first..first + count).collect();
        let distance_of = |refit: &mut Refit, number: u32| {
            let resample = self.resample(number);
            refit.mixture(&resample).map(|mixture| distance(&mixture, &resample))
        };
        numbers.into_par_iter().map_init(worker, distance_of).collect()
    }

    /// Resample `number` in ascending order.
    fn resample(&self, number: u32) -> Vec<f64> {
        let mut random = self.streams.clone();
        let mut values = Vec::with_capacity(self.size);
        random.set_stream(u64::from(number));
        self.mixture.draw(self.size, &mut random, &mut values);
        values.sort_unstable_by(f64::total_cmp);
        values
    }
}
