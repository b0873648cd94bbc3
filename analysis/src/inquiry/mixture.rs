//! Gaussian mixtures of each sample, their test of fit, and the metrics of variability (Worms 2016).

use super::method::{FindResult, MethodEffort, MethodFindings, MethodSpec};
use super::{Findings, Inquiry, InquiryError, Preference, pairing::Pairing};
use super::{refusal::LARGEST_VALUE, suite::ObservedSample};
use crate::conclusion::{Reason, ReasonCode, Warning};
use rand_chacha::rand_core::Rng as _;
use serde::{Deserialize, Serialize};
use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::goodness_of_fit::{
    Drawing, FEWEST_RESAMPLES, GoodnessOfFit, GoodnessOfFitError, GoodnessOfFitOptions, MOST_RESAMPLES,
    ResampleSize, USUAL_RESAMPLES,
};
use speedup_statistics::mixture::variability::{ProbabilityBelow, ProbabilityShortest, empirical, modelled};
use speedup_statistics::mixture::{Component, FitMethod, Mixture, MixtureFit, MixtureFitError, Refits};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample};
use std::collections::BTreeMap;

/// Where it is from.
pub(super) const SOURCE: &str =
    "Worms, Touati: Modelling Program's Performance with Gaussian Mixtures for Parametric Statistics, 2016";

/// Options of mixtures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixtureOptions {
    /// How far the likelihood is climbed.
    pub fit: FitMethod,
    /// Resamples of the test of fit; 0 leaves it out.
    pub resamples: u32,
    pub resample_size: ResampleSize,
    /// Δ of I₂: by how much a run may be slower and still count, in the unit of the values.
    pub delta: f64,
}

impl Default for MixtureOptions {
    fn default() -> Self {
        Self {
            fit: FitMethod::default(),
            resamples: USUAL_RESAMPLES,
            resample_size: ResampleSize::default(),
            delta: 0.0,
        }
    }
}

/// The mixtures, and versions beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixtureFindings {
    pub samples: Vec<MixtureFinding>,
    /// Baseline and candidate of each benchmark: I₁ and I₂.
    pub metrics: Vec<MetricFinding>,
    /// All versions of each benchmark: I₃.
    pub shortest: Vec<ShortestFinding>,
}

/// The mixture of one sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MixtureFinding {
    pub version: String,
    pub benchmark: String,
    pub reason: Option<Reason>,
    /// K, the number of its components.
    pub components_count: Option<usize>,
    /// E for equal variances, V for varying ones.
    pub model: Option<char>,
    /// Its components in ascending order of their means.
    pub components: Vec<Component>,
    /// 2L − p ln n; larger is better.
    pub bic: Option<f64>,
    /// L, the log-likelihood.
    pub log_likelihood: Option<f64>,
    /// The modes of its density.
    pub modes: Vec<f64>,
    /// I₄, the number of modes.
    pub variability_level: Option<usize>,
    /// The distance of the sample to the mixture that the test of fit made.
    pub fit_distance: Option<f64>,
    /// The distance above which it does not fit at the level.
    pub fit_critical_distance: Option<f64>,
    /// The p-value of the test of fit; 0 is below the resolution, 1/resamples.
    pub fit_p_value: Option<f64>,
    pub fit_resamples: Option<usize>,
    /// Why the test of fit was not made.
    pub fit_reason: Option<Reason>,
    pub caveats: Vec<Warning>,
}

/// Baseline and candidate of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricFinding {
    pub candidate: String,
    pub benchmark: String,
    /// I₁ from the observations, in their unit.
    pub mean_difference: f64,
    /// I₁ from the mixtures; absent where a version has none.
    pub mean_difference_modelled: Option<f64>,
    /// I₂: how probably a run of the candidate is better than one of the baseline, or worse by less than Δ.
    pub probability_better: ProbabilityBelow,
    /// I₂ from the mixtures.
    pub probability_better_modelled: Option<f64>,
}

/// All versions of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortestFinding {
    pub benchmark: String,
    /// I₃: how probably a run of each version is the best of one run of each, in the order of the versions.
    pub observed: ProbabilityShortest,
    /// The same from the mixtures; absent where a version has none.
    pub modelled: Option<Vec<f64>>,
}

struct FittedSample<'p> {
    benchmark: &'p str,
    observed: &'p ObservedSample<'p>,
    mixture: Option<Mixture>,
}

impl MethodSpec for MixtureOptions {
    fn name(&self) -> &'static str {
        self.fit.name()
    }

    fn sources(&self) -> &'static [&'static str] {
        &[SOURCE]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let mut samples = Vec::new();
        let mut fitted: Vec<Vec<FittedSample<'_>>> = Vec::new();
        for (version, of_version) in pairing.versions.iter().zip(&pairing.samples) {
            let mut own = Vec::new();
            for observed in of_version {
                let (finding, mixture) = sample(version, observed, inquiry.seed, self, level);
                samples.push(finding);
                own.push(FittedSample { benchmark: &observed.named.benchmark, observed, mixture });
            }
            fitted.push(own);
        }
        // Versions may lack a benchmark, so samples are found by its name.
        let by_name: Vec<BTreeMap<&str, &FittedSample<'_>>> =
            fitted.iter().map(|own| own.iter().map(|one| (one.benchmark, one)).collect()).collect();
        let mut metrics = Vec::new();
        let mut shortest = Vec::new();
        for name in &pairing.benchmarks {
            let all: Vec<&FittedSample<'_>> =
                by_name.iter().filter_map(|own| own.get(name).copied()).collect();
            if all.len() < 2 {
                continue;
            }
            for (candidate, of_candidate) in pairing.versions.iter().zip(&all).skip(1) {
                metrics.push(metric(candidate, name, all[0], of_candidate, self.delta, inquiry.better));
            }
            shortest.push(shortest_finding(name, &all, inquiry.better)?);
        }
        Ok(Findings::Mixture(MixtureFindings { samples, metrics, shortest }))
    }

    fn check(&self) -> Result<(), InquiryError> {
        if self.resamples != 0 && !(FEWEST_RESAMPLES..=MOST_RESAMPLES).contains(&self.resamples) {
            return Err(InquiryError::Resamples(self.resamples));
        }
        if !self.delta.is_finite() || self.delta.abs() > LARGEST_VALUE {
            return Err(InquiryError::Delta(self.delta));
        }
        Ok(())
    }

    fn compares(&self) -> bool {
        false
    }

    fn pairs(&self) -> bool {
        true
    }

    fn effort(&self) -> MethodEffort {
        match self.resamples {
            0 => MethodEffort::Computed,
            resamples => MethodEffort::Fitted(resamples),
        }
    }
}

impl MethodFindings for MixtureFindings {
    fn reasons(&self) -> Vec<Reason> {
        self.samples.iter().flat_map(|one| [one.reason.clone(), one.fit_reason.clone()]).flatten().collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.samples.iter().flat_map(|one| one.caveats.clone()).collect()
    }
}

fn sample(
    version: &str,
    observed: &ObservedSample<'_>,
    seed: Seed,
    options: &MixtureOptions,
    level: ConfidenceLevel,
) -> (MixtureFinding, Option<Mixture>) {
    let benchmark = &observed.named.benchmark;
    let mut finding = MixtureFinding {
        version: version.to_owned(),
        benchmark: benchmark.clone(),
        ..MixtureFinding::default()
    };
    let fit = match MixtureFit::with_method(&observed.sample, options.fit) {
        Ok(fit) => fit,
        Err(error) => {
            finding.reason = Some(refusal(error));
            return (finding, None);
        }
    };
    let modes = fit.mixture.modes();
    finding.components_count = Some(fit.mixture.components().len());
    finding.model = Some(fit.model.letter());
    finding.components = fit.mixture.components().to_vec();
    finding.bic = Some(fit.bic);
    finding.log_likelihood = Some(fit.log_likelihood);
    finding.variability_level = Some(modes.len());
    finding.modes = modes;
    finding.caveats = fit.caveats.iter().map(Warning::from).collect();
    if options.resamples > 0 {
        // Each sample has random numbers of its own, so that one more sample changes nothing for the others.
        let purpose = format!("inquiry test of fit {benchmark:?} of {version:?}");
        let options = GoodnessOfFitOptions {
            resamples: options.resamples,
            drawing: Drawing::All,
            size: options.resample_size,
            method: FitMethod::Mclust,
            refits: Refits::Drafted,
            seed: Seed(seed.child(&purpose).next_u64()),
        };
        finding.test_fit(&observed.sample, options, level);
    }
    (finding, Some(fit.mixture))
}

pub(super) fn refusal(error: MixtureFitError) -> Reason {
    let code = match error {
        MixtureFitError::TooFew { .. } => ReasonCode::TooFewRuns,
        MixtureFitError::AllEqual { .. } => ReasonCode::Constant,
        MixtureFitError::NoFit { .. } => ReasonCode::NoFit,
    };
    Reason::of(code, &error)
}

fn metric(
    candidate: &str,
    benchmark: &str,
    baseline: &FittedSample<'_>,
    of_candidate: &FittedSample<'_>,
    delta: f64,
    better: Preference,
) -> MetricFinding {
    // The smaller is the better: where larger is, the roles are exchanged.
    let (good, other) = match better {
        Preference::Lower => (of_candidate, baseline),
        Preference::Higher => (baseline, of_candidate),
    };
    let mixtures = good.mixture.as_ref().zip(other.mixture.as_ref());
    MetricFinding {
        candidate: candidate.to_owned(),
        benchmark: benchmark.to_owned(),
        mean_difference: empirical::mean_difference(&good.observed.sample, &other.observed.sample),
        mean_difference_modelled: mixtures.map(|(x, y)| modelled::mean_difference(x, y)),
        probability_better: empirical::probability_below(
            &good.observed.sample,
            &other.observed.sample,
            delta,
        ),
        probability_better_modelled: mixtures.map(|(x, y)| modelled::probability_below(x, y, delta).below),
    }
}

fn shortest_finding(
    benchmark: &str,
    all: &[&FittedSample<'_>],
    better: Preference,
) -> Result<ShortestFinding, InquiryError> {
    let mut samples = Vec::with_capacity(all.len());
    let mut mixtures = Vec::with_capacity(all.len());
    for one in all {
        let sample = &one.observed.sample;
        let mixture = one.mixture.as_ref();
        // The greatest value is the least of the negatives.
        match better {
            Preference::Lower => {
                samples.push(sample.clone());
                mixtures.extend(mixture.cloned());
            }
            Preference::Higher => {
                let negative = sample.in_run_order().iter().map(|x| -x).collect();
                samples.push(Sample::new(negative).map_err(InquiryError::Sample)?);
                mixtures.extend(mixture.and_then(mirrored));
            }
        }
    }
    // All versions need one.
    let mixtures = if mixtures.len() == all.len() { Some(mixtures) } else { None };
    Ok(ShortestFinding {
        benchmark: benchmark.to_owned(),
        observed: empirical::probability_shortest(&samples.iter().collect::<Vec<_>>()),
        modelled: mixtures
            .map(|mixtures| modelled::probability_shortest(&mixtures.iter().collect::<Vec<_>>()).shares),
    })
}

fn mirrored(mixture: &Mixture) -> Option<Mixture> {
    let negative =
        mixture.components().iter().map(|component| Component { mean: -component.mean, ..*component });
    Mixture::new(negative.collect()).ok()
}

impl MixtureFinding {
    fn test_fit(&mut self, sample: &Sample, options: GoodnessOfFitOptions, level: ConfidenceLevel) {
        match GoodnessOfFit::new(sample, options) {
            Ok(test) => {
                self.fit_distance = Some(test.distance);
                self.fit_critical_distance = test.critical_distance(level.risk());
                self.fit_p_value = Some(test.p_value().get());
                self.fit_resamples = Some(test.resampled_distances().len());
                for caveat in test.caveats.iter().map(Warning::from) {
                    if self.caveats.iter().all(|known| known.code != caveat.code) {
                        self.caveats.push(caveat);
                    }
                }
            }
            Err(error) => {
                self.fit_reason = Some(match error {
                    GoodnessOfFitError::Mixture(error) => refusal(error),
                    GoodnessOfFitError::Resamples(_) => Reason::of(ReasonCode::Resamples, &error),
                    GoodnessOfFitError::Rounding => Reason::of(ReasonCode::Rounding, &error),
                });
            }
        }
    }

    /// Whether the test of fit rejects at the level.
    pub fn fits(&self) -> Option<bool> {
        Some(self.fit_distance? <= self.fit_critical_distance?)
    }
}
