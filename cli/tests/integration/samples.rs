//! `speedup samples` as a user has it: the real binary.

use std::process::{Command, Output};

use serde_json::Value;

fn benchmarks(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.args(["samples", "benchmarks"]).args(arguments).output().expect("the command")
}

fn json(arguments: &[&str]) -> Value {
    let output = benchmarks(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[test]
fn the_papers_example_takes_378_benchmarks() {
    // Touati 2010 §5, example 4.
    let answer = json(&["--proportion", "17/30", "--precision", "0.05", "--confidence", "0.95"]);
    assert_eq!(answer["benchmarks_needed"], 378);
    // Touati 2010 §6.3.2, from three of four.
    assert_eq!(json(&["--proportion", "0.75"])["benchmarks_needed"], 289);
    let said = benchmarks(&["--proportion", "17/30"]).stdout;
    assert!(String::from_utf8_lossy(&said).contains("Wald (published)           378"), "{said:?}");
}

#[test]
fn a_finite_population_takes_fewer_and_never_more_than_it_has() {
    let of = |population: &str| json(&["--proportion", "17/30", "--population", population]);
    // Cochran §4.4: n₀N/(n₀ + N − 1).
    assert_eq!(of("378")["benchmarks_needed"], 190);
    assert_eq!(of("1")["benchmarks_needed"], 1);
    assert_eq!(of("1")["benchmarks_needed_by_wilson"], 1);
    assert_eq!(of("1000000000000")["benchmarks_needed"], 378);
}

#[test]
fn the_published_formula_is_silent_at_the_ends_and_wilson_is_not() {
    let answer = json(&["--proportion", "1"]);
    assert_eq!(answer["benchmarks_needed"], Value::Null);
    assert_eq!(answer["benchmarks_needed_by_wilson"], 35);
}

#[test]
fn what_is_no_fraction_is_refused() {
    for arguments in [
        ["--proportion", "17/0"],
        ["--proportion", "0/0"],
        ["--proportion", "31/30"],
        ["--proportion", "NaN"],
        ["--proportion", "many"],
        ["--precision", "0"],
        ["--precision", "1"],
        ["--precision", "NaN"],
        ["--confidence", "1"],
        ["--confidence", "95"],
        ["--population", "0"],
        ["--population", "-3"],
    ] {
        let output = benchmarks(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{said}");
    }
}

/// `speedup samples` with any of its verbs.
fn samples(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.arg("samples").args(arguments).current_dir(examples()).output().expect("the command")
}

fn examples() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn answer(arguments: &[&str]) -> Value {
    let output = samples(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[test]
fn runs_from_a_mean_and_its_spread_are_those_of_the_formulas() {
    let given = ["repetitions", "--mean", "2.1", "--sd", "0.08", "--speedup", "1.02", "--power", "0.9"];
    let answer = answer(&[&given[..], &["--run-time", "36", "--hosts", "10"]].concat());
    let plans = answer["plans"].as_array().expect("plans");
    let reports: Vec<&str> = plans.iter().map(|plan| plan["report"].as_str().expect("a report")).collect();
    assert_eq!(reports, ["trimmed (default)", "trimmed (default)", "mean", "mean", "mean"]);
    // t₅₈(0.975)·0.0381/√59 = 0.00993 and t₅₇(0.975)·0.0381/√58 = 0.01002.
    assert_eq!((&plans[2]["goal"], &plans[2]["runs_each"]), (&"precision of the mean".into(), &59.into()));
    // 59 runs on ten hosts are six rounds of 36 seconds.
    assert_eq!(plans[2]["effort"]["hours"], 0.06);
    assert_eq!(plans[3]["effort"]["runs"].as_u64(), plans[3]["runs_each"].as_u64().map(|each| 2 * each));
    // R: power.t.test(delta = 1 - 1/1.02, sd = 0.0381, power = 0.9) says 80.4 for equal spreads; trimming costs 6 % of the runs, and Student's
    // distribution with half of the degrees of freedom some more.
    let [trimmed, welch] = [1, 4].map(|place| plans[place]["runs_each"].as_u64().expect("runs"));
    assert!((78..=80).contains(&welch) && (82..=88).contains(&trimmed), "{trimmed} {welch}");
    assert!(answer["caveats"].as_array().expect("caveats").iter().any(|one| one["code"] == "spread_given"));
}

#[test]
fn runs_from_a_pilot_are_for_every_goal() {
    let pilot = ["repetitions", "compare/before.csv", "compare/after.csv", "--benchmark", "sort"];
    let given = answer(&[&pilot[..], &["--speedup", "1.05"]].concat());
    let plans = given["plans"].as_array().expect("plans");
    assert_eq!(plans.len(), 7);
    for plan in plans {
        assert!(plan["runs_each"].is_u64() != plan["reason"].is_object(), "{plan}");
        assert!(plan["method"].as_str().is_some_and(|method| method.starts_with("runs for ")), "{plan}");
    }
    // A wider interval takes no more runs.
    let wider = answer(&[&pilot[..], &["--half-width", "5%"]].concat());
    assert!(wider["plans"][0]["runs_each"].as_u64() <= plans[0]["runs_each"].as_u64());
    // A pilot's spread is uncertain, and planned with more.
    assert!(given["planned_spread"].as_f64() > given["spread"].as_f64(), "{given}");
    let codes: Vec<&str> =
        given["caveats"].as_array().expect("caveats").iter().filter_map(|one| one["code"].as_str()).collect();
    assert!(codes.contains(&"upper_limit_of_spread"), "{codes:?}");
    let csv = samples(&[&pilot[..], &["--format", "csv"]].concat()).stdout;
    assert!(
        String::from_utf8_lossy(&csv)
            .starts_with("goal,report,change,runs_each,pilot_runs,runs,reason,method\n")
    );
}

/// How many hosts and runs for 2 %: the curve falls, meets the plan, and a family of benchmarks takes more.
#[test]
fn the_curve_says_what_each_number_of_runs_finds() {
    let moments =
        ["repetitions", "--mean", "100", "--sd", "4", "--speedup", "2%", "--run-time", "36", "--hosts", "16"];
    let one = answer(&moments);
    let of_twenty = answer(&[&moments[..], &["--benchmarks", "20"]].concat());
    let points = |answer: &Value| -> Vec<(u64, f64)> {
        let point = |plan: &Value| {
            (plan["runs_each"].as_u64().expect("runs"), plan["change"].as_f64().expect("a change"))
        };
        answer["curve"].as_array().expect("a curve").iter().map(point).collect()
    };
    let curve = points(&one);
    assert!(curve.is_sorted_by(|one, other| one.0 < other.0 && one.1 > other.1), "{curve:?}");
    let needed = one["plans"][1]["runs_each"].as_u64().expect("runs");
    assert_eq!((one["speedup"].as_f64(), needed), (Some(1.02), 71));
    assert!(curve.iter().all(|(runs, change)| (*runs >= needed) == (*change <= 0.02)), "{curve:?}");
    // Of 2 × 5 runs of one benchmark among twenty nothing is shown; each point then costs twenty times as much.
    let of_family = points(&of_twenty);
    assert_eq!((curve[0].0, of_family[0].0), (4, 6));
    assert!(of_twenty["plans"][1]["runs_each"].as_u64() > Some(needed));
    assert_eq!(of_twenty["curve"][0]["effort"]["runs"], 6 * 2 * 20);
    let text = String::from_utf8(samples(&moments).stdout).expect("UTF-8");
    assert!(text.contains("finds with probability 80") && text.contains("####"), "{text}");
}

#[test]
fn levels_are_repeated_as_the_formula_has_it() {
    let given = ["levels", "--mean", "10", "--variances", "4,1,0.25", "--costs", "2,30", "--budget", "500"];
    let answer_of_budget = answer(&given);
    let repetitions: Vec<u64> = answer_of_budget["levels"]
        .as_array()
        .expect("levels")
        .iter()
        .map(|level| level["repetitions"].as_u64().expect("a count"))
        .collect();
    // √(2·4/1) and √(30/2·1/0.25), rounded up; 3·8 + 2·8 + 30 = 70 measurements a unit of the highest level.
    assert_eq!(repetitions, [3, 8, 7]);
    assert_eq!(answer_of_budget["within_budget"]["cost"], 490.0);
    assert_eq!(answer_of_budget["within_budget"]["one_level"]["repetitions"], 15);
    // The same budget in hours.
    let timed = [&given[..7], &["--hours", "1", "--measurement-time", "7.2"]].concat();
    let timed = answer(&timed);
    assert_eq!(timed["within_budget"], answer_of_budget["within_budget"]);
    assert_eq!(timed["hours"], 490.0 * 7.2 / 3600.0);
    let pilot = answer(&["levels", "compare/before.csv", "--benchmark", "sort", "--costs", "5"]);
    assert_eq!(pilot["levels"][0]["repetitions"], 3);
    assert_eq!(pilot["levels"][1]["repetitions"], Value::Null);
}

#[test]
fn a_budget_without_end_and_a_pilot_of_one_level_are_refused() {
    let given = ["levels", "--mean", "10", "--variances", "4,1", "--costs", "2", "--budget"];
    for budget in ["inf", "nan", "1e300", "-1"] {
        let output = samples(&[&given[..], &[budget]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{budget}: {said}");
    }
    assert!(samples(&[&given[..], &["1e15"]].concat()).status.success());
    let pilot = examples().join("compare/two-modes.txt");
    let output = samples(&["levels", pilot.to_str().expect("UTF-8"), "--costs", "1"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("--run-column"), "{said}");
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let moments = ["repetitions", "--mean", "2", "--sd", "0.1"];
    let with = |more: &[&'static str]| [&moments[..], more].concat();
    let levels = ["levels", "--mean", "2", "--variances", "1,1"];
    let of_levels = |more: &[&'static str]| [&levels[..], more].concat();
    for arguments in [
        vec!["repetitions"],
        vec!["repetitions", "--mean", "2"],
        vec!["repetitions", "--mean", "0", "--sd", "1"],
        vec!["repetitions", "--mean", "NaN", "--sd", "1"],
        vec!["repetitions", "--mean", "2", "--sd", "0"],
        vec!["repetitions", "--mean", "2", "--sd", "inf"],
        vec!["repetitions", "--mean", "1e-300", "--sd", "1e300"],
        vec!["repetitions", "missing.txt"],
        vec!["repetitions", "compare/before.csv"],
        vec!["repetitions", "compare/before.csv", "--benchmark", "nothing"],
        with(&["--half-width", "0"]),
        with(&["--half-width", "NaN"]),
        with(&["--speedup", "1"]),
        with(&["--speedup", "NaN"]),
        with(&["--speedup", "1.1", "--power", "1"]),
        with(&["--confidence", "1"]),
        with(&["--run-time", "0"]),
        with(&["--hosts", "0"]),
        vec!["levels", "--costs", "1"],
        of_levels(&["--costs", "-1"]),
        of_levels(&["--costs", "1,2,3"]),
        of_levels(&["--costs", "NaN"]),
        of_levels(&["--costs", "1", "--budget", "1"]),
        of_levels(&["--costs", "1", "--budget", "NaN"]),
        of_levels(&["--costs", "1", "--hours", "1", "--measurement-time", "0"]),
        vec!["levels", "--mean", "2", "--variances", "0,0", "--costs", "1"],
        vec!["levels", "--mean", "NaN", "--variances", "1,1", "--costs", "1"],
    ] {
        let output = samples(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.lines().any(|line| line.starts_with("error: ")), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}

/// A negative number is a value that cannot be, not a flag that nobody knows.
#[test]
fn negative_numbers_are_refused_by_name() {
    let levels = ["levels", "--mean", "2", "--variances", "1,1", "--costs", "1"];
    let of_levels = |more: &[&'static str]| [&levels[..], more].concat();
    let moments = |more: &[&'static str]| [&["repetitions", "--mean", "2", "--sd", "0.1"], more].concat();
    for arguments in [
        vec!["levels", "--mean", "2", "--variances", "-1,-2", "--costs", "1"],
        vec!["levels", "--mean", "2", "--variances", "1,1", "--costs", "-1,2"],
        of_levels(&["--budget", "-1"]),
        of_levels(&["--hours", "-1", "--measurement-time", "1"]),
        of_levels(&["--hours", "1", "--measurement-time", "-1"]),
        of_levels(&["--confidence", "-5%"]),
        vec!["repetitions", "--mean", "-1", "--sd", "1"],
        vec!["repetitions", "--mean", "1", "--sd", "-1"],
        moments(&["--half-width", "-1%"]),
        moments(&["--speedup", "-1"]),
        moments(&["--speedup", "1.1", "--power", "-1"]),
        moments(&["--run-time", "-1"]),
        vec!["benchmarks", "--proportion", "-1/3"],
        vec!["benchmarks", "--precision", "-0.1"],
    ] {
        let output = samples(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(!said.contains("unexpected argument"), "{arguments:?}: {said}");
    }
}

/// Kalibera 2012 §6.1: what does not vary is dropped, and said; so is a pilot whose runs have different counts.
#[test]
fn what_a_plan_of_levels_rests_on_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let pilot = directory.path().join("pilot.csv");
    let plan = |rows: &str| {
        std::fs::write(&pilot, format!("run,value\n{rows}")).expect("a pilot");
        answer(&["levels", pilot.to_str().expect("UTF-8"), "--costs", "1"])
    };
    let codes = |answer: &Value| -> Vec<String> {
        let caveats = answer["caveats"].as_array().expect("caveats");
        caveats.iter().map(|caveat| caveat["code"].as_str().expect("a code").to_owned()).collect()
    };
    // The runs have one mean and spread values.
    let flat = plan("0,9\n0,11\n1,8.9\n1,11.1\n2,8.8\n2,11.2\n");
    assert_eq!(codes(&flat), ["level_without_variance", "pilot_error"]);
    let unbiased = flat["levels"][1]["unbiased"].as_f64().expect("T²");
    assert!(unbiased < 0.0 && flat["levels"][1]["variance"] == 0.0, "{flat}");
    assert_eq!(flat["dropped"][0]["level"], 2);
    assert_eq!(flat["dropped"][0]["why"]["unbiased"], unbiased);
    let uneven = plan("0,9\n0,11\n0,10.5\n1,18.9\n1,21.1\n2,28.8\n2,31.2\n");
    assert_eq!(codes(&uneven), ["unbalanced", "pilot_error"]);
    let given = answer(&["levels", "--mean", "10", "--variances", "4,-1", "--costs", "2"]);
    assert_eq!(codes(&given), ["level_without_variance"]);
}

#[test]
fn a_power_out_of_range_is_refused_where_no_speedup_is_to_be_found() {
    let output = samples(&["repetitions", "--mean", "2", "--sd", "0.1", "--power", "2"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("power"), "{said}");
}

#[test]
fn rows_of_benchmarks_have_all_digits_and_no_number_where_there_is_none() {
    let csv = |proportion: &str| {
        let output = benchmarks(&["--proportion", proportion, "--format", "csv"]);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let heading = "method,benchmarks_needed,proportion,precision,confidence,population\n";
    let share = 17.0 / 30.0;
    assert_eq!(
        csv("17/30"),
        format!("{heading}Wald (published),378,{share},0.05,0.95,\nWilson,374,{share},0.05,0.95,\n")
    );
    assert_eq!(csv("1"), format!("{heading}Wald (published),,1,0.05,0.95,\nWilson,35,1,0.05,0.95,\n"));
}

/// What is said names what was given, in numbers that agree with their nouns.
#[test]
fn refusals_and_levels_at_the_edges_are_in_words() {
    let said = |arguments: &[&str]| {
        let output = samples(arguments);
        String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
    };
    let of_mean = said(&["repetitions", "--mean", "0", "--sd", "1"]);
    assert!(of_mean.contains("positive mean") && !of_mean.contains("pilot"), "{of_mean}");
    let one = said(&["levels", "--mean", "10", "--variances", "4", "--costs", "2"]);
    assert!(one.contains("1 cost for 1 level\n"), "{one}");
    let low = said(&["benchmarks", "--confidence", "1e-300"]);
    assert!(low.contains("level 1e-298 %") && !low.contains("no width"), "{low}");
    let high = said(&["benchmarks", "--confidence", "0.9999999999999999"]);
    assert!(high.contains("level 99.99999999999999 %"), "{high}");
    assert!(said(&["benchmarks", "--proportion", "1"]).contains("no width"));
}
