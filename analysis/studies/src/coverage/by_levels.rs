//! Coverage of the mean and of the effect size by levels.

use super::{Coverage, CoverageSection};
use crate::row::{Cell, StudyRow, Unanswered};
use crate::{LawShape, LevelModel, law::draws::Draws, law::level_model::MEAN};
use speedup_statistics::inference::{Critical, Interval, RatioInterval};
use speedup_statistics::levels::{
    EffectSize, HierarchicalBootstrap, LevelTree, RandomEffects, Resampling, Statistic,
};

/// Without a bootstrap only the first are asked.
const METHODS: [&str; 13] = [
    "mean_t",
    "mean_normal",
    "ratio_fieller_t",
    "ratio_fieller_normal",
    "ratio_delta_t",
    "mean_bootstrap_rrr",
    "mean_bootstrap_rrn",
    "mean_bootstrap_rnn",
    "mean_bootstrap_flat",
    "ratio_bootstrap_rrr",
    "ratio_bootstrap_rrn",
    "ratio_bootstrap_rnn",
    "ratio_bootstrap_flat",
];
const WITHOUT_BOOTSTRAP: usize = 5;
const SCHEMES: [Resampling; 4] =
    [Resampling::EveryLevel, Resampling::AboveLowest, Resampling::HighestOnly, Resampling::Flat];

impl Coverage {
    pub(super) fn by_levels(&self) -> Vec<StudyRow> {
        let cells =
            self.distributions.iter().flat_map(|shape| self.binaries.iter().map(|size| (*shape, *size)));
        let rows = cells.flat_map(|(shape, binaries)| {
            self.cell(CoverageSection::Levels, shape, binaries, |draws, factor| {
                self.levels.draw(shape, binaries, factor, draws)
            })
        });
        rows.collect()
    }

    pub(super) fn one_binary_rows(&self) -> Vec<StudyRow> {
        let cells =
            self.distributions.iter().flat_map(|shape| self.executions.iter().map(|size| (*shape, *size)));
        let rows = cells.flat_map(|(shape, executions)| {
            let model: LevelModel = self.levels.with_executions(executions);
            self.cell(CoverageSection::OneBinary, shape, executions, move |draws, factor| {
                model.draw(shape, 1, factor, draws)
            })
        });
        rows.collect()
    }

    fn cell(
        &self,
        section: CoverageSection,
        shape: LawShape,
        size: u64,
        experiment: impl Fn(&mut Draws, f64) -> Option<LevelTree> + Sync,
    ) -> Vec<StudyRow> {
        let cell = Cell { section: section.code(), distribution: Some(shape), size };
        let methods = if self.draws == 0 { &METHODS[..WITHOUT_BOOTSTRAP] } else { &METHODS[..] };
        let tallies = self.replication.tally(&cell.stream(), methods.len(), |draws| {
            let versions = experiment(draws, 1.0).zip(experiment(draws, self.effect));
            versions.map_or_else(|| vec![None; methods.len()], |(old, new)| self.answers(&old, &new, draws))
        });
        let promised = self.replication.promised_coverage();
        let rows = methods.iter().zip(tallies);
        rows.map(|(method, tally)| cell.row(method, tally, Unanswered::LeftOut, [None, promised])).collect()
    }

    fn answers(&self, old: &LevelTree, new: &LevelTree, draws: &mut Draws) -> Vec<Option<bool>> {
        let level = self.replication.confidence;
        let of_mean = |i: &Interval| covers(i, MEAN);
        let of_ratio = |i: &RatioInterval| self.ratio_covers(i);
        let old_effects = RandomEffects::new(old);
        let new_effects = RandomEffects::new(new);
        let mean = |critical| old_effects.interval(level, critical).ok().map(|interval| of_mean(&interval));
        let mut answers = vec![mean(Critical::Student), mean(Critical::Normal)];
        match EffectSize::new(old_effects, new_effects) {
            Ok(effect) => answers.extend([
                of_ratio(&effect.interval(level, Critical::Student)),
                of_ratio(&effect.interval(level, Critical::Normal)),
                of_ratio(&effect.delta_interval(level)),
            ]),
            Err(_) => answers.extend([None; 3]),
        }
        if self.draws == 0 {
            return answers;
        }
        let schemes = SCHEMES.map(|resampling| HierarchicalBootstrap {
            resampling,
            statistic: Statistic::Mean,
            draws: self.draws,
            seed: draws.seed(),
        });
        let means = schemes.map(|scheme| scheme.of(old).ok().map(|drawn| of_mean(&drawn.interval(level))));
        let ratios = schemes
            .map(|scheme| scheme.ratio(old, new).ok().and_then(|drawn| of_ratio(&drawn.interval(level))));
        answers.extend(means);
        answers.extend(ratios);
        answers
    }

    fn ratio_covers(&self, interval: &RatioInterval) -> Option<bool> {
        interval.bounded().map(|interval| covers(interval, self.effect))
    }
}

pub(super) fn covers(interval: &Interval, truth: f64) -> bool {
    interval.lower <= truth && truth <= interval.upper
}
