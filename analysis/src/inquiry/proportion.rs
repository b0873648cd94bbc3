//! The proportion of accelerated benchmarks (Touati 2010 §5), as every answer of the Speedup-Test has it.

use crate::conclusion::Protocol;
use serde::Serialize;
use speedup_statistics::{
    inference::ConfidenceLevel, inference::Interval, ratio::BenchmarkWeights, ratio::Overall,
    ratio::SuiteError, ratio::SuiteMember, test::PrecisionError, test::Proportion, test::ProportionError,
    test::ProportionMethod, test::Selection, test::benchmarks_by_wald, test::benchmarks_by_wilson,
};

/// The proportion of accelerated benchmarks: intervals as `I`, overall gain and speedup as `O`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AcceleratedShare<I, O> {
    pub by: Protocol,
    /// The accelerated benchmarks.
    pub accelerated: u64,
    pub benchmarks: u64,
    pub estimate: f64,
    /// The published interval.
    pub interval: I,
    /// The interval recommended for so many benchmarks (Brown, Cai, DasGupta 2001).
    pub recommended: I,
    /// The interval that was asked for beside them.
    pub asked: Option<I>,
    /// Whether a(1 − a/b) > 5.
    pub condition_holds: bool,
    /// The half-width to which the proportion is to be known.
    pub precision: f64,
    /// Benchmarks to draw for it by the published formula; absent at proportions 0 and 1, of which it knows nothing.
    pub benchmarks_needed: Option<u64>,
    /// The same by Wilson's interval.
    pub benchmarks_needed_by_wilson: u64,
    /// Overall gain and speedup of the accelerated benchmarks alone (Touati 2010 §3.2); absent where there is none.
    pub overall_of_accelerated: Option<O>,
}

/// The benchmarks whose proportion is sought, and how.
pub(super) struct ShareQuestion<'a> {
    pub(super) by: Protocol,
    /// The benchmarks, and what each counts.
    pub(super) members: &'a [SuiteMember<'a>],
    pub(super) weights: &'a BenchmarkWeights,
    pub(super) level: ConfidenceLevel,
    /// The half-width to which it is to be known.
    pub(super) precision: f64,
    /// An interval beside the published and the recommended one.
    pub(super) interval: Option<ProportionMethod>,
    /// How the benchmarks were selected.
    pub(super) selection: Selection,
}

impl<I, O: From<Overall>> AcceleratedShare<I, O> {
    /// The share of the benchmarks that `accelerated` marks; `written` turns an interval into the form that the answer has.
    pub(super) fn new<E>(
        accelerated: &[bool],
        question: &ShareQuestion<'_>,
        written: impl Fn(Interval) -> I,
    ) -> Result<Self, E>
    where
        E: From<ProportionError> + From<PrecisionError> + From<SuiteError>,
    {
        let &ShareQuestion { by, members, weights, level, precision, selection, .. } = question;
        let alone = Overall::from_accelerated(members, accelerated, by.into(), weights)?;
        let faster = accelerated.iter().filter(|one| **one).count() as u64;
        let all = accelerated.len() as u64;
        let proportion = Proportion::new(faster, all, selection)?;
        let estimate = proportion.estimate();
        // Benchmarks that were chosen say nothing of others; how many to draw is a question for drawn ones.
        let drawn = match selection {
            Selection::Chosen => Selection::Drawn,
            drawn @ (Selection::Drawn | Selection::DrawnFromFinite { .. }) => drawn,
        };
        let needed = benchmarks_by_wald(estimate, precision, level, drawn)?;
        Ok(Self {
            by,
            accelerated: faster,
            benchmarks: all,
            estimate,
            interval: written(proportion.interval(ProportionMethod::WilsonCorrected, level)),
            recommended: written(proportion.interval(ProportionMethod::recommended(all), level)),
            asked: question.interval.map(|method| written(proportion.interval(method, level))),
            condition_holds: proportion.satisfies_condition(),
            precision,
            benchmarks_needed: (needed > 0).then_some(needed),
            benchmarks_needed_by_wilson: benchmarks_by_wilson(estimate, precision, level, drawn)?,
            overall_of_accelerated: alone.map(O::from),
        })
    }
}
