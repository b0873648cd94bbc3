//! One way in for all formats; labels that become the version, and labels that are ignored.

use crate::{
    Collection, Fault, FileProblem, Format, Imported, Name, Options, ReadError, Series, SeriesName, asv,
    benchmark_dotnet, bounds::MAX_FILE_BYTES, caliper, cargo_bench, criterion, detect, go, google_benchmark,
    hyperfine, jmh, json::read_document, layout, plain, pyperf, rebench, reframe, table, text, text_table,
};
use indexmap::IndexMap;

/// Reads a file of a known format.
///
/// # Errors
/// The first thing in the file that does not fit the format, with its place; a bound that is exceeded; a file of summaries;
/// a file without any value. A file is read as a whole or not at all.
pub fn read(bytes: &[u8], format: Format, options: &Options<'_>) -> Result<Imported, ReadError> {
    collect(bytes, format, options)
        .and_then(|collection| collection.finish(format).map_err(Fault::of_file))
        .and_then(|imported| relabel(imported, options).map_err(Fault::of_file))
        .map_err(|Fault { place, problem }| ReadError { format, place, problem })
}

fn collect(bytes: &[u8], format: Format, options: &Options<'_>) -> Result<Collection, Fault> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Fault::of_file(FileProblem::TooManyBytes));
    }
    let bytes = text::unpacked(bytes, MAX_FILE_BYTES)?;
    let text = text::without_colors(text::decode(&bytes)?);
    let text = text.as_ref();
    let is_json = text.trim_start().starts_with(['{', '[']);
    if !is_json && detect::find_header(text, &detect::SUMMARIES) == Some(format) {
        return summary("means and spreads, or scores and errors");
    }
    match format {
        Format::Hyperfine1 => read_document(text, hyperfine::collect_1),
        Format::Hyperfine2 => read_document(text, hyperfine::collect_2),
        Format::HyperfineCsv => summary("mean, median, spread and extremes of each command"),
        Format::GoogleBenchmark => read_document(text, google_benchmark::collect),
        Format::GoogleBenchmarkCsv => google_benchmark::csv::read(text),
        Format::GoogleBenchmarkConsole => google_benchmark::console::read(text),
        Format::Asv => read_document(text, asv::collect),
        Format::Jmh => read_document(text, jmh::collect),
        Format::BenchmarkDotNet => read_document(text, benchmark_dotnet::collect),
        Format::Catch2 => summary("mean and spread of each benchmark, with their intervals"),
        Format::Pyperf => read_document(text, |document| pyperf::collect(document, options)),
        Format::CriterionSample => read_document(text, |document| criterion::collect(document, options)),
        Format::CriterionEstimates => summary("estimates of mean, median and slope"),
        Format::CriterionRaw => criterion::read_raw(text),
        Format::CargoCriterion => criterion::read_messages(text),
        Format::Go => go::read(text, options.go_units),
        Format::GoEvents => go::events::read(text, options.go_units),
        Format::CargoBench => cargo_bench::read(text),
        Format::ReFrame => reframe::read(text),
        Format::Ior | Format::Hpl | Format::Nccl | Format::Osu => text_table::read(text, format),
        Format::ReBench => rebench::read(text),
        Format::Caliper => read_document(text, caliper::collect),
        Format::Plain => plain::read(text, options),
        Format::Csv => table::read_csv(text, options),
        Format::JsonLines => table::read_lines(text, options),
        // All others have layouts.
        _ => layout::read(text, format),
    }
}

fn summary<T>(what: &'static str) -> Result<T, Fault> {
    Err(Fault::of_file(FileProblem::SummaryOnly { what }))
}

/// What the column of versions is called unless another one is named.
const VERSION: &str = "version";

/// Makes the label that the options name the version, and drops the labels that they ignore. The values of series that are called
/// the same then are further runs of the first of them.
fn relabel(mut imported: Imported, options: &Options<'_>) -> Result<Imported, FileProblem> {
    let mut joined: IndexMap<SeriesName, Series> = IndexMap::new();
    for mut series in imported.series {
        rename(&mut series.name, options);
        let Some(first) = joined.get_mut(&series.name) else {
            joined.insert(series.name.clone(), series);
            continue;
        };
        if first.unit != series.unit {
            return Err(FileProblem::unit_changed(&series.name, &first.unit, &series.unit));
        }
        // Blocks are of tables, whose series have no labels: they have no further runs.
        first.runs.extend(&series.runs);
    }
    imported.series = joined.into_values().collect();
    Ok(imported)
}

/// Renames a series. A version that it has already stays as a label.
fn rename(name: &mut SeriesName, options: &Options<'_>) {
    name.labels.retain(|label, _| !options.ignored_labels.contains(&label.as_str()));
    if options.columns.version == VERSION && name.version.is_some() {
        return;
    }
    let key = name.labels.keys().find(|label| label.as_str() == options.columns.version).cloned();
    if let Some(version) = key.and_then(|key| name.labels.remove(&key))
        && let Some(replaced) = name.version.replace(version)
    {
        name.labels.insert(Name::of(VERSION), replaced);
    }
}
