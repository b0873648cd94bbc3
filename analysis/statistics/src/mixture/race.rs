//! The models of a sample against each other: which draft need not go on.
//!
//! Most steps of a fit are those of models with many components that end tens of units of the criterion below the
//! best. A draft is given up when it is far below the largest criterion so far and has nearly stopped rising. That is wrong where
//! the likelihood rises late, from a plateau, when a component finds its cluster or shrinks onto a few observations. The
//! constants of samples leave so much room that of 50 000 simulated ones of ten shapes 10 have a smaller criterion than
//! mclust's, where 7 had without it; they were chosen among some fifty on the paths of mclust's steps of all models on these samples.

use super::state::{MOST_COMPONENTS, Start, VarianceModel};

/// Models with fewer components are never given up: they take few steps, and the clusters that there are may be found late.
const FEWEST_COMPONENTS: usize = 4;
/// Of fewer observations no model is given up: a component that shrinks onto two of a dozen brings any deficit back.
const FEWEST_OBSERVATIONS: f64 = 20.0;
/// A draft is given up when so many steps of its present gain would leave it with the deficit.
const PATIENCE: f64 = 80.0;
/// Models of one number of components, next to each other among the starts.
const ABREAST: usize = VarianceModel::ALL.len();
/// So many models with fewer components are a trend when they all ended far below the largest: those of the last two numbers.
const TREND: usize = 2 * ABREAST;
/// The deficit after a [`TREND`], and that which makes one.
const BY_TREND: Deficit = Deficit { criterion: 15.0, first_step: 5 };

/// How far below the largest a draft is given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deficit {
    criterion: f64,
    /// Earlier steps say nothing of those to come.
    first_step: u32,
}

impl Deficit {
    /// In the fit of a sample, and of a resample from pools.
    pub(super) const OF_SAMPLE: Self = Self { criterion: 40.0, first_step: 8 };
    /// In the refit of a small resample, where the number of the test is a rank among hundreds: one refit that stops short
    /// hardly moves it.
    pub(super) const OF_RESAMPLE: Self = Self { criterion: 20.0, first_step: 5 };

    /// Whether a draft is so far below after so many steps.
    #[inline(always)]
    fn is_exceeded(self, below: f64, steps: u32) -> bool {
        below > self.criterion && steps >= self.first_step
    }
}

/// The criteria that the drafts of one sample have reached, BIC in standard units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    deficit: Deficit,
    is_open: bool,
    largest: f64,
    /// Where each draft ended, in the order of the starts; infinite while it has not.
    ended: [f64; ABREAST * MOST_COMPONENTS],
}

/// A draft in its race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runner {
    /// Its place among the starts of its sample, fewer components first.
    place: usize,
    components: usize,
    /// What the criterion is less than twice the log-likelihood.
    penalty: f64,
    criterion: f64,
    /// What the last step added to the criterion.
    gain: f64,
}

impl Runner {
    /// The draft from `start`, at a place of its sample, of which `log_total` is the logarithm of the number of observations.
    #[inline(always)]
    pub(super) fn new(place: usize, start: &Start, log_total: f64) -> Self {
        let components = start.state.components;
        let penalty = start.model.parameters(components) as f64 * log_total;
        Self { place, components, penalty, criterion: f64::NEG_INFINITY, gain: f64::INFINITY }
    }

    /// A step led to this log-likelihood.
    #[inline(always)]
    pub(super) fn reach(&mut self, log_likelihood: f64) {
        let before = self.criterion;
        self.criterion = 2.0 * log_likelihood - self.penalty;
        self.gain = self.criterion - before;
    }
}

impl Race {
    /// Of a sample of `total` observations.
    pub(super) fn new(total: f64, deficit: Deficit) -> Self {
        let ended = [f64::INFINITY; ABREAST * MOST_COMPONENTS];
        Self { deficit, is_open: total >= FEWEST_OBSERVATIONS, largest: f64::NEG_INFINITY, ended }
    }

    /// Whether a draft that has taken so many steps is to be given up.
    #[inline(always)]
    pub(super) fn is_lost(&self, runner: &Runner, steps: u32) -> bool {
        let below = self.largest - runner.criterion - PATIENCE * runner.gain;
        BY_TREND.is_exceeded(below, steps)
            && (self.deficit.is_exceeded(below, steps) || self.has_trend(runner.place))
            && self.is_open
            && runner.components >= FEWEST_COMPONENTS
    }

    /// Whether the models with fewer components than that of a place ended far below the largest.
    fn has_trend(&self, place: usize) -> bool {
        let first = place - place % ABREAST;
        first >= TREND && (first - TREND..first).all(|place| self.is_far(place))
    }

    /// Whether the draft of a place ended far below the largest.
    pub(super) fn is_far(&self, place: usize) -> bool {
        self.largest - self.ended[place] > BY_TREND.criterion
    }

    /// A draft ended, where mclust would stop if it `settled`.
    #[inline(always)]
    pub(super) fn end(&mut self, runner: &Runner, settled: bool) {
        self.ended[runner.place] = runner.criterion;
        if settled {
            self.largest = self.largest.max(runner.criterion);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixture::state::State;

    /// A draft with its criterion this far below zero after a gain.
    fn at(place: usize, below: f64, gain: f64) -> Runner {
        let state = State { components: place / ABREAST + 1, ..State::default() };
        let mut runner =
            Runner::new(place, &Start { state, model: VarianceModel::ALL[place % ABREAST] }, 0.0);
        runner.reach((-below - gain) / 2.0);
        runner.reach(-below / 2.0);
        runner
    }

    fn led_by_the_first(total: f64) -> Race {
        let mut race = Race::new(total, Deficit::OF_SAMPLE);
        race.end(&at(0, 0.0, 0.0), true);
        race
    }

    #[test]
    fn what_is_far_below_and_rises_no_more_is_lost() {
        let race = led_by_the_first(30.0);
        assert!(race.is_lost(&at(8, 41.0, 0.01), 8));
        assert!(!race.is_lost(&at(8, 39.0, 0.01), 8), "it is near");
        assert!(!race.is_lost(&at(8, 41.0, 0.1), 8), "it rises");
        assert!(!race.is_lost(&at(8, 41.0, 0.01), 7), "it has just begun");
        assert!(!race.is_lost(&at(5, 41.0, 0.01), 8), "it has few components");
        assert!(!led_by_the_first(19.0).is_lost(&at(8, 41.0, 0.01), 8), "there are few observations");
    }

    #[test]
    fn a_trend_makes_it_lost_earlier() {
        let mut race = led_by_the_first(30.0);
        for place in 4..7 {
            race.end(&at(place, 16.0, 0.0), true);
        }
        assert!(!race.is_lost(&at(8, 16.0, 0.0), 5), "one of four is under way");
        race.end(&at(7, 16.0, 0.0), false);
        assert!(race.is_lost(&at(8, 16.0, 0.0), 5) && race.is_lost(&at(9, 16.0, 0.0), 5));
        assert!(!race.is_lost(&at(10, 16.0, 0.0), 5), "its own four have not ended");
    }
}
