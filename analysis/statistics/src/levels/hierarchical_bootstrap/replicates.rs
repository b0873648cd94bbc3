//! What the draws gave, and the intervals read off them.

use crate::inference::{Caveat, ConfidenceLevel, Interval, RatioInterval, Unbounded};
use crate::levels::{BootstrapError, HierarchicalBootstrap, Resampling, Statistic};
use crate::sample::Sample;

/// The statistic of each replicate of one experiment.
#[derive(Clone, Debug)]
pub struct Replicates {
    pub(super) bootstrap: HierarchicalBootstrap,
    pub(super) estimate: f64,
    pub(super) replicates: Sample,
    pub(super) caveats: Vec<Caveat>,
}

/// The ratio of the statistics of each pair of replicates, candidate over baseline.
#[derive(Clone, Debug)]
pub struct RatioReplicates {
    bootstrap: HierarchicalBootstrap,
    estimate: f64,
    ratios: Option<Sample>,
    caveats: Vec<Caveat>,
}

impl Replicates {
    /// The statistic of the experiment itself.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// How the replicates were drawn: scheme, statistic, number, seed.
    pub fn bootstrap(&self) -> &HierarchicalBootstrap {
        &self.bootstrap
    }

    /// The replicates, in the order of their drawing.
    pub fn replicates(&self) -> &Sample {
        &self.replicates
    }

    /// The percentile interval: the quantiles of type 7 at half the risk from either end.
    pub fn interval(&self, level: ConfidenceLevel) -> Interval {
        percentile(self.bootstrap, &self.replicates, level, &self.caveats)
    }
}

impl RatioReplicates {
    /// The ratios of `candidate` to `baseline`, if no replicate of the baseline is on the other side of zero
    /// than `observed`, where a ratio has no meaning.
    pub(super) fn new(
        bootstrap: HierarchicalBootstrap,
        estimate: f64,
        observed: f64,
        baseline: &[f64],
        candidate: &[f64],
        caveats: Vec<Caveat>,
    ) -> Result<Self, BootstrapError> {
        if baseline.iter().any(|below| below * observed.signum() <= 0.0) {
            return Ok(Self { bootstrap, estimate, ratios: None, caveats });
        }
        let ratios: Vec<f64> = candidate.iter().zip(baseline).map(|(above, below)| above / below).collect();
        let largest = ratios.iter().fold(0.0_f64, |largest, ratio| largest.max(ratio.abs()));
        let ratios = Sample::new(ratios).map_err(|_| BootstrapError::RatioTooLarge(largest))?;
        Ok(Self { bootstrap, estimate, ratios: Some(ratios), caveats })
    }

    /// The ratio of the statistics of the experiments themselves.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// How the replicates were drawn: scheme, statistic, number, seed.
    pub fn bootstrap(&self) -> &HierarchicalBootstrap {
        &self.bootstrap
    }

    /// The ratios, in the order of their drawing; none if a replicate of the baseline reached zero.
    pub fn replicates(&self) -> Option<&Sample> {
        self.ratios.as_ref()
    }

    /// The percentile interval: the quantiles of type 7 at half the risk from either end; unbounded if a
    /// replicate of the baseline reached zero.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        match &self.ratios {
            Some(ratios) => RatioInterval::Bounded(percentile(self.bootstrap, ratios, level, &self.caveats)),
            None => RatioInterval::Unbounded {
                method: name(self.bootstrap),
                level,
                reason: Unbounded::DenominatorNearZero,
            },
        }
    }
}

fn percentile(
    bootstrap: HierarchicalBootstrap,
    replicates: &Sample,
    level: ConfidenceLevel,
    caveats: &[Caveat],
) -> Interval {
    let tail = level.risk().get() / 2.0;
    // Both probabilities lie in [0, 1], so a quantile is never refused.
    let quantile = |p| replicates.quantile(p).unwrap_or(f64::NAN);
    let mut caveats = caveats.to_vec();
    if f64::from(bootstrap.draws) * tail < 1.0 {
        caveats.push(Caveat::FewDraws { draws: bootstrap.draws });
    }
    Interval { method: name(bootstrap), lower: quantile(tail), upper: quantile(1.0 - tail), level, caveats }
}

fn name(bootstrap: HierarchicalBootstrap) -> &'static str {
    match (bootstrap.statistic, bootstrap.resampling) {
        (Statistic::Mean, Resampling::EveryLevel) => {
            "hierarchical bootstrap of the mean, percentile interval, replacement at every level"
        }
        (Statistic::Mean, Resampling::AboveLowest) => {
            "hierarchical bootstrap of the mean, percentile interval, lowest level kept"
        }
        (Statistic::Mean, Resampling::HighestOnly) => {
            "hierarchical bootstrap of the mean, percentile interval, highest level only"
        }
        (Statistic::Mean, Resampling::Flat) => "bootstrap of the mean, percentile interval, levels ignored",
        (Statistic::Median, Resampling::EveryLevel) => {
            "hierarchical bootstrap of the median, percentile interval, replacement at every level"
        }
        (Statistic::Median, Resampling::AboveLowest) => {
            "hierarchical bootstrap of the median, percentile interval, lowest level kept"
        }
        (Statistic::Median, Resampling::HighestOnly) => {
            "hierarchical bootstrap of the median, percentile interval, highest level only"
        }
        (Statistic::Median, Resampling::Flat) => {
            "bootstrap of the median, percentile interval, levels ignored"
        }
    }
}
