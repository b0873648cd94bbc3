//! Hosts whose runs are unlike those of the others.

use super::{ByHost, HostEffectError};
use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::student_t, sample::Sample};
use serde::Serialize;

/// Each host's mean against those of the others.
///
/// This is the externally studentised residual of the host means, t = (ȳᵢ − ȳ₋ᵢ)/(s₋ᵢ√(1 + 1/(k − 1))) with k − 2 degrees
/// of freedom (Cook & Weisberg, Residuals and Influence in Regression, 1982, §2.2.2). The p-values are adjusted by
/// Holm's step-down bound (Scandinavian Journal of Statistics 6, 1979).
///
/// The variance between ordinary hosts is in s₋ᵢ, so that hosts that merely differ are no outliers. It takes means as
/// normal with one variance: hosts should have made about equally many runs. Several outlying hosts mask each other.
///
/// ```
/// use speedup_statistics::diagnostics::host_effect::{ByHost, OutlyingHosts};
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let times = vec![10.1, 10.4, 9.9, 11.2, 11.5, 9.8, 10.0, 10.3, 9.7, 12.0, 11.7, 12.4];
/// let hosts = [1, 1, 1, 2, 2, 3, 3, 3, 3, 9, 9, 9];
/// let by_host = ByHost::new(&Sample::new(times)?, &hosts)?;
/// // Host 9 is the slowest; among four hosts that differ it is no outlier.
/// let outlying = OutlyingHosts::new(&by_host, Alternative::TwoSided)?;
/// let host = outlying.verdicts()[3];
/// assert!(host.host == 9 && (host.t - 1.77045).abs() < 1e-5 && (host.p.get() - 0.21867).abs() < 1e-5);
/// assert!((outlying.p_value().get() - 4.0 * host.p.get()).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlyingHosts {
    verdicts: Vec<HostVerdict>,
}

/// What is said of one host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostVerdict {
    pub host: u32,
    pub runs: usize,
    /// Its mean less the mean of the other hosts' means, in the unit of the observations.
    pub difference: f64,
    /// The studentised residual.
    pub t: f64,
    /// The p-value of this host alone.
    pub p: PValue,
    /// The p-value adjusted for the number of hosts.
    pub adjusted: PValue,
}

/// Two others have a spread.
const FEWEST_HOSTS: usize = 3;

impl OutlyingHosts {
    /// The method's full name.
    pub const NAME: &'static str = "externally studentised host means, p-values adjusted by Holm";

    /// Of the runs by host, in the direction of `alternative`: greater looks for slow hosts, if the values are times.
    ///
    /// # Errors
    /// [`HostEffectError`] below three hosts, or when the others of some host do not vary.
    pub fn new(by_host: &ByHost, alternative: Alternative) -> Result<Self, HostEffectError> {
        by_host.require_hosts(FEWEST_HOSTS)?;
        let means: Vec<f64> = by_host.groups.iter().map(|group| group.deviations.mean()).collect();
        let df = (means.len() - 2) as f64;
        let mut verdicts = Vec::with_capacity(means.len());
        for (index, group) in by_host.groups.iter().enumerate() {
            let others: Vec<f64> = [&means[..index], &means[index + 1..]].concat();
            let others = Sample::new(others).map_err(|_| HostEffectError::Constant)?;
            let spread = others.standard_deviation().unwrap_or(0.0);
            if spread <= 10.0 * f64::EPSILON {
                return Err(HostEffectError::Constant);
            }
            let difference = means[index] - others.mean();
            let t = difference / (spread * (1.0 + 1.0 / others.len() as f64).sqrt());
            let tails = student_t::tails(t, df);
            let p = alternative.p_value(tails.lower, tails.upper);
            verdicts.push(HostVerdict {
                host: group.host,
                runs: group.deviations.len(),
                difference: difference * by_host.scale,
                t,
                p,
                adjusted: p,
            });
        }
        adjust(&mut verdicts);
        Ok(Self { verdicts })
    }

    /// Every host, in ascending order of its number.
    pub fn verdicts(&self) -> &[HostVerdict] {
        &self.verdicts
    }

    /// What must be known: that it is of normal errors.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::AssumesNormal]
    }

    /// The smallest adjusted p-value: that of the hypothesis that no host is outlying.
    pub fn p_value(&self) -> PValue {
        PValue::clamped(self.verdicts.iter().map(|verdict| verdict.adjusted.get()).fold(1.0, f64::min))
    }
}

/// The j-th smallest p-value times the number of those not smaller, made monotone.
fn adjust(verdicts: &mut [HostVerdict]) {
    let mut order: Vec<usize> = (0..verdicts.len()).collect();
    order.sort_by(|a, b| verdicts[*a].p.get().total_cmp(&verdicts[*b].p.get()));
    let mut largest = 0.0_f64;
    for (smaller, &index) in order.iter().enumerate() {
        largest = largest.max(verdicts[index].p.get() * (order.len() - smaller) as f64);
        verdicts[index].adjusted = PValue::clamped(largest);
    }
}
