//! The forms of an answer, and the documentation.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use super::{METHODS, compare, examples, json, stderr};

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_seed_is_printed() {
    let files = ["compare/before.csv", "compare/after.csv", "--method", "effect", "--bootstrap", "100"];
    let seeded = [&files[..], &["--seed", "3"]].concat();
    for form in ["table", "json", "csv"] {
        let arguments = [&seeded[..], &["--format", form]].concat();
        let [first, second] = [compare(&examples(), &arguments), compare(&examples(), &arguments)];
        assert!(first.status.success() && first.stdout == second.stdout, "{form}");
        let printed = String::from_utf8_lossy(&first.stdout).into_owned() + &stderr(&first);
        assert!(printed.contains("seed 3") || printed.contains("\"seed\": 3"), "{printed}");
    }
    let drawn = json(&examples(), &files);
    assert!(drawn["seed"].is_u64());
    let csv = compare(&examples(), &[&seeded[..], &["--format", "csv"]].concat()).stdout;
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
    assert_eq!(checked, 10, "one example a method");
}

/// The rows of CSV, by the names of their columns.
fn rows(arguments: &[&str]) -> Vec<BTreeMap<String, String>> {
    let output = compare(&examples().join("compare"), &[arguments, &["--format", "csv"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    csv::Reader::from_reader(output.stdout.as_slice()).deserialize().collect::<Result<_, _>>().expect("CSV")
}

#[test]
fn columns_of_csv_are_documented_and_numbers_are_those_of_json() {
    let documented = fs::read_to_string(examples().join("../docs/compare.md")).expect("the documentation");
    for method in METHODS {
        let found = rows(&[&["before.csv", "after.csv"], method].concat());
        let name = method[1];
        let line = documented.lines().find(|line| line.starts_with(&format!("| `{name}` | `")));
        let line = line.unwrap_or_else(|| panic!("the columns of {name}"));
        for (column, cell) in found.iter().flatten() {
            let column = column.trim_end_matches("_modelled");
            assert!(line.contains(&format!("`{column}`")), "{name}: {column}");
            // Nothing that is shortened for people.
            assert!(!cell.contains(['×', '%', '—', '<', '>', '∞']), "{name}: {column}: {cell}");
        }
    }
}

/// Reading JSON may cost the last digit.
fn is_same(text: &str, value: &Value) -> bool {
    let (text, value) = (text.parse::<f64>().expect("a number"), value.as_f64().expect("a number"));
    (text - value).abs() <= 1e-15 * value.abs()
}

#[test]
fn csv_of_mixtures_has_the_metrics_of_variability_and_the_distance_of_the_fit() {
    let arguments = ["before.csv", "after.csv", "--method", "mixture", "--resamples", "200", "--seed", "5"];
    let answer = json(&examples().join("compare"), &arguments);
    let of = |part: &str| answer["findings"]["of"][part].as_array().expect("findings").clone();
    let found = rows(&arguments);
    assert_eq!(found.len(), of("samples").len());
    for (row, sample) in found.iter().zip(of("samples")) {
        assert!(is_same(&row["fit_distance"], &sample["fit_distance"]), "{row:?}");
        let components = sample["components"].as_array().expect("components");
        assert_eq!(row["means"].split(';').count(), components.len());
        assert!(row["means"].split(';').zip(components).all(|(mean, one)| is_same(mean, &one["mean"])));
        let mine = |all: Vec<Value>| {
            all.into_iter().find(|one| one["benchmark"] == row["benchmark"]).expect("the benchmark")
        };
        let (shortest, metric) = (mine(of("shortest")), mine(of("metrics")));
        let is_baseline = row["version"] == "before.csv";
        let share = &shortest["observed"]["shares"][usize::from(!is_baseline)];
        assert!(is_same(&row["probability_best_of_all"], share), "{row:?}");
        if is_baseline {
            assert!(row["mean_difference"].is_empty() && row["probability_better"].is_empty(), "{row:?}");
        } else {
            assert!(is_same(&row["mean_difference"], &metric["mean_difference"]), "{row:?}");
            assert!(is_same(&row["probability_better"], &metric["probability_better"]["below"]), "{row:?}");
        }
    }
}

/// A level that was given is not the best one at which nothing was shown.
#[test]
fn no_level_stands_beside_no_difference_in_the_published_mode() {
    let found = rows(&[
        "before.csv",
        "after.csv",
        "-m",
        "speedup-test",
        "--mode",
        "published",
        "--confidence",
        "0.95",
    ]);
    let levels = |verdict: &str| -> Vec<&str> {
        let rows = found.iter().filter(|row| row["verdict"] == verdict);
        rows.map(|row| row["best_confidence"].as_str()).collect()
    };
    let (faster, none) = (levels("faster"), levels("undecided"));
    assert!(!faster.is_empty() && faster.iter().all(|level| *level == "0.95"), "{found:?}");
    assert!(!none.is_empty() && none.iter().all(|level| level.is_empty()), "{found:?}");
}
