//! The conclusions of an answer on plain samples.

use super::{Conclusion, GateError};
use crate::conclusion::Verdict;
use crate::inquiry::Answer;
use crate::study::adjusted_by;
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, PValue, Threshold};

/// A conclusion before it is adjusted, with the p-values of faster and of slower.
type Unadjusted = (Conclusion, [Option<PValue>; 2]);

impl Conclusion {
    /// Those of an answer: each candidate over all benchmarks, where the method has such a verdict, then on each. Verdicts
    /// that the inquiry had adjusted are taken so, others are adjusted by Holm. Decisions by intervals, of the method
    /// effect, have no p-value to adjust.
    ///
    /// # Errors
    /// [`GateError`] for methods that have no verdict, know no slowdown, or have no interval where `noise` needs one.
    pub fn of_answer(answer: &Answer, noise: Threshold) -> Result<Vec<Self>, GateError> {
        answer.method.options.check_gate(noise)?;
        Ok(answer.findings.conclusions(answer.confidence))
    }

    /// With verdicts after Holm's adjustment: each candidate's benchmarks are a family.
    pub(crate) fn adjusted(of: &[Unadjusted], level: ConfidenceLevel) -> Vec<Self> {
        let families = of.chunk_by(|one, next| one.0.candidate == next.0.candidate);
        let of_family = |family: &[Unadjusted]| -> Vec<Self> {
            let verdicts = holm(family, level);
            family.iter().zip(verdicts).map(|((one, _), verdict)| Self { verdict, ..one.clone() }).collect()
        };
        families.flat_map(of_family).collect()
    }
}

/// Faster and slower are families of their own, as in reports; what cannot conclude counts with a p-value of 1.
fn holm(asked: &[Unadjusted], level: ConfidenceLevel) -> Vec<Verdict> {
    let family = |at: usize| {
        let p_value = |(one, p_values): &Unadjusted| {
            let concluded = p_values[at].filter(|_| one.verdict != Verdict::NotEnoughData);
            Some(concluded.unwrap_or_else(|| PValue::clamped(1.0)))
        };
        Adjustment::Holm.adjust(&asked.iter().map(p_value).collect::<Vec<_>>())
    };
    let families = family(0).into_iter().zip(family(1));
    let verdict = |((plain, _), adjusted): (&Unadjusted, _)| match adjusted {
        (Some(faster), Some(slower)) => adjusted_by(plain.verdict, faster, slower, level),
        _ => plain.verdict,
    };
    asked.iter().zip(families).map(verdict).collect()
}
