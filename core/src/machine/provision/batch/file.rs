//! The file that describes a batch system: TOML, every key of which is checked before anything is submitted. An error names line and
//! column, shows the line, and ends in a hint.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use crate::experiment::template;

use super::{BatchSystem, Cancel, Exclude, InJob, List, STATES, Submit};
use crate::plan::file::{Flaws, PlanFileError, nearest, span};
use crate::value::id::QueueName;
use crate::value::time::Span;

/// Largest file: a description has some dozens of lines, and a manifest for each job some dozens more.
pub const MAX_FILE_BYTES: usize = 64 << 10;
/// Most words of a command.
const MAX_WORDS: usize = 100;
/// Longest name of a system: ids of jobs and hosts begin with it.
const MAX_NAME_BYTES: usize = 32;
/// Most bytes of a compiled regular expression: none that reads a line of a listing comes near.
const MAX_REGEX_BYTES: usize = 1 << 20;
/// How often jobs are listed, where nothing is said.
const POLL: Span = Span::from_secs(10);

/// Why a text describes no batch system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
pub struct BatchFileError(#[from] PlanFileError);

/// The file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    name: Spanned<String>,
    poll: Option<Spanned<String>>,
    submit: SubmitForm,
    job: JobForm,
    list: ListForm,
    cancel: CancelForm,
    exclude: Option<ExcludeForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmitForm {
    command: Words,
    input: Option<Spanned<String>>,
    job: Spanned<String>,
    trial: Option<Words>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobForm {
    id: Spanned<String>,
    node: Spanned<String>,
    lasts: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListForm {
    command: Words,
    job: Spanned<String>,
    none: Option<Spanned<String>>,
    states: Spanned<toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelForm {
    command: Words,
    gone: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExcludeForm {
    words: Words,
    separator: Spanned<String>,
    change: Option<Words>,
}

type Words = Spanned<Vec<Spanned<String>>>;

/// The batch system that a file describes.
pub fn parse(text: &str) -> Result<BatchSystem, BatchFileError> {
    let mut flaws = Flaws::default();
    let system = read(text, &mut flaws);
    flaws.into_result(text)?;
    Ok(system.expect("what cannot be read has a flaw"))
}

fn read(text: &str, flaws: &mut Flaws) -> Option<BatchSystem> {
    if text.len() > MAX_FILE_BYTES {
        let cause = format!("the file has {} bytes, but at most {MAX_FILE_BYTES} are read", text.len());
        flaws.note(0..0, || (cause, "leave out what does not describe the batch system".to_owned()));
        return None;
    }
    let form: Form = match toml::from_str(text) {
        Ok(form) => form,
        Err(error) => {
            let hint = "docs/batch.md lists the keys; `deploy/batch/` has complete files".to_owned();
            flaws.note(error.span().unwrap_or(0..0), || (error.message().to_owned(), hint));
            return None;
        }
    };
    let mut check = Check { flaws };
    let submit = check.submit(&form);
    let list = check.list(&form.list);
    Some(BatchSystem {
        name: check.name(&form.name),
        poll: check.time(form.poll.as_ref()).unwrap_or(POLL),
        submit: submit?,
        job: check.job(&form.job),
        list: list?,
        cancel: check.cancel(&form.cancel)?,
        exclude: form.exclude.as_ref().map(|exclude| check.exclude(exclude)),
    })
}

/// Notes what is wrong.
struct Check<'a> {
    flaws: &'a mut Flaws,
}

impl Check<'_> {
    fn note(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.flaws.note(span, || (message.into(), hint.into()));
    }

    fn name(&mut self, name: &Spanned<String>) -> String {
        let text = name.get_ref();
        let is_name = text.parse::<QueueName>().is_ok() && !text.contains(':');
        if !is_name || text.len() > MAX_NAME_BYTES || text == "local" {
            let message = format!("{text:?} cannot be the name of a batch system");
            let hint = format!(
                "write letters, digits, `.`, `_` and `-`, at most {MAX_NAME_BYTES}; `local` is taken"
            );
            self.note(name.span(), message, hint);
        }
        text.clone()
    }

    fn time(&mut self, text: Option<&Spanned<String>>) -> Option<Span> {
        let text = text?;
        let found = span(text.get_ref()).filter(|span| *span > Span(0));
        if found.is_none() {
            let message = format!("{:?} is not a length of time", text.get_ref());
            self.note(text.span(), message, "write a length of time with its unit: \"30s\" or \"10m\"");
        }
        found
    }

    fn submit(&mut self, form: &Form) -> Option<Submit> {
        let SubmitForm { command, input, job, trial } = &form.submit;
        let words = self.words(command, &["name", "logs", "script"], &["options", "exclude"]);
        let known = ["name", "logs", "script", "script_json", "exclude"];
        if let Some(input) = input {
            self.placeholders(input, &known, &[]);
            let has_script =
                input.get_ref().contains("{script}") || input.get_ref().contains("{script_json}");
            if !has_script {
                let hint = "put {script} or {script_json} where the job's script belongs";
                self.note(input.span(), "the input does not have the job's script", hint);
            }
        }
        let input_text = input.as_ref().map_or("{script}", |input| input.get_ref().as_str());
        let excludes = words.iter().any(|word| word == "{exclude}") || input_text.contains("{exclude}");
        match &form.exclude {
            Some(exclude) if !excludes => {
                let hint = "put the word {exclude} into submit.command, or {exclude} into submit.input";
                self.note(exclude.words.span(), "no submission uses the excluded nodes", hint);
            }
            None if excludes => {
                let hint = "add [exclude] with words and separator, or leave {exclude} out";
                self.note(command.span(), "{exclude} is used, but nothing says what stands for it", hint);
            }
            Some(_) | None => {}
        }
        if let Some(trial) = trial.as_ref().filter(|_| !words.iter().any(|word| word == "{options}")) {
            let hint = "add the word {options} to submit.command: the words of the trial stand there, too";
            self.note(trial.span(), "no command has these words", hint);
        }
        let trial = trial.as_ref().map(|trial| self.words(trial, &[], &[]));
        let regex = self.regex(job)?;
        if regex.captures_len() < 2 {
            let hint = "put parentheses around the id: '^([0-9]+)'";
            self.note(job.span(), "the expression has no group that is the job's id", hint);
        }
        Some(Submit { command: words, input: input_text.to_owned(), job: regex, trial })
    }

    fn job(&mut self, JobForm { id, node, lasts }: &JobForm) -> InJob {
        for expression in [id, node] {
            let text = expression.get_ref();
            if text.is_empty() || text.chars().any(char::is_control) {
                let hint =
                    "write what the job's shell puts in within double quotes: \"$JOB_ID\" or \"$(hostname)\"";
                self.note(expression.span(), "a shell cannot read this within double quotes", hint);
            }
        }
        let id = id.get_ref().clone();
        let node = node.get_ref().clone();
        InJob { id, node, lasts: self.time(lasts.as_ref()) }
    }

    fn list(&mut self, ListForm { command, job, none, states }: &ListForm) -> Option<List> {
        let words = self.words(command, &["name"], &[]);
        let none = none.as_ref().and_then(|none| self.regex(none));
        let states = self.states(states);
        let regex = self.regex(job)?;
        let groups: Vec<&str> = regex.capture_names().flatten().collect();
        for wanted in ["id", "state"] {
            if !groups.contains(&wanted) {
                let hint = format!("name a group: (?<{wanted}>…)");
                self.note(job.span(), format!("the expression has no group `{wanted}`"), hint);
            }
        }
        for group in &groups {
            if !["id", "state", "name", "node"].contains(group) {
                let hint = "the groups are id, state, name, and node";
                self.note(job.span(), format!("nothing uses the group `{group}`"), hint);
            }
        }
        if !groups.contains(&"name") && !words.iter().any(|word| word.contains("{name}")) {
            let hint = "find the job's name by a group (?<name>…), or list only jobs of the name {name}";
            self.note(job.span(), "nothing tells these jobs from others", hint);
        }
        Some(List { command: words, job: regex, none, states })
    }

    fn states(&mut self, states: &Spanned<toml::Table>) -> Vec<(Regex, super::JobState)> {
        let known = STATES.map(|(word, _)| word);
        for key in states.get_ref().keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = match nearest(key, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("possible here: {}", known.join(", ")),
            };
            self.note(states.span(), format!("`{key}` is not a state"), hint);
        }
        for wanted in ["queued", "running"] {
            if !states.get_ref().contains_key(wanted) {
                let hint = format!("add {wanted} = 'EXPRESSION' to [list.states]");
                self.note(states.span(), format!("nothing says which jobs are {wanted}"), hint);
            }
        }
        let mut found = Vec::new();
        for (word, state) in STATES {
            let Some(value) = states.get_ref().get(word) else { continue };
            let Some(text) = value.as_str() else {
                let hint = format!("write {word} = 'EXPRESSION'");
                self.note(states.span(), format!("`{word}` is not a text"), hint);
                continue;
            };
            // The whole word, so that `r` is not found in `qr`.
            let whole = Spanned::new(states.span(), format!("^(?:{text})$"));
            found.extend(self.regex(&whole).map(|regex| (regex, state)));
        }
        found
    }

    fn cancel(&mut self, CancelForm { command, gone }: &CancelForm) -> Option<Cancel> {
        let words = self.words(command, &["job"], &["jobs"]);
        if !words.iter().any(|word| word.contains("{job}") || word == "{jobs}") {
            let hint = "add the word {jobs}, for all at once, or {job}, for a command each";
            self.note(command.span(), "the command does not say which jobs", hint);
        }
        let gone = match gone {
            Some(gone) => Some(self.regex(gone)?),
            None => None,
        };
        Some(Cancel { command: words, gone })
    }

    fn exclude(&mut self, ExcludeForm { words, separator, change }: &ExcludeForm) -> Exclude {
        let change = change.as_ref().map(|change| {
            let filled = self.words(change, &["nodes", "job"], &[]);
            if !filled.iter().any(|word| word.contains("{job}")) {
                self.note(change.span(), "the command does not say which job", "add the word {job}");
            }
            filled
        });
        let filled = self.words(words, &["nodes"], &[]);
        if !filled.iter().any(|word| word.contains("{nodes}")) {
            self.note(words.span(), "these words do not have the nodes", "put {nodes} where they belong");
        }
        Exclude { words: filled, separator: separator.get_ref().clone(), change }
    }

    /// A command: `within` may stand anywhere in a word, `alone` only as a whole one, since they are several words.
    fn words(&mut self, words: &Words, within: &[&str], alone: &[&str]) -> Vec<String> {
        if words.get_ref().is_empty() || words.get_ref().len() > MAX_WORDS {
            let message = format!("a command has 1 to {MAX_WORDS} words, not {}", words.get_ref().len());
            self.note(words.span(), message, "write the program and its arguments: [\"qsub\", \"-terse\"]");
        }
        for word in words.get_ref() {
            if word.get_ref().contains('\0') {
                self.note(word.span(), "a word holds a zero byte", "leave it out");
            }
            self.placeholders(word, within, alone);
        }
        words.get_ref().iter().map(|word| word.get_ref().clone()).collect()
    }

    fn placeholders(&mut self, text: &Spanned<String>, within: &[&str], alone: &[&str]) {
        for name in template::placeholders(text.get_ref()) {
            let is_alone = text.get_ref().len() == name.len() + 2;
            if within.contains(&name) || is_alone && alone.contains(&name) {
                continue;
            }
            if alone.contains(&name) {
                let hint = format!("write \"{{{name}}}\" as a word of its own: it stands for several");
                self.note(text.span(), format!("{{{name}}} is part of a word"), hint);
                continue;
            }
            let known: Vec<&str> = within.iter().chain(alone).copied().collect();
            let doubling = template::doubling_hint(name);
            let hint = match nearest(name, &known) {
                Some(near) => format!("did you mean {{{near}}}?"),
                None if known.is_empty() => doubling,
                None => format!("possible here: {{{}}}; {doubling}", known.join("}, {")),
            };
            self.note(text.span(), format!("{{{name}}} is not a placeholder here"), hint);
        }
    }

    /// `^` and `$` match at lines, and what is not told otherwise within one.
    fn regex(&mut self, text: &Spanned<String>) -> Option<Regex> {
        let regex = RegexBuilder::new(text.get_ref()).multi_line(true).size_limit(MAX_REGEX_BYTES).build();
        regex
            .map_err(|error| {
                let cause = error.to_string();
                let last = cause.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let hint = "write a regular expression in single quotes: '^([0-9]+)'";
                self.note(text.span(), format!("not a regular expression: {last}"), hint);
            })
            .ok()
    }
}
