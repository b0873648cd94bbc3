//! A batch system that a file describes: which commands submit, list and cancel jobs, and what their answers mean. Pure: values
//! go in and words come out, an answer goes in and jobs come out.
//!
//! `file` reads the description.

mod file;
#[cfg(test)]
mod tests;

use regex::{Captures, Regex};
use thiserror::Error;

pub use file::{BatchFileError, MAX_FILE_BYTES, parse};

use crate::experiment::template::expand;

use super::{Job, JobEnd, JobState, Nodes};
use crate::{value::id::JobId, value::id::NodeName, value::time::Span};

/// Most jobs of one listing: as many as a user may allow at once, and those that ended lately.
pub(crate) const MAX_LISTED: usize = 50_000;
/// Most characters of an answer that an error repeats.
const MAX_REPEATED: usize = 200;

/// A batch system.
#[derive(Clone, Debug)]
pub struct BatchSystem {
    /// What the ids of its jobs and hosts begin with.
    pub name: String,
    /// How often its jobs are listed, where its user does not say.
    pub poll: Span,
    pub submit: Submit,
    pub job: InJob,
    pub list: List,
    pub cancel: Cancel,
    /// How jobs are kept from nodes, where that is possible.
    pub exclude: Option<Exclude>,
}

/// How a job is submitted.
#[derive(Clone, Debug)]
pub struct Submit {
    pub command: Vec<String>,
    /// What it reads, or what its file `{script}` holds.
    pub input: String,
    /// What finds the job's id in its answer.
    pub job: Regex,
    /// Words in front of the options that keep a job from ever starting: how a request is tried.
    pub trial: Option<Vec<String>>,
}

/// What a job says of itself, as its shell reads it within double quotes.
#[derive(Clone, Debug)]
pub struct InJob {
    pub id: String,
    pub node: String,
    /// How long it may last; no end is known where there is none.
    pub lasts: Option<Span>,
}

/// How jobs are listed.
#[derive(Clone, Debug)]
pub struct List {
    pub command: Vec<String>,
    /// What finds each job in its answer: the groups `id` and `state`, and `name` and `node` where they are told.
    pub job: Regex,
    /// What finds in the words of its failure that there are no jobs.
    pub none: Option<Regex>,
    /// What states mean, the first that matches.
    pub states: Vec<(Regex, JobState)>,
}

/// How a job is cancelled.
#[derive(Clone, Debug)]
pub struct Cancel {
    pub command: Vec<String>,
    /// What finds in the words of its failure that the job has ended already.
    pub gone: Option<Regex>,
}

/// How jobs are kept from nodes.
#[derive(Clone, Debug)]
pub struct Exclude {
    /// What stands for `{exclude}` when a job is submitted.
    pub words: Vec<String>,
    /// What is between two nodes.
    pub separator: String,
    /// The command that changes the nodes of a job that waits.
    pub change: Option<Vec<String>>,
}

/// What stands for the placeholders of a submission.
#[derive(Clone, Debug)]
pub struct JobRequest<'a> {
    pub name: &'a str,
    /// The directory where its output goes.
    pub logs: &'a str,
    pub script_file: &'a str,
    pub script: &'a str,
    /// What the user adds to the command.
    pub options: &'a [String],
    /// Nodes that it may not have.
    pub exclude: &'a Nodes,
    /// Whether it is only tried.
    pub is_trial: bool,
}

/// Why an answer is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{program} answered {answer:?}, in which {wanted}")]
pub struct AnswerError {
    pub program: String,
    pub answer: String,
    pub wanted: String,
}

impl BatchSystem {
    /// The command that submits a job.
    pub fn submission(&self, job: &JobRequest<'_>) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for word in &self.submit.command {
            match word.as_str() {
                "{options}" => {
                    if job.is_trial {
                        words.extend(self.submit.trial.iter().flatten().cloned());
                    }
                    words.extend(job.options.iter().cloned());
                }
                "{exclude}" => words.extend(self.exclude_words(job.exclude)),
                word => words.push(self.filled(word, job, job.script_file)),
            }
        }
        words
    }

    /// What the command reads, or what its file holds.
    pub fn input(&self, job: &JobRequest<'_>) -> String {
        self.filled(&self.submit.input, job, job.script)
    }

    /// Whether the command takes its input as a file.
    pub fn takes_file(&self) -> bool {
        self.submit.command.iter().any(|word| word.contains("{script}"))
    }

    /// The id of the job that was submitted.
    pub fn submitted(&self, answer: &str) -> Result<JobId, AnswerError> {
        let command = &self.submit.command;
        let Some(found) = self.submit.job.captures(answer) else {
            return Err(self.wrong(command, answer, "submit.job finds no job"));
        };
        let id = found.name("id").or_else(|| found.get(1)).map_or("", |id| id.as_str());
        self.job_id(id).ok_or_else(|| self.wrong(command, answer, "what submit.job finds is no id"))
    }

    /// The command that lists the jobs of a name.
    pub fn listing(&self, name: &str) -> Vec<String> {
        self.list.command.iter().map(|word| filled(word, &[("name", name)])).collect()
    }

    /// The jobs of a name in an answer.
    pub fn listed(&self, answer: &str, name: &str) -> Result<Vec<Job>, AnswerError> {
        let found = self
            .list
            .job
            .captures_iter(answer)
            .filter(|found| found.name("name").is_none_or(|word| word.as_str() == name));
        let jobs: Result<Vec<Job>, _> = found.take(MAX_LISTED).map(|found| self.job(&found)).collect();
        let jobs = jobs.map_err(|id| self.wrong(&self.list.command, &id, "what list.job finds is no id"))?;
        if jobs.len() == MAX_LISTED {
            return Err(self.wrong(&self.list.command, answer, "there are too many jobs"));
        }
        Ok(jobs)
    }

    /// Whether a listing failed because there are no jobs.
    pub fn has_none(&self, words: &str) -> bool {
        self.list.none.as_ref().is_some_and(|none| none.is_match(words))
    }

    /// The commands that cancel jobs.
    pub fn cancellations(&self, jobs: &[JobId]) -> Vec<Vec<String>> {
        let ids: Vec<&str> = jobs.iter().map(|job| self.own_id(job)).collect();
        let command = &self.cancel.command;
        if let Some(at) = command.iter().position(|word| word == "{jobs}") {
            let mut words = command.clone();
            words.splice(at..=at, ids.iter().map(ToString::to_string));
            return vec![words];
        }
        let mut commands = Vec::with_capacity(ids.len());
        for id in ids {
            commands.push(command.iter().map(|word| filled(word, &[("job", id)])).collect());
        }
        commands
    }

    /// Whether a cancellation failed because the job has ended already.
    pub fn has_gone(&self, words: &str) -> bool {
        self.cancel.gone.as_ref().is_some_and(|gone| gone.is_match(words))
    }

    /// The command that keeps a job that waits from these nodes, where there is one.
    pub fn exclusion(&self, job: &JobId, nodes: &Nodes) -> Option<Vec<String>> {
        let Exclude { separator, change, .. } = self.exclude.as_ref()?;
        let nodes = joined(nodes, separator);
        let values = [("nodes", nodes.as_str()), ("job", self.own_id(job))];
        Some(change.as_ref()?.iter().map(|word| filled(word, &values)).collect())
    }

    fn filled(&self, text: &str, job: &JobRequest<'_>, script: &str) -> String {
        let json = serde_json::Value::from(job.script).to_string();
        let exclude = self.exclude_words(job.exclude).join(" ");
        let values = [
            ("name", job.name),
            ("logs", job.logs),
            ("script", script),
            ("script_json", &json),
            ("exclude", &exclude),
        ];
        filled(text, &values)
    }

    fn exclude_words(&self, nodes: &Nodes) -> Vec<String> {
        let Some(Exclude { words, separator, .. }) = &self.exclude else { return Vec::new() };
        if nodes.is_empty() {
            return Vec::new();
        }
        let nodes = joined(nodes, separator);
        words.iter().map(|word| filled(word, &[("nodes", nodes.as_str())])).collect()
    }

    /// The error is what should be an id.
    fn job(&self, found: &Captures<'_>) -> Result<Job, String> {
        let words = group(found, "state").to_owned();
        let known = self.list.states.iter().find(|(state, _)| state.is_match(&words));
        // A state that is not known is taken for one about to end: its job is left alone, and nothing is expected of it.
        let state = known.map_or(JobState::Ending, |(_, state)| *state);
        let node = if state == JobState::Queued { None } else { group(found, "node").parse().ok() };
        let id = group(found, "id");
        let id = self.job_id(id).ok_or_else(|| id.to_owned())?;
        Ok(Job { id, state, words, node, started: None, ends: None })
    }

    /// As all else calls a job of its own id.
    fn job_id(&self, own: &str) -> Option<JobId> {
        if own.is_empty() { None } else { format!("{}:{own}", self.name).parse().ok() }
    }

    /// As it calls the job itself.
    fn own_id<'a>(&self, job: &'a JobId) -> &'a str {
        let prefix = job.as_str().strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix(':'));
        prefix.unwrap_or(job.as_str())
    }

    fn wrong(&self, command: &[String], answer: &str, wanted: &str) -> AnswerError {
        let program = command.first().cloned().unwrap_or_default();
        let answer = answer.trim().lines().next().unwrap_or_default().chars().take(MAX_REPEATED).collect();
        AnswerError { program, answer, wanted: wanted.to_owned() }
    }
}

/// The text of a named group of a job; empty where there is none.
fn group<'a>(found: &Captures<'a>, name: &str) -> &'a str {
    found.name(name).map_or("", |group| group.as_str().trim())
}

/// With the values of its placeholders.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let expanded =
        expand(text, |name| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value));
    expanded.expect("every placeholder was checked when the file was read")
}

fn joined(nodes: &Nodes, separator: &str) -> String {
    nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(separator)
}

/// The words of states in a file, and what each means here.
const STATES: [(&str, JobState); 8] = [
    ("queued", JobState::Queued),
    ("running", JobState::Running),
    ("ending", JobState::Ending),
    ("completed", JobState::Ended(JobEnd::Completed)),
    ("failed", JobState::Ended(JobEnd::Failed)),
    ("cancelled", JobState::Ended(JobEnd::Cancelled)),
    ("timed_out", JobState::Ended(JobEnd::TimedOut)),
    ("preempted", JobState::Ended(JobEnd::Preempted)),
];
