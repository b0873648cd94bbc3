//! False alarms of the effect size by levels, for each threshold.

use super::{AlarmSection, FalseAlarmStudy};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::inference::{Critical, RatioInterval, ThresholdDecision};
use speedup_statistics::levels::{EffectSize, HierarchicalBootstrap, LevelTree, RandomEffects};

const METHODS: [&str; 3] = ["ratio_fieller_t", "ratio_fieller_normal", "ratio_bootstrap_rrr"];
const WITHOUT_BOOTSTRAP: usize = 2;

impl FalseAlarmStudy {
    pub(super) fn by_levels(&self) -> Vec<StudyRow> {
        let cells =
            self.distributions.iter().flat_map(|shape| self.binaries.iter().map(|size| (*shape, *size)));
        let rows = cells.flat_map(|(shape, binaries)| {
            self.cell(AlarmSection::Levels, shape, binaries, |draws| {
                self.levels.draw(shape, binaries, 1.0, draws)
            })
        });
        rows.collect()
    }

    pub(super) fn one_binary_rows(&self) -> Vec<StudyRow> {
        let cells =
            self.distributions.iter().flat_map(|shape| self.executions.iter().map(|size| (*shape, *size)));
        let rows = cells.flat_map(|(shape, executions)| {
            let model = self.levels.with_executions(executions);
            self.cell(AlarmSection::OneBinary, shape, executions, move |draws| {
                model.draw(shape, 1, 1.0, draws)
            })
        });
        rows.collect()
    }

    fn cell(
        &self,
        section: AlarmSection,
        shape: LawShape,
        size: u64,
        experiment: impl Fn(&mut Draws) -> Option<LevelTree> + Sync,
    ) -> Vec<StudyRow> {
        let cell = Cell { section: section.code(), distribution: Some(shape), size };
        let methods = if self.draws == 0 { &METHODS[..WITHOUT_BOOTSTRAP] } else { &METHODS[..] };
        let count = methods.len() * self.thresholds.len();
        let tallies = self.replication.tally(&cell.stream(), count, |draws| {
            let versions = experiment(draws).zip(experiment(draws));
            let intervals = versions
                .map_or_else(|| vec![None; methods.len()], |(old, new)| self.intervals(&old, &new, draws));
            intervals.iter().flat_map(|interval| self.alarms(interval.as_ref())).collect()
        });
        let cells = methods.iter().flat_map(|method| self.thresholds.iter().map(move |t| (*method, t.get())));
        let rows = cells.zip(tallies).map(|((method, threshold), tally)| {
            let promised = if threshold == 0.0 { self.replication.promised_risk() } else { None };
            cell.row(method, tally, Unanswered::No, [Some(threshold), promised])
        });
        rows.collect()
    }

    fn intervals(&self, old: &LevelTree, new: &LevelTree, draws: &mut Draws) -> Vec<Option<RatioInterval>> {
        let level = self.replication.confidence;
        let effect = EffectSize::new(RandomEffects::new(old), RandomEffects::new(new)).ok();
        let fieller = |critical| effect.as_ref().map(|effect| effect.interval(level, critical));
        let mut intervals = vec![fieller(Critical::Student), fieller(Critical::Normal)];
        if self.draws > 0 {
            let bootstrap =
                HierarchicalBootstrap { draws: self.draws, ..HierarchicalBootstrap::usual(draws.seed()) };
            intervals.push(bootstrap.ratio(old, new).ok().map(|drawn| drawn.interval(level)));
        }
        intervals
    }

    /// For each threshold whether the interval says faster or slower; an interval without ends says nothing.
    fn alarms(&self, interval: Option<&RatioInterval>) -> Vec<Option<bool>> {
        let interval = interval.filter(|interval| interval.bounded().is_some());
        let alarm = |threshold| {
            interval.map(|interval| {
                let decision = ThresholdDecision::from_time_ratio(interval, threshold);
                matches!(decision, ThresholdDecision::Faster | ThresholdDecision::Slower)
            })
        };
        self.thresholds.iter().map(|threshold| alarm(*threshold)).collect()
    }
}
