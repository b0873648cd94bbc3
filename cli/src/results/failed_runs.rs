//! What went wrong, in short: failed runs by cell and reason, and the reasons of attempts that were lost.

use std::{collections::BTreeMap, collections::BTreeSet, collections::VecDeque, fmt::Write as _};

use speedup_core::{
    machine::event::AttemptEnd, machine::event::EndedAttempt, plan::Plan, run::LossReason,
    run::record::Failure as BenchmarkFailure, run::record::Outcome, run::record::Record,
    value::excerpt::legible, value::id::ExperimentId, value::id::VersionIndex, value::time::Timestamp,
};

use crate::connection::Connection;
use crate::console::render::counted;
use crate::{exit::failure::Failure, results::attempts::Attempts};

/// Most kinds of failure that are listed: nobody reads more, and the export has all.
const LISTED: usize = 10;
/// Most kinds that are kept apart; words may differ in every run.
const KEPT_APART: usize = 1_000;
/// Lost attempts whose reasons are told.
const LOST: usize = 5;
/// Reasons of lost attempts that are told apart.
const REASONS: usize = 3;
/// Lines of output that are told of a build.
const LINES: usize = 12;
/// Most characters of a line of output, or of a reason, that are shown.
const SHOWN: usize = 300;

/// What went wrong in an experiment.
#[derive(Debug, Default)]
pub(crate) struct FailedRuns {
    kinds: BTreeMap<(u32, String), Kind>,
    /// Failed runs of kinds beyond those kept apart.
    others: u64,
    /// The latest lost attempts, the oldest first.
    lost: VecDeque<(Timestamp, String)>,
    /// The first reasons why attempts were lost, each once.
    reasons: Vec<String>,
}

/// Runs of one cell that failed alike.
#[derive(Debug, Default)]
struct Kind {
    runs: u64,
    /// The first lines that one of them wrote to its standard error.
    stderr: Vec<String>,
}

/// What went wrong, told in lines; empty when nothing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FailureSummary {
    pub(crate) failed: Vec<String>,
    /// Of the last attempts that were lost.
    pub(crate) lost: Vec<String>,
    /// Why attempts were lost: the first reasons, each once.
    pub(crate) reasons: Vec<String>,
    pub(crate) in_every_cell: bool,
}

/// Reads what went wrong in an experiment.
pub(crate) async fn read(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<FailureSummary, Failure> {
    let mut attempts = Attempts::open(connection, experiment).await?;
    let mut failed = FailedRuns::default();
    while let Some(page) = attempts.page().await? {
        page.iter().for_each(|ended| failed.note(ended));
    }
    Ok(failed.told(&attempts.plan))
}

impl FailureSummary {
    /// Why runs were abandoned, in one text; nothing when none was.
    pub(crate) fn abandoned(&self, runs: u32) -> Option<String> {
        if runs == 0 || self.reasons.is_empty() {
            return None;
        }
        let runs = counted(runs.into(), "run");
        let mut text = format!("{runs} abandoned, because attempts were lost:");
        for reason in &self.reasons {
            let _ = write!(text, "\n  {reason}");
        }
        Some(text)
    }
}

impl FailedRuns {
    fn note(&mut self, ended: &EndedAttempt) {
        match &ended.end {
            AttemptEnd::Reported(record) => {
                if let Outcome::Failed(failure) = &record.outcome {
                    self.note_failed(ended.cell, failure, record);
                }
            }
            AttemptEnd::Lost { reason, .. } => {
                let words = loss_words(reason);
                let text = format!("host {}: {words}", ended.lease.host);
                if self.reasons.len() < REASONS && !self.reasons.contains(&words) {
                    self.reasons.push(words);
                }
                let at = self.lost.partition_point(|(when, _)| *when <= ended.ended);
                self.lost.insert(at, (ended.ended, text));
                if self.lost.len() > LOST {
                    self.lost.pop_front();
                }
            }
        }
    }

    fn note_failed(&mut self, cell: u32, failure: &BenchmarkFailure, record: &Record) {
        let key = (cell, failure.words());
        if self.kinds.len() >= KEPT_APART && !self.kinds.contains_key(&key) {
            self.others += 1;
            return;
        }
        let kind = self.kinds.entry(key).or_default();
        kind.runs += 1;
        if kind.stderr.is_empty() {
            kind.stderr = first_lines(&record.stderr.kept);
        }
    }

    fn told(&self, plan: &Plan) -> FailureSummary {
        let mut failed: Vec<String> = self
            .kinds
            .iter()
            .take(LISTED)
            .filter_map(|((cell, words), kind)| line(plan, *cell, words, kind))
            .collect();
        let beyond: u64 = self.kinds.values().skip(LISTED).map(|kind| kind.runs).sum::<u64>() + self.others;
        if beyond > 0 {
            failed.push(format!("and {beyond} more"));
        }
        let cells: BTreeSet<u32> =
            self.kinds.keys().map(|(cell, _)| *cell).filter(|cell| *cell < plan.cells()).collect();
        let in_every_cell = cells.len() == plan.cells() as usize;
        FailureSummary { failed, lost: self.told_lost(), reasons: self.reasons.clone(), in_every_cell }
    }

    /// Reasons that follow one another and are alike are told once.
    fn told_lost(&self) -> Vec<String> {
        let mut told: Vec<String> = self.lost.iter().map(|(_, text)| text.clone()).collect();
        told.dedup();
        told
    }
}

fn line(plan: &Plan, cell: u32, words: &str, kind: &Kind) -> Option<String> {
    if let Some(version) = cell.checked_sub(plan.cells()) {
        let version = &plan.experiment.version(VersionIndex(version))?.name;
        let text = format!("{version}, {}: {words}", counted(kind.runs, "build"));
        // A compiler says what is wrong after where that was included.
        return Some(with_stderr(text, &kind.stderr));
    }
    let cell = plan.cell_by_number(cell);
    let benchmark = &plan.experiment.benchmark(cell.benchmark)?.name;
    let version = &plan.experiment.version(cell.version)?.name;
    let runs = counted(kind.runs, "run");
    let first = kind.stderr.get(..1).unwrap_or_default();
    Some(with_stderr(format!("{benchmark} in {version}, {runs}: {words}"), first))
}

fn with_stderr(mut text: String, stderr: &[String]) -> String {
    for line in stderr {
        let _ = write!(text, "\n    {line}");
    }
    text
}

fn loss_words(reason: &LossReason) -> String {
    match reason {
        LossReason::Expired => "did not report before its lease ended".to_owned(),
        LossReason::HostLost => "lost, and did not come back in time".to_owned(),
        LossReason::AgentRestarted => "its agent restarted".to_owned(),
        LossReason::JobEnded { words, is_excused: true } => {
            format!("taken away by its engine ({})", shown(words))
        }
        LossReason::JobEnded { words, is_excused: false } => format!("its job ended ({})", shown(words)),
        LossReason::NotExecuted { reason, .. } => shown(reason),
    }
}

/// The first lines with something in them, as a terminal may have them.
fn first_lines(output: &[u8]) -> Vec<String> {
    let text = legible(output);
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).take(LINES).map(shown).collect()
}

fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use speedup_core::{plan, run::record::Output, value::seed::Seed};

    use super::*;
    use crate::plan::source::tests::PLAN;

    fn record(stderr: &[u8]) -> Record {
        let stderr = Output { kept: stderr.to_vec(), ..Output::default() };
        Record { stderr, ..Record::bare(Outcome::Measured) }
    }

    #[test]
    fn failures_are_told_by_cell_and_reason() {
        let plan = Plan::draw(plan::file::parse(PLAN, Seed(1)).unwrap());
        let mut failed = FailedRuns::default();
        let exit = |code| BenchmarkFailure::Exit { code, expected: 0 };
        failed.note_failed(1, &exit(2), &record(b"\nsort: no such\x1b[31m file\nmore\n"));
        failed.note_failed(1, &exit(2), &record(b"another"));
        failed.note_failed(0, &exit(3), &record(b""));
        let names: Vec<_> = plan.experiment.versions.iter().map(|version| version.name.as_str()).collect();
        let told = failed.told(&plan).failed;
        let [first, second] = &told[..] else { panic!("{told:?}") };
        assert!(first.starts_with(&format!("sort in {}, 1 run: exit code 3 ", names[0])), "{first}");
        assert!(second.starts_with(&format!("sort in {}, 2 runs: exit code 2 ", names[1])), "{second}");
        assert!(second.ends_with("\n    sort: no such\\x1b[31m file"), "{second}");
    }

    #[test]
    fn more_kinds_than_anybody_reads_are_counted() {
        let plan = Plan::draw(plan::file::parse(PLAN, Seed(1)).unwrap());
        let mut failed = FailedRuns::default();
        for signal in 0..=255 {
            failed.note_failed(0, &BenchmarkFailure::Signal { signal, core_dumped: false }, &record(b""));
        }
        let told = failed.told(&plan).failed;
        assert_eq!((told.len(), told.last().unwrap().as_str()), (LISTED + 1, "and 246 more"));
    }
}
