//! `speedup compare` as a user has it: the real binary on files of every kind.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Each method with options that make it quick.
const METHODS: [&[&str]; 9] = [
    &["--method", "speedup-test", "--adjust", "holm"],
    &["--method", "speedup-test", "--mode", "published"],
    &["--method", "hpt"],
    &["--method", "effect", "--threshold", "1%", "--bootstrap", "50", "--seed", "7"],
    &["--method", "mixture", "--resamples", "0"],
    &["--method", "distribution", "--at-most", "2", "--clusters"],
    &["--method", "signed-rank"],
    &["--method", "earlier"],
    &["--method", "diagnostics"],
];

fn compare(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.arg("compare").args(arguments).current_dir(directory).output().expect("the command")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = compare(directory, &[arguments, &["--output", "json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

/// Exit code 2, an error, no panic.
fn refused(directory: &Path, arguments: &[&str]) -> String {
    let output = compare(directory, arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.starts_with("error: ") && !said.contains("panicked"), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    said
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn lines(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().fold(String::new(), |mut text, value| {
        let _ = writeln!(text, "{value:e}");
        text
    })
}

/// Values that vary without a pattern and without ties.
fn varied(n: usize, mean: f64, spread: f64) -> impl Iterator<Item = f64> {
    let golden = 0.618_033_988_749_894_9;
    (1..=n).map(move |i| mean * (1.0 + spread * ((i as f64 * golden).fract() - 0.5)))
}

enum Expected {
    /// With these words.
    Refused(&'static str),
    /// By every method; with this caveat of all samples, if there is one.
    Answered(Option<&'static str>),
}

fn bad_inputs() -> Vec<(&'static str, String, Expected)> {
    use Expected::{Answered, Refused};
    let with = |bad: &str| format!("1.5\n{bad}\n1.25\n1.75\n");
    vec![
        ("empty", String::new(), Refused("it is empty")),
        ("blank", " \n\n".to_owned(), Refused("it is empty")),
        ("words", with("fast"), Refused("line 2")),
        ("nan", with("NaN"), Refused("line 2")),
        ("infinite", with("inf"), Refused("line 2")),
        ("overflow", with("1e999"), Refused("line 2")),
        ("negative", with("-1.5"), Refused("which is not positive")),
        ("zero", with("0"), Refused("which is not positive")),
        ("tiny", with("1e-300"), Refused("outside 1e-100 to 1e100")),
        ("huge", with("1e300"), Refused("outside 1e-100 to 1e100")),
        ("one value", "1.5\n".to_owned(), Answered(None)),
        ("two values", "1.5\n1.25\n".to_owned(), Answered(None)),
        ("all equal", "1.5\n".repeat(9), Answered(Some("all_equal"))),
        ("ties", "1.5\n1.25\n1.5\n1.25\n1.75\n".repeat(4), Answered(None)),
        (
            "rounding",
            lines((0..12).map(|i| 1.5 + f64::from(i % 5) * 1e-15)),
            Answered(Some("spread_of_rounding")),
        ),
        ("small unit", lines(varied(12, 1e-99, 0.1)), Answered(None)),
        ("large unit", lines(varied(12, 1e99, 0.1)), Answered(None)),
        ("5001 values", lines(varied(5001, 1.5, 0.1)), Answered(None)),
    ]
}

#[test]
fn every_method_answers_or_refuses_whatever_a_file_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("good"), lines(varied(12, 2.0, 0.1))).expect("a file");
    for (name, text, expected) in bad_inputs() {
        fs::write(directory.path().join("bad"), text).expect("a file");
        for method in METHODS {
            for files in [["good", "bad"], ["bad", "good"]] {
                let arguments = [&files[..], method].concat();
                match &expected {
                    Expected::Refused(words) => {
                        let said = refused(directory.path(), &arguments);
                        assert!(said.contains(words), "{name}, {method:?}: {said}");
                    }
                    Expected::Answered(caveat) => {
                        let answer = json(directory.path(), &arguments);
                        is_sound(&answer, &format!("{name}, {method:?}"));
                        let has = |code: &str| {
                            answer["caveats"]
                                .as_array()
                                .expect("caveats")
                                .iter()
                                .any(|one| one["code"] == code)
                        };
                        assert!(caveat.is_none_or(has), "{name}, {method:?}: {}", answer["caveats"]);
                    }
                }
            }
        }
    }
}

/// What holds of every answer: names, level, sources; and that what is not concluded has a reason.
fn is_sound(answer: &Value, about: &str) {
    assert_eq!(answer["schema_version"], 1, "{about}");
    assert_eq!(answer["confidence"], 0.95, "{about}");
    assert!(answer["method"]["name"].as_str().is_some_and(|name| name.len() > 5), "{about}");
    assert!(!answer["method"]["sources"].as_array().expect("sources").is_empty(), "{about}");
    conclusions(&answer["findings"]["of"], about);
}

fn conclusions(value: &Value, about: &str) {
    if let Some(fields) = value.as_object() {
        let undecided = fields.get("verdict").is_some_and(|verdict| verdict == "not_enough_data");
        if let Some(reason) = fields.get("reason").filter(|_| undecided) {
            assert!(reason["code"].is_string() && reason["sentence"].is_string(), "{about}: {value}");
        }
        fields.values().for_each(|value| conclusions(value, about));
    }
    value.as_array().into_iter().flatten().for_each(|value| conclusions(value, about));
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("good"), "1\n2\n3\n").expect("a file");
    assert!(refused(directory.path(), &["good", "missing"]).contains("cannot read missing"));
    assert!(refused(directory.path(), &["good", "."]).contains("cannot read ."));
    assert!(refused(directory.path(), &["good", "good"]).contains("given twice"));
    assert!(refused(directory.path(), &["good"]).contains("a comparison needs two versions"));
    fs::write(
        directory.path().join("summary"),
        "command,mean,stddev,median,user,system,min,max\nls,1,1,1,1,1,1,1\n",
    )
    .expect("a file");
    assert!(refused(directory.path(), &["good", "summary"]).contains("summaries only"));
}

#[test]
fn options_that_cannot_be_meant_are_refused() {
    let examples = examples();
    let files = ["compare/before.csv", "compare/after.csv"];
    for (options, words) in [
        (&["--confidence", "1"][..], "1"),
        (&["--confidence", "0"], "0"),
        (&["--confidence", "NaN"], "NaN"),
        (&["--confidence", "95"], "95"),
        (&["--weights", "0,0,0,0,0,0"], "not a positive number"),
        (&["--weights", "1,-1,1,1,1,1"], "not a positive number"),
        (&["--weights", "1,1"], "2 weights for 6 benchmarks"),
        (&["--weights", "heavy"], "weights are"),
        (&["--weights", "fraction", "--higher-is-better"], "larger values are better"),
        (&["--threshold", "1%"], "belongs to --method effect"),
        (&["--method", "effect", "--threshold", "100%"], "share"),
        (&["--method", "effect", "--threshold", "-1%"], "share"),
        (&["--confidence", "-1"], "-1"),
        (&["--weights", "-1,1,1,1,1,1"], "not a positive number"),
        (&["--method", "hpt", "--speedup-under-test", "-1"], "speedup under test"),
        (&["--method", "distribution", "--quantiles", "-0.5,0.5"], "quantile"),
        (&["--method", "effect", "--bootstrap", "0"], "draws"),
        (&["--method", "hpt", "--speedup-under-test", "0"], "speedup under test"),
        (&["--method", "hpt", "--speedup-under-test", "NaN"], "speedup under test"),
        (&["--method", "mixture", "--resamples", "10"], "resamples"),
        (&["--method", "mixture", "--delta", "inf"], "inf"),
        (&["--method", "distribution", "--quantiles", "100%"], "quantile"),
        (&["--method", "distribution", "--at-most", "inf"], "inf"),
        (&["--clusters"], "belongs to --method distribution"),
        (&["--precision", "0"], "precision"),
        (&["--metric", "memory"], "there is no metric memory"),
        (&["--baseline", "nobody"], "there is no version"),
        (&["--column", "seconds"], "no column seconds"),
        (&["--format", "go"], "cannot read"),
        (&["--format", "abacus"], "no such format"),
        (&["--drawn", "--population", "3"], "3"),
    ] {
        let said = refused(&examples, &[&files[..], options].concat());
        assert!(said.contains(words), "{options:?}: {said}");
    }
}

/// What cannot vary over its replicates has no interval and decides nothing, nor does one whose ends are the extremes of
/// the draws.
#[test]
fn a_bootstrap_that_cannot_vary_decides_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, values: String| fs::write(directory.path().join(name), values).expect("a file");
    file("single", "1.5\n".to_owned());
    file("half", "0.7\n".to_owned());
    file("fives", "1.5\n".repeat(9));
    file("sevens", "0.7\n".repeat(9));
    file("slow", lines(varied(12, 2.0, 0.1)));
    file("fast", lines(varied(12, 1.0, 0.1)));
    let cases = [
        (["single", "half"], "500", "no_error"),
        (["slow", "half"], "500", "no_error"),
        (["single", "fast"], "500", "no_error"),
        (["fives", "sevens"], "500", "constant"),
        (["slow", "fast"], "1", ""),
        (["slow", "fast"], "39", ""),
    ];
    for (files, draws, reason) in cases {
        for statistic in ["mean", "median"] {
            let options = ["-m", "effect", "--bootstrap", draws, "--statistic", statistic, "--seed", "1"];
            let answer = json(directory.path(), &[&files[..], &options].concat());
            let bootstrap = &answer["findings"]["of"][0]["bootstrap"];
            assert_eq!(bootstrap["decision"], "not_enough_data", "{files:?}: {bootstrap}");
            if reason.is_empty() {
                assert_eq!(bootstrap["interval"]["caveats"][0]["code"], "few_draws", "{bootstrap}");
            } else {
                assert_eq!(bootstrap["interval"]["reason"]["code"], reason, "{files:?}: {bootstrap}");
            }
        }
    }
    let enough = ["slow", "fast", "-m", "effect", "--bootstrap", "40", "--seed", "1"];
    assert_eq!(json(directory.path(), &enough)["findings"]["of"][0]["bootstrap"]["decision"], "faster");
}

/// Touati 2010 §3.2: Σ w x/Σ w y over the accelerated benchmarks, with the weights that they have among all.
#[test]
fn the_accelerated_benchmarks_alone_have_an_overall_speedup() {
    let examples = examples().join("compare");
    for weights in ["equal", "6,5,4,3,2,1"] {
        let answer = json(&examples, &["before.csv", "after.csv", "--weights", weights]);
        let samples = answer["samples"].as_array().expect("samples");
        let suite = &answer["findings"]["of"][0];
        for (at, by) in ["mean", "median"].into_iter().enumerate() {
            let summary = |version: &str, name: &Value| {
                let of = |sample: &&Value| sample["version"] == version && sample["benchmark"] == *name;
                samples.iter().find(of).and_then(|sample| sample[by].as_f64()).expect("a summary")
            };
            let (mut slow, mut fast, mut count) = (0.0, 0.0, 0);
            for (place, one) in (0_u32..).zip(suite["benchmarks"].as_array().expect("benchmarks")) {
                if one[by]["verdict"] == "faster" {
                    let weight = if weights == "equal" { 1.0 } else { f64::from(6 - place) };
                    slow += weight * summary("before.csv", &one["benchmark"]);
                    fast += weight * summary("after.csv", &one["benchmark"]);
                    count += 1;
                }
            }
            let proportion = &suite["proportions"][at];
            assert!(count > 0 && count < 6 && proportion["accelerated"] == count, "{proportion}");
            let alone = &proportion["overall_of_accelerated"];
            let speedup = alone["speedup"].as_f64().expect("a speedup");
            assert!((speedup - slow / fast).abs() < 1e-12, "{by}: {speedup}, {}", slow / fast);
            assert!((alone["gain"].as_f64().expect("a gain") - (1.0 - fast / slow)).abs() < 1e-12);
        }
    }
    let slower = json(&examples, &["after.csv", "before.csv"]);
    let proportion = &slower["findings"]["of"][0]["proportions"][0];
    assert_eq!(
        (&proportion["accelerated"], &proportion["overall_of_accelerated"]),
        (&0.into(), &Value::Null)
    );
}

#[test]
fn numbers_in_refusals_are_short_and_standard_input_is_read_once() {
    let examples = examples().join("compare");
    let files = ["before.csv", "after.csv"];
    for option in [
        &["--weights", "1e300,1,1,1,1,1"][..],
        &["--weights", "5e-324,1,1,1,1,1"],
        &["--method", "hpt", "--speedup-under-test", "1e300"],
        &["--method", "mixture", "--delta", "-1e300", "--resamples", "0"],
    ] {
        let said = refused(&examples, &[&files[..], option].concat());
        assert!(said.len() < 400 && said.contains("hint: "), "{said}");
    }
    assert!(refused(&examples, &["-", "-"]).contains("standard input is given twice"));
    let percent = json(&examples, &[&files[..], &["--confidence", "90%"]].concat());
    assert_eq!(percent["confidence"], 0.9);
}

#[test]
fn suites_are_matched_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = |names: [&str; 2]| {
        let rows =
            names.iter().flat_map(|name| varied(8, 1.0, 0.1).map(move |value| format!("{name},{value}\n")));
        format!("benchmark,value\n{}", rows.collect::<String>())
    };
    let write = |name: &str, text: String| fs::write(directory.path().join(name), text).expect("a file");
    write("a.csv", table(["sort", "gzip"]));
    write("b.csv", table(["link", "sort"]));
    write("c.csv", table(["link", "hash"]));
    let answer = json(directory.path(), &["a.csv", "b.csv"]);
    let unmatched = answer["unmatched"].as_array().expect("unmatched");
    assert_eq!(unmatched.len(), 2);
    assert_eq!(unmatched[0], serde_json::json!({"benchmark": "gzip", "missing_in": ["b.csv"]}));
    let table = compare(directory.path(), &["a.csv", "b.csv"]).stdout;
    assert!(String::from_utf8_lossy(&table).contains("unmatched_benchmarks: "));
    // These say something of each sample alone.
    let alone = ["mixture", "diagnostics", "distribution"];
    for method in METHODS.iter().filter(|method| method.iter().all(|word| !alone.contains(word))) {
        let said = refused(directory.path(), &[&["a.csv", "c.csv"], *method].concat());
        assert!(said.contains("no benchmark is in all versions"), "{said}");
    }
}

#[test]
fn one_file_is_the_versions_that_it_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    let times = |mean: f64| {
        let times: Vec<String> = varied(12, mean, 0.1).map(|time| time.to_string()).collect();
        times.join(",")
    };
    let hyperfine = format!(
        r#"{{"results": [{{"command": "old", "times": [{}]}}, {{"command": "new", "times": [{}]}}]}}"#,
        times(2.0),
        times(1.0)
    );
    fs::write(directory.path().join("h.json"), &hyperfine).expect("a file");
    let answer = json(directory.path(), &["h.json"]);
    assert_eq!(answer["versions"], serde_json::json!(["old", "new"]));
    assert_eq!((&answer["findings"]["of"][0]["verdict"], &answer["unit"]), (&"faster".into(), &"s".into()));
    let turned = json(directory.path(), &["h.json", "--baseline", "new"]);
    assert_eq!(turned["versions"], serde_json::json!(["new", "old"]));
    assert_eq!(turned["findings"]["of"][0]["verdict"], "slower");

    let rows = [("v1", 2.0), ("v2", 1.0), ("v3", 0.5)];
    let rows = rows.iter().flat_map(|(build, mean)| {
        varied(9, *mean, 0.1).map(move |seconds| format!("sort,{build},{seconds}\n"))
    });
    let table = format!("name,build,seconds\n{}", rows.collect::<String>());
    fs::write(directory.path().join("t.csv"), table).expect("a file");
    let columns = ["--column", "seconds", "--version-column", "build", "--benchmark-column", "name"];
    let answer = json(directory.path(), &[&["t.csv"], &columns[..]].concat());
    assert_eq!(answer["findings"]["of"].as_array().map(Vec::len), Some(2));

    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    let command =
        command.args(["compare", "-", "--output", "json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.spawn().expect("the command");
    running.stdin.take().expect("its input").write_all(hyperfine.as_bytes()).expect("read by the command");
    let answer: Value =
        serde_json::from_slice(&running.wait_with_output().expect("its end").stdout).expect("one JSON value");
    assert_eq!(answer["files"], serde_json::json!(["standard input"]));
}

#[test]
fn runs_of_pyperf_are_a_level_and_metrics_of_go_are_chosen() {
    let directory = tempfile::tempdir().expect("a directory");
    let pyperf = |mean: f64| {
        let run = |factor: f64| {
            let values: Vec<String> = varied(4, mean * factor, 0.1).map(|value| value.to_string()).collect();
            format!(r#"{{"values": [{}]}}"#, values.join(","))
        };
        let runs: Vec<String> = varied(6, 1.0, 0.2).map(run).collect();
        let runs = runs.join(",");
        format!(
            r#"{{"version": "1.0", "benchmarks": [{{"metadata": {{"name": "sort", "unit": "second"}}, "runs": [{runs}]}}]}}"#
        )
    };
    let write = |name: &str, text: String| fs::write(directory.path().join(name), text).expect("a file");
    write("before.json", pyperf(2.0));
    write("after.json", pyperf(1.0));
    let files = ["before.json", "after.json"];
    let answer = json(directory.path(), &[&files[..], &["--method", "effect"]].concat());
    let found = &answer["findings"]["of"][0];
    assert_eq!(found["baseline_levels"]["levels"].as_array().map(Vec::len), Some(2));
    assert_eq!((&found["decision"], &found["benchmark"]), (&"faster".into(), &"sort".into()));
    let tested = json(directory.path(), &files);
    let sample = &tested["samples"][0];
    assert_eq!((&sample["runs"], &sample["values"], &sample["n"]), (&6.into(), &24.into(), &6.into()));

    let go = |ns: f64, bytes: f64| {
        let line = |(time, size): (f64, f64)| format!("BenchmarkSort-8 100 {time} ns/op {size} B/op\n");
        varied(9, ns, 0.1).zip(varied(9, bytes, 0.1)).map(line).collect::<String>()
    };
    write("before.txt", go(2e6, 100.0));
    write("after.txt", go(1e6, 200.0));
    let files = ["before.txt", "after.txt"];
    let verdict = |more: &[&str]| {
        json(directory.path(), &[&files[..], more].concat())["findings"]["of"][0]["verdict"].clone()
    };
    assert_eq!((verdict(&[]), verdict(&["--metric", "B/op"])), ("faster".into(), "slower".into()));
    assert_eq!(verdict(&["--metric", "B/op", "--higher-is-better"]), "faster");
    let said = refused(directory.path(), &["before.txt", "before.json"]);
    assert!(said.contains("no benchmark is in all versions"), "{said}");
}

#[test]
fn the_speedup_test_is_that_of_speedup_test() {
    let examples = examples();
    let directory = tempfile::tempdir().expect("a directory");
    let prefix = directory.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_speedup"))
        .args(["test", "speedup-test/bench.cfg", "--output", "json", "-o"])
        .arg(&prefix)
        .current_dir(&examples)
        .output()
        .expect("the command");
    let tested: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    for benchmark in tested["benchmarks"].as_array().expect("benchmarks") {
        let file = |side: &str| benchmark[side]["file"].as_str().expect("a file").to_owned();
        let (baseline, candidate) = (file("baseline"), file("candidate"));
        let answer = json(&examples, &[baseline.as_str(), candidate.as_str(), "--mode", "published"]);
        let compared = &answer["findings"]["of"][0]["benchmarks"][0];
        assert_eq!(compared["speedups"], benchmark["speedups"]);
        for by in ["mean", "median"] {
            assert_eq!(
                compared[by]["published"]["significant"], benchmark[by]["significant"],
                "{baseline} by the {by}"
            );
            assert_eq!(
                compared[by]["published"]["confidence"], benchmark[by]["confidence"],
                "{baseline} by the {by}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_seed_is_printed() {
    let files = ["compare/before.csv", "compare/after.csv", "--method", "effect", "--bootstrap", "100"];
    let seeded = [&files[..], &["--seed", "3"]].concat();
    for form in ["table", "json", "csv"] {
        let arguments = [&seeded[..], &["--output", form]].concat();
        let [first, second] = [compare(&examples(), &arguments), compare(&examples(), &arguments)];
        assert!(first.status.success() && first.stdout == second.stdout, "{form}");
        let printed = String::from_utf8_lossy(&first.stdout).into_owned() + &stderr(&first);
        assert!(printed.contains("seed 3") || printed.contains("\"seed\": 3"), "{printed}");
    }
    let drawn = json(&examples(), &files);
    assert!(drawn["seed"].is_u64());
    let csv = compare(&examples(), &[&seeded[..], &["--output", "csv"]].concat()).stdout;
    let csv = String::from_utf8(csv).expect("UTF-8");
    assert!(csv.starts_with("verdict,candidate,benchmark,speedup,lower,upper,"), "{csv}");
    assert_eq!(csv.lines().count(), 7);
}

/// Every command of the documentation says what stands under it.
#[test]
fn the_documented_commands_say_what_is_documented() {
    let root = examples().join("..");
    let text = fs::read_to_string(root.join("docs/compare.md")).expect("the documentation");
    let mut checked = 0;
    let mut blocks = text.split("```").skip(1).step_by(2).peekable();
    while let Some(block) = blocks.next() {
        let Some(command) = block.strip_prefix("sh\n") else { continue };
        let words = shlex::split(command).expect("a command line");
        let [program, verb, rest @ ..] = words.as_slice() else { panic!("no command: {command}") };
        assert_eq!((program.as_str(), verb.as_str()), ("speedup", "compare"));
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let output = compare(&root, &rest);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        if let Some(shown) = blocks.next_if(|next| next.starts_with("text\n")) {
            let printed = String::from_utf8(output.stdout).expect("UTF-8");
            let shown = shown.trim_start_matches("text\n");
            // A documented answer may end early, with a line of its own.
            let shown = shown.trim_end().strip_suffix("…").unwrap_or(shown);
            assert!(printed.starts_with(shown), "{command}\nis documented as\n{shown}\nand says\n{printed}");
            checked += 1;
        }
    }
    assert_eq!(checked, 8, "one example a method");
}

/// Touati 2010 §5 publishes one interval; Brown, Cai and DasGupta compare it with others.
#[test]
fn any_interval_of_a_proportion_is_to_be_had() {
    let examples = examples().join("compare");
    let files = ["before.csv", "after.csv"];
    let asked = json(&examples, &[&files[..], &["--proportion-interval", "clopper-pearson"]].concat());
    // R: binom.test(3, 6)$conf.int.
    let interval = &asked["findings"]["of"][0]["proportions"][0]["asked"];
    let end = |name: &str| interval[name].as_f64().expect("an end");
    assert!((end("lower") - 0.118_117_248_757_025).abs() < 1e-12, "{interval}");
    assert!((end("upper") - 0.881_882_751_242_975).abs() < 1e-12, "{interval}");
    assert!(
        interval["caveats"]
            .as_array()
            .expect("caveats")
            .iter()
            .all(|one| one["code"] != "proportion_condition")
    );
    let shown = compare(&examples, &[&files[..], &["--proportion-interval", "jeffreys"]].concat()).stdout;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.contains("Wilson interval: [") && shown.contains("Jeffreys interval: ["), "{shown}");
    refused(&examples, &[&files[..], &["--method", "effect", "--proportion-interval", "wald"]].concat());
}

/// A verdict asks one direction, an interval both.
#[test]
fn an_interval_that_covers_one_beside_a_verdict_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let slow = [10.18, 10.40, 9.90, 10.17, 9.65, 10.02, 9.67, 10.04, 9.98, 10.23, 9.91, 9.75];
    let fast = [9.56, 9.33, 10.28, 9.26, 9.82, 10.02, 9.76, 9.41, 9.93, 10.23, 10.20, 9.39];
    fs::write(directory.path().join("slow"), lines(slow)).expect("a file");
    fs::write(directory.path().join("fast"), lines(fast)).expect("a file");
    let mean = &json(directory.path(), &["slow", "fast"])["findings"]["of"][0]["benchmarks"][0]["mean"];
    assert!(mean["verdict"] == "faster" && mean["interval"]["lower"].as_f64() < Some(1.0), "{mean}");
    let shown = String::from_utf8_lossy(&compare(directory.path(), &["slow", "fast"]).stdout).into_owned();
    assert!(shown.contains("interval_covers_one: "), "{shown}");
}

/// A mean that may be 0 has no ratio: the table says why.
#[test]
fn a_missing_interval_is_explained() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("wide"), lines([1.0, 2.0, 3.0, 5000.0])).expect("a file");
    fs::write(directory.path().join("wider"), lines([0.1, 0.2, 40.0, 9000.0])).expect("a file");
    let arguments = ["wide", "wider", "--method", "effect"];
    let finding = &json(directory.path(), &arguments)["findings"]["of"][0];
    let code = finding["reason"]["code"].as_str().expect("a reason");
    let shown = String::from_utf8_lossy(&compare(directory.path(), &arguments).stdout).into_owned();
    assert!(shown.contains(&format!("\n{code}: ")), "{shown}");
}
