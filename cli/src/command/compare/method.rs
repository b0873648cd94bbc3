//! The choice of the method; an option of another method is refused, since whoever gives it means something by it.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use speedup_analysis::inquiry::{
    DistributionOptions, EarlierOptions, EffectOptions, Method, MixtureOptions, PerformanceTestOptions,
    RatioOptions, SpeedupTestMode, SpeedupTestOptions,
};
use speedup_statistics::inference::Adjustment;
use speedup_statistics::levels::Statistic;
use speedup_statistics::mixture;
use speedup_statistics::mixture::goodness_of_fit::{ResampleSize, USUAL_RESAMPLES};
use speedup_statistics::protocol::NormalityReading;
use speedup_statistics::protocol::hierarchical_performance_test::{RankSumRule, ScoreReference};
use speedup_statistics::test::{HalfIntegers, ProportionMethod};

use crate::arguments::center::CenterName;
use crate::arguments::fraction;
use crate::arguments::proportion_interval::ProportionInterval;
use crate::exit::failure::Failure;

/// A method's name on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Name {
    /// The ratio of medians or means with its two-sided interval, and what follows for the suite
    #[default]
    Ratio,
    /// Verdicts on mean and median, best levels, suite and proportion (Touati, Worms, Briais 2010)
    SpeedupTest,
    /// The hierarchical performance test over all benchmarks (Chen et al. 2012)
    Hpt,
    /// The ratio of means with runs as a level, and a threshold (Kalibera, Jones 2012)
    Effect,
    /// Gaussian mixtures, their test of fit, and the metrics of variability (Worms, Touati 2016)
    Mixture,
    /// The signed-rank test of runs that the design made pairs
    SignedRank,
    /// How probably a run of the candidate is the better one, whatever their laws (Brunner, Munzel 2000)
    BrunnerMunzel,
    /// The authors' earlier protocol (Touati 2009)
    Earlier,
    /// Quantiles, probabilities and clusters of each sample, observed and by its mixture (Worms, Touati 2016)
    Distribution,
    /// Whether runs depend on their order, and whether their values are continuous
    Diagnostics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Published,
    Exact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Adjust {
    Bonferroni,
    Holm,
    Hochberg,
    Hommel,
    #[value(alias = "benjamini-hochberg")]
    Bh,
    #[value(alias = "benjamini-yekutieli")]
    By,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RankSum {
    /// The paper's critical values
    CriticalValues,
    /// R's wilcox.test
    R,
    /// Exact, given the ties
    Permutations,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HalfRanks {
    Down,
    Up,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Reference {
    FirstRun,
    Median,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    Mean,
    Median,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fit {
    Mclust,
    Converged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Size {
    Same,
    NineTenths,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Normality {
    NotRejected,
    Tabled,
}

/// The method and the options of all methods.
#[derive(Debug, Args)]
pub(super) struct Choice {
    /// What is done with the samples
    #[arg(short, long, value_enum, default_value_t, value_name = "METHOD")]
    method: Name,
    /// ratio: whose ratio [default: median, or mean with fewer than 6 runs]
    #[arg(long, value_enum, value_name = "OF")]
    center: Option<CenterName>,
    /// ratio: values within this share of each other count as the same, as 0.01 or 1%
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::margin)]
    margin: Option<f64>,
    /// ratio: also a verdict on this quantile, as 0.99 or 99%, in one family with the others; repeatable
    #[arg(long, value_name = "P", allow_hyphen_values = true, value_delimiter = ',', value_parser = fraction::probability)]
    quantile: Vec<f64>,
    /// ratio: a version that is the baseline's program again; it shows what is found where nothing differs
    #[arg(long, value_name = "NAME")]
    control: Option<String>,
    /// speedup-test: whose verdicts [default: exact]
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<Mode>,
    /// speedup-test: adjust p-values for the number of benchmarks and candidates, beside those that are not adjusted
    #[arg(long, value_enum, value_name = "HOW")]
    adjust: Option<Adjust>,
    /// speedup-test: the half-width to which the proportion of accelerated benchmarks should be known [default: 0.05]
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = fraction::precision)]
    precision: Option<f64>,
    /// speedup-test: an interval of that proportion beside the published and the recommended one
    #[arg(long, value_enum, value_name = "METHOD")]
    proportion_interval: Option<ProportionInterval>,
    /// hpt: is a candidate more than so many times faster? [default: 1]
    #[arg(long, value_name = "GAMMA", allow_hyphen_values = true)]
    speedup_under_test: Option<f64>,
    /// hpt: by which rank-sum test a benchmark has a winner [default: critical-values]
    #[arg(long, value_enum, value_name = "RULE")]
    rank_sum: Option<RankSum>,
    /// hpt: which way half ranks are rounded [default: that of the paper's table, down]
    #[arg(long, value_enum, value_name = "WAY")]
    half_ranks: Option<HalfRanks>,
    /// hpt: what times are divided into to give scores [default: first-run]
    #[arg(long, value_enum, value_name = "OF")]
    score_reference: Option<Reference>,
    /// effect: the least relative difference of the times that matters, as 0.01 or 1% [default: 0]
    #[arg(long, value_name = "DELTA", allow_hyphen_values = true, value_parser = fraction::share)]
    threshold: Option<f64>,
    /// effect: also by so many draws of the hierarchical bootstrap
    #[arg(long, value_name = "DRAWS")]
    bootstrap: Option<u32>,
    /// effect: the bootstrap's statistic [default: mean]
    #[arg(long, value_enum, value_name = "OF", requires = "bootstrap")]
    statistic: Option<Of>,
    /// mixture: how far the likelihood is climbed [default: converged]
    #[arg(long, value_enum, value_name = "HOW")]
    fit: Option<Fit>,
    /// mixture: resamples of the test of fit, 0 for none [default: 500]
    #[arg(long, value_name = "N")]
    resamples: Option<u32>,
    /// mixture: the size of the resamples [default: same]
    #[arg(long, value_enum, value_name = "SIZE")]
    resample_size: Option<Size>,
    /// mixture: by how much a run may be slower and still count as the shorter, in the values' unit [default: 0]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<f64>,
    /// distribution: at which probabilities quantiles are told, as 0.5,0.99 or 99% [default: 0.5,0.9,0.99]
    #[arg(long, value_name = "P,…", allow_hyphen_values = true, value_delimiter = ',', value_parser = fraction::probability)]
    quantiles: Vec<f64>,
    /// distribution: how probably is a run at most each of these, in the values' unit?
    #[arg(long, value_name = "A,…", allow_hyphen_values = true, value_delimiter = ',')]
    at_most: Vec<f64>,
    /// distribution: also the cluster of each observation, in run order
    #[arg(long)]
    clusters: bool,
    /// earlier: how a small sample is found normal [default: not-rejected]
    #[arg(long, value_enum, value_name = "HOW")]
    normality: Option<Normality>,
}

impl Choice {
    /// The version that is no candidate.
    pub(super) fn control(&self) -> Option<&str> {
        self.control.as_deref()
    }

    /// The method with its options; `noise` is the threshold of one that has a threshold, unless it is given one.
    pub(super) fn method(&self, noise: Option<f64>) -> Result<Method, Failure> {
        self.refuse_others()?;
        Ok(match self.method {
            Name::Ratio => Method::Ratio(RatioOptions {
                center: self.center.map(Into::into),
                margin: self.margin,
                quantiles: self.quantile.clone(),
                control: self.control.clone(),
            }),
            Name::SpeedupTest => Method::SpeedupTest(self.speedup_test()),
            Name::Hpt => Method::PerformanceTest(self.performance_test()),
            Name::Effect => Method::Effect(EffectOptions {
                threshold: self.threshold.or(noise).unwrap_or(0.0),
                bootstrap: self.bootstrap,
                statistic: match self.statistic {
                    None | Some(Of::Mean) => Statistic::Mean,
                    Some(Of::Median) => Statistic::Median,
                },
            }),
            Name::Mixture => Method::Mixture(self.mixture()),
            Name::SignedRank => Method::SignedRank,
            Name::BrunnerMunzel => Method::BrunnerMunzel,
            Name::Earlier => Method::Earlier(EarlierOptions {
                normality: match self.normality {
                    None | Some(Normality::NotRejected) => NormalityReading::NotRejected,
                    Some(Normality::Tabled) => NormalityReading::TabledAtLevel,
                },
            }),
            Name::Distribution => Method::Distribution(self.distribution()),
            Name::Diagnostics => Method::Diagnostics,
        })
    }

    fn refuse_others(&self) -> Result<(), Failure> {
        let given = [
            ("--center", Name::Ratio, self.center.is_some()),
            ("--margin", Name::Ratio, self.margin.is_some()),
            ("--quantile", Name::Ratio, !self.quantile.is_empty()),
            ("--control", Name::Ratio, self.control.is_some()),
            ("--mode", Name::SpeedupTest, self.mode.is_some()),
            ("--adjust", Name::SpeedupTest, self.adjust.is_some()),
            ("--precision", Name::SpeedupTest, self.precision.is_some()),
            ("--proportion-interval", Name::SpeedupTest, self.proportion_interval.is_some()),
            ("--speedup-under-test", Name::Hpt, self.speedup_under_test.is_some()),
            ("--rank-sum", Name::Hpt, self.rank_sum.is_some()),
            ("--half-ranks", Name::Hpt, self.half_ranks.is_some()),
            ("--score-reference", Name::Hpt, self.score_reference.is_some()),
            ("--threshold", Name::Effect, self.threshold.is_some()),
            ("--bootstrap", Name::Effect, self.bootstrap.is_some()),
            ("--fit", Name::Mixture, self.fit.is_some()),
            ("--resamples", Name::Mixture, self.resamples.is_some()),
            ("--resample-size", Name::Mixture, self.resample_size.is_some()),
            ("--delta", Name::Mixture, self.delta.is_some()),
            ("--quantiles", Name::Distribution, !self.quantiles.is_empty()),
            ("--at-most", Name::Distribution, !self.at_most.is_empty()),
            ("--clusters", Name::Distribution, self.clusters),
            ("--normality", Name::Earlier, self.normality.is_some()),
        ];
        match given.into_iter().find(|(_, method, is_given)| *is_given && *method != self.method) {
            None => Ok(()),
            Some((flag, method, _)) => {
                let name =
                    method.to_possible_value().map_or_else(String::new, |one| one.get_name().to_owned());
                Err(Failure::usage(anyhow!("{flag} belongs to --method {name}")))
            }
        }
    }

    fn speedup_test(&self) -> SpeedupTestOptions {
        let usual = SpeedupTestOptions::default();
        SpeedupTestOptions {
            mode: match self.mode {
                None | Some(Mode::Exact) => SpeedupTestMode::Exact,
                Some(Mode::Published) => SpeedupTestMode::Published,
            },
            adjust: self.adjust.map(|adjust| match adjust {
                Adjust::Bonferroni => Adjustment::Bonferroni,
                Adjust::Holm => Adjustment::Holm,
                Adjust::Hochberg => Adjustment::Hochberg,
                Adjust::Hommel => Adjustment::Hommel,
                Adjust::Bh => Adjustment::BenjaminiHochberg,
                Adjust::By => Adjustment::BenjaminiYekutieli,
            }),
            precision: self.precision.unwrap_or(usual.precision),
            proportion_interval: self.proportion_interval.map(ProportionMethod::from),
        }
    }

    fn performance_test(&self) -> PerformanceTestOptions {
        let usual = PerformanceTestOptions::default();
        PerformanceTestOptions {
            speedup_under_test: self.speedup_under_test.unwrap_or(usual.speedup_under_test),
            rank_sum: self.rank_sum.map_or(usual.rank_sum, |rule| match rule {
                RankSum::CriticalValues => RankSumRule::CriticalValues,
                RankSum::R => RankSumRule::RDefault,
                RankSum::Permutations => RankSumRule::Permutations,
            }),
            half_integers: self.half_ranks.map_or(usual.half_integers, |way| match way {
                HalfRanks::Down => HalfIntegers::RoundedDown,
                HalfRanks::Up => HalfIntegers::RoundedUp,
            }),
            reference: self.score_reference.map_or(usual.reference, |reference| match reference {
                Reference::FirstRun => ScoreReference::FirstBaselineRun,
                Reference::Median => ScoreReference::BaselineMedian,
            }),
        }
    }

    fn distribution(&self) -> DistributionOptions {
        let usual = DistributionOptions::default();
        DistributionOptions {
            probabilities: if self.quantiles.is_empty() {
                usual.probabilities
            } else {
                self.quantiles.clone()
            },
            bounds: self.at_most.clone(),
            clusters: self.clusters,
            fit: usual.fit,
        }
    }

    fn mixture(&self) -> MixtureOptions {
        MixtureOptions {
            fit: match self.fit {
                None | Some(Fit::Converged) => mixture::FitMethod::Converged,
                Some(Fit::Mclust) => mixture::FitMethod::Mclust,
            },
            resamples: self.resamples.unwrap_or(USUAL_RESAMPLES),
            resample_size: match self.resample_size {
                None | Some(Size::Same) => ResampleSize::Same,
                Some(Size::NineTenths) => ResampleSize::NineTenths,
            },
            delta: self.delta.unwrap_or(0.0),
        }
    }
}
