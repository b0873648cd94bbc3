//! The checker: reads only an export (JSON lines) and the plan file it came from, and says what is wrong with it. It shares
//! no code with what made the export: the rules stand here a second time.
//!
//! In reading order: `plan` (what was planned) and `row` (what became of it), then the rules: `exactly_once`, `history`
//! (time, hosts and their evidence), `freshness` (one function a policy) and `executed` (what the programs themselves say).

mod exactly_once;
mod executed;
mod freshness;
mod history;
mod plan;
mod row;
#[cfg(test)]
mod tests;

use std::fmt::{Display, Formatter};

use self::plan::Planned;
pub use self::row::Row;

/// What an export was found to say.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Its rows, as far as they can be read.
    pub rows: Vec<Row>,
    /// What is wrong with it.
    pub complaints: Vec<Complaint>,
}

/// One thing that is wrong with an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The rule that is broken.
    pub rule: Rule,
    /// Where, and by what.
    pub what: String,
}

/// What holds of every export of a finished experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Plan and rows can be read, and the rows are of the plan's runs.
    Form,
    /// Each planned run is settled, and once.
    Settled,
    /// A row counts if it settled its run as measured, and says why not if it does not.
    Counts,
    /// The attempts of a run are numbered from one to at most the limit; each but the last was lost, the last settled it.
    Attempts,
    /// A lease is given once; a report that came late belongs to a lost one, at most one to each.
    Leases,
    /// Nothing ends before it begins, and no attempt begins before the one before it ended.
    Time,
    /// A host serves one attempt at a time, in starts of its agent that never go back; a boot has starts of its own.
    Host,
    /// What was written down about a host before a lease is what it had done.
    Evidence,
    /// What the plan's policy promises, and that visits of a cell are on different hosts where the plan repeats over them.
    Freshness,
    /// What was executed is what was given out: an executed attempt once, a lost one at most once, and nothing beside.
    Executed,
}

/// Checks the export of a finished experiment against its plan.
pub fn check(plan: &str, export: &str) -> Verdict {
    let mut complaints = Vec::new();
    let mut rows = Vec::new();
    for (number, line) in export.lines().enumerate() {
        match serde_json::from_str::<Row>(line) {
            Ok(row) => rows.push(row),
            Err(error) => {
                complaints.push(Complaint::new(Rule::Form, format!("line {}: {error}", number + 1)));
            }
        }
    }
    match Planned::read(plan) {
        Ok(planned) => {
            complaints.extend(exactly_once::complaints(&planned, &rows));
            complaints.extend(history::complaints(&rows));
            complaints.extend(freshness::complaints(&planned, &rows));
        }
        Err(error) => complaints.push(Complaint::new(Rule::Form, format!("the plan: {error}"))),
    }
    Verdict { rows, complaints }
}

/// Checks the export of a finished experiment against its plan and against the log that its programs wrote.
pub fn check_with_log(plan: &str, export: &str, log: &str) -> Verdict {
    let mut verdict = check(plan, export);
    if let Ok(planned) = Planned::read(plan) {
        verdict.complaints.extend(executed::complaints(&planned, &verdict.rows, log));
    }
    verdict
}

impl Verdict {
    /// Asserts that there is nothing to complain of.
    pub fn assert_ok(&self) {
        let said: Vec<String> = self.complaints.iter().map(ToString::to_string).collect();
        assert!(said.is_empty(), "the export is wrong:\n{}", said.join("\n"));
    }

    /// How many runs count.
    pub fn counting(&self) -> usize {
        self.rows.iter().filter(|row| row.counts).count()
    }

    /// The attempts that were lost.
    pub fn lost(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_attempt() && row.loss.is_some())
    }

    /// The reports that came after their attempt was given up.
    pub fn late(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_late())
    }

    /// The row that settled a run.
    pub fn settled(&self, run: u32) -> Option<&Row> {
        self.rows.iter().find(|row| row.run == run && row.run_state.is_some())
    }
}

impl Complaint {
    fn new(rule: Rule, what: String) -> Self {
        Self { rule, what }
    }
}

impl Display for Complaint {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        write!(to, "{:?}: {}", self.rule, self.what)
    }
}
