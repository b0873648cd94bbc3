//! The proportion of accelerated benchmarks, of slowed-down ones, and how many benchmarks it takes to know it
//! (Touati 2010 §5); and the share that is truly accelerated, by at least x, for every x.
//!
//! These are two questions. The first is of the benchmarks that these tests with these runs call faster; the second is of the
//! benchmarks, whatever the tests can see ([`TrueShare`](speedup_statistics::test::TrueShare)).
//!
//! b counts every benchmark that takes part. One without enough data counts as not accelerated and as not
//! slowed down, as in the original program; to leave it out would choose the benchmarks by their results.

use super::comparison::ComparisonReport;
use crate::conclusion::{Protocol, Reason, ReasonCode, Verdict};
use crate::count;
use crate::study::two_sample::interval::IntervalReport;
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{ConfidenceLevel, Risk};
use speedup_statistics::test::{
    Proportion, ProportionMethod, Selection, ShareCurve, SpeedupLimits, TrueShare, benchmarks_by_wald,
    benchmarks_by_wilson,
};

/// A proportion of the benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProportionReport {
    /// Of benchmarks with which verdict: faster or slower.
    pub of: Verdict,
    /// By which protocol; `None` by the headline.
    pub by: Option<Protocol>,
    /// a: the benchmarks with that verdict.
    pub count: u64,
    /// b: all that take part.
    pub benchmarks: u64,
    /// Those without enough data, which count as not so.
    #[serde(alias = "undecided")]
    pub not_enough_data: u64,
    /// a/b.
    pub estimate: f64,
    /// The published interval: Wilson's with continuity correction; of a finite population the exact hypergeometric one.
    pub interval: IntervalReport,
    /// The interval that Brown, Cai and DasGupta (2001) recommend for so many benchmarks; of a finite population the same as
    /// `interval`.
    pub recommended: IntervalReport,
    /// Whether a(1 − a/b) > 5.
    pub condition_holds: bool,
    /// Whether the benchmarks were drawn at random, without which no interval is valid.
    pub valid: bool,
    /// How the benchmarks were selected, in a sentence.
    pub selection: String,
}

/// Which share of the benchmarks is truly faster, by at least x, for every x: valid at any power of the tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrueShareReport {
    /// All benchmarks that take part; one without an interval is shown to be neither.
    pub benchmarks: u64,
    /// The risk of each one-sided limit of a benchmark's speedup.
    pub risk_of_each: f64,
    /// Whether the benchmarks were drawn at random, without which no interval is valid.
    pub valid: bool,
    /// The share that is faster at all.
    pub faster: SharePoint,
    /// How many benchmarks it takes to know that; absent where the plan asks for no precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<RequiredShareReport>,
    /// The curve, at the speedups at which it changes, ascending; at most [`MOST_SHARE_POINTS`] of them.
    pub curve: Vec<SharePoint>,
}

/// The share of benchmarks that are truly faster by more than a factor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharePoint {
    /// The factor.
    pub speedup: f64,
    /// How many are shown to be faster by more.
    pub above: u64,
    /// How many are shown to be faster by less, or slower.
    pub below: u64,
    /// The interval's lower end at this factor alone.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
    /// The lower end of the band that holds at all factors at once.
    pub band_lower: f64,
    /// Its upper end.
    pub band_upper: f64,
}

/// How many benchmarks it takes to know the share of truly faster ones, if as large shares are shown above and below.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequiredShareReport {
    /// The half-width that the plan asks for.
    pub precision: f64,
    /// The benchmarks; `None` where no number suffices.
    pub benchmarks: Option<u64>,
    /// The half-width with ever more benchmarks: what the runs of each leave open.
    pub least_half_width: f64,
}

/// Points of a curve of shares: as many as a plot shows.
pub const MOST_SHARE_POINTS: usize = 200;

/// How many benchmarks it takes to know the proportion of accelerated ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequiredReport {
    /// The half-width that the plan asks for.
    pub precision: f64,
    /// The proportion taken as a guess: the observed one.
    pub proportion: f64,
    /// By the formula of Touati 2010 §5; 0 at a proportion of 0 or 1, where it knows nothing.
    pub wald: u64,
    /// By the half-width of Wilson's interval.
    pub wilson: u64,
    /// How many there are now.
    pub benchmarks: u64,
}

impl ProportionReport {
    /// Whether its interval is exact, so that no condition on the counts matters.
    pub fn is_exact(&self) -> bool {
        self.interval.method() == Some(Proportion::NAME_OF_POPULATION)
    }

    /// Whether no benchmark has enough data, so that the count of 0 is none.
    pub fn nothing_known(&self) -> bool {
        self.not_enough_data == self.benchmarks
    }
}

impl TrueShareReport {
    /// From the intervals of the headlines, each end of which has half of the risk; `None` of one benchmark, or where no
    /// benchmark has an interval.
    pub(crate) fn new(
        comparisons: &[&ComparisonReport],
        selection: Selection,
        level: ConfidenceLevel,
    ) -> Option<Self> {
        let limits = |comparison: &&ComparisonReport| {
            let ends = comparison.headline().and_then(|headline| headline.interval.ends());
            let (lower, upper) = ends.unwrap_or((0.0, f64::INFINITY));
            SpeedupLimits { lower, upper }
        };
        let limits: Vec<SpeedupLimits> = comparisons.iter().map(limits).collect();
        if limits.len() < 2 || limits.iter().all(|one| one.upper == f64::INFINITY) {
            return None;
        }
        let curve = ShareCurve::new(&limits, Risk::new(level.risk().get() / 2.0).ok()?).ok()?;
        let point = |speedup: f64| {
            let (at, band) = (curve.pointwise(speedup, level), curve.simultaneous(speedup, level));
            SharePoint {
                speedup,
                above: curve.shown_above(speedup),
                below: curve.shown_below(speedup),
                lower: at.lower,
                upper: at.upper,
                band_lower: band.lower,
                band_upper: band.upper,
            }
        };
        let steps = curve.steps();
        let every = steps.len().div_ceil(MOST_SHARE_POINTS).max(1);
        Some(Self {
            benchmarks: curve.benchmarks(),
            risk_of_each: curve.risk_of_each().get(),
            valid: selection != Selection::Chosen,
            faster: point(1.0),
            required: None,
            curve: steps.into_iter().step_by(every).map(point).collect(),
        })
    }
}

impl TrueShareReport {
    /// The same with how many benchmarks it takes for `precision`.
    pub(crate) fn requiring(self, precision: f64, level: ConfidenceLevel) -> Self {
        let SharePoint { above, below, .. } = self.faster;
        let risk = Risk::new(self.risk_of_each).ok();
        let share = risk.and_then(|risk| TrueShare::new(self.benchmarks, above, below, risk).ok());
        let required = share.map(|share| RequiredShareReport {
            precision,
            benchmarks: share.benchmarks_needed(precision, level),
            least_half_width: share.least_half_width(),
        });
        Self { required, ..self }
    }
}

/// The accelerated and the slowed-down benchmarks, by the headline and by each protocol with verdicts.
pub(crate) fn all(
    comparisons: &[&ComparisonReport],
    selection: Selection,
    level: ConfidenceLevel,
) -> Vec<ProportionReport> {
    // Under looks the protocols have no verdicts of their own.
    let is_by_looks = comparisons.iter().any(|comparison| comparison.look.is_some());
    let protocols = [None, Some(Protocol::Mean), Some(Protocol::Median)];
    let protocols = protocols.into_iter().take(if is_by_looks { 1 } else { 3 });
    let asked = protocols.flat_map(|by| [(by, Verdict::Faster), (by, Verdict::Slower)]);
    asked.filter_map(|(by, of)| proportion(comparisons, by, of, selection, level)).collect()
}

fn proportion(
    comparisons: &[&ComparisonReport],
    by: Option<Protocol>,
    of: Verdict,
    selection: Selection,
    level: ConfidenceLevel,
) -> Option<ProportionReport> {
    let verdict = |comparison: &ComparisonReport| match by {
        None => comparison.verdict,
        Some(protocol) => comparison.of(protocol).map_or(Verdict::NotEnoughData, |report| report.verdict),
    };
    let with = |wanted: Verdict| {
        comparisons.iter().filter(|comparison| verdict(comparison) == wanted).count() as u64
    };
    let (count, benchmarks) = (with(of), comparisons.len() as u64);
    let proportion = Proportion::new(count, benchmarks, selection).ok()?;
    let not_enough_data = with(Verdict::NotEnoughData);
    let interval = |method| match not_enough_data == benchmarks {
        // Nobody counted: 0 of b would look like a finding.
        true => IntervalReport::Missing {
            reason: Reason::new(ReasonCode::NotEnoughData, "No benchmark has enough data"),
        },
        false => IntervalReport::from(&proportion.interval(method, level)),
    };
    Some(ProportionReport {
        of,
        by,
        count,
        benchmarks,
        not_enough_data,
        estimate: proportion.estimate(),
        interval: interval(ProportionMethod::WilsonCorrected),
        recommended: interval(ProportionMethod::recommended(benchmarks)),
        condition_holds: proportion.satisfies_condition(),
        valid: selection != Selection::Chosen,
        selection: sentence(selection, benchmarks),
    })
}

fn sentence(selection: Selection, benchmarks: u64) -> String {
    match selection {
        Selection::DrawnFromFinite { size } => format!(
            "The {} were drawn at random from a population of {}, so the interval is valid for that \
             population, and exact: its ends are shares that the population can have.",
            count::counted(benchmarks, "benchmark"),
            count::grouped(size)
        ),
        Selection::Drawn => "The benchmarks were drawn at random, so the interval is valid.".to_owned(),
        Selection::Chosen => {
            "The benchmarks were chosen, not drawn at random: the interval is not valid for \
            other programs."
                .to_owned()
        }
    }
}

/// How many benchmarks it takes for `precision`, guessing the observed `proportion`.
pub(crate) fn required(
    proportion: &ProportionReport,
    precision: f64,
    selection: Selection,
    level: ConfidenceLevel,
) -> Option<RequiredReport> {
    if proportion.nothing_known() {
        return None;
    }
    let guess = proportion.estimate;
    Some(RequiredReport {
        precision,
        proportion: guess,
        wald: benchmarks_by_wald(guess, precision, level, selection).ok()?,
        wilson: benchmarks_by_wilson(guess, precision, level, selection).ok()?,
        benchmarks: proportion.benchmarks,
    })
}
