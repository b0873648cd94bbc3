//! What an experiment measures: its description, its versions and its commands.

use std::collections::BTreeMap;

use maud::{Markup, html};
use speedup_proto::v1::command_line::Line;
use speedup_proto::v1::{Benchmark, CommandLine, Experiment, ExportHead, Version};

use super::{counted, grouped, scrolling};

/// Rows of a table: the commands of more benchmarks stand in the export.
const SHOWN: usize = 50;
/// Digits of the id of a commit that are shown, as in reports.
const SHORT_DIGITS: usize = 12;

pub(super) fn part(planned: &ExportHead) -> Markup {
    let Some(experiment) = &planned.experiment else { return html! {} };
    let taken: Vec<&Benchmark> = match planned.benchmarks.as_slice() {
        [] => experiment.benchmarks.iter().collect(),
        places => places.iter().filter_map(|at| experiment.benchmarks.get(*at as usize)).collect(),
    };
    html! {
        section aria-labelledby="h-plan" {
            h2 #h-plan { "Plan" }
            @if !experiment.description.is_empty() { p { (experiment.description) } }
            @if !experiment.selection.is_empty() { p { "Its benchmarks were chosen by " code { (experiment.selection) } "." } }
            details {
                summary {
                    (counted(experiment.versions.len() as u64, "version")) ", "
                    (counted(taken.len() as u64, "benchmark")) " and their commands"
                }
                (versions(experiment))
                (benchmarks(&taken))
            }
        }
    }
}

fn versions(experiment: &Experiment) -> Markup {
    let rows = html! {
        table {
            caption.hidden { "Versions, the baseline first" }
            thead { tr { th scope="col" { "Version" } th scope="col" { "Command" } th scope="col" { "Set" } } }
            tbody {
                @for version in &experiment.versions {
                    tr {
                        th.name scope="row" { (version.name) }
                        td.long { (version_command(version)) }
                        td.long { @for set in set(&version.env).chain(set(&version.vars)) { code { (set) } " " } }
                    }
                }
            }
        }
    };
    scrolling("Versions", &rows)
}

fn version_command(version: &Version) -> Markup {
    let build = version.build.as_ref().and_then(|build| build.command.as_ref());
    html! {
        @match &version.command {
            Some(command) => code { (line(command)) },
            None => span.quiet { "the benchmark's" },
        }
        @if let Some(build) = build { br; "built by " code { (line(build)) } }
        @if let Some(commit) = &version.commit {
            br; "of commit " code title=(commit.id) { (short(&commit.id)) } " (" (commit.revision) ") " (commit.subject)
        }
    }
}

/// The id of a commit as people are shown it; the whole one stands behind it.
fn short(id: &str) -> &str {
    id.get(..SHORT_DIGITS).unwrap_or(id)
}

fn benchmarks(taken: &[&Benchmark]) -> Markup {
    let rows = html! {
        table {
            caption.hidden { "Benchmarks" }
            thead { tr { th scope="col" { "Benchmark" } th scope="col" { "Command" } } }
            tbody {
                @for benchmark in taken.iter().take(SHOWN) {
                    tr {
                        th.name scope="row" { (benchmark.name) }
                        td.long {
                            @match &benchmark.command {
                                Some(command) => code { (line(command)) },
                                None => span.quiet { "the version's" },
                            }
                        }
                    }
                }
            }
        }
    };
    html! {
        (scrolling("Benchmarks", &rows))
        @if let Some(more) = taken.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            p.quiet { "and " (grouped(more as u64)) " more, which stand in the export" }
        }
    }
}

/// What is set, in the order of the names.
fn set(values: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    values.iter().map(|(name, value)| format!("{name}={value}"))
}

/// A command in one line: words that would not be seen as one are quoted.
fn line(command: &CommandLine) -> String {
    let word = |word: &String| {
        let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control());
        if is_plain { word.clone() } else { format!("{word:?}") }
    };
    match &command.line {
        Some(Line::Exact(argv)) => argv.words.iter().map(word).collect::<Vec<_>>().join(" "),
        Some(Line::Shell(line)) => format!("sh -c {line}"),
        None => String::new(),
    }
}
