//! The proportion of accelerated benchmarks (Touati 2010 §5), of all that were tested.

use serde::Serialize;
use speedup_analysis::conclusion::Protocol;
use speedup_statistics::inference::{ConfidenceLevel, Interval};
use speedup_statistics::ratio::{BenchmarkWeights, Overall, SuiteMember, Summary};
use speedup_statistics::test::{
    Proportion, ProportionMethod, Selection, benchmarks_by_wald, benchmarks_by_wilson,
};

use super::{AnswerError, Benchmark, Options, OverallAnswer};

/// The confidence level of the proportions where the command line gives none (Touati 2010 §6.2.4).
const USUAL: ConfidenceLevel = ConfidenceLevel::USUAL;

/// The proportion of accelerated benchmarks by one protocol.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProportionAnswer {
    pub(crate) by: Protocol,
    pub(crate) accelerated: u64,
    pub(crate) benchmarks: u64,
    pub(crate) estimate: f64,
    /// The published interval.
    pub(crate) interval: Interval,
    /// The interval that is recommended for so many benchmarks (Brown, Cai, DasGupta 2001).
    pub(crate) recommended: Interval,
    /// The interval that was asked for beside them.
    pub(crate) asked: Option<Interval>,
    /// a(1 − a/b) > 5.
    pub(crate) condition_holds: bool,
    pub(crate) precision: f64,
    /// Benchmarks to draw for that precision by the published formula, which knows nothing of proportions 0 and 1.
    pub(crate) benchmarks_needed: Option<u64>,
    /// The same by Wilson's interval.
    pub(crate) benchmarks_needed_by_wilson: u64,
    /// Overall gain and speedup of the accelerated benchmarks alone (Touati 2010 §3.2); absent where there is none.
    pub(crate) overall_of_accelerated: Option<OverallAnswer>,
}

/// What `benchmarks` say by one protocol.
pub(super) fn proportion(
    by: Protocol,
    benchmarks: &[Benchmark],
    (members, weights): (&[SuiteMember<'_>], &BenchmarkWeights),
    options: &Options,
) -> Result<ProportionAnswer, AnswerError> {
    let tested = || benchmarks.iter().filter_map(Benchmark::tested);
    let are_accelerated: Vec<bool> = tested().map(|one| one.verdict(by).significant == Some(true)).collect();
    let accelerated = are_accelerated.iter().filter(|one| **one).count() as u64;
    let summary = match by {
        Protocol::Mean => Summary::Mean,
        Protocol::Median => Summary::Median,
    };
    let alone = Overall::of_accelerated(members, &are_accelerated, summary, weights)?;
    let all = tested().count() as u64;
    let level = options.level.unwrap_or(USUAL);
    let proportion = Proportion::new(accelerated, all, Selection::Drawn)?;
    let (estimate, precision) = (proportion.estimate(), options.precision);
    let needed = benchmarks_by_wald(estimate, precision, level, Selection::Drawn)?;
    Ok(ProportionAnswer {
        by,
        accelerated,
        benchmarks: all,
        estimate,
        interval: proportion.interval(ProportionMethod::WilsonCorrected, level),
        recommended: proportion.interval(ProportionMethod::recommended(all), level),
        asked: options.proportion_interval.map(|method| proportion.interval(method, level)),
        condition_holds: proportion.satisfies_condition(),
        precision,
        benchmarks_needed: (needed > 0).then_some(needed),
        benchmarks_needed_by_wilson: benchmarks_by_wilson(estimate, precision, level, Selection::Drawn)?,
        overall_of_accelerated: alone.map(|Overall { summary, gain, speedup, .. }| OverallAnswer {
            by: summary,
            gain,
            speedup,
        }),
    })
}
