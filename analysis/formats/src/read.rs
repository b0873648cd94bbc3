//! One way in for all formats.

use crate::bounds::MAX_FILE_BYTES;
use crate::collection::Collection;
use crate::format::Format;
use crate::go::GoUnits;
use crate::imported::Imported;
use crate::name::Name;
use crate::problem::{Fault, FilePlace, FileProblem, ReadError};
use crate::table::Columns;
use crate::{criterion, go, google_benchmark, gzip, hyperfine, plain, pyperf, rebench, table, text};

/// What the bytes do not say themselves.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// The file's path, for formats that do not name their benchmark: criterion's `sample.json` gets the folders it lies
    /// in, a file of numbers its name without ending.
    pub path: Option<&'a str>,
    /// The benchmark of a file that does not name it; goes before the path.
    pub benchmark: Option<Name>,
    /// The columns of a table and the fields of JSON lines.
    pub columns: Columns<'a>,
    /// What to do with Go's units.
    pub go_units: GoUnits,
}

impl Options<'_> {
    /// The benchmark of a file that does not name it.
    pub(crate) fn unnamed_benchmark(&self) -> Name {
        if let Some(name) = &self.benchmark {
            return name.clone();
        }
        let file = self.path.and_then(|path| path.rsplit(['/', '\\']).next()).unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        Name::beginning(if stem.is_empty() { "unnamed" } else { stem })
    }
}

/// Reads a file of a known format.
///
/// # Errors
/// The first thing in the file that does not fit the format, with its place; a bound that is exceeded; a file of summaries;
/// a file without any value. A file is read as a whole or not at all.
pub fn read(bytes: &[u8], format: Format, options: &Options<'_>) -> Result<Imported, ReadError> {
    collect(bytes, format, options)
        .and_then(|collection| collection.finish(format).map_err(Fault::of_file))
        .map_err(|Fault { place, problem }| ReadError { format, place, problem })
}

fn collect(bytes: &[u8], format: Format, options: &Options<'_>) -> Result<Collection, Fault> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Fault { place: FilePlace::File, problem: FileProblem::TooManyBytes });
    }
    let unpacked;
    let is_packed = format == Format::Pyperf && gzip::is_packed(bytes);
    let text = if is_packed {
        unpacked = gzip::unpack(bytes)?;
        text::decode(&unpacked)?
    } else {
        text::decode(bytes)?
    };
    let summary = |what| Err(Fault::of_file(FileProblem::SummaryOnly { what }));
    match format {
        Format::Hyperfine1 => hyperfine::read_1(text),
        Format::Hyperfine2 => hyperfine::read_2(text),
        Format::HyperfineCsv => summary("mean, median, spread and extremes of each command"),
        Format::GoogleBenchmark => google_benchmark::read(text),
        Format::Pyperf => pyperf::read(text, options),
        Format::CriterionSample => criterion::read_sample(text, options),
        Format::CriterionEstimates => summary("estimates of mean, median and slope"),
        Format::CriterionRaw => criterion::read_raw(text),
        Format::CargoCriterion => criterion::read_messages(text),
        Format::Go => go::read(text, options.go_units),
        Format::ReBench => rebench::read(text),
        Format::Plain => plain::read(text, options),
        Format::Csv => table::read_csv(text, options),
        Format::JsonLines => table::read_lines(text, options),
    }
}
