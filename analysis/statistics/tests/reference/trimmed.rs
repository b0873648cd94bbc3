//! Ratios of trimmed means of log times, of independent samples and of pairs.

use crate::case::{Case, Ledger, relative};
use speedup_statistics::inference::Alternative;
use speedup_statistics::ratio::{TrimShare, TrimmedRatio};

/// The ratios that are tested in each case.
const HYPOTHESES: [f64; 5] = [0.8, 0.95, 1.0, 1.02, 1.3];
/// Sums in another order lose some digits.
const TOLERANCE: f64 = 1e-9;

pub(crate) fn ratio(case: &mut Case<'_>, ledger: &mut Ledger) {
    case.value("/law");
    let share = case.number("/share").expect("a share");
    let share = TrimShare::new(share).expect("a share that is known");
    let (baseline, candidate) = (case.sample("/baseline"), case.sample("/candidate"));
    let ratio = if case.gives("/pairs") {
        case.value("/pairs");
        TrimmedRatio::paired(&baseline, &candidate, share)
    } else {
        TrimmedRatio::new(&baseline, &candidate, share)
    };
    let ratio = ratio.expect("times that vary");
    ledger.number(case, "/ratio", ratio.estimate(), relative(TOLERANCE));
    for (place, hypothesis) in HYPOTHESES.into_iter().enumerate() {
        let alternatives = [Alternative::Less, Alternative::Greater, Alternative::TwoSided];
        let found = alternatives.map(|alternative| ratio.p_value(hypothesis, alternative).get());
        ledger.numbers(case, &format!("/p_values/{place}"), &found, relative(TOLERANCE));
    }
}
