//! Samples from a mixture.

use super::Mixture;
use crate::number::StandardNormals;
use rand::{Rng, RngExt};

impl Mixture {
    /// Replaces `values` by `n` independent draws from the mixture.
    pub fn draw(&self, n: usize, random: &mut impl Rng, values: &mut Vec<f64>) {
        let mut normals = StandardNormals::default();
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
