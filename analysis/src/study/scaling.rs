//! Scaling: one program on several numbers of hosts, each a benchmark of the plan.

mod words;

use super::{sampled::BenchmarkSamples, two_sample::interval::IntervalReport};
use crate::conclusion::{EndpointVerdict, Reason, ReasonCode, WarningCode, Warnings};
use crate::study::Study;
use serde::{Deserialize, Serialize};
use speedup_core::{experiment::Benchmark, experiment::gang::ScalingLaw, experiment::gang::ScalingSeries};
use speedup_statistics::{
    inference::ConfidenceLevel, inference::PValue, inference::RatioInterval, ratio::RatioError,
    sample::Sample, scaling::EfficiencyRatio, scaling::ScalingCurve, scaling::ScalingEffect,
    scaling::ScalingPoint, scaling::SerialShare, scaling::SerialShareError,
};

/// One program on several numbers of hosts. All of it is of mean times, the runs of a cell being independent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingReport {
    /// What the plan calls the program.
    pub series: String,
    /// What stays the same: the work, or the work of each host.
    pub law: ScalingLaw,
    /// Each version, the baseline first.
    pub versions: Vec<VersionScaling>,
    /// Each candidate against the baseline.
    pub comparisons: Vec<ScalingComparison>,
}

/// What more hosts bring to one version. The intervals of its rows hold together at the report's confidence level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionScaling {
    /// The version.
    pub version: String,
    /// One row per number of hosts with measured runs, the fewest first: all others are relative to it.
    pub rows: Vec<ScalingRow>,
    /// The share of the work that hosts do not divide, from all rows; absent where there is none.
    pub serial_share: Option<SerialShareReport>,
    /// Why there is none.
    pub reason: Option<Reason>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// One number of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingRow {
    /// The number of hosts.
    pub hosts: u32,
    /// The benchmark of the plan.
    pub benchmark: String,
    /// The measured runs.
    pub n: u64,
    /// Their mean time; in nanoseconds in the report of an experiment.
    pub mean: f64,
    /// How many times as much work is done in a time as on the fewest hosts; absent there.
    pub speedup: Option<ScalingValue>,
    /// The speedup over the ideal one, which is the number of hosts over the fewest.
    pub efficiency: Option<ScalingValue>,
    /// The experimentally determined serial fraction (Karp, Flatt 1990).
    pub serial_fraction: Option<ScalingValue>,
    /// Why there is no speedup.
    pub reason: Option<Reason>,
}

/// An estimate with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingValue {
    /// The estimate.
    pub estimate: f64,
    /// Its two-sided interval, simultaneous for all numbers of hosts.
    pub interval: IntervalReport,
}

/// The serial share of the work, and whether it is the same on all numbers of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SerialShareReport {
    /// The share.
    pub estimate: f64,
    /// Its two-sided interval at the report's confidence level.
    pub interval: IntervalReport,
    /// The mean time on the fewest hosts by the fit, in the unit of the means.
    pub time_on_fewest: f64,
    /// The p-value of one share on all numbers of hosts; absent where there are two of them.
    pub fit_p_value: Option<f64>,
    /// Whether that is rejected at the report's confidence level: then the share is none of the program.
    pub is_rejected: bool,
}

/// A candidate's efficiencies against the baseline's. The intervals of the rows hold together at the report's confidence level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingComparison {
    /// The candidate.
    pub candidate: String,
    /// One row per number of hosts on which both were measured, but the fewest.
    pub rows: Vec<EfficiencyRatioRow>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// A candidate's efficiency against the baseline's on one number of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EfficiencyRatioRow {
    /// The number of hosts.
    pub hosts: u32,
    /// What the interval says: better where the candidate scales better, which does not say that it is faster.
    pub verdict: EndpointVerdict,
    /// The candidate's efficiency over the baseline's, with its interval.
    pub ratio: Option<ScalingValue>,
    /// Why there is no ratio.
    pub reason: Option<Reason>,
}

/// The measured runs of one version on a number of hosts.
#[derive(Clone, Copy, Debug)]
pub struct ScalingSample<'a> {
    /// The number of hosts.
    pub hosts: u32,
    /// What they are called together.
    pub benchmark: &'a str,
    pub times: &'a Sample,
}

/// A suite takes each of its benchmarks for a program of its own.
pub(crate) fn warn(study: &Study, warnings: &mut Warnings) {
    let experiment = &study.plan.experiment;
    let taking_part = study.plan.benchmarks.iter().filter_map(|index| experiment.benchmark(*index));
    let series = |benchmark: &Benchmark| Some(benchmark.gang.as_ref()?.series.as_ref()?.name.clone());
    let of_series: Vec<(&Benchmark, String)> =
        taking_part.filter_map(|benchmark| Some((benchmark, series(benchmark)?))).collect();
    for (benchmark, name) in &of_series {
        if of_series.iter().filter(|(_, other)| other == name).count() > 1 {
            warnings.concern(WarningCode::SeriesInSuite, &benchmark.name, || {
                "The suite counts one program on several numbers of hosts as several benchmarks, so its total and its \
                 proportion are of these numbers, and not of programs that are independent: go by the benchmarks and by the \
                 section on scaling."
                    .to_owned()
            });
        }
    }
}

impl ScalingReport {
    /// Of each series of the plan of which some version was measured on two numbers of hosts.
    pub(crate) fn all(study: &Study, sampled: &[BenchmarkSamples<'_>], level: ConfidenceLevel) -> Vec<Self> {
        let experiment = &study.plan.experiment;
        let taking_part = study.plan.benchmarks.iter().filter_map(|index| experiment.benchmark(*index));
        let mut all: Vec<(&ScalingSeries, Vec<(u32, &BenchmarkSamples<'_>)>)> = Vec::new();
        for (benchmark, sampled) in taking_part.zip(sampled) {
            let Some(gang) = &benchmark.gang else { continue };
            let Some(series) = &gang.series else { continue };
            match all.iter_mut().find(|(other, _)| *other == series) {
                Some((_, members)) => members.push((gang.hosts, sampled)),
                None => all.push((series, vec![(gang.hosts, sampled)])),
            }
        }
        let of = |(series, mut members): (&ScalingSeries, Vec<(u32, &BenchmarkSamples<'_>)>)| {
            members.sort_by_key(|(hosts, _)| *hosts);
            let versions = experiment.compared().iter().enumerate();
            let versions: Vec<_> =
                versions.map(|(at, version)| (version.name.as_str(), samples(&members, at))).collect();
            Self::of(&series.name, series.law, &versions, level)
        };
        all.into_iter().filter_map(of).collect()
    }

    /// Of the samples of each version, the baseline first, numbers of hosts ascending; none where no version has two of them.
    pub fn of(
        series: &str,
        law: ScalingLaw,
        versions: &[(&str, Vec<ScalingSample<'_>>)],
        level: ConfidenceLevel,
    ) -> Option<Self> {
        let effects: Vec<Vec<ScalingEffect>> = versions
            .iter()
            .map(|(_, samples)| curve(law, samples).map_or_else(Vec::new, |curve| curve.effects().collect()))
            .collect();
        if effects.iter().all(Vec::is_empty) {
            return None;
        }
        let of_version =
            |((name, samples), effects): (&(&str, Vec<ScalingSample<'_>>), &Vec<ScalingEffect>)| {
                let share = curve(law, samples).map(|curve| SerialShare::new(&curve));
                VersionScaling::new(name, law, samples, effects, share, level)
            };
        let candidates = versions.iter().zip(&effects).skip(1);
        let compared = |((name, _), candidate): (&(&str, Vec<ScalingSample<'_>>), &Vec<ScalingEffect>)| {
            ScalingComparison::new(versions[0].0, name, &effects[0], candidate, level)
        };
        Some(Self {
            series: series.to_owned(),
            law,
            comparisons: candidates.filter_map(compared).collect(),
            versions: versions.iter().zip(&effects).map(of_version).collect(),
        })
    }
}

/// What was measured of a version, by numbers of hosts.
fn samples<'s>(members: &[(u32, &'s BenchmarkSamples<'_>)], version: usize) -> Vec<ScalingSample<'s>> {
    let of = |(hosts, sampled): &(u32, &'s BenchmarkSamples<'_>)| {
        let times = sampled.samples[version].as_ref()?;
        Some(ScalingSample { hosts: *hosts, benchmark: sampled.name, times })
    };
    members.iter().filter_map(of).collect()
}

fn curve<'s>(law: ScalingLaw, samples: &[ScalingSample<'s>]) -> Option<ScalingCurve<'s>> {
    let points = samples.iter().map(|one| ScalingPoint { hosts: one.hosts, times: one.times });
    ScalingCurve::new(law, &points.collect::<Vec<_>>()).ok()
}

impl VersionScaling {
    fn new(
        version: &str,
        law: ScalingLaw,
        samples: &[ScalingSample<'_>],
        effects: &[ScalingEffect],
        share: Option<Result<SerialShare, SerialShareError>>,
        level: ConfidenceLevel,
    ) -> Self {
        let effect = |hosts| effects.iter().find(|effect| effect.hosts() == hosts);
        let (serial_share, reason) = match share {
            None => (None, None),
            Some(Ok(share)) => (Some(SerialShareReport::new(&share, level)), None),
            Some(Err(error)) => (None, Some(Reason::from(&error))),
        };
        let rows = samples.iter().map(|one| ScalingRow::new(one, effect(one.hosts), level)).collect();
        let found = Self { version: version.to_owned(), rows, serial_share, reason, sentence: String::new() };
        Self { sentence: words::of_version(&found, law), ..found }
    }
}

impl ScalingRow {
    fn new(sample: &ScalingSample<'_>, effect: Option<&ScalingEffect>, level: ConfidenceLevel) -> Self {
        let (mut values, mut reason) = ([None, None, None], None);
        if let Some(effect) = effect {
            let found = [
                value(effect.speedup(), effect.speedup_interval(level)),
                value(effect.efficiency(), effect.efficiency_interval(level)),
                value(effect.serial_fraction(), effect.serial_fraction_interval(level)),
            ];
            reason = found[0].as_ref().err().map(Reason::from);
            values = found.map(Result::ok);
        }
        let [speedup, efficiency, serial_fraction] = values;
        Self {
            hosts: sample.hosts,
            benchmark: sample.benchmark.to_owned(),
            n: sample.times.len() as u64,
            mean: sample.times.mean(),
            speedup,
            efficiency,
            serial_fraction,
            reason,
        }
    }
}

impl SerialShareReport {
    /// Whether the estimate is one: no share is below nothing or above all.
    pub fn is_share(&self) -> bool {
        (0.0..=1.0).contains(&self.estimate)
    }

    fn new(share: &SerialShare, level: ConfidenceLevel) -> Self {
        let fit = share.lack_of_fit().map(|fit| fit.p_value());
        Self {
            estimate: share.estimate(),
            interval: IntervalReport::from(&share.interval(level)),
            time_on_fewest: share.time_on_fewest(),
            fit_p_value: fit.map(PValue::told),
            is_rejected: fit.is_some_and(|p| p.rejects_at(level.risk())),
        }
    }
}

impl ScalingComparison {
    /// None where no number of hosts is common.
    fn new(
        baseline: &str,
        candidate: &str,
        of_baseline: &[ScalingEffect],
        of_candidate: &[ScalingEffect],
        level: ConfidenceLevel,
    ) -> Option<Self> {
        let row = |below: &ScalingEffect| {
            let above = of_candidate.iter().find(|above| above.hosts() == below.hosts())?;
            EfficiencyRatio::new(*below, *above).map(|ratio| EfficiencyRatioRow::new(&ratio, level))
        };
        let rows: Vec<EfficiencyRatioRow> = of_baseline.iter().filter_map(row).collect();
        let sentence = words::of_comparison(baseline, candidate, &rows);
        (!rows.is_empty()).then(|| Self { candidate: candidate.to_owned(), rows, sentence })
    }
}

impl EfficiencyRatioRow {
    fn new(ratio: &EfficiencyRatio, level: ConfidenceLevel) -> Self {
        let found = value(ratio.estimate(), ratio.interval(level));
        let verdict = match found.as_ref().ok().and_then(|value| value.interval.ends()) {
            None => EndpointVerdict::NotEnoughData,
            Some((lower, _)) if lower > 1.0 => EndpointVerdict::Better,
            Some((_, upper)) if upper < 1.0 => EndpointVerdict::Worse,
            Some(_) => EndpointVerdict::Undecided,
        };
        let reason = found.as_ref().err().map(Reason::from);
        Self { hosts: ratio.hosts(), verdict, ratio: found.ok(), reason }
    }
}

fn value(
    estimate: Result<f64, RatioError>,
    interval: Result<RatioInterval, RatioError>,
) -> Result<ScalingValue, RatioError> {
    Ok(ScalingValue { estimate: estimate?, interval: IntervalReport::from(&interval?) })
}

impl From<&SerialShareError> for Reason {
    fn from(error: &SerialShareError) -> Self {
        let code = match error {
            SerialShareError::TooFew { .. } => ReasonCode::TooFewRuns,
            SerialShareError::NotPositive { .. } => ReasonCode::NotPositive,
            SerialShareError::Constant { .. } => ReasonCode::Constant,
        };
        Self::of(code, error)
    }
}
