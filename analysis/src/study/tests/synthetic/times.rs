//! The laws of times.

use speedup_statistics::distribution::normal;

/// The law of a cell's times, in nanoseconds.
#[derive(Clone, Copy)]
pub(in crate::study::tests) enum Times {
    Normal {
        mean: f64,
        deviation: f64,
    },
    Skewed {
        least: f64,
        scale: f64,
    },
    Constant(f64),
    /// Two normal laws of one deviation, the first with the share.
    TwoClusters {
        means: [f64; 2],
        deviation: f64,
        share: f64,
    },
}

impl Times {
    pub(in crate::study::tests) fn normal(mean: f64, deviation: f64) -> Self {
        Self::Normal { mean, deviation }
    }

    /// The value at `probability`.
    pub(super) fn at(self, probability: f64) -> f64 {
        match self {
            Self::TwoClusters { means, deviation, share } if probability < share => {
                Self::normal(means[0], deviation).at(probability / share)
            }
            Self::TwoClusters { means, deviation, share } => {
                Self::normal(means[1], deviation).at((probability - share) / (1.0 - share))
            }
            Self::Normal { mean, deviation } => {
                let z = normal::two_sided_critical(2.0 * probability.min(1.0 - probability));
                mean + deviation * if probability < 0.5 { -z } else { z }
            }
            Self::Skewed { least, scale } => least - scale * (1.0 - probability).ln(),
            Self::Constant(value) => value,
        }
    }
}
