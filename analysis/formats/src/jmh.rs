//! The Java Microbenchmark Harness (JMH): `-rf json`.
//!
//! A fork is a process, so it is a run; the values of its iterations stay grouped in it. `avgt`, `ss` and `sample` are times
//! of one operation; `sample` has a histogram of single operations for each iteration, whose values are taken as often as
//! they are counted. `thrpt` is a rate, the metric `throughput`: of it more is better. Profilers' numbers (secondary
//! metrics) are metrics of their own, each by its name.

use crate::json::{Json, Misfit, parse};
use crate::series::{SeriesName, SeriesUnit, WALL};
use crate::{bounds::MAX_VALUES, collection::Collection, name::Name, problem::Fault, problem::FileProblem};
use std::collections::BTreeMap;

/// The mode whose values are rates.
const THROUGHPUT: &str = "thrpt";
/// The mode without a label: average time.
const AVERAGE: &str = "avgt";

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect(&document).map_err(|misfit| document.locate(misfit, None))
}

fn collect<'j, 'a>(document: &'j Json<'a>) -> Result<Collection, Misfit<'j, 'a>> {
    let mut collection = Collection::default();
    for result in document.list()? {
        collection.tool_version = collection.tool_version.take().or(result.fact("jmhVersion"));
        let mode = result.field("mode")?.text()?;
        let metric = if mode == THROUGHPUT { "throughput" } else { WALL };
        let name = named(result, mode)?.with_metric(Name::of(metric));
        collect_metric(result.field("primaryMetric")?, name.clone(), &mut collection)?;
        for (metric, measured) in result.get("secondaryMetrics").into_iter().flat_map(Json::members) {
            let metric = Name::new(metric).map_err(|problem| measured.misfit(problem))?;
            collect_metric(measured, name.with_metric(metric), &mut collection)?;
        }
    }
    Ok(collection)
}

/// Class and method, with the parameters as labels. The mode is one where another is measured beside it, and not for the usual
/// one: a benchmark is then called the same in all files.
fn named<'j, 'a>(result: &'j Json<'a>, mode: &str) -> Result<SeriesName, Misfit<'j, 'a>> {
    let mut labels = BTreeMap::new();
    for (key, value) in result.get("params").into_iter().flat_map(Json::members) {
        let key = Name::new(key).map_err(|problem| value.misfit(problem))?;
        labels.insert(key, value.word()?);
    }
    if mode != AVERAGE && mode != THROUGHPUT {
        labels.insert(Name::of("mode"), Name::beginning(mode));
    }
    Ok(SeriesName { labels, ..SeriesName::wall(result.field("benchmark")?.name()?) })
}

fn collect_metric<'j, 'a>(
    metric: &'j Json<'a>,
    name: SeriesName,
    collection: &mut Collection,
) -> Result<(), Misfit<'j, 'a>> {
    let name = collection.distinct(name).map_err(|problem| metric.misfit(problem))?;
    let word = metric.field("scoreUnit")?.name()?;
    let (unit, shift) = unit_of(&word);
    let forks = metric.get("rawData").or_else(|| metric.get("rawDataHistogram"));
    let Some(forks) = forks else {
        return Err(metric.misfit(FileProblem::SummaryOnly { what: "scores and errors, without rawData" }));
    };
    for (fork, iterations) in forks.list()?.iter().enumerate() {
        for iteration in iterations.list()? {
            let Json::List(buckets) = iteration else {
                collection.push_json(&name, &unit, fork as u64, iteration, shift)?;
                continue;
            };
            for bucket in buckets {
                let (value, count) = bucket_of(bucket)?;
                for _ in 0..count {
                    collection.push_json(&name, &unit, fork as u64, value, shift)?;
                }
            }
        }
    }
    Ok(())
}

/// A value of a histogram, and how often it was measured.
fn bucket_of<'j, 'a>(bucket: &'j Json<'a>) -> Result<(&'j Json<'a>, usize), Misfit<'j, 'a>> {
    let [value, count] = bucket.list()? else {
        return Err(bucket.misfit(FileProblem::Expected { expected: "a value and its count" }));
    };
    let times = count.number(0)?;
    if times < 0.0 || times.fract() != 0.0 {
        return Err(count.misfit(FileProblem::Expected { expected: "a count" }));
    }
    if times > MAX_VALUES as f64 {
        return Err(count.misfit(FileProblem::TooManyValues));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number up to MAX_VALUES"
    )]
    let times = times as usize;
    Ok((value, times))
}

/// Times for one operation become seconds; all else stays in JMH's unit.
fn unit_of(word: &Name) -> (SeriesUnit, i32) {
    match word.as_str().strip_suffix("/op") {
        Some("B") => (SeriesUnit::Bytes, 0),
        Some(time) => match SeriesUnit::of_word(&Name::beginning(time)) {
            (SeriesUnit::Seconds, shift) => (SeriesUnit::Seconds, shift),
            _ => (SeriesUnit::Named(word.clone()), 0),
        },
        None => (SeriesUnit::Named(word.clone()), 0),
    }
}
