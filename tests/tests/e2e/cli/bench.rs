//! `speedup bench` as somebody uses it who knows hyperfine.

use std::{os::unix::process::CommandExt as _, process::Command, process::Output, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use speedup_formats::{Format, Options, WALL};
use speedup_tests::{
    desk::Desk, output::failed, output::json_lines, output::said, output::stderr, output::stdout,
    output::succeeded, plan::plan, pool::eventually, process::Killed, root,
};

use crate::SPEEDUP;

/// The command at a desk.
fn command(desk: &Desk, arguments: &[&str]) -> Command {
    desk.command(&[&["bench"], arguments].concat())
}

fn bench(desk: &Desk, arguments: &[&str]) -> Output {
    command(desk, arguments).output().expect("the command")
}

/// The report of what must succeed, and the export of its runs.
fn measured(desk: &Desk, arguments: &[&str]) -> (Value, Vec<Value>) {
    (desk.json(&[&["bench"], arguments].concat()), rows(desk))
}

/// The runs of the last comparison.
fn rows(desk: &Desk) -> Vec<Value> {
    let data = desk.path().join("state/speedup/local").display().to_string();
    json_lines(&desk.ok(&["export", "last", "--data", &data, "--format", "jsonl", "-o", "-"]))
}

fn codes(report: &Value) -> Vec<&str> {
    report["warnings"].as_array().expect("warnings").iter().filter_map(|one| one["code"].as_str()).collect()
}

#[test]
fn two_commands_are_compared_interleaved_and_the_report_is_honest() {
    let desk = Desk::new(SPEEDUP);
    let (report, rows) = measured(&desk, &["-r", "8", "--seed", "1", "sleep 0.001", "sleep 0.3"]);
    assert_eq!(report["head"]["versions"], serde_json::json!(["sleep-0.001", "sleep-0.3"]));
    assert_eq!(report["suites"][0]["verdict"], "slower", "{report}");
    assert!(codes(&report).contains(&"independence_not_provided"), "{:?}", codes(&report));
    assert_eq!(rows.len(), 16);
    let mut in_order = rows.clone();
    in_order.sort_by_key(|row| row["run"].as_u64());
    let order: Vec<&str> = in_order.iter().filter_map(|row| row["version"].as_str()).collect();
    let changes = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 1, "not first the one and then the other: {order:?}");
    for row in &rows {
        assert_eq!(row["outcome"], "measured", "{row}");
        let least = if row["version"] == "sleep-0.3" { 300_000_000 } else { 1_000_000 };
        assert!(row["wall_ns"].as_u64().expect("a time") >= least, "never shorter than the truth: {row}");
    }
}

#[test]
fn a_person_reads_the_verdict_and_what_it_is_worth_without_colours() {
    let desk = Desk::new(SPEEDUP);
    let shown = command(&desk, &["-r", "3", "true", "sleep 0.01"]).env("NO_COLOR", "1").output();
    let shown = shown.expect("the command");
    assert!(shown.status.success(), "{}", stderr(&shown));
    let (said, talk) = (stdout(&shown), stderr(&shown));
    assert!(!said.contains('\u{1b}') && !talk.contains('\u{1b}'), "no colours: {said}{talk}");
    for part in
        ["Verdict\n", "Benchmarks: sleep-0.01 against true", "Independence was not provided", "Caveats\n"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("Method\n") && !said.contains("In short"), "what fits a screen: {said}");
    let again =
        talk.lines().find(|line| line.contains("shows all of the report")).expect("where all of it is");
    let words: Vec<&str> = again.split('`').nth(1).expect("a command").split(' ').skip(1).collect();
    let whole = desk.speedup(&words);
    assert!(stdout(&whole).contains("Method\n"), "{again}: {}", stderr(&whole));
}

#[test]
fn one_command_alone_has_its_mean_and_median_with_intervals_and_is_kept_for_later() {
    let desk = Desk::new(SPEEDUP);
    for name in ["monday", "friday"] {
        let said = desk.ok(&[
            &["bench", "-r", "8", "-u", "millisecond", "-n", "a nap"][..],
            &["--save-baseline", name],
            &["sleep 0.01"],
        ]
        .concat());
        let row = said.lines().find(|line| line.trim_start().starts_with("a nap")).expect(&said);
        assert!(row.contains(" ± ") && row.contains('[') && row.contains(" … "), "{row}");
        assert!(said.contains("confidence level 95"), "{said}");
        assert!(said.contains("Independence was not provided"), "{said}");
    }
    assert_eq!(desk.json(&["baseline", "show", "monday"])["samples"][0]["benchmark"], "a nap");
    let answer = desk.json(&["compare", "saved:monday", "saved:friday"]);
    let compared = &answer["findings"]["of"][0]["benchmarks"][0];
    assert_eq!(compared["candidate"], "saved:friday", "{answer}");
    assert_eq!(compared["candidate_n"], 8, "{answer}");
}

#[test]
fn without_a_number_the_runs_fit_a_time_that_no_sample_tells() {
    let desk = Desk::new(SPEEDUP);
    // Sleeps last longer than asked, never shorter: more runs than these cannot fit.
    let (_, rows) = measured(&desk, &["--min-benchmarking-time", "0.4", "echo >> ran; sleep 0.02"]);
    assert!((10..=20).contains(&rows.len()), "{}", rows.len());
    assert_eq!(desk.read("ran").lines().count(), rows.len() + 1, "one execution before them is in no sample");
    let (_, rows) = measured(&desk, &["--min-benchmarking-time", "0", "-m", "3", "true", "false || true"]);
    assert_eq!(rows.len(), 6);
    let (_, rows) = measured(&desk, &["-M", "4", "-w", "2", "echo >> warm", "true"]);
    assert_eq!((rows.len(), desk.read("warm").lines().count()), (8, 6), "warm-ups tell the time as well");
    let (report, rows) =
        measured(&desk, &["-m", "5", "-M", "9", "--precision", "0.001%", "sleep 0.01", "sleep 0.011"]);
    assert_eq!(rows.len(), 18, "up to the maximum: {report}");
    assert_eq!(report["rule"]["rule"], "pilot", "up to the maximum: {report}");
}

#[test]
fn the_environment_reaches_the_commands_and_is_kept_but_for_secrets() {
    let desk = Desk::new(SPEEDUP);
    let with = |arguments: &[&str]| {
        let mut command = command(&desk, arguments);
        command.env("OMP_NUM_THREADS", "3").env("SOME_TOKEN", "secret").env("SOME_NOTE", "{input} 'a'");
        command.output().expect("the command")
    };
    let sees =
        "test \"$OMP_NUM_THREADS\" = 3 && test \"$SOME_NOTE\" = \"{input} 'a'\" && test -z \"$SOME_TOKEN\"";
    let output = with(&["-r", "2", sees, "-p", sees, "-s", sees]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("too long: SOME_TOKEN; --env NAME"), "{said}");
    succeeded(&with(&["-r", "2", "--env", "SOME_TOKEN", "test \"$SOME_TOKEN\" = secret"]));
    let clean = with(&["-r", "2", "--clean-env", "test -z \"$OMP_NUM_THREADS\" && test -n \"$PATH\""]);
    assert!(clean.status.success() && !stderr(&clean).contains("not passed on"), "{}", stderr(&clean));
}

#[test]
fn shells_and_streams_are_those_that_were_asked_for() {
    let desk = Desk::new(SPEEDUP);
    desk.write("in put", "word\n");
    measured(&desk, &["-r", "2", "-S", "sh -f", "test \"$(echo *)\" = '*'"]);
    measured(&desk, &["-r", "2", "-S", "none", "test $HOME = $HOME"]);
    let reads = "read line; test \"$line\" = word";
    measured(&desk, &["-r", "2", "--input", "in put", reads, "--output", "null"]);
    let streams = ["--input", "in put", "grep -q word", "--output", "./first", "--output", "pipe", "cat"];
    measured(&desk, &[&["-N", "-r", "2"], &streams[..]].concat());
    measured(&desk, &["-r", "2", "-w", "1", "--output", "./written", "echo out; echo err >&2"]);
    assert_eq!((desk.read("first"), desk.read("written")), (String::new(), "out\n".to_owned()));
    for flags in [&["--show-output"][..], &["--output", "inherit"]] {
        let shown =
            bench(&desk, &[flags, &["-r", "3", "echo out-$((40 + 2)); echo err-$((40 + 2)) >&2"]].concat());
        assert!(shown.status.success(), "{}", stderr(&shown));
        let said = stderr(&shown);
        assert_eq!((said.matches("out-42").count(), said.matches("err-42").count()), (3, 3), "{said}");
        assert!(!stdout(&shown).contains("out-42"), "the answer alone: {}", stdout(&shown));
    }
    let failed = bench(&desk, &["-r", "2", "--output", "null", "echo why >&2; exit 3"]);
    assert!((stdout(&failed) + &stderr(&failed)).contains("why"), "{}", stderr(&failed));
}

#[test]
fn what_is_given_for_each_command_is_for_that_command_and_a_reference_is_the_baseline() {
    let desk = Desk::new(SPEEDUP);
    let commands =
        ["--reference", "test -e old", "--reference-name", "the old one", "-n", "the new one", "test -e new"];
    let prepared = ["-p", "touch old; rm -f new", "-p", "touch new; rm -f old"];
    let tables =
        ["--export-csv", "times.csv", "--export-markdown", "times.md", "--export-orgmode", "times.org"];
    let others = ["--export-asciidoc", "times.adoc", "--export-json", "times.json"];
    let (report, _) = measured(&desk, &[&["-r", "2"], &commands[..], &prepared, &tables, &others].concat());
    assert_eq!(report["head"]["versions"], serde_json::json!(["the-old-one", "the-new-one"]));
    for file in ["times.csv", "times.md", "times.org", "times.adoc", "times.json"] {
        let text = desk.read(file);
        assert!(text.contains("the old one") && text.contains("the new one"), "{file}: {text}");
    }
    let csv = desk.read("times.csv");
    assert!(csv.starts_with("command,mean,stddev,median,user,system,min,max\nthe old one,"), "{csv}");
    let to_stdout =
        bench(&desk, &["-r", "2", "--style", "basic", "-u", "second", "--export-markdown", "-", "true"]);
    assert!(stdout(&to_stdout).contains("| Command | Mean [s] |"), "{to_stdout:?}");
}

#[test]
fn style_says_how_much_is_shown() {
    let desk = Desk::new(SPEEDUP);
    let silent = bench(&desk, &["-r", "2", "--style", "none", "--export-json", "times.json", "true", "true"]);
    assert!(silent.status.success() && silent.stdout.is_empty(), "{}", stdout(&silent));
    assert!(silent.stderr.is_empty() && desk.read("times.json").contains("true 2"), "{}", stderr(&silent));
    let exported = bench(&desk, &["-r", "2", "--style", "none", "--export-csv", "-", "true"]);
    assert_eq!(
        stdout(&exported).lines().count(),
        2,
        "what was asked for, and nothing else: {}",
        stdout(&exported)
    );
    let coloured = bench(&desk, &["-r", "2", "--style", "color", "true"]);
    assert!(stdout(&coloured).contains('\u{1b}'), "{}", stdout(&coloured));
}

#[test]
fn a_quantile_and_a_control_are_measured_beside_the_commands() {
    let desk = Desk::new(SPEEDUP);
    let (report, rows) =
        measured(&desk, &["-r", "6", "--quantile", "0.9", "--control", "true", "sleep 0.002"]);
    assert_eq!(rows.len(), 18, "the baseline a second time");
    assert!(report["controls"].is_object(), "{report}");
    assert!(report["endpoints"].as_array().is_some_and(|endpoints| endpoints.len() == 1), "{report}");
}

#[test]
fn a_plan_says_which_variables_of_this_shell_no_run_sees() {
    let desk = Desk::new(SPEEDUP);
    let rest = "[versions.new.env]\nMALLOC_ARENA_MAX = \"1\"\n[benchmarks.x]\nshell = \"test -z \\\"$OMP_NUM_THREADS\\\"\"\n";
    desk.write("plan.toml", plan("e", 2, "any", rest));
    let shell = [("OMP_NUM_THREADS", "3"), ("MALLOC_ARENA_MAX", "2"), ("LANG", "C"), ("LC_ALL", "")];
    let output = desk.command(&["run", "plan.toml"]).envs(shell).output().expect("the command");
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    let line = said.lines().find(|line| line.contains("no run sees it")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("OMP_NUM_THREADS") && !line.contains("MALLOC_ARENA_MAX"), "{line}");
}

/// `last` and ids mean the same in every shell, while something is measured too, and the second that measures goes on.
#[test]
fn what_was_started_is_found_whoever_measures_meanwhile() {
    let desk = Desk::new(SPEEDUP);
    desk.ok(&["bench", "-r", "2", "true", "true --version"]);
    let listed = |more: &[&str]| -> Vec<Value> {
        let listed = desk.speedup(&[&["list", "--format", "json"], more].concat());
        serde_json::from_slice(&listed.stdout).unwrap_or_else(|_| panic!("{}", stderr(&listed)))
    };
    let id = listed(&[])[0]["experiment"].as_str().expect("an id").to_owned();
    let of_last =
        |arguments: &[&str]| stdout(&desk.speedup(arguments)).lines().next().unwrap_or_default().to_owned();
    assert!(of_last(&["report", "last"]).contains(&id) && of_last(&["report", &id[..13]]).contains(&id));
    let mut long = command(&desk, &["-r", "400", "sleep 0.2"]);
    let mut long =
        long.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().expect("the command");
    eventually("the long one is started", || (listed(&[]).len() == 2).then_some(()));
    assert_eq!(listed(&["--limit", "1"])[0]["phase"], "running", "it is reached through who measures it");
    let second = bench(&desk, &["-r", "2", "true", "true --version"]);
    assert!(second.status.success(), "{}", stderr(&second));
    assert!(stderr(&second).contains("another command"), "{}", stderr(&second));
    assert_eq!(listed(&[]).len(), 3, "in the order in which they were started, wherever they are kept");
    assert!(of_last(&["report", "last"]).contains(listed(&[])[0]["experiment"].as_str().expect("an id")));
    kill_process_group(Pid::from_child(&long), Signal::KILL).expect("it is there");
    long.wait().expect("its end");
}

/// Nothing of a long plan is executed in vain, and the cause is what is seen last.
#[test]
fn what_fails_at_once_is_not_repeated_to_the_end() {
    let desk = Desk::new(SPEEDUP);
    let failed = bench(&desk, &["-r", "500", "exit 3", "exit 4"]);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    let talk = stderr(&failed);
    assert!(talk.contains("Every benchmark failed") && talk.contains("exit code 3"), "{talk}");
    assert_eq!(stdout(&failed), "", "nothing was measured, so there is no report");
    let list = stdout(&desk.speedup(&["list", "--format", "json"]));
    let listed: Vec<Value> = serde_json::from_str(&list).expect("JSON");
    assert!(listed[0]["tally"]["failed"].as_u64().is_some_and(|failed| failed < 500), "{list}");
}

#[test]
fn quotes_braces_and_dollars_reach_the_shell_as_they_are() {
    let desk = Desk::new(SPEEDUP);
    let line =
        r#"X='a {b} "c"'; test "$X" = "a {b} \"c\"" && printf '{%s}\n' "${X}" | awk '{ exit $1 != "{a" }'"#;
    measured(&desk, &["-r", "2", line, "echo {} > /dev/null", "-p", "awk 'BEGIN { exit 0 }'"]);
}

#[test]
fn without_a_shell_words_are_split_as_a_shell_would_and_nothing_more() {
    let desk = Desk::new(SPEEDUP);
    let (_, rows) =
        measured(&desk, &["-N", "-r", "2", "test 'a b' = \"a b\"", "test '$HOME' != ''", "test {x} = {x}"]);
    assert_eq!(rows.len(), 6);
    let open = failed(&bench(&desk, &["-N", "true", "echo 'open"]), 2);
    assert!(open.contains("not closed"), "{open}");
    let missing = failed(&bench(&desk, &["-N", "-r", "2", "true", "speedup-no-such-program"]), 4);
    assert!(missing.contains("there is no such program"), "{missing}");
}

#[test]
fn every_combination_of_parameters_is_filled_in_everywhere() {
    let desk = Desk::new(SPEEDUP);
    let lists = ["-L", "word", r"a\,b,c", "-P", "number", "1", "2"];
    let prepared =
        ["-s", "echo setup {word} {number} >> log; echo loud", "-p", "echo {word} {number} > {number}.in"];
    let cleaned = ["-C", "echo {word} >> concluded", "-c", "echo cleanup {word} {number} >> log"];
    let command = "test \"$(cat {number}.in)\" = '{word} {number}'";
    let (report, rows) =
        measured(&desk, &[&["-r", "2", "-w", "1"], &lists[..], &prepared, &cleaned, &[command]].concat());
    assert_eq!((rows.len(), report["suites"].as_array().expect("suites").len()), (8, 3));
    assert!(rows.iter().all(|row| row["outcome"] == "measured"), "{rows:?}");
    let log = desk.read("log");
    for (at, step) in ["setup", "cleanup"].into_iter().enumerate() {
        let lines: Vec<&str> = log.lines().skip(4 * at).take(4).collect();
        let expected = ["a,b 1", "c 1", "a,b 2", "c 2"].map(|values| format!("{step} {values}"));
        assert_eq!(lines, expected, "once for each combination: {log}");
    }
    assert_eq!(desk.read("concluded").lines().count(), 4 * (2 + 1), "after each run and each warm-up");
}

#[test]
fn a_step_that_fails_says_which_and_what_was_set_up_is_cleaned_up() {
    let desk = Desk::new(SPEEDUP);
    for (flags, code, named) in [
        (&["-s", "exit 3"][..], 2, "the setup "),
        (&["-p", "exit 3", "-w", "1"], 2, "the --prepare command"),
        (&["-p", "echo why >&2; exit 3"], 4, "exit code 3: why"),
        (&["-c", "exit 3"], 2, "the cleanup "),
    ] {
        let output = bench(&desk, &[flags, &["-r", "2", "true", "false || true"]].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
        assert!(said.contains(named), "{flags:?}: {said}");
    }
    let output = bench(&desk, &["-p", "exit 3", "-w", "1", "-c", "touch cleaned", "true", "true"]);
    assert!(desk.path().join("cleaned").exists(), "{}", stderr(&output));
}

#[test]
fn a_command_that_fails_is_told_unless_failure_is_ignored() {
    let desk = Desk::new(SPEEDUP);
    let commands = ["-r", "3", "true", "echo the reason >&2; exit 7"];
    let failed = bench(&desk, &commands);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    let said = stdout(&failed) + &stderr(&failed);
    assert!(said.contains('7') && said.contains("the reason") && said.contains("hint: -i"), "{said}");
    assert!(said.contains("3 runs failed"), "{said}");
    for flag in ["-i", "--ignore-failure=7", "-i=1,7", "--ignore-failure=all-non-zero"] {
        let (_, rows) = measured(&desk, &[&[flag], &commands[..]].concat());
        assert!(rows.iter().all(|row| row["outcome"] == "measured"), "{flag}: {rows:?}");
    }
    assert_eq!(bench(&desk, &[&["-i=8"], &commands[..]].concat()).status.code(), Some(1), "another code");
    let unknown = bench(&desk, &["-r", "2", "true", "speedup-no-such-program"]);
    assert_eq!(unknown.status.code(), Some(1), "the shell ends with 127: {}", stderr(&unknown));
    assert!((stdout(&unknown) + &stderr(&unknown)).contains("not found"), "{}", stderr(&unknown));
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_hint_before_anything_is_executed() {
    let desk = Desk::new(SPEEDUP);
    for (arguments, named) in [
        (&["--fail-on-regression", "touch ran"][..], "only one command"),
        (&["--precision", "1%", "-L", "n", "1", "touch ran{n}"], "only one command"),
        (&["--control", "touch ran"], "only one command"),
        (&["-m", "3", "-M", "2", "touch ran"], "at most 2"),
        (&["-p", "true", "-p", "true", "-p", "true", "touch ran", "true"], "--prepare"),
        (&["--output", "somewhere", "touch ran"], "a path with a slash"),
        (&["--input", "no/such/file", "touch ran"], "cannot read no/such/file"),
        (&["-N", "-S", "bash", "touch ran"], "cannot be used with"),
        (&["-L", "N!", "1,2", "touch ran"], "name of a parameter"),
        (&["-P", "n", "2", "1", "touch ran"], "there is no number"),
        (&["-r", "0", "touch ran", "true"], "runs"),
        (&["--confidence", "1.5", "touch ran", "true"], "confidence"),
        (&["--export-json", "no/such/folder/file", "touch ran", "true"], "cannot write no/such/folder/file"),
        (&["--env", "SPEEDUP_NO_SUCH_VARIABLE", "touch ran", "true"], "no variable"),
        (&["-i=300", "touch ran", "true"], "exit codes from 0 to 255"),
    ] {
        let output = bench(&desk, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(named), "{arguments:?}: {}", stderr(&output));
    }
    let made: Vec<_> = std::fs::read_dir(desk.path()).expect("a directory").flatten().collect();
    assert!(made.is_empty(), "nothing was executed: {made:?}");
}

#[test]
fn the_name_of_a_long_command_is_whole_in_every_file() {
    let desk = Desk::new(SPEEDUP);
    let long = format!("true {}", "a".repeat(7_000));
    let files = [
        ("--export-json", "k.json"),
        ("--export-csv", "k.csv"),
        ("--export-markdown", "k.md"),
        ("--export-asciidoc", "k.adoc"),
        ("--export-orgmode", "k.org"),
    ];
    let parameter = "b".repeat(9_000);
    let command = format!("{long}{{end}}");
    let mut arguments = vec!["-r", "4", &command, "true", "-L", "end", &parameter, "--save-baseline", "long"];
    arguments.extend(files.iter().flat_map(|(option, file)| [option, file]));
    let output = bench(&desk, &arguments);
    assert!(output.status.success(), "{}", said(&output));
    let whole = format!("{long}{parameter}");
    for (_, file) in files {
        assert!(desk.read(file).contains(&whole), "{file}");
    }
    let answer = desk.json(&["compare", "k.json", "--baseline", "long"]);
    assert_eq!(answer["unmatched"].as_array().map(Vec::len), Some(0), "{answer}");
    for form in ["jsonl", "csv", "go", "hyperfine", "hyperfine1"] {
        let text = desk.ok(&["baseline", "export", "long", "--format", form]);
        assert!(text.contains(&"a".repeat(7_000)), "{form}");
    }
}

#[test]
fn what_could_not_be_kept_is_refused_before_anything_is_executed() {
    let desk = Desk::new(SPEEDUP);
    let named = format!("touch ran # {}", "a".repeat(12_000));
    desk.write("state", "no directory");
    for arguments in [
        // Each of its lines has the name, and there are 4 of a run.
        &["-r", "9000", &named, "--save-baseline", "large"][..],
        &["-r", "2", "touch ran", "--save-baseline", "nowhere"],
    ] {
        let output = bench(&desk, arguments);
        assert!(!output.status.success() && !desk.path().join("ran").exists(), "{}", said(&output));
    }
}

#[test]
fn hyperfines_export_is_read_back_and_has_the_shape_that_its_scripts_read() {
    let desk = Desk::new(SPEEDUP);
    let commands = ["-L", "n", "0.001,0.002", "sleep {n}", "-i", "sleep {n}; exit 3"];
    let (report, rows) =
        measured(&desk, &[&["-r", "4", "--export-json", "times.json"], &commands[..]].concat());
    let exported: Value = serde_json::from_str(&desk.read("times.json")).expect("JSON");
    let results = exported["results"].as_array().expect("results");
    assert_eq!(results.len(), 4, "{exported}");
    for (result, of) in
        results.iter().zip(["sleep 0.001", "sleep 0.002", "sleep 0.001; exit 3", "sleep 0.002; exit 3"])
    {
        assert_eq!(result["command"], of);
        // What hyperfine's scripts (`plot_whisker.py`, `advanced_statistics.py`) read.
        for field in ["mean", "stddev", "median", "user", "system", "min", "max"] {
            assert!(result[field].as_f64().is_some_and(|value| value >= 0.0), "{field}: {result}");
        }
        let times: Vec<f64> =
            result["times"].as_array().expect("times").iter().filter_map(Value::as_f64).collect();
        assert_eq!(times.len(), 4);
        assert!(times.iter().all(|seconds| *seconds >= 0.001), "{result}");
        assert!(result["parameters"]["n"].is_string(), "{result}");
        // What it has no place for: there are too few runs for an interval of the median.
        assert_eq!(result["confidence"], 0.95);
        let end = |at: usize| result["mean_interval"][at].as_f64().expect("an end");
        assert!((end(0)..=end(1)).contains(&result["mean"].as_f64().expect("a mean")), "{result}");
        assert_eq!(result["median_interval"], serde_json::json!([null, null]), "{result}");
    }
    let times = results.iter().flat_map(|result| result["times"].as_array().into_iter().flatten());
    let nanoseconds = |seconds: &Value| (seconds.as_f64().expect("a number") * 1e9).round() as u64;
    let mut exported: Vec<u64> = times.map(nanoseconds).collect();
    let mut kept: Vec<u64> = rows.iter().filter_map(|row| row["wall_ns"].as_u64()).collect();
    exported.sort_unstable();
    kept.sort_unstable();
    assert_eq!(exported, kept, "each time to the nanosecond");
    assert!(report["suites"].is_array());
    let bytes = desk.read("times.json").into_bytes();
    let read =
        speedup_formats::read(&bytes, Format::Hyperfine1, &Options::default()).expect("hyperfine's format");
    let wall = read.series.iter().filter(|series| series.name.metric.as_str() == WALL);
    assert_eq!(wall.map(|series| series.runs.values().len()).collect::<Vec<_>>(), [4; 4]);
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
}

#[test]
fn ctrl_c_ends_after_the_run_under_way_and_cleans_up() {
    let desk = Desk::new(SPEEDUP);
    let mut command =
        command(&desk, &["-r", "60", "-c", "touch cleaned", "echo >> ran; sleep 0.05", "sleep 0.05"]);
    // A terminal's Ctrl-C reaches the whole foreground group.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command");
    eventually("runs are under way", || (desk.read("ran").lines().count() >= 3).then_some(()));
    kill_process_group(Pid::from_child(&child), Signal::INT).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("Verdict"), "what is known is reported: {}", stdout(&output));
    assert!(desk.path().join("cleaned").exists());
    let rows = rows(&desk);
    let counted = rows.iter().filter(|row| row["outcome"] == "measured").count();
    assert!((3..120).contains(&counted), "{counted}");
    let resumed = desk.speedup(&["resume", "last"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    let said = stdout(&resumed);
    let (_, times) = said.split_once("\nCommands\n").expect("a table of the times");
    for command in ["echo >> ran; sleep 0.05", "sleep 0.05"] {
        let of = |line: &&str| {
            line.trim().strip_prefix(command).is_some_and(|rest| rest.trim_start().starts_with("60 "))
        };
        assert!(times.lines().any(|line| of(&line)), "{times}");
    }
    // The next comparison is not hindered by the last one.
    measured(&desk, &["-r", "2", "true", "true"]);
}

#[test]
fn the_commands_of_the_documentation_run() {
    let root = root();
    let text = ["docs/agent.md", "docs/bench.md"].map(|page| std::fs::read_to_string(root.join(page)));
    let text = text.map(|text| text.expect("the documentation")).concat();
    let desk = Desk::new(SPEEDUP);
    std::os::unix::fs::symlink(root.join("examples"), desk.path().join("examples")).expect("a link");
    let blocks = text.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let commands: Vec<&str> = blocks.flat_map(str::lines).collect();
    // The selftest has a test of its own, with fewer rounds.
    let commands = commands.into_iter().filter(|line| *line != "speedup agent selftest");
    let mut benches = 0;
    for line in commands {
        let ours = line.replacen("speedup ", "\"$SPEEDUP\" ", 1);
        assert_ne!(ours, line, "it is no command of ours");
        let mut shell = Command::new("sh");
        shell.args(["-c", &ours]).env("SPEEDUP", SPEEDUP).current_dir(desk.path());
        let output = shell.env("XDG_STATE_HOME", desk.path().join("state")).output().expect("a shell");
        assert!(output.status.success(), "{line}: {}", said(&output));
        benches += u32::from(line.contains("speedup bench "));
    }
    assert!(benches >= 8, "{benches}");
}

/// What a comparison is let in with goes with it: of many, the data directory keeps the certificate of its host's agent alone.
#[test]
fn comparisons_leave_no_certificate_of_their_user() {
    let desk = Desk::new(SPEEDUP);
    for _ in 0..3 {
        succeeded(&bench(&desk, &["-r", "2", "true", "sleep 0.001"]));
    }
    let data = desk.path().join("state/speedup/local").display().to_string();
    let access = desk.path().join("access.toml");
    let file = access.display().to_string();
    let mut start = desk.command(&["coordinator", "start", "--web", "off", "--bind", "127.0.0.1:0"]);
    start.args(["--data", &data, "--access-file", &file]).stdout(Stdio::null()).stderr(Stdio::null());
    let _coordinator = Killed(start.spawn().expect("a coordinator"));
    eventually("the coordinator listens", || access.exists().then_some(()));
    let listed = desk.json(&["access", "list", "--access-file", &file]);
    let certificates = listed["certificates"].as_array().expect("a list");
    let mut roles: Vec<_> = certificates.iter().filter_map(|one| one["role"].as_str()).collect();
    roles.sort_unstable();
    assert_eq!(roles, ["admin", "agent"], "of this coordinator's owner and of the agent: {listed}");
}
