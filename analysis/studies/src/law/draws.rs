//! The random numbers of one replicate.

use crate::LawShape;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::{Seed, below};
use speedup_statistics::{mixture::Mixture, number::StandardNormals, sample::Sample};

/// The stream of one replicate.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    random: ChaCha8Rng,
    normals: StandardNormals,
}

impl Draws {
    /// The stream numbered `replicate` of `streams`.
    pub(crate) fn new(streams: &ChaCha8Rng, replicate: u64) -> Self {
        let mut random = streams.clone();
        random.set_stream(replicate);
        Self { random, normals: StandardNormals::default() }
    }

    /// A standard normal number.
    pub(crate) fn normal(&mut self) -> f64 {
        self.normals.next(&mut self.random)
    }

    /// A number in (0, 1], each equally likely.
    pub(crate) fn uniform(&mut self) -> f64 {
        1.0 - self.random.random::<f64>()
    }

    /// An exponential number of mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// A position below `count`.
    pub(crate) fn position(&mut self, count: usize) -> usize {
        below(count as u64, &mut self.random) as usize
    }

    /// A seed for what draws by itself.
    pub(crate) fn seed(&mut self) -> Seed {
        Seed(self.random.random())
    }

    /// `runs` times from `law`.
    pub(crate) fn mixture_sample(&mut self, law: &Mixture, runs: u64) -> Option<Sample> {
        let mut values = Vec::new();
        law.draw(runs as usize, &mut self.random, &mut values);
        Sample::new(values).ok()
    }

    /// `runs` times of mean `mean` and standard deviation `sd`; none if one is beyond what a sample may hold.
    pub(crate) fn times(&mut self, shape: LawShape, runs: u64, mean: f64, sd: f64) -> Option<Sample> {
        Sample::new((0..runs).map(|_| mean + sd * shape.deviate(self)).collect()).ok()
    }
}
