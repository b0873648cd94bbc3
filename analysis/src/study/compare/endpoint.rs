//! Endpoints: the verdicts that a plan declares beside the headlines, on quantiles of the wall times and on other metrics.
//!
//! They are by the headlines' methods, over what is independent by the plan's design: a metric by the ratio of its declared centres,
//! a quantile by the ratio of the quantiles of single runs. A run of a metric that the program writes counts by the mean of its
//! iterations.

use super::multiplicity::{FamilyMember, TestedVerdict, adjust_family};
use super::{own_metric::looked_sequentially, tail, tail::hundredths, tail::too_few_runs};
use crate::conclusion::{EndpointVerdict, Reason, Verdict, Word};
use crate::study::design::{Design, IndependentUnits, Run, class_weight};
use crate::study::two_sample::headline::{HeadlineSpec, OneSidedReport, RatioFound, Scale};
use crate::study::{
    RunUnit, Study, gather::cell::CellRecords, sampled::BenchmarkSamples,
    two_sample::interval::IntervalReport,
};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{
    Center, Endpoint, EndpointSubject, Family, Rule, metric::Better, metric::Metric, metric::Unit,
};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, PValue};
use speedup_statistics::{ratio::QuantileRatio, ratio::RatioError, sample::Sample, sample::SampleQuantile};

/// The verdicts on an endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointReport {
    /// The metric: `wall`, or another's name; absent where samples are compared of one metric alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// The quantile that is compared; absent where it is the declared centre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Where the declared centre is compared, which it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub center: Option<Center>,
    /// Which values are good.
    pub better: Better,
    /// Within what two versions count as the same, where the plan declares it.
    pub margin: Option<f64>,
    /// With which verdicts these share the risk: `common` with the headlines, or `own`.
    pub family: Family,
    /// One row per benchmark and candidate, in plan order.
    pub rows: Vec<EndpointRow>,
}

/// The verdict on an endpoint, of a candidate on a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointRow {
    /// The benchmark.
    pub benchmark: String,
    /// The candidate.
    pub candidate: String,
    /// What the interval says.
    pub verdict: EndpointVerdict,
    /// The ratio, above 1 when the candidate is the better; `None` where it cannot be formed, as of values that may be zero.
    pub ratio: Option<f64>,
    /// Its two-sided interval at the report's confidence level.
    pub interval: Option<IntervalReport>,
    /// In the place of the ratio: the candidate's centre less the baseline's, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<DifferenceReport>,
    /// The two-sided p-value of the ratio being 1, or of the difference being 0.
    pub p_value: Option<f64>,
    /// The p-value of the versions differing by the margin or more.
    pub p_same: Option<f64>,
    /// Both directions tested against the noise threshold of the report in place of 1, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_threshold: Option<OneSidedReport>,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
    /// The independent units.
    pub unit: Word<RunUnit>,
    /// What else must be known of it: how units count, that all values are equal, what the margin means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The verdict with its p-values adjusted in its family; empty where it is alone in it.
    #[serde(default)]
    pub adjusted: Vec<AdjustedEndpoint>,
}

/// A difference of centres, where values may be zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferenceReport {
    /// The candidate's centre less the baseline's.
    pub estimate: f64,
    /// Its two-sided interval at the report's confidence level.
    pub interval: IntervalReport,
}

/// The verdict on an endpoint after an adjustment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdjustedEndpoint {
    /// The adjustment: of a report `holm` or `benjamini_hochberg`.
    pub adjustment: Adjustment,
    /// The verdict by the adjusted p-values.
    pub verdict: EndpointVerdict,
    /// The adjusted p-value that it is by.
    pub p_value: f64,
}

impl AdjustedEndpoint {
    /// Whether it keeps the probability of any wrong verdict.
    pub(crate) fn is_familywise(&self) -> bool {
        self.adjustment == Adjustment::Holm
    }
}

impl EndpointReport {
    /// All endpoints of a plan, without adjustments.
    pub(crate) fn all(study: &Study, sampled: &[BenchmarkSamples<'_>], declared: &HeadlineSpec) -> Vec<Self> {
        let endpoints = study.plan.experiment.endpoints();
        endpoints.iter().map(|endpoint| Self::new(study, sampled, endpoint, declared)).collect()
    }

    fn new(
        study: &Study,
        sampled: &[BenchmarkSamples<'_>],
        endpoint: &Endpoint<'_>,
        declared: &HeadlineSpec,
    ) -> Self {
        let experiment = &study.plan.experiment;
        let Endpoint { subject, margin, family } = *endpoint;
        let (metric, quantile, better) = match subject {
            EndpointSubject::Quantile(probability) => (Metric::Wall.name(), Some(probability), Better::Lower),
            EndpointSubject::Metric(metric) => (metric.name(), None, Better::Lower),
            EndpointSubject::Own(_, own) => (own.name.as_str(), None, own.better),
        };
        let declared = HeadlineSpec { margin, ..*declared };
        let rows = sampled.iter().flat_map(|of| {
            let candidates = experiment.versions.iter().zip(of.records).skip(1);
            candidates.map(move |(version, cell)| {
                let found = compare(study, subject, better, [&of.records[0], cell], &declared);
                EndpointRow::new((of.name, &version.name), better, found)
            })
        });
        Self {
            metric: metric.to_owned(),
            quantile,
            center: quantile.is_none().then(|| experiment.center()),
            better,
            margin,
            family,
            rows: rows.collect(),
        }
    }

    /// What it is on, in words: `p99 of wall`, `max_rss`.
    pub fn name(&self) -> String {
        match self.quantile {
            Some(probability) if self.metric.is_empty() => format!("p{}", hundredths(probability)),
            Some(probability) => format!("p{} of {}", hundredths(probability), self.metric),
            None => self.metric.clone(),
        }
    }

    /// The rows of a candidate.
    pub fn of<'r>(&'r self, candidate: &'r str) -> impl Iterator<Item = &'r EndpointRow> {
        self.rows.iter().filter(move |row| row.candidate == candidate)
    }

    /// The rows of a candidate that share the risk of its headlines.
    pub(crate) fn common<'r>(
        endpoints: &'r mut [Self],
        candidate: &'r str,
    ) -> impl Iterator<Item = &'r mut EndpointRow> {
        let common = endpoints.iter_mut().filter(|endpoint| endpoint.family == Family::Common);
        common.flat_map(|endpoint| &mut endpoint.rows).filter(move |row| row.candidate == candidate)
    }

    /// Adjusts the verdicts on each candidate for their number, where they are a family of their own.
    pub(crate) fn adjust_own(&mut self, candidate: &str, level: ConfidenceLevel) {
        if self.family == Family::Own {
            let mut family: Vec<&mut dyn FamilyMember> = Vec::new();
            for row in self.rows.iter_mut().filter(|row| row.candidate == candidate) {
                family.push(row);
            }
            adjust_family(&mut family, level);
        }
    }
}

impl DifferenceReport {
    /// Of the worse values less the better ones: where lower is better, of the baseline's less the candidate's.
    fn new(better: Better, worse_less_better: f64, interval: IntervalReport) -> Self {
        let estimate = worse_less_better;
        match better {
            Better::Higher => Self { estimate, interval },
            // 0 less 0 has a sign of its own.
            Better::Lower => Self { estimate: 0.0 - estimate, interval: interval.mirrored() },
        }
    }
}

impl EndpointRow {
    pub(super) fn new(
        (benchmark, candidate): (&str, &str),
        better: Better,
        found: Result<(RatioFound, Word<RunUnit>), Reason>,
    ) -> Self {
        let row = Self {
            benchmark: benchmark.to_owned(),
            candidate: candidate.to_owned(),
            verdict: EndpointVerdict::NotEnoughData,
            ratio: None,
            interval: None,
            difference: None,
            p_value: None,
            p_same: None,
            at_threshold: None,
            reason: None,
            unit: RunUnit::Run.into(),
            note: None,
            adjusted: Vec::new(),
        };
        let (found, unit) = match found {
            Err(reason) => return Self { reason: Some(reason), ..row },
            Ok(found) => found,
        };
        let RatioFound { verdict, scale, ratio, interval, p_value, p_same, at_threshold, note, .. } = found;
        let (verdict, p_value) = (verdict.into(), Some(p_value));
        let row = Self { verdict, p_value, p_same, at_threshold, unit, note, ..row };
        match scale {
            Scale::Ratio => {
                Self { ratio: Some(ratio).filter(|ratio| ratio.is_finite()), interval: Some(interval), ..row }
            }
            Scale::Difference => {
                Self { difference: Some(DifferenceReport::new(better, ratio, interval)), ..row }
            }
        }
    }

    /// Takes back what only all runs of the plan allow: verdict and p-values.
    pub(crate) fn withhold(&mut self) {
        self.verdict = EndpointVerdict::NotEnoughData;
        self.reason = Some(Reason::runs_outstanding());
        self.p_value = None;
        self.p_same = None;
        self.at_threshold = None;
    }

    /// The verdict that keeps the risk of its family, which is the plain one where it is alone in it, and its p-value.
    pub fn familywise(&self) -> (EndpointVerdict, Option<f64>) {
        let p_value = Verdict::from(self.verdict).p_value(self.p_value, self.p_same);
        self.adjusted
            .iter()
            .find(|one| one.is_familywise())
            .map_or((self.verdict, p_value), |holm| (holm.verdict, Some(holm.p_value)))
    }
}

impl FamilyMember for EndpointRow {
    fn tested(&self) -> TestedVerdict {
        let differ = self.p_value.filter(|_| self.verdict != EndpointVerdict::NotEnoughData).unwrap_or(1.0);
        TestedVerdict {
            verdict: self.verdict.into(),
            differ: Some(PValue::from_told(differ)),
            same: self.p_same.map(PValue::from_told),
        }
    }

    fn store(&mut self, adjustment: Adjustment, verdict: Verdict, p_value: PValue) {
        self.adjusted.push(AdjustedEndpoint { adjustment, verdict: verdict.into(), p_value: p_value.told() });
    }
}

/// The ratio of a candidate's cell, and what is independent in it.
pub(crate) fn compare(
    study: &Study,
    subject: EndpointSubject<'_>,
    better: Better,
    cells: [&CellRecords; 2],
    declared: &HeadlineSpec,
) -> Result<(RatioFound, Word<RunUnit>), Reason> {
    if let Rule::Sequential { .. } = study.plan.experiment.rule {
        return Err(looked_sequentially());
    }
    let [baseline, candidate] = cells.map(|cell| runs(study, cell, subject));
    // The ratio is of the worse values over the better ones.
    let (over, under) = match better {
        Better::Lower => (baseline, candidate),
        Better::Higher => (candidate, baseline),
    };
    let samples = (sample(&over)?, sample(&under)?);
    let is_of_a_clock = match subject {
        EndpointSubject::Quantile(_) => true,
        EndpointSubject::Metric(metric) => metric.unit() == Unit::Nanoseconds,
        EndpointSubject::Own(..) => false,
    };
    let declared = &if is_of_a_clock { declared.by_clock_of(&samples.0, &samples.1) } else { *declared };
    if let EndpointSubject::Quantile(probability) = subject
        && let Some(found) = tail::of_units(study, probability, [&over, &under], declared)
    {
        return found;
    }
    let arranged = Design::of(&study.plan).arrange(&over, &under).transpose()?;
    let unit = arranged.as_ref().map_or(RunUnit::Run.into(), |arranged| arranged.design.unit.clone());
    let found = match (subject, &arranged) {
        // A control compares the wall times as the headlines do.
        (EndpointSubject::Metric(Metric::Wall), arranged) => {
            let (over, under) = units(&samples, arranged.as_ref());
            declared.bounded(declared.found(over, under, arranged.as_ref())?, arranged.as_ref())?
        }
        (EndpointSubject::Metric(_) | EndpointSubject::Own(..), arranged) => {
            let (over, under) = units(&samples, arranged.as_ref());
            declared.compared(over, under, arranged.as_ref())?
        }
        (EndpointSubject::Quantile(probability), Some(IndependentUnits { blocks, .. }))
            if !blocks.is_empty() =>
        {
            quantiles(probability, blocks, declared)?
        }
        (EndpointSubject::Quantile(probability), _) => quantiles(probability, &[samples], declared)?,
    };
    Ok((found, unit))
}

/// What is independent of both versions.
fn units<'s>(runs: &'s (Sample, Sample), arranged: Option<&'s IndependentUnits>) -> (&'s Sample, &'s Sample) {
    arranged.map_or((&runs.0, &runs.1), |arranged| (&arranged.baseline, &arranged.candidate))
}

fn sample(runs: &[Run]) -> Result<Sample, Reason> {
    let values = runs.iter().map(|run| run.value).collect();
    Sample::new(values).map_err(|_| Reason::no_values())
}

/// The ratio of the quantiles of runs, within strata.
pub(super) fn quantiles(
    probability: f64,
    strata: &[(Sample, Sample)],
    declared: &HeadlineSpec,
) -> Result<RatioFound, Reason> {
    let of = |sample| SampleQuantile::new(sample, probability);
    let quantiles =
        strata.iter().filter_map(|pair| Some((of(&pair.0)?, of(&pair.1)?, class_weight(&pair.0, &pair.1))));
    let ratio = QuantileRatio::within(quantiles).map_err(|error: RatioError| Reason::from(&error))?;
    let found = declared.judge(&ratio);
    match &found.interval {
        IntervalReport::Bounded { .. } => Ok(found),
        IntervalReport::Missing { .. } => {
            let needed = SampleQuantile::runs_needed(probability, declared.level);
            Err(too_few_runs(probability, needed, declared.level))
        }
    }
}

/// The values of a cell with where they are from, hosts by the order of their names.
fn runs(study: &Study, cell: &CellRecords, subject: EndpointSubject<'_>) -> Vec<Run> {
    let metric = match subject {
        EndpointSubject::Own(place, _) => return super::own_metric::runs(study, cell, place),
        EndpointSubject::Quantile(_) => Metric::Wall,
        EndpointSubject::Metric(metric) => metric,
    };
    let by_name = study.evidence.by_name();
    let values = cell.locations(metric).into_owned().into_iter().zip(cell.values_by_run(metric));
    values.map(|(location, (_, value))| Run::new(&study.plan, by_name.location(location), value)).collect()
}
