//! p-values adjusted for their number.

use crate::case::{Case, Ledger, number, relative};
use speedup_statistics::inference::{Adjustment, PValue};

pub(crate) fn adjustments(case: &mut Case<'_>, ledger: &mut Ledger) {
    let given = case.value("/p").and_then(|p| p.as_array()).cloned().unwrap_or_default();
    let p_values: Vec<Option<PValue>> = given
        .iter()
        .map(|p| (!number(p).is_nan()).then(|| PValue::new(number(p)).expect("a probability")))
        .collect();
    for adjustment in Adjustment::ALL {
        let name = match adjustment {
            Adjustment::Bonferroni => "bonferroni",
            Adjustment::Holm => "holm",
            Adjustment::Hochberg => "hochberg",
            Adjustment::Hommel => "hommel",
            Adjustment::BenjaminiHochberg => "BH",
            Adjustment::BenjaminiYekutieli => "BY",
        };
        let adjusted = adjustment.adjust(&p_values);
        let adjusted: Vec<f64> = adjusted.into_iter().map(|p| p.map_or(f64::NAN, PValue::get)).collect();
        ledger.numbers(case, &format!("/expected/{name}"), &adjusted, relative(1e-12));
    }
}
