//! The reference cases of the whole protocol, through the command: what the published program says of them, its variant on
//! R before 4.2, and the best risks in closed form.

use std::path::Path;

use serde_json::Value;

use super::folder::{Folder, HEADING};

/// The numbers of a file of samples as text.
fn lines(sample: &Value) -> String {
    let numbers = sample.as_array().expect("a sample").iter().map(|value| format!("{value}\n"));
    numbers.collect()
}

fn field(value: &Value) -> String {
    if value.is_null() { "NA".to_owned() } else { value.to_string() }
}

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../analysis/statistics/tests/reference/speedup_protocol.json");
    let text = std::fs::read_to_string(path).expect("the reference file");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    json["cases"].as_array().expect("cases").clone()
}

/// The files of a case, and the options that go with it.
fn laid_out(case: &Value) -> (Folder, Vec<String>) {
    let folder = Folder::new();
    let mut configuration = HEADING.to_owned();
    for (at, benchmark) in case["benchmarks"].as_array().expect("benchmarks").iter().enumerate() {
        let samples = ["sample1", "sample2"].map(|key| {
            folder.write(&format!("{at}.{key}"), lines(&benchmark[key]));
            format!("{at}.{key}")
        });
        configuration += &format!(
            "{},{},{},{},{}\n",
            benchmark["name"],
            samples[0],
            samples[1],
            field(&benchmark["conf_level"]),
            field(&benchmark["coef"])
        );
    }
    folder.write("c.csv", configuration);
    let options = &case["options"];
    let mut arguments = vec!["c.csv".to_owned()];
    arguments.extend(["--weight".to_owned(), options["weight"].as_str().expect("a weight").to_owned()]);
    arguments.extend(["--precision".to_owned(), options["precision"].to_string()]);
    if !options["conf_level"].is_null() {
        arguments.extend(["--conf-level".to_owned(), options["conf_level"].to_string()]);
    }
    (folder, arguments)
}

fn close(got: &Value, expected: &Value) -> bool {
    match (got.as_f64(), expected.as_f64()) {
        (Some(got), Some(expected)) => (got - expected).abs() <= 1e-9 * expected.abs() + 1e-12,
        (got, expected) => got.is_none() && expected.is_none(),
    }
}

/// The rows of an expectation against the command's JSON, verdict by verdict.
fn assert_rows(id: &str, json: &Value, expected: &Value) {
    let rows = expected["rows"].as_array().expect("rows");
    assert_eq!(json["benchmarks"].as_array().map(Vec::len), Some(rows.len()), "{id}");
    for (benchmark, row) in json["benchmarks"].as_array().expect("benchmarks").iter().zip(rows) {
        let name = format!("{id} {}", row["name"]);
        for protocol in ["mean", "median"] {
            let (got, expected) = (&benchmark[protocol], &row[protocol]);
            assert_eq!(got["significant"], expected["significant"], "{name} {protocol}");
            assert!(
                close(&got["confidence"], &expected["conf_level"]),
                "{name} {protocol}: {got} {expected}"
            );
        }
        for summary in ["min", "mean", "median"] {
            let expected = &row[format!("speedup_{summary}")];
            assert!(close(&benchmark["speedups"][summary], expected), "{name} speedup of the {summary}");
        }
        for at in 0..3 {
            assert!(close(&benchmark["coefficients"][at], &row["coef"][at]), "{name} coefficient {at}");
        }
    }
    for (at, name) in ["prop_mean", "prop_median"].into_iter().enumerate() {
        let (got, expected) = (&json["proportions"][at], &expected[name]);
        assert_eq!(got["accelerated"], expected["a"], "{id} {name}");
        assert_eq!(got["benchmarks"], expected["b"], "{id} {name}");
        assert_eq!(got["condition_holds"], expected["valid"], "{id} {name}");
        assert!(close(&got["interval"]["lower"], &expected["lower"]), "{id} {name}");
        assert!(close(&got["interval"]["upper"], &expected["upper"]), "{id} {name}");
        assert_eq!(got["benchmarks_needed"].as_u64().unwrap_or(0), expected["min_benchmarks"], "{id} {name}");
    }
}

/// How many warnings the published program gives for a benchmark.
fn warned(row: &Value) -> usize {
    ["mean", "median"].map(|protocol| row[protocol]["warnings"].as_array().map_or(0, Vec::len)).iter().sum()
}

#[test]
fn the_published_program_says_the_same_of_every_case() {
    let cases = cases();
    assert!(cases.len() >= 30, "{} cases", cases.len());
    for case in &cases {
        let id = case["id"].as_str().expect("an id");
        let (folder, arguments) = laid_out(case);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let json = folder.json(&arguments);
        let expected = &case["expected_tool"];
        assert_rows(id, &json, expected);
        assert_eq!(json["weights"], expected["weight_used"], "{id}");
        for (at, summary) in ["min", "mean", "median"].into_iter().enumerate() {
            let (got, expected) = (&json["overall"][at], &expected["overall"][summary]);
            assert!(close(&got["gain"], &expected["gain"]), "{id} gain of the {summary}");
            assert!(close(&got["speedup"], &expected["speedup"]), "{id} speedup of the {summary}");
        }
        for (benchmark, row) in json["benchmarks"]
            .as_array()
            .into_iter()
            .flatten()
            .zip(expected["rows"].as_array().into_iter().flatten())
        {
            let ours = benchmark["warnings"].as_array().into_iter().flatten();
            // Why a verdict is NA the published program does not say.
            let ours = ours.filter(|warning| warning["code"] != "test_refused").count();
            assert_eq!(ours, warned(row), "{id} {}: {}", row["name"], benchmark["warnings"]);
        }
        assert_results_file(id, &folder, expected);
    }
}

/// The results file, to its three decimals.
fn assert_results_file(id: &str, folder: &Folder, expected: &Value) {
    let (written, expected) = (folder.rows("c.csv.out"), expected["rows"].as_array().expect("rows"));
    assert_eq!(written.len(), expected.len(), "{id}");
    for (row, expected) in written.iter().zip(expected) {
        let truth = |value: &Value| match value.as_bool() {
            Some(true) => "TRUE",
            Some(false) => "FALSE",
            None => "NA",
        };
        assert_eq!(row.mean().0, truth(&expected["mean"]["significant"]), "{id}");
        assert_eq!(row.median().0, truth(&expected["median"]["significant"]), "{id}");
        for (text, key) in [(1, "speedup_min"), (2, "speedup_mean"), (5, "speedup_median")] {
            let written: f64 = row.fields()[text].parse().expect("a number");
            let exact = expected[key].as_f64().expect("a number");
            assert!((written - exact).abs() <= 0.0005 + 1e-9, "{id} {key}: {written} for {exact}");
        }
    }
}

#[test]
fn the_published_program_on_older_r_says_the_same() {
    for case in &cases() {
        let (folder, arguments) = laid_out(case);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--legacy-ks"]).collect();
        let id = case["id"].as_str().expect("an id");
        assert_rows(id, &folder.json(&arguments), &case["expected_legacy_ks"]);
    }
}

#[test]
fn the_exact_mode_finds_the_best_level_in_closed_form() {
    let mut checked = 0;
    for case in cases().iter().filter(|case| case["options"]["conf_level"].is_null()) {
        let (folder, arguments) = laid_out(case);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--mode", "exact"]).collect();
        let configured = case["benchmarks"].as_array().expect("benchmarks");
        // A configuration that leaves some coefficients out is refused in this mode.
        let given = configured.iter().filter(|one| !one["coef"].is_null()).count();
        if given != 0 && given != configured.len() {
            let said = folder.test(&arguments);
            assert!(said.code == Some(2) && said.err.contains("Coef is missing"), "{}", said.err);
            continue;
        }
        let json = folder.json(&arguments);
        for (at, configured) in configured.iter().enumerate().filter(|(_, one)| one["conf_level"].is_null()) {
            for protocol in ["mean", "median"] {
                let expected = &case["expected_tool"]["rows"][at][format!("best_alpha_{protocol}_exact")];
                let got = &json["benchmarks"][at][protocol];
                let risk = got["conclusion"]["risk"].as_f64();
                let agrees = match (risk, expected.as_f64()) {
                    (Some(risk), Some(expected)) => (risk - expected).abs() <= 1e-5 * expected + 1e-15,
                    (risk, expected) => risk.is_none() && expected.is_none(),
                };
                assert!(agrees, "{} {} {protocol}: {risk:?} for {expected}", case["id"], configured["name"]);
                assert_eq!(got["significant"] == true, !expected.is_null(), "{} {protocol}", case["id"]);
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "only {checked} were checked");
}
