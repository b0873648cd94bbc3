//! The columns of one export: ours, those of the experiment's metrics, and what it kept of the output where the form can
//! hold that.

use speedup_core::experiment::Experiment;
use speedup_core::experiment::metric::Metric;

use super::column::{COLUMNS, KEPT, Read, Value, metric, own};
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
