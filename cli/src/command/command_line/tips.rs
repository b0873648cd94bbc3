//! Tips on a verb or a flag that does not exist: what other tools call it, or where it belongs.

use std::ffi::OsString;

use clap::{Command, error::ContextKind, error::ContextValue, error::ErrorKind};
use speedup_formats::Format;

/// What a verb is called elsewhere, and what it is here; the first that exists where it was typed is told.
pub(super) const VERBS: [(&str, &[&str]); 34] = [
    ("add", &["token create", "hosts local add"]),
    ("agents", &["hosts list"]),
    ("analyse", &["report", "compare"]),
    ("analyze", &["report", "compare"]),
    ("benchmark", &["bench"]),
    ("check", &["plan check", "doctor"]),
    ("cmp", &["compare"]),
    ("delete", &["remove", "revoke", "cancel"]),
    ("diff", &["compare"]),
    ("enroll", &["enrol", "access enrol"]),
    ("enrol", &["access enrol"]),
    ("experiments", &["list"]),
    ("get", &["show", "report"]),
    ("info", &["show", "report"]),
    ("kill", &["cancel"]),
    ("login", &["access enrol"]),
    ("logs", &["events"]),
    ("ls", &["list"]),
    ("measure", &["bench"]),
    ("new", &["create", "init"]),
    ("nodes", &["hosts list"]),
    ("ps", &["list"]),
    ("results", &["report"]),
    ("rm", &["remove", "revoke", "cancel"]),
    ("save", &["import"]),
    ("schema", &["plan schema"]),
    ("show", &["report"]),
    ("start", &["run", "add"]),
    ("status", &["show", "list", "watch"]),
    ("stop", &["remove", "drain", "cancel"]),
    ("time", &["bench"]),
    ("tokens", &["token list"]),
    ("validate", &["plan check"]),
    ("whoami", &["access whoami"]),
];

/// What a flag is called by criterion, pytest-benchmark, Google Benchmark, Go or by habit, and what it is here; the first
/// that the verb has is told.
pub(super) const FLAGS: [(&str, &[&str]); 57] = [
    ("--alpha", &["--confidence"]),
    ("--benchmark-compare", &["--baseline"]),
    ("--benchmark-compare-fail", &["--fail-on-regression"]),
    ("--benchmark-json", &["--export-json", "--format json"]),
    ("--benchmark-max-time", &["--min-benchmarking-time"]),
    ("--benchmark-min-rounds", &["--min-runs"]),
    ("--benchmark-min-time", &["--min-benchmarking-time"]),
    ("--benchmark-save", &["--save-baseline"]),
    ("--benchmark-sort", &["--sort"]),
    ("--benchmark-warmup", &["--warmup"]),
    ("--benchmark-warmup-iterations", &["--warmup"]),
    ("--benchmark_format", &["--format"]),
    ("--benchmark_min_time", &["--min-benchmarking-time"]),
    ("--benchmark_out", &["--export-json", "--output"]),
    ("--benchmark_repetitions", &["--runs"]),
    ("--colour", &["--color"]),
    ("--conf-level", &["--confidence"]),
    ("--confidence", &["--conf-level"]),
    ("--confidence-level", &["--confidence", "--conf-level"]),
    ("--conf", &["--confidence", "--conf-level"]),
    ("--count", &["--runs", "--limit"]),
    ("--csv", &["--format csv", "--export-csv"]),
    ("--data-dir", &["--data"]),
    ("--debug", &["--log debug"]),
    ("--directory", &["--data"]),
    ("--file", &["--output"]),
    ("--form", &["--format"]),
    ("--format", &["--input-format"]),
    ("--html", &["--format html"]),
    ("--iterations", &["--runs"]),
    ("--json", &["--format json", "--export-json"]),
    ("--latex", &["--format latex"]),
    ("--level", &["--confidence", "--conf-level"]),
    ("--load-baseline", &["--baseline"]),
    ("--log-level", &["--log"]),
    ("--markdown", &["--format md", "--export-markdown"]),
    ("--max", &["--max-runs", "--limit"]),
    ("--md", &["--format md", "--export-markdown"]),
    ("--measurement-time", &["--min-benchmarking-time"]),
    ("--min", &["--min-runs"]),
    ("--no-color", &["--color never"]),
    ("--no-colour", &["--color never"]),
    ("--nresamples", &["--bootstrap"]),
    ("--out", &["--output"]),
    ("--outfile", &["--output"]),
    ("--percentile", &["--quantile"]),
    ("--repeat", &["--runs"]),
    ("--repetitions", &["--runs"]),
    ("--rounds", &["--runs"]),
    ("--sample-size", &["--runs"]),
    ("--samples", &["--runs"]),
    ("--server", &["--coordinator"]),
    ("--significance-level", &["--confidence"]),
    ("--tolerance", &["--margin", "--noise-threshold"]),
    ("--url", &["--coordinator"]),
    ("--verbose", &["--log debug"]),
    ("--warm-up-time", &["--warmup"]),
];

/// Verbs that are named where several have a flag: enough to recognise the one that was meant.
const MOST_NAMED: usize = 3;

/// The error with a tip that fits instead of one that misleads.
pub(crate) fn improved(mut error: clap::Error, words: &[OsString], root: &Command) -> clap::Error {
    let words: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let (path, verb) = verb_of(&words, root);
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            // It says to pass the flag as a value, which is hardly ever what was meant.
            error.remove(ContextKind::Suggested);
            string(&error, ContextKind::InvalidArg).and_then(|flag| on_flag(flag, &path, verb, root))
        }
        ErrorKind::InvalidSubcommand => {
            string(&error, ContextKind::InvalidSubcommand).and_then(|word| on_verb(word, &path, verb))
        }
        ErrorKind::InvalidValue => on_value(&error, verb),
        _ => None,
    };
    if let Some(tip) = tip {
        for guess in
            [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        {
            error.remove(guess);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn string(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// The verb that the words name, wherever it stands among them, and its path.
fn verb_of<'a>(words: &[&str], root: &'a Command) -> (String, &'a Command) {
    let (mut path, mut verb) = ("speedup".to_owned(), root);
    for word in words.iter().take_while(|word| **word != "--") {
        if let Some(inner) = verb.find_subcommand(word) {
            path = format!("{path} {word}");
            verb = inner;
        }
    }
    (path, verb)
}

/// Whether `verb` has the flag, which may have a value behind it.
fn has(verb: &Command, root: &Command, flag: &str) -> bool {
    let name = flag.split(' ').next().unwrap_or(flag);
    let all = verb.get_arguments().chain(root.get_arguments().filter(|arg| arg.is_global_set()));
    let mut longs = all.flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default());
    longs.any(|long| name.strip_prefix("--") == Some(long))
}

fn on_flag(flag: &str, path: &str, verb: &Command, root: &Command) -> Option<String> {
    let flag = flag.split('=').next().unwrap_or(flag);
    if has(verb, root, flag) {
        return Some(format!("put '{flag}' after the command: '{path} {flag} …'"));
    }
    let called = FLAGS.iter().find(|(name, _)| *name == flag);
    if let Some(here) = called.and_then(|(_, here)| here.iter().find(|here| has(verb, root, here))) {
        return Some(format!("use '{here}' instead"));
    }
    let others_options = [
        ("speedup hosts slurm add", "sbatch"),
        ("speedup hosts batch add", "the command that submits a job"),
        ("speedup hosts ssh add", "ssh"),
    ];
    if let Some((_, program)) = others_options.into_iter().find(|(verb, _)| *verb == path) {
        return Some(format!("put options of {program} after '--': '{path} -- {flag} …'"));
    }
    let mut others = Vec::new();
    with_flag(root, "speedup", flag, &mut others);
    others.truncate(MOST_NAMED);
    if others.is_empty() || !flag.starts_with("--") {
        return None;
    }
    let others: Vec<String> = others.iter().map(|other| format!("'{other} {flag}'")).collect();
    Some(format!("other commands have it: {}", others.join(", ")))
}

/// The paths of the verbs below `command` that have the flag.
fn with_flag(command: &Command, path: &str, flag: &str, found: &mut Vec<String>) {
    for verb in command.get_subcommands() {
        let path = format!("{path} {}", verb.get_name());
        let mut longs = verb.get_arguments().filter_map(|arg| arg.get_long());
        if longs.any(|long| flag.strip_prefix("--") == Some(long)) {
            found.push(path.clone());
        }
        with_flag(verb, &path, flag, found);
    }
}

fn on_verb(word: &str, path: &str, verb: &Command) -> Option<String> {
    if path == "speedup" && word.contains(char::is_whitespace) {
        return Some(format!("to measure a command, use 'speedup bench \"{word}\"'"));
    }
    if path == "speedup" && word.ends_with(".toml") {
        return Some(format!("to run a plan on this machine, use 'speedup run {word}'"));
    }
    let (_, here) = VERBS.iter().find(|(name, _)| *name == word)?;
    let here = here.iter().find(|here| {
        let mut names = here.split(' ');
        names.try_fold(verb, |verb, name| verb.find_subcommand(name)).is_some()
    })?;
    Some(format!("use '{path} {here}' instead"))
}

/// `--format` was the form of what is read before it was that of what is printed.
fn on_value(error: &clap::Error, verb: &Command) -> Option<String> {
    let is_form = string(error, ContextKind::InvalidArg)?.starts_with("--format ");
    let value = string(error, ContextKind::InvalidValue)?;
    let reads = verb.get_arguments().any(|arg| arg.get_long() == Some("input-format"));
    if !is_form || !reads || value.parse::<Format>().is_err() {
        return None;
    }
    Some(format!("use '--input-format {value}' for the format of the input files"))
}
