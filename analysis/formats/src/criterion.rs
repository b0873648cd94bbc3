//! criterion.rs: `sample.json`, `raw.csv`, and the messages of `cargo criterion`.
//!
//! All three hold batches: the total of each over its iterations. Where all batches have as many iterations, a value is the
//! total by the iterations. Where they grow, as they do unless a benchmark is slow, they are put together in `batches`, so that
//! all values weigh the same. The batches of a benchmark come from one process, so they are one run. A `sample.json` names neither its benchmark nor its unit: the
//! name comes from the folders, `<benchmark…>/<baseline>/sample.json`, and the unit is taken as nanoseconds, which is what
//! it is unless the benchmark was written with a measurement of its own.

mod batches;

use self::batches::{Batch, values_of};
use crate::{
    collection::Collection, json::Json, json::Misfit, json::parse, name::Name, options::Options,
    problem::Fault, problem::FileProblem, series::SeriesName, series::SeriesUnit, series::WALL,
    table::Header, table::rows, text::decode, text::lines,
};
use std::collections::BTreeMap;

/// Nanoseconds.
const NANO: i32 = -9;

/// The current form `{"iters": […], "times": […]}` and the old one `[[iters…], [times…]]`.
pub(crate) fn read_sample(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    let mut collection = Collection::default();
    let name = name_of_folders(options);
    let outcome = match &document {
        Json::List(halves) => match halves.as_slice() {
            [iterations, times] => Ok((iterations, times)),
            _ => Err(document.misfit(FileProblem::Expected { expected: "iterations and times" })),
        },
        Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::NotFinite(_)
        | Json::Text(_)
        | Json::Object(_) => document.field("iters").and_then(|iters| Ok((iters, document.field("times")?))),
    };
    outcome
        .and_then(|(iterations, totals)| {
            samples(iterations, totals, (&name, &SeriesUnit::Seconds, NANO), &mut collection)
        })
        .map_err(|misfit| document.locate(misfit, None))?;
    Ok(collection)
}

/// One value a sample: its total by its iterations.
fn samples<'j, 'a>(
    iterations: &'j Json<'a>,
    totals: &'j Json<'a>,
    (name, unit, shift): (&SeriesName, &SeriesUnit, i32),
    collection: &mut Collection,
) -> Result<(), Misfit<'j, 'a>> {
    let (counts, values) = (iterations.list()?, totals.list()?);
    if counts.len() != values.len() {
        return Err(totals.misfit(FileProblem::LengthsDiffer {
            left: "the list of iterations",
            left_length: counts.len(),
            right: "the list of totals",
            right_length: values.len(),
        }));
    }
    if values.is_empty() {
        return Err(totals.misfit(FileProblem::NoValues));
    }
    let mut batches = Vec::with_capacity(counts.len());
    for (count, total) in counts.iter().zip(values) {
        let batch = Batch::new(count.number(0)?, total.number(shift)?);
        batches.push(batch.map_err(|problem| count.misfit(problem))?);
    }
    for value in values_of(&batches) {
        collection.push(name, unit, 0, value).map_err(|problem| totals.misfit(problem))?;
    }
    Ok(())
}

/// The benchmark's own name, in the `benchmark.json` beside a `sample.json`: folders hold less of it.
///
/// # Errors
/// A file that is no such description.
pub fn criterion_name(bytes: &[u8]) -> Result<Name, FileProblem> {
    let of_text = || {
        let document = parse(decode(bytes)?, 1)?;
        document.field("full_id").and_then(Json::name).map_err(|misfit| document.locate(misfit, None))
    };
    of_text().map_err(|fault| fault.problem)
}

/// `…/criterion/<benchmark…>/<baseline>/sample.json`: the baseline is the version.
fn name_of_folders(options: &Options<'_>) -> SeriesName {
    let folders: Vec<&str> = options.path.map_or(Vec::new(), |path| path.split(['/', '\\']).collect());
    let folders = folders.split_last().map_or(&[][..], |(_, folders)| folders);
    let below =
        folders.iter().rposition(|folder| *folder == "criterion").map_or(folders, |at| &folders[at + 1..]);
    let name = match below.split_last() {
        Some((baseline, benchmark)) if !benchmark.is_empty() => SeriesName {
            version: Some(Name::beginning(baseline)),
            ..SeriesName::wall(Name::beginning(&benchmark.join("/")))
        },
        _ => SeriesName::wall(options.unnamed_benchmark()),
    };
    match &options.benchmark {
        Some(benchmark) => SeriesName { benchmark: benchmark.clone(), ..name },
        None => name,
    }
}

/// Whether a text is an array of arrays of numbers, as `sample.json` was before criterion 0.3.4.
pub(crate) fn looks_like_old_sample(text: &str) -> bool {
    let inner = text.strip_prefix('[').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with('['))
}

/// `raw.csv`: one row a sample.
pub(crate) fn read_raw(text: &str) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let mut table = rows(text);
    let header = Header::of(&mut table)?;
    let column = |name| header.column(name);
    let (group, function, value) = (column("group")?, column("function")?, column("value")?);
    // Before 0.3 every total was in nanoseconds.
    let unit = header.optional("unit")?;
    let total = column(if unit.is_some() { "sample_measured_value" } else { "sample_time_nanos" })?;
    let iterations = column("iteration_count")?;
    let mut benchmarks: Vec<Measured> = Vec::new();
    for row in table {
        let row = header.row(row)?;
        let parts = [group, function, value].map(|column| row.field(column));
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let benchmark = Name::new(parts.join("/")).map_err(|problem| row.fault(group, problem))?;
        let (unit_of, shift) = match unit {
            Some(unit) => SeriesUnit::of_word(&row.name(unit)?),
            None => (SeriesUnit::Seconds, NANO),
        };
        let metric = metric_of(&unit_of);
        let name = SeriesName::wall(benchmark).with_metric(metric);
        let batch = Batch::new(row.number(iterations, 0)?, row.number(total, shift)?);
        let batch = batch.map_err(|problem| row.fault(iterations, problem))?;
        match benchmarks.last_mut() {
            Some(last) if last.name == name && last.unit == unit_of => last.batches.push(batch),
            Some(_) | None => benchmarks.push(Measured { name, unit: unit_of, batches: vec![batch] }),
        }
    }
    for Measured { name, unit, batches } in &benchmarks {
        for value in values_of(batches) {
            collection.push(name, unit, 0, value).map_err(Fault::of_file)?;
        }
    }
    Ok(collection)
}

/// The rows of one benchmark, which stand together.
struct Measured {
    name: SeriesName,
    unit: SeriesUnit,
    batches: Vec<Batch>,
}

/// The messages of `cargo criterion --message-format=json`, one a line.
pub(crate) fn read_messages(text: &str) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    for (line, content) in lines(text).filter(|(_, content)| !content.trim().is_empty()) {
        let message = parse(content, line)?;
        message_of(&message, &mut collection).map_err(|misfit| message.locate(misfit, Some(line)))?;
    }
    Ok(collection)
}

fn message_of<'j, 'a>(message: &'j Json<'a>, collection: &mut Collection) -> Result<(), Misfit<'j, 'a>> {
    if message.field("reason")?.text()? != "benchmark-complete" {
        return Ok(());
    }
    let (unit, shift) = SeriesUnit::of_word(&message.field("unit")?.name()?);
    let name = SeriesName {
        benchmark: message.field("id")?.name()?,
        version: None,
        labels: BTreeMap::new(),
        metric: metric_of(&unit),
    };
    let name = collection.distinct(name).map_err(|problem| message.misfit(problem))?;
    let (iterations, totals) = (message.field("iteration_count")?, message.field("measured_values")?);
    samples(iterations, totals, (&name, &unit, shift), collection)
}

/// criterion measures wall time, unless a benchmark brings a measurement of its own, of which only the unit is known.
pub(crate) fn metric_of(unit: &SeriesUnit) -> Name {
    match unit {
        SeriesUnit::Seconds => Name::of(WALL),
        SeriesUnit::Bytes | SeriesUnit::BytesPerSecond | SeriesUnit::Bare => Name::of("value"),
        SeriesUnit::Named(unit) => unit.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal;

    #[test]
    fn folders_name_the_benchmark_and_the_version() {
        let name = |path| name_of_folders(&Options { path: Some(path), ..Options::default() }).to_string();
        assert_eq!(
            name("target/criterion/sorts/merge/64/new/sample.json"),
            "sorts/merge/64 in version new (wall)"
        );
        assert_eq!(name("merge/base/sample.json"), "merge in version base (wall)");
        assert_eq!(name("sample.json"), "sample (wall)");
        assert_eq!(name("criterion/new/sample.json"), "sample (wall)");
    }

    #[test]
    fn totals_are_divided_exactly_once() {
        let batch = |iterations| Batch::new(iterations, decimal::read("3", NANO).unwrap());
        assert_eq!(values_of(&[batch(2.0).unwrap()]), [1.5e-9]);
        assert!(batch(0.0).is_err());
    }
}
