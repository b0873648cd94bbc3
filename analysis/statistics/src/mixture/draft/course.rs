//! The steps from a start to where mclust would stop.

use super::pass::{Memory, accumulate};
use super::{Ending, Start, laws::Laws, laws::Sums, observations::Observations};
use crate::mixture::{race::Deficit, race::Race, race::Runner, schedule::TOLERANCE, state::VarianceModel};
use std::f64::consts::LN_2;

/// Drafts that are computed in turn.
const ABREAST: usize = 2;
/// A density, in standard units, below which the component that explains an observation may have vanished.
pub(in crate::mixture) const LEAST_DENSITY: f32 = 1e-30;
/// Steps after which the noise of single precision keeps a draft from standing still.
pub(in crate::mixture) const MOST_STEPS: u32 = 3000;

/// A start that is on its way.
#[derive(Clone, Debug)]
struct Course {
    number: usize,
    model: VarianceModel,
    runner: Runner,
    laws: Laws,
    last: f64,
    steps: u32,
}

impl Course {
    #[inline(always)]
    fn new(number: usize, start: &Start, log_total: f64) -> Self {
        let (runner, laws) = (Runner::new(number, start, log_total), Laws::new(&start.state));
        Self { number, model: start.model, runner, laws, last: f64::INFINITY, steps: 0 }
    }

    /// One step with what the pass found; the log-likelihood of mclust's tolerance is `offset` lower.
    #[inline(always)]
    fn advance(&mut self, sums: &Sums, total: f64, offset: f64, race: &Race) -> Option<Ending> {
        let in_standard_units = LN_2 * sums.log2_likelihood;
        self.runner.reach(in_standard_units);
        let log_likelihood = in_standard_units - offset;
        // Written so that a density that is not a number hands over.
        let is_near = sums.least_density > LEAST_DENSITY;
        if is_near && (log_likelihood - self.last).abs() <= TOLERANCE * (1.0 + log_likelihood.abs()) {
            return Some(Ending::Settled(self.laws.state(), in_standard_units));
        }
        if is_near && race.is_lost(&self.runner, self.steps) {
            return Some(Ending::GivenUp);
        }
        self.last = log_likelihood;
        self.steps += 1;
        let goes_on =
            is_near && self.steps < MOST_STEPS && self.laws.maximise(sums, total as f32, self.model);
        (!goes_on).then(|| Ending::HandedOver(self.laws.state()))
    }
}

/// All starts, [`ABREAST`] at a time: while one waits for its last division the other's densities are computed.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2+fma"))]
pub(super) fn run_abreast<const TILE: usize>(
    observations: &Observations,
    offset: f64,
    memory: &mut Memory,
    starts: &[Start],
) -> Vec<Ending> {
    let mut endings: Vec<Ending> = starts.iter().map(|start| Ending::HandedOver(start.state)).collect();
    let mut race = Race::new(observations.total(), Deficit::OF_SAMPLE);
    let log_total = observations.total().ln();
    let mut waiting = starts.iter().enumerate().map(|(number, start)| Course::new(number, start, log_total));
    let mut courses: Vec<Course> = waiting.by_ref().take(ABREAST).collect();
    while !courses.is_empty() {
        let mut place = 0;
        while place < courses.len() {
            let course = &mut courses[place];
            let sums = accumulate::<TILE>(observations, &course.laws, memory);
            place += 1;
            if let Some(ending) = course.advance(&sums, observations.total(), offset, &race) {
                race.end(&course.runner, matches!(ending, Ending::Settled(..)));
                endings[course.number] = ending;
                match waiting.next() {
                    Some(next) => *course = next,
                    None => {
                        place -= 1;
                        courses.swap_remove(place);
                    }
                }
            }
        }
    }
    endings
}
