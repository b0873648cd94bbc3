//! Series: the values of a plan's own metrics, read from the output of a run when its clock has stopped.

mod report;

use std::collections::BTreeMap;

use speedup_core::experiment::metric::{MAX_SERIES_VALUES, OwnMetric, Stream, ValueError};
use speedup_core::run::record::Failure;

use crate::launch::Execution;

/// The values of each metric, in the order of the output; or the failure of the run, for one has none, or all together
/// are too many.
pub(crate) fn read(
    metrics: &[OwnMetric],
    execution: &Execution,
) -> Result<BTreeMap<String, Vec<f64>>, Failure> {
    let mut all = BTreeMap::new();
    let mut room = MAX_SERIES_VALUES;
    for metric in metrics {
        let stream = match metric.from {
            Stream::Stdout => &execution.stdout,
            Stream::Stderr => &execution.stderr,
        };
        let bytes = stream.as_ref().map_or(&[][..], |stream| &stream.head);
        let no_value =
            |error: ValueError| Failure::NoValue { metric: metric.name.clone(), reason: error.to_string() };
        let values = metric.pattern.values(&metric.unit, bytes, report::values).map_err(no_value)?;
        room = room.checked_sub(values.len()).ok_or_else(|| no_value(ValueError::TooMany))?;
        all.insert(metric.name.clone(), values);
    }
    Ok(all)
}
