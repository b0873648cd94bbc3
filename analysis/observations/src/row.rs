//! A row of an export: an attempt, a report that came too late, or a planned run that nothing became of.

use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::{AfterLoss, record::Outcome, record::RankTime, record::Record};
use speedup_core::{plan::Place, value::id::RunIndex};

#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// The run it is about.
    pub(super) planned: PlannedRun<'a>,
    /// What is said of it.
    pub(super) subject: Subject<'a>,
    /// The rank that it is about, if it is about one of the subject's.
    pub(super) rank: Option<&'a RankTime>,
}

/// A run as it was planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRun<'a> {
    pub(super) experiment: &'a str,
    pub(super) name: &'a str,
    pub(super) benchmark: &'a str,
    pub(super) version: &'a str,
    /// The commit that the version was built from, if it was.
    pub(super) commit: Option<&'a str>,
    /// How many hosts serve it together, where the plan says.
    pub(super) hosts: Option<u32>,
    pub(super) run: RunIndex,
    /// The how-manieth run of its cell, from 1.
    pub(super) repetition: u32,
    /// The visit it belongs to.
    pub(super) place: Place,
}

/// What a row is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    Attempt(&'a EndedAttempt),
    /// The part of another host in a run that several served.
    Part(&'a EndedAttempt, &'a Record),
    /// The report of an attempt that had been given up.
    Late(&'a EndedAttempt, &'a Record),
    /// A run that no attempt settled.
    Unsettled {
        /// Whether none ever will.
        cancelled: bool,
    },
}

speedup_core::words! {
    /// What became of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum RunEnd {
        Measured = "measured",
        Failed = "failed",
        Abandoned = "abandoned",
        Cancelled = "cancelled",
        Open = "open",
    }
    fn name;
}

/// What an attempt made of its run, if anything.
pub(super) fn settled_by(ended: &EndedAttempt) -> Option<RunEnd> {
    match &ended.end {
        AttemptEnd::Reported(_) if ended.lease.is_of_member() => None,
        AttemptEnd::Reported(record) => Some(match record.outcome {
            Outcome::Measured => RunEnd::Measured,
            // What was not executed is lost, never reported; should it be, it is no measurement.
            Outcome::Failed(_) | Outcome::NotExecuted { .. } => RunEnd::Failed,
        }),
        AttemptEnd::Lost { after: AfterLoss::Again(_), .. } => None,
        AttemptEnd::Lost { after: AfterLoss::Abandoned, .. } => Some(RunEnd::Abandoned),
        AttemptEnd::Lost { after: AfterLoss::Cancelled, .. } => Some(RunEnd::Cancelled),
    }
}

impl<'a> Row<'a> {
    pub(super) fn run(&self) -> RunIndex {
        self.planned.run
    }

    /// What became of the run, on the one row that says so.
    pub(super) fn run_end(&self) -> Option<RunEnd> {
        match self.subject {
            _ if self.rank.is_some() => None,
            Subject::Attempt(ended) => settled_by(ended),
            Subject::Late(..) | Subject::Part(..) => None,
            Subject::Unsettled { cancelled: true } => Some(RunEnd::Cancelled),
            Subject::Unsettled { cancelled: false } => Some(RunEnd::Open),
        }
    }

    /// Whether it is an observation for the analysis.
    pub(super) fn counts(&self) -> bool {
        self.run_end() == Some(RunEnd::Measured)
    }

    pub(super) fn why_not(&self) -> Option<&'static str> {
        match self.subject {
            _ if self.rank.is_some() => Some("rank"),
            Subject::Attempt(_) if self.counts() => None,
            Subject::Attempt(EndedAttempt { end: AttemptEnd::Reported(_), .. }) => Some("failed"),
            Subject::Attempt(EndedAttempt { end: AttemptEnd::Lost { .. }, .. }) => Some("lost"),
            Subject::Part(..) => Some("part"),
            Subject::Late(..) => Some("superseded"),
            Subject::Unsettled { cancelled: true } => Some("cancelled"),
            Subject::Unsettled { cancelled: false } => Some("not_executed_yet"),
        }
    }

    /// The attempt, where there was one.
    pub(super) fn ended(&self) -> Option<&'a EndedAttempt> {
        match self.subject {
            Subject::Attempt(ended) | Subject::Part(ended, _) | Subject::Late(ended, _) => Some(ended),
            Subject::Unsettled { .. } => None,
        }
    }

    /// What the agent said was done, where it said anything.
    pub(super) fn record(&self) -> Option<&'a Record> {
        match self.subject {
            Subject::Attempt(EndedAttempt { end: AttemptEnd::Reported(record), .. }) => Some(record.as_ref()),
            Subject::Part(_, record) | Subject::Late(_, record) => Some(record),
            Subject::Attempt(EndedAttempt { end: AttemptEnd::Lost { .. }, .. })
            | Subject::Unsettled { .. } => None,
        }
    }

    /// How the attempt ended, in a word.
    pub(super) fn outcome(&self) -> Option<&'static str> {
        match self.record() {
            Some(record) => Some(match record.outcome {
                Outcome::Measured => "measured",
                Outcome::Failed(_) => "failed",
                Outcome::NotExecuted { .. } => "not_executed",
            }),
            None => self.ended().map(|_| "lost"),
        }
    }
}
