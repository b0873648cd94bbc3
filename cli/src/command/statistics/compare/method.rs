//! The choice of the method; an option of another method is refused, since whoever gives it means something by it.

use anyhow::anyhow;
use clap::Args;
use speedup_analysis::inquiry::{METHODS, Method, Offer, SpeedupTestMode};
use speedup_core::experiment::Center;
use speedup_statistics::{
    inference::Adjustment, levels::Statistic, mixture::FitMethod, mixture::goodness_of_fit::ResampleSize,
    protocol::NormalityReading, protocol::hierarchical_performance_test::RankSumRule,
    protocol::hierarchical_performance_test::ScoreReference, test::HalfIntegers, test::ProportionMethod,
};

use crate::arguments::fraction;
use crate::arguments::words::{centers, proportion_intervals, words};
use crate::exit::failure::Failure;

/// The method and the options of all methods.
#[derive(Debug, Args)]
pub(super) struct Choice {
    /// The method of comparison
    #[arg(short, long, value_name = "METHOD", default_value = METHODS[0].word,
        value_parser = words(METHODS.iter().map(|method| (method.word, method, method.help))))]
    method: &'static Offer,
    /// The ratio of these [default: trimmed]
    #[arg(long, value_name = "OF", value_parser = centers(), help_heading = "Method ratio (the default)")]
    center: Option<Center>,
    /// The share of the runs that a trimmed mean leaves out at each end [default: 0.1]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::share, help_heading = "Method ratio (the default)")]
    trim: Option<f64>,
    /// Values within this share of each other count as the same, such as 0.01 or 1%
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::margin, help_heading = "Method ratio (the default)")]
    margin: Option<f64>,
    /// Also give a verdict on this quantile, such as 0.99 or 99%, in one family with the others; repeatable
    #[arg(long, value_name = "P", allow_hyphen_values = true, value_delimiter = ',', value_parser = fraction::probability, help_heading = "Method ratio (the default)")]
    quantile: Option<Vec<f64>>,
    /// A version that is the baseline's program again; it shows what is found where nothing differs
    #[arg(long, value_name = "NAME", help_heading = "Method ratio (the default)")]
    control: Option<String>,
    /// Whose verdicts to give [default: exact]
    #[arg(long, value_name = "MODE", value_parser = words([
        ("published", SpeedupTestMode::Published, ""),
        ("exact", SpeedupTestMode::Exact, ""),
    ]), help_heading = "Method speedup-test")]
    mode: Option<SpeedupTestMode>,
    /// Also adjust p-values for the number of benchmarks and candidates
    #[arg(long, value_name = "HOW", value_parser = words([
        ("bonferroni", Adjustment::Bonferroni, ""),
        ("holm", Adjustment::Holm, ""),
        ("hochberg", Adjustment::Hochberg, ""),
        ("hommel", Adjustment::Hommel, ""),
        ("bh|benjamini-hochberg", Adjustment::BenjaminiHochberg, ""),
        ("by|benjamini-yekutieli", Adjustment::BenjaminiYekutieli, ""),
    ]), help_heading = "Method speedup-test")]
    adjust: Option<Adjustment>,
    /// The half-width to which the proportion of accelerated benchmarks should be known [default: 0.05]
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = fraction::precision, help_heading = "Method speedup-test")]
    precision: Option<f64>,
    /// Another interval of that proportion, besides the published and the recommended one
    #[arg(long, value_name = "METHOD", value_parser = proportion_intervals(), help_heading = "Method speedup-test")]
    proportion_interval: Option<ProportionMethod>,
    /// Test whether a candidate is more than GAMMA times faster [default: 1]
    #[arg(long, value_name = "GAMMA", allow_hyphen_values = true, help_heading = "Method hpt")]
    speedup_under_test: Option<f64>,
    /// The rank-sum test that decides a benchmark [default: critical-values]
    #[arg(long, value_name = "RULE", value_parser = words([
        ("critical-values", RankSumRule::CriticalValues, "The paper's critical values"),
        ("r", RankSumRule::RDefault, "R's wilcox.test"),
        ("permutations", RankSumRule::Permutations, "Exact, given the ties"),
    ]), help_heading = "Method hpt")]
    rank_sum: Option<RankSumRule>,
    /// How to round half ranks [default: down, as in the paper's table]
    #[arg(long, value_name = "WAY", value_parser = words([
        ("down", HalfIntegers::RoundedDown, ""),
        ("up", HalfIntegers::RoundedUp, ""),
    ]), help_heading = "Method hpt")]
    half_ranks: Option<HalfIntegers>,
    /// The time that is divided by each time to give scores [default: first-run]
    #[arg(long, value_name = "OF", value_parser = words([
        ("first-run", ScoreReference::FirstBaselineRun, ""),
        ("median", ScoreReference::BaselineMedian, ""),
    ]), help_heading = "Method hpt")]
    score_reference: Option<ScoreReference>,
    /// The smallest relative difference of the times that matters, such as 0.01 or 1% [default: 0]
    #[arg(long, value_name = "DELTA", allow_hyphen_values = true, value_parser = fraction::share, help_heading = "Method effect")]
    threshold: Option<f64>,
    /// Also use the hierarchical bootstrap with this number of draws
    #[arg(long, value_name = "DRAWS", help_heading = "Method effect")]
    bootstrap: Option<u32>,
    /// The bootstrap's statistic [default: mean]
    #[arg(long, value_name = "OF", requires = "bootstrap", value_parser = words([
        ("mean", Statistic::Mean, ""),
        ("median", Statistic::Median, ""),
    ]), help_heading = "Method effect")]
    statistic: Option<Statistic>,
    /// How far to optimise the likelihood [default: converged]
    #[arg(long, value_name = "HOW", value_parser = words([
        ("mclust", FitMethod::Mclust, ""),
        ("converged", FitMethod::Converged, ""),
    ]), help_heading = "Method mixture")]
    fit: Option<FitMethod>,
    /// Resamples of the goodness-of-fit test; 0 for none [default: 500]
    #[arg(long, value_name = "N", help_heading = "Method mixture")]
    resamples: Option<u32>,
    /// The size of the resamples [default: same]
    #[arg(long, value_name = "SIZE", value_parser = words([
        ("same", ResampleSize::Same, ""),
        ("nine-tenths", ResampleSize::NineTenths, ""),
    ]), help_heading = "Method mixture")]
    resample_size: Option<ResampleSize>,
    /// How much slower a run may be and still count as the shorter, in the values' unit [default: 0]
    #[arg(long, value_name = "D", allow_hyphen_values = true, help_heading = "Method mixture")]
    delta: Option<f64>,
    /// The probabilities of the quantiles, such as 0.5,0.99 or 99% [default: 0.5,0.9,0.99]
    #[arg(long, value_name = "P,…", allow_hyphen_values = true, value_delimiter = ',', value_parser = fraction::probability, help_heading = "Method distribution")]
    quantiles: Option<Vec<f64>>,
    /// Give the probability that a run is at most each of these, in the values' unit
    #[arg(long, value_name = "A,…", allow_hyphen_values = true, value_delimiter = ',')]
    #[arg(help_heading = "Method distribution")]
    at_most: Option<Vec<f64>>,
    /// Also give the cluster of each observation, in run order
    #[arg(long, help_heading = "Method distribution")]
    clusters: bool,
    /// When a small sample counts as normal [default: not-rejected]
    #[arg(long, value_name = "HOW", value_parser = words([
        ("not-rejected", NormalityReading::NotRejected, ""),
        ("tabled", NormalityReading::TabledAtLevel, ""),
    ]), help_heading = "Method earlier")]
    normality: Option<NormalityReading>,
}

/// Puts the options that were given into those of the method; of another method they are refused.
macro_rules! give {
    ($method:ident: $($name:ident { $($flag:literal $given:expr => $option:ident,)+ })+) => {
        $($(if let Some(given) = $given {
            match &mut $method {
                Method::$name(options) => options.$option = given.into(),
                _ => return Err(belongs($flag, &Method::$name(Default::default()))),
            }
        })+)+
    };
}

impl Choice {
    /// The version that is no candidate.
    pub(super) fn control(&self) -> Option<&str> {
        self.control.as_deref()
    }

    /// The method with its options; `noise` is the threshold of one that has a threshold, unless it is given one.
    pub(super) fn method(&self, noise: Option<f64>) -> Result<Method, Failure> {
        let mut method = (self.method.usual)();
        if let (Method::Effect(options), Some(noise)) = (&mut method, noise) {
            options.threshold = noise;
        }
        // An option of another method is refused here, so that none is ignored silently.
        give! { method:
            Ratio {
                "--center" self.center => center,
                "--trim" self.trim => trim,
                "--margin" self.margin => margin,
                "--quantile" self.quantile.clone() => quantiles,
                "--control" self.control.clone() => control,
            }
            SpeedupTest {
                "--mode" self.mode => mode,
                "--adjust" self.adjust => adjust,
                "--precision" self.precision => precision,
                "--proportion-interval" self.proportion_interval => proportion_interval,
            }
            PerformanceTest {
                "--speedup-under-test" self.speedup_under_test => speedup_under_test,
                "--rank-sum" self.rank_sum => rank_sum,
                "--half-ranks" self.half_ranks => half_integers,
                "--score-reference" self.score_reference => reference,
            }
            Effect {
                "--threshold" self.threshold => threshold,
                "--bootstrap" self.bootstrap => bootstrap,
                "--statistic" self.statistic => statistic,
            }
            Mixture {
                "--fit" self.fit => fit,
                "--resamples" self.resamples => resamples,
                "--resample-size" self.resample_size => resample_size,
                "--delta" self.delta => delta,
            }
            Distribution {
                "--quantiles" self.quantiles.clone() => probabilities,
                "--at-most" self.at_most.clone() => bounds,
                "--clusters" self.clusters.then_some(true) => clusters,
            }
            Earlier {
                "--normality" self.normality => normality,
            }
        }
        Ok(method)
    }
}

fn belongs(flag: &str, to: &Method) -> Failure {
    Failure::usage(anyhow!("{flag} belongs to --method {}", to.word()))
}
