//! Blocks of a table that make pairs, verdicts on tails, and controls.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, process::Command, process::Output};

use serde_json::Value;

use super::{compare, examples, json, lines, refused, stderr, varied};

/// Blocks that differ far more than the versions do: one a tenth slower, in the other order in every other block.
fn blocked(blocks: usize) -> String {
    let mut text = "version,block,value\n".to_owned();
    for (block, noise) in (0..blocks).zip(varied(blocks, 1.1, 0.01)) {
        let common = 1.0 + ((block * 7) % 11) as f64;
        let mut rows = [("before", common * noise), ("after", common)];
        if block % 2 == 1 {
            rows.reverse();
        }
        for (version, value) in rows {
            let _ = writeln!(text, "{version},b{block},{value}");
        }
    }
    text
}

fn write(directory: &Path, name: &str, text: &str) {
    fs::write(directory.join(name), text).expect("a file");
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn first<'a>(answer: &'a Value, part: &str) -> &'a Value {
    &answer["findings"]["of"][0][part][0]
}

fn has(answer: &Value, code: &str) -> bool {
    answer["caveats"].as_array().expect("caveats").iter().any(|caveat| caveat["code"] == code)
}

#[test]
fn a_block_with_runs_of_both_versions_is_a_pair() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), "runs.csv", &blocked(12));
    let output = compare(directory.path(), &["runs.csv"]);
    let (table, said) = (stdout(&output), stderr(&output));
    assert!(said.contains("`block`") && said.contains("--run-column run"), "{said}");
    assert!(table.contains(": 1.100×") && table.contains("pairs_by_block: "), "{table}");
    let header = table.lines().find(|line| line.starts_with("verdict")).expect("a heading");
    assert!(header.contains("pairs"), "{table}");
    let paired = json(directory.path(), &["runs.csv"]);
    let design = &first(&paired, "benchmarks")["design"];
    assert_eq!(design["kind"], "pairs");
    assert_eq!(design["unit"], "block");
    assert_eq!(design["baseline_units"], 12);
    // Each run by itself shows nothing.
    let apart = json(directory.path(), &["runs.csv", "--run-column", "run"]);
    assert_eq!(first(&apart, "benchmarks")["verdict"], "undecided");
    assert!(first(&apart, "benchmarks")["design"].is_null() && !has(&apart, "pairs_by_block"));
    for method in ["speedup-test", "signed-rank"] {
        let output = compare(directory.path(), &["runs.csv", "-m", method]);
        assert!(stdout(&output).contains("faster"), "{method}");
        assert!(stdout(&output).contains("pairs_by_block: "), "{method}");
    }
    for method in ["hpt", "effect", "brunner-munzel", "earlier"] {
        assert!(has(&json(directory.path(), &["runs.csv", "-m", method]), "pairs_not_used"), "{method}");
    }
    let csv = stdout(&compare(directory.path(), &["runs.csv", "--format", "csv"]));
    assert!(csv.starts_with("verdict,candidate,benchmark,baseline_runs,candidate_runs,pairs,of,"), "{csv}");
    assert!(csv.contains("\nfaster,after,sample,12,12,12,trimmed mean,"), "{csv}");
}

#[test]
fn blocks_without_a_version_are_named_and_blocks_of_several_files_are_not_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let broken = blocked(12).replace("after,b3,", "after,b99,");
    write(directory.path(), "broken.csv", &(broken + "after,,5\n"));
    let answer = json(directory.path(), &["broken.csv"]);
    let caveats = answer["caveats"].as_array().expect("caveats");
    let broken = caveats.iter().find(|caveat| caveat["code"] == "broken_pairs").expect("the caveat");
    let sentence = broken["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("\"b3\", \"b99\", 1 run"), "{sentence}");
    assert_eq!(first(&answer, "benchmarks")["design"]["baseline_units"], 11);
    let (mut before, mut after) = ("block,value\n".to_owned(), "block,value\n".to_owned());
    for line in blocked(12).lines().skip(1) {
        let (version, rest) = line.split_once(',').expect("a row");
        let _ = writeln!(if version == "before" { &mut before } else { &mut after }, "{rest}");
    }
    write(directory.path(), "before.csv", &before);
    write(directory.path(), "after.csv", &after);
    let output = compare(directory.path(), &["before.csv", "after.csv"]);
    assert!(stderr(&output).contains("share blocks"), "{}", stderr(&output));
    assert!(stdout(&output).contains("Undecided between"), "{}", stdout(&output));
    // Two tables with the same words: pairs within either, none between them.
    write(directory.path(), "one.csv", &blocked(12));
    write(directory.path(), "two.csv", &blocked(12));
    let answer = json(directory.path(), &["one.csv", "two.csv"]);
    let of = |candidate: usize| &answer["findings"]["of"][candidate]["benchmarks"][0];
    assert_eq!((&of(0)["candidate"], &of(0)["verdict"]), (&"one.csv after".into(), &"faster".into()));
    assert!(of(0)["design"].is_object() && of(1)["design"].is_null());
    assert!(has(&answer, "no_pairs"), "{}", answer["caveats"]);
}

#[test]
fn what_is_imported_keeps_its_pairs() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), "runs.csv", &blocked(12));
    let speedup = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
        command.args(arguments).current_dir(&directory).env("XDG_STATE_HOME", directory.path());
        let output = command.output().expect("the command");
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    let direct = speedup(&["compare", "runs.csv", "--format", "csv"]);
    speedup(&["import", "runs.csv", "--as", "kept"]);
    assert_eq!(speedup(&["compare", "saved:kept", "--format", "csv"]), direct);
    write(directory.path(), "exported.csv", &speedup(&["export", "saved:kept", "--format", "csv"]));
    assert_eq!(speedup(&["compare", "exported.csv", "--format", "csv"]), direct);
    // Of several files, too.
    write(directory.path(), "other.csv", &blocked(9));
    let files = ["compare", "runs.csv", "other.csv", "--format", "csv"];
    let direct = speedup(&files);
    speedup(&["import", "runs.csv", "other.csv", "--as", "both"]);
    assert_eq!(speedup(&["compare", "saved:both", "--format", "csv"]), direct);
}

/// Runs of which every tenth is `tail` times as long, without an order.
fn with_tail(n: usize, tail: f64) -> String {
    lines(
        varied(n, 1.0, 0.1).enumerate().map(|(at, time)| if (at * 7) % 10 == 3 { tail * time } else { time }),
    )
}

fn rows(directory: &Path, arguments: &[&str]) -> Vec<BTreeMap<String, String>> {
    let output = compare(directory, &[arguments, &["--format", "csv"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    csv::Reader::from_reader(output.stdout.as_slice()).deserialize().collect::<Result<_, _>>().expect("CSV")
}

#[test]
fn quantiles_have_verdicts_beside_the_centre() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), "before", &with_tail(200, 1.5));
    write(directory.path(), "after", &with_tail(200, 3.0));
    let arguments = ["before", "after", "--quantile", "95%", "--quantile", "0.99"];
    let output = compare(directory.path(), &arguments);
    let table = stdout(&output);
    for part in ["p95 of after: worse on 1", "p99 of after: ", "\ntoo_few_runs: ", " 368 "] {
        assert!(table.contains(part), "{part}:\n{table}");
    }
    let found = rows(directory.path(), &arguments);
    let of: Vec<(&str, &str, &str)> =
        found.iter().map(|row| (&*row["of"], &*row["verdict"], &*row["adjusted_verdict"])).collect();
    assert_eq!(
        of,
        [
            ("trimmed mean", "undecided", "undecided"),
            ("p95", "worse", "worse"),
            ("p99", "not enough data", "not enough data")
        ]
    );
    let answer = json(directory.path(), &arguments);
    let [p95, p99] = [0, 1].map(|at| &answer["findings"]["of"][0]["endpoints"][at]);
    assert_eq!(p95["quantile"], 0.95);
    assert_eq!(p95["family"], "common");
    assert_eq!(p95["metric"], Value::Null);
    assert_eq!(p99["rows"][0]["reason"]["code"], "too_few_runs");
    assert_eq!(answer["method"]["options"]["quantiles"][1], 0.99);
    // A gate goes by the tail.
    let gated = compare(directory.path(), &["before", "after", "--quantile", "0.95", "--fail-on-regression"]);
    assert_eq!(gated.status.code(), Some(1), "{}", stderr(&gated));
    assert!(stderr(&gated).contains("after on sample: p95"), "{}", stderr(&gated));
    let without = compare(directory.path(), &["before", "after", "--fail-on-regression"]);
    assert_eq!(without.status.code(), Some(0), "{}", stderr(&without));
}

#[test]
fn a_share_is_left_out_of_trimmed_means_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), "before", &with_tail(20, 3.0));
    write(directory.path(), "after", &with_tail(20, 1.0));
    let ratio = |more: &[&str]| {
        rows(directory.path(), &[&["before", "after"][..], more].concat())[0]["speedup"].clone()
    };
    assert_eq!(ratio(&[]), ratio(&["--trim", "10%"]));
    assert_ne!(ratio(&[]), ratio(&["--trim", "0"]));
    for more in
        [&["--center", "median", "--trim", "0.1"][..], &["--trim", "0.3"], &["-m", "hpt", "--trim", "0.1"]]
    {
        let refused = compare(directory.path(), &[&["before", "after"][..], more].concat());
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {}", stderr(&refused));
    }
}

#[test]
fn a_control_is_told_apart_and_passes_every_gate() {
    let examples = examples().join("compare");
    let files = ["before.csv", "after.csv", "before-again.csv", "--control", "before-again.csv"];
    let table = stdout(&compare(&examples, &files));
    assert!(table.contains("0 of 6;") && table.contains("smallest effect"), "{table}");
    let two = json(&examples, &["before.csv", "after.csv"]);
    let answer = json(&examples, &files);
    assert_eq!((&answer["findings"], &answer["versions"]), (&two["findings"], &two["versions"]));
    assert_eq!(answer["controls"]["rows"].as_array().expect("rows").len(), 6);
    let found = rows(&examples, &files);
    let controls: Vec<_> = found.iter().filter(|row| row["role"] == "control").collect();
    assert!(controls.len() == 6, "{found:?}");
    assert!(controls.iter().all(|row| !row["smallest_effect"].is_empty()), "{found:?}");
    assert_eq!(found.iter().filter(|row| row["role"] == "candidate").count(), 6);
    // An alarm of the control is no regression.
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), "before", &lines(varied(20, 1.0, 0.1)));
    write(directory.path(), "after", &lines(varied(20, 0.9, 0.1)));
    write(directory.path(), "again", &lines(varied(20, 1.5, 0.1)));
    let arguments = ["before", "after", "again", "--fail-on-regression", "--require-conclusive"];
    let gated = compare(directory.path(), &[&arguments[..], &["--control", "again"]].concat());
    assert_eq!(gated.status.code(), Some(0), "{}", stderr(&gated));
    assert!(stdout(&gated).contains("controls_alarmed: "), "{}", stdout(&gated));
    assert_eq!(compare(directory.path(), &arguments).status.code(), Some(1));
}

#[test]
fn tails_and_controls_that_cannot_be_meant_are_refused() {
    let examples = examples().join("compare");
    let files = ["before.csv", "after.csv", "before-again.csv"];
    for (options, words) in [
        (&["--quantile", "1"][..], "above 0 and below 1"),
        (&["--quantile", "-0.5"], "above 0 and below 1"),
        (&["--quantile", "p99"], "above 0 and below 1"),
        (&["--quantile", "0.9", "--quantile", "90%"], "is given twice"),
        (&["-m", "effect", "--quantile", "0.9"], "--method ratio"),
        (&["-m", "hpt", "--control", "after.csv"], "--method ratio"),
        (&["--control", "nobody"], "\"nobody\""),
        (&["--control", "before.csv"], "is the baseline"),
    ] {
        let said = refused(&examples, &[&files[..], options].concat());
        assert!(said.contains(words), "{options:?}: {said}");
    }
    let alone = refused(&examples, &["before.csv", "after.csv", "--control", "after.csv"]);
    assert!(alone.contains("only the control"), "{alone}");
    // Three values a run: of their means there is no tail.
    let answer = json(&examples, &[&files[..2], &["--quantile", "0.5"]].concat());
    assert_eq!(answer["findings"]["of"][0]["endpoints"][0]["rows"][0]["reason"]["code"], "no_single_runs");
}

/// Without a gate `gates` are ruled at the method's threshold too.
#[test]
fn the_threshold_of_effect_is_that_of_gates() {
    let arguments = ["compare/after.csv", "compare/before.csv", "--method", "effect", "--threshold"];
    let regressions = |threshold: &str| {
        let answer = json(&examples(), &[&arguments[..], &[threshold]].concat());
        let gates = answer["gates"].as_array().expect("gates");
        gates.iter().filter(|gate| gate["ruling"] == "regression").count()
    };
    assert!(regressions("1%") > 0);
    assert_eq!(regressions("50%"), 0);
}
