//! Samples from a mixture.

use super::Mixture;
use rand::{Rng, RngExt};

/// Standard normal numbers by G. Marsaglia's polar method ("Improving the polar method for generating a pair of random
/// variables", 1962), which gives two at a time. The logarithm is libm's, so that the numbers are the same on every
/// platform.
#[derive(Clone, Copy, Debug, Default)]
struct Normals {
    spare: Option<f64>,
}

impl Normals {
    fn next(&mut self, random: &mut impl Rng) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let u = 2.0 * random.random::<f64>() - 1.0;
            let v = 2.0 * random.random::<f64>() - 1.0;
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }
}

impl Mixture {
    /// Replaces `values` by `n` independent draws from the mixture.
    pub fn draw(&self, n: usize, random: &mut impl Rng, values: &mut Vec<f64>) {
        let mut normals = Normals::default();
        values.clear();
        for _ in 0..n {
            let mut share = random.random::<f64>();
            let mut chosen = self.components[self.components.len() - 1];
            for component in &self.components {
                share -= component.weight;
                if share < 0.0 {
                    chosen = *component;
                    break;
                }
            }
            values.push(chosen.mean + chosen.sd * normals.next(random));
        }
    }
}
