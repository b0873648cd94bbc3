//! The columns of one export: ours, those of the experiment's metrics, and what it kept of the output where the form can
//! hold that.

use std::collections::BTreeMap;

use speedup_core::{experiment::Experiment, experiment::metric::Metric};

use super::column::{COLUMNS, Column, ColumnKind, KEPT, RANK, Reader, SEAT, Value, metric, own};
use super::{row::Row, sheet::RowsPer};

/// A column of an export.
pub(super) struct ExportColumn {
    pub(super) name: String,
    pub(super) source: Source,
    /// What stands in it, in words.
    pub(super) meaning: String,
    /// The unit of its numbers, as pint and UDUNITS spell it; of an own metric as the plan does.
    pub(super) unit: Option<String>,
}

/// The last words of names that are units, and how programs spell them.
const UNITS: [(&str, &str); 7] = [
    ("_ns", "ns"),
    ("_us", "us"),
    ("_uj", "uJ"),
    ("_mc", "mdegC"),
    ("_khz", "kHz"),
    ("_percent", "percent"),
    ("_bytes", "byte"),
];

impl ExportColumn {
    fn new(name: &str, source: Source, meaning: &str) -> Self {
        let unit = UNITS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| (*unit).to_owned());
        Self { name: name.to_owned(), source, meaning: meaning.trim().to_owned(), unit }
    }
}

/// What stands in a column.
pub(super) enum Source {
    /// What every export has.
    Run(Reader),
    /// A metric of the instrument.
    Metric(Metric),
    /// An own metric of the experiment, by its name there.
    Own(String),
}

/// What stands in the column of an own metric.
const OWN_MEANING: &str =
    "A metric of the plan's own: the values that the program printed, one per iteration.";

impl Source {
    /// The type of what stands in it.
    pub(super) const fn kind(&self) -> ColumnKind {
        match self {
            Self::Run(read) => read.kind(),
            Self::Metric(_) => ColumnKind::Count,
            Self::Own(_) => ColumnKind::Series,
        }
    }

    /// What stands in it of one row.
    pub(super) fn read<'a>(&self, row: &Row<'a>) -> Option<Value<'a>> {
        match self {
            Self::Run(read) => read.value(row),
            Self::Metric(of) => metric(row, *of).map(Value::Count),
            Self::Own(name) => own(row, name).map(Value::Series),
        }
    }
}

/// The columns of an experiment's export, in their order. Own metrics are named by the way to them in the plan,
/// `output.NAME`, so that no name of the user's meets one of ours.
pub(super) fn columns(experiment: &Experiment, per: RowsPer, with_output: bool) -> Vec<ExportColumn> {
    let mut columns: Vec<ExportColumn> = run_columns(&COLUMNS).collect();
    if per != RowsPer::Attempt {
        columns.extend(run_columns(&SEAT));
    }
    if per == RowsPer::Rank {
        columns.extend(run_columns(&RANK));
    }
    let words = metric_words();
    for metric in &experiment.metrics {
        let meaning = words.get(metric.name()).map_or("", String::as_str);
        columns.push(ExportColumn::new(metric.column(), Source::Metric(*metric), meaning));
    }
    for own in &experiment.own_metrics {
        columns.push(ExportColumn {
            name: format!("output.{}", own.name),
            source: Source::Own(own.name.clone()),
            meaning: OWN_MEANING.to_owned(),
            unit: Some(own.unit.clone()).filter(|unit| !unit.is_empty()),
        });
    }
    if with_output {
        columns.extend(run_columns(&KEPT));
    }
    columns
}

fn run_columns(columns: &[Column]) -> impl Iterator<Item = ExportColumn> {
    columns.iter().map(|column| ExportColumn::new(column.name, Source::Run(column.read), column.meaning))
}

/// The words of each metric by its name: the schema of a plan has them.
fn metric_words() -> BTreeMap<String, String> {
    let schema = speedup_core::plan::file::schema();
    let all = schema["properties"]["metrics"]["properties"]["collect"]["items"]["oneOf"].as_array();
    let mut words = BTreeMap::new();
    for one in all.into_iter().flatten() {
        if let (Some(name), Some(meaning)) = (one["const"].as_str(), one["description"].as_str()) {
            words.insert(name.to_owned(), meaning.to_owned());
        }
    }
    words
}

/// A column as the reference shows it.
#[derive(Clone, Debug)]
pub struct DescribedColumn {
    pub name: &'static str,
    /// The type of what stands in it.
    pub kind: &'static str,
    pub meaning: String,
}

/// All columns but those of own metrics, by chapter.
pub fn column_reference() -> Vec<(&'static str, Vec<DescribedColumn>)> {
    let words = metric_words();
    let metrics = Metric::ALL.iter().map(|metric| DescribedColumn {
        name: metric.column(),
        kind: ColumnKind::Count.words(),
        meaning: words.get(metric.name()).cloned().unwrap_or_default(),
    });
    vec![
        ("Of every run", described(&COLUMNS)),
        ("With `--per host`, and with `--per rank`", described(&SEAT)),
        ("With `--per rank`", described(&RANK)),
        ("Metrics", metrics.collect()),
        ("The output that was kept, not in CSV", described(&KEPT)),
    ]
}

fn described(columns: &[Column]) -> Vec<DescribedColumn> {
    let described = columns.iter().map(|column| DescribedColumn {
        name: column.name,
        kind: column.read.kind().words(),
        meaning: column.meaning.to_owned(),
    });
    described.collect()
}
