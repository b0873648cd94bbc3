//! Example 1 of Worms 2016, appendix A.

use super::{Finding, Recomputed};
use crate::ammp::ammp;
use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::goodness_of_fit::{GoodnessOfFit, GoodnessOfFitOptions};
use speedup_statistics::mixture::{Component, FitMethod, MixtureFit};

/// The resamples of the printed p-value.
const PRINTED_RESAMPLES: f64 = 200.0;
/// The resamples of the reference's p-value.
const REFERENCE_RESAMPLES: f64 = 1500.0;

pub(super) fn recompute(section: &str, quantity: &str) -> Recomputed {
    const UNKNOWN: &str = "this program does not know the number";
    if section != "A ex.1" {
        return Err(UNKNOWN);
    }
    if quantity == "KSfit p (N=200)" {
        return Ok(goodness_of_fit());
    }
    let fit = MixtureFit::with_method(&ammp(), FitMethod::Mclust).expect("a mixture");
    let components = fit.mixture.components();
    Ok(Finding::Number(match quantity {
        "number of components" => components.len() as f64,
        "modes (I4)" => fit.mixture.modes().len() as f64,
        _ => {
            let (name, position) = quantity.split_once(' ').ok_or(UNKNOWN)?;
            let position: usize = position.parse().map_err(|_| UNKNOWN)?;
            let of = parameter(name).ok_or(UNKNOWN)?;
            of(components.get(position.wrapping_sub(1)).ok_or(UNKNOWN)?)
        }
    }))
}

fn parameter(name: &str) -> Option<fn(&Component) -> f64> {
    match name {
        "weight" => Some(|component| component.weight),
        "mean" => Some(|component| component.mean),
        "sd" => Some(|component| component.sd),
        _ => None,
    }
}

/// A p-value by draws agrees with another to what the draws of both can tell.
fn goodness_of_fit() -> Finding {
    let options = GoodnessOfFitOptions::usual(Seed(1));
    let own = f64::from(options.resamples);
    let got = GoodnessOfFit::new(&ammp(), options).expect("a test").p_value().get();
    let error = |resamples: f64| (got * (1.0 - got) * (1.0 / own + 1.0 / resamples)).sqrt();
    Finding::Drawn {
        got,
        printed_error: error(PRINTED_RESAMPLES),
        computed_error: error(REFERENCE_RESAMPLES),
    }
}
