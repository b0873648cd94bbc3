//! What our own tables have beside values: which values are the better ones, what one stands for, and remarks on missing
//! results. Samples are saved and exported with these fields and columns, so that they are read back as they were.

use crate::{
    Collection, FileProblem, ImportCode, ImportWarning, MissingKind, MissingResult, Name, SeriesName,
};

/// The field of a line that has a remark in place of a value.
const REMARK: &str = "remark";
/// The field that names the tool, and the tool whose benchmarks are commands.
const TOOL: (&str, &str) = ("tool", "hyperfine");

/// The names of these columns, which never hold values.
pub(crate) const COLUMNS: [&str; 7] = [REMARK, "count", "runs", "message", "better", "value_of", TOOL.0];

/// Takes the remark of a line, if it has one; `field` gives the text of a field or column.
pub(crate) fn take_remark(
    field: impl Fn(&str) -> Option<Name>,
    collection: &mut Collection,
) -> Result<bool, FileProblem> {
    let Some(word) = field(REMARK) else { return Ok(false) };
    let count = |key: &str| field(key).and_then(|count| count.as_str().parse().ok()).unwrap_or(0);
    let kind = match word.as_str() {
        "failed" => MissingKind::Failed,
        "skipped" => MissingKind::Skipped,
        "unreadable" => MissingKind::Unreadable,
        "failed_runs" => MissingKind::FailedRuns { failed: count("count"), runs: count("runs") },
        other => {
            let code = ImportCode::ALL.into_iter().find(|code| code.as_str() == other);
            let Some(code) = code else { return Ok(false) };
            let warning = ImportWarning { code, subject: field("benchmark"), count: count("count") };
            return collection.warn(warning).map(|()| true);
        }
    };
    let benchmark = field("benchmark").ok_or(FileProblem::Missing { field: "benchmark" })?;
    let missing = MissingResult { benchmark, version: field("version"), kind, message: field("message") };
    collection.fail(missing).map(|()| true)
}

/// Takes what a line says of its series.
pub(crate) fn take_nature(
    field: impl Fn(&str) -> Option<Name>,
    series: &SeriesName,
    collection: &mut Collection,
) {
    let better = field("better").and_then(|word| serde_json::from_value(word.as_str().into()).ok());
    let value_of = field("value_of").and_then(|word| serde_json::from_value(word.as_str().into()).ok());
    collection.declare(series, better, value_of);
    if field(TOOL.0).is_some_and(|tool| tool.as_str() == TOOL.1) {
        collection.are_commands = true;
    }
}
