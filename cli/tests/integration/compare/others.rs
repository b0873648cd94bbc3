//! What other tools measured is read as they meant it: which values are the better ones, what failed or is missing, and what
//! was saved of it, in answers and by gates.

use std::{fmt::Write as _, fs, path::Path, process::Command, process::Output};

use serde_json::{Value, json};

use super::{json as answer, refused, stderr, varied};

/// A directory with files in it.
fn files(files: &[(&str, String)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        fs::write(directory.path().join(name), text).expect("a file");
    }
    directory
}

/// Any command, with the samples that are saved in the same directory.
fn speedup(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.args(arguments).current_dir(directory).env("XDG_STATE_HOME", directory.join("state"));
    command.output().expect("the command")
}

fn code_of(directory: &Path, arguments: &[&str]) -> Option<i32> {
    speedup(directory, arguments).status.code()
}

fn values(mean: f64, runs: usize) -> Vec<f64> {
    varied(runs, mean, 0.04).collect()
}

/// JMH's JSON of one benchmark, each value of a fork of its own.
fn jmh(mode: &str, unit: &str, mean: f64) -> String {
    let forks: Vec<Vec<f64>> = values(mean, 9).into_iter().map(|value| vec![value]).collect();
    json!([{"benchmark": "parse", "mode": mode, "primaryMetric": {"scoreUnit": unit, "rawData": forks}}])
        .to_string()
}

/// Go's text: each result of a process of its own, `name value unit …`.
fn go(name: &str, results: impl IntoIterator<Item = String>) -> String {
    results.into_iter().fold(String::new(), |mut text, result| {
        let _ = writeln!(text, "Benchmark{name}-2 10 {result}\nPASS");
        text
    })
}

/// hyperfine's JSON of commands, each with its times and exit codes.
fn hyperfine(commands: &[(&str, Vec<f64>, Vec<i32>)]) -> String {
    let results = commands
        .iter()
        .map(|(command, times, codes)| json!({"command": command, "times": times, "exit_codes": codes}));
    json!({"results": results.collect::<Vec<_>>()}).to_string()
}

/// Google Benchmark's JSON with one benchmark and a counter.
fn google(counter: &str, mean: f64) -> String {
    let entries = values(mean, 9).into_iter().map(|value| {
        let mut entry =
            json!({"name": "BM_scan", "run_type": "iteration", "real_time": 1.0, "cpu_time": 1.0});
        entry[counter] = value.into();
        entry
    });
    json!({"context": {}, "benchmarks": entries.collect::<Vec<_>>()}).to_string()
}

#[test]
fn a_rate_is_faster_where_it_is_larger() {
    let csv = |mean: f64| {
        let rows = values(mean, 9).into_iter().map(|value| format!("bandwidth,GiB/s,{value}\n"));
        format!("metric,unit,value\n{}", rows.collect::<String>())
    };
    let directive = |mean: f64| {
        let rows = values(mean, 9).into_iter().map(|value| format!("1 ns/op {value} widgets"));
        format!("Unit widgets better=higher\n{}", go("Make", rows))
    };
    let megabytes = |mean: f64| go("Copy", values(mean, 9).into_iter().map(|rate| format!("{rate} MB/s")));
    let cases: [(&str, [String; 2]); 6] = [
        ("throughput", [jmh("thrpt", "ops/ms", 1.0), jmh("thrpt", "ops/ms", 2.0)]),
        ("items_per_second", [google("items_per_second", 1.0), google("items_per_second", 2.0)]),
        ("bytes_per_second", [google("bytes_per_second", 1.0), google("bytes_per_second", 2.0)]),
        ("B/s", [megabytes(1.0), megabytes(2.0)]),
        ("widgets", [directive(1.0), directive(2.0)]),
        ("bandwidth", [csv(1.0), csv(2.0)]),
    ];
    for (metric, [before, after]) in cases {
        let directory = files(&[("a", before), ("b", after)]);
        let at = directory.path();
        let found = answer(at, &["a", "b", "--metric", metric]);
        assert_eq!((&found["better"], &found["gates"][0]["verdict"]), (&json!("higher"), &json!("faster")));
        let gate = ["--metric", metric, "--fail-on-regression"];
        assert_eq!(code_of(at, &[&["compare", "a", "b"], &gate[..]].concat()), Some(0), "{metric}");
        assert_eq!(code_of(at, &[&["compare", "b", "a"], &gate[..]].concat()), Some(1), "{metric}");
        // Saved samples know it too.
        assert_eq!(code_of(at, &["import", "a", "--as", "main"]), Some(0));
        let saved = ["compare", "b", "--baseline", "main", "--format", "json", "--metric", metric];
        let saved: Value = serde_json::from_slice(&speedup(at, &saved).stdout).expect("JSON");
        assert_eq!((&saved["better"], &saved["gates"][0]["verdict"]), (&json!("higher"), &json!("faster")));
    }
}

#[test]
fn a_flag_against_the_files_and_mixed_directions_are_refused() {
    let times = jmh("avgt", "ms/op", 1.0);
    let csv = |unit: &str| format!("metric,unit,value\nscore,{unit},1\nscore,{unit},2\n");
    let directory = files(&[
        ("a", times.clone()),
        ("b", times),
        ("rate.csv", csv("op/s")),
        ("time.csv", csv("s")),
        ("plain", "1\n2\n3\n".to_owned()),
        ("plain2", "2\n3\n4\n".to_owned()),
    ]);
    let at = directory.path();
    assert!(refused(at, &["a", "b", "--higher-is-better"]).contains("--higher-is-better"));
    refused(at, &["rate.csv", "time.csv"]);
    // Where nothing tells, the flag does.
    assert_eq!(answer(at, &["plain", "plain2", "--higher-is-better"])["better"], "higher");
}

#[test]
fn runs_that_crashed_are_told_and_fail_gates() {
    let good = vec![0; 9];
    let mut crashed = good.clone();
    crashed[4] = 139;
    let old = ("old", values(2.0, 9), good);
    let some = hyperfine(&[old.clone(), ("new", values(1.0, 9), crashed.clone())]);
    let most =
        hyperfine(&[old.clone(), ("new", values(0.1, 9), vec![139, 139, 139, 139, 139, 139, 139, 0, 139])]);
    let all = hyperfine(&[old, ("new", values(0.1, 9), vec![1; 9])]);
    let of_baseline = hyperfine(&[("old", values(2.0, 9), crashed), ("new", values(1.0, 9), vec![0; 9])]);
    let directory = files(&[("some", some), ("most", most), ("all", all), ("baseline", of_baseline)]);
    let at = directory.path();
    for (file, failed) in [("some", 1), ("most", 8)] {
        let found = answer(at, &[file]);
        assert_eq!(found["missing"][0]["cause"], "failed_runs", "{found}");
        assert_eq!(
            (&found["missing"][0]["failed"], &found["missing"][0]["runs"]),
            (&json!(failed), &json!(9))
        );
        assert_eq!(found["samples"][1]["n"], 9 - failed);
        assert!(
            found["caveats"].as_array().is_some_and(|all| all.iter().any(|one| one["code"] == "failed_runs"))
        );
        assert_eq!(found["gates"][0]["ruling"], "regression");
        let junit = speedup(at, &["compare", file, "--fail-on-regression", "--format", "junit"]);
        assert!(String::from_utf8_lossy(&junit.stdout).contains("failure type=\"failed\""));
        for form in ["table", "md", "json"] {
            let gate = ["compare", file, "--fail-on-regression", "--format", form];
            let output = speedup(at, &gate);
            assert_eq!(output.status.code(), Some(1), "{file}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("failed"), "{form}");
        }
        // What was saved knows it.
        assert_eq!(code_of(at, &["import", file, "--as", file]), Some(0));
        let saved = format!("saved:{file}");
        assert_eq!(code_of(at, &["compare", &saved, "--fail-on-regression"]), Some(1));
        assert_eq!(code_of(at, &["report", &saved, "--fail-on-regression"]), Some(1));
        for form in ["csv", "jsonl"] {
            let copy = format!("{file}.{form}");
            assert_eq!(code_of(at, &["baseline", "export", file, "--format", form, "-o", &copy]), Some(0));
            assert_eq!(answer(at, &[&copy])["missing"], found["missing"], "{form}");
        }
    }
    assert_eq!(code_of(at, &["compare", "all"]), Some(2));
    assert_eq!(code_of(at, &["compare", "all", "--require-conclusive"]), Some(3));
    assert_eq!(code_of(at, &["compare", "all", "--fail-on-regression"]), Some(1));
    // The baseline's crashes are told, and no regression.
    let found = answer(at, &["baseline"]);
    assert_eq!(
        (&found["missing"][0]["version"], &found["gates"][0]["verdict"]),
        (&json!("old"), &json!("faster"))
    );
    assert_eq!(code_of(at, &["compare", "baseline", "--fail-on-regression"]), Some(0));
}

#[test]
fn a_benchmark_that_is_missing_is_undecided_and_one_that_fails_a_regression() {
    let walls =
        |mean: f64| values(mean, 9).into_iter().map(|time| format!("{time} ns/op")).collect::<Vec<_>>();
    let both = |mean: f64| go("A", walls(mean)) + &go("B", walls(mean));
    let alone = go("A", walls(1.0));
    let dotnet = |values_of_b: &[f64]| {
        let of =
            |name: &str, values: &[f64]| json!({"FullName": name, "Statistics": {"OriginalValues": values}});
        let b = if values_of_b.is_empty() { json!({"FullName": "B"}) } else { of("B", values_of_b) };
        json!({"HostEnvironmentInfo": {}, "Benchmarks": [of("A", &values(1e6, 9)), b]}).to_string()
    };
    let asv = |b: Value| {
        let samples = json!([1.0, [], null, null, null, null, null, null, null, null, [values(1.0, 9)]]);
        let columns = [
            "result",
            "params",
            "version",
            "started_at",
            "duration",
            "stats_ci_99_a",
            "stats_ci_99_b",
            "stats_q_25",
            "stats_q_75",
            "number",
            "samples",
        ];
        json!({"version": 2, "commit_hash": "c", "requirements": {}, "result_columns": columns,
            "results": {"time_a": samples, "time_b": b}})
        .to_string()
    };
    let asv_good = asv(json!([1.0, [], null, null, null, null, null, null, null, null, [values(1.0, 9)]]));
    let failing: [(&str, String, String); 4] = [
        ("go", both(1.0), alone.clone() + "--- FAIL: BenchmarkB\nFAIL\n"),
        ("google", google("x", 1.0), {
            let failed = json!({"name": "BM_scan", "run_type": "iteration", "error_occurred": true, "error_message": "no"});
            json!({"context": {}, "benchmarks": [failed]}).to_string()
        }),
        ("dotnet", dotnet(&values(1e6, 9)), dotnet(&[])),
        ("asv", asv_good, asv(json!([null, []]))),
    ];
    for (tool, before, after) in failing {
        let directory = files(&[("a", before), ("b", after)]);
        let at = directory.path();
        assert_eq!(code_of(at, &["compare", "a", "b", "--fail-on-regression"]), Some(1), "{tool}");
        assert_eq!(code_of(at, &["compare", "a", "b", "--require-conclusive"]), Some(3), "{tool}");
        // What failed before decides nothing.
        assert_eq!(code_of(at, &["compare", "b", "a", "--require-conclusive"]), Some(3), "{tool}");
        assert_ne!(code_of(at, &["compare", "b", "a", "--fail-on-regression"]), Some(1), "{tool}");
    }
    let skipped = alone.clone() + "--- SKIP: BenchmarkB\n";
    let split = alone.clone() + "BenchmarkB-2\tsaid and never ended\nPASS\n";
    let directory = files(&[
        ("both", both(1.0)),
        ("alone", alone),
        ("skipped", skipped.clone()),
        ("split", split),
        ("skipped2", skipped),
    ]);
    let at = directory.path();
    for (file, cause) in [("alone", None), ("skipped", Some("skipped")), ("split", Some("unreadable"))] {
        let found = answer(at, &["both", file]);
        assert_eq!(found["unmatched"][0]["benchmark"], "B-2");
        assert_eq!(found["missing"][0]["cause"].as_str(), cause);
        assert_eq!(code_of(at, &["compare", "both", file, "--fail-on-regression"]), Some(0), "{file}");
        assert_eq!(code_of(at, &["compare", "both", file, "--require-conclusive"]), Some(3), "{file}");
        assert_eq!(code_of(at, &["compare", file, "both", "--require-conclusive"]), Some(3), "{file}");
    }
    // What both leave out on purpose is no question.
    let gates = &answer(at, &["skipped", "skipped2"])["gates"];
    assert!(
        gates.as_array().is_some_and(|gates| gates.iter().all(|one| one["benchmark"] != "B-2")),
        "{gates}"
    );
}

#[test]
fn values_that_cannot_be_compared_leave_only_their_benchmark_out() {
    for value in ["0", "-3", "1e300", "nan"] {
        let csv = |mean: f64| {
            let rows = values(mean, 9).into_iter().map(|time| format!("A,{value}\nB,{time}\n"));
            format!("benchmark,value\n{}", rows.collect::<String>())
        };
        let directory = files(&[("a.csv", csv(2.0)), ("b.csv", csv(1.0))]);
        let at = directory.path();
        for method in ["ratio", "speedup-test", "mixture", "distribution"] {
            let found = answer(at, &["a.csv", "b.csv", "--method", method]);
            assert!(
                found["samples"].as_array().is_some_and(|all| all.iter().all(|one| one["benchmark"] == "B"))
            );
        }
        if value != "nan" {
            let found = answer(at, &["a.csv", "b.csv"]);
            assert_eq!(found["missing"][0]["cause"], "unusable", "{value}");
            assert_eq!(code_of(at, &["compare", "a.csv", "b.csv", "--require-conclusive"]), Some(3));
        }
    }
}

#[test]
fn a_unit_that_is_known_is_no_unit_that_is_not() {
    let seconds = hyperfine(&[("sort", values(0.1, 9), vec![0; 9])]);
    let numbers = |mean: f64| values(mean, 9).iter().map(|value| format!("{value}\n")).collect::<String>();
    let table = |mean: f64| format!("value\n{}", numbers(mean));
    let jsonl = values(100.0, 9).iter().map(|value| format!("{{\"value\": {value}}}\n")).collect::<String>();
    let directory =
        files(&[("h.json", seconds), ("n.txt", numbers(100.0)), ("t.csv", table(100.0)), ("l.jsonl", jsonl)]);
    let at = directory.path();
    assert_eq!(code_of(at, &["import", "n.txt", "--as", "numbers"]), Some(0));
    let known = format!(
        "benchmark,unit,value\n{}",
        values(0.1, 9).iter().map(|v| format!("sample,s,{v}\n")).collect::<String>()
    );
    fs::write(at.join("k.csv"), known).expect("a file");
    for file in ["n.txt", "t.csv", "l.jsonl"] {
        for pair in [["k.csv", file], [file, "k.csv"]] {
            assert!(refused(at, &pair).contains("--unit"), "{file}");
            let found = answer(at, &[&pair[..], &["--unit", "ms"]].concat());
            assert_eq!(
                (&found["unit"], &found["gates"][0]["verdict"]),
                (&json!("s"), &json!("undecided")),
                "{file}"
            );
        }
    }
    let saved = speedup(at, &["compare", "k.csv", "--baseline", "numbers"]);
    assert_eq!(saved.status.code(), Some(2), "{}", stderr(&saved));
}

#[test]
fn what_was_exported_is_read_back() {
    let text = hyperfine(&[("./old", values(2.0, 9), vec![0; 9]), ("./new", values(1.0, 9), vec![0; 9])]);
    let directory = files(&[("h.json", text), ("jmh.json", jmh("thrpt", "ops/s", 3.0))]);
    let at = directory.path();
    assert_eq!(code_of(at, &["import", "h.json", "--as", "h"]), Some(0));
    assert_eq!(code_of(at, &["import", "jmh.json", "--as", "j"]), Some(0));
    let expected = answer(at, &["h.json"]);
    for form in ["csv", "jsonl", "go", "hyperfine", "hyperfine1"] {
        let copy = format!("h.{form}");
        assert_eq!(
            code_of(at, &["baseline", "export", "h", "--format", form, "-o", &copy]),
            Some(0),
            "{form}"
        );
        let found = answer(at, &[&copy]);
        assert_eq!(
            (&found["versions"], &found["findings"]),
            (&expected["versions"], &expected["findings"]),
            "{form}"
        );
    }
    for form in ["csv", "jsonl"] {
        let copy = format!("j.{form}");
        assert_eq!(
            code_of(at, &["baseline", "export", "j", "--format", form, "-o", &copy]),
            Some(0),
            "{form}"
        );
        assert_eq!(answer(at, &["jmh.json", &copy, "--metric", "throughput"])["better"], "higher", "{form}");
    }
}

#[test]
fn warnings_of_files_are_caveats_of_answers() {
    let measurement = |stage: &str, at: usize, time: f64| {
        json!({"IterationMode": "Workload", "IterationStage": stage,
        "LaunchIndex": at, "Operations": 1, "Nanoseconds": time})
    };
    let dotnet = |mean: f64| {
        let times = values(mean, 9);
        let actual = times.iter().enumerate().map(|(at, time)| measurement("Actual", at, *time));
        let result = times.iter().enumerate().skip(1).map(|(at, time)| measurement("Result", at, *time));
        json!({"HostEnvironmentInfo": {}, "Benchmarks":
            [{"FullName": "A", "Measurements": actual.chain(result).collect::<Vec<_>>()}]})
        .to_string()
    };
    let directory = files(&[("a", dotnet(2e6)), ("b", dotnet(1e6))]);
    let at = directory.path();
    let codes = |found: &Value| -> Vec<String> {
        let caveats = found["caveats"].as_array().expect("caveats").iter();
        caveats.filter_map(|one| one["code"].as_str().map(str::to_owned)).collect()
    };
    assert!(codes(&answer(at, &["a", "b"])).contains(&"outliers_removed".to_owned()));
    assert_eq!(code_of(at, &["import", "a", "b", "--as", "ab"]), Some(0));
    let saved = speedup(at, &["compare", "saved:ab", "--format", "json"]).stdout;
    let saved: Value = serde_json::from_slice(&saved).expect("JSON");
    assert!(codes(&saved).contains(&"outliers_removed".to_owned()));
    // Values of unlike kinds are told too.
    fs::write(at.join("h"), hyperfine(&[("A", values(1e-3, 9), vec![0; 9])])).expect("a file");
    assert!(codes(&answer(at, &["a", "h"])).contains(&"unlike_values".to_owned()));
}

#[test]
fn of_several_remarks_the_gravest_counts_and_each_benchmark_once() {
    let walls =
        |mean: f64| values(mean, 9).into_iter().map(|time| format!("{time} ns/op")).collect::<Vec<_>>();
    let alone = go("A", walls(1.0));
    let both = alone.clone() + &go("B", walls(1.0));
    let failed =
        alone.clone() + &"--- FAIL: BenchmarkB\n".repeat(9) + "BenchmarkB-2\tsaid\n--- SKIP: BenchmarkB\n";
    let directory =
        files(&[("both", both), ("failed", failed), ("skipped", alone + "--- SKIP: BenchmarkB\n")]);
    let at = directory.path();
    assert_eq!(code_of(at, &["compare", "both", "failed", "--fail-on-regression"]), Some(1));
    // Where the baseline skips it, its failure is undecided.
    let gates = ["--fail-on-regression", "--require-conclusive"];
    assert_eq!(code_of(at, &[&["compare", "skipped", "failed"], &gates[..]].concat()), Some(3));
    let found = answer(at, &["both", "failed", "--faster-by", "0"]);
    assert_eq!(found["missing"].as_array().map(Vec::len), Some(1), "{}", found["missing"]);
    assert_eq!(
        (&found["faster_shares"][0]["benchmarks"], &found["faster_shares"][0]["excluded"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn crashes_of_the_baseline_excuse_none_of_the_candidate() {
    let codes = |failed: usize| (0..9).map(|run| if run < failed { 139 } else { 0 }).collect::<Vec<_>>();
    let of = |old: usize, new: usize| {
        hyperfine(&[("old", values(1.0, 9), codes(old)), ("new", values(1.0, 9), codes(new))])
    };
    let slow = hyperfine(&[("old", values(1.0, 9), codes(1)), ("new", values(2.0, 9), codes(0))]);
    let directory = files(&[("flaky", of(1, 3)), ("worse", of(1, 9)), ("slow", slow)]);
    let at = directory.path();
    assert_eq!(code_of(at, &["compare", "flaky", "--fail-on-regression"]), Some(1));
    assert_eq!(code_of(at, &["compare", "worse", "--fail-on-regression"]), Some(1));
    // That the baseline crashed once leaves a verdict against the candidate what it is.
    assert_eq!(code_of(at, &["compare", "slow", "--fail-on-regression", "--require-conclusive"]), Some(1));
    assert_eq!(code_of(at, &["compare", "slow", "--require-conclusive"]), Some(0));
}

#[test]
fn commands_that_differ_are_not_compared_because_others_crashed() {
    let of = |sort: i32, gzip: i32| {
        hyperfine(&[("sort", values(4.0, 9), vec![sort; 9]), ("gzip", values(1.0, 9), vec![gzip; 9])])
    };
    let one = hyperfine(&[("sort", values(4.0, 9), vec![0; 9])]);
    let directory = files(&[("a", of(0, 1)), ("b", of(1, 0)), ("c", of(0, 1)), ("one", one)]);
    let at = directory.path();
    assert_eq!(code_of(at, &["compare", "a", "b"]), Some(2));
    assert_eq!(code_of(at, &["compare", "a", "b", "--fail-on-regression"]), Some(1));
    let found = answer(at, &["one", "c"]);
    assert_eq!(
        (&found["samples"][0]["benchmark"], &found["gates"][0]["verdict"]),
        (&json!("sort"), &json!("undecided"))
    );
}

#[test]
fn a_candidate_without_results_hides_no_other() {
    let csv = |a: f64, b: Option<f64>| {
        let mut text = "benchmark,value\n".to_owned();
        for value in values(a, 9) {
            let _ = writeln!(text, "A,{value}");
        }
        for value in b.map(|mean| values(mean, 9)).unwrap_or_default() {
            let _ = writeln!(text, "B,{value}");
        }
        text
    };
    let crashed = hyperfine(&[
        ("old", values(1.0, 9), vec![0; 9]),
        ("new", values(3.0, 9), vec![0; 9]),
        ("third", values(1.0, 9), vec![1; 9]),
    ]);
    let directory = files(&[
        ("base.csv", csv(1.0, Some(1.0))),
        ("slow.csv", csv(1.0, Some(9.0))),
        ("lacks.csv", csv(1.0, None)),
        ("three", crashed),
    ]);
    let at = directory.path();
    // B of slow.csv is not compared, as lacks.csv has none: no gate may pass it.
    let three = ["compare", "base.csv", "slow.csv", "lacks.csv", "--require-conclusive"];
    let gates = &answer(at, &three[1..4])["gates"];
    let of_b = gates.as_array().expect("gates").iter().filter(|one| one["benchmark"] == "B");
    assert_eq!(of_b.map(|one| one["candidate"].clone()).collect::<Vec<_>>(), ["slow.csv", "lacks.csv"]);
    assert_eq!(code_of(at, &three), Some(3));
    let found = answer(at, &["three"]);
    assert_eq!(found["versions"], json!(["old", "new"]));
    let rulings: Vec<_> =
        found["gates"].as_array().expect("gates").iter().map(|one| &one["ruling"]).collect();
    assert_eq!(rulings, ["regression", "regression"]);
    // The performance test has no row of a benchmark; what failed is counted all the same.
    let flaky = hyperfine(&[
        ("old", values(2.0, 9), vec![0; 9]),
        ("new", values(1.0, 9), vec![0, 0, 0, 9, 0, 0, 0, 0, 0]),
    ]);
    fs::write(at.join("flaky"), flaky).expect("a file");
    assert_eq!(code_of(at, &["compare", "flaky", "--method", "hpt", "--fail-on-regression"]), Some(1));
}

#[test]
fn files_that_name_one_version_are_versions_themselves() {
    let csv = |version: &str, failed: bool| {
        let mut text = "benchmark,version,value,remark\n".to_owned();
        for value in values(1.0, 9) {
            let _ = writeln!(text, "A,{version},{value},");
        }
        text + &if failed { format!("B,{version},,failed\n") } else { String::new() }
    };
    let directory = files(&[
        ("x", "B,v,,failed\n".replace("B,v,,", "benchmark,value,remark\nB,,")),
        ("x y", csv("v", false)),
        ("v1.csv", csv("v", false)),
        ("v2.csv", csv("w", true)),
    ]);
    let at = directory.path();
    let found = answer(at, &["v1.csv", "v2.csv"]);
    assert_eq!(
        (&found["versions"], &found["missing"][0]["version"]),
        (&json!(["v1.csv", "v2.csv"]), &json!("v2.csv"))
    );
    assert_eq!(code_of(at, &["import", "v1.csv", "v2.csv", "--as", "both"]), Some(0));
    let saved = speedup(at, &["compare", "saved:both", "--format", "json"]).stdout;
    let saved: Value = serde_json::from_slice(&saved).expect("JSON");
    assert_eq!((&saved["versions"], &saved["missing"]), (&found["versions"], &found["missing"]));
    // A file of failures alone is the baseline, if it is given first.
    assert_eq!(
        code_of(at, &["compare", "x", "x y", "--input-format", "csv", "--fail-on-regression"]),
        Some(2)
    );
}

#[test]
fn what_is_refused_has_its_tests_and_what_is_kept_its_samples() {
    let old = || ("old", values(1.0, 9), vec![0; 9]);
    let all = hyperfine(&[old(), ("new", values(1.0, 9), vec![7; 9])]);
    let good = hyperfine(&[old(), ("new", values(2.0, 9), vec![0; 9])]);
    let directory = files(&[("all", all), ("good", good)]);
    let at = directory.path();
    let junit =
        speedup(at, &["compare", "all", "--fail-on-regression", "--annotate", "github", "--format", "junit"]);
    assert_eq!(junit.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&junit.stdout).contains("failure type=\"failed\""));
    // A baseline stays what it was where nothing can be kept.
    assert_eq!(code_of(at, &["compare", "good", "--save-baseline", "main"]), Some(0));
    let kept = speedup(at, &["baseline", "export", "main"]).stdout;
    assert_eq!(code_of(at, &["compare", "all", "--save-baseline", "main"]), Some(2));
    assert_eq!(speedup(at, &["baseline", "export", "main"]).stdout, kept);
    // Rows have no place for what failed; it is said beside them.
    let some = hyperfine(&[old(), ("new", values(2.0, 9), vec![0, 0, 0, 0, 1, 0, 0, 0, 0])]);
    fs::write(at.join("some"), some).expect("a file");
    assert!(stderr(&speedup(at, &["compare", "some", "--format", "csv"])).contains("failed"));
}

#[test]
fn a_score_beside_rates_needs_a_word_on_its_direction() {
    let csv = |score: f64| {
        let mut text = "benchmark,unit,metric,value\n".to_owned();
        for value in values(score, 9) {
            let _ = writeln!(text, "A,op/s,score,{value}\nB,,score,{value}");
        }
        text
    };
    let directory = files(&[("a.csv", csv(1.0)), ("b.csv", csv(2.0))]);
    let at = directory.path();
    assert!(refused(at, &["a.csv", "b.csv"]).contains("--higher-is-better"));
    let found = answer(at, &["a.csv", "b.csv", "--higher-is-better"]);
    assert_eq!((&found["better"], &found["gates"][0]["verdict"]), (&json!("higher"), &json!("faster")));
}

#[test]
fn a_suite_of_many_unlike_benchmarks_is_answered_in_a_time_that_grows_with_it() {
    // Names of one file each: what is missing is counted by benchmark, not by pairs of them.
    let names = |prefix: &str| (0..4000).map(|at| format!("{prefix}{at},1\n")).collect::<String>();
    let csv = |prefix: &str| format!("benchmark,value\ncommon,1\ncommon,2\n{}", names(prefix));
    let directory = files(&[("a.csv", csv("a")), ("b.csv", csv("b")), ("c.csv", csv("c"))]);
    let found = answer(directory.path(), &["a.csv", "b.csv", "c.csv"]);
    let gates = found["gates"].as_array().expect("gates");
    assert_eq!(
        gates.iter().filter(|one| one["candidate"] == "b.csv" && one["missing"].is_string()).count(),
        8000
    );
}

#[test]
fn packages_and_parameters_that_failed_as_a_whole_are_regressions() {
    let walls = || values(1.0, 9).into_iter().map(|time| format!("{time} ns/op")).collect::<Vec<_>>();
    let a = || format!("pkg: q/a\n{}ok \tq/a\t1s\n", go("A", walls()));
    let b = || format!("pkg: q/b\n{}{}ok \tq/b\t1s\n", go("B", walls()), go("C", walls()));
    let unbuilt = a() + "FAIL\tq/b [build failed]\n";
    let panicked =
        a() + &format!("pkg: q/b\n{}BenchmarkC-2 \tpanic: boom\nFAIL\tq/b\t0.1s\n", go("B", walls()));
    let none = "FAIL\tq/a [build failed]\nFAIL\tq/b [build failed]\n".to_owned();
    let columns = ["result", "params", "samples"];
    let asv = |row: Value| {
        let results = json!({"time_a": [[1.0], [], [values(1.0, 9)]], "time_b": row});
        json!({"version": 2, "commit_hash": "c", "requirements": {}, "result_columns": columns, "results": results})
            .to_string()
    };
    let parameters = json!([["1", "2"]]);
    let directory = files(&[
        ("good", a() + &b()),
        ("unbuilt", unbuilt),
        ("panicked", panicked),
        ("none", none),
        ("asv", asv(json!([[1.0, 1.0], parameters, [values(1.0, 9), values(1.0, 9)]]))),
        ("asv-failed", asv(json!([null, parameters]))),
    ]);
    let at = directory.path();
    for (before, after) in
        [("good", "unbuilt"), ("good", "panicked"), ("good", "none"), ("asv", "asv-failed")]
    {
        let gate = ["compare", before, after, "--fail-on-regression"];
        let output = speedup(at, &gate);
        assert_eq!(output.status.code(), Some(1), "{after}: {}", stderr(&output));
    }
    // What a program says is no part of a benchmark's name.
    let talk = format!("pkg: q/a\nwarning: slow disk\n{}ok \tq/a\t1s\n", go("A", walls())) + &b();
    fs::write(at.join("talk"), talk).expect("a file");
    assert_eq!(answer(at, &["good", "talk"])["unmatched"], json!([]));
}
