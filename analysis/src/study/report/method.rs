//! How the report was made: names, sources, and everything pinned, so that another can make it again.

use crate::count;
use crate::study::advice::{MOST_RUNS_ADVISED, POWER, RELATIVE_HALF_WIDTH};
use crate::study::design::{Design, has_builds};
use serde::{Deserialize, Serialize};
use speedup_core::plan::Plan;
use speedup_statistics::diagnostics::host_effect::{CellsAndHosts, HostRanks};
use speedup_statistics::diagnostics::run_order::{Autocorrelation, FirstRunEffect, RunsTest};
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::levels::EffectSize;
use speedup_statistics::planning::required_repetitions::{RankSumDetection, RatioPrecision, WelchDetection};
use speedup_statistics::protocol::speedup_test::Rules;
use speedup_statistics::ratio::{MeanRatio, MedianRatio, PairedRatio, SuiteRatio};
use speedup_statistics::test::{ExactRule, PairedTTest, Proportion, ProportionMethod, VanElteren};

/// How the report was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodReport {
    /// Name and version of the software.
    pub software: String,
    /// The seed of the experiment, from which its benchmarks and the order of its runs were drawn.
    pub seed: u64,
    /// The confidence level.
    pub confidence: f64,
    /// `plan`, or `request` where the reader asked for another level than the plan's.
    pub confidence_from: String,
    /// The weights of the benchmarks: `equal`, `custom` or `fraction`.
    pub weights: String,
    /// The precision for the required number of benchmarks.
    pub precision: f64,
    /// The rules by which the protocols differ from the original program.
    pub rules: Vec<String>,
    /// The methods, each with its source.
    pub notes: Vec<MethodNote>,
}

/// A method and where it is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodNote {
    /// What it is for.
    pub subject: String,
    /// What was done, in a sentence.
    pub sentence: String,
    /// Where it is from.
    pub source: String,
}

impl MethodReport {
    pub(crate) fn new(plan: &Plan, level: ConfidenceLevel, from_plan: bool, benchmarks: u64) -> Self {
        let experiment = &plan.experiment;
        let builds = has_builds(plan).then(of_builds);
        Self {
            software: format!("speedup {}", env!("CARGO_PKG_VERSION")),
            seed: experiment.seed.0,
            confidence: level.get(),
            confidence_from: if from_plan { "plan" } else { "request" }.to_owned(),
            weights: weights_name(experiment.analysis.weights).to_owned(),
            precision: experiment.analysis.precision,
            rules: rules(Rules::OURS),
            notes: notes(level, benchmarks)
                .into_iter()
                .chain(of_design(Design::of(plan)))
                .chain(builds)
                .collect(),
        }
    }
}

/// The weights' name in plans.
fn weights_name(weights: speedup_core::experiment::Weights) -> &'static str {
    use speedup_core::experiment::Weights;
    match weights {
        Weights::Equal => "equal",
        Weights::Custom => "custom",
        Weights::Fraction => "fraction",
    }
}

fn rules(rules: Rules) -> Vec<String> {
    use speedup_statistics::protocol::speedup_test::{Beyond5000, TieRule};
    let beyond = match rules.beyond_5000 {
        Beyond5000::Large => {
            "Samples of more than 5000 runs, which Shapiro–Wilk cannot test, count as large."
        }
        Beyond5000::Refused => "Samples of more than 5000 runs stop the protocol of the mean.",
    };
    let exact = match rules.kolmogorov_smirnov {
        ExactRule::SmallProduct => "Kolmogorov–Smirnov is exact, given the ties, for n·m < 10000.",
        ExactRule::SmallProductWithoutTies => "Kolmogorov–Smirnov is exact for n·m < 10000 without ties.",
    };
    let ties = match rules.ties {
        TieRule::Conditional => {
            "Tests of ranks are exact, given the ties, wherever that can be counted; centred times that differ by rounding \
             are equal."
        }
        TieRule::AsR => "The rank-sum test is normal with ties and from 50 runs.",
    };
    vec![beyond.to_owned(), exact.to_owned(), ties.to_owned()]
}

/// What a design puts in the place of the methods for independent runs.
fn of_design(design: Design) -> Option<MethodNote> {
    let (subject, sentence, source) = match design {
        Design::Runs => return None,
        Design::Pairs => (
            "pairs",
            format!(
                "Versions are compared in the pairs that the blocked order made: the {} with Shapiro–Wilk on the differences \
                 and the {}; {} of the logarithms of the ratios. Suites by the latter interval with weights. Visits without \
                 both versions are left out.",
                PairedTTest::NAME,
                PairedRatio::NAME,
                "Wilcoxon's signed ranks"
            ),
            "Wilcoxon 1945; Fieller 1954",
        ),
        Design::Classes => (
            "classes",
            format!(
                "Where hosts of several classes took part, versions are compared within the classes: means by weights \
                 nm/(n + m), ranks by the {}. Overall speedups, observed ones and proportions go by the same weighted means, and hosts are \
                 compared with those of their class.",
                VanElteren::NAME
            ),
            "Mantel and Haenszel 1959; van Elteren 1960",
        ),
        Design::Levels { .. } => (
            "levels",
            format!(
                "What is independent are hosts, or the boots of a single host: the tests are of the means of their boots' \
                 means, the interval of the mean is the {}, each unit counting alike.",
                EffectSize::NAME_FIELLER
            ),
            "Kalibera 2012 §7.3, eq. 12",
        ),
    };
    Some(MethodNote { subject: subject.to_owned(), sentence, source: source.to_owned() })
}

/// What builds put in the place of all of them.
fn of_builds() -> MethodNote {
    MethodNote {
        subject: "builds".to_owned(),
        sentence: format!(
            "A version that was built several times counts by the means of its builds, above hosts, boots and runs, whatever \
             the design; the interval of the mean is the {}. In a blocked order the visits that share builds are one pair. Suites \
             add up the benchmarks of each build. The order of runs is tested by rounds of the builds, hosts within builds.",
            EffectSize::NAME_FIELLER
        ),
        source: "Kalibera 2012 §3, §7.3".to_owned(),
    }
}

fn notes(level: ConfidenceLevel, benchmarks: u64) -> Vec<MethodNote> {
    [of_a_benchmark(level, benchmarks), of_all_benchmarks(benchmarks), of_what_is_assumed(level)].concat()
}

fn note(subject: &str, sentence: String, source: &str) -> MethodNote {
    MethodNote { subject: subject.to_owned(), sentence, source: source.to_owned() }
}

fn of_a_benchmark(level: ConfidenceLevel, benchmarks: u64) -> Vec<MethodNote> {
    let wrong = benchmarks as f64 * 2.0 * level.risk().get();
    vec![
        note(
            "sample",
            "Measured runs only, in run order; no outlier is removed. Failed, lost and late attempts are counted, \
             not analysed."
                .to_owned(),
            "Touati 2010 §2.2",
        ),
        note(
            "verdict",
            format!(
                "Speedup-Test, one-sided, faster and slower each at {}; by the mean where its assumptions are not \
                 rejected, else by the median. Not adjusted for the number of benchmarks: without any difference, \
                 up to {wrong:.1} of {benchmarks} would be called faster or slower by chance; the adjusted counts stand beside.",
                count::percent(level.get())
            ),
            "Touati 2010 §4, Figs. 1 and 2",
        ),
        note(
            "mean",
            "Shapiro–Wilk on samples of at most 30 runs, F to choose Student's or Welch's t.".to_owned(),
            "Touati 2010 §4.1",
        ),
        note(
            "median",
            "Kolmogorov–Smirnov on median-centred samples, then the Wilcoxon–Mann–Whitney rank sum; exact, given \
             the ties, wherever that can be counted: to about 65 runs of each version."
                .to_owned(),
            "Touati 2010 §4.2",
        ),
        note(
            "best level",
            "The least risk at which the protocol's answer is significant, in closed form; found in the data, so \
             a p-value rather than a risk fixed beforehand."
                .to_owned(),
            "Touati 2010 §6.2.2",
        ),
        note("interval of the mean", MeanRatio::NAME.to_owned() + ".", "Kalibera 2012 §7.3.2, eq. 12"),
        note(
            "interval of the median",
            format!("{}; normal beyond about 65 runs. It is for versions that differ by a factor.", MedianRatio::NAME_EXACT),
            "Hodges and Lehmann 1963",
        ),
    ]
}

fn of_all_benchmarks(benchmarks: u64) -> Vec<MethodNote> {
    vec![
        note("overall", "G = Σw(x − y)/Σw x and S = 1/(1 − G).".to_owned(), "Touati 2010 §3.2"),
        note(
            "suite",
            format!("{}, weights taken as fixed. Of one benchmark: its own verdict.", SuiteRatio::NAME),
            "after Kalibera 2012 §7.3.2",
        ),
        note(
            "proportion",
            format!(
                "{}, beside the one recommended for so many benchmarks, the {}. Of benchmarks drawn from a population both \
                 are the {}.",
                ProportionMethod::WilsonCorrected.name(),
                ProportionMethod::recommended(benchmarks).name(),
                Proportion::NAME_OF_POPULATION
            ),
            "Touati 2010 §5; Brown, Cai, DasGupta 2001",
        ),
        note(
            "required benchmarks",
            "z²C(1−C)/r² ≤ b (Wald), and the least b with Wilson's half-width at most r.".to_owned(),
            "Touati 2010 §5",
        ),
        note(
            "adjusted",
            "Holm's and Benjamini–Hochberg's p-values over the benchmarks, each question a family; a benchmark on which no \
             protocol concludes counts with p = 1."
                .to_owned(),
            "Holm 1979; Benjamini and Hochberg 1995",
        ),
    ]
}

fn of_what_is_assumed(level: ConfidenceLevel) -> Vec<MethodNote> {
    vec![
        note(
            "diagnostics",
            format!(
                "{} of the ranks, {}, Mann–Kendall, {}; hosts by {} and {}. All of them are one family under Holm's bound, so that \
                 without any disturbance the report raises one of their caveats with a probability of at most {}.",
                Autocorrelation::NAME,
                RunsTest::NAME,
                FirstRunEffect::NAME,
                CellsAndHosts::NAME,
                HostRanks::NAME,
                count::percent(level.risk().get())
            ),
            "Moran 1948; Wald and Wolfowitz 1940; Mann 1945; Holm 1979",
        ),
        note(
            "missing",
            "Fisher's exact test of the share of lost attempts, and of failed runs, candidate against baseline, in the \
             family of the diagnostics."
                .to_owned(),
            "Fisher 1925",
        ),
        note(
            "advice",
            format!(
                "Where no difference was shown: runs of each version to show the observed one with probability {} ({} or \
                 {}), and for an interval of ±{} ({}), at most {}.",
                count::percent(POWER),
                WelchDetection::NAME,
                RankSumDetection::NAME,
                count::percent(RELATIVE_HALF_WIDTH),
                RatioPrecision::NAME,
                count::grouped(MOST_RUNS_ADVISED)
            ),
            "Noether 1987",
        ),
        note(
            "sources",
            "Touati 2010: with J. Worms and S. Briais, The Speedup-Test. Kalibera 2012: with R. Jones, Quantifying Performance \
             Changes with Effect Size Confidence Intervals."
                .to_owned(),
            "",
        ),
    ]
}
