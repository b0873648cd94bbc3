//! The columns of one export: ours, those of the experiment's metrics, and what it kept of the output where the form can
//! hold that.

use speedup_core::experiment::Experiment;
use speedup_core::experiment::metric::Metric;

use super::column::{COLUMNS, Column, KEPT, Read, Value, metric, own};
use super::row::Row;

/// A column of an export.
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) of: Of,
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

impl Of {
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
pub(super) fn columns(experiment: &Experiment, with_output: bool) -> Vec<Shown> {
    let runs = COLUMNS.iter().map(|column| Shown { name: column.name.to_owned(), of: Of::Run(column.read) });
    let metrics = experiment.metrics.iter();
    let metrics = metrics.map(|one| Shown { name: one.column().to_owned(), of: Of::Metric(*one) });
    let own = experiment.own_metrics.iter();
    let own = own.map(|own| Shown { name: format!("output.{}", own.name), of: Of::Own(own.name.clone()) });
    let kept = KEPT.iter().filter(|_| with_output);
    let kept = kept.map(|column| Shown { name: column.name.to_owned(), of: Of::Run(column.read) });
    runs.chain(metrics).chain(own).chain(kept).collect()
}

/// A column as the reference shows it.
#[derive(Clone, Debug)]
pub struct DescribedColumn {
    /// Its name.
    pub name: &'static str,
    /// The type of what stands in it.
    pub kind: &'static str,
    /// What that means.
    pub meaning: String,
}

/// All columns but those of own metrics, by chapter.
pub fn column_reference() -> Vec<(&'static str, Vec<DescribedColumn>)> {
    let of = |column: &Column| DescribedColumn {
        name: column.name,
        kind: column.read.kind(),
        meaning: column.meaning.to_owned(),
    };
    // The schema of a plan has the words of each metric.
    let schema = speedup_core::plan::file::schema();
    let words = schema["properties"]["metrics"]["properties"]["collect"]["items"]["oneOf"].as_array();
    let metric = |metric: &Metric| {
        let words = words.into_iter().flatten().find(|words| words["const"] == metric.name());
        let meaning = words.and_then(|words| words["description"].as_str()).unwrap_or_default();
        DescribedColumn { name: metric.column(), kind: "count", meaning: meaning.to_owned() }
    };
    vec![
        ("Of every run", COLUMNS.iter().map(of).collect()),
        ("Metrics", Metric::ALL.iter().map(metric).collect()),
        ("The output that was kept, not in CSV", KEPT.iter().map(of).collect()),
    ]
}
