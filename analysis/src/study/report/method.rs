//! How the report was made: names, sources, and everything pinned, so that another can make it again.

use crate::study::two_sample::advice::{AdviceReport, MOST_RUNS_ADVISED, RELATIVE_HALF_WIDTH};
use crate::study::two_sample::headline::{HeadlineSpec, POWER};
use crate::study::{design::Design, design::has_builds};
use crate::{conclusion::ReportWord, conclusion::Word, count};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Center, Experiment, Family, Weights};
use speedup_core::plan::Plan;
use speedup_statistics::diagnostics::host_effect::{CellsAndHosts, HostRanks};
use speedup_statistics::diagnostics::run_order::{Autocorrelation, FirstRunEffect, RunsTest};
use speedup_statistics::inference::Threshold;
use speedup_statistics::test::{ExactRule, PairedTTest, Proportion, ProportionMethod, TrueShare, VanElteren};
use speedup_statistics::{
    inference::ConfidenceLevel, levels::EffectSize, protocol::speedup_test::Rules, ratio::MeanRatio,
    ratio::MedianRatio, ratio::PairedRatio, ratio::QuantileRatio, ratio::RandomEffectsMean,
    ratio::SuiteRatio, ratio::TrimmedRatio,
};

/// How the report was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodReport {
    /// Name and version of the software.
    pub software: String,
    /// The seed of the experiment, from which its benchmarks and the order of its runs were drawn.
    pub seed: u64,
    /// The confidence level.
    pub confidence: f64,
    /// Where it is from.
    pub confidence_from: LevelSource,
    /// The weights of the benchmarks.
    pub weights: Word<Weights>,
    /// The precision for the required number of benchmarks.
    pub precision: f64,
    /// The rules by which the protocols differ from the original program.
    pub rules: Vec<String>,
    /// The methods, each with its source.
    pub notes: Vec<MethodNote>,
}

speedup_core::words! {
    /// Where a confidence level is from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LevelSource {
        /// The plan.
        Plan = "plan",
        /// The reader, who asked for another than the plan's.
        Request = "request",
    }
    fn name;
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
        let bisects = experiment.bisection().is_some();
        let compared = || {
            notes(benchmarks, &HeadlineSpec::new(experiment, level, Threshold::NONE))
                .into_iter()
                .chain(unseen(experiment.runs_of_a_cell()))
                .chain(of_design(Design::of(plan)))
                .chain(of_endpoints(experiment))
                .chain(builds)
                .collect()
        };
        Self {
            software: format!("speedup {}", env!("CARGO_PKG_VERSION")),
            seed: experiment.seed.0,
            confidence: level.get(),
            confidence_from: if from_plan { LevelSource::Plan } else { LevelSource::Request },
            weights: experiment.analysis.weights.into(),
            precision: experiment.analysis.precision,
            rules: if bisects { Vec::new() } else { rules(Rules::OURS) },
            notes: if bisects { vec![of_bisection()] } else { compared() },
        }
    }
}

impl ReportWord for Weights {
    fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Custom => "custom",
            Self::Fraction => "fraction",
        }
    }
}

fn of_bisection() -> MethodNote {
    MethodNote {
        subject: "bisection".to_owned(),
        sentence: "A posterior over the commits: the logarithm of a value is the level of its block, plus the step from its commit \
                   on, plus Student's noise with 3 degrees of freedom; the step has a Cauchy law with the scale of the noise, and \
                   half of the prior says that there is none beyond the margin. The next blocks have both ends and the commits \
                   that divide the posterior"
            .to_owned(),
        source: "Bayes' rule; Horstein 1963; Rouder et al. 2009".to_owned(),
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

/// How the endpoints are compared, where the plan declares any.
fn of_endpoints(experiment: &Experiment) -> Option<MethodNote> {
    let endpoints = experiment.endpoints();
    let common = endpoints.iter().filter(|endpoint| endpoint.family == Family::Common).count();
    if endpoints.is_empty() {
        return None;
    }
    let sentence = format!(
        "Declared in the plan: metrics by the ratio of the centres, as the times; quantiles of the times by the {}, of single runs. A \
         ratio above 1 favours the candidate. {} of {} in the family of the headlines, the others each a family over its benchmarks.",
        QuantileRatio::NAME,
        count::grouped(common as u64),
        count::counted(endpoints.len() as u64, "endpoint"),
    );
    Some(note("endpoints", sentence, "Zou and Donner 2008; David and Nagaraja 2003 §7.1"))
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

/// What so many runs of a cell cannot show: an event with probability 3/n is missed by all n with a probability of 5 %.
fn unseen(runs: u64) -> Option<MethodNote> {
    let share = (runs > 3).then(|| count::percent(3.0 / runs as f64))?;
    let sentence = format!(
        "With {runs} runs of each cell, what happens in fewer than {share} of the runs (3/n: a rare mode, a \
            stall) may not be among them, and no number here shows it."
    );
    Some(note("unseen", sentence, "Hanley and Lippman-Hand 1983"))
}

fn notes(benchmarks: u64, declared: &HeadlineSpec) -> Vec<MethodNote> {
    let of_benchmarks = [of_a_benchmark(benchmarks, declared), of_all_benchmarks(benchmarks, declared)];
    [of_benchmarks.concat(), of_what_is_assumed(declared.level)].concat()
}

fn note(subject: &str, sentence: String, source: &str) -> MethodNote {
    MethodNote { subject: subject.to_owned(), sentence, source: source.to_owned() }
}

/// The method of the headline, and its source.
fn headline_method(declared: &HeadlineSpec) -> (String, &'static str) {
    // What is by the plan's size keeps the words of then.
    let is_by_size = declared.is_by_size;
    match declared.center {
        Center::Median => {
            let doubt = match is_by_size {
                true => "",
                false => ", not known to hold where about half of the runs of a version lie close together",
            };
            let name = format!("{}{doubt}", QuantileRatio::NAME);
            (name, "Zou and Donner 2008; David and Nagaraja 2003 §7.1")
        }
        Center::Mean => {
            let name = if is_by_size { MeanRatio::NAME } else { MeanRatio::NAME_BY_SMALLER_SIDE };
            (name.to_owned(), "Kalibera 2012 §7.3.2, eq. 12")
        }
        Center::Trimmed => {
            let most = count::percent(declared.trim.get());
            let name = format!("{}; at most {most} of the runs are left out at each end", TrimmedRatio::NAME);
            (name, "Yuen 1974; Janssen 1997; Chung and Romano 2013")
        }
    }
}

fn of_a_benchmark(benchmarks: u64, declared: &HeadlineSpec) -> Vec<MethodNote> {
    let level = declared.level;
    let wrong = benchmarks as f64 * level.risk().get();
    let center = declared.center.name();
    let (method, source) = headline_method(declared);
    vec![
        note(
            "sample",
            "Measured runs only, in run order; no outlier is removed. Failed, lost and late attempts are counted, \
             not analysed."
                .to_owned(),
            "Touati 2010 §2.2",
        ),
        note(
            "headline",
            format!(
                "The {center}, settled by the plan, whatever the data look like: {method}. The verdict is what the two-sided \
                 interval at {} says. Not adjusted for the number of benchmarks: without any difference, up to {wrong:.1} of \
                 {benchmarks} would be called faster or slower by chance; the adjusted counts stand beside.",
                count::percent(level.get())
            ),
            source,
        ),
        note(
            "Speedup-Test",
            format!(
                "As published, one-sided, faster and slower each at {}. Mean: Shapiro–Wilk on samples of at most 30 runs, F to \
                 choose Student's or Welch's t, {}. Median: Kolmogorov–Smirnov on median-centred samples, then the \
                 Wilcoxon–Mann–Whitney rank sum, exact, given the ties, wherever that can be counted; {}, for versions that \
                 differ by a factor. Best level: the least risk at which the answer is significant; found in the data, so a \
                 p-value rather than a risk fixed beforehand.",
                count::percent(level.get()),
                MeanRatio::NAME,
                MedianRatio::NAME_EXACT
            ),
            "Touati 2010 §4, §6.2.2, Figs. 1 and 2; Hodges and Lehmann 1963",
        ),
    ]
}

fn of_all_benchmarks(benchmarks: u64, declared: &HeadlineSpec) -> Vec<MethodNote> {
    let of_total = if declared.is_by_size { SuiteRatio::NAME } else { SuiteRatio::NAME_BY_SMALLER_SIDE };
    vec![
        note("overall", "G = Σw(x − y)/Σw x and S = 1/(1 − G).".to_owned(), "Touati 2010 §3.2"),
        note(
            "suite",
            format!(
                "{of_total}, two-sided, weights taken as fixed. There is no single verdict where a benchmark's adjusted \
                    verdict is the opposite. Of one benchmark: its own verdict."
            ),
            "after Kalibera 2012 §7.3.2",
        ),
        note(
            "typical benchmark",
            format!("{}; errors as estimated for the headlines.", RandomEffectsMean::NAME),
            "Viechtbauer 2007; Bodnar et al. 2017; Nagashima, Noma, Furukawa 2019; Paule and Mandel 1982; Meier 1953",
        ),
        note(
            "truly faster",
            format!(
                "{}; the band by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart.",
                TrueShare::NAME
            ),
            "Clopper and Pearson 1934; Massart 1990",
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
            "Holm's and Benjamini–Hochberg's p-values over one family: the headlines of all benchmarks, two-sided, and their \
             total; what could not be tested counts with p = 1."
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
                "Where the headline is undecided: runs of each version, or what is independent in their place, to show the \
                 observed speedup with probability {}, and for an interval of ±{}: of trimmed means by the power of their own test (noncentral \
                 t), of others by {}; at most {}. The smallest effects are those found with that probability, in the same way.",
                count::percent(POWER),
                count::percent(RELATIVE_HALF_WIDTH),
                AdviceReport::NAME,
                count::grouped(MOST_RUNS_ADVISED)
            ),
            "",
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
