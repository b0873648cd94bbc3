//! Every model on one sample, and the one with the largest criterion.

use super::converge::{Settled, converge};
use super::schedule::{NoFit, Rule, Run, last_step, mclust};
use super::start::{gap_classes, quantile_classes};
use super::state::{MOST_COMPONENTS, Start, State, VarianceModel};
use super::{Component, Mixture, draft::Draft, draft::Ending, kernel::Kernel, points::Points};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Units outside which mclust's absolute tolerances decide instead of the data: a variance of 2.2e-16 is 1e-8 in
/// standard deviations.
const PLAIN_SPREADS: RangeInclusive<f64> = 1e-6..=1e12;
/// Models whose criterion after mclust's schedule is this far below the largest are not run to convergence. The steps after
/// the schedule add a few units of log-likelihood where it stopped on a plateau.
const REACH: f64 = 12.0;

/// Drafts whose criteria are less than this share below the largest are finished: ten times what single precision and the
/// few steps of a finish move them.
const CLOSE: f64 = 1e-4;

/// A sample in standard units and the memory for its fits; used again for each resample.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    points: Points,
    distinct: Vec<f64>,
    kernel: Kernel,
    draft: Draft,
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

/// What the draft of a model led to.
#[derive(Clone, Debug)]
struct Drafted {
    components: usize,
    model: VarianceModel,
    outcome: Result<DraftEnd, NoFit>,
}

#[derive(Clone, Copy, Debug)]
struct DraftEnd {
    state: State,
    /// In the unit of the observations, to single precision unless `is_final`.
    bic: f64,
    /// Whether the schedule ended it in double precision.
    is_final: bool,
}

/// The starts of a sample, and for every model the place of its own among them, if it has one.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    pub(super) starts: Vec<Start>,
    numbers: Vec<(usize, VarianceModel, Option<usize>)>,
}

impl Search {
    /// Takes `sorted`, at least two values that are not all equal.
    pub(super) fn load(&mut self, sorted: &[f64]) {
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
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

    /// The distinct observations in standard units.
    pub(super) fn standard_values(&self) -> &[f64] {
        &self.points.values()[..self.distinct.len()]
    }

    /// The logarithm of the standard unit, in the unit in which mclust's tolerances are taken.
    pub(super) fn log_parity_unit(&self) -> f64 {
        self.log_parity_unit
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

    fn run(
        &mut self,
        sorted: &[f64],
        components: usize,
        model: VarianceModel,
        goal: f64,
    ) -> Result<Run, NoFit> {
        let classes = quantile_classes(sorted, &self.distinct, components).ok_or(NoFit::NoStart)?;
        let start = classes.state(&self.points, model);
        let rule = Rule { model, log_unit: self.log_parity_unit, goal };
        mclust(&self.points, &mut self.kernel, start, rule)
    }

    /// mclust's table and choice.
    pub(super) fn as_mclust(&mut self, sorted: &[f64]) -> (Criterion, Option<Best>) {
        let (mut criterion, mut best) = (Criterion::default(), None);
        for (components, model) in self.models() {
            let run = self.run(sorted, components, model, f64::NEG_INFINITY);
            let outcome = run.map(|Run { state, log_likelihood }| {
                let bic = self.bic(log_likelihood, model, components);
                keep(&mut best, Best { model, state, log_likelihood, bic, converged: false });
                bic
            });
            criterion.add(Entry { model, components, outcome });
        }
        (criterion, best)
    }

    /// mclust's table and choice from drafts. The models whose criteria are within [`CLOSE`] of the largest go on in double
    /// precision by the same rule, and the others stay as drafted. So the chosen criterion is seldom smaller than mclust's: of 50 000
    /// simulated samples of ten shapes 10 times (`calibration_mixture`), where a draft ended in another maximum or was given up.
    pub(super) fn drafted(&mut self, sorted: &[f64]) -> (Criterion, Option<Best>) {
        let mut models = self.drafts(sorted);
        let largest = largest_bic(&models);
        let (mut criterion, mut best) = (Criterion::default(), None);
        for Drafted { components, model, outcome } in &mut models {
            if let Ok(draft) = outcome
                && draft.bic >= largest - CLOSE * (1.0 + largest.abs())
            {
                let Run { state, log_likelihood } = self.finished(draft.state, *model);
                draft.bic = self.bic(log_likelihood, *model, *components);
                let (model, bic) = (*model, draft.bic);
                keep(&mut best, Best { model, state, log_likelihood, bic, converged: false });
            }
            let outcome = outcome.as_ref().map(|draft| draft.bic).map_err(|reason| *reason);
            criterion.add(Entry { model: *model, components: *components, outcome });
        }
        (criterion, best)
    }

    /// Further steps from where a draft ended: until mclust would stop, and again, since a draft may have ended a step
    /// before mclust. Where a component vanishes on the way, the draft as it is.
    fn finished(&mut self, state: State, model: VarianceModel) -> Run {
        let Ok(first) = self.schedule(state, model) else {
            return last_step(&self.points, &mut self.kernel, state, model);
        };
        self.schedule(first.state, model).unwrap_or(first)
    }

    /// mclust's choice alone, where it stops: the state of the draft with the largest criterion, after the M-step with which
    /// mclust may end.
    pub(super) fn drafted_choice(&mut self, sorted: &[f64]) -> Option<State> {
        let starts = self.starts(sorted);
        self.draft.refill(&self.points);
        let endings = self.draft.run_from_pools(&self.points, &starts.starts, self.log_parity_unit);
        self.choice(&starts, &endings)
    }

    /// The same from where the drafts of `starts` ended.
    pub(super) fn choice(&mut self, starts: &Starts, endings: &[Ending]) -> Option<State> {
        let models = self.outcomes(starts, endings);
        let largest = largest_bic(&models);
        let chosen = models.iter().find_map(|Drafted { model, outcome, .. }| {
            outcome.as_ref().ok().filter(|draft| draft.bic >= largest).map(|draft| (draft, *model))
        });
        chosen.map(|(draft, model)| {
            if draft.is_final {
                draft.state
            } else {
                last_step(&self.points, &mut self.kernel, draft.state, model).state
            }
        })
    }

    fn drafts(&mut self, sorted: &[f64]) -> Vec<Drafted> {
        let starts = self.starts(sorted);
        self.draft.refill(&self.points);
        let endings = self.draft.run(&starts.starts, self.log_parity_unit);
        self.outcomes(&starts, &endings)
    }

    /// Where every model starts.
    pub(super) fn starts(&self, sorted: &[f64]) -> Starts {
        let mut of_models = Starts { starts: Vec::with_capacity(2 * MOST_COMPONENTS), numbers: Vec::new() };
        for components in 1..=self.most_components() {
            let classes = quantile_classes(sorted, &self.distinct, components);
            let states = classes.map(|classes| classes.states(&self.points));
            for (place, model) in VarianceModel::ALL.into_iter().enumerate() {
                of_models.numbers.push((components, model, states.map(|_| of_models.starts.len())));
                of_models.starts.extend(states.map(|states| Start { state: states[place], model }));
            }
        }
        of_models
    }

    fn outcomes(&mut self, starts: &Starts, endings: &[Ending]) -> Vec<Drafted> {
        let drafted = |&(components, model, number): &(usize, VarianceModel, Option<usize>)| {
            let outcome =
                number.ok_or(NoFit::NoStart).and_then(|number| self.outcome(endings[number], model));
            Drafted { components, model, outcome }
        };
        starts.numbers.iter().map(drafted).collect()
    }

    /// The draft's end, or where single precision did not suffice the schedule's.
    fn outcome(&mut self, ending: Ending, model: VarianceModel) -> Result<DraftEnd, NoFit> {
        let (state, log_likelihood, is_final) = match ending {
            Ending::Settled(state, log_likelihood) => (state, log_likelihood, false),
            Ending::HandedOver(state) => {
                let run = self.schedule(state, model)?;
                (run.state, run.log_likelihood, true)
            }
            Ending::GivenUp => return Err(NoFit::Outdone),
        };
        let bic = self.bic(log_likelihood, model, state.components);
        Ok(DraftEnd { state, bic, is_final })
    }

    /// mclust's steps in double precision.
    fn schedule(&mut self, start: State, model: VarianceModel) -> Result<Run, NoFit> {
        let rule = self.rule(model);
        mclust(&self.points, &mut self.kernel, start, rule)
    }

    fn rule(&self, model: VarianceModel) -> Rule {
        Rule { model, log_unit: self.log_parity_unit, goal: f64::NEG_INFINITY }
    }

    /// The table after mclust's schedule, gone on to convergence from there and from the classes between the largest gaps
    /// wherever a model can still be chosen. No entry is below mclust's.
    pub(super) fn converged(&mut self, sorted: &[f64]) -> (Criterion, Option<Best>) {
        let models: Vec<_> = self.models().collect();
        let runs: Vec<Result<Run, NoFit>> =
            models.iter().map(|&(k, model)| self.run(sorted, k, model, f64::NEG_INFINITY)).collect();
        let value = |(run, &(k, model)): (&Result<Run, NoFit>, &(usize, VarianceModel))| {
            run.as_ref().map_or(f64::NEG_INFINITY, |run| self.bic(run.log_likelihood, model, k))
        };
        let largest = runs.iter().zip(&models).map(value).fold(f64::NEG_INFINITY, f64::max);
        let (mut criterion, mut best) = (Criterion::default(), None);
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
        let other = gap_classes(&self.distinct, components).and_then(|classes| {
            let start = classes.state(&self.points, model);
            let rule = Rule { model, log_unit: self.log_parity_unit, goal };
            let run = mclust(&self.points, &mut self.kernel, start, rule).ok()?;
            if run.log_likelihood < goal {
                return None;
            }
            converge(&self.points, &mut self.kernel, run.state, model)
        });
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

fn largest_bic(drafts: &[Drafted]) -> f64 {
    let bics = drafts.iter().filter_map(|model| model.outcome.as_ref().ok()).map(|draft| draft.bic);
    bics.fold(f64::NEG_INFINITY, f64::max)
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
