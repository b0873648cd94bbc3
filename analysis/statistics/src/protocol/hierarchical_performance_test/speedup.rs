//! The r-Speedup: the greatest speedup that the test confirms with a given confidence (Chen 2012 §4.2), exactly.
//!
//! As the speedup under test γ grows, the answer changes only where a rank sum does, at a ratio aᵢⱼ/bᵢₖ of two
//! scores of one benchmark; where a difference of medians changes its sign, at their ratio; and where a positive
//! and a negative difference of two benchmarks become equally large, at (aᵢ + aⱼ)/(bᵢ + bⱼ) of their medians.
//! (Two of the same sign may exchange ranks: their sum stays.) Between two such speedups nothing happens, so
//! every one of them and one speedup between each two are all there is to try.
//!
//! The sum of ranks is Σ over i ≤ j of 1, ½ or 0 as dᵢ + dⱼ is positive, zero or negative (Tukey's form, with the
//! zeros kept and split as here): it cannot grow while every d falls. So where each benchmark goes from the
//! candidate over a tie to the baseline, and no winner has the smaller median, the speedups that succeed are
//! one range, and halving finds its end. Otherwise all are tried.

use super::{
    DIFFERENCE_NOISE, HierarchicalPerformanceTest, PerformanceTestError, RankSumRule, ScoredBenchmark,
    Winner, benchmark::CriticalValues, benchmark::SCORE_NOISE, benchmark::divided, difference_noise,
};
use crate::{inference::Alternative, inference::ConfidenceLevel, test::ZerosKeptSignedRank};
use serde::Serialize;

/// The most pairs of runs of one benchmark whose ratios are listed: 32 MB.
const MOST_PAIRS: usize = 4_000_000;
/// The most differences ranked while every speedup is tried: some seconds.
const MOST_RANKINGS: usize = 100_000_000;

/// The supremum of the speedups γ ≥ 1 that the test confirms with the confidence asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReliableSpeedup {
    /// Not even that the candidate is faster at all.
    NotFaster,
    Supremum {
        /// γ.
        speedup: f64,
        /// Whether the test confirms γ itself, or only every one just below.
        attained: bool,
        /// Whether it confirms all from 1 to γ; a winner with the smaller median, or another rank-sum rule,
        /// can make it fail between.
        all_below_hold: bool,
    },
    /// Every speedup is confirmed, since the confidence is so low that benchmarks without a winner give it.
    Unbounded,
}

impl HierarchicalPerformanceTest<'_> {
    /// The greatest speedup with a confidence of `level`: the paper's r-Speedup.
    ///
    /// # Errors
    /// [`PerformanceTestError`] for more runs or benchmarks than are looked through, or a rank-sum test refused.
    pub fn reliable_speedup(&self, level: ConfidenceLevel) -> Result<ReliableSpeedup, PerformanceTestError> {
        let mut paths = Vec::with_capacity(self.suite.benchmarks().len());
        for (position, benchmark) in self.suite.benchmarks().iter().enumerate() {
            paths.push(self.path(position, benchmark)?);
        }
        let speedups = turning_points(&paths);
        let search = Search {
            sequences: paths.iter().map(|path| Sequence::new(path, &speedups)).collect(),
            paths,
            speedups,
        };
        search.supremum(|test| {
            1.0 - test.p_value(Alternative::Greater, self.rules.half_integers).get() >= level.get()
        })
    }

    fn path(&self, position: usize, benchmark: &ScoredBenchmark) -> Result<WinnerPath, PerformanceTestError> {
        let pairs = benchmark.candidate.len().saturating_mul(benchmark.baseline.len());
        if pairs > MOST_PAIRS {
            return Err(PerformanceTestError::TooManyPairs { benchmark: position, pairs });
        }
        let ratios = Ratios::new(benchmark);
        let turns = match self.rules.rank_sum {
            RankSumRule::CriticalValues => self.turns_by_count(benchmark, &ratios),
            RankSumRule::RDefault | RankSumRule::Permutations => {
                self.turns_by_test(position, benchmark, &ratios)?
            }
        };
        Ok(WinnerPath {
            candidate_median: benchmark.candidate.median(),
            baseline_median: benchmark.baseline.median(),
            turns,
        })
    }

    /// The paper's test depends on how many ratios exceed γ alone.
    fn turns_by_count(&self, benchmark: &ScoredBenchmark, ratios: &Ratios) -> Vec<TurningPoint> {
        let values = CriticalValues::new(benchmark.candidate.len(), benchmark.baseline.len());
        let critical = values.critical(self.rules.risk.for_benchmark(benchmark));
        let all = 2 * ratios.sorted.len() as u64;
        let mut turns = Vec::new();
        for group in ratios.groups() {
            turns.push(TurningPoint {
                speedup: group.speedup,
                at: winner_by_count(2 * group.above + group.equal, all, critical),
                after: winner_by_count(2 * group.above, all, critical),
            });
        }
        turns
    }

    /// Other tests depend on the ties as well, so each is made anew.
    fn turns_by_test(
        &self,
        position: usize,
        benchmark: &ScoredBenchmark,
        ratios: &Ratios,
    ) -> Result<Vec<TurningPoint>, PerformanceTestError> {
        let groups: Vec<EqualRatios> = ratios.groups().collect();
        let mut turns = Vec::with_capacity(groups.len());
        for (k, group) in groups.iter().enumerate() {
            let next = groups.get(k + 1).map_or(2.0 * group.speedup, |next| next.speedup);
            turns.push(TurningPoint {
                speedup: group.speedup,
                after: self.winner(position, benchmark, group.speedup.midpoint(next))?,
                at: self.winner(position, benchmark, group.speedup)?,
            });
        }
        Ok(turns)
    }

    fn winner(
        &self,
        position: usize,
        benchmark: &ScoredBenchmark,
        speedup: f64,
    ) -> Result<Winner, PerformanceTestError> {
        let candidate = divided(benchmark, speedup)
            .map_err(|source| PerformanceTestError::Divided { benchmark: position, source })?;
        let (candidate_better, baseline_better) = self
            .rules
            .rank_sum
            .p_values(&candidate, &benchmark.baseline)
            .map_err(|source| PerformanceTestError::RankSum { benchmark: position, source })?;
        Ok(Winner::new(candidate_better, baseline_better, self.rules.risk.for_benchmark(benchmark)))
    }
}

/// The winner by twice the candidate's W and twice the baseline's, which add up to `all`; at no critical value nobody wins.
fn winner_by_count(doubled_w: u64, all: u64, critical: Option<u64>) -> Winner {
    let Some(critical) = critical else { return Winner::Tie };
    match (doubled_w >= critical, all - doubled_w >= critical) {
        (true, false) => Winner::Candidate,
        (false, true) => Winner::Baseline,
        (false, false) | (true, true) => Winner::Tie,
    }
}

/// How a benchmark fares as the speedup under test grows from 1.
struct WinnerPath {
    candidate_median: f64,
    baseline_median: f64,
    /// In ascending order, the first at 1.
    turns: Vec<TurningPoint>,
}

/// A speedup at which a winner may change.
struct TurningPoint {
    speedup: f64,
    at: Winner,
    /// Until the next turn.
    after: Winner,
}

/// The ratios of the scores of one benchmark, ascending.
struct Ratios {
    sorted: Vec<f64>,
}

/// Ratios that are equal but for rounding.
struct EqualRatios {
    speedup: f64,
    equal: u64,
    above: u64,
}

impl Ratios {
    fn new(benchmark: &ScoredBenchmark) -> Self {
        let mut sorted = Vec::with_capacity(benchmark.candidate.len() * benchmark.baseline.len());
        for a in benchmark.candidate.sorted() {
            sorted.extend(benchmark.baseline.sorted().iter().map(|b| a / b));
        }
        sorted.sort_unstable_by(f64::total_cmp);
        Self { sorted }
    }

    /// The groups from 1 on, which comes first even if no ratio equals it.
    fn groups(&self) -> impl Iterator<Item = EqualRatios> + '_ {
        let mut start = self.sorted.partition_point(|ratio| *ratio < 1.0 - SCORE_NOISE);
        let mut next = Some(1.0);
        std::iter::from_fn(move || {
            let speedup = next?;
            let equal = self.sorted[start..].partition_point(|ratio| *ratio <= speedup * (1.0 + SCORE_NOISE));
            let end = start + equal;
            let above = (self.sorted.len() - end) as u64;
            start = end;
            next = self.sorted.get(end).copied();
            Some(EqualRatios { speedup, equal: equal as u64, above })
        })
    }
}

/// Every speedup from 1 on at which anything may change, ascending; those that differ by rounding are one.
fn turning_points(paths: &[WinnerPath]) -> Vec<f64> {
    let mut speedups = vec![1.0];
    for (i, path) in paths.iter().enumerate() {
        speedups.extend(path.changes().map(|turn| turn.speedup));
        let crossings = paths[i..].iter().map(|other| {
            (path.candidate_median + other.candidate_median) / (path.baseline_median + other.baseline_median)
        });
        speedups.extend(crossings.filter(|speedup| *speedup > 1.0));
    }
    speedups.sort_unstable_by(f64::total_cmp);
    speedups.dedup_by(|later, kept| *later <= *kept * (1.0 + DIFFERENCE_NOISE));
    speedups
}

impl WinnerPath {
    /// The turns where the winner does change, and the first.
    fn changes(&self) -> impl Iterator<Item = &TurningPoint> {
        let mut before = None;
        self.turns.iter().filter(move |turn| {
            let changes = before != Some(turn.at) || turn.at != turn.after;
            before = Some(turn.after);
            changes
        })
    }

    /// d at `speedup` if there is a winner, and what rounding may have done to it.
    fn difference(&self, speedup: f64, winner: Winner) -> (f64, f64) {
        let candidate = self.candidate_median / speedup;
        match winner {
            Winner::Candidate | Winner::Baseline => {
                (candidate - self.baseline_median, difference_noise(candidate, self.baseline_median))
            }
            Winner::Tie => (0.0, 0.0),
        }
    }
}

/// The winners of one benchmark by place: place 2k is the k-th turning point, 2k + 1 what lies beyond it.
struct Sequence {
    /// From which place on who wins; the first at place 0.
    winners: Vec<(usize, Winner)>,
}

impl Sequence {
    fn new(path: &WinnerPath, speedups: &[f64]) -> Self {
        let mut winners: Vec<(usize, Winner)> = Vec::new();
        for turn in path.changes() {
            let place = 2 * (speedups.partition_point(|speedup| *speedup <= turn.speedup) - 1);
            for (place, winner) in [(place, turn.at), (place + 1, turn.after)] {
                match winners.last_mut() {
                    // Turns that rounding alone keeps apart: the first holds at the point, the last beyond it.
                    Some(last) if last.0 > place => {}
                    Some(last) if last.0 == place && place % 2 == 1 => last.1 = winner,
                    Some(last) if last.0 == place || last.1 == winner => {}
                    _ => winners.push((place, winner)),
                }
            }
        }
        Self { winners }
    }

    fn at(&self, place: usize) -> Winner {
        self.winners[self.winners.partition_point(|(from, _)| *from <= place) - 1].1
    }
}

/// All that is needed to test the suite at any place.
struct Search {
    paths: Vec<WinnerPath>,
    sequences: Vec<Sequence>,
    speedups: Vec<f64>,
}

impl Search {
    fn supremum(
        &self,
        succeeds: impl Fn(&ZerosKeptSignedRank) -> bool,
    ) -> Result<ReliableSpeedup, PerformanceTestError> {
        let places = 2 * self.speedups.len();
        let one_range = self.is_one_range();
        // One range ends where halving says; else every place is tried, from the greatest speedup down.
        let highest = if one_range {
            first_failure(places, |place| succeeds(&self.test(place))).checked_sub(1)
        } else {
            if places.saturating_mul(self.paths.len()) > MOST_RANKINGS {
                return Err(PerformanceTestError::TooManySpeedups { speedups: self.speedups.len() });
            }
            (0..places).rev().find(|place| succeeds(&self.test(*place)))
        };
        Ok(match highest {
            None => ReliableSpeedup::NotFaster,
            Some(place) if place + 1 == places => ReliableSpeedup::Unbounded,
            Some(place) => ReliableSpeedup::Supremum {
                speedup: self.speedups[place.div_ceil(2)],
                attained: place.is_multiple_of(2),
                all_below_hold: one_range || (0..place).all(|place| succeeds(&self.test(place))),
            },
        })
    }

    fn test(&self, place: usize) -> ZerosKeptSignedRank {
        let speedup = self.speedup(place);
        let mut differences = Vec::with_capacity(self.paths.len());
        let mut noise = Vec::with_capacity(self.paths.len());
        for (path, sequence) in self.paths.iter().zip(&self.sequences) {
            let (difference, rounding) = path.difference(speedup, sequence.at(place));
            differences.push(difference);
            noise.push(rounding);
        }
        ZerosKeptSignedRank::with_noise(&differences, &noise).test
    }

    /// The turning point, or a speedup between it and the next.
    fn speedup(&self, place: usize) -> f64 {
        let point = self.speedups[place / 2];
        if place.is_multiple_of(2) {
            return point;
        }
        self.speedups.get(place / 2 + 1).map_or(2.0 * point, |next| point.midpoint(*next))
    }

    /// Whether the speedups that succeed cannot but be one range from 1: no difference grows with the speedup.
    fn is_one_range(&self) -> bool {
        let mut all = self.paths.iter().zip(&self.sequences);
        all.all(|(path, sequence)| self.falls(path, sequence))
    }

    fn falls(&self, path: &WinnerPath, sequence: &Sequence) -> bool {
        let winners = &sequence.winners;
        for (i, (from, winner)) in winners.iter().enumerate() {
            let mut end = 2 * self.speedups.len();
            if let Some((next_place, next_winner)) = winners.get(i + 1) {
                if next_winner >= winner {
                    return false;
                }
                end = *next_place;
            }
            let falls = match winner {
                // The candidate's lead is least where it ends, the baseline's where it begins.
                Winner::Candidate => {
                    let (difference, noise) = path.difference(self.speedup(end - 1), *winner);
                    difference >= -noise
                }
                Winner::Baseline => {
                    let (difference, noise) = path.difference(self.speedup(*from), *winner);
                    difference <= noise
                }
                Winner::Tie => true,
            };
            if !falls {
                return false;
            }
        }
        true
    }
}

/// The first of `places` at which `succeeds` fails, where it holds up to there.
fn first_failure(places: usize, succeeds: impl Fn(usize) -> bool) -> usize {
    let mut low = 0;
    let mut high = places;
    while low < high {
        let middle = low + (high - low) / 2;
        if succeeds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
