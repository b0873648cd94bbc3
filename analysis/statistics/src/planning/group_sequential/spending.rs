//! How much of the risk may be spent when a share of the information is there.

use crate::distribution::{Tails, normal};
use serde::Serialize;

/// A spending function of Lan & DeMets (Biometrika 70, 1983): zero at 0, the whole risk at 1, increasing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpendingFunction {
    /// 2(1 − Φ(z_{α/2}/√t)): little at first, as O'Brien and Fleming's boundaries do.
    OBrienFlemingLike,
    /// α ln(1 + (e − 1)t): much at first, as Pocock's boundaries do.
    PocockLike,
    /// αt.
    Linear,
}

impl SpendingFunction {
    /// The risk that may be spent up to the fraction `t` of the information, of `risk` on one side.
    pub fn spent(self, t: f64, risk: f64) -> f64 {
        let t = t.clamp(0.0, 1.0);
        match self {
            Self::OBrienFlemingLike => {
                let z = normal::quantile(Tails::from_upper(risk / 2.0));
                2.0 * normal::tails(z / t.sqrt()).upper
            }
            Self::PocockLike => risk * (t * (std::f64::consts::E - 1.0)).ln_1p(),
            Self::Linear => risk * t,
        }
    }
}
