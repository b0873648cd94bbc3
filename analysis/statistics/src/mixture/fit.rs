//! From a sample to the mixture that its criterion chooses (Worms 2016 §4).

use super::{
    MOST_COMPONENTS, Mixture, search::Best, search::Criterion, search::Pruning, search::Search,
    state::VarianceModel,
};
use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use speedup_core::value::count::counted;
use thiserror::Error;

/// How far the likelihood is climbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FitMethod {
    /// The starts, steps and stopping rule of mclust 6 (Worms 2016's program): its numbers to 1e-7. It stops while the
    /// log-likelihood still rises by 1e-5 of itself a step.
    Mclust,
    /// The same, but models far below the best are given up: its criterion was below that of [`FitMethod::Mclust`] in 4 of
    /// 20,000 simulated samples, in half of the time. The criteria of the models that were not given up are mclust's.
    Drafted,
    /// From where mclust stops, and from classes between the largest gaps, to the maximum. Its criterion is never below
    /// that of [`FitMethod::Mclust`].
    #[default]
    Converged,
}

/// A mixture fitted to a sample.
///
/// ```
/// use speedup_statistics::mixture::{FitMethod, MixtureFit};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Worms 2016, appendix A, example 1: the times of ammp.
/// let times = Sample::new(vec![
///     92.41, 92.01, 92.22, 93.22, 93.21, 93.21, 93.02, 93.21, 93.61, 93.62, 94.01, 93.42, 93.82, 93.41, 93.61, 93.42,
///     93.42, 93.61, 93.62, 93.42, 93.81, 93.41, 94.22, 94.22, 94.22, 94.21, 94.22, 95.61, 95.02, 94.62, 94.81,
/// ])?;
/// let fit = MixtureFit::with_method(&times, FitMethod::Mclust)?;
/// assert_eq!((fit.mixture.components().len(), fit.mixture.modes().len()), (5, 4));
/// assert!((fit.mixture.components()[2].mean - 93.54552).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixtureFit {
    /// The law.
    pub mixture: Mixture,
    /// What its variances were allowed to be; one component is given as equal.
    pub model: VarianceModel,
    /// How it was fitted.
    pub method: FitMethod,
    /// Σ ln f(xᵢ), in the unit of the observations. By [`FitMethod::Mclust`], and with the caveat
    /// [`MixtureCaveat::NotConverged`], it is as in mclust that of the parameters one M-step earlier.
    pub log_likelihood: f64,
    /// 2L − p ln n, larger is better.
    pub bic: f64,
    /// The number of parameters p.
    pub parameters: usize,
    /// The number of observations n.
    pub n: usize,
    /// The criterion of every model tried.
    pub criterion: Criterion,
    /// What the reader must know.
    pub caveats: Vec<MixtureCaveat>,
}

/// Why a sample has no mixture.
#[derive(Clone, Copy, Debug, PartialEq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MixtureFitError {
    #[error("a mixture needs at least 2 observations, but there is {n}")]
    TooFew { n: usize },
    #[error("all {n} observations are {value}, so there is no spread to describe")]
    AllEqual { n: usize, value: f64 },
    #[error("no mixture fits the {n} observations")]
    NoFit { n: usize },
}

speedup_core::hints! { MixtureFitError:
    Self::TooFew { .. } => "plan more runs",
    Self::AllEqual { .. } => "use a finer clock or a longer run",
    Self::NoFit { .. } => "look for values that are not times",
}

/// A condition that weakens a mixture without forbidding it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum MixtureCaveat {
    /// Fewer than 30 observations, the least that Worms 2016 §4.3 used.
    FewObservations { n: usize },
    /// Observations that equal another one: the law is continuous (Worms 2016 §1.3.2).
    Ties { share: f64 },
    /// The observations differ in their last digits only, so the law describes the clock.
    CoarseAgainstSpread {
        /// Distinct values of the clock within the sample's range.
        steps: f64,
    },
    /// A component narrower than a thousandth of the sample's spread: two or three close observations can make one.
    NarrowComponent {
        /// Its position, from 0.
        component: usize,
    },
    /// The criterion of another mixture is nearly as large.
    CloseChoice {
        /// The largest criterion less the next.
        lead: f64,
    },
    /// The chosen model has the most components that were tried.
    MostComponents,
    /// The likelihood was still rising when the limit of steps was reached, or rises without bound from there.
    NotConverged,
}

/// Worms 2016 §4.3 fitted samples of 30 to 1000 runs.
const USUAL_SIZE: usize = 30;
/// A range of fewer steps of the floating-point grid than this is mostly rounding.
const FEWEST_STEPS: f64 = 1e4;
/// The standard deviation of a narrow component, relative to the mixture's.
const NARROW: f64 = 1e-3;
/// Differences of BIC below 2 are "not worth more than a bare mention" (Kass and Raftery 1995, §3.2).
const CLEAR_LEAD: f64 = 2.0;

impl FitMethod {
    /// The method's full name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mclust => "Gaussian mixture, E and V, BIC, by the schedule of mclust",
            Self::Drafted => "Gaussian mixture, E and V, BIC, by the schedule of mclust, far models given up",
            Self::Converged => "Gaussian mixture, E and V, BIC, by maximum likelihood run to convergence",
        }
    }
}

impl MixtureFit {
    /// The mixture of `sample`, run to convergence.
    ///
    /// # Errors
    /// [`MixtureFitError`] for a single observation, or when all are equal.
    pub fn new(sample: &Sample) -> Result<Self, MixtureFitError> {
        Self::with_method(sample, FitMethod::default())
    }

    /// The mixture of `sample` by `method`.
    ///
    /// # Errors
    /// [`MixtureFitError`] for a single observation, or when all are equal.
    pub fn with_method(sample: &Sample, method: FitMethod) -> Result<Self, MixtureFitError> {
        let n = sample.len();
        if n < 2 {
            return Err(MixtureFitError::TooFew { n });
        }
        if sample.is_constant() {
            return Err(MixtureFitError::AllEqual { n, value: sample.min() });
        }
        let mut search = Search::default();
        search.load(sample.sorted());
        let (criterion, best) = match method {
            FitMethod::Mclust => search.as_mclust(sample.sorted(), Pruning::Nothing),
            FitMethod::Drafted => search.as_mclust(sample.sorted(), Pruning::OF_SAMPLE),
            FitMethod::Converged => search.converged(sample.sorted()),
        };
        let best = best.ok_or(MixtureFitError::NoFit { n })?;
        let mixture = search.mixture(&best.state);
        let caveats = caveats(sample, &mixture, &criterion, &best, method);
        Ok(Self {
            model: if best.state.components == 1 { VarianceModel::Equal } else { best.model },
            method,
            log_likelihood: search.in_data_unit(best.log_likelihood),
            bic: best.bic,
            parameters: best.model.parameters(best.state.components),
            n,
            mixture,
            criterion,
            caveats,
        })
    }

    /// The most probable component of each observation, in run order.
    pub fn clusters(&self, sample: &Sample) -> Vec<usize> {
        sample.in_run_order().iter().map(|x| self.mixture.cluster(*x)).collect()
    }
}

impl MixtureCaveat {
    /// A sentence for a person, with a next step.
    pub fn sentence(&self) -> String {
        match self {
            Self::FewObservations { n } => {
                let runs = counted(*n as u64, "run");
                format!("With {runs} the number of components is a guess: plan at least {USUAL_SIZE}.")
            }
            Self::Ties { share } => format!(
                "{:.1} % of the observations equal another one, and a mixture is continuous: use a finer clock or a \
                 longer run.",
                100.0 * share
            ),
            Self::CoarseAgainstSpread { steps } => format!(
                "The whole range is {steps:.0} steps of the floating-point grid, so the fit is of rounding: subtract \
                 what is common before recording."
            ),
            Self::NarrowComponent { component } => format!(
                "Component {} is narrower than a thousandth of the whole; a few close observations can make one: look \
                 at them, or plan more runs.",
                component + 1
            ),
            Self::CloseChoice { lead } => format!(
                "Another mixture has a criterion only {lead:.2} smaller: do not rely on the number of components."
            ),
            Self::MostComponents => format!(
                "The mixture has {MOST_COMPONENTS} components, the most that are tried: the observations may not be a \
                 mixture."
            ),
            Self::NotConverged => {
                "The likelihood was still rising at the last step, or rises without bound as a component shrinks \
                 onto a few observations: take the parameters as rough."
                    .to_owned()
            }
        }
    }
}

/// The share of `sorted` observations that equal another one.
pub(crate) fn tied_share(sorted: &[f64]) -> f64 {
    let tied =
        sorted.chunk_by(|a, b| a == b).filter(|group| group.len() > 1).map(<[f64]>::len).sum::<usize>();
    tied as f64 / sorted.len() as f64
}

fn caveats(
    sample: &Sample,
    mixture: &Mixture,
    criterion: &Criterion,
    best: &Best,
    method: FitMethod,
) -> Vec<MixtureCaveat> {
    let mut caveats = Vec::new();
    if sample.len() < USUAL_SIZE {
        caveats.push(MixtureCaveat::FewObservations { n: sample.len() });
    }
    let share = tied_share(sample.sorted());
    if share > 0.0 {
        caveats.push(MixtureCaveat::Ties { share });
    }
    let largest = sample.min().abs().max(sample.max().abs());
    let steps = (sample.max() - sample.min()) / (largest.next_up() - largest);
    if steps < FEWEST_STEPS {
        caveats.push(MixtureCaveat::CoarseAgainstSpread { steps });
    }
    let quarter_range = (sample.max() - sample.min()) / 4.0;
    for (component, law) in mixture.components().iter().enumerate() {
        if law.sd < NARROW * quarter_range {
            caveats.push(MixtureCaveat::NarrowComponent { component });
        }
    }
    if let Some(lead) = criterion.lead().filter(|lead| *lead < CLEAR_LEAD) {
        caveats.push(MixtureCaveat::CloseChoice { lead });
    }
    if mixture.components().len() == MOST_COMPONENTS {
        caveats.push(MixtureCaveat::MostComponents);
    }
    match method {
        FitMethod::Converged if !best.converged => caveats.push(MixtureCaveat::NotConverged),
        FitMethod::Converged | FitMethod::Drafted | FitMethod::Mclust => {}
    }
    caveats
}
