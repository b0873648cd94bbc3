//! What files of other tools hold, as versions, benchmarks and levels.

use std::{collections::BTreeSet, fs, io::Write as _, process::Command, process::Stdio};

use serde_json::Value;

use super::{METHODS, json, refused, varied};

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
    assert_eq!(answer["caveats"].as_array().map(Vec::len), Some(1), "{}", answer["caveats"]);
    assert_eq!(answer["caveats"][0]["code"], "unmatched_benchmarks");
    // These say something of each sample alone.
    let alone = ["mixture", "diagnostics", "distribution"];
    for method in METHODS.iter().filter(|method| method.iter().all(|word| !alone.contains(word))) {
        let said = refused(directory.path(), &[&["a.csv", "c.csv"], *method].concat());
        assert!(said.contains("in all versions"), "{said}");
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
    assert_eq!(answer["findings"]["of"][0]["suite"]["verdict"], "faster");
    assert_eq!(answer["unit"], "s");
    let turned = json(directory.path(), &["h.json", "--baseline", "new"]);
    assert_eq!(turned["versions"], serde_json::json!(["new", "old"]));
    assert_eq!(turned["findings"]["of"][0]["suite"]["verdict"], "slower");

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
        command.args(["compare", "-", "--format", "json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
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
        json(directory.path(), &[&files[..], more].concat())["findings"]["of"][0]["suite"]["verdict"].clone()
    };
    assert_eq!((verdict(&[]), verdict(&["--metric", "B/op"])), ("faster".into(), "slower".into()));
    let said = refused(directory.path(), &["before.txt", "before.json"]);
    assert!(said.contains("in all versions"), "{said}");
}

/// criterion's directory: each baseline is a version, benchmarks have their own names, and the latest measurement is left out
/// where a baseline is the same one.
#[test]
fn the_directory_of_criterion_is_a_suite() {
    let directory = tempfile::tempdir().expect("a directory");
    let measured = |benchmark: &str, baseline: &str, time: f64| {
        let folder = directory.path().join("criterion").join(benchmark).join(baseline);
        fs::create_dir_all(&folder).expect("a folder");
        let iterations: Vec<String> = (1..=40).map(|at| format!("{}.0", at * 10)).collect();
        let totals: Vec<String> = varied(40, time, 0.01)
            .enumerate()
            .map(|(at, ns)| (ns * 10.0 * (at + 1) as f64).to_string())
            .collect();
        let sample = format!(
            r#"{{"sampling_mode": "Linear", "iters": [{}], "times": [{}]}}"#,
            iterations.join(","),
            totals.join(",")
        );
        fs::write(folder.join("sample.json"), sample).expect("a file");
        let description = format!(r#"{{"group_id": "sorts", "full_id": "sorts: {benchmark}"}}"#);
        fs::write(folder.join("benchmark.json"), description).expect("a file");
    };
    for benchmark in ["merge", "quick"] {
        measured(benchmark, "before", 200.0);
        measured(benchmark, "after", 100.0);
        measured(benchmark, "new", 100.0);
    }
    fs::create_dir_all(directory.path().join("criterion/report")).expect("a folder");
    let answer = json(directory.path(), &["criterion", "--baseline", "before"]);
    let samples = answer["samples"].as_array().expect("samples");
    let named = |sample: &Value| {
        [&sample["benchmark"], &sample["version"]].map(|word| word.as_str().map(str::to_owned))
    };
    let found: BTreeSet<_> = samples.iter().map(named).collect();
    let wanted = ["sorts: merge", "sorts: quick"].into_iter().flat_map(|benchmark| {
        ["before", "after"].map(|version| [benchmark, version].map(|word| Some(word.to_owned())))
    });
    assert_eq!(found, wanted.collect());
    assert_eq!(samples[0]["values"], 10, "groups of four batches");
    measured("merge", "new", 150.0);
    let answer = json(directory.path(), &["criterion", "--baseline", "before"]);
    let samples = answer["samples"].as_array().expect("samples");
    assert!(
        samples.iter().any(|sample| sample["version"] == "new"),
        "another measurement than those by name"
    );
}
