//! Every help and every refusal of the command line.

use clap::error::ErrorKind;

use super::*;

/// The columns of a usual terminal.
const COLUMNS: usize = 80;
/// Options under one heading that a reader still surveys.
const MOST_UNGROUPED: usize = 10;
/// Lines of the longest short help: three screens of a usual terminal.
const SHORT_HELP: usize = 72;

/// Every verb below `command` with its path, those that only have verbs below them too.
fn verbs(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
    found.push((path.to_owned(), command.clone()));
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        verbs(verb, &format!("{path} {}", verb.get_name()), found);
    }
}

fn all() -> Vec<(String, Command)> {
    let mut found = Vec::new();
    let mut root = command().term_width(COLUMNS).disable_help_subcommand(true);
    root.build();
    verbs(&root, "speedup", &mut found);
    found
}

fn refusal(words: &[&str]) -> String {
    read(&words.iter().map(Into::into).collect::<Vec<_>>()).unwrap_err().to_string()
}

/// The examples of a verb's help, without what a shell does to them.
fn examples(verb: &Command) -> Vec<Vec<String>> {
    let help = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let lines = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    let commands = lines.flat_map(|line| {
        let line = line
            .split("  # ")
            .next()
            .unwrap_or(line)
            .replace("$(speedup submit plan.toml)", "ID")
            .replace("$(date +%F)", "today");
        line.split([';', '|', '>']).flat_map(|part| part.split("&&")).map(str::to_owned).collect::<Vec<_>>()
    });
    let words = commands.filter_map(|command| shlex::split(command.trim()));
    words.filter(|words| words.first().is_some_and(|word| word == "speedup")).collect()
}

#[test]
fn no_line_of_help_is_wider_than_a_terminal() {
    let mut wide = Vec::new();
    for (path, mut verb) in all() {
        for help in [verb.render_help().to_string(), verb.render_long_help().to_string()] {
            let lines = help.lines().filter(|line| line.chars().count() > COLUMNS);
            wide.extend(lines.map(|line| format!("{path}: {line}")));
        }
    }
    // The paths of completions stand in one word.
    wide.retain(|line| !line.starts_with("speedup completions"));
    assert_eq!(wide, Vec::<String>::new());
}

#[test]
fn the_examples_of_every_help_parse() {
    for (path, verb) in all() {
        let examples = examples(&verb);
        assert!(verb.has_subcommands() || !examples.is_empty(), "{path} has no example");
        for words in examples {
            let parsed = read(&words.iter().map(Into::into).collect::<Vec<_>>());
            assert!(parsed.is_ok(), "{path}: {words:?}: {}", parsed.unwrap_err());
            assert!(parsed.is_ok_and(|read| read.outdated.is_none()), "{path}: {words:?} is outdated");
        }
    }
}

#[test]
fn examples_are_printed_whole_on_a_terminal() {
    for (path, mut verb) in all() {
        let written = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let printed = verb.render_long_help().to_string();
        for line in written.lines().filter(|line| line.starts_with("  speedup")) {
            assert!(printed.contains(line), "{path}: {line:?} is broken in two");
        }
    }
}

#[test]
fn many_options_have_headings() {
    for (path, verb) in all() {
        let usual = verb.get_arguments().filter(|arg| {
            let is_shown = !arg.is_positional() && !arg.is_hide_long_help_set() && arg.get_id() != "help";
            is_shown && arg.get_help_heading().is_none()
        });
        let usual: Vec<_> = usual.map(|arg| arg.get_id().to_string()).collect();
        assert!(usual.len() <= MOST_UNGROUPED, "{path}: {usual:?}");
    }
}

#[test]
fn every_listed_option_exists() {
    let all = all();
    let has = |path: &str, id: &str| {
        let verb = all.iter().find(|(verb, _)| *verb == format!("speedup {path}"));
        verb.is_some_and(|(_, verb)| verb.get_arguments().any(|arg| arg.get_id() == id))
    };
    for path in CHANGING_VERBS {
        assert!(CHANGES.iter().any(|id| has(path, id)), "{path} changes no plan");
    }
    for id in SELDOM.split(' ') {
        assert!(has("bench", id), "bench has no {id}");
    }
}

#[test]
fn a_short_help_is_shorter_than_a_long_one() {
    for (path, mut verb) in all().into_iter().filter(|(_, verb)| !verb.has_subcommands()) {
        let (short, long) = (verb.render_help().to_string(), verb.render_long_help().to_string());
        let (short, long) = (short.lines().count(), long.lines().count());
        assert!(short < long && short <= SHORT_HELP, "{path}: {short} of {long} lines");
    }
}

#[test]
fn every_verb_is_in_one_group_and_the_first_three_are_for_newcomers() {
    let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
    assert_eq!(grouped[..3], ["bench", "run", "init"]);
    let root = command();
    let mut verbs: Vec<&str> = root.get_subcommands().map(Command::get_name).chain(["help"]).collect();
    grouped.sort_unstable();
    verbs.sort_unstable();
    assert_eq!(grouped, verbs);
}

#[test]
fn one_flag_names_the_file_and_one_the_form() {
    for (path, verb) in all() {
        let of = |long| verb.get_arguments().find(|arg| arg.get_long() == Some(long));
        let short = verb.get_arguments().find(|arg| arg.get_short() == Some('o'));
        assert!(short.is_none_or(|arg| arg.get_long() == Some("output")), "{path}: -o");
        // hyperfine's `--output` is where the commands write; a service prints where it serves, and goes on.
        if let Some(form) = of("format").filter(|_| path != "speedup bench" && !path.ends_with(" start")) {
            let file = of("output").unwrap_or_else(|| panic!("{path} has no --output"));
            assert_eq!(form.get_value_names().unwrap()[0], "FORM", "{path}");
            assert!(["FILE", "PREFIX"].contains(&file.get_value_names().unwrap()[0].as_str()), "{path}");
        }
    }
}

#[test]
fn what_release_0_1_0_called_output_is_read_and_told() {
    let old = ["speedup", "list", "--output", "json", "--limit", "3"];
    let read = |words: &[&str]| read(&words.iter().map(Into::into).collect::<Vec<_>>()).unwrap();
    let now = read(&old);
    assert_eq!(now.answer_file, None);
    assert!(now.outdated.is_some_and(|text| text.contains("`--format json`")));
    assert!(format!("{:?}", now.arguments).contains("Json"));
    let joined = read(&["speedup", "report", "last", "--output=json"]);
    assert!(joined.outdated.is_some() && format!("{:?}", joined.arguments).contains("Json"));
    let file = read(&["speedup", "list", "--output", "list.json"]);
    assert_eq!((file.answer_file, file.outdated), (Some("list.json".into()), None));
    for words in [&["-o", "json"][..], &["--output", "json", "--format", "csv"]] {
        let file = read(&[&["speedup", "list"], words].concat());
        assert!(file.answer_file.is_some() || words[0] == "-o", "{words:?}");
    }
    // What a verb of then called so was a file.
    let file = read(&["speedup", "export", "last", "--output", "csv"]);
    assert!(file.outdated.is_none());
    assert!(read(&["speedup", "report", "last", "--out", "r.txt"]).answer_file.is_some());
}

#[test]
fn a_verb_that_does_not_exist_gets_a_tip() {
    for (words, tip) in [
        (&["benchmark", "true"][..], "'speedup bench'"),
        (&["ls"], "'speedup list'"),
        (&["hosts", "ls"], "'speedup hosts list'"),
        (&["token", "rm"], "'speedup token revoke'"),
        (&["validate", "plan.toml"], "'speedup plan check'"),
        (&["sleep 1"], "'speedup bench \"sleep 1\"'"),
        (&["plan.toml"], "'speedup run plan.toml'"),
        (&["reportt", "last"], "'report'"),
    ] {
        let text = refusal(&[&["speedup"], words].concat());
        assert!(text.contains("tip: ") && text.contains(tip), "{text}");
    }
}

#[test]
fn a_flag_that_does_not_exist_gets_a_tip_that_fits() {
    for (words, tip) in [
        (&["bench", "--iterations", "5", "true"][..], "use '--runs'"),
        (&["bench", "--sample-size", "50", "true"], "use '--runs'"),
        (&["bench", "--warm-up-time", "3", "true"], "use '--warmup'"),
        (&["bench", "--benchmark-min-rounds=5", "true"], "use '--min-runs'"),
        (&["compare", "--significance-level", "0.05", "a"], "use '--confidence'"),
        (&["list", "--json"], "use '--format json'"),
        (&["list", "--no-color"], "use '--color never'"),
        (&["import", "--quantile", "0.9", "a", "--as", "b"], "'speedup bench --quantile'"),
        (&["--runs", "5", "bench", "true"], "'speedup bench --runs …'"),
        (&["list", "--method", "ratio"], "'speedup compare --method'"),
        (&["hosts", "slurm", "add", "--partition", "short"], "'speedup hosts slurm add -- --partition …'"),
        (&["compare", "--format", "pyperf", "a"], "'--input-format pyperf'"),
        (&["bench", "--warmpu", "5", "true"], "'--warmup'"),
    ] {
        let text = refusal(&[&["speedup"], words].concat());
        assert!(text.contains("tip: ") && text.contains(tip), "{text}");
        assert!(!text.contains("as a value"), "{text}");
    }
}

#[test]
fn a_tip_names_what_exists() {
    let all = all();
    let longs: Vec<String> = all
        .iter()
        .flat_map(|(_, verb)| verb.get_arguments().filter_map(|arg| arg.get_long()))
        .map(str::to_owned)
        .collect();
    for (flag, here) in tips::FLAGS {
        for here in here {
            let name = here.split(' ').next().unwrap_or(here).trim_start_matches("--");
            assert!(longs.iter().any(|long| long == name), "{flag} is told to be {here}");
        }
    }
    for (verb, here) in tips::VERBS {
        for here in here {
            assert!(
                all.iter().any(|(path, _)| path.ends_with(&format!(" {here}"))),
                "{verb} is told to be {here}"
            );
        }
    }
    assert_eq!(read(&["speedup".into(), "--help".into()]).unwrap_err().kind(), ErrorKind::DisplayHelp);
}
