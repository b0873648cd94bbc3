//! Which start takes the next free lane.
//!
//! A model begins when those of its sample with fewer components have ended, and races against these alone: what ends beside
//! it does not count. So which drafts are given up does not depend on what else is under way.

use super::{Course, StartOf};
use crate::{mixture::draft::Ending, mixture::race::Deficit, mixture::race::Race, mixture::race::Runner};
use std::{collections::VecDeque, ops::Range};

/// The starts that wait, and the races of their samples.
pub(super) struct Turns<'a> {
    starts: &'a [StartOf],
    samples: Vec<Turn>,
    ready: VecDeque<usize>,
}

/// How far a sample is.
struct Turn {
    race: Race,
    waiting: Range<usize>,
    under_way: usize,
    /// Those that ended beside others of as many components.
    ended: Vec<(Runner, bool)>,
}

impl<'a> Turns<'a> {
    /// The turns of samples of `size` observations, of which `starts` has one after another, fewer components first.
    pub(super) fn new(starts: &'a [StartOf], size: usize) -> Self {
        let mut turns = Self { starts, samples: Vec::new(), ready: VecDeque::new() };
        let mut from = 0;
        for of_sample in starts.chunk_by(|a, b| a.sample == b.sample) {
            let waiting = from..from + of_sample.len();
            from = waiting.end;
            debug_assert_eq!(of_sample[0].sample, turns.samples.len());
            turns.samples.push(Turn {
                race: Race::new(size as f64, Deficit::OF_RESAMPLE),
                waiting,
                under_way: 0,
                ended: Vec::new(),
            });
            turns.begin(of_sample[0].sample);
        }
        turns
    }

    /// The number of the start whose turn it is.
    pub(super) fn next(&mut self) -> Option<usize> {
        self.ready.pop_front()
    }

    #[inline(always)]
    pub(super) fn race(&self, course: &Course) -> &Race {
        &self.samples[course.sample].race
    }

    /// A course came to its end.
    pub(super) fn end(&mut self, course: &Course, ending: &Ending) {
        let turn = &mut self.samples[course.sample];
        turn.ended.push((course.runner, matches!(ending, Ending::Settled(..))));
        turn.under_way -= 1;
        if turn.under_way == 0 {
            turn.ended.drain(..).for_each(|(runner, settled)| turn.race.end(&runner, settled));
            self.begin(course.sample);
        }
    }

    /// The models of a sample with the next number of components may begin.
    fn begin(&mut self, sample: usize) {
        let turn = &mut self.samples[sample];
        let components = |number: usize| self.starts[number].start.state.components;
        let first = turn.waiting.start;
        while !turn.waiting.is_empty() && components(turn.waiting.start) == components(first) {
            self.ready.push_back(turn.waiting.start);
            turn.waiting.start += 1;
            turn.under_way += 1;
        }
    }
}
