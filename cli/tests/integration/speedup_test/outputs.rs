//! Where samples are looked for, and what is written where.

use std::{
    collections::BTreeMap, fs, io::Write as _, os::unix::fs::symlink, process::Command, process::Stdio,
};

use serde_json::Value;

use super::folder::{FAST, Folder, HEADING, SLOW, Said};

#[test]
fn four_files_are_written_beside_the_configuration_or_by_prefix() {
    let folder = Folder::with_configuration("a,slow,fast,,\n");
    folder.tested(&["c.csv"]);
    assert_eq!(
        folder.names(),
        ["c.csv", "c.csv.out", "c.csv.report", "c.csv.status", "c.csv.warning", "fast", "slow"]
    );
    assert!(folder.read("c.csv.warning").ends_with("\n0 warnings.\n"));
    fs::create_dir(folder.path("d")).expect("a folder");
    folder.tested(&["c.csv", "-o", "d/x"]);
    folder.tested(&["c.csv", "--output=d/y"]);
    assert_eq!(folder.read("d/x.out"), folder.read("c.csv.out"));
    assert_eq!(folder.read("d/y.out"), folder.read("c.csv.out"));
}

#[test]
fn what_is_there_is_replaced_and_a_failure_does_not_look_like_success() {
    let folder = Folder::with_configuration("a,slow,fast,,\n");
    for ending in ["out", "report", "warning", "status"] {
        folder.write(&format!("c.csv.{ending}"), "of another time");
    }
    folder.tested(&["c.csv"]);
    for ending in ["out", "report", "warning", "status"] {
        assert!(!folder.read(&format!("c.csv.{ending}")).contains("of another time"), "{ending}");
    }
    let results = folder.read("c.csv.out");
    folder.write("fast", "none\n");
    assert_eq!(folder.test(&["c.csv"]).code, Some(2));
    let status = folder.read("c.csv.status");
    assert!(status.contains("failed") && status.contains("of an earlier analysis"), "{status}");
    assert_eq!(folder.read("c.csv.out"), results);
    assert!(folder.names().iter().all(|name| !name.ends_with(".part")));
}

/// Runs that get slower and slower are no independent ones.
#[test]
fn runs_that_depend_on_their_order_are_told_beside_the_files() {
    let drifting = |first: u32| (0..40).map(|run| format!("{}\n", first + run)).collect::<String>();
    let mixed = |first: u32| {
        let mut state = first;
        let mut next = || {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            first + (state >> 16) % 40
        };
        (0..40).map(|_| format!("{}\n", next())).collect::<String>()
    };
    let said = |slow: String, fast: String| {
        let folder = Folder::with_configuration("a,slow,fast,,\n");
        folder.write("slow", slow).write("fast", fast);
        let said = folder.tested(&["c.csv", "--format", "json"]);
        let answer: Value = serde_json::from_str(&said.out).expect("JSON");
        (said.err, answer["order"]["code"].clone())
    };
    let (err, code) = said(drifting(200), drifting(100));
    assert!(err.contains("and 1 sample more"), "{err}");
    assert_eq!(code, "order_dependence");
    let (err, code) = said(mixed(200), mixed(100));
    assert!(!err.contains("order") && code.is_null(), "{err}");
}

#[test]
fn inputs_are_never_written_over() {
    let folder = Folder::with_configuration("a,slow.out,fast,,\n");
    folder.write("slow.out", SLOW);
    let said = folder.test(&["c.csv", "-o", "slow"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("slow.out is read") && said.err.contains("hint: "), "{}", said.err);
    assert_eq!(folder.read("slow.out"), SLOW);
    assert!(!folder.path("slow.status").exists());
    symlink("c.csv", folder.path("other.status")).expect("a link");
    let said = folder.test(&["c.csv", "-o", "other"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(folder.read("c.csv").starts_with(HEADING));
}

#[test]
fn what_cannot_be_written_is_told() {
    let folder = Folder::with_configuration("a,slow,fast,,\n");
    let said = folder.test(&["c.csv", "-o", "no/where"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("cannot write no/where.out"), "{}", said.err);
    fs::create_dir(folder.path("x.report")).expect("a folder");
    let said = folder.test(&["c.csv", "-o", "x"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("cannot write x.report"), "{}", said.err);
}

#[test]
fn names_of_samples_start_from_the_working_directory() {
    // Touati 2010 §6.2.1. The two candidates differ, so it shows which was read.
    let folder = Folder::new();
    folder.write("d/c.csv", format!("{HEADING}a,slow,fast,,\n")).write("d/slow", SLOW).write("d/fast", FAST);
    folder.write("slow", SLOW).write("fast", SLOW);
    folder.tested(&["d/c.csv"]);
    assert_eq!(folder.rows("d/c.csv.out")[0].fields()[1], "1");
    // Where it has none of them, from the configuration's folder.
    folder.write("elsewhere/nothing", "");
    let said = folder.test_in("elsewhere", &["../d/c.csv"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(folder.rows("d/c.csv.out")[0].fields()[1], "4.861");
    // But never from both.
    fs::remove_file(folder.path("fast")).expect("a file");
    let said = folder.test(&["d/c.csv"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("can be read: fast"), "{}", said.err);
}

#[test]
fn the_configuration_may_come_from_standard_input() {
    let folder = Folder::with_configuration("a,slow,fast,,\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.args(["test", "-", "-o", "x"]).current_dir(folder.path(""));
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command");
    let mut stdin = child.stdin.take().expect("standard input");
    stdin.write_all(folder.read("c.csv").as_bytes()).expect("a reader");
    drop(stdin);
    let said: Said = child.wait_with_output().expect("its end").into();
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.starts_with("Analysis report of s"), "{}", said.out);
    assert_eq!(folder.rows("x.out")[0].mean(), ("TRUE", "0.98"));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = Folder::with_configuration("a,slow,fast,,\nb,fast,slow,,\n");
    let first = folder.tested(&["c.csv", "--format", "json"]).out;
    let files = ["c.csv.out", "c.csv.report", "c.csv.warning"].map(|name| folder.read(name));
    assert_eq!(folder.tested(&["c.csv", "--format", "json"]).out, first);
    assert_eq!(["c.csv.out", "c.csv.report", "c.csv.warning"].map(|name| folder.read(name)), files);
}

#[test]
fn help_has_an_example_that_is_there() {
    let said = Folder::new().tested(&["--help"]);
    assert!(said.out.contains("speedup test examples/speedup-test/bench.cfg"), "{}", said.out);
    assert!(said.out.contains("--conf-level") && said.out.contains("--precision"), "{}", said.out);
}

/// Every number of the report, with all its digits, under the names of the documentation.
#[test]
fn rows_have_what_the_json_has() {
    let folder = Folder::with_configuration("a,slow,fast,,\nb,fast,slow,,\nc,missing,fast,,\n");
    let out = |form: &str| folder.test(&["c.csv", "--proportion-interval", "jeffreys", "--format", form]).out;
    let answer: Value = serde_json::from_str(&out("json")).expect("one JSON value");
    let csv = out("csv");
    let heading = csv.lines().next().expect("a heading");
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/speedup-test.md"));
    let documented = documented.expect("the documentation").replace('\n', " ");
    assert!(documented.contains(&format!("`{}`", heading.replace(',', "`, `"))), "{heading}");
    let rows: Vec<BTreeMap<String, String>> =
        csv::Reader::from_reader(csv.as_bytes()).deserialize().collect::<Result<_, _>>().expect("CSV");
    let of = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).collect::<Vec<_>>();
    let is_same = |text: &str, value: &Value| {
        let (text, value) = (text.parse::<f64>().expect("a number"), value.as_f64().expect("a number"));
        (text - value).abs() <= 1e-15 * value.abs()
    };
    let kinds = ["benchmark", "overall", "speedup_mean", "proportion"].map(|kind| of(kind).len());
    assert_eq!(kinds, [7, 3, 9, 6], "{csv}");
    for (row, by) in of("benchmark").iter().zip(["min", "mean", "median"]) {
        let benchmark = &answer["benchmarks"][0];
        assert_eq!((row["benchmark"].as_str(), row["by"].as_str()), ("a", by));
        assert!(is_same(&row["speedup"], &benchmark["speedups"][by]), "{row:?}");
        if by == "min" {
            assert!(row["significant"].is_empty() && row["p_value"].is_empty(), "{row:?}");
        } else {
            assert_eq!(row["significant"], benchmark[by]["significant"].to_string());
            assert!(
                is_same(&row["p_value"], &benchmark[by]["conclusion"]["main_test"]["p_value"]),
                "{row:?}"
            );
        }
    }
    assert!(of("benchmark")[6]["warnings"].contains("not_readable"), "{csv}");
    for (row, overall) in of("overall").iter().zip(answer["overall"].as_array().expect("three")) {
        assert!(is_same(&row["gain"], &overall["gain"]) && row["by"] == overall["by"], "{row:?}");
    }
    for (at, which) in ["interval", "recommended", "asked"].into_iter().enumerate() {
        let interval = &answer["proportions"][0][which];
        assert!(is_same(&of("proportion")[at]["upper"], &interval["upper"]), "{which}: {csv}");
        assert_eq!(of("proportion")[at]["method"], interval["method"].as_str().expect("a name"));
    }
}
