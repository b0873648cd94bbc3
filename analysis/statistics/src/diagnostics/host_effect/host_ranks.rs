//! Each host on its own against the rest, by the ranks of its runs within their cells.

use super::HostEffectError;
use super::permutation_law::{Draw, PermutationLaw};
use crate::inference::{Caveat, ConfidenceLevel, PValue};
use crate::sample::Sample;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Hosts whose runs are slower or faster than those of the others in the same cells.
///
/// Within a cell a host's runs are, if the host does not matter, a random draw of the cell's runs. So the sum over cells of
/// its ranks, each as a share of its cell (van Elteren's weights, 1960), has a law that is known whatever that of the times:
/// it is computed exactly, by convolution, as long as that is cheap, and is nearly normal beyond. Benchmarks and versions of
/// different lengths count alike, and a host with one run of each cell can be tested, given enough cells.
///
/// The most unlikely host is tested against Holm's bound, named, and left out; then the next, among the rest: else one slow
/// host would make all others look fast.
///
/// Where several hosts serve a run together ([`HostRanks::of_gangs`]), the runs in which a host took part are as
/// random a draw of the cell's runs, and a host is left out with all of its runs: else those that served beside a
/// slow one would look slow. Hosts that served the same runs cannot be told apart, and count as one.
///
/// ```
/// use speedup_statistics::diagnostics::host_effect::HostRanks;
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Four cells, one run of each on hosts 0 to 3; host 3 is the slowest in all.
/// let times = [[10.0, 11.0, 12.0, 13.0], [2.2, 2.1, 2.0, 2.4], [51.0, 50.0, 52.0, 60.0], [7.1, 7.2, 7.0, 7.7]];
/// let samples = times.into_iter().map(|cell| Sample::new(cell.to_vec())).collect::<Result<Vec<_>, _>>()?;
/// let cells: Vec<(&Sample, &[u32])> = samples.iter().map(|cell| (cell, &[0, 1, 2, 3][..])).collect();
/// let ranks = HostRanks::new(&cells, ConfidenceLevel::USUAL)?;
/// // One side has the probability (1/4)⁴, and any of four hosts could have been the one.
/// assert_eq!(ranks.outlying().iter().map(|host| host.host).collect::<Vec<_>>(), [3]);
/// assert!((ranks.p_value().get() - 4.0 * 2.0 / 256.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostRanks {
    hosts: usize,
    most_unlikely: HostRank,
    outlying: Vec<HostRank>,
}

/// What is said of one host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostRank {
    /// The host.
    pub host: u32,
    /// Those that served all of its runs with it, and no others: what is said is of any of them.
    pub together: Vec<u32>,
    /// Its runs.
    pub runs: usize,
    /// The distance of its rank sum from what is expected, in standard deviations; positive is slower.
    pub z: f64,
    /// By how much its runs take longer than the median of the others in their cell, as the median over its runs: 0.05 is
    /// 5 % slower.
    pub slower: f64,
    /// The two-sided p-value of this host alone.
    pub p: PValue,
    /// The p-value adjusted for the number of hosts.
    pub adjusted: PValue,
}

/// Of two hosts that differ none is the outlying one.
const FEWEST_HOSTS: usize = 3;
/// Hosts that are left out one after another: beyond, hosts are not outlying but unlike each other.
const MOST_OUTLYING: usize = 64;
/// What a rank counts at most: cells of different sizes share a grid, so that their sums can be counted.
const GRID: f64 = 64.0;

/// A cell's runs, each with all of its hosts.
type CellOfGangs<'a> = (&'a Sample, Vec<&'a [u32]>);

/// A cell's runs of the hosts that are left.
struct Ranked<'a> {
    /// The hosts of each run.
    hosts: Vec<&'a [u32]>,
    values: Vec<f64>,
    scores: Vec<i32>,
}

/// What is known of a host over all cells.
#[derive(Default)]
struct Total {
    sum: f64,
    expected: f64,
    variance: f64,
    runs: usize,
    /// By cell, how many of its runs are the host's.
    draws: Vec<(usize, usize)>,
}

impl HostRanks {
    /// The method's full name.
    pub const NAME: &'static str = "rank sum of each host within cells against the rest (permutation law, exact where cheap), \
        one host left out after another, p-values adjusted by Holm";

    /// Of the runs of many cells, each with the host of each of its runs; at `level`, hosts are outlying. Cells that do not
    /// vary, and cells of one host, say nothing of hosts.
    ///
    /// # Errors
    /// [`HostEffectError`] for a run without host, or fewer than three hosts that can be compared.
    pub fn new(cells: &[(&Sample, &[u32])], level: ConfidenceLevel) -> Result<Self, HostEffectError> {
        let cells =
            cells.iter().map(|(sample, hosts)| (*sample, hosts.iter().map(std::slice::from_ref).collect()));
        Self::of_cells(&cells.collect::<Vec<CellOfGangs<'_>>>(), level)
    }

    /// The same of runs that several hosts serve together: each with all of its hosts, each host once.
    ///
    /// # Errors
    /// As [`HostRanks::new`].
    pub fn of_gangs(
        cells: &[(&Sample, &[Vec<u32>])],
        level: ConfidenceLevel,
    ) -> Result<Self, HostEffectError> {
        let cells = cells.iter().map(|(sample, hosts)| (*sample, hosts.iter().map(Vec::as_slice).collect()));
        Self::of_cells(&cells.collect::<Vec<CellOfGangs<'_>>>(), level)
    }

    fn of_cells(cells: &[CellOfGangs<'_>], level: ConfidenceLevel) -> Result<Self, HostEffectError> {
        for (sample, hosts) in cells {
            if sample.len() != hosts.len() {
                return Err(HostEffectError::Unmatched { runs: sample.len(), hosts: hosts.len() });
            }
        }
        let mut left_out = BTreeSet::new();
        let (first, hosts) = most_unlikely(cells, &left_out)?;
        let mut outlying = Vec::new();
        let mut next = Some(first.clone());
        while let Some(host) = next.filter(|host| host.adjusted.rejects_at(level.risk())) {
            left_out.insert(host.host);
            // Step-down: no p-value is smaller than the one before.
            let least = host.adjusted.get();
            outlying.push(host);
            if outlying.len() == MOST_OUTLYING {
                break;
            }
            next = most_unlikely(cells, &left_out).ok().map(|(next, _)| HostRank {
                adjusted: PValue::clamped(next.adjusted.get().max(least)),
                ..next
            });
        }
        Ok(Self { hosts, most_unlikely: first, outlying })
    }

    /// The hosts that were compared.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// The host that is least like the others.
    pub fn most_unlikely(&self) -> &HostRank {
        &self.most_unlikely
    }

    /// What must be known: nothing, its law is that of the ranks at hand.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value of the hypothesis that no host is outlying.
    pub fn p_value(&self) -> PValue {
        self.most_unlikely.adjusted
    }

    /// The outlying hosts, the most unlikely first; at most 64.
    pub fn outlying(&self) -> &[HostRank] {
        &self.outlying
    }
}

/// The host that is least like the others that are not left out, and how many there are with it.
fn most_unlikely(
    cells: &[CellOfGangs<'_>],
    left_out: &BTreeSet<u32>,
) -> Result<(HostRank, usize), HostEffectError> {
    let cells: Vec<Ranked<'_>> =
        cells.iter().filter_map(|(sample, hosts)| Ranked::new(sample, hosts, left_out)).collect();
    let together = together(&cells);
    let mut totals: BTreeMap<u32, Total> = BTreeMap::new();
    for (number, cell) in cells.iter().enumerate() {
        cell.add_to(number, &mut totals);
    }
    totals.retain(|_, total| total.variance > 0.0);
    let hosts = totals.len();
    // Of hosts that served the same runs the first stands for all.
    let others = |host: &u32| together.get(host).cloned().unwrap_or_default();
    let doubled: BTreeSet<u32> = totals.keys().flat_map(others).collect();
    totals.retain(|host, _| !doubled.contains(host));
    let told_apart = totals.len();
    if told_apart < FEWEST_HOSTS {
        return Err(HostEffectError::FewHosts { hosts: told_apart, needed: FEWEST_HOSTS });
    }
    let farthest = totals.iter().max_by(|(_, a), (_, b)| a.z().abs().total_cmp(&b.z().abs()));
    let Some((&host, total)) = farthest else {
        return Err(HostEffectError::FewHosts { hosts: told_apart, needed: FEWEST_HOSTS });
    };
    let draws: Vec<Draw<'_>> =
        total.draws.iter().map(|(cell, runs)| Draw { of: &cells[*cell].scores, runs: *runs }).collect();
    let p = PermutationLaw::new(&draws).two_sided(total.sum as i64);
    let adjusted = PValue::clamped(p.get() * told_apart as f64);
    let slower = slower(&cells, host);
    let rank =
        HostRank { host, together: others(&host), runs: total.runs, z: total.z(), slower, p, adjusted };
    Ok((rank, hosts))
}

/// The hosts that served the same runs as a host with a smaller number; nothing where each run has one.
fn together(cells: &[Ranked<'_>]) -> BTreeMap<u32, Vec<u32>> {
    if cells.iter().flat_map(|cell| &cell.hosts).all(|hosts| hosts.len() < 2) {
        return BTreeMap::new();
    }
    let mut served: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, cell) in cells.iter().enumerate() {
        for (run, hosts) in cell.hosts.iter().enumerate() {
            hosts.iter().for_each(|host| served.entry(*host).or_default().push((number, run)));
        }
    }
    let mut alike: BTreeMap<Vec<(usize, usize)>, Vec<u32>> = BTreeMap::new();
    served.into_iter().for_each(|(host, runs)| alike.entry(runs).or_default().push(host));
    alike.into_values().filter_map(|hosts| Some((*hosts.first()?, hosts[1..].to_vec()))).collect()
}

/// By how much the host's runs take longer than the median of the others in their cell.
fn slower(cells: &[Ranked<'_>], host: u32) -> f64 {
    let mut excess = Vec::new();
    for cell in cells.iter().filter(|cell| cell.hosts.iter().any(|of| of.contains(&host))) {
        let others = cell.hosts.iter().zip(&cell.values).filter(|(of, _)| !of.contains(&host));
        let Ok(others) = Sample::new(others.map(|(_, value)| *value).collect()) else { continue };
        let own = cell.hosts.iter().zip(&cell.values).filter(|(of, _)| of.contains(&host));
        excess.extend(own.map(|(_, value)| value / others.median() - 1.0));
    }
    Sample::new(excess).map_or(0.0, |excess| excess.median())
}

impl<'a> Ranked<'a> {
    /// The runs of the hosts that are left; `None` where they say nothing.
    fn new(sample: &Sample, hosts: &[&'a [u32]], left_out: &BTreeSet<u32>) -> Option<Self> {
        let is_left = |hosts: &[u32]| hosts.iter().all(|host| !left_out.contains(host));
        let kept = sample.in_run_order().iter().zip(hosts).filter(|(_, hosts)| is_left(hosts));
        let (values, hosts): (Vec<f64>, Vec<&[u32]>) = kept.map(|(value, hosts)| (*value, *hosts)).unzip();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        if n < 2 || sorted[0] == sorted[n - 1] {
            return None;
        }
        // The midrank less its mean, as a share of the cell: 2 · midrank − n − 1 is what is below less what is above.
        let score = |value: &f64| {
            let below = sorted.partition_point(|other| other < value) as f64;
            let above = (n - sorted.partition_point(|other| other <= value)) as f64;
            (GRID * (below - above) / (n + 1) as f64).round() as i32
        };
        let scores = values.iter().map(score).collect();
        Some(Self { hosts, values, scores })
    }

    /// Adds the runs to the totals of their hosts, as the cell numbered `number`.
    fn add_to(&self, number: usize, totals: &mut BTreeMap<u32, Total>) {
        let mut of_host: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        for (hosts, score) in self.hosts.iter().zip(&self.scores) {
            for host in *hosts {
                let (sum, runs) = of_host.entry(*host).or_default();
                *sum += f64::from(*score);
                *runs += 1;
            }
        }
        let n = self.scores.len() as f64;
        let mean = self.scores.iter().map(|score| f64::from(*score)).sum::<f64>() / n;
        let squares: f64 = self.scores.iter().map(|score| (f64::from(*score) - mean).powi(2)).sum();
        // A cell of one host alone says nothing of it.
        for (host, (sum, runs)) in of_host.into_iter().filter(|(_, (_, runs))| *runs < self.scores.len()) {
            let m = runs as f64;
            let total = totals.entry(host).or_default();
            total.sum += sum;
            total.expected += m * mean;
            // Of a draw without replacement.
            total.variance += m * (n - m) / (n * (n - 1.0)) * squares;
            total.runs += runs;
            total.draws.push((number, runs));
        }
    }
}

impl Total {
    fn z(&self) -> f64 {
        (self.sum - self.expected) / self.variance.sqrt()
    }
}
