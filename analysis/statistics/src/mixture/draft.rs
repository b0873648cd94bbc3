//! The schedule of mclust in single precision: where it ends, at a fraction of the price.
//!
//! Sixteen observations share a vector in the expectation, and all components share one in the maximisation. Single
//! precision disturbs a log-likelihood by about 1e-7 of the sum of its terms, a hundredth of the change at which mclust
//! stops, so a draft ends beside the place where the schedule ends; it is finished in double precision. A draft that
//! single precision cannot carry hands over where it stands.
//!
//! As in `kernel`, sums run in fixed lanes. What is fused is fused by name (`mul_add`, which every processor rounds alike,
//! those before 2013 by a slow subroutine), so every width of vector gives the same bits.
//!
//! Large resamples climb twice: first their neighbouring observations pooled, a fraction of them, then from where that ends all
//! of them, which stops after the few steps that it takes to see that it may.
//!
//! In reading order: `lanes` (a vector), `observations` (the sample in vectors), `pools`, `laws` (the components and their M-step),
//! `pass` (the densities of all observations and their posterior sums), `course` (a start on its way).

mod course;
mod laws;
mod observations;
mod pass;
mod pools;

use super::{points::Points, race::Deficit, race::Race, race::Runner, state::Start, state::State};
pub(super) use course::{LEAST_DENSITY, MOST_STEPS};
pub(super) use laws::{
    CANCELLED, INVERSE_RATE, LEAST_COUNT, LEAST_VARIANCE, LOG2_ROOT_TWO_PI, NOWHERE, RATE,
};
pub(super) use observations::{LANES, LIFT, Vector};

use course::run_abreast;
use observations::{NARROW_TILE, Observations, TILE, WIDE_TILE};
use pass::Memory;
use pools::Pools;

/// Where a draft ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// Where mclust would stop, with the log-likelihood there in standard units, to single precision.
    Settled(State, f64),
    /// Where single precision carries no further.
    HandedOver(State),
    /// Where another model had won the race.
    GivenUp,
}

/// The observations in single precision and the memory of a pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    observations: Observations,
    pools: Pools,
    pooled: Observations,
    memory: Memory,
}

impl Draft {
    /// Takes the observations of `points`.
    pub(super) fn refill(&mut self, points: &Points) {
        self.observations.refill(points.values(), points.weights());
    }

    /// mclust's steps from each start until it would stop, or single precision does not suffice. `log_unit` as in
    /// [`super::schedule::Rule`].
    pub(super) fn run(&mut self, starts: &[Start], log_unit: f64) -> Vec<Ending> {
        let offset = self.observations.total() * log_unit;
        run_on(&self.observations, offset, &mut self.memory, starts)
    }

    /// The same from where the steps on pools of `points`, the observations, end: a third of the time or less for a thousand of
    /// them. One in a hundred ends at a smaller likelihood, which a bootstrap bears and the fit of a sample does not.
    pub(super) fn run_from_pools(&mut self, points: &Points, starts: &[Start], log_unit: f64) -> Vec<Ending> {
        self.pools.refill(points);
        self.pooled.refill(self.pools.values(), self.pools.weights());
        if self.pooled.total() == 0.0 {
            return self.run(starts, log_unit);
        }
        let offset = self.observations.total() * log_unit;
        let mut endings = run_on(&self.pooled, offset, &mut self.memory, starts);
        give_up_far_ones(&mut endings, starts, self.observations.total());
        let from_there = |(number, start): (usize, &Start)| match endings[number] {
            Ending::Settled(state, _) => Some((number, Start { state, ..*start })),
            // What vanishes in pools need not vanish.
            Ending::HandedOver(_) => Some((number, *start)),
            Ending::GivenUp => None,
        };
        let (numbers, starts): (Vec<usize>, Vec<Start>) =
            starts.iter().enumerate().filter_map(from_there).unzip();
        for (number, ending) in numbers.into_iter().zip(self.run(&starts, log_unit)) {
            endings[number] = ending;
        }
        endings
    }
}

/// Those that settled far below the largest criterion need no further steps.
fn give_up_far_ones(endings: &mut [Ending], starts: &[Start], total: f64) {
    let mut race = Race::new(total, Deficit::OF_SAMPLE);
    for (place, (ending, start)) in endings.iter().zip(starts).enumerate() {
        if let Ending::Settled(_, log_likelihood) = ending {
            let mut runner = Runner::new(place, start, total.ln());
            runner.reach(*log_likelihood);
            race.end(&runner, true);
        }
    }
    for (place, ending) in endings.iter_mut().enumerate() {
        if race.is_far(place) {
            *ending = Ending::GivenUp;
        }
    }
}

fn run_on(observations: &Observations, offset: f64, memory: &mut Memory, starts: &[Start]) -> Vec<Ending> {
    let run = match observations.tile() {
        NARROW_TILE => run_abreast::<NARROW_TILE>,
        WIDE_TILE => run_abreast::<WIDE_TILE>,
        _ => run_abreast::<TILE>,
    };
    run(observations, offset, memory, starts)
}
