//! The command line as a whole: what all verbs have in common is added to what each of them declares.

mod tips;

use std::{ffi::OsString, fmt::Write as _, path::PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _, value_parser};

use super::Arguments;
use crate::arguments::{ANSWER_FILE, heading};

/// Verbs by what they are for; the first three are those that a newcomer needs.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["bench", "run", "init", "plan", "bisect", "track"]),
    ("Read results", &["report", "list", "export", "bundle", "verify"]),
    (
        "Experiments on a cluster",
        &["submit", "watch", "wait", "explain", "pause", "resume", "extend", "cancel"],
    ),
    (
        "Operate a cluster",
        &["coordinator", "agent", "hosts", "access", "token", "events", "page", "doctor", "analysis"],
    ),
    (
        "Statistics on your own data",
        &["compare", "scaling", "test", "import", "baseline", "samples", "study"],
    ),
    ("Shell", &["completions", "man", "help"]),
];

/// Verbs under whose help the options [`CHANGES`] change a plan.
const CHANGING_VERBS: [&str; 5] = ["bisect", "plan check", "run", "submit", "track add"];
/// Options that change a plan where there is one.
const CHANGES: [&str; 2] = ["patterns", "tags"];
/// Options of `bench` that few need.
const SELDOM: &str = "precision max_runs reference reference_name parameter_scan parameter_step_size shell setup conclude cleanup \
    input output timeout env clean_env center trim margin quantile control seed time_unit sort style export_csv \
    export_asciidoc export_orgmode data noise_threshold";

/// What was asked, and where the answer goes if not to standard output.
#[derive(Debug)]
pub(crate) struct CommandRequest {
    pub(crate) arguments: Arguments,
    pub(crate) answer_file: Option<PathBuf>,
    /// Spellings of an earlier release, with what they are now.
    pub(crate) outdated: Option<String>,
}

/// Reads the words of a command line, the program's name first.
pub(crate) fn read(words: &[OsString]) -> Result<CommandRequest, clap::Error> {
    let parse = |words: &[OsString]| {
        command().try_get_matches_from(words).map_err(|error| tips::improved(error, words, &command()))
    };
    let mut matches = parse(words)?;
    let outdated = outdated_form(&matches);
    if let Some(form) = &outdated {
        matches = parse(&renewed(words, form))?;
    }
    let answer_file = leaf(&matches).try_get_one::<PathBuf>(ANSWER_FILE).ok().flatten().cloned();
    let answer_file = answer_file.filter(|path| path.as_os_str() != "-");
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))?;
    let outdated =
        outdated.map(|form| format!("`--output {form}` is now `--format {form}`; --output names a file"));
    Ok(CommandRequest { arguments, answer_file, outdated })
}

/// The verb that is asked, with all of its arguments.
fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}

/// The form that `--output` names, as it did in release 0.1.0.
fn outdated_form(matches: &ArgMatches) -> Option<String> {
    const FORMS: [&str; 4] = ["table", "json", "csv", "md"];
    let leaf = leaf(matches);
    let given = |id| leaf.try_get_one::<PathBuf>(id).ok().flatten();
    let file = given(ANSWER_FILE).or_else(|| given("prefix"))?;
    let has_form = ["output", "format"].into_iter().any(|id| {
        let is_known = leaf.try_contains_id(id).is_ok();
        is_known && leaf.value_source(id) == Some(ValueSource::CommandLine)
    });
    FORMS.into_iter().find(|form| !has_form && file.as_os_str() == *form).map(str::to_owned)
}

/// The words with `--format FORM` in place of `--output FORM`.
fn renewed(words: &[OsString], form: &str) -> Vec<OsString> {
    let mut renewed = words.to_vec();
    let joined = format!("--output={form}");
    if let Some(at) = words.windows(2).rposition(|pair| pair[0] == "--output" && pair[1] == form) {
        renewed[at] = "--format".into();
    } else if let Some(at) = words.iter().rposition(|word| *word == *joined) {
        renewed[at] = format!("--format={form}").into();
    }
    renewed
}

/// The command line as it is parsed, explained and completed.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    // They are told once, by `speedup --help`.
    let globals = command.get_arguments().filter(|arg| arg.is_global_set()).cloned();
    let globals: Vec<Arg> = globals.map(|arg| arg.hide_short_help(true).hide_long_help(true)).collect();
    let template = overview(&command);
    command.help_template(template).mut_subcommands(|verb| completed(verb, "", &globals))
}

/// The help of the program: its verbs in groups.
fn overview(command: &Command) -> String {
    let header = command.get_styles().get_header();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, verbs) in GROUPS {
        let _ = write!(text, "\n{header}{heading}:{header:#}\n");
        for name in verbs {
            let verb = command.find_subcommand(name).and_then(Command::get_about);
            let about =
                verb.map_or_else(|| "Prints this, or the help of a verb".to_owned(), ToString::to_string);
            let _ = writeln!(text, "  {name:<12} {about}");
        }
    }
    let _ = write!(text, "\n{header}Options of all commands:{header:#}\n{{options}}{{after-help}}");
    text
}

/// A verb, whose path begins with those `above` it, with what all verbs have.
fn completed(verb: Command, above: &str, globals: &[Arg]) -> Command {
    let path = format!("{above}{}", verb.get_name());
    let mut verb = verb.args(globals.iter().cloned());
    let has = |verb: &Command, long: &str| verb.get_arguments().any(|arg| arg.get_long() == Some(long));
    // A service prints where it serves, and then serves: there is no end at which a file would be whole.
    let is_service = verb.get_name() == "start";
    if has(&verb, "format") && !has(&verb, "output") && !is_service {
        verb = verb.arg(answer_file());
    }
    if has(&verb, "input-format") && !has(&verb, "format") {
        // Its name in release 0.1.0, where it is free.
        verb = verb.mut_arg("input_format", |arg| arg.alias("format"));
    }
    // A data directory can stand in for a coordinator where there could be one.
    let has_source = has(&verb, "coordinator") && has(&verb, "data");
    verb = verb.mut_args(|mut arg| {
        let id = arg.get_id().as_str();
        // Options that only some of their verbs show under a heading; all others say theirs where they are declared.
        if has_source && id == "data" && arg.get_help_heading().is_none() {
            arg = arg.help_heading(heading::REACHING);
        } else if CHANGING_VERBS.contains(&path.as_str()) && CHANGES.contains(&id) {
            arg = arg.help_heading(heading::CHANGES);
        }
        let is_long_only = is_long_only(&path, &arg);
        arg.hide_short_help(is_long_only)
    });
    if let Some(text) = verb.get_after_help().map(ToString::to_string) {
        let long =
            format!("{text}\n\nOptions of all commands (--color, --log, --log-format): `speedup --help`.");
        verb = verb.after_long_help(long).after_help("More options, details and examples: --help.");
    }
    let above = format!("{path} ");
    verb.mut_subcommands(|verb| completed(verb, &above, globals))
}

/// Whether `-h` leaves an option of a verb out; `--help` has it.
fn is_long_only(verb: &str, arg: &Arg) -> bool {
    let heading = arg.get_help_heading().unwrap_or_default();
    let is_of_other_method = heading.starts_with("Method ") && !heading.ends_with("(the default)");
    arg.is_hide_short_help_set()
        || [heading::REACHING, heading::FILES, "Suite"].contains(&heading)
        || is_of_other_method
        || (verb == "bench" && SELDOM.split(' ').any(|id| arg.get_id() == id))
}

fn answer_file() -> Arg {
    Arg::new(ANSWER_FILE)
        .short('o')
        .long("output")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Write the answer to FILE instead of standard output")
}

#[cfg(test)]
mod tests;
