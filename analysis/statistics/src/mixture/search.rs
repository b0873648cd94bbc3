//! Every model on one sample, and the one with the largest criterion.

use super::converge::{Settled, converge};
use super::schedule::{NoFit, Rule, Run, mclust};
use super::start::{Classes, gap_classes, quantile_classes};
use super::state::{MOST_COMPONENTS, State, VarianceModel};
use super::{Component, Mixture, kernel::Kernel, points::Points};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Units outside which mclust's absolute tolerances decide instead of the data: a variance of 2.2e-16 is 1e-8 in
/// standard deviations.
const PLAIN_SPREADS: RangeInclusive<f64> = 1e-6..=1e12;
/// Models whose criterion after mclust's schedule is this far below the largest are not run to convergence. The steps after
/// the schedule add a few units of log-likelihood where it stopped on a plateau.
const REACH: f64 = 12.0;
/// A further start is given up when this many steps of its present gain would not bring it to the goal. Gains mostly shrink, but
/// a run may leave a plateau: of 860 simulated samples of 30, 100 and 1000 values from 1 to 4 components, 4, 3 and 2 % had
/// another choice than without giving up, in a fifth of the time.
const START_PATIENCE: f64 = 100.0;

/// Which models of a sample are given up before mclust would stop.
///
/// Most steps of a fit are those of models with many components that end tens of units of the criterion below the best. To
/// give one up is wrong where the likelihood rises late, from a plateau, when a component finds its cluster.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pruning {
    /// Gives up no model: the table is mclust's.
    Nothing,
    /// Gives up models that would end this far below the largest criterion so far.
    Below(f64),
}

impl Pruning {
    /// In the fit of a sample: of 20,000 simulated samples of ten shapes 4 had a smaller criterion than mclust's.
    pub(super) const OF_SAMPLE: Self = Self::Below(30.0);
    /// In a resample's refit. It misses about 1 in 600 of the best models, less than one refit of a test with 500 resamples, whose
    /// p-value is a rank among them.
    pub(super) const OF_RESAMPLE: Self = Self::Below(20.0);
    /// Models with fewer components take few steps, and the clusters that there are may be found late.
    const FEWEST_COMPONENTS: usize = 4;
    /// Of fewer observations, a component that shrinks onto two of them brings any deficit back.
    const FEWEST_OBSERVATIONS: f64 = 20.0;
    /// The deficit after models of the last two numbers of components ended this far below the largest.
    const BY_TREND: f64 = 12.0;
    /// A model is given up when this many steps of its present gain would not bring it to the goal.
    const MODEL_PATIENCE: f64 = 60.0;

    /// The criterion that a model of so many components must reach beside those of `criterion`, which have fewer.
    fn goal(self, criterion: &Criterion, components: usize, observations: f64) -> f64 {
        let Self::Below(deficit) = self else { return f64::NEG_INFINITY };
        if components < Self::FEWEST_COMPONENTS || observations < Self::FEWEST_OBSERVATIONS {
            return f64::NEG_INFINITY;
        }
        let bics = criterion.entries.iter().filter_map(|entry| entry.outcome.ok());
        let largest = bics.fold(f64::NEG_INFINITY, f64::max);
        let last = &criterion.entries[criterion.entries.len() - 2 * VarianceModel::ALL.len()..];
        let is_trend = last.iter().all(|entry| match entry.outcome {
            Ok(bic) => largest - bic > Self::BY_TREND,
            Err(reason) => reason == NoFit::Outdone,
        });
        largest - if is_trend { Self::BY_TREND } else { deficit }
    }
}

/// A sample in standard units and the memory for its fits; used again for each resample.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    points: Points,
    distinct: Vec<f64>,
    kernel: Kernel,
    /// The logarithm of the standard unit, in the unit of the observations.
    log_unit: f64,
    /// The same in the unit in which mclust's tolerances are taken.
    log_parity_unit: f64,
}

/// The model with the largest criterion.
#[derive(Clone, Debug)]
pub(super) struct Best {
    pub(super) model: VarianceModel,
    pub(super) state: State,
    /// In standard units.
    pub(super) log_likelihood: f64,
    pub(super) bic: f64,
    pub(super) converged: bool,
}

impl Search {
    /// Takes `sorted`, at least two values that are not all equal.
    pub(super) fn load(&mut self, sorted: &[f64]) {
        let low = sorted[0];
        let high = sorted[sorted.len() - 1];
        // A quarter of the range is near the standard deviation, and no square of it can vanish or overflow.
        let spread = (high / 4.0 - low / 4.0).max(f64::from_bits(1));
        let unit = spread.log2().round().exp2().max(f64::from_bits(1));
        self.points.refill(sorted, sorted[sorted.len() / 2], unit);
        self.distinct.clear();
        self.distinct.extend_from_slice(sorted);
        self.distinct.dedup();
        self.log_unit = unit.ln();
        self.log_parity_unit = self.log_unit - log_of_readable_unit(low.abs().max(high.abs()), spread);
    }

    /// BIC in the unit of the observations.
    fn bic(&self, log_likelihood: f64, model: VarianceModel, components: usize) -> f64 {
        let n = self.points.total();
        2.0 * self.in_data_unit(log_likelihood) - model.parameters(components) as f64 * n.ln()
    }

    /// A log-likelihood in standard units, in the unit of the observations.
    pub(super) fn in_data_unit(&self, log_likelihood: f64) -> f64 {
        log_likelihood - self.points.total() * self.log_unit
    }

    /// The log-likelihood in standard units that a model needs for `bic`.
    fn needed(&self, bic: f64, model: VarianceModel, components: usize) -> f64 {
        let n = self.points.total();
        0.5 * (bic + model.parameters(components) as f64 * n.ln()) + n * self.log_unit
    }

    fn most_components(&self) -> usize {
        MOST_COMPONENTS.min(self.points.total() as usize)
    }

    fn models(&self) -> impl Iterator<Item = (usize, VarianceModel)> + use<> {
        (1..=self.most_components())
            .flat_map(|components| VarianceModel::ALL.map(|model| (components, model)))
    }

    /// mclust's run from `classes`, given up when `patience` steps of its gain would not reach `goal`.
    fn run(
        &mut self,
        classes: Option<Classes>,
        model: VarianceModel,
        goal: f64,
        patience: f64,
    ) -> Result<Run, NoFit> {
        let start = classes.ok_or(NoFit::NoStart)?.state(&self.points, model);
        let rule = Rule { model, log_unit: self.log_parity_unit, goal, patience };
        mclust(&self.points, &mut self.kernel, start, rule)
    }

    /// mclust's table and choice. Models that `pruning` leaves out have no criterion.
    pub(super) fn as_mclust(&mut self, sorted: &[f64], pruning: Pruning) -> (Criterion, Option<Best>) {
        let mut criterion = Criterion::default();
        let mut best = None;
        for components in 1..=self.most_components() {
            let classes = quantile_classes(sorted, &self.distinct, components);
            // Both models of one number of components have the same goal, so that neither is favoured.
            let bic_goal = pruning.goal(&criterion, components, self.points.total());
            for model in VarianceModel::ALL {
                let goal = self.needed(bic_goal, model, components);
                let run = self.run(classes, model, goal, Pruning::MODEL_PATIENCE);
                let outcome = run.map(|Run { state, log_likelihood }| {
                    let bic = self.bic(log_likelihood, model, components);
                    keep(&mut best, Best { model, state, log_likelihood, bic, converged: false });
                    bic
                });
                criterion.add(Entry { model, components, outcome });
            }
        }
        (criterion, best)
    }

    /// The table after mclust's schedule, gone on to convergence from there and from the classes between the largest gaps
    /// wherever a model can still be chosen. No entry is below mclust's.
    pub(super) fn converged(&mut self, sorted: &[f64]) -> (Criterion, Option<Best>) {
        let models: Vec<_> = self.models().collect();
        let mut runs = Vec::with_capacity(models.len());
        for &(components, model) in &models {
            let classes = quantile_classes(sorted, &self.distinct, components);
            runs.push(self.run(classes, model, f64::NEG_INFINITY, START_PATIENCE));
        }
        let value = |(run, &(k, model)): (&Result<Run, NoFit>, &(usize, VarianceModel))| {
            run.as_ref().map_or(f64::NEG_INFINITY, |run| self.bic(run.log_likelihood, model, k))
        };
        let largest = runs.iter().zip(&models).map(value).fold(f64::NEG_INFINITY, f64::max);
        let mut criterion = Criterion::default();
        let mut best = None;
        for (run, (components, model)) in runs.into_iter().zip(models) {
            let goal = self.needed(largest - REACH, model, components);
            let outcome = self.settle(run, components, model, goal).map(|settled| {
                let Settled { state, log_likelihood, converged } = settled;
                let bic = self.bic(log_likelihood, model, components);
                keep(&mut best, Best { model, state, log_likelihood, bic, converged });
                bic
            });
            criterion.add(Entry { model, components, outcome });
        }
        (criterion, best)
    }

    /// The best that the starts of one model lead to.
    fn settle(
        &mut self,
        run: Result<Run, NoFit>,
        components: usize,
        model: VarianceModel,
        goal: f64,
    ) -> Result<Settled, NoFit> {
        let mut best = run.map(|run| {
            let Run { state, log_likelihood } = run;
            Settled { state, log_likelihood, converged: false }
        });
        if let Ok(settled) = &mut best
            && settled.log_likelihood >= goal
            && let Some(further) = converge(&self.points, &mut self.kernel, settled.state, model)
            && further.log_likelihood >= settled.log_likelihood
        {
            *settled = further;
        }
        let mut other = None;
        if let Ok(run) = self.run(gap_classes(&self.distinct, components), model, goal, START_PATIENCE)
            && run.log_likelihood >= goal
        {
            other = converge(&self.points, &mut self.kernel, run.state, model);
        }
        match (best, other) {
            (Ok(best), Some(other)) if other.log_likelihood > best.log_likelihood => Ok(other),
            (Ok(best), _) => Ok(best),
            (Err(_), Some(other)) => Ok(other),
            (Err(reason), None) => Err(reason),
        }
    }

    /// `state` in the unit of the observations.
    pub(super) fn mixture(&self, state: &State) -> Mixture {
        let component = |k: usize| Component {
            weight: state.weight[k],
            mean: self.points.origin() + state.mean[k] * self.points.unit(),
            sd: state.variance[k].sqrt() * self.points.unit(),
        };
        let mut components: Vec<Component> = (0..state.components).map(component).collect();
        components.sort_by(|a, b| a.mean.total_cmp(&b.mean).then(a.sd.total_cmp(&b.sd)));
        Mixture { components }
    }
}

/// A larger criterion replaces, so of equal ones the model with fewer parameters stays.
fn keep(best: &mut Option<Best>, candidate: Best) {
    if best.as_ref().is_none_or(|best| candidate.bic > best.bic) {
        *best = Some(candidate);
    }
}

/// The logarithm of the unit in which mclust's tolerances are taken: that of the observations, unless their spread is so
/// small or large that the tolerances would decide; then the power of 1000 (milli, micro, nano) that leaves the largest
/// observation, or if that does not help the spread, with one to three digits before the point.
fn log_of_readable_unit(largest: f64, spread: f64) -> f64 {
    if PLAIN_SPREADS.contains(&spread) {
        return 0.0;
    }
    let thousands = |x: f64| (x.log10() / 3.0).floor();
    let log = |thousands: f64| thousands * 1000.0_f64.ln();
    let of_largest = log(thousands(largest));
    let is_plain = PLAIN_SPREADS.contains(&(spread.ln() - of_largest).exp());
    if is_plain { of_largest } else { log(thousands(spread)) }
}

/// One model of the table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// What the variances may be.
    pub model: VarianceModel,
    pub components: usize,
    /// BIC = 2L − p ln n, larger is better, in the unit of the observations; or why there is no fit. (The text of Worms 2016 §4.2
    /// has another sign and count; its numbers are these.)
    pub outcome: Result<f64, NoFit>,
}

/// The table of Worms 2016 §4.2: both variance models, 1 to 9 components.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Criterion {
    entries: Vec<Entry>,
}

impl Criterion {
    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// The entries, fewer components first and equal variances first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// BIC of a model, if it has a fit.
    pub fn bic(&self, model: VarianceModel, components: usize) -> Option<f64> {
        debug_assert!(components <= MOST_COMPONENTS);
        let is_it = |entry: &&Entry| entry.model == model && entry.components == components;
        self.entries.iter().find(is_it).and_then(|entry| entry.outcome.ok())
    }

    /// The largest BIC less the largest of another mixture: how clear the choice is. `None` if only one could be fitted.
    pub fn lead(&self) -> Option<f64> {
        // With one component both models are the same law.
        let is_new = |entry: &&Entry| entry.components > 1 || entry.model == VarianceModel::Equal;
        let mut values: Vec<f64> =
            self.entries.iter().filter(is_new).filter_map(|entry| entry.outcome.ok()).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        Some(values.first()? - values.get(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<f64, NoFit>;

    /// The table of one, two and three components.
    fn table(one: Outcome, two: [Outcome; 2], three: [Outcome; 2]) -> Criterion {
        let mut criterion = Criterion::default();
        for (components, outcomes) in [(1, [one; 2]), (2, two), (3, three)] {
            for (model, outcome) in VarianceModel::ALL.into_iter().zip(outcomes) {
                criterion.add(Entry { model, components, outcome });
            }
        }
        criterion
    }

    #[test]
    fn a_goal_is_nearer_where_the_last_models_all_ended_far_below() {
        const NEAR: Outcome = Ok(88.0);
        const FAR: Outcome = Ok(87.0);
        const OUTDONE: Outcome = Err(NoFit::Outdone);
        for (two, three, expected) in [
            ([NEAR; 2], [NEAR; 2], 70.0),
            ([FAR; 2], [FAR; 2], 88.0),
            ([OUTDONE; 2], [OUTDONE; 2], 88.0),
            ([FAR, OUTDONE], [OUTDONE, FAR], 88.0),
            ([NEAR, FAR], [FAR; 2], 70.0),
            ([FAR; 2], [FAR, NEAR], 70.0),
            ([FAR; 2], [FAR, Ok(110.0)], 80.0),
            ([FAR; 2], [FAR, Ok(f64::NEG_INFINITY)], 88.0),
            ([FAR; 2], [FAR, Ok(f64::NAN)], 70.0),
            // What failed for a reason of its own says nothing of more components.
            ([FAR; 2], [FAR, Err(NoFit::NoStart)], 70.0),
            ([FAR; 2], [FAR, Err(NoFit::VarianceVanished)], 70.0),
            ([FAR; 2], [FAR, Err(NoFit::ComponentVanished)], 70.0),
            ([FAR; 2], [FAR, Err(NoFit::StepLimit)], 70.0),
        ] {
            let criterion = table(Ok(100.0), two, three);
            assert_eq!(Pruning::Below(30.0).goal(&criterion, 4, 20.0), expected, "{two:?} {three:?}");
            assert_eq!(Pruning::Nothing.goal(&criterion, 4, 20.0), f64::NEG_INFINITY);
        }
        let near = table(Ok(100.0), [NEAR; 2], [NEAR; 2]);
        assert_eq!(Pruning::OF_RESAMPLE.goal(&near, 4, 20.0), 80.0);
    }

    #[test]
    fn few_components_few_observations_and_a_table_without_fits_have_no_goal() {
        let far = table(Ok(100.0), [Ok(0.0); 2], [Ok(0.0); 2]);
        let outdone = [Err(NoFit::Outdone); 2];
        let unfitted = table(Err(NoFit::NoStart), outdone, outdone);
        for (criterion, components, observations) in
            [(&far, 3, 1000.0), (&Criterion::default(), 1, 1000.0), (&far, 4, 19.0), (&unfitted, 4, 1000.0)]
        {
            let goal = Pruning::OF_SAMPLE.goal(criterion, components, observations);
            assert_eq!(goal, f64::NEG_INFINITY, "{components} components, {observations} observations");
        }
        // Any likelihood reaches it, in whatever unit.
        let mut search = Search::default();
        search.load(&[1e-9, 2e-9, 4e-9]);
        for model in VarianceModel::ALL {
            assert_eq!(search.needed(f64::NEG_INFINITY, model, 4), f64::NEG_INFINITY);
        }
    }
}
