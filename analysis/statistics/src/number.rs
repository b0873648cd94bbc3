//! Numbers as computers have them: sums that lose nothing, quadrature, roots, what rounding has moved apart, and normal
//! numbers at random.

pub(crate) mod gauss_legendre;
pub(crate) mod monotone_root;
pub(crate) mod rounding;

use rand::{Rng, RngExt};

/// Standard normal numbers by G. Marsaglia's polar method ("Improving the polar method for generating a pair of random
/// variables", 1962), which gives two at a time. The logarithm is libm's, so that the numbers are the same on every
/// platform.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardNormals {
    spare: Option<f64>,
}

impl StandardNormals {
    /// The next one.
    pub fn next(&mut self, random: &mut impl Rng) -> f64 {
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
