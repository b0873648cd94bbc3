//! What the reader must know beside the verdicts: each code once, with the benchmarks it concerns.

use super::word::{ReportWord, Word};
use serde::{Deserialize, Serialize, Serializer};
use speedup_statistics::mixture::{MixtureCaveat, goodness_of_fit::GoodnessOfFitCaveat};
use speedup_statistics::{inference::Caveat, planning::required_repetitions::PlanningAssumption};

/// Benchmarks that a sentence names.
const MOST_NAMED: usize = 4;

/// A caveat of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A short name that stays the same between releases.
    pub code: Word<WarningCode>,
    /// A sentence for a person, with a next step.
    pub sentence: String,
    /// The benchmarks it concerns, in plan order; empty when it is about the report as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<String>,
}

speedup_core::words! {
    /// The names of caveats.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WarningCode {
        /// Runs lost all their attempts.
        AbandonedRuns = "abandoned_runs",
        /// All values of a sample are equal.
        AllEqual = "all_equal",
        /// A method supposes normal observations.
        AssumesNormal = "assumes_normal",
        /// A method supposes versions that differ by a factor.
        AssumesScaleShift = "assumes_scale_shift",
        /// A run resembles the one before it, or is unlike it.
        Autocorrelation = "autocorrelation",
        /// Distances lie below the resolution of the values.
        BelowResolution = "below_resolution",
        /// The benchmarks were chosen, not drawn.
        BenchmarksChosen = "benchmarks_chosen",
        /// Pairs lack a run.
        BrokenPairs = "broken_pairs",
        /// A probability is by random draws.
        ByDraws = "by_draws",
        /// The hosts' own speed drifts.
        CanaryDrift = "canary_drift",
        /// Mean and median disagree.
        CenterMatters = "center_matters",
        /// A build's runs were of hosts of several classes.
        ClassesAcrossBuilds = "classes_across_builds",
        /// Classes of hosts have runs of one version only.
        ClassesLeftOut = "classes_left_out",
        /// Another number of components fits nearly as well.
        CloseChoice = "close_choice",
        /// The values are coarse beside their spread.
        CoarseAgainstSpread = "coarse_against_spread",
        /// The times take a few values only.
        CoarseTimes = "coarse_times",
        /// Times contain the start of a container.
        ContainerTimed = "container_timed",
        /// Controls found differences where there are none.
        ControlsAlarmed = "controls_alarmed",
        /// Counters left the kernel out.
        CountedInUserModeOnly = "counted_in_user_mode_only",
        /// A bound of the plan cut the runs.
        CutByBound = "cut_by_bound",
        /// Versions met on hosts, through which their samples depend on each other.
        DependentThroughHost = "dependent_through_host",
        /// One version was disturbed more often than another.
        DisturbedUnevenly = "disturbed_unevenly",
        /// One benchmark makes up most of the suite.
        DominatedByOne = "dominated_by_one",
        Drift = "drift",
        Empty = "empty",
        /// Hosts had unlike environment variables for one version.
        EnvironmentDiffers = "environment_differs",
        /// The host was not in the state that the plan wants.
        EnvironmentUnmet = "environment_unmet",
        /// Both versions are taken to have as many runs.
        EqualRuns = "equal_runs",
        /// Builds of a version are the same files.
        EqualBuilds = "equal_builds",
        /// Runs were added after the plan was submitted.
        Extended = "extended",
        FailedRuns = "failed_runs",
        /// Versions fail in unlike shares of their runs.
        FailuresDiffer = "failures_differ",
        /// The draws are too few for the ends of an interval.
        FewDraws = "few_draws",
        /// A mixture of few observations.
        FewObservations = "few_observations",
        /// Few runs, from which laws cannot be seen.
        FewRuns = "few_runs",
        /// A bootstrap over few units.
        FewUnits = "few_units",
        /// First runs differ from those after them.
        FirstRun = "first_run",
        /// Other work ran on the host.
        HostDisturbed = "host_disturbed",
        HostEffect = "host_effect",
        /// Hosts served several runs, made fresh between them.
        HostsRepeat = "hosts_repeat",
        /// Hosts had unlike images of a container for one version.
        ImageDiffers = "image_differs",
        /// Nothing identifies the image of a container.
        ImageUnknown = "image_unknown",
        /// The runs to come are taken as independent.
        IndependentRuns = "independent_runs",
        /// The evidence is against fresh hosts.
        IndependenceBroken = "independence_broken",
        IndependenceNotProvided = "independence_not_provided",
        /// The interval covers 1 beside a verdict of one direction.
        IntervalCoversOne = "interval_covers_one",
        /// A level that the pilot never repeated.
        LevelNotRepeated = "level_not_repeated",
        /// A level that does not vary.
        LevelWithoutVariance = "level_without_variance",
        /// The configuration's level is none.
        LevelOutOfRange = "level_out_of_range",
        /// A level was searched for in the data.
        LevelFromData = "level_from_data",
        /// One level was taken in the place of the configuration's.
        LevelsOverridden = "levels_overridden",
        /// A law of many observations.
        LimitLaw = "limit_law",
        /// The verdicts are those of planned looks.
        LookedSequentially = "looked_sequentially",
        /// Versions lose unlike shares of their attempts.
        LossesDiffer = "losses_differ",
        /// The law of many runs is taken to hold.
        ManyRuns = "many_runs",
        /// A file has several measurements of the same thing.
        MeasuredRepeatedly = "measured_repeatedly",
        /// A mean is not positive.
        MeanNotPositive = "mean_not_positive",
        /// A verdict on means of times that are not normal.
        MeanOfDoubtfulLaw = "mean_of_doubtful_law",
        /// A verdict on means does not see rare slow runs.
        MeanOfRareRuns = "mean_of_rare_runs",
        /// A verdict on medians, whose interval supposes that the runs beside them are not close together.
        MedianOfCloseRuns = "median_of_close_runs",
        /// A plain mean of speedups is no overall speedup.
        MeanOfSpeedups = "mean_of_speedups",
        /// Runs have no value of a metric.
        MetricAbsent = "metric_absent",
        /// The configuration lacks coefficients.
        MissingCoefficients = "missing_coefficients",
        /// Clusters of times are classes of hosts.
        ModesAreClasses = "modes_are_classes",
        /// Clusters of times are hosts.
        ModesAreHosts = "modes_are_hosts",
        /// The mixture has as many components as were tried.
        MostComponents = "most_components",
        /// The configuration names a benchmark twice.
        NameTwice = "name_twice",
        /// A component is narrower than the values allow.
        NarrowComponent = "narrow_component",
        /// The difference is near what the timer costs.
        NearTimer = "near_timer",
        /// Runs stood on a disk of the network.
        NetworkFileSystem = "network_file_system",
        /// No benchmark shows a difference.
        NoBenchmarkDiffers = "no_benchmark_differs",
        /// An interval has no width.
        NoWidth = "no_width",
        /// No level above one half makes the difference significant.
        NoLevelAboveHalf = "no_level_above_half",
        /// The versions differ by more than a shift.
        NoLocationShift = "no_location_shift",
        /// No block has runs of both versions.
        NoPairs = "no_pairs",
        /// Means are taken as normal.
        NormalMeans = "normal_means",
        /// An interval by a normal law.
        NormalApproximation = "normal_approximation",
        /// Normality was not tested.
        NormalityUntested = "normality_untested",
        /// The fit did not converge.
        NotConverged = "not_converged",
        /// A large sample that is not normal.
        NotNormalLarge = "not_normal_large",
        /// A file of samples cannot be read.
        NotReadable = "not_readable",
        /// One build was measured.
        OneBuild = "one_build",
        /// All splits are of one pool of runs.
        OnePool = "one_pool",
        /// A sample of one run.
        OneRun = "one_run",
        /// Some benchmarks of the report are shown.
        Only = "only",
        /// Runs depend on their order.
        OrderDependence = "order_dependence",
        /// Some hosts are unlike the others.
        OutlyingHosts = "outlying_hosts",
        /// Runs have no value of a metric of the benchmark's own.
        OwnMetricLacksRuns = "own_metric_lacks_runs",
        /// Runs were taken as the pairs that blocks make.
        PairsByBlock = "pairs_by_block",
        /// Runs were taken as pairs by their order.
        PairsByOrder = "pairs_by_order",
        /// Differences of pairs are not normal.
        PairsNotNormal = "pairs_not_normal",
        /// The method takes no pairs.
        PairsNotUsed = "pairs_not_used",
        Partial = "partial",
        /// The plan is from a pilot, and errs as it does.
        PilotError = "pilot_error",
        /// Runs over more leaf switches of the network take longer, or less long.
        PlacementEffect = "placement_effect",
        /// Versions were spread over unlike numbers of leaf switches.
        PlacementsDiffer = "placements_differ",
        /// Hosts lost most of their attempts.
        LosingHosts = "losing_hosts",
        /// The plan was extended while the report was made.
        PlanExtendedMeanwhile = "plan_extended_meanwhile",
        /// Hosts ran unlike files of one version.
        ProgramChanged = "program_changed",
        /// The published interval of the proportion is doubtful.
        ProportionCondition = "proportion_condition",
        /// Resamples were left out of a test of fit.
        ResamplesLeftOut = "resamples_left_out",
        /// Lost attempts were repeated.
        RetriesCanBias = "retries_can_bias",
        /// The observations are means of runs.
        RunMeans = "run_means",
        /// Runs come in series.
        RunsInSeries = "runs_in_series",
        /// Both versions are taken to spread alike.
        SameRelativeSpread = "same_relative_spread",
        /// The versions are taken to differ by a factor.
        ScaleShift = "scale_shift",
        /// A benchmark has no samples.
        SamplesUnavailable = "samples_unavailable",
        /// All runs of one version are better than all of the other.
        Separated = "separated",
        /// One program on several numbers of hosts counts as several benchmarks.
        SeriesInSuite = "series_in_suite",
        /// A pilot gave the number of runs.
        SizedByPilot = "sized_by_pilot",
        /// Few runs whose laws differ by more than a shift.
        SmallNoLocationShift = "small_no_location_shift",
        /// Few runs that are not normal.
        SmallNotNormal = "small_not_normal",
        /// Splits that a test refused.
        SplitsRefused = "splits_refused",
        /// The spread is taken as it was given.
        SpreadGiven = "spread_given",
        /// The spread is taken to be the pilot's.
        SpreadOfPilot = "spread_of_pilot",
        /// Values that differ in their last digits.
        SpreadOfRounding = "spread_of_rounding",
        /// A test of fit is of a subset of the runs.
        Subset = "subset",
        /// The suite lacks benchmarks.
        SuiteIncomplete = "suite_incomplete",
        /// The suite's mean is of times that are not normal.
        SuiteMeanApproximate = "suite_mean_approximate",
        /// A later protocol has replaced this one.
        Superseded = "superseded",
        /// Processes outlived their run.
        Survivors = "survivors",
        /// A test could not be made.
        TestRefused = "test_refused",
        Ties = "ties",
        /// Runs that did not end in time are missing.
        TimeoutsCensor = "timeouts_censor",
        /// Benchmarks with too few runs to win.
        TooFewRunsToWin = "too_few_runs_to_win",
        /// Units have different counts.
        Unbalanced = "unbalanced",
        /// The control lacks benchmarks.
        UncontrolledBenchmarks = "uncontrolled_benchmarks",
        /// The versions have different numbers of runs.
        UnequalRuns = "unequal_runs",
        /// The versions have different numbers of units.
        UnequalUnits = "unequal_units",
        /// Versions of unlike laws.
        UnlikeShapes = "unlike_shapes",
        /// Values of the versions stand for unlike things.
        UnlikeValues = "unlike_values",
        /// Benchmarks that some version lacks.
        UnmatchedBenchmarks = "unmatched_benchmarks",
        /// The tool removed what it took for outliers.
        OutliersRemoved = "outliers_removed",
        /// The tool rounds what it prints.
        RoundedByTool = "rounded_by_tool",
        /// The runs of a file come from several machines.
        SeveralHosts = "several_hosts",
        /// A file has summaries only of a benchmark.
        SummaryOnly = "summary_only",
        /// The tool was stopped in a data point.
        UnfinishedDataPoint = "unfinished_data_point",
        /// Values of a file are no finite numbers.
        ValuesNotFinite = "values_not_finite",
        /// A plan is by an upper limit of the pilot's spread.
        UpperLimitOfSpread = "upper_limit_of_spread",
        /// The configuration's coefficients are whole numbers.
        WholeCoefficients = "whole_coefficients",
    }
    impl ReportWord::name;
    const ALL;
}

/// The caveats of a report, in the order in which they were first raised.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warning {
    /// A caveat that concerns no benchmark more than others.
    pub fn new(code: WarningCode, sentence: impl Into<String>) -> Self {
        Self { code: code.into(), sentence: sentence.into(), concerns: Vec::new() }
    }

    /// The same with whom it concerns in its sentence, as an answer on plain samples tells it.
    pub(crate) fn with_names(self) -> Self {
        let Self { code, sentence, concerns } = self;
        let named = concerns.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let sentence = match concerns.len() {
            0 => sentence,
            number if number > MOST_NAMED => format!("{named} and {} more: {sentence}", number - MOST_NAMED),
            _ => format!("{named}: {sentence}"),
        };
        Self { code, sentence, concerns: Vec::new() }
    }
}

/// Writes the caveats of a report, where the list of benchmarks stands also when it is empty.
pub(crate) fn listed<S: Serializer>(warnings: &[Warning], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Listed<'a> {
        code: &'a Word<WarningCode>,
        sentence: &'a str,
        concerns: &'a [String],
    }
    serializer.collect_seq(warnings.iter().map(|Warning { code, sentence, concerns }| Listed {
        code,
        sentence,
        concerns,
    }))
}

impl Warnings {
    /// Raises a caveat about the report as a whole.
    pub(crate) fn raise(&mut self, code: WarningCode, sentence: impl Into<String>) {
        self.entry(&code.into(), || sentence.into());
    }

    /// Raises a caveat about a benchmark, or adds the benchmark to it.
    pub(crate) fn concern(&mut self, code: WarningCode, about: &str, sentence: impl FnOnce() -> String) {
        self.entry(&code.into(), sentence).concern(about.to_owned());
    }

    /// The same for a caveat of a method.
    pub(crate) fn caveat(&mut self, caveat: &Caveat, about: &str) {
        self.concern(caveat.into(), about, || general_sentence(caveat));
    }

    /// Raises the caveats of another list, in its order.
    pub(crate) fn append(&mut self, other: Self) {
        for Warning { code, sentence, concerns } in other.0 {
            let here = self.entry(&code, || sentence);
            concerns.into_iter().for_each(|about| here.concern(about));
        }
    }

    pub(crate) fn into_list(self) -> Vec<Warning> {
        self.0
    }

    fn entry(&mut self, code: &Word<WarningCode>, sentence: impl FnOnce() -> String) -> &mut Warning {
        let at = self.0.iter().position(|warning| warning.code == *code).unwrap_or_else(|| {
            self.0.push(Warning { code: code.clone(), sentence: sentence(), concerns: Vec::new() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl Warning {
    fn concern(&mut self, about: String) {
        if self.concerns.last() != Some(&about) {
            self.concerns.push(about);
        }
    }
}

/// The sentence of a caveat that several benchmarks may share, so without their numbers.
fn general_sentence(caveat: &Caveat) -> String {
    match caveat {
        Caveat::NotNormalLarge { .. } => {
            "A sample seems not to be normally distributed; with more than 30 runs the t \
            test is usual but its confidence level is approximate: prefer the verdict on the median."
                .to_owned()
        }
        Caveat::NormalityUntested { .. } => {
            "Normality was not tested, since the test ends at 5000 runs: look \
            at the distribution before trusting the verdict on the mean."
                .to_owned()
        }
        caveat => caveat.sentence(),
    }
}

impl From<&Caveat> for WarningCode {
    fn from(caveat: &Caveat) -> Self {
        match caveat {
            Caveat::NotNormalLarge { .. } => Self::NotNormalLarge,
            Caveat::PairsNotNormal { .. } => Self::PairsNotNormal,
            Caveat::NormalityUntested { .. } => Self::NormalityUntested,
            Caveat::NoLocationShift => Self::NoLocationShift,
            Caveat::Ties => Self::Ties,
            Caveat::NoLevelAboveHalf => Self::NoLevelAboveHalf,
            Caveat::LevelFromData => Self::LevelFromData,
            Caveat::AssumesScaleShift => Self::AssumesScaleShift,
            Caveat::NormalApproximation => Self::NormalApproximation,
            Caveat::LimitLaw => Self::LimitLaw,
            Caveat::AssumesNormal => Self::AssumesNormal,
            Caveat::ProportionCondition { .. } => Self::ProportionCondition,
            Caveat::BenchmarksChosen => Self::BenchmarksChosen,
            Caveat::TooFewRunsToWin { .. } => Self::TooFewRunsToWin,
            Caveat::UnequalRuns => Self::UnequalRuns,
            Caveat::NoBenchmarkDiffers => Self::NoBenchmarkDiffers,
            Caveat::Unbalanced => Self::Unbalanced,
            Caveat::UnequalUnits { .. } => Self::UnequalUnits,
            Caveat::MeanNotPositive { .. } => Self::MeanNotPositive,
            Caveat::FewDraws { .. } => Self::FewDraws,
            Caveat::FewUnits { .. } => Self::FewUnits,
            Caveat::ByDraws { .. } => Self::ByDraws,
            Caveat::OnePool => Self::OnePool,
            Caveat::SplitsRefused { .. } => Self::SplitsRefused,
            Caveat::SpreadOfRounding => Self::SpreadOfRounding,
            Caveat::MeanOfSpeedups => Self::MeanOfSpeedups,
            Caveat::IntervalCoversOne => Self::IntervalCoversOne,
        }
    }
}

impl From<&Caveat> for Warning {
    fn from(caveat: &Caveat) -> Self {
        Self::new(caveat.into(), caveat.sentence())
    }
}

impl From<&PlanningAssumption> for Warning {
    fn from(assumption: &PlanningAssumption) -> Self {
        let code = match assumption {
            PlanningAssumption::SpreadOfPilot { .. } => WarningCode::SpreadOfPilot,
            PlanningAssumption::UpperLimitOfSpread { .. } => WarningCode::UpperLimitOfSpread,
            PlanningAssumption::SpreadGiven => WarningCode::SpreadGiven,
            PlanningAssumption::IndependentRuns => WarningCode::IndependentRuns,
            PlanningAssumption::NormalMeans => WarningCode::NormalMeans,
            PlanningAssumption::EqualRuns => WarningCode::EqualRuns,
            PlanningAssumption::SameRelativeSpread => WarningCode::SameRelativeSpread,
            PlanningAssumption::ScaleShift => WarningCode::ScaleShift,
            PlanningAssumption::ManyRuns => WarningCode::ManyRuns,
        };
        Self::new(code, assumption.sentence())
    }
}

impl From<&MixtureCaveat> for Warning {
    fn from(caveat: &MixtureCaveat) -> Self {
        let code = match caveat {
            MixtureCaveat::FewObservations { .. } => WarningCode::FewObservations,
            MixtureCaveat::Ties { .. } => WarningCode::Ties,
            MixtureCaveat::CoarseAgainstSpread { .. } => WarningCode::CoarseAgainstSpread,
            MixtureCaveat::NarrowComponent { .. } => WarningCode::NarrowComponent,
            MixtureCaveat::CloseChoice { .. } => WarningCode::CloseChoice,
            MixtureCaveat::MostComponents => WarningCode::MostComponents,
            MixtureCaveat::NotConverged => WarningCode::NotConverged,
        };
        Self::new(code, caveat.sentence())
    }
}

impl From<&GoodnessOfFitCaveat> for Warning {
    fn from(caveat: &GoodnessOfFitCaveat) -> Self {
        let code = match caveat {
            GoodnessOfFitCaveat::Ties { .. } => WarningCode::Ties,
            GoodnessOfFitCaveat::BelowResolution { .. } => WarningCode::BelowResolution,
            GoodnessOfFitCaveat::Subset { .. } => WarningCode::Subset,
            GoodnessOfFitCaveat::ResamplesLeftOut { .. } => WarningCode::ResamplesLeftOut,
        };
        Self::new(code, caveat.sentence())
    }
}
