//! Effect sizes with runs as a level (Kalibera 2012): the ratio of mean times, its interval, and the decision against a threshold.

use super::method::{FindResult, MethodEffort, MethodFindings, MethodSpec};
use super::{Findings, Inquiry, InquiryError, IntervalAnswer, Preference, pairing::Pair, pairing::Pairing};
use crate::conclusion::{Reason, ReasonCode, Verdict, Warning};
use crate::gate::Conclusion;
use rand_chacha::rand_core::Rng as _;
use serde::{Deserialize, Serialize};
use speedup_core::{value::hint::Hinted, value::seed::Seed};
use speedup_statistics::inference::{
    Alternative, Caveat, ConfidenceLevel, Critical, PValue, RatioInterval, Side, Threshold, ThresholdDecision,
};
use speedup_statistics::levels::{
    BootstrapError, EffectSize, EffectSizeError, HierarchicalBootstrap, LevelTree, LevelVariance, MOST_DRAWS,
    RandomEffects, RatioReplicates, Resampling, Reshaped, Statistic,
};

/// Below so many units of the highest level the percentile interval of a bootstrap misses the mean half as often again as
/// its level says, or more.
const FEWEST_UNITS_DRAWN: usize = 10;

/// Where it is from.
pub(super) const SOURCE: &str =
    "Kalibera, Jones: Quantifying Performance Changes with Effect Size Confidence Intervals, 2012";

/// Options of effect sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EffectOptions {
    /// The least relative difference of the times that matters.
    pub threshold: f64,
    /// Draws of the hierarchical bootstrap; none is made without it.
    pub bootstrap: Option<u32>,
    /// What is computed from each draw.
    pub statistic: Statistic,
}

impl Default for EffectOptions {
    fn default() -> Self {
        Self { threshold: 0.0, bootstrap: None, statistic: Statistic::Mean }
    }
}

/// One benchmark of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectFinding {
    pub candidate: String,
    pub benchmark: String,
    /// What the interval says against the threshold.
    pub decision: ThresholdDecision,
    /// Why there is no interval by levels.
    pub reason: Option<Reason>,
    /// The speedup: the ratio of the means, above 1 where the candidate is the better.
    pub speedup: f64,
    /// Its Fieller interval.
    pub interval: IntervalAnswer,
    /// The two-sided p-value of its being 1.
    pub p_value: Option<f64>,
    /// The effect size of Kalibera 2012: candidate over baseline, or baseline over candidate where larger is better.
    pub time_ratio: f64,
    /// Its Fieller interval.
    pub time_ratio_interval: IntervalAnswer,
    /// The speedup by the hierarchical bootstrap, where it was asked for.
    pub bootstrap: Option<BootstrapFinding>,
    /// The baseline's levels.
    pub baseline_levels: LevelsFinding,
    /// The candidate's levels.
    pub candidate_levels: LevelsFinding,
}

/// The hierarchical bootstrap of the speedup.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BootstrapFinding {
    pub statistic: Statistic,
    /// How many replicates were drawn.
    pub draws: u32,
    /// The observed ratio of the statistic.
    pub speedup: Option<f64>,
    /// Its percentile interval.
    pub interval: IntervalAnswer,
    /// What that interval says against the threshold; nothing where its ends are the extremes of the draws.
    pub decision: ThresholdDecision,
}

/// How one version varies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelsFinding {
    /// The mean: of all values if all runs have as many, else of the runs' means.
    pub mean: f64,
    pub interval: IntervalAnswer,
    /// S² and T² of each level, the lowest first: values within runs, then runs; or observations alone.
    pub levels: Vec<LevelVariance>,
    /// The levels that vary and those that do not, after Kalibera 2012 §6.1.
    pub reshaped: Reshaped,
}

impl MethodSpec for EffectOptions {
    fn name(&self) -> &'static str {
        "ratio of mean times by levels of repetition (Kalibera and Jones 2012)"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[SOURCE]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let threshold = Threshold::new(self.threshold)?;
        let setting = Setting { inquiry, options: self, threshold, level };
        let mut found = Vec::new();
        for (number, candidate) in pairing.candidates() {
            for pair in pairing.pairs(number, inquiry.better) {
                found.push(setting.compare(candidate, &pair)?);
            }
        }
        Ok(Findings::Effect(found))
    }

    fn check(&self) -> Result<(), InquiryError> {
        Threshold::new(self.threshold)?;
        match self.bootstrap.filter(|draws| !(1..=MOST_DRAWS).contains(draws)) {
            Some(draws) => Err(InquiryError::Draws(draws)),
            None => Ok(()),
        }
    }

    fn knows_levels(&self) -> bool {
        true
    }

    fn effort(&self) -> MethodEffort {
        self.bootstrap.map_or(MethodEffort::Computed, MethodEffort::Drawn)
    }
}

impl MethodFindings for Vec<EffectFinding> {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for one in self {
            reasons.extend(one.reason.clone());
            reasons.extend(one.interval.reason().cloned());
            reasons.extend(one.bootstrap.iter().filter_map(|bootstrap| bootstrap.interval.reason().cloned()));
        }
        reasons
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(EffectFinding::caveats).collect()
    }

    fn conclusions(&self, level: ConfidenceLevel, _noise: Threshold) -> Vec<Conclusion> {
        let mut plain = Vec::with_capacity(self.len());
        for one in self {
            let ends = one.interval.ends();
            let verdict =
                match ends.map(|ends| ThresholdDecision::from_speedup_between(ends, Threshold::NONE)) {
                    None => Verdict::NotEnoughData,
                    Some(ThresholdDecision::Faster) => Verdict::Faster,
                    Some(ThresholdDecision::Slower) => Verdict::Slower,
                    Some(ThresholdDecision::WithinThreshold | ThresholdDecision::NotEnoughData) => {
                        Verdict::Undecided
                    }
                };
            let conclusion =
                Conclusion::new(&one.candidate, Some(&one.benchmark), verdict, Some(one.speedup), ends);
            // A verdict is of one direction, and its test of both.
            plain.push((conclusion, [one.p_value.map(PValue::clamped); 2]));
        }
        Conclusion::adjusted(&plain, level)
    }
}

/// The inputs of the comparison: inquiry, options and level.
struct Setting<'a> {
    inquiry: &'a Inquiry,
    options: &'a EffectOptions,
    threshold: Threshold,
    level: ConfidenceLevel,
}

impl Setting<'_> {
    fn compare(&self, candidate: &str, pair: &Pair<'_>) -> Result<EffectFinding, InquiryError> {
        let better = self.inquiry.better;
        let first = pair.first.levels()?;
        let second = pair.second.levels()?;
        let first_effects = RandomEffects::new(&first);
        let second_effects = RandomEffects::new(&second);
        let speedup = first_effects.mean() / second_effects.mean();
        let first_levels = self.levels(&first, &first_effects);
        let second_levels = self.levels(&second, &second_effects);
        let (baseline_levels, candidate_levels) = match better {
            Preference::Lower => (first_levels, second_levels),
            Preference::Higher => (second_levels, first_levels),
        };
        let sizes = EffectSize::new(first_effects, second_effects)
            .and_then(|time_ratio| time_ratio.exchanged().map(|speedup| (time_ratio, speedup)));
        let (decision, p_value, interval, time_ratio_interval) = match sizes {
            Ok((time_ratio, speedup)) => {
                let ratio = time_ratio.interval(self.level, Critical::Student);
                let p_value = time_ratio.p_value(1.0, Alternative::TwoSided).told();
                // A speedup is the effect size of the versions exchanged, and its caveats name them so.
                let exchanged = match better {
                    Preference::Lower => Preference::Higher,
                    Preference::Higher => Preference::Lower,
                };
                let speedup = speedup.interval(self.level, Critical::Student);
                (
                    ThresholdDecision::from_time_ratio(&ratio, self.threshold),
                    Some(p_value),
                    IntervalAnswer::for_ratio(&speedup, exchanged),
                    IntervalAnswer::for_ratio(&ratio, better),
                )
            }
            Err(error) => {
                let missing = IntervalAnswer::Missing { reason: refusal(error, better) };
                (ThresholdDecision::NotEnoughData, None, missing.clone(), missing)
            }
        };
        Ok(EffectFinding {
            candidate: candidate.to_owned(),
            benchmark: pair.benchmark.to_owned(),
            decision,
            reason: time_ratio_interval.reason().cloned(),
            speedup,
            interval,
            p_value,
            time_ratio: 1.0 / speedup,
            time_ratio_interval,
            bootstrap: self
                .options
                .bootstrap
                .map(|draws| self.bootstrap(candidate, pair, draws, &first, &second)),
            baseline_levels,
            candidate_levels,
        })
    }

    fn levels(&self, levels: &LevelTree, effects: &RandomEffects) -> LevelsFinding {
        let interval = match effects.interval(self.level, Critical::Student) {
            Ok(interval) => IntervalAnswer::new(&interval, Preference::Lower),
            Err(error) => IntervalAnswer::refused(ReasonCode::NoError, &error),
        };
        LevelsFinding {
            mean: effects.mean(),
            interval,
            levels: effects.levels().to_vec(),
            reshaped: Reshaped::new(levels),
        }
    }

    /// The speedup by the hierarchical bootstrap, or why nothing could be drawn.
    fn bootstrap(
        &self,
        candidate: &str,
        pair: &Pair<'_>,
        draws: u32,
        first: &LevelTree,
        second: &LevelTree,
    ) -> BootstrapFinding {
        let statistic = self.options.statistic;
        let replicates = match self.replicates(candidate, pair, draws, first, second) {
            Ok(replicates) => replicates,
            Err(reason) => {
                return BootstrapFinding {
                    statistic,
                    draws,
                    speedup: None,
                    interval: IntervalAnswer::Missing { reason },
                    decision: ThresholdDecision::NotEnoughData,
                };
            }
        };
        let mut interval = replicates.interval(self.level);
        // With few draws the ends are the extremes of the draws, by which nothing is decided.
        let mut has_few_draws = false;
        if let RatioInterval::Bounded(interval) = &mut interval {
            has_few_draws = interval.caveats.iter().any(|caveat| matches!(caveat, Caveat::FewDraws { .. }));
            let units = first.members(first.depth()).min(second.members(second.depth()));
            if units < FEWEST_UNITS_DRAWN {
                interval.caveats.push(Caveat::FewUnits { units });
            }
        }
        let decision = if has_few_draws {
            ThresholdDecision::NotEnoughData
        } else {
            ThresholdDecision::from_speedup(&interval, self.threshold)
        };
        BootstrapFinding {
            statistic,
            draws,
            speedup: Some(replicates.estimate()),
            interval: IntervalAnswer::for_ratio(&interval, self.inquiry.better),
            decision,
        }
    }

    /// Draws the ratio of first to second, each pair of samples with random numbers of its own.
    fn replicates(
        &self,
        candidate: &str,
        pair: &Pair<'_>,
        draws: u32,
        first: &LevelTree,
        second: &LevelTree,
    ) -> Result<RatioReplicates, Reason> {
        if let Some(reason) = self.nothing_to_draw(first, second) {
            return Err(reason);
        }
        let statistic = self.options.statistic;
        let purpose = format!("inquiry bootstrap {:?} of {:?}", pair.benchmark, candidate);
        let seed = Seed(self.inquiry.seed.child(&purpose).next_u64());
        let bootstrap = HierarchicalBootstrap { resampling: Resampling::EveryLevel, statistic, draws, seed };
        bootstrap.ratio(second, first).map_err(|error| {
            let code = match error {
                BootstrapError::Draws(_) => ReasonCode::Draws,
                BootstrapError::BaselineZero => ReasonCode::BaselineZero,
                BootstrapError::RatioTooLarge(_) => ReasonCode::RatioTooLarge,
            };
            Reason::of(code, &error)
        })
    }

    /// Why all replicates of a version would be one number, which no interval can be read off: a single unit of the highest
    /// level, or values without variation.
    fn nothing_to_draw(&self, first: &LevelTree, second: &LevelTree) -> Option<Reason> {
        let sides = match self.inquiry.better {
            Preference::Lower => [(Side::Baseline, first), (Side::Candidate, second)],
            Preference::Higher => [(Side::Candidate, first), (Side::Baseline, second)],
        };
        for (side, levels) in sides {
            if levels.members(levels.depth()) < 2 {
                let sentence = format!(
                    "a bootstrap draws from at least 2 units of the highest level, and the {} has one: repeat the \
                     highest level",
                    side.name()
                );
                return Some(Reason::new(ReasonCode::NoError, sentence));
            }
        }
        for levels in [first, second] {
            if levels.values().windows(2).any(|pair| pair[0] != pair[1]) {
                return None;
            }
        }
        Some(Reason::of(ReasonCode::Constant, &EffectSizeError::Constant))
    }
}

fn refusal(error: EffectSizeError, better: Preference) -> Reason {
    match error {
        EffectSizeError::NoError { side, source } => {
            let side: Side = match better {
                Preference::Lower => side,
                Preference::Higher => side.other(),
            };
            let why = source.in_a_sentence();
            Reason::new(
                ReasonCode::NoError,
                format!("the mean of the {} has no error, since {why}", side.name()),
            )
        }
        EffectSizeError::Constant => Reason::of(ReasonCode::Constant, &error),
        EffectSizeError::EssentiallyConstant => Reason::of(ReasonCode::EssentiallyConstant, &error),
        EffectSizeError::BaselineZero => Reason::of(ReasonCode::BaselineZero, &error),
    }
}

impl EffectFinding {
    /// The caveats of its intervals, each once.
    pub fn caveats(&self) -> Vec<Warning> {
        let mut caveats: Vec<Warning> = Vec::new();
        let bootstrap = self.bootstrap.iter().map(|bootstrap| &bootstrap.interval);
        for caveat in
            std::iter::once(&self.time_ratio_interval).chain(bootstrap).flat_map(IntervalAnswer::caveats)
        {
            if !caveats.contains(caveat) {
                caveats.push(caveat.clone());
            }
        }
        caveats
    }
}
