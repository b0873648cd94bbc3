//! False alarms from two samples.

use super::{AlarmSection, FalseAlarmStudy};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::{
    inference::Alternative, inference::ConfidenceLevel, inference::Critical, inference::PValue,
    inference::RatioInterval, inference::Risk, inference::ThresholdDecision, levels::EffectSize,
    levels::LevelTree, levels::RandomEffects, protocol::speedup_test::ProtocolConclusion,
    protocol::speedup_test::ProtocolOutcome, protocol::speedup_test::Question,
    protocol::speedup_test::SpeedupTest, protocol::speedup_test::published, sample::Sample,
    test::OneSampleTTest, test::RankSum, test::SignedRank, test::WelchTTest,
};

/// One-sided is called different only what is called faster; its risk is that of one side.
const METHODS: [&str; 10] = [
    "speedup_test_mean",
    "speedup_test_mean_searched_published",
    "speedup_test_mean_searched_exactly",
    "speedup_test_median",
    "speedup_test_median_searched_published",
    "speedup_test_median_searched_exactly",
    "welch_two_sided",
    "rank_sum_two_sided",
    "signed_rank_two_sided",
    "intervals_do_not_overlap",
];
const EFFECT_SIZE: &str = "effect_size";
const MEAN: f64 = 100.0;
/// The published search gives whole percents.
const ROUNDING: f64 = 1e-9;

impl FalseAlarmStudy {
    pub(super) fn sample_rows(&self) -> Vec<StudyRow> {
        self.cells().flat_map(|(shape, runs)| self.rows_for_runs(shape, runs)).collect()
    }

    fn rows_for_runs(&self, shape: LawShape, runs: u64) -> Vec<StudyRow> {
        let cell = Cell { section: AlarmSection::Samples.code(), distribution: Some(shape), size: runs };
        let count = METHODS.len() + self.thresholds.len();
        let mut tallies = self.replication.tally(&cell.stream(), count, |draws| {
            self.answers(shape, runs, draws).unwrap_or_else(|| vec![None; count])
        });
        let of_thresholds = tallies.split_off(METHODS.len());
        let risk = self.replication.promised_risk();
        let promised = |method: &str| if method == "intervals_do_not_overlap" { None } else { risk };
        let methods = METHODS.iter().zip(tallies);
        let methods =
            methods.map(|(method, tally)| cell.row(method, tally, Unanswered::No, [None, promised(method)]));
        let thresholds = self.thresholds.iter().zip(of_thresholds).map(|(threshold, tally)| {
            let promised = if threshold.get() == 0.0 { risk } else { None };
            cell.row(EFFECT_SIZE, tally, Unanswered::No, [Some(threshold.get()), promised])
        });
        methods.chain(thresholds).collect()
    }

    fn answers(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<Vec<Option<bool>>> {
        let level = self.replication.confidence;
        let sd = MEAN * self.variation;
        let x = draws.times(shape, runs, MEAN, sd)?;
        let y = draws.times(shape, runs, MEAN, sd)?;
        let rejects = |p: PValue| p.rejects_at(level.risk());
        let two_sided = Alternative::TwoSided;
        let mut answers = match SpeedupTest::new(&x, &y) {
            Ok(test) => {
                let mean = verdicts(level, |risk| test.mean.at_risk(Question::CandidateFaster, risk));
                let best_mean = test.mean.best(Question::CandidateFaster);
                let median = verdicts(level, |risk| test.median.at_risk(Question::CandidateFaster, risk));
                let best_median = test.median.best(Question::CandidateFaster);
                let [best_mean, best_median] = [best_mean, best_median].map(|best| reaches(&best, level));
                vec![mean[0], mean[1], best_mean, median[0], median[1], best_median]
            }
            Err(_) => vec![None; 6],
        };
        answers.push(WelchTTest::new(&x, &y).ok().map(|test| rejects(test.p_value(two_sided))));
        answers.push(Some(rejects(RankSum::choose(&x, &y).p_value(two_sided))));
        answers.push(SignedRank::paired(&x, &y).ok().map(|test| rejects(test.p_value(two_sided))));
        answers.push(do_not_overlap(&x, &y, level));
        let effect = effect_size(&x, &y, level);
        answers.extend(self.thresholds.iter().map(|threshold| {
            let decision = ThresholdDecision::from_time_ratio(effect.as_ref()?, *threshold);
            Some(matches!(decision, ThresholdDecision::Faster | ThresholdDecision::Slower))
        }));
        Some(answers)
    }
}

/// At the level, and by the published search for the best one.
fn verdicts(level: ConfidenceLevel, protocol: impl Fn(Risk) -> ProtocolConclusion) -> [Option<bool>; 2] {
    let at_level = protocol(level.risk());
    let answered = concludes(&at_level);
    let searched = published::search(&protocol);
    let reached = searched.confidence.is_some_and(|reached| reached >= level.get() - ROUNDING);
    let found = searched.significant.map(|significant| significant && reached);
    [answered.then(|| at_level.is_significant()), found]
}

/// A protocol that stops on its assumptions has no answer.
pub(crate) fn concludes(conclusion: &ProtocolConclusion) -> bool {
    match conclusion.outcome {
        ProtocolOutcome::Significant | ProtocolOutcome::NotSignificant => true,
        ProtocolOutcome::CannotConclude { .. } => false,
    }
}

/// Whether the exact search reaches the level.
fn reaches(best: &ProtocolConclusion, level: ConfidenceLevel) -> Option<bool> {
    let reached = best.risk.is_some_and(|risk| risk.get() <= level.risk().get());
    concludes(best).then(|| best.is_significant() && reached)
}

/// What people see in a plot with error bars: no t interval of one mean touches the other's.
fn do_not_overlap(x: &Sample, y: &Sample, level: ConfidenceLevel) -> Option<bool> {
    let interval =
        |sample: &Sample| Some(OneSampleTTest::new(sample, 0.0).ok()?.interval(Alternative::TwoSided, level));
    let x = interval(x)?;
    let y = interval(y)?;
    Some(x.upper < y.lower || y.upper < x.lower)
}

/// Fieller's interval of one-level experiments.
fn effect_size(x: &Sample, y: &Sample, level: ConfidenceLevel) -> Option<RatioInterval> {
    let effects = |sample: &Sample| {
        let levels = LevelTree::balanced(sample.in_run_order().to_vec(), &[sample.len()]).ok()?;
        Some(RandomEffects::new(&levels))
    };
    let effect = EffectSize::new(effects(x)?, effects(y)?).ok()?;
    Some(effect.interval(level, Critical::Student))
}
