//! The Java Microbenchmark Harness (JMH): `-rf json`.
//!
//! A fork is a process, so it is a run; the values of its iterations stay grouped in it. `avgt`, `ss` and `sample` are times
//! of one operation; `sample` has a histogram of single operations for each iteration, whose values are taken as often as
//! they are counted. `thrpt` is a rate, the metric `throughput`: of it more is better. Profilers' numbers (secondary
//! metrics) are metrics of their own, each by its name.

use crate::{
    AtNode, Collection, FileProblem, Json, Misfit, Name, SeriesName, SeriesUnit, WALL, bounds::MAX_VALUES,
};

/// The mode whose values are rates.
const THROUGHPUT: &str = "thrpt";
/// The mode without a label: average time.
const AVERAGE: &str = "avgt";

pub(crate) fn collect(document: &Json<'_>) -> Result<Collection, Misfit> {
    let mut collection = Collection::default();
    for result in document.list()? {
        collection.tool_version = collection.tool_version.take().or(result.fact("jmhVersion"));
        let mode = result.field("mode")?.text()?;
        let metric = if mode == THROUGHPUT { "throughput" } else { WALL };
        let name = named(result, mode)?.with_metric(Name::of(metric));
        collect_metric(result.field("primaryMetric")?, name.clone(), &mut collection)?;
        for (metric, measured) in result.get("secondaryMetrics").into_iter().flat_map(Json::members) {
            let metric = Name::new(metric).at_node(measured)?;
            collect_metric(measured, name.with_metric(metric), &mut collection)?;
        }
    }
    Ok(collection)
}

/// Class and method, with the parameters as labels. The mode is one where another is measured beside it, and not for the usual
/// one: a benchmark is then called the same in all files.
fn named(result: &Json<'_>, mode: &str) -> Result<SeriesName, Misfit> {
    let mut name = SeriesName::wall(result.field("benchmark")?.name()?);
    for (key, value) in result.get("params").into_iter().flat_map(Json::members) {
        let key = Name::new(key).at_node(value)?;
        name.labels.insert(key, value.word()?);
    }
    if mode != AVERAGE && mode != THROUGHPUT {
        name.labels.insert(Name::of("mode"), Name::beginning(mode));
    }
    Ok(name)
}

fn collect_metric(metric: &Json<'_>, name: SeriesName, collection: &mut Collection) -> Result<(), Misfit> {
    let name = collection.distinct(name).at_node(metric)?;
    let word = metric.field("scoreUnit")?.name()?;
    let series = name.in_unit(unit_of(&word));
    let forks = metric.at("rawData|rawDataHistogram");
    let forks = forks.ok_or_else(|| metric.summary_only("scores and errors, without rawData"))?;
    for (fork, iterations) in forks.list()?.iter().enumerate() {
        for iteration in iterations.list()? {
            let Json::List(buckets) = iteration else {
                collection.push_json(&series, fork as u64, iteration)?;
                continue;
            };
            for bucket in buckets {
                let (value, count) = bucket_of(bucket)?;
                for _ in 0..count {
                    collection.push_json(&series, fork as u64, value)?;
                }
            }
        }
    }
    Ok(())
}

/// A value of a histogram, and how often it was measured.
fn bucket_of<'j, 'a>(bucket: &'j Json<'a>) -> Result<(&'j Json<'a>, usize), Misfit> {
    let [value, count] = bucket.list()? else { return Err(bucket.expected("a value and its count")) };
    let times = count.number(0)?;
    if times < 0.0 || times.fract() != 0.0 {
        return Err(count.expected("a count"));
    }
    if times > MAX_VALUES as f64 {
        return Err(count.misfit(FileProblem::TooManyValues));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, up to MAX_VALUES")]
    let times = times as usize;
    Ok((value, times))
}

/// Times for one operation become seconds; all else stays in JMH's unit.
fn unit_of(word: &Name) -> (SeriesUnit, i32) {
    let unit = word.as_str().strip_suffix("/op").unwrap_or_default();
    match SeriesUnit::of_word(&Name::beginning(unit)) {
        (SeriesUnit::Seconds, shift) => (SeriesUnit::Seconds, shift),
        _ if unit == "B" => (SeriesUnit::Bytes, 0),
        _ => (SeriesUnit::Named(word.clone()), 0),
    }
}
