//! Samples that are kept by name, as somebody uses them who compares with last week.

use serde_json::Value;
use speedup_tests::desk::Desk;

use crate::SPEEDUP;

/// hyperfine's JSON of commands, each with 20 times around a level.
fn write_hyperfine(desk: &Desk, file: &str, commands: &[(&str, f64)]) {
    let result =
        |(command, level): &(&str, f64)| serde_json::json!({"command": command, "times": times(*level)});
    let results: Vec<Value> = commands.iter().map(result).collect();
    desk.write(file, serde_json::json!({ "results": results }).to_string());
}

/// A table of 20 times around a level.
fn write_table(desk: &Desk, file: &str, level: f64) {
    let lines: String = times(level).iter().map(|time| format!("{time}\n")).collect();
    desk.write(file, format!("value\n{lines}"));
}

fn times(level: f64) -> Vec<f64> {
    (0..20_u32).map(|run| level * (1.0 + f64::from((run * 7 + 3) % 20) / 2000.0)).collect()
}

#[test]
fn what_was_measured_now_is_the_baseline_of_later() {
    let desk = Desk::new(SPEEDUP);
    write_hyperfine(&desk, "first.json", &[("./program --old", 1.0)]);
    write_hyperfine(&desk, "second.json", &[("./program --new", 0.9)]);
    write_hyperfine(&desk, "third.json", &[("./program --new", 1.1)]);
    desk.ok(&["import", "first.json", "--as", "main"]);
    let answer = desk.json(&["compare", "second.json", "--baseline", "main", "--save-baseline", "better"]);
    assert_eq!(answer["versions"], serde_json::json!(["saved:main", "second.json"]));
    assert_eq!(answer["findings"]["of"][0]["suite"]["verdict"], "faster", "{answer}");
    // The samples of the candidate are those of its file.
    let kept = desk.json(&["compare", "third.json", "--baseline", "better"]);
    let file = desk.json(&["compare", "second.json", "third.json"]);
    let [kept, file] = [kept, file].map(|answer| answer["findings"]["of"][0]["suite"].clone());
    assert_eq!(kept["verdict"], "slower", "{kept}");
    assert_eq!([&kept["speedup"], &kept["interval"]], [&file["speedup"], &file["interval"]]);
    assert_eq!(desk.ok(&["baseline", "list", "--format", "csv"]), "name\nbetter\nmain\n");
    let code = desk.speedup(&["compare", "third.json", "--baseline", "better", "--fail-on-regression"]);
    assert_eq!(code.status.code(), Some(1));
}

#[test]
fn a_version_in_the_files_goes_before_a_kept_one() {
    let desk = Desk::new(SPEEDUP);
    let table = |rows: &[(&str, f64)]| {
        let mut text = "version,benchmark,value\n".to_owned();
        for (version, level) in rows {
            times(*level).iter().for_each(|value| text += &format!("{version},sort,{value}\n"));
        }
        text
    };
    desk.write("three.csv", table(&[("a", 1.0), ("main", 2.0), ("c", 4.0)]));
    desk.write("other.csv", table(&[("x", 8.0)]));
    desk.ok(&["import", "other.csv", "--as", "main"]);
    let of_file = desk.json(&["compare", "three.csv", "--baseline", "main"]);
    assert_eq!(of_file["versions"], serde_json::json!(["main", "a", "c"]));
    let candidates = of_file["findings"]["of"].as_array().expect("candidates").iter();
    let verdicts: Vec<&Value> = candidates.map(|one| &one["suite"]["verdict"]).collect();
    assert_eq!(verdicts, ["faster", "slower"], "three versions are each compared with the baseline");
    let of_kept = desk.json(&["compare", "three.csv", "--baseline", "saved:main"]);
    assert_eq!(of_kept["versions"][0], "saved:main");
    assert_eq!(of_kept["versions"].as_array().map(Vec::len), Some(4), "{of_kept}");
    let said = desk.refused(&["compare", "three.csv", "--baseline", "none"]);
    assert!(said.contains("version \"none\"") && said.contains("speedup baseline list"), "{said}");
    let said = desk.refused(&["compare", "three.csv", "--save-baseline", "all"]);
    assert!(said.contains("got 3 versions"), "{said}");
}

#[test]
fn imported_samples_are_compared_and_exported_as_their_files_are() {
    let desk = Desk::new(SPEEDUP);
    let commands = [("sort words", 1.0), ("LC_ALL=C sort words", 0.5)];
    write_hyperfine(&desk, "both.json", &commands);
    desk.ok(&["import", "both.json", "--as", "locale"]);
    let of_file = desk.json(&["compare", "both.json"]);
    let of_kept = desk.json(&["compare", "saved:locale"]);
    for what in ["versions", "samples", "findings", "unmatched", "unit"] {
        assert_eq!(of_kept[what], of_file[what], "{what}");
    }
    desk.ok(&["baseline", "export", "locale", "--format", "hyperfine1", "-o", "again.json"]);
    let again = desk.json(&["compare", "again.json"]);
    assert_eq!(again["findings"], of_file["findings"]);
    let go = desk.ok(&["baseline", "export", "locale", "--format", "go"]);
    assert_eq!(go.lines().filter(|line| line.starts_with("Benchmark")).count(), 40, "{go}");
    let shown = desk.json(&["baseline", "show", "locale"]);
    assert_eq!(shown["samples"][0]["benchmark"], "sort words");
    assert_eq!(shown["samples"][1]["runs"], 20);
    assert_eq!(shown["samples"][1]["unit"], "s");

    write_hyperfine(&desk, "one.json", &commands[..1]);
    write_table(&desk, "two.csv", 2.0);
    desk.ok(&["import", "one.json", "two.csv", "--as", "files"]);
    let shown = desk.json(&["baseline", "show", "files"]);
    assert_eq!(shown["samples"][0]["version"], "one.json");
    assert_eq!(shown["samples"][1]["version"], "two.csv");

    desk.ok(&["baseline", "remove", "locale"]);
    let said = desk.refused(&["compare", "saved:locale"]);
    assert!(said.contains(": files"), "{said}");
}

#[test]
fn imported_samples_are_reported_and_exported_as_an_experiment_is() {
    let desk = Desk::new(SPEEDUP);
    let commands = [("sort words", 1.0), ("LC_ALL=C sort words", 0.5)];
    write_hyperfine(&desk, "both.json", &commands);
    desk.ok(&["import", "both.json", "--as", "locale"]);
    let report = desk.json(&["report", "saved:locale", "--confidence", "0.99"]);
    assert_eq!(report["findings"]["of"][0]["suite"]["verdict"], "faster", "{report}");
    let compared = desk.json(&["compare", "saved:locale", "--confidence", "0.99"]);
    assert_eq!(report["findings"], compared["findings"]);
    let shown = desk.ok(&["report", "saved:locale"]);
    assert!(shown.contains("faster"), "{shown}");
    let code = desk.speedup(&["report", "saved:locale", "--fail-on-regression"]);
    assert_eq!(code.status.code(), Some(0));
    let page = desk.ok(&["report", "saved:locale", "--format", "html"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("LC_ALL=C sort words is faster"), "{page}");
    desk.ok(&["report", "saved:locale", "--format", "latex", "-o", "locale.tex"]);
    let written = desk.read("locale.tex");
    assert!(written.contains("\\documentclass"), "{written}");
    assert!(written.contains("ALL=C sort words is faster"), "{written}");
    for more in [&["--mixtures"][..], &["--figures"]] {
        let said = desk.refused(&[&["report", "saved:locale"], more].concat());
        assert!(said.contains("are samples") && said.contains("compare"), "{said}");
    }
    for form in ["jsonl", "go", "hyperfine", "hyperfine1"] {
        let exported = desk.ok(&["export", "saved:locale", "--format", form]);
        assert_eq!(exported, desk.ok(&["baseline", "export", "locale", "--format", form]), "{form}");
    }
    desk.ok(&["export", "saved:locale", "--format", "parquet", "-o", "p"]);
    assert!(std::fs::read(desk.path().join("p")).unwrap().starts_with(b"PAR1"));
    let said = desk.refused(&["report", "saved:none"]);
    assert!(said.contains("saved as none"), "{said}");
    let said = desk.refused(&["baseline", "show", "locael"]);
    assert!(said.contains("`locale`"), "the nearest: {said}");
    for number in 0..30 {
        desk.ok(&["import", "both.json", "--as", &format!("kept-{number}")]);
    }
    let said = desk.refused(&["baseline", "remove", "NOPE"]);
    assert_eq!(said.matches("kept-").count(), 10, "the first of them: {said}");
    assert!(said.contains(" 21 more"), "the others are counted: {said}");
    // The table is one that is read, with nothing lost.
    write_table(&desk, "one.csv", 1.0);
    write_table(&desk, "two.csv", 2.0);
    desk.ok(&["import", "one.csv", "two.csv", "--as", "files"]);
    desk.ok(&["export", "saved:files", "-o", "again.csv"]);
    let again = desk.json(&["compare", "again.csv"]);
    assert_eq!(again["findings"], desk.json(&["compare", "saved:files"])["findings"], "{again}");
}

#[test]
fn names_are_no_paths_and_damage_is_named() {
    let desk = Desk::new(SPEEDUP);
    write_hyperfine(&desk, "first.json", &[("true", 1.0)]);
    for name in ["../main", "a/b", ".hidden", "", "a b"] {
        let said = desk.refused(&["import", "first.json", "--as", name]);
        assert!(said.contains("1 to 64"), "{name:?}: {said}");
    }
    desk.ok(&["import", "first.json", "--as", "main"]);
    let file = desk.path().join("state/speedup/samples/main.jsonl");
    let text = std::fs::read_to_string(&file).expect("the samples");
    let cut = text.len() - 10;
    std::fs::write(&file, &text[..cut]).expect("the samples");
    let said = desk.refused(&["baseline", "show", "main"]);
    assert!(said.contains("samples main") && said.contains("line 20"), "{said}");
    assert!(said.contains("speedup baseline remove main"), "{said}");
}

#[test]
fn bench_keeps_what_it_measured() {
    let desk = Desk::new(SPEEDUP);
    let bench =
        ["bench", "-N", "-r", "5", "--seed", "1", "--save-baseline", "now", "--export-json", "now.json"];
    desk.ok(&[&bench[..], &["sleep 0.001", "sleep 0.002"]].concat());
    let of_kept = desk.json(&["compare", "saved:now", "--metric", "wall"]);
    let of_file = desk.json(&["compare", "now.json", "--metric", "wall"]);
    assert_eq!(of_kept["samples"], of_file["samples"]);
}
