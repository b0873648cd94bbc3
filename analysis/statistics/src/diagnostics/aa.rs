//! A/A: a pool compared with itself. Its runs of one program are split at random into two halves, again and again: how
//! often does a test see a difference that is not there, and how large must a factor be to be seen?

use crate::inference::{Alternative, Caveat, ConfidenceLevel, PValue};
use crate::test::{RankSum, RankSumLaw, RankSumStatistic, WelchTTest, error_of_share};
use crate::{number::monotone_root, sample::Sample};
use serde::Serialize;
use speedup_core::{value::seed::Seed, value::seed::shuffle};
use std::collections::BTreeSet;
use thiserror::Error;

/// Runs of one version on a pool, and how they are compared with each other.
///
/// ```
/// use speedup_core::value::seed::Seed;
/// use speedup_statistics::diagnostics::aa::{AaOptions, AaStudy, AaTest};
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = Sample::new(vec![2.31, 2.05, 2.47, 2.11, 1.98, 2.64, 2.22, 2.70, 2.41, 2.58, 2.36, 2.81])?;
/// let (test, alternative) = (AaTest::Welch, Alternative::TwoSided);
/// let options = AaOptions { test, alternative, level: ConfidenceLevel::USUAL, splits: 1_000, seed: Seed(1) };
/// let alarms = AaStudy::by_runs(&pool, options)?.false_alarms();
/// // About as many false alarms as the level allows.
/// assert_eq!(alarms.splits, 1_000);
/// assert!((alarms.rate - 0.05).abs() < 4.0 * alarms.standard_error, "{}", alarms.rate);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AaStudy {
    options: AaOptions,
    splits: Vec<Split>,
    law: Option<RankSumLaw>,
    differs_by_rounding: bool,
}

/// How the pool is compared with itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AaOptions {
    pub test: AaTest,
    /// Its alternative, said of the first half.
    pub alternative: Alternative,
    pub level: ConfidenceLevel,
    /// How many random splits.
    pub splits: u64,
    /// Whence the splits.
    #[serde(skip)]
    pub seed: Seed,
}

/// The test that compares the halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AaTest {
    /// Welch's t test.
    Welch,
    /// The rank-sum test, exact where it can be.
    RankSum,
}

/// What the comparison of a pool with itself says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FalseAlarms {
    /// The full name of the method.
    pub method: &'static str,
    /// Splits in which the test rejected.
    pub rejected: u64,
    pub splits: u64,
    /// Splits that the test refused, which count as not rejected.
    pub refused: u64,
    /// rejected/splits; near 1 − level for a test that suits the pool.
    pub rate: f64,
    /// The standard error of the rate from the finite number of splits; above 0 for rates of 0 and 1 too.
    pub standard_error: f64,
    /// What the reader must know.
    pub caveats: Vec<Caveat>,
}

/// The smallest factor that the pool shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Detectable {
    /// A factor between the versions of this size is found with the power asked for.
    Factor {
        /// Above 1: the speedup, or for the alternative "less" the slowdown.
        factor: f64,
    },
    /// Not even the largest factor is: the runs are too few.
    NotWithin {
        /// The largest factor tried.
        largest: f64,
    },
}

/// Why a pool is not compared with itself.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum AaError {
    /// Too few runs for two halves with a spread.
    #[error("two halves need at least {FEWEST_RUNS} runs, but there are {0}")]
    TooFew(usize),
    #[error("{runs} runs and {hosts} hosts are named, but every run has one")]
    Unmatched { runs: usize, hosts: usize },
    #[error("two halves by host need at least 2 hosts, but there are {0}")]
    FewHosts(usize),
    #[error("the runs do not vary, so no split can differ")]
    Constant,
    #[error("the number of splits must be between 1 and {MOST_SPLITS}, not {0}")]
    Splits(u64),
    #[error("{splits} splits of {runs} runs are more than is kept")]
    TooLarge {
        /// Runs of the pool.
        runs: usize,
        splits: u64,
    },
    #[error("a detectable factor needs positive observations, and the least is {0}")]
    NotPositive(f64),
    #[error("a power must be strictly between 0 and 1, not {0:?}")]
    Power(f64),
}

speedup_core::hints! { AaError:
    Self::TooFew(_) => "plan more runs",
    Self::FewHosts(_) => "split by runs",
    Self::Constant => "use a finer clock or a longer run",
    Self::TooLarge { .. } => "make fewer splits",
    Self::Power(_) => "80 % is written 0.8",
}

/// Two in each half.
const FEWEST_RUNS: usize = 4;
/// More splits than this say nothing more.
const MOST_SPLITS: u64 = 100_000;
/// Runs of all splits together: each is kept with its order, 160 MB.
const MOST_RUNS_OF_SPLITS: u64 = 10_000_000;
/// A pool that does not show a factor of a thousand shows nothing.
const LARGEST_FACTOR: f64 = 1e3;
/// Exact rank-sum laws are counted below this many runs in a half.
const EXACT_BELOW: usize = 50;

#[derive(Clone, Debug)]
struct Split {
    first: Sample,
    second: Sample,
}

impl AaStudy {
    /// The method's full name.
    pub const NAME: &'static str = "A/A comparison by random halves";

    /// Splits run by run: what a pool of fresh hosts gives.
    ///
    /// # Errors
    /// [`AaError`] for fewer than four runs, all equal, or more splits than are kept.
    pub fn by_runs(pool: &Sample, options: AaOptions) -> Result<Self, AaError> {
        check(pool, &options)?;
        let half = pool.len() / 2;
        let mut order: Vec<f64> = pool.in_run_order().to_vec();
        let mut random = options.seed.child("random halves by run");
        let splits = (0..options.splits).filter_map(|_| {
            shuffle(&mut order, &mut random);
            Split::new(order[..half].to_vec(), order[half..].to_vec())
        });
        let splits = splits.collect();
        let small = options.test == AaTest::RankSum && pool.len() - half < EXACT_BELOW;
        let law = if small { RankSumLaw::new(half, pool.len() - half).ok() } else { None };
        Ok(Self { options, splits, law, differs_by_rounding: pool.differs_by_rounding() })
    }

    /// Splits host by host: the runs of a host stay together, as where each version has hosts of its own. A rate above
    /// the risk says that runs of one host resemble each other.
    ///
    /// # Errors
    /// [`AaError`] as [`AaStudy::by_runs`], and for one host.
    pub fn by_hosts(pool: &Sample, hosts: &[u32], options: AaOptions) -> Result<Self, AaError> {
        check(pool, &options)?;
        if pool.len() != hosts.len() {
            return Err(AaError::Unmatched { runs: pool.len(), hosts: hosts.len() });
        }
        let mut order: Vec<u32> = hosts.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        if order.len() < 2 {
            return Err(AaError::FewHosts(order.len()));
        }
        let half = order.len() / 2;
        let mut random = options.seed.child("random halves by host");
        let splits = (0..options.splits).filter_map(|_| {
            shuffle(&mut order, &mut random);
            let of_first: BTreeSet<u32> = order[..half].iter().copied().collect();
            let runs = || hosts.iter().zip(pool.in_run_order().iter().copied());
            let pick = |wanted: bool| {
                runs().filter(|(host, _)| of_first.contains(host) == wanted).map(|(_, run)| run).collect()
            };
            Split::new(pick(true), pick(false))
        });
        let splits = splits.collect();
        Ok(Self { options, splits, law: None, differs_by_rounding: pool.differs_by_rounding() })
    }

    /// How often the test rejects although both halves are the same version. A split that the test refuses counts as
    /// not rejected.
    pub fn false_alarms(&self) -> FalseAlarms {
        let rejected = self.rejections(1.0);
        let splits = self.splits.len() as u64;
        let refused = self.splits.iter().filter(|split| self.p_value(split, 1.0).is_none()).count() as u64;
        let mut caveats = vec![Caveat::ByDraws { draws: splits }, Caveat::OnePool];
        if refused > 0 {
            caveats.push(Caveat::SplitsRefused { refused, splits });
        }
        if self.differs_by_rounding {
            caveats.push(Caveat::SpreadOfRounding);
        }
        FalseAlarms {
            method: Self::NAME,
            rejected,
            splits,
            refused,
            rate: rejected as f64 / splits as f64,
            standard_error: error_of_share(rejected as f64, splits as f64),
            caveats,
        }
    }

    /// The smallest factor by which the second half must be faster (for the alternative "less": slower) to be found
    /// with the probability `power`, with half of the pool's runs for each version.
    ///
    /// # Errors
    /// [`AaError`] for observations that are not positive, or a power out of range.
    pub fn minimum_detectable(&self, power: f64) -> Result<Detectable, AaError> {
        if !(power > 0.0 && power < 1.0) {
            return Err(AaError::Power(power));
        }
        let least = self.splits.iter().map(|split| split.first.min().min(split.second.min()));
        let least = least.fold(f64::INFINITY, f64::min);
        if least <= 0.0 {
            return Err(AaError::NotPositive(least));
        }
        let wanted = power * self.splits.len() as f64;
        let enough = |steps: u64| self.rejections(factor_of(steps)) as f64 >= wanted;
        let steps = monotone_root::least_whole(1, FACTOR_STEPS, enough);
        Ok(steps.map_or(Detectable::NotWithin { largest: LARGEST_FACTOR }, |steps| Detectable::Factor {
            factor: factor_of(steps),
        }))
    }

    /// The splits in which the test rejects when the second half is this factor faster.
    fn rejections(&self, factor: f64) -> u64 {
        let scale = match self.options.alternative {
            Alternative::TwoSided | Alternative::Greater => 1.0 / factor,
            Alternative::Less => factor,
        };
        self.splits.iter().filter(|split| self.rejects(split, scale)).count() as u64
    }

    fn rejects(&self, split: &Split, scale: f64) -> bool {
        self.p_value(split, scale).is_some_and(|p| p.rejects_at(self.options.level.risk()))
    }

    /// Absent where the test refuses the halves.
    fn p_value(&self, split: &Split, scale: f64) -> Option<PValue> {
        let scaled = split.second.in_run_order().iter().map(|time| time * scale).collect();
        let second = Sample::new(scaled).ok()?;
        match self.options.test {
            AaTest::Welch => {
                WelchTTest::new(&split.first, &second).map(|test| test.p_value(self.options.alternative)).ok()
            }
            AaTest::RankSum => Some(self.rank_sum_p(&split.first, &second)),
        }
    }

    /// The halves have the same sizes in all splits by run, so that their exact law is counted once. With ties each split
    /// would need a law of its own, at every factor that is tried: there it is R's.
    fn rank_sum_p(&self, first: &Sample, second: &Sample) -> PValue {
        let statistic = RankSumStatistic::new(first, second);
        match &self.law {
            Some(law) if !statistic.has_ties() => {
                let w = statistic.w() as u64;
                self.options.alternative.p_value(law.at_most(w), law.at_least(w))
            }
            Some(_) | None => RankSum::r_default(first, second).p_value(self.options.alternative),
        }
    }
}

/// Factors are looked for in steps of a hundredth of a percent.
const FACTOR_STEP: f64 = 1e-4;
/// ln(1000)/ln(1.0001).
const FACTOR_STEPS: u64 = 69_080;

fn factor_of(steps: u64) -> f64 {
    (steps as f64 * FACTOR_STEP.ln_1p()).exp()
}

impl Split {
    fn new(first: Vec<f64>, second: Vec<f64>) -> Option<Self> {
        Sample::new(first).ok().zip(Sample::new(second).ok()).map(|(first, second)| Self { first, second })
    }
}

fn check(pool: &Sample, options: &AaOptions) -> Result<(), AaError> {
    if pool.len() < FEWEST_RUNS {
        return Err(AaError::TooFew(pool.len()));
    }
    if pool.is_constant() {
        return Err(AaError::Constant);
    }
    if !(1..=MOST_SPLITS).contains(&options.splits) {
        return Err(AaError::Splits(options.splits));
    }
    if options.splits.saturating_mul(pool.len() as u64) > MOST_RUNS_OF_SPLITS {
        return Err(AaError::TooLarge { runs: pool.len(), splits: options.splits });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarms(values: &[f64], test: AaTest) -> FalseAlarms {
        let options = AaOptions {
            test,
            alternative: Alternative::TwoSided,
            level: ConfidenceLevel::USUAL,
            splits: 50,
            seed: Seed(1),
        };
        AaStudy::by_runs(&Sample::new(values.to_vec()).unwrap(), options).unwrap().false_alarms()
    }

    #[test]
    fn what_the_test_refuses_is_told_and_so_is_a_spread_of_rounding() {
        let pool: Vec<f64> = (0..12).map(|run| 1.0 + f64::from(run % 3) * f64::EPSILON).collect();
        let welch = alarms(&pool, AaTest::Welch);
        assert_eq!((welch.rejected, welch.refused, welch.splits), (0, 50, 50));
        assert!(welch.caveats.contains(&Caveat::SplitsRefused { refused: 50, splits: 50 }));
        let ranks = alarms(&pool, AaTest::RankSum);
        assert_eq!(ranks.refused, 0);
        for of in [&welch, &ranks] {
            assert!(of.caveats.contains(&Caveat::SpreadOfRounding), "{:?}", of.caveats);
            assert!(of.rejected > 0 || of.standard_error > 0.0);
        }
    }

    #[test]
    fn a_pool_that_varies_has_neither_caveat() {
        let pool: Vec<f64> = (0..12).map(|run| 1.0 + f64::from(run * 7 % 12) / 100.0).collect();
        let alarms = alarms(&pool, AaTest::Welch);
        assert_eq!((alarms.refused, alarms.caveats.len()), (0, 2), "{:?}", alarms.caveats);
        assert!(alarms.standard_error > 0.0);
    }
}
