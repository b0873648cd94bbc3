//! The random numbers of one replicate.

use super::Shape;
use crate::standard_normals::StandardNormals;
use crate::{Mixture, Sample};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use speedup_core::seed::{Seed, below};

/// The stream of one replicate.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    random: ChaCha8Rng,
    normals: StandardNormals,
}

impl Draws {
    /// The stream numbered `replicate` of `streams`.
    pub(super) fn new(streams: &ChaCha8Rng, replicate: u64) -> Self {
        let mut random = streams.clone();
        random.set_stream(replicate);
        Self { random, normals: StandardNormals::default() }
    }

    /// A standard normal number.
    pub(super) fn normal(&mut self) -> f64 {
        self.normals.next(&mut self.random)
    }

    /// A number in (0, 1], each equally likely.
    pub(super) fn uniform(&mut self) -> f64 {
        1.0 - self.random.random::<f64>()
    }

    /// An exponential number of mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// A position below `count`.
    pub(super) fn position(&mut self, count: usize) -> usize {
        below(count as u64, &mut self.random) as usize
    }

    /// A seed for what draws by itself.
    pub(super) fn seed(&mut self) -> Seed {
        Seed(self.random.random())
    }

    /// `runs` times from `law`.
    pub(super) fn of_mixture(&mut self, law: &Mixture, runs: u64) -> Option<Sample> {
        let mut values = Vec::new();
        law.draw(runs as usize, &mut self.random, &mut values);
        Sample::new(values).ok()
    }

    /// `runs` times of mean `mean` and standard deviation `sd`; none if one is beyond what a sample may hold.
    pub(super) fn times(&mut self, shape: Shape, runs: u64, mean: f64, sd: f64) -> Option<Sample> {
        Sample::new((0..runs).map(|_| mean + sd * shape.deviate(self)).collect()).ok()
    }
}
