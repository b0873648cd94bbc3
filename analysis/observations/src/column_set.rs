//! The columns of one export: ours, those of the experiment's metrics, and what it kept of the output where the form can
//! hold that.

use std::collections::BTreeMap;

use speedup_core::{experiment::Experiment, experiment::metric::Metric};

use super::column::{COLUMNS, Column, KEPT, Kind, RANK, Read, SEAT, Value, metric, own};
use super::{row::Row, sheet::RowsPer};

/// A column of an export.
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) of: Of,
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

impl Shown {
    fn new(name: &str, of: Of, meaning: &str) -> Self {
        let unit = UNITS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| (*unit).to_owned());
        Self { name: name.to_owned(), of, meaning: meaning.trim().to_owned(), unit }
    }
}

/// What stands in a column.
pub(super) enum Of {
    /// What every export has.
    Run(Read),
    /// A metric of the instrument.
    Metric(Metric),
    /// An own metric of the experiment, by its name there.
    Own(String),
}

/// What stands in the column of an own metric.
const OWN_MEANING: &str =
    "A metric of the plan's own: the values that the program printed, one per iteration.";

impl Of {
    /// The type of what stands in it.
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Run(read) => read.kind(),
            Self::Metric(_) => Kind::Count,
            Self::Own(_) => Kind::Series,
        }
    }

    /// What stands in it of one row.
    pub(super) fn read<'a>(&self, row: &Row<'a>) -> Option<Value<'a>> {
        match self {
            Self::Run(read) => read.of(row),
            Self::Metric(of) => metric(row, *of).map(Value::Count),
            Self::Own(name) => own(row, name).map(Value::Series),
        }
    }
}

/// The columns of an experiment's export, in their order. Own metrics are named by the way to them in the plan,
/// `output.NAME`, so that no name of the user's meets one of ours.
pub(super) fn columns(experiment: &Experiment, per: RowsPer, with_output: bool) -> Vec<Shown> {
    let of_run = |column: &Column| Shown::new(column.name, Of::Run(column.read), column.meaning);
    let words = metric_words();
    let metrics = experiment.metrics.iter().map(|one| {
        let meaning = words.get(one.name()).map_or("", String::as_str);
        Shown::new(one.column(), Of::Metric(*one), meaning)
    });
    let own = experiment.own_metrics.iter().map(|own| Shown {
        name: format!("output.{}", own.name),
        of: Of::Own(own.name.clone()),
        meaning: OWN_MEANING.to_owned(),
        unit: (!own.unit.is_empty()).then(|| own.unit.clone()),
    });
    let kept = KEPT.iter().filter(|_| with_output).map(of_run);
    let (of_hosts, of_ranks) = (per != RowsPer::Attempt, per == RowsPer::Rank);
    let of_gangs = SEAT.iter().filter(|_| of_hosts).chain(RANK.iter().filter(|_| of_ranks));
    COLUMNS.iter().map(of_run).chain(of_gangs.map(of_run)).chain(metrics).chain(own).chain(kept).collect()
}

/// The words of each metric by its name: the schema of a plan has them.
fn metric_words() -> BTreeMap<String, String> {
    let schema = speedup_core::plan::file::schema();
    let all = schema["properties"]["metrics"]["properties"]["collect"]["items"]["oneOf"].as_array();
    let words = |one: &serde_json::Value| {
        Some((one["const"].as_str()?.to_owned(), one["description"].as_str()?.to_owned()))
    };
    all.into_iter().flatten().filter_map(words).collect()
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
    let of = |column: &Column| DescribedColumn {
        name: column.name,
        kind: column.read.kind().words(),
        meaning: column.meaning.to_owned(),
    };
    let words = metric_words();
    let metric = |metric: &Metric| DescribedColumn {
        name: metric.column(),
        kind: Kind::Count.words(),
        meaning: words.get(metric.name()).cloned().unwrap_or_default(),
    };
    vec![
        ("Of every run", COLUMNS.iter().map(of).collect()),
        ("With `--per host`, and with `--per rank`", SEAT.iter().map(of).collect()),
        ("With `--per rank`", RANK.iter().map(of).collect()),
        ("Metrics", Metric::ALL.iter().map(metric).collect()),
        ("The output that was kept, not in CSV", KEPT.iter().map(of).collect()),
    ]
}
