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
    AtNode, Collection, Fault, FileProblem, Json, Measurand, Misfit, Name, Options, SeriesName, SeriesUnit,
    WALL, json::read_document, json::read_lines, table, text::decode,
};

/// Nanoseconds.
const NANO: i32 = -9;

/// The current form `{"iters": […], "times": […]}` and the old one `[[iters…], [times…]]`.
pub(crate) fn collect(document: &Json<'_>, options: &Options<'_>) -> Result<Collection, Misfit> {
    let mut collection = Collection::default();
    let series = name_of_folders(options).in_unit((SeriesUnit::Seconds, NANO));
    if let Json::List(halves) = document {
        let [iterations, times] = &halves[..] else { return Err(document.expected("iterations and times")) };
        samples([iterations, times], &series, &mut collection)?;
    } else {
        samples([document.field("iters")?, document.field("times")?], &series, &mut collection)?;
    }
    Ok(collection)
}

/// One value a sample, by the lists of iterations and totals.
fn samples(lists: [&Json<'_>; 2], series: &Measurand, collection: &mut Collection) -> Result<(), Misfit> {
    let [iterations, totals] = lists;
    let counts = iterations.list()?;
    let values = totals.list_as_long_as("the list of totals", "the list of iterations", counts.len())?;
    if values.is_empty() {
        return Err(totals.misfit(FileProblem::NoValues));
    }
    let mut batches = Vec::with_capacity(counts.len());
    for (count, total) in counts.iter().zip(values) {
        let batch = Batch::new(count.number(0)?, total.number(series.shift)?);
        batches.push(batch.at_node(count)?);
    }
    for value in values_of(&batches) {
        collection.push(series, 0, value).at_node(totals)?;
    }
    Ok(())
}

/// The benchmark's own name, in the `benchmark.json` beside a `sample.json`: folders hold less of it.
///
/// # Errors
/// A file that is no such description.
pub fn criterion_name(bytes: &[u8]) -> Result<Name, FileProblem> {
    let text = decode(bytes).map_err(|fault| fault.problem)?;
    read_document(text, |document| document.field("full_id")?.name()).map_err(|fault| fault.problem)
}

/// `…/criterion/<benchmark…>/<baseline>/sample.json`: the baseline is the version.
fn name_of_folders(options: &Options<'_>) -> SeriesName {
    let mut folders: Vec<&str> = options.path.unwrap_or_default().split(['/', '\\']).collect();
    folders.pop();
    if let Some(root) = folders.iter().rposition(|folder| *folder == "criterion") {
        folders.drain(..=root);
    }
    let mut name = SeriesName::wall(options.unnamed_benchmark());
    if let [benchmark @ .., baseline] = &folders[..]
        && !benchmark.is_empty()
    {
        name.version = Some(Name::beginning(baseline));
        if options.benchmark.is_none() {
            name.benchmark = Name::beginning(&benchmark.join("/"));
        }
    }
    name
}

/// Whether a text is an array of arrays of numbers, as `sample.json` was before criterion 0.3.4.
pub(crate) fn looks_like_old_sample(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|inner| inner.trim_start().starts_with('['))
}

/// `raw.csv`: one row a sample.
pub(crate) fn read_raw(text: &str) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let (header, table) = table::open(text)?;
    let parts = [header.column("group")?, header.column("function")?, header.column("value")?];
    // Before 0.3 every total was in nanoseconds.
    let unit = header.optional("unit")?;
    let total = header.column(if unit.is_some() { "sample_measured_value" } else { "sample_time_nanos" })?;
    let iterations = header.column("iteration_count")?;
    // The rows of a benchmark stand together.
    let mut benchmarks: Vec<(Measurand, Vec<Batch>)> = Vec::new();
    for row in table {
        let row = header.row(row)?;
        let words = parts.map(|part| row.field(part));
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let benchmark = Name::new(words.join("/")).map_err(|problem| row.fault(parts[0], problem))?;
        let (unit_of, shift) = match unit {
            Some(unit) => SeriesUnit::of_word(&row.name(unit)?),
            None => (SeriesUnit::Seconds, NANO),
        };
        let series = SeriesName::new(benchmark, metric_of(&unit_of)).in_unit((unit_of, shift));
        let batch = Batch::new(row.number(iterations, 0)?, row.number(total, series.shift)?);
        let batch = batch.map_err(|problem| row.fault(iterations, problem))?;
        match benchmarks.last_mut() {
            Some((last, batches)) if *last == series => batches.push(batch),
            Some(_) | None => benchmarks.push((series, vec![batch])),
        }
    }
    for (series, batches) in &benchmarks {
        for value in values_of(batches) {
            collection.push(series, 0, value).map_err(Fault::of_file)?;
        }
    }
    Ok(collection)
}

/// The messages of `cargo criterion --message-format=json`, one a line.
pub(crate) fn read_messages(text: &str) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    read_lines(text, |_, message| collect_message(message, &mut collection))?;
    Ok(collection)
}

fn collect_message(message: &Json<'_>, collection: &mut Collection) -> Result<(), Misfit> {
    if message.field("reason")?.text()? != "benchmark-complete" {
        return Ok(());
    }
    let (unit, shift) = SeriesUnit::of_word(&message.field("unit")?.name()?);
    let name = SeriesName::new(message.field("id")?.name()?, metric_of(&unit));
    let name = collection.distinct(name).at_node(message)?;
    let lists = [message.field("iteration_count")?, message.field("measured_values")?];
    samples(lists, &name.in_unit((unit, shift)), collection)
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
