//! Whether hosts differ, seen over many cells at once.

use super::HostEffectError;
use crate::inference::{Caveat, PValue};
use crate::{distribution::fisher_f, number::rounding::CompensatedSum, sample::Sample};
use serde::Serialize;

/// Hosts as a random level beside cells as a fixed one: a run is cellᵢ + hostⱼ + error, in units of its cell's
/// standard deviation.
///
/// Where no host repeats a cell but many cells share the hosts, this still separates the host from the run. Runs less
/// the mean of their cell lose a part of what their host adds; so the mean squares are divided by what they are
/// expected to be without an effect, which in a balanced design is the F test of the two-way analysis of variance. With
/// cells c and hosts h, nₕ꜀ runs each and wₕ = Σ꜀ nₕ꜀²/(nₕ n꜀):
///
/// > E\[SSB\] = Σₕ (1 − wₕ) = ν₁,  E\[SSW\] = N − C − ν₁ = ν₂,  F = (SSB/ν₁)/(SSW/ν₂).
///
/// ```
/// use speedup_statistics::diagnostics::host_effect::CellsAndHosts;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Two cells of three hosts; in standard deviations −1, 0, 1 and −1, 1, 0.
/// let (short, long) = (Sample::new(vec![1.0, 2.0, 3.0])?, Sample::new(vec![10.0, 30.0, 20.0])?);
/// let hosts = CellsAndHosts::new(&[(&short, &[0, 1, 2]), (&long, &[0, 1, 2])])?;
/// // The mean squares are 3/2 between hosts and 1/2 within.
/// assert!((hosts.f() - 3.0).abs() < 1e-12);
/// assert!((hosts.p_value().get() - 0.25).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
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
    /// The method's full name where a set of hosts that serve runs together takes the place of a host.
    pub const NAME_OF_SETS: &'static str = "analysis of variance of cells and sets of hosts on runs in standard deviations of their cell (F test)";

    /// Of the runs of many cells, each with the host of each of its runs; hosts are numbered from 0. Cells that do not vary say nothing of hosts and
    /// are left out.
    ///
    /// # Errors
    /// [`HostEffectError`] for a run without host, one host, or when no host served two runs that could be compared.
    pub fn new(cells: &[(&Sample, &[u32])]) -> Result<Self, HostEffectError> {
        let numbers = cells.iter().flat_map(|(_, hosts)| *hosts).max().map_or(0, |most| *most as usize + 1);
        let mut sums = vec![HostSums::default(); numbers];
        let mut of_cell = vec![0.0_f64; numbers];
        let mut runs = 0;
        let mut used = 0;
        let mut squares = Vec::new();
        for (sample, hosts) in cells {
            let standardised = standardised(sample, hosts)?;
            if standardised.is_empty() {
                continue;
            }
            used += 1;
            runs += hosts.len();
            for (value, host) in standardised.iter().zip(*hosts) {
                let sums = &mut sums[*host as usize];
                sums.sum += value;
                sums.runs += 1.0;
                of_cell[*host as usize] += 1.0;
            }
            for host in *hosts {
                let count = std::mem::take(&mut of_cell[*host as usize]);
                sums[*host as usize].own += count * count / hosts.len() as f64;
            }
            squares.push(CompensatedSum::sum(standardised.iter().map(|value| value * value)));
        }
        sums.retain(|host| host.runs > 0.0);
        if sums.len() < 2 {
            return Err(HostEffectError::FewHosts { hosts: sums.len(), needed: 2 });
        }
        if runs == sums.len() {
            return Err(HostEffectError::Unrepeated);
        }
        let between = CompensatedSum::sum(sums.iter().map(|host| host.sum * host.sum / host.runs));
        let df1 = CompensatedSum::sum(sums.iter().map(|host| 1.0 - host.own / host.runs));
        let df2 = (runs - used) as f64 - df1;
        let within = CompensatedSum::sum(squares) - between;
        if df1 <= NO_FREEDOM || df2 <= NO_FREEDOM {
            return Err(HostEffectError::Unrepeated);
        }
        if within <= 10.0 * f64::EPSILON * between {
            return Err(HostEffectError::Constant);
        }
        let host_weight = CompensatedSum::sum(sums.iter().map(|host| host.runs - host.own));
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

    /// What must be known: that it is of normal errors.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::AssumesNormal]
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt as _;
    use speedup_core::value::seed::Seed;

    fn cell(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    /// Each host once in each cell: F of the two-way analysis of variance, from its textbook sums.
    #[test]
    fn in_a_balanced_design_it_is_the_two_way_analysis() {
        let samples =
            [cell(&[5.0, 7.0, 6.5, 9.0]), cell(&[50.0, 64.0, 61.0, 70.0]), cell(&[1.0, 1.1, 1.6, 1.3])];
        let hosts = [0, 1, 2, 3];
        let cells: Vec<(&Sample, &[u32])> = samples.iter().map(|sample| (sample, &hosts[..])).collect();
        let found = CellsAndHosts::new(&cells).unwrap();
        let z: Vec<Vec<f64>> = samples.iter().map(|sample| standardised(sample, &hosts).unwrap()).collect();
        let of_host: Vec<f64> = (0..4).map(|h| z.iter().map(|cell| cell[h]).sum::<f64>() / 3.0).collect();
        let between = of_host.iter().map(|mean| 3.0 * mean * mean).sum::<f64>() / 3.0;
        let error = z.iter().flat_map(|cell| cell.iter().zip(&of_host)).map(|(z, mean)| (z - mean).powi(2));
        let error = error.sum::<f64>() / 6.0;
        assert!((found.f() - between / error).abs() < 1e-10, "{} {}", found.f(), between / error);
        let (df1, df2) = found.degrees_of_freedom();
        assert!((df1 - 3.0).abs() < 1e-12 && (df2 - 6.0).abs() < 1e-12);
        // (MSB − MSE)/3 over itself and MSE.
        let of_hosts = (between - error) / 3.0;
        assert!((found.estimate() - of_hosts / (of_hosts + error)).abs() < 1e-10);
    }

    #[test]
    fn hosts_that_served_once_or_one_cell_alone_are_refused() {
        let sample = cell(&[1.0, 2.0, 4.0]);
        assert_eq!(CellsAndHosts::new(&[(&sample, &[0, 1, 2])]), Err(HostEffectError::Unrepeated));
        let other = cell(&[1.0, 3.0, 4.0]);
        let nested: [(&Sample, &[u32]); 2] = [(&sample, &[0, 0, 0]), (&other, &[1, 1, 1])];
        assert_eq!(CellsAndHosts::new(&nested), Err(HostEffectError::Unrepeated));
        let one = CellsAndHosts::new(&[(&sample, &[7, 7, 7])]);
        assert_eq!(one, Err(HostEffectError::FewHosts { hosts: 1, needed: 2 }));
        assert!(matches!(CellsAndHosts::new(&[(&sample, &[7])]), Err(HostEffectError::Unmatched { .. })));
    }

    /// Small cells, in which a part of what hosts add is in the mean of the cell, and hosts with different numbers of runs.
    #[test]
    fn without_an_effect_one_in_twenty_rejects() {
        let mut random = Seed(3).child("cells and hosts");
        let mut rejected = 0;
        for _ in 0..2_000 {
            let mut values =
                || -> Vec<f64> { (0..5).map(|_| (0..12).map(|_| random.random::<f64>()).sum()).collect() };
            let samples: Vec<Sample> = (0..8).map(|_| Sample::new(values()).unwrap()).collect();
            let hosts: Vec<Vec<u32>> = (0..8).map(|c| (0..5).map(|r| (r * (c + 1)) % 3).collect()).collect();
            let cells: Vec<(&Sample, &[u32])> =
                samples.iter().zip(&hosts).map(|(sample, hosts)| (sample, &hosts[..])).collect();
            rejected += u32::from(CellsAndHosts::new(&cells).unwrap().p_value().get() <= 0.05);
        }
        // 100 are expected; three standard deviations are 29.
        assert!((65..=130).contains(&rejected), "{rejected}");
    }
}
