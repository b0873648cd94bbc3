//! Series while they are collected, value by value, in the order of the file.

use crate::bounds::{MAX_FILE_BYTES, MAX_LABEL_BYTES, MAX_LABELS, MAX_REMARKS, MAX_SERIES, MAX_VALUES};
use crate::{
    AtNode, BetterWhen, FileProblem, Format, ImportCode, ImportWarning, Imported, Json, MachineFacts,
    Measurand, Misfit, MissingKind, MissingResult, Name, NumberProblem, Runs, Series, SeriesName, SeriesUnit,
    ValueOf, decimal,
};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// Distinguishes series that the tool itself does not.
const OCCURRENCE: &str = "occurrence";

/// The field of a line that has a remark in place of a value.
const REMARK: &str = "remark";
/// The field that names the tool, and the tool whose benchmarks are commands.
const TOOL: (&str, &str) = ("tool", "hyperfine");

/// What has been read so far.
#[derive(Default)]
pub(crate) struct Collection {
    /// The series, in the order of their first values.
    growing: IndexMap<SeriesName, GrowingSeries>,
    /// How often each name was asked for that stands for a whole series in the file.
    occurrences: BTreeMap<SeriesName, u64>,
    values: usize,
    /// How long the names of all series are together.
    name_bytes: usize,
    not_finite: BTreeMap<SeriesName, u64>,
    failed_runs: BTreeMap<SeriesName, u64>,
    pub(crate) tool_version: Option<Name>,
    pub(crate) machine: MachineFacts,
    failures: Vec<MissingResult>,
    warnings: Vec<ImportWarning>,
    /// What the numbers of runs stand for, where they are blocks that make pairs.
    pub(crate) blocks: Option<BTreeMap<u64, Name>>,
    /// The direction and kind of value that the file declares, by series.
    declared: BTreeMap<SeriesName, (Option<BetterWhen>, Option<ValueOf>)>,
    pub(crate) are_commands: bool,
}

struct GrowingSeries {
    unit: SeriesUnit,
    /// The values of each run, by its number, in the order of the first ones.
    runs: IndexMap<u64, Vec<f64>>,
}

impl Collection {
    /// One more value, in the unit of its series. Values of the same run number belong to one run, wherever they stand.
    pub(crate) fn push(&mut self, series: &Measurand, run: u64, value: f64) -> Result<(), FileProblem> {
        if self.values == MAX_VALUES {
            return Err(FileProblem::TooManyValues);
        }
        if !value.is_finite() {
            return self.leave_out(&series.name);
        }
        self.values += 1;
        if let Some(growing) = self.growing.get_mut(&series.name) {
            if growing.unit != series.unit {
                return Err(FileProblem::unit_changed(&series.name, &growing.unit, &series.unit));
            }
            // Most runs have one value.
            growing.runs.entry(run).or_insert_with(|| Vec::with_capacity(1)).push(value);
            return Ok(());
        }
        if self.growing.len() == MAX_SERIES {
            return Err(FileProblem::TooManySeries);
        }
        check_labels(&series.name.labels)?;
        self.name_bytes += series.name.to_string().len();
        if self.name_bytes > MAX_FILE_BYTES {
            return Err(FileProblem::TooManySeries);
        }
        let runs = IndexMap::from([(run, vec![value])]);
        self.growing.insert(series.name.clone(), GrowingSeries { unit: series.unit.clone(), runs });
        Ok(())
    }

    /// One more value, as the tool's decimal digits. A number that is not finite is left out, with a warning.
    pub(crate) fn push_text(&mut self, series: &Measurand, run: u64, text: &str) -> Result<(), FileProblem> {
        match decimal::read(text, series.shift) {
            Ok(value) => self.push(series, run, value),
            Err(NumberProblem::NotFinite) => self.leave_out(&series.name),
            Err(NumberProblem::Failed) => count_one(&mut self.failed_runs, &series.name).map(drop),
            Err(problem) => Err(FileProblem::number(text, problem)),
        }
    }

    /// Adds a value from JSON, by the same rules.
    pub(crate) fn push_json(&mut self, series: &Measurand, run: u64, value: &Json<'_>) -> Result<(), Misfit> {
        let pushed = match value {
            _ if value.is_not_finite() => self.leave_out(&series.name),
            Json::Text(text) if decimal::read(text, 0) == Err(NumberProblem::Failed) => {
                count_one(&mut self.failed_runs, &series.name).map(drop)
            }
            _ => self.push(series, run, value.number(series.shift)?),
        };
        pushed.at_node(value)
    }

    /// Stores the direction and the kind of value that the file declares for a series. Without them the unit and the format decide.
    pub(crate) fn declare(
        &mut self,
        name: &SeriesName,
        better: Option<BetterWhen>,
        value_of: Option<ValueOf>,
    ) {
        if (better.is_some() || value_of.is_some()) && !self.declared.contains_key(name) {
            self.declared.insert(name.clone(), (better, value_of));
        }
    }

    /// Counts a value that is NaN or infinite, which no series holds.
    pub(crate) fn leave_out(&mut self, name: &SeriesName) -> Result<(), FileProblem> {
        count_one(&mut self.not_finite, name).map(drop)
    }

    /// The name under which a series that stands as a whole in the file is kept: its own, or with a label `occurrence` if
    /// that is taken.
    pub(crate) fn distinct(&mut self, name: SeriesName) -> Result<SeriesName, FileProblem> {
        let occurrence = count_one(&mut self.occurrences, &name)?;
        if occurrence == 1 {
            return Ok(name);
        }
        let mut distinct = name.clone();
        distinct.labels.insert(Name::of(OCCURRENCE), Name::shown(&occurrence));
        self.warn(ImportWarning::about(ImportCode::Repeated, &Name::shown(&name)))?;
        Ok(distinct)
    }

    /// Begins a document of a file that has several: what it names as another did is measured anew, by another run.
    pub(crate) fn begin_document(&mut self) {
        self.occurrences.clear();
    }

    pub(crate) fn fail(&mut self, failure: MissingResult) -> Result<(), FileProblem> {
        if self.failures.len() == MAX_REMARKS {
            return Err(FileProblem::TooManyRemarks);
        }
        self.failures.push(failure);
        Ok(())
    }

    /// Reports that a series has no result.
    pub(crate) fn miss_series(
        &mut self,
        name: &SeriesName,
        kind: MissingKind,
        message: Option<Name>,
    ) -> Result<(), FileProblem> {
        let benchmark = Name::beginning(&name.labelled_benchmark());
        self.fail(MissingResult { benchmark, version: name.version.clone(), kind, message })
    }

    /// A benchmark without a result, of which the tool says nothing but its name and perhaps why.
    pub(crate) fn miss(
        &mut self,
        benchmark: Name,
        kind: MissingKind,
        message: Option<Name>,
    ) -> Result<(), FileProblem> {
        self.fail(MissingResult { benchmark, version: None, kind, message })
    }

    pub(crate) fn warn(&mut self, warning: impl Into<ImportWarning>) -> Result<(), FileProblem> {
        if self.warnings.len() == MAX_REMARKS {
            return Err(FileProblem::TooManyRemarks);
        }
        self.warnings.push(warning.into());
        Ok(())
    }

    /// Takes the remark of a line, if it has one; `field` gives the text of a field or column.
    pub(crate) fn take_remark(&mut self, field: impl Fn(&str) -> Option<Name>) -> Result<bool, FileProblem> {
        let Some(word) = field(REMARK) else { return Ok(false) };
        let kind = match word.as_str() {
            "failed" => MissingKind::Failed,
            "skipped" => MissingKind::Skipped,
            "unreadable" => MissingKind::Unreadable,
            "failed_runs" => {
                MissingKind::FailedRuns { failed: count_in(field("count")), runs: count_in(field("runs")) }
            }
            other => {
                let code = ImportCode::ALL.into_iter().find(|code| code.as_str() == other);
                let Some(code) = code else { return Ok(false) };
                let warning =
                    ImportWarning { code, subject: field("benchmark"), count: count_in(field("count")) };
                return self.warn(warning).map(|()| true);
            }
        };
        let benchmark = field("benchmark").ok_or(FileProblem::Missing { field: "benchmark" })?;
        let missing = MissingResult { benchmark, version: field("version"), kind, message: field("message") };
        self.fail(missing).map(|()| true)
    }

    /// Takes what a line says of its series.
    pub(crate) fn take_nature(&mut self, series: &SeriesName, field: impl Fn(&str) -> Option<Name>) {
        let better = field("better").and_then(|word| serde_json::from_value(word.as_str().into()).ok());
        let value_of = field("value_of").and_then(|word| serde_json::from_value(word.as_str().into()).ok());
        self.declare(series, better, value_of);
        if field(TOOL.0).is_some_and(|tool| tool.as_str() == TOOL.1) {
            self.are_commands = true;
        }
    }

    /// Whether no series has begun.
    pub(crate) fn has_no_values(&self) -> bool {
        self.growing.is_empty()
    }

    /// Everything that was read. A file without a value and without a failure is refused: it is not what it was taken for.
    pub(crate) fn finish(mut self, format: Format) -> Result<Imported, FileProblem> {
        for (series, count) in std::mem::take(&mut self.not_finite) {
            let subject = Some(Name::shown(&series));
            self.warn(ImportWarning { code: ImportCode::NotFinite, subject, count })?;
        }
        for (series, failed) in std::mem::take(&mut self.failed_runs) {
            let growing = self.growing.get(&series);
            let values: usize = growing.map_or(0, |growing| growing.runs.values().map(Vec::len).sum());
            let kind = MissingKind::FailedRuns { failed, runs: failed + values as u64 };
            self.miss_series(&series, kind, None)?;
        }
        // A file of failures alone is a result: the benchmarks are missing, and gates count them.
        if self.growing.is_empty() && self.failures.is_empty() {
            return Err(FileProblem::NoValues);
        }
        let of_format = format.value_of();
        let mut series = Vec::with_capacity(self.growing.len());
        for (name, growing) in self.growing {
            let mut runs = Runs::new(growing.runs.values()).map_err(|_| FileProblem::NoValues)?;
            if let Some(blocks) = &self.blocks {
                let numbers = growing.runs.keys();
                runs = runs.in_blocks(numbers.map(|number| blocks.get(number).cloned()).collect());
            }
            let (better, value_of) = self.declared.remove(&name).unwrap_or_default();
            let read = Series::new(name, growing.unit, runs);
            series.push(Series { better: better.or(read.better), value_of: value_of.or(of_format), ..read });
        }
        Ok(Imported {
            format,
            tool_version: self.tool_version,
            machine: self.machine,
            series,
            failures: self.failures,
            warnings: self.warnings,
            are_commands: self.are_commands,
        })
    }
}

/// Labels come with every value, so both their number and their size are bounded.
pub(crate) fn check_labels(labels: &BTreeMap<Name, Name>) -> Result<(), FileProblem> {
    let bytes: usize = labels.iter().map(|(key, value)| key.as_str().len() + value.as_str().len()).sum();
    if labels.len() > MAX_LABELS || bytes > MAX_LABEL_BYTES {
        return Err(FileProblem::TooManyLabels);
    }
    Ok(())
}

/// The count in a field; 0 where it holds no number.
fn count_in(field: Option<Name>) -> u64 {
    field.and_then(|count| count.as_str().parse().ok()).unwrap_or(0)
}

/// Counts a series once more, which has to be one of as many as a file may have.
fn count_one(counts: &mut BTreeMap<SeriesName, u64>, name: &SeriesName) -> Result<u64, FileProblem> {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
        return Ok(*count);
    }
    if counts.len() == MAX_SERIES {
        return Err(FileProblem::TooManySeries);
    }
    check_labels(&name.labels)?;
    counts.insert(name.clone(), 1);
    Ok(1)
}
