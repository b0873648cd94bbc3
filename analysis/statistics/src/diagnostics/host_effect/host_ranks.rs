//! Each host on its own against the rest, by the ranks of its runs within their cells.

use super::{HostEffectError, permutation_law::Draw, permutation_law::PermutationLaw};
use crate::{inference::Caveat, inference::ConfidenceLevel, inference::PValue, sample::Sample};
use rayon::prelude::*;
use serde::Serialize;
use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet};

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
/// Where several hosts serve a run together ([`HostRanks::from_gangs`]), the runs in which a host took part are as
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
    pub host: u32,
    /// Those that served all of its runs with it, and no others: what is said is of any of them.
    pub together: Vec<u32>,
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

/// The hosts of a run.
trait Hosts: Clone + Send + Sync {
    fn hosts(&self) -> &[u32];
}

impl Hosts for u32 {
    fn hosts(&self) -> &[u32] {
        std::slice::from_ref(self)
    }
}

impl Hosts for Vec<u32> {
    fn hosts(&self) -> &[u32] {
        self
    }
}

/// A cell's runs of the hosts that are left, in run order.
struct Ranked<'a, H: Clone> {
    hosts: Cow<'a, [H]>,
    /// The place of each run's value among those of the cell; of equal values the first of theirs.
    places: Vec<u32>,
    scores: Vec<i32>,
    /// The values of all runs of the cell, ascending.
    values: &'a [f64],
    /// How many of the runs that are left are at each place.
    counts: Vec<u32>,
}

/// What is known of a host over all cells.
#[derive(Clone, Default)]
struct Total {
    sum: f64,
    expected: f64,
    variance: f64,
    runs: usize,
}

impl HostRanks {
    /// The method's full name.
    pub const NAME: &'static str = "rank sum of each host within cells against the rest (permutation law, exact where cheap), \
        one host left out after another, p-values adjusted by Holm";

    /// Of the runs of many cells, each with the host of each of its runs; at `level`, hosts are outlying. Hosts are
    /// numbered from 0. Cells that do not vary, and cells of one host, say nothing of hosts.
    ///
    /// # Errors
    /// [`HostEffectError`] for a run without host, or fewer than three hosts that can be compared.
    pub fn new(cells: &[(&Sample, &[u32])], level: ConfidenceLevel) -> Result<Self, HostEffectError> {
        Self::from_cells(cells, level)
    }

    /// The same of runs that several hosts serve together: each with all of its hosts, each host once.
    ///
    /// # Errors
    /// As [`HostRanks::new`].
    pub fn from_gangs(
        cells: &[(&Sample, &[Vec<u32>])],
        level: ConfidenceLevel,
    ) -> Result<Self, HostEffectError> {
        Self::from_cells(cells, level)
    }

    fn from_cells<H: Hosts>(
        cells: &[(&Sample, &[H])],
        level: ConfidenceLevel,
    ) -> Result<Self, HostEffectError> {
        for (sample, hosts) in cells {
            if sample.len() != hosts.len() {
                return Err(HostEffectError::Unmatched { runs: sample.len(), hosts: hosts.len() });
            }
        }
        let ranked = cells.par_iter().filter_map(|(sample, hosts)| Ranked::new(sample, hosts));
        let mut cells: Vec<Ranked<'_, H>> = ranked.collect();
        let (first, hosts) = most_unlikely(&cells)?;
        let mut outlying = Vec::new();
        let mut next = Some(first.clone());
        while let Some(host) = next.filter(|host| host.adjusted.rejects_at(level.risk())) {
            let left_out = host.host;
            // Step-down: no p-value is smaller than the one before.
            let least = host.adjusted.get();
            outlying.push(host);
            if outlying.len() == MOST_OUTLYING {
                break;
            }
            cells = cells.into_par_iter().filter_map(|cell| cell.without(left_out)).collect();
            next = most_unlikely(&cells).ok().map(|(next, _)| HostRank {
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
fn most_unlikely<H: Hosts>(cells: &[Ranked<'_, H>]) -> Result<(HostRank, usize), HostEffectError> {
    let together = together(cells);
    let totals = totals(cells);
    let compared = || (0..).zip(&totals).filter(|(_, total)| total.variance > 0.0);
    // Of hosts that served the same runs the first stands for all.
    let others = |host: u32| together.get(&host).cloned().unwrap_or_default();
    let doubled: BTreeSet<u32> = compared().flat_map(|(host, _)| others(host)).collect();
    let apart = || compared().filter(|(host, _)| !doubled.contains(host));
    let told_apart = apart().count();
    let too_few = HostEffectError::FewHosts { hosts: told_apart, needed: FEWEST_HOSTS };
    if told_apart < FEWEST_HOSTS {
        return Err(too_few);
    }
    let farthest = apart().max_by(|(_, a), (_, b)| a.z().abs().total_cmp(&b.z().abs()));
    let (host, total) = farthest.ok_or(too_few)?;
    let draws: Vec<Draw<'_>> = cells.iter().filter_map(|cell| cell.draw_of(host)).collect();
    let p = PermutationLaw::new(&draws).two_sided(total.sum as i64);
    let adjusted = PValue::clamped(p.get() * told_apart as f64);
    let slower = slower(cells, host);
    let rank = HostRank { host, together: others(host), runs: total.runs, z: total.z(), slower, p, adjusted };
    Ok((rank, compared().count()))
}

/// What is known of each host, by its number.
fn totals<H: Hosts>(cells: &[Ranked<'_, H>]) -> Vec<Total> {
    let hosts = cells.iter().flat_map(|cell| cell.hosts.iter()).flat_map(Hosts::hosts);
    let numbers = hosts.max().map_or(0, |most| *most as usize + 1);
    let mut totals = vec![Total::default(); numbers];
    let mut of_cell = vec![(0_i64, 0_usize); numbers];
    for cell in cells {
        cell.add_to(&mut totals, &mut of_cell);
    }
    totals
}

/// The hosts that served the same runs as a host with a smaller number; nothing where each run has one.
fn together<H: Hosts>(cells: &[Ranked<'_, H>]) -> BTreeMap<u32, Vec<u32>> {
    if cells.iter().flat_map(|cell| cell.hosts.iter()).all(|hosts| hosts.hosts().len() < 2) {
        return BTreeMap::new();
    }
    let mut served: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, cell) in cells.iter().enumerate() {
        for (run, hosts) in cell.hosts.iter().enumerate() {
            hosts.hosts().iter().for_each(|host| served.entry(*host).or_default().push((number, run)));
        }
    }
    let mut alike: BTreeMap<Vec<(usize, usize)>, Vec<u32>> = BTreeMap::new();
    served.into_iter().for_each(|(host, runs)| alike.entry(runs).or_default().push(host));
    alike.into_values().filter_map(|hosts| Some((*hosts.first()?, hosts[1..].to_vec()))).collect()
}

/// By how much the host's runs take longer than the median of the others in their cell.
fn slower<H: Hosts>(cells: &[Ranked<'_, H>], host: u32) -> f64 {
    let mut excess = Vec::new();
    for cell in cells {
        let own: Vec<usize> = cell.runs_of(host).map(|run| cell.places[run] as usize).collect();
        if own.is_empty() {
            continue;
        }
        let mut others = cell.counts.clone();
        own.iter().for_each(|place| others[*place] -= 1);
        let Some(median) = median(cell.values, &others) else { continue };
        excess.extend(own.iter().map(|place| cell.values[*place] / median - 1.0));
    }
    Sample::new(excess).map_or(0.0, |excess| excess.median())
}

/// The median of values of which each is there so many times.
fn median(ascending: &[f64], counts: &[u32]) -> Option<f64> {
    let n: usize = counts.iter().map(|count| *count as usize).sum();
    let at = |place: usize| {
        let mut above = counts.iter().scan(0, |sum, count| {
            *sum += *count as usize;
            Some(*sum)
        });
        above.position(|above| above > place).map(|level| ascending[level])
    };
    let upper = at(n / 2)?;
    if n % 2 == 1 { Some(upper) } else { Some((at(n / 2 - 1)? + upper) / 2.0) }
}

impl<'a, H: Hosts> Ranked<'a, H> {
    /// All runs of a cell; `None` where they say nothing.
    fn new(sample: &'a Sample, hosts: &'a [H]) -> Option<Self> {
        let values = sample.sorted();
        let place = |value: &f64| values.partition_point(|other| other < value) as u32;
        let places: Vec<u32> = sample.in_run_order().iter().map(place).collect();
        let mut counts = vec![0; values.len()];
        places.iter().for_each(|place| counts[*place as usize] += 1);
        Self { hosts: Cow::Borrowed(hosts), places, scores: Vec::new(), values, counts }.ranked()
    }

    /// The same without the runs of a host.
    fn without(mut self, host: u32) -> Option<Self> {
        let is_left: Vec<bool> = self.hosts.iter().map(|hosts| !hosts.hosts().contains(&host)).collect();
        for (place, _) in self.places.iter().zip(&is_left).filter(|(_, is_left)| !**is_left) {
            self.counts[*place as usize] -= 1;
        }
        let mut left = is_left.iter().copied();
        self.hosts.to_mut().retain(|_| left.next() == Some(true));
        let mut left = is_left.iter().copied();
        self.places.retain(|_| left.next() == Some(true));
        self.ranked()
    }

    /// The same with the scores of the runs that are left; `None` where these do not vary.
    fn ranked(mut self) -> Option<Self> {
        let n = self.places.len();
        if self.counts.iter().any(|count| *count as usize == n) {
            return None;
        }
        // The midrank less its mean, as a share of the cell: 2 · midrank − n − 1 is what is below less what is above.
        let mut below = 0;
        let score = |count: &u32| {
            let above = n - below - *count as usize;
            let score = (GRID * (below as f64 - above as f64) / (n + 1) as f64).round() as i32;
            below += *count as usize;
            score
        };
        let scores: Vec<i32> = self.counts.iter().map(score).collect();
        self.scores.clear();
        self.scores.extend(self.places.iter().map(|place| scores[*place as usize]));
        Some(self)
    }

    /// The places of a host's runs.
    fn runs_of(&self, host: u32) -> impl Iterator<Item = usize> {
        let runs = self.hosts.iter().enumerate();
        runs.filter(move |(_, hosts)| hosts.hosts().contains(&host)).map(|(run, _)| run)
    }

    /// The draw that a host's runs are; none where all runs are the host's, or none.
    fn draw_of(&self, host: u32) -> Option<Draw<'_>> {
        let runs = self.runs_of(host).count();
        (runs > 0 && runs < self.scores.len()).then_some(Draw { of: &self.scores, runs })
    }

    /// Adds the runs to the totals of their hosts. `of_cell` has nothing of any host, before and after.
    fn add_to(&self, totals: &mut [Total], of_cell: &mut [(i64, usize)]) {
        for (hosts, score) in self.hosts.iter().zip(&self.scores) {
            for host in hosts.hosts() {
                let (sum, runs) = &mut of_cell[*host as usize];
                *sum += i64::from(*score);
                *runs += 1;
            }
        }
        let n = self.scores.len() as f64;
        let mean = self.scores.iter().map(|score| f64::from(*score)).sum::<f64>() / n;
        let squares: f64 = self.scores.iter().map(|score| (f64::from(*score) - mean).powi(2)).sum();
        for host in self.hosts.iter().flat_map(Hosts::hosts) {
            let (sum, runs) = std::mem::take(&mut of_cell[*host as usize]);
            // A cell of one host alone says nothing of it.
            if runs == 0 || runs == self.scores.len() {
                continue;
            }
            let m = runs as f64;
            let total = &mut totals[*host as usize];
            total.sum += sum as f64;
            total.expected += m * mean;
            // Of a draw without replacement.
            total.variance += m * (n - m) / (n * (n - 1.0)) * squares;
            total.runs += runs;
        }
    }
}

impl Total {
    fn z(&self) -> f64 {
        (self.sum - self.expected) / self.variance.sqrt()
    }
}
