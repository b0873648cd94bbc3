//! The share of the variance that lies between hosts.

use super::{ByHost, HostEffectError};
use crate::distribution::{Tails, fisher_f};
use crate::inference::{Caveat, ConfidenceLevel, Interval, PValue};
use crate::number::{monotone_root, rounding::CompensatedSum};
use serde::Serialize;

/// Hosts as a random level: the one-way analysis of variance of an unbalanced design.
///
/// A run is μ + hostᵢ + errorᵢⱼ, both normal; the share is the intraclass correlation σ²_host/(σ²_host + σ²).
///
/// ```
/// use speedup_statistics::diagnostics::host_effect::{ByHost, VarianceShare};
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let times = vec![10.1, 10.4, 9.9, 11.2, 11.5, 9.8, 10.0, 10.3, 9.7, 12.0, 11.7, 12.4];
/// let hosts = [1, 1, 1, 2, 2, 3, 3, 3, 3, 9, 9, 9];
/// let by_host = ByHost::new(&Sample::new(times)?, &hosts)?;
/// // F is that of scipy's f_oneway; nearly all of the variance lies between hosts.
/// let share = VarianceShare::new(&by_host)?;
/// assert!((share.f() - 39.73121).abs() < 1e-5 && (share.estimate() - 0.92935).abs() < 1e-5);
/// assert!((share.interval(ConfidenceLevel::USUAL).lower - 0.66749).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarianceShare {
    /// Mean and number of runs of each host, in units that the share does not depend on.
    #[serde(skip)]
    hosts: Vec<HostMean>,
    runs: usize,
    between: f64,
    within: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct HostMean {
    mean: f64,
    runs: f64,
}

/// ln of the ratios of variances between which the interval is looked for.
const LOG_RATIOS: (f64, f64) = (-50.0, 50.0);

impl VarianceShare {
    /// The full name of the estimate and its test.
    pub const NAME: &'static str = "one-way random analysis of variance (F test)";
    /// The full name of the interval's method.
    pub const NAME_INTERVAL: &'static str =
        "Wald's exact interval of the variance ratio, unbalanced one-way design";

    /// Of the runs by host.
    ///
    /// # Errors
    /// [`HostEffectError`] for one host, no repetition on any host, or no spread within hosts.
    pub fn new(by_host: &ByHost) -> Result<Self, HostEffectError> {
        by_host.require_hosts(2)?;
        if by_host.runs == by_host.hosts() {
            return Err(HostEffectError::Unrepeated);
        }
        let host = |group: &super::HostRuns| HostMean {
            mean: group.deviations.mean(),
            runs: group.deviations.len() as f64,
        };
        let hosts: Vec<HostMean> = by_host.groups.iter().map(host).collect();
        let squares = |group: &super::HostRuns| {
            group.deviations.variance().map_or(0.0, |v| v * (group.deviations.len() - 1) as f64)
        };
        let (n, k) = (by_host.runs as f64, hosts.len() as f64);
        let within = CompensatedSum::of(by_host.groups.iter().map(squares)) / (n - k);
        let mean = CompensatedSum::of(hosts.iter().map(|h| h.runs * h.mean)) / n;
        let between = CompensatedSum::of(hosts.iter().map(|h| h.runs * (h.mean - mean).powi(2))) / (k - 1.0);
        // Deviations are of order 1: a smaller spread is the rounding of equal runs.
        if within <= (10.0 * f64::EPSILON).powi(2) {
            return Err(HostEffectError::Constant);
        }
        Ok(Self { hosts, runs: by_host.runs, between, within })
    }

    /// F: the mean square between hosts over that within.
    pub fn f(&self) -> f64 {
        self.between / self.within
    }

    /// The degrees of freedom of numerator and denominator.
    pub fn degrees_of_freedom(&self) -> (f64, f64) {
        ((self.hosts.len() - 1) as f64, (self.runs - self.hosts.len()) as f64)
    }

    /// What must be known: that it is of normal errors.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::AssumesNormal]
    }

    /// The p-value of hosts being alike; exact for normal errors whatever the numbers of runs.
    pub fn p_value(&self) -> PValue {
        let (df1, df2) = self.degrees_of_freedom();
        PValue::clamped(fisher_f::tails(self.f(), df1, df2).upper)
    }

    /// The estimate of the share by the mean squares, (MSB − MSW)/(MSB + (n₀ − 1)MSW), 0 when it would be negative (Donner,
    /// International Statistical Review 54, 1986).
    pub fn estimate(&self) -> f64 {
        let n = self.runs as f64;
        let squares = CompensatedSum::of(self.hosts.iter().map(|host| host.runs * host.runs));
        let typical_runs = (n - squares / n) / (self.hosts.len() - 1) as f64;
        let share = (self.between - self.within) / (self.between + (typical_runs - 1.0) * self.within);
        share.max(0.0)
    }

    /// The two-sided interval of the share: the ratios ρ = σ²_host/σ² for which F(ρ) lies between the F quantiles (Wald,
    /// Annals of Mathematical Statistics 11, 1940), cut at 0.
    pub fn interval(&self, level: ConfidenceLevel) -> Interval {
        let (df1, df2) = self.degrees_of_freedom();
        let half = level.risk().get() / 2.0;
        let end = |tails| self.share_with_f(fisher_f::quantile(tails, df1, df2));
        Interval {
            method: Self::NAME_INTERVAL,
            lower: end(Tails::from_upper(half)),
            upper: end(Tails::from_lower(half)),
            level,
            caveats: Vec::new(),
        }
    }

    /// The share ρ/(1 + ρ) at which F(ρ), which falls, is `f`.
    fn share_with_f(&self, f: f64) -> f64 {
        let excess = |log_ratio: f64| f - self.f_at(log_ratio.exp());
        if self.f_at(0.0) <= f {
            return 0.0;
        }
        match monotone_root::increasing(0.0, LOG_RATIOS, excess) {
            Ok(log_ratio) => 1.0 / (1.0 + (-log_ratio).exp()),
            Err(end) if end < 0.0 => 0.0,
            Err(_) => 1.0,
        }
    }

    /// Σwᵢ(ȳᵢ − ȳ_w)²/((k − 1)MSW), wᵢ = nᵢ/(1 + nᵢρ): F with k − 1 and n − k degrees of freedom if ρ is the true ratio.
    fn f_at(&self, ratio: f64) -> f64 {
        let weight = |host: &HostMean| host.runs / (1.0 + host.runs * ratio);
        let weights = CompensatedSum::of(self.hosts.iter().map(weight));
        let mean = CompensatedSum::of(self.hosts.iter().map(|host| weight(host) * host.mean)) / weights;
        let squares = CompensatedSum::of(self.hosts.iter().map(|h| weight(h) * (h.mean - mean).powi(2)));
        squares / ((self.hosts.len() - 1) as f64 * self.within)
    }
}
