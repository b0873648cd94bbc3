//! Whether hosts differ, seen over many cells at once.

use super::HostEffectError;
use crate::compensated_sum::CompensatedSum;
use crate::distribution::fisher_f;
use crate::{PValue, Sample};
use serde::Serialize;
use std::collections::BTreeMap;

/// Hosts as a random level beside cells as a fixed one: a run is cellᵢ + hostⱼ + error, in units of its cell's
/// standard deviation.
///
/// Where no host repeats a cell but many cells share the hosts, this still separates the host from the run. Runs less
/// the mean of their cell lose a part of what their host adds; so the mean squares are divided by what they are
/// expected to be without an effect, which in a balanced design is the F test of the two-way analysis of variance. With
/// cells c and hosts h, nₕ꜀ runs each and wₕ = Σ꜀ nₕ꜀²/(nₕ n꜀):
///
/// > E\[SSB\] = Σₕ (1 − wₕ) = ν₁,  E\[SSW\] = N − C − ν₁ = ν₂,  F = (SSB/ν₁)/(SSW/ν₂).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellsAndHosts {
    hosts: usize,
    cells: usize,
    runs: usize,
    between: f64,
    within: f64,
    df: (f64, f64),
    /// Σₕ nₕ(1 − wₕ): how often the variance of hosts is in the sum of squares between them.
    host_weight: f64,
}

/// Sums of one host.
#[derive(Clone, Copy, Default)]
struct HostSums {
    sum: f64,
    runs: f64,
    /// Σ꜀ nₕ꜀²/n꜀.
    own: f64,
}

/// Less than this of a degree of freedom is the rounding of none.
const NO_FREEDOM: f64 = 1e-9;

impl CellsAndHosts {
    /// The method's full name.
    pub const NAME: &'static str =
        "analysis of variance of cells and hosts on runs in standard deviations of their cell (F test)";

    /// Of the runs of many cells, each with the host of each of its runs. Cells that do not vary say nothing of hosts and
    /// are left out.
    ///
    /// # Errors
    /// [`HostEffectError`] for a run without host, one host, or when no host served two runs that could be compared.
    pub fn new(cells: &[(&Sample, &[u32])]) -> Result<Self, HostEffectError> {
        let mut sums: BTreeMap<u32, HostSums> = BTreeMap::new();
        let (mut runs, mut used, mut squares) = (0, 0, Vec::new());
        for (sample, hosts) in cells {
            let standardised = standardised(sample, hosts)?;
            if standardised.is_empty() {
                continue;
            }
            used += 1;
            runs += hosts.len();
            let mut of_cell: BTreeMap<u32, f64> = BTreeMap::new();
            for (value, host) in standardised.iter().zip(*hosts) {
                let sums = sums.entry(*host).or_default();
                sums.sum += value;
                sums.runs += 1.0;
                *of_cell.entry(*host).or_default() += 1.0;
            }
            for (host, count) in of_cell {
                sums.entry(host).or_default().own += count * count / hosts.len() as f64;
            }
            squares.push(CompensatedSum::of(standardised.iter().map(|value| value * value)));
        }
        if sums.len() < 2 {
            return Err(HostEffectError::FewHosts { hosts: sums.len(), needed: 2 });
        }
        if runs == sums.len() {
            return Err(HostEffectError::Unrepeated);
        }
        let between = CompensatedSum::of(sums.values().map(|host| host.sum * host.sum / host.runs));
        let df1 = CompensatedSum::of(sums.values().map(|host| 1.0 - host.own / host.runs));
        let df2 = (runs - used) as f64 - df1;
        let within = CompensatedSum::of(squares) - between;
        if df1 <= NO_FREEDOM || df2 <= NO_FREEDOM {
            return Err(HostEffectError::Unrepeated);
        }
        if within <= 10.0 * f64::EPSILON * between {
            return Err(HostEffectError::Constant);
        }
        let host_weight = CompensatedSum::of(sums.values().map(|host| host.runs - host.own));
        Ok(Self { hosts: sums.len(), cells: used, runs, between, within, df: (df1, df2), host_weight })
    }

    /// The hosts.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// The cells that vary.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The runs of these cells.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// F.
    pub fn f(&self) -> f64 {
        (self.between / self.df.0) / (self.within / self.df.1)
    }

    /// ν₁ and ν₂, whole numbers in a balanced design.
    pub fn degrees_of_freedom(&self) -> (f64, f64) {
        self.df
    }

    /// The p-value of hosts being alike.
    pub fn p_value(&self) -> PValue {
        PValue::clamped(fisher_f::tails(self.f(), self.df.0, self.df.1).upper)
    }

    /// The share of the variance within cells that is of hosts, by the mean squares, 0 when it would be negative; exact
    /// in expectation of both components in a balanced design.
    pub fn estimate(&self) -> f64 {
        let error = self.within / self.df.1;
        let of_hosts = ((self.between - self.df.0 * error) / self.host_weight).max(0.0);
        of_hosts / (of_hosts + error)
    }
}

/// The runs of a cell less its mean, in its standard deviations; empty for a cell that does not vary.
pub(super) fn standardised(sample: &Sample, hosts: &[u32]) -> Result<Vec<f64>, HostEffectError> {
    if sample.len() != hosts.len() {
        return Err(HostEffectError::Unmatched { runs: sample.len(), hosts: hosts.len() });
    }
    let sd = sample.standard_deviation().unwrap_or(0.0);
    if sample.is_constant() || sd <= 10.0 * f64::EPSILON * sample.mean().abs() {
        return Ok(Vec::new());
    }
    Ok(sample.in_run_order().iter().map(|value| (value - sample.mean()) / sd).collect())
}
