//! The clusters of a cell's times: the mixture that describes them, and whether it does (Worms 2016).
//!
//! Made only when asked for: the bootstrap behind each p-value refits hundreds of mixtures.

use crate::conclusion::{Reason, ReasonCode};
use crate::study::validity::diagnostic::{DiagnosedCell, DiagnosticReport};
use rand_chacha::rand_core::Rng as _;
use serde::{Deserialize, Serialize};
use speedup_core::value::seed::Seed;
use speedup_statistics::diagnostics::host_effect::{ClusterHosts, Shuffles};
use speedup_statistics::mixture::goodness_of_fit::{
    Drawing, ENOUGH_FARTHER, FEWEST_RESAMPLES, GoodnessOfFit, GoodnessOfFitOptions, MOST_TESTED, ResampleSize,
};
use speedup_statistics::mixture::{Component, FitMethod, Mixture, MixtureFit, Refits};
use speedup_statistics::sample::Sample;
use std::collections::BTreeSet;

/// Worms 2016 §4.3 fitted samples of 30 runs and more.
pub const FEWEST_RUNS_OF_A_MIXTURE: usize = 30;
/// Resamples of each test at most: the fewest with which its p-value is no noise (Worms 2016 §5.1.3).
const RESAMPLES: u32 = FEWEST_RESAMPLES;
/// Shuffles of the clusters over the hosts, at most: the least p-value that they can show is to pass Holm's bound among hundreds.
const SHUFFLES: u64 = 99_999;

/// The mixture of one cell's wall times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MixtureReport {
    /// It was fitted.
    Fitted {
        /// Its components, the fastest first.
        components: Vec<ComponentReport>,
        /// The modes of its density, in nanoseconds: the paper's variability level I₄ is their number.
        modes_ns: Vec<f64>,
        /// sup |F̃ − F̂|.
        distance: f64,
        /// The share of resamples that are farther from their own mixture (KSfit).
        p_value: f64,
        /// How many resamples were drawn: a p-value of 0 is below their reciprocal.
        resamples: u32,
        /// How it was fitted.
        method: String,
    },
    /// There is none.
    NotFitted {
        /// Why.
        reason: Reason,
    },
}

/// One cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComponentReport {
    /// Its share of the runs.
    pub weight: f64,
    /// Its mean, in nanoseconds.
    pub mean_ns: f64,
    /// Its standard deviation, in nanoseconds.
    pub sd_ns: f64,
}

impl MixtureReport {
    /// Of a cell, from a child of the experiment's seed with its name.
    pub(crate) fn new(sample: &Sample, benchmark: &str, version: &str, seed: Seed) -> Self {
        let runs = sample.len();
        if runs < FEWEST_RUNS_OF_A_MIXTURE {
            let sentence =
                format!("A mixture takes at least {FEWEST_RUNS_OF_A_MIXTURE} runs, but there are {runs}");
            return Self::NotFitted { reason: Reason::new(ReasonCode::TooFewRuns, sentence) };
        }
        // Names are lengths first, so that no two pairs of names make one child.
        let child = format!("mixture {} {benchmark} {version}", benchmark.len());
        let options = GoodnessOfFitOptions {
            resamples: RESAMPLES,
            drawing: Drawing::UntilFarther(ENOUGH_FARTHER),
            size: ResampleSize::Same,
            method: FitMethod::Mclust,
            refits: Refits::Drafted,
            seed: Seed(seed.child(&child).next_u64()),
        };
        match GoodnessOfFit::new(sample, options) {
            Err(error) => Self::NotFitted { reason: Reason::of(ReasonCode::NoMixture, &error) },
            Ok(test) => Self::of(sample, &test),
        }
    }

    fn of(sample: &Sample, test: &GoodnessOfFit) -> Self {
        // A test of a part of many runs says how well such a mixture fits; what is told is that of all.
        let of_all =
            test.is_of_subset().then(|| MixtureFit::with_method(sample, FitMethod::Mclust).ok()).flatten();
        let mixture = of_all.map_or_else(|| test.mixture.clone(), |fit| fit.mixture);
        let tested = if test.is_of_subset() {
            format!(", on {MOST_TESTED} of {} runs drawn at random", sample.len())
        } else {
            String::new()
        };
        Self::Fitted {
            components: mixture
                .components()
                .iter()
                .map(|one| ComponentReport { weight: one.weight, mean_ns: one.mean, sd_ns: one.sd })
                .collect(),
            modes_ns: mixture.modes(),
            distance: test.distance,
            p_value: test.p_value().get(),
            resamples: test.resampled_distances().len() as u32,
            method: format!(
                "{}; {}, at most {RESAMPLES} resamples, fewer once {ENOUGH_FARTHER} are farther{tested}",
                FitMethod::Mclust.name(),
                GoodnessOfFit::NAME
            ),
        }
    }

    /// Whether the clusters are hosts: each run's likeliest component against its host, labels shuffled over the runs. `None`
    /// with one component, one host, or a host for each run, where nothing can be seen.
    pub(crate) fn against_hosts(
        &self,
        cell: &DiagnosedCell<'_>,
        version: &str,
        seed: Seed,
    ) -> Option<DiagnosticReport> {
        let hosts: Vec<u32> = cell.locations.iter().map(|location| location.host).collect();
        let different: BTreeSet<u32> = hosts.iter().copied().collect();
        if different.len() == hosts.len() {
            return None;
        }
        let child = format!("modes and hosts {} {} {version}", cell.about.len(), cell.about);
        self.against(cell, &hosts, Seed(seed.child(&child).next_u64()))
    }

    /// Likewise whether the clusters are the fingerprint classes of the hosts, where these are blocks. Hosts of no known
    /// class are one of their own.
    pub(crate) fn against_classes(
        &self,
        cell: &DiagnosedCell<'_>,
        version: &str,
        seed: Seed,
    ) -> Option<DiagnosticReport> {
        cell.classes_are_blocks.then_some(())?;
        let classes: Vec<u32> =
            cell.locations.iter().map(|location| location.class.map_or(0, |class| class.get() + 1)).collect();
        let child = format!("modes and classes {} {} {version}", cell.about.len(), cell.about);
        self.against(cell, &classes, Seed(seed.child(&child).next_u64()))
    }

    fn against(&self, cell: &DiagnosedCell<'_>, labels: &[u32], seed: Seed) -> Option<DiagnosticReport> {
        let Self::Fitted { components, .. } = self else { return None };
        let components = components.iter();
        let components = components
            .map(|one| Component { weight: one.weight, mean: one.mean_ns, sd: one.sd_ns })
            .collect();
        let mixture = Mixture::new(components).ok()?;
        let clusters: Vec<u32> =
            cell.sample.in_run_order().iter().map(|value| mixture.cluster(*value) as u32).collect();
        let found = ClusterHosts::new(&clusters, labels, Shuffles::until_as_large(SHUFFLES), seed).ok()?;
        Some(DiagnosticReport::new(found.cramers_v(), found.p_value()))
    }
}
