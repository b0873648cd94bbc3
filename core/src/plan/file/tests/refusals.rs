//! Plans that are refused: each with its line, column, cause and hint.

use std::fmt::Write as _;

use super::SHORTEST;
use crate::experiment::metric::MAX_OWN_METRICS;
use crate::experiment::{MAX_BENCHMARKS, MAX_PROBLEMS};
use crate::plan::file::{MAX_PLAN_BYTES, PlanFileError, parse};
use crate::value::seed::Seed;

fn refused(text: &str) -> PlanFileError {
    parse(text, Seed(1)).expect_err("a plan that must be refused")
}

/// The shortest plan with something in place of something else.
fn with(from: &str, to: &str) -> String {
    assert!(SHORTEST.contains(from));
    SHORTEST.replace(from, to)
}

/// The shortest plan with more at its end, from line 8.
fn and(more: &str) -> String {
    format!("{SHORTEST}{more}")
}

/// Holds the only finding against its place, a part of its cause and a part of its hint.
#[track_caller]
fn expect_one(text: &str, (line, column): (usize, usize), cause: &str, hint: &str) {
    let error = refused(text);
    let [finding] = error.findings() else { panic!("not one finding:\n{error}") };
    assert_eq!((finding.line, finding.column), (line, column), "{error}");
    assert!(finding.message.contains(cause), "{error}");
    assert!(finding.hint.contains(hint), "{error}");
}

#[test]
fn the_message_shows_the_line_with_carets() {
    let shown = refused(&and("[repetitions]\nruns = 10\nrunz = 3\n")).to_string();
    let expected = "\
line 10, column 1: unknown key `runz` in [repetitions]
   |
10 | runz = 3
   | ^^^^
hint: did you mean `runs`?";
    assert_eq!(shown, expected);
}

#[test]
fn malformed_toml() {
    expect_one(&with("\"shortest\"", "shortest"), (2, 8), "string", "toml.io");
    expect_one(&and("[repetitions\n"), (8, 13), "table", "toml.io");
    expect_one(&and("[experiment]\n"), (8, 2), "duplicate", "toml.io");
    expect_one("\u{0}", (1, 2), "expected `=`", "toml.io");
}

#[test]
fn unknown_keys() {
    expect_one(&and("[repetition]\nruns = 3\n"), (8, 2), "`repetition`", "`repetitions`");
    expect_one(&and("timout = \"1s\"\n"), (8, 1), "in [benchmarks.true]", "`timeout`");
    expect_one(&and("[limits]\nseed = 1\n"), (9, 1), "in [limits]", "[experiment]");
    expect_one(&and("[limits]\nwarmup = 1\n"), (9, 1), "in [limits]", "[benchmarks.NAME]");
    expect_one(&and("zebra = 1\n"), (8, 1), "`zebra`", "command, directory,");
}

#[test]
fn keys_of_a_later_release() {
    let text = and("[repetitions]\niterations = 1\n");
    expect_one(&text, (9, 1), "`iterations`", "release");
}

#[test]
fn priorities_have_a_sign_and_bounds() {
    let at =
        |priority: i32| with("name = \"shortest\"", &format!("name = \"shortest\"\npriority = {priority}"));
    for priority in [-100, -5, 0, 100] {
        let experiment = parse(&at(priority), Seed(0)).expect("a plan");
        assert_eq!(experiment.priority, priority);
    }
    expect_one(&at(-101), (3, 12), "-101 is out of range", "-100 to 100");
}

#[test]
fn rules_of_repetition() {
    let cases = [
        ("pilot = 10\n", (9, 9), "`pilot`", "`budget`"),
        ("maximum = 10\n", (9, 11), "`maximum`", "remove `maximum`"),
        ("pilot = 10\nprecision = \"1%\"\n", (10, 13), "no `maximum`", "maximum = 200"),
        ("precision = \"1\"\nmaximum = 20\npilot = 2\n", (9, 13), "is no percentage", "\"1%\""),
        ("looks = 4\nmaximum = 30\n", (10, 11), "4 looks", "maximum = 28"),
        ("looks = 4\nmaximum = 40\nhosts = 2\n", (9, 9), "nested levels", "`hosts`"),
        ("pilot = 1\nbudget = \"1h\"\nmaximum = 9\n", (9, 9), "1 is out of range", "at least 2"),
        (
            "pilot = 9\nruns = 3\nbudget = \"1h\"\nmaximum = 9\n",
            (10, 8),
            "`pilot` and `runs`",
            "remove `runs`",
        ),
    ];
    for (keys, place, cause, hint) in cases {
        expect_one(&and(&format!("[repetitions]\n{keys}")), place, cause, hint);
    }
    let both = "pilot = 9\nprecision = \"1%\"\nbudget = \"1h\"\nmaximum = 9\n";
    expect_one(&and(&format!("[repetitions]\n{both}")), (11, 10), "`precision` and `budget`", "keep one");
}

#[test]
fn unknown_values() {
    expect_one(&and("[independence]\npolicy = \"distict\"\n"), (9, 10), "\"distict\"", "`distinct`");
    expect_one(&and("[output]\nkeep_of = \"none\"\n"), (9, 11), "\"none\"", "failed, all");
}

#[test]
fn metrics_of_ones_own() {
    let own = |lines: &str| and(&format!("[metrics.output.\"time\"]\n{lines}\n"));
    expect_one(&own("regex = 't=('"), (9, 9), "unclosed group", "in single quotes");
    expect_one(&own("regex = 't='"), (9, 9), "0 capture groups", "parentheses");
    expect_one(&own("pointer = 'a'"), (9, 11), "\"a\" is not a", "after slashes");
    expect_one(&own("go = ''"), (9, 6), "the pattern is empty", "name the benchmark");
    let both = own("regex = '(x)'\npointer = '/x'");
    expect_one(&both, (10, 11), "both `regex` and", "keep one");
    expect_one(&own("unit = 's'"), (8, 17), "values", "write regex");
    expect_one(&own("regexp = '(x)'"), (9, 1), "`regexp`", "`regex`");
    expect_one(&own("regex = 3"), (9, 9), "`regex` must be a string", "one capture group");
    let chosen = own("regex = '(x)'\nbetter = 'more'");
    expect_one(&chosen, (10, 10), "\"more\"", "lower, higher");
    let unit = own(&format!("regex = '(x)'\nunit = '{}'", "s".repeat(33)));
    expect_one(&unit, (10, 8), "33 bytes is out of range", "at most 32");
    let control = own("regex = \"(x)\\u001b\"");
    expect_one(&control, (9, 9), "control character", "remove it");
    let named = |name: &str| own("regex = '(x)'").replace("\"time\"", name);
    expect_one(&named("wall"), (8, 17), "\"wall\"", "collect = [\"wall\"]");
    expect_one(&named("\"a b\""), (8, 17), "\"a b\" is not a", "letters, digits");
    let large = own("regex = '(x)'\n[output]\nlimit = \"1GiB\"");
    expect_one(&large, (11, 9), "1073741824", "268435456");
    let mut many = SHORTEST.to_owned();
    for number in 0..=MAX_OWN_METRICS {
        write!(many, "[metrics.output.m{number}]\nregex = '(x)'\n").unwrap();
    }
    expect_one(&many, (8, 10), "65 own metrics", "split");
    expect_one(&and("[metrics]\noutput = 3\n"), (9, 10), "`output` must be a table", "");
    expect_one(&and("[metrics]\ncollect = [\"wall\", \"cycle\"]"), (9, 20), "\"cycle\"", "`cycles`");
}

#[test]
fn wrong_types() {
    expect_one(&and("[repetitions]\nruns = \"many\"\n"), (9, 8), "not a string", "Runs of");
    expect_one(&and("timeout = 60\n"), (8, 11), "not an integer", "\"60s\"");
    expect_one(&and("env = { A = 1 }\n"), (8, 13), "not an integer", "");
    expect_one(&with("[\"true\"]", "\"true\""), (7, 11), "not a string", "command = [\"true\"]");
    expect_one(&with("= true", "= 1"), (4, 12), "not an integer", "exactly one");
    expect_one(&and("[[setup]]\n"), (8, 1), "not an array", "");
    expect_one(&and("[independence]\nscope = 2000-01-01\n"), (9, 9), "not a datetime", "");
}

#[test]
fn what_is_missing() {
    expect_one(
        &with("name = \"shortest\"\n", ""),
        (1, 2),
        "`name` is missing in [experiment]",
        "letters, digits",
    );
    let error = refused("");
    let causes: Vec<&str> = error.findings().iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(causes, ["[experiment] is missing", "[versions] is missing", "[benchmarks] is missing"]);
    expect_one(
        &with("[benchmarks.true]\ncommand = [\"true\"]", "[benchmarks]"),
        (6, 2),
        "no benchmark",
        "[benchmarks.NAME]",
    );
}

#[test]
fn baselines() {
    let hint = "[versions.before], [versions.after]";
    expect_one(&with("baseline = true\n", ""), (3, 2), "no version", hint);
    let text = with("[versions.after]", "[versions.after]\nbaseline = true");
    expect_one(&text, (6, 12), "2 versions", hint);
    expect_one(&with("[versions.after]\n", ""), (3, 2), "nothing to compare", "name at least two");
}

#[test]
fn numbers_out_of_range() {
    expect_one(&and("[repetitions]\nruns = 0\n"), (9, 8), "repetitions.runs", "1 to 5000000");
    expect_one(&and("[repetitions]\nruns = 4294967295\n"), (9, 8), "out of range", "1 to 5000000");
    expect_one(&and("[repetitions]\nruns = 5000000\n"), (9, 8), "has 10000000 runs", "lower one");
    expect_one(&and("[repetitions]\nruns = 4294967296\n"), (9, 8), "out of range for `runs`", "Runs of");
    let huge = and(&format!("[repetitions]\nruns = {}\n", "9".repeat(100)));
    expect_one(&huge, (9, 8), "9…", "");
    expect_one(&with("name =", "seed = -1\nname ="), (2, 8), "`seed`", "randomness");
    expect_one(&and("expect.accept = [256]\n"), (8, 18), "it must be 0 to 255", "");
    expect_one(&and("directory = \"here\"\n"), (8, 13), "not an absolute path", "{input}");
    expect_one(&and("directory = \"/{nowhere}\"\n"), (8, 15), "unknown placeholder", "known here");
    expect_one(&and("expect.exit = 256\n"), (8, 15), "it must be 0 to 255", "exit code");
    expect_one(&and("warmup = 1001\n"), (8, 10), "1001", "0 to 1000");
    expect_one(&and("weight = nan\n"), (8, 10), "NaN is out of range", "finite");
    expect_one(&and("weight = 1e999\n"), (8, 10), "overflow", "schema");
    expect_one(&and("[analysis]\nconfidence = 95\n"), (9, 14), "95 is out of range", "less than 1");
    expect_one(&and("[analysis]\nprecision = inf\n"), (9, 13), "inf is out of range", "less than 1");
    expect_one(&and("[population]\nsample = 2\n"), (9, 10), "2 benchmarks", "[population]");
    expect_one(&and("[limits]\nattempts = 0\n"), (9, 12), "0 is out of range", "1 to 100");
    expect_one(&and("[analysis]\nweights = \"custom\"\n"), (6, 13), "a weight is missing", "equal");
}

#[test]
fn quantities() {
    expect_one(&and("timeout = \"60\"\n"), (8, 11), "\"60\" is not a", "with its unit");
    expect_one(&and("timeout = \"0s\"\n"), (8, 11), "0 ns is out of range", "1 ms to 30 days");
    expect_one(&and("timeout = \"10000h\"\n"), (8, 11), "is out of range", "1 ms to 30 days");
    expect_one(&and("[output]\nlimit = \"64MB\"\n"), (9, 9), "\"64MB\" is no size", "MiB");
    expect_one(&and("[output]\nkeep = \"1GiB\"\n"), (9, 8), "1073741824", "0 to 1048576");
    expect_one(&and("expect.stdout_blake3 = \"00ff\"\n"), (8, 24), "\"00ff\" is not a", "b3sum");
}

#[test]
fn environments() {
    let environment = |line: &str| and(&format!("[environment]\n{line}\n"));
    let one = |line, column, cause, hint| expect_one(&environment(line), (9, column), cause, hint);
    one("cpus = \"5-2\"", 8, "the range \"5-2\"", "cores:N");
    one("cpus = \"cores:x\"", 8, "\"x\" is not a", "a list of CPUs");
    one("cpus = \"cores:0\"", 8, "environment.cpus", "cores:1 to cores:8192");
    one("cpus = \"\"", 8, "it names no CPU", "numa:K");
    one("cpus = 3", 8, "not an integer", "\"2-5,8\"");
    one("housekeeping = 8192", 16, "8192", "0 to 8191");
    one("nice = 20", 8, "environment.nice", "-20 to 19");
    one("nice = 200", 8, "`nice`", "nice value");
    one("scheduler = \"fifo\"", 13, "\"fifo\" is not a", "priority of 1 to 99");
    one("scheduler = \"rr:100\"", 13, "\"rr:100\" is not a", "fifo:PRIORITY");
    one("env_bytes = 200000", 13, "200000", "0 to 131056");
    one("env_bytes_random = 200000", 20, "environment.env_bytes_random", "0 to 131056");
    expect_one(
        &environment("env_bytes = 1\nenv_bytes_random = 2"),
        (10, 20),
        "`env_bytes_random`",
        "fixed or drawn",
    );
    one("directory_bytes = 0", 19, "environment.directory_bytes", "1 to 4095");
    one("directory_bytes = 4096", 19, "4096", "1 to 4095");
    one("directory_bytes_random = 252", 26, "252 is out of range", "0 to 251");
    expect_one(
        &environment("directory_bytes = 100\ndirectory_bytes_random = 2"),
        (10, 26),
        "`directory_bytes_random`",
        "fixed or drawn",
    );
    expect_one(
        &and("directory = \"/tmp\"\n[environment]\ndirectory_bytes_random = 9\n"),
        (8, 13),
        "length",
        "leave out `directory`",
    );
    one("page_cache = \"cold\"", 14, "\"cold\"", "keep, drop");
    one("transparent_huge_pages = \"nevr\"", 26, "\"nevr\"", "`never`");
    one("governor = \"../../etc\"", 12, "\"../../etc\" is out", "such as performance");
    one("settle = \"1h\"", 10, "3600 s is out of range", "at most 600 s");
    one("settle = \"soon\"", 10, "\"soon\" is not a", "with its unit");
    one("limits.stack = \"8MB\"", 16, "\"8MB\" is no size", "MiB");
    one("limits.files = 3", 8, "`files`", "possible here");
    one("turbo = \"off\"", 9, "not a string", "nominal frequency");
    expect_one(&environment("strict = true\ncpu = \"all\""), (10, 1), "`cpu`", "`cpus`");
}

#[test]
fn commands_around_an_execution() {
    expect_one(&and("[prepare]\ntimeout = \"1s\"\n"), (8, 2), "[prepare] has neither", "write command");
    expect_one(&and("[cleanup]\nshell = \"rm {file}\"\n"), (9, 13), "`{file}`", "{version}");
    expect_one(&and("[cleanup]\nshell = \"\"\n"), (9, 9), "the command is empty", "");
    expect_one(
        &and("[prepare]\ncommand = [\"true\"]\ntimeout = \"0s\"\n"),
        (10, 11),
        "prepare.timeout",
        "1 ms to 30 days",
    );
}

#[test]
fn commands() {
    expect_one(&with("[\"true\"]", "[]"), (7, 11), "the command is empty", "command = [");
    expect_one(&with("[\"true\"]", "[\"\"]"), (7, 11), "the command is empty", "command = [");
    expect_one(&with("command = [\"true\"]", "shell = \" \""), (7, 9), "the command is empty", "");
    expect_one(&and("shell = \"true\"\n"), (8, 9), "`shell`", "keep one");
    expect_one(&with("command = [\"true\"]", ""), (6, 13), "nor `shell`", "write command");
    expect_one(
        &with("\"true\"]", "\"true\", \"a\\u0000\"]"),
        (7, 20),
        "control character '\\0'",
        "remove it",
    );
    let long = with("\"true\"]", &format!("\"true\", \"{}\"]", "x".repeat(1 << 17)));
    expect_one(&long, (7, 11), "131078 bytes", "[setup]");
}

#[test]
fn placeholders() {
    let text = with("\"true\"]", "\"awk\", \"{input} é {{print}} {print}\"]");
    expect_one(&text, (7, 40), "`{print}`", "{benchmark} {input} {version};");
    let text = with("[versions.after]", "[versions.after]\nvars = { opt = \"2\" }");
    let text = text.replace("\"true\"]", "\"{opt}\"]");
    expect_one(&text, (8, 13), "`{opt}`", "[versions.before] vars");
    expect_one(
        &and("[setup]\nshell = '''\nset -e\necho {version}'''\n"),
        (11, 6),
        "`{version}`",
        "known here: {input};",
    );
    expect_one(&and("env = { A = \"{x}\" }\n"), (8, 14), "`{x}`", "double the braces");
}

#[test]
fn names() {
    expect_one(&with("[benchmarks.true]", "[benchmarks.\"a b\"]"), (6, 13), "\"a b\" is not a", "letters");
    expect_one(&with("[benchmarks.true]", "[benchmarks.-x]"), (6, 13), "\"-x\" is not a", "begins with");
    expect_one(&with("\"shortest\"", "\"\""), (2, 8), "\"\" is not a", "1 to 128 bytes");
    expect_one(&and("env = { \"A=B\" = \"\" }\n"), (8, 17), "\"A=B\" is not a", "`=`");
    let text = with("[versions.after]", "[versions.after]\nvars = { input = \"2\" }");
    expect_one(&text, (6, 18), "`{input}`", "another");
    expect_one(&text.replace("input", "Level"), (6, 18), "\"Level\" is not a", "lower-case");
}

#[test]
fn all_that_is_wrong_is_told_at_once_in_the_order_of_the_text() {
    let text =
        and("timeout = \"soon\"\nwarmup = 5000\n[repetitions]\nruns = 0\n").replace("baseline = true\n", "");
    let error = refused(&text);
    let lines: Vec<usize> = error.findings().iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [3, 7, 8, 10], "{error}");
}

#[test]
fn far_too_many_benchmarks_are_refused_briefly() {
    let mut text = SHORTEST.to_owned();
    for number in 0..2 * MAX_BENCHMARKS {
        write!(text, "[benchmarks.b{number}]\nshell=\"{{x}}\"\n").unwrap();
    }
    assert!(text.len() < MAX_PLAN_BYTES);
    let error = refused(&text);
    assert_eq!(error.findings().len(), MAX_PROBLEMS);
    assert!(error.findings().iter().any(|finding| finding.message.contains("100000")));
    assert!(error.to_string().len() < 20_000);

    let padded = format!("{SHORTEST}#{}", "x".repeat(MAX_PLAN_BYTES));
    expect_one(&padded, (1, 1), "16777216", "split");
}

#[test]
fn text_of_the_plan_cannot_upset_a_terminal() {
    let shown = refused(&and("\"\\u001b[2J\" = 1\n# \u{1b}[2J\n")).to_string();
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn builds() {
    let after = |keys: &str| with("[versions.after]", &format!("[versions.after]\n{keys}"));
    let made = "products = { prog = \"out/prog\" }\n";
    expect_one(&after("build = [\"make\"]\n"), (5, 11), "no products", "{build.prog}");
    let both = after(&format!("build = [\"make\"]\n{made}build_shell = \"make\""));
    expect_one(&both, (8, 15), "`build_shell`", "keep one");
    expect_one(&after("builds = 2"), (6, 10), "`builds`", "build = [");
    expect_one(&after("build_timeout = \"1h\""), (6, 17), "`build_timeout`", "build = [");
    let product =
        |name: &str, path: &str| after(&format!("build = [\"make\"]\nproducts = {{ {name} = \"{path}\" }}"));
    expect_one(&product("Prog", "prog"), (7, 21), "\"Prog\" is not a", "{build.NAME}");
    for path in ["../prog", "/prog", "a/../prog", ""] {
        expect_one(&product("prog", path), (7, 21), "is no path within", "without `.` and `..`");
    }
    let build = |keys: &str| after(&format!("build = [\"make\"]\n{made}{keys}"));
    expect_one(&build("builds = 0"), (8, 10), "0 is out of range", "1 to 1000");
    expect_one(&build("builds = 1001"), (8, 10), "1001", "1 to 1000");
    expect_one(&build("build_timeout = \"soon\""), (8, 17), "is not a length of time", "");
    expect_one(&build("build_timeout = \"999h\""), (8, 17), "is out of range", "30 days");
    let itself = after(&format!("build = [\"{{build.prog}}\"]\n{made}"));
    expect_one(&itself, (6, 11), "`{build.prog}`", "{version}");
    let benchmark = after(&format!("build_shell = \"make {{benchmark}}\"\n{made}"));
    expect_one(&benchmark, (6, 21), "`{benchmark}`", "{version}");
}

#[test]
fn products_that_no_build_makes() {
    let built = "build = [\"make\"]\nproducts = { prog = \"prog\" }\n";
    let text = with("[versions.after]", &format!("[versions.after]\n{built}"));
    let text = text.replace("command = [\"true\"]", "command = [\"{build.prog}\"]");
    expect_one(&text, (10, 13), "`{build.prog}`", "[versions.before]");
    let own = text.replace("baseline = true", "baseline = true\ncommand = [\"true\"]");
    assert!(parse(&own, Seed(1)).is_ok(), "a version with a command of its own needs no build");
    let setup = format!("{own}[setup]\ncommand = [\"{{build.prog}}\"]\n");
    expect_one(&setup, (13, 13), "`{build.prog}`", "{input}");
    let unknown = own.replace("{build.prog}", "{build.lib}");
    expect_one(&unknown, (11, 13), "`{build.lib}`", "{build.prog}");
}
