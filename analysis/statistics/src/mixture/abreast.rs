//! Drafts of many samples of one size, one in each lane of the vectors.
//!
//! The draft of one sample has its observations in the lanes: it folds them into sums at each step, and a sample of thirty
//! leaves most of a step to folding and to a maximisation with a few components in sixteen lanes. With a start of its own in
//! each lane nothing is folded and no lane is empty; it takes hundreds of starts to keep the lanes full, which the resamples
//! of a bootstrap are. A lane whose course has ended takes the next start, those of fewest components first, so that the
//! courses that are abreast have about as many.
//!
//! No lane reads another, so an ending does not depend on what else is under way. Steps, stopping rule and the hand-over to
//! double precision are those of `draft`.
//!
//! In reading order: this file (the courses), `turns` (their queue), `lane_laws` (components and their M-step), `pass` (densities
//! of all observations and their posterior sums).

mod lane_laws;
mod pass;
mod turns;

use super::draft::{Ending, LANES, LEAST_DENSITY, MOST_STEPS, Vector};
use super::{race::Runner, schedule::TOLERANCE, state::Start};
use lane_laws::LaneLaws;
use pass::{Memory, TILE, accumulate};
use std::f64::consts::LN_2;
use turns::Turns;

/// The largest samples that are drafted so. The observations of all lanes stay in the second cache, and products of densities
/// keep their digits; larger samples fill the vectors by themselves.
pub(super) const MOST_OBSERVATIONS: usize = 400;

/// Samples of one size in single precision, without equal observations.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    size: usize,
    /// Ascending within each sample.
    values: Vec<f32>,
    /// Of each sample, what the log-likelihood of mclust's tolerance is lower.
    offsets: Vec<f64>,
}

impl Samples {
    /// Forgets the samples; the next have `size` observations.
    pub(super) fn clear(&mut self, size: usize) {
        self.size = size;
        self.values.clear();
        self.offsets.clear();
    }

    /// Adds a sample of that size in its standard units, whose logarithm in the unit of mclust's tolerances is `log_unit`;
    /// returns its number.
    pub(super) fn push(&mut self, values: &[f64], log_unit: f64) -> usize {
        debug_assert_eq!(values.len(), self.size);
        self.values.extend(values.iter().map(|x| *x as f32));
        self.offsets.push(self.size as f64 * log_unit);
        self.offsets.len() - 1
    }

    fn sample(&self, number: usize) -> &[f32] {
        &self.values[number * self.size..(number + 1) * self.size]
    }
}

/// A start from which a sample is drafted.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartOf {
    pub(super) sample: usize,
    /// The start's place among those of the sample.
    pub(super) place: usize,
    pub(super) start: Start,
}

/// The start in a lane, and how far its course is.
#[derive(Clone, Copy, Debug)]
struct Course {
    number: usize,
    sample: usize,
    components: usize,
    runner: Runner,
    offset: f64,
    last: f64,
    steps: u32,
}

/// The memory of the lanes.
#[derive(Clone, Debug, Default)]
pub(super) struct Abreast {
    values: Vec<Vector>,
    memory: Memory,
}

impl Abreast {
    /// Where mclust's steps lead from each of `starts`, in their order.
    pub(super) fn run(&mut self, samples: &Samples, starts: &[StartOf]) -> Vec<Ending> {
        let size = samples.size.next_multiple_of(TILE);
        self.values.clear();
        self.values.resize(size, Vector::ZERO);
        run_lanes(samples, starts, &mut self.values, &mut self.memory)
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2+fma"))]
fn run_lanes(
    samples: &Samples,
    starts: &[StartOf],
    values: &mut [Vector],
    memory: &mut Memory,
) -> Vec<Ending> {
    let mut endings: Vec<Ending> = starts.iter().map(|start| Ending::HandedOver(start.start.state)).collect();
    let mut turns = Turns::new(starts, samples.size);
    let (mut laws, mut next) = <(LaneLaws, LaneLaws)>::default();
    let (mut laws, mut next) = (&mut laws, &mut next);
    let mut courses: [Option<Course>; LANES] = [None; LANES];
    for (lane, course) in courses.iter_mut().enumerate() {
        *course = turns.next().map(|number| begun(samples, starts, number, lane, values, [laws, next]));
    }
    let total = samples.size as f32;
    loop {
        let Some(components) = courses.iter().flatten().map(|course| course.components).max() else {
            return endings;
        };
        let sums = accumulate(values, samples.size, laws, components, memory);
        let is_sound = laws.maximise(&sums, total, components, next);
        let log2_likelihood = sums.log2_likelihood();
        for lane in 0..LANES {
            if let Some(course) = &mut courses[lane] {
                let is_near = sums.least_density.0[lane] > LEAST_DENSITY;
                let in_standard_units = LN_2 * log2_likelihood[lane];
                course.runner.reach(in_standard_units);
                let state = || laws.state(lane, course.components);
                let ending = if is_near && course.stops(in_standard_units) {
                    Ending::Settled(state(), in_standard_units)
                } else if is_near && turns.race(course).is_lost(&course.runner, course.steps) {
                    Ending::GivenUp
                } else if is_near && is_sound[lane] && course.steps + 1 < MOST_STEPS {
                    course.last = in_standard_units - course.offset;
                    course.steps += 1;
                    continue;
                } else {
                    Ending::HandedOver(state())
                };
                endings[course.number] = ending;
                turns.end(course, &ending);
            }
            next.copy_lane(lane, laws, components);
            courses[lane] =
                turns.next().map(|number| begun(samples, starts, number, lane, values, [laws, next]));
        }
        std::mem::swap(&mut laws, &mut next);
    }
}

impl Course {
    #[inline(always)]
    fn stops(&self, in_standard_units: f64) -> bool {
        let log_likelihood = in_standard_units - self.offset;
        (log_likelihood - self.last).abs() <= TOLERANCE * (1.0 + log_likelihood.abs())
    }
}

/// The course from start `number`, its sample and laws put into `lane`.
#[inline(always)]
fn begun(
    samples: &Samples,
    starts: &[StartOf],
    number: usize,
    lane: usize,
    values: &mut [Vector],
    both_laws: [&mut LaneLaws; 2],
) -> Course {
    let StartOf { sample, place, start } = &starts[number];
    let of_sample = samples.sample(*sample);
    for (vector, x) in values.iter_mut().zip(of_sample) {
        vector.0[lane] = *x;
    }
    for padding in &mut values[of_sample.len()..] {
        padding.0[lane] = of_sample[of_sample.len() - 1];
    }
    // Those of this step and of the next: neither may keep a component of the lane's last course.
    for laws in both_laws {
        laws.begin(lane, start);
    }
    Course {
        number,
        sample: *sample,
        components: start.state.components,
        runner: Runner::new(*place, start, (samples.size as f64).ln()),
        offset: samples.offsets[*sample],
        last: f64::INFINITY,
        steps: 0,
    }
}
