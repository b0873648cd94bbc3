//! Series while they are collected, value by value, in the order of the file.

use crate::bounds::{MAX_LABEL_BYTES, MAX_LABELS, MAX_REMARKS, MAX_SERIES, MAX_VALUES};
use crate::{
    Better, FileProblem, Format, ImportCode, ImportWarning, Imported, MachineFacts, Measurand, MissingKind,
    MissingResult, Name, NumberProblem, Runs, Series, SeriesName, ValueOf, decimal, json::Json, json::Misfit,
};
use std::collections::BTreeMap;

/// Distinguishes series that the tool itself does not.
const OCCURRENCE: &str = "occurrence";

/// What has been read so far.
#[derive(Default)]
pub(crate) struct Collection {
    places: BTreeMap<SeriesName, usize>,
    /// How often each name was asked for that stands for a whole series in the file.
    occurrences: BTreeMap<SeriesName, usize>,
    growing: Vec<Growing>,
    values: usize,
    not_finite: BTreeMap<SeriesName, u64>,
    failed_runs: BTreeMap<SeriesName, u64>,
    pub(crate) tool_version: Option<Name>,
    pub(crate) machine: MachineFacts,
    failures: Vec<MissingResult>,
    warnings: Vec<ImportWarning>,
    /// What the numbers of runs stand for, where they are blocks that make pairs.
    pub(crate) blocks: Option<BTreeMap<u64, Name>>,
    /// What the file itself says of its series.
    declared: BTreeMap<SeriesName, (Option<Better>, Option<ValueOf>)>,
    pub(crate) are_commands: bool,
}

struct Growing {
    measurand: Measurand,
    /// Each value with the number of its run.
    values: Vec<(u64, f64)>,
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
        let place = match self.places.get(&series.name) {
            Some(place) => *place,
            None => self.begin(series)?,
        };
        let growing = &mut self.growing[place];
        if growing.measurand.unit != series.unit {
            return Err(FileProblem::unit_changed(&series.name, &growing.measurand.unit, &series.unit));
        }
        growing.values.push((run, value));
        Ok(())
    }

    /// One more value, as the tool's decimal digits. A number that is not finite is left out, with a warning.
    pub(crate) fn push_text(&mut self, series: &Measurand, run: u64, text: &str) -> Result<(), FileProblem> {
        match decimal::read(text, series.shift) {
            Ok(value) => self.push(series, run, value),
            Err(NumberProblem::NotFinite) => self.leave_out(&series.name),
            Err(NumberProblem::NotANumber) if decimal::stands_for_none(text) => self.leave_out(&series.name),
            Err(NumberProblem::NotANumber) if decimal::stands_for_failure(text) => {
                self.fail_run(&series.name)
            }
            Err(problem) => Err(FileProblem::Number { text: Name::beginning(text), problem }),
        }
    }

    /// The same of a JSON number.
    pub(crate) fn push_json(&mut self, series: &Measurand, run: u64, value: &Json<'_>) -> Result<(), Misfit> {
        let pushed = match value {
            _ if value.is_not_finite() => self.leave_out(&series.name),
            Json::Text(text) if decimal::stands_for_none(text) => self.leave_out(&series.name),
            Json::Text(text) if decimal::stands_for_failure(text) => self.fail_run(&series.name),
            _ => self.push(series, run, value.number(series.shift)?),
        };
        pushed.map_err(|problem| value.misfit(problem))
    }

    /// Keeps what the file says of a series: which values are the better ones, and what one stands for. Else the unit and the tool
    /// decide.
    pub(crate) fn declare(&mut self, name: &SeriesName, better: Option<Better>, value_of: Option<ValueOf>) {
        if (better.is_some() || value_of.is_some()) && !self.declared.contains_key(name) {
            self.declared.insert(name.clone(), (better, value_of));
        }
    }

    fn begin(&mut self, series: &Measurand) -> Result<usize, FileProblem> {
        if self.growing.len() == MAX_SERIES {
            return Err(FileProblem::TooManySeries);
        }
        check_labels(&series.name.labels)?;
        let place = self.growing.len();
        self.places.insert(series.name.clone(), place);
        self.growing.push(Growing { measurand: series.clone(), values: Vec::new() });
        Ok(place)
    }

    /// Counts a run whose value says that it failed.
    fn fail_run(&mut self, name: &SeriesName) -> Result<(), FileProblem> {
        if self.failed_runs.len() == MAX_SERIES && !self.failed_runs.contains_key(name) {
            return Err(FileProblem::TooManySeries);
        }
        *self.failed_runs.entry(name.clone()).or_insert(0) += 1;
        Ok(())
    }

    /// Counts a value that is NaN or infinite, which no series holds.
    pub(crate) fn leave_out(&mut self, name: &SeriesName) -> Result<(), FileProblem> {
        if self.not_finite.len() == MAX_SERIES && !self.not_finite.contains_key(name) {
            return Err(FileProblem::TooManySeries);
        }
        *self.not_finite.entry(name.clone()).or_default() += 1;
        Ok(())
    }

    /// The name under which a series that stands as a whole in the file is kept: its own, or with a label `occurrence` if
    /// that is taken.
    pub(crate) fn distinct(&mut self, name: SeriesName) -> Result<SeriesName, FileProblem> {
        if self.occurrences.len() == MAX_SERIES && !self.occurrences.contains_key(&name) {
            return Err(FileProblem::TooManySeries);
        }
        let occurrence = self.occurrences.entry(name.clone()).or_insert(0);
        *occurrence += 1;
        if *occurrence == 1 {
            return Ok(name);
        }
        let mut distinct = name.clone();
        distinct.labels.insert(Name::of(OCCURRENCE), Name::shown(occurrence));
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
            let values = self.places.get(&series).map_or(0, |place| self.growing[*place].values.len());
            let kind = MissingKind::FailedRuns { failed, runs: failed + values as u64 };
            self.miss_series(&series, kind, None)?;
        }
        if self.growing.is_empty() && self.failures.is_empty() {
            return Err(FileProblem::NoValues);
        }
        let of_format = format.value_of();
        let mut series = Vec::with_capacity(self.growing.len());
        for Growing { measurand, values } in self.growing {
            let (numbers, values): (Vec<u64>, Vec<Vec<f64>>) = by_run(values).into_iter().unzip();
            let mut runs = Runs::new(values).map_err(|_| FileProblem::NoValues)?;
            if let Some(blocks) = &self.blocks {
                runs = runs.in_blocks(numbers.iter().map(|number| blocks.get(number).cloned()).collect());
            }
            let (better, value_of) = self.declared.remove(&measurand.name).unwrap_or_default();
            let read = Series::new(measurand.name, measurand.unit, runs);
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

/// The values grouped by run, each with its number: runs in order of their first value, values of a run in order.
fn by_run(values: Vec<(u64, f64)>) -> Vec<(u64, Vec<f64>)> {
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mut runs: Vec<(u64, Vec<f64>)> = Vec::new();
    for (run, value) in values {
        let place = *places.entry(run).or_insert(runs.len());
        if place == runs.len() {
            runs.push((run, Vec::with_capacity(1)));
        }
        runs[place].1.push(value);
    }
    runs
}
