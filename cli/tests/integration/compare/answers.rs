//! What is concluded, and what is said beside it.

use std::{fs, process::Command};

use serde_json::Value;

use super::{compare, examples, json, lines, refused, varied};

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
        let answer =
            json(&examples, &["before.csv", "after.csv", "-m", "speedup-test", "--weights", weights]);
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
    let slower = json(&examples, &["after.csv", "before.csv", "-m", "speedup-test"]);
    let proportion = &slower["findings"]["of"][0]["proportions"][0];
    assert_eq!(proportion["accelerated"], 0);
    assert_eq!(proportion["overall_of_accelerated"], Value::Null);
}

#[test]
fn the_speedup_test_is_that_of_speedup_test() {
    let examples = examples();
    let directory = tempfile::tempdir().expect("a directory");
    let prefix = directory.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_speedup"))
        .args(["test", "speedup-test/bench.cfg", "--format", "json", "-o"])
        .arg(&prefix)
        .current_dir(&examples)
        .output()
        .expect("the command");
    let tested: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    for benchmark in tested["benchmarks"].as_array().expect("benchmarks") {
        let file = |side: &str| benchmark[side]["file"].as_str().expect("a file").to_owned();
        let (baseline, candidate) = (file("baseline"), file("candidate"));
        let answer = json(
            &examples,
            &[baseline.as_str(), candidate.as_str(), "-m", "speedup-test", "--mode", "published"],
        );
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

/// Touati 2010 §5 publishes one interval; Brown, Cai and DasGupta compare it with others.
#[test]
fn any_interval_of_a_proportion_is_to_be_had() {
    let examples = examples().join("compare");
    let files = ["before.csv", "after.csv", "-m", "speedup-test"];
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
    refused(&examples, &["before.csv", "after.csv", "--method", "effect", "--proportion-interval", "wald"]);
}

/// A verdict of the Speedup-Test asks one direction, an interval both.
#[test]
fn an_interval_that_covers_one_beside_a_verdict_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let slow = [10.18, 10.40, 9.90, 10.17, 9.65, 10.02, 9.67, 10.04, 9.98, 10.23, 9.91, 9.75];
    let fast = [9.56, 9.33, 10.28, 9.26, 9.82, 10.02, 9.76, 9.41, 9.93, 10.23, 10.20, 9.39];
    fs::write(directory.path().join("slow"), lines(slow)).expect("a file");
    fs::write(directory.path().join("fast"), lines(fast)).expect("a file");
    let arguments = ["slow", "fast", "-m", "speedup-test"];
    let mean = &json(directory.path(), &arguments)["findings"]["of"][0]["benchmarks"][0]["mean"];
    assert!(mean["verdict"] == "faster" && mean["interval"]["lower"].as_f64() < Some(1.0), "{mean}");
    let shown = String::from_utf8_lossy(&compare(directory.path(), &arguments).stdout).into_owned();
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
