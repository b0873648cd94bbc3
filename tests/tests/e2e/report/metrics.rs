//! Metrics from the plan to the export: the program's own, those of the scheduler, and what this host does not have.

use serde_json::Value;
use speedup_tests::{desk::Desk, output::json_lines, output::stderr, output::succeeded, root};

use crate::SPEEDUP;

const PLAN: &str = r#"
[experiment]
name = "metrics"
seed = 5
[versions.old]
baseline = true
vars = { rate = "100" }
[versions.new]
vars = { rate = "200" }
[benchmarks.told]
shell = '''
head -c 100000 /dev/zero | tr '\0' x
echo; echo "rate {rate} MB/s"; echo "rate {rate}.5 MB/s"
echo '{"pause": [0.25, 0.75]}' >&2
'''
[benchmarks.silent]
shell = "echo no rate at all"
[repetitions]
runs = 4
[metrics]
collect = ["user", "task_clock", "instructions", "energy_pkg", "memory_peak", "tree_cpu"]
[metrics.output.rate]
regex = '^rate ([0-9.]+) MB/s$'
unit = "MB/s"
better = "higher"
[metrics.output.pause]
pointer = "/pause"
from = "stderr"
unit = "s"
[independence]
policy = "any"
[output]
keep = "10B"
keep_of = "all"
"#;

#[test]
fn metrics_of_ones_own_and_of_the_host_reach_the_report_and_the_export() {
    let desk = Desk::new(SPEEDUP);
    desk.write("plan.toml", PLAN);
    // Runs without a value have failed, which is a result and no failure of the command.
    let output = desk.speedup(&["run", "plan.toml", "--data", "data", "--format", "json"]);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let metrics = report["metrics"].as_array().expect("metrics");
    let rate = metrics.iter().find(|metric| metric["metric"] == "rate").expect("the own metric");
    let told = &rate["rows"][0];
    assert_eq!(told["medians"], serde_json::json!([100.25, 200.25]), "the means of two iterations: {rate}");
    assert!(told["ratios"][0].as_f64().expect("a ratio") > 1.9, "higher is better: {rate}");

    let rows = json_lines(&desk.ok(&["export", "last", "--data", "data", "--format", "jsonl"]));
    let of = |benchmark: &str| -> Vec<&Value> {
        rows.iter().filter(|row| row["benchmark"] == benchmark).collect()
    };
    assert_eq!((of("told").len(), of("silent").len()), (8, 8));
    for row in of("told") {
        let rate = if row["version"] == "old" { 100.0 } else { 200.0 };
        assert_eq!(row["output.rate"], serde_json::json!([rate, rate + 0.5]), "{row}");
        assert_eq!(row["output.pause"], serde_json::json!([0.25, 0.75]), "{row}");
        let kept = row["stdout_kept"].as_str().expect("kept");
        assert_eq!(kept.len(), 10, "the whole stream was read, and this kept");
        assert!(row["task_clock_ns"].as_u64().is_some_and(|ns| ns > 0), "{row}");
        let absent = row["absent"].as_str().unwrap_or_default();
        for (column, name) in [("instructions", "instructions"), ("memory_peak_bytes", "memory_peak")] {
            let has_reason = absent.split(' ').any(|pair| pair.starts_with(&format!("{name}:")));
            assert_ne!(row[column].is_null(), !has_reason, "a value or a reason: {row}");
        }
    }
    for row in of("silent") {
        assert_eq!((&row["outcome"], &row["failure"]), (&"failed".into(), &"no_value".into()), "{row}");
        let words = row["failure_words"].as_str().expect("words");
        assert!(words.contains(" rate: "), "{words}");
        assert!(row["output.rate"].is_null());
    }
    assert!(desk.ok(&["export", "last", "--data", "data"]).contains("100;100.5"));
}

#[test]
fn what_programs_write_is_read_in_the_unit_of_the_plan() {
    let desk = Desk::new(SPEEDUP);
    let plan = r#"
[experiment]
name = "written"
[versions.old]
baseline = true
[versions.new]
[benchmarks.a]
shell = """
printf '\\357\\273\\277t=1,500.5 us\\r\\n\\033[32mt=2 ms\\033[0m\\r\\n'
printf '[INFO] begun\\n{"level": "info"}\\n{"took": "0:01.25", "x": NaN}\\n{"took": 3}\\n' >&2
"""
[repetitions]
runs = 1
[metrics.output.time]
regex = '^t=(?<value>\S+) (?<unit>\w+)$'
unit = "ms"
[metrics.output.took]
pointer = "/took"
from = "stderr"
unit = "s"
[independence]
policy = "any"
"#;
    desk.write("plan.toml", plan);
    desk.ok(&["run", "plan.toml", "--data", "data"]);
    let rows = json_lines(&desk.ok(&["export", "last", "--data", "data", "--format", "jsonl"]));
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row["output.time"], serde_json::json!([1.5005, 2.0]), "{row}");
        assert_eq!(row["output.took"], serde_json::json!([1.25, 3.0]), "{row}");
    }
    // A unit that nothing declares is refused before anything runs.
    desk.write("plan.toml", plan.replace("unit = \"ms\"\n", ""));
    assert_eq!(desk.speedup(&["plan", "check", "plan.toml"]).status.code(), Some(2));
}

#[test]
fn the_example_of_metrics_tells_what_dd_says() {
    let desk = Desk::new(SPEEDUP);
    let ok = |arguments: &[&str]| {
        succeeded(&desk.command(arguments).current_dir(root()).output().expect("it runs"))
    };
    let data = desk.path().display().to_string();
    ok(&["run", "examples/metrics.toml", "-r", "3", "--data", &data]);
    let said = ok(&["report", "last", "--section", "metric", "--data", &data]);
    assert!(said.contains("copy_time, mean in s"), "{said}");
    // What was measured is a pilot, by the digits of its id that people type.
    let listed = ok(&["list", "--data", &data]);
    let id = listed.lines().nth(1).and_then(|line| line.split_whitespace().next()).expect("an experiment");
    for pilot in ["last", id] {
        let planned = ok(&["samples", "repetitions", pilot, "--benchmark", "copy", "--data", &data]);
        assert!(planned.contains("finding the speedup") || planned.contains("smallest change"), "{planned}");
    }
    assert!(ok(&["plan", "check", "examples/metrics.toml"]).contains("copy_time in s from regex"));
}
