//! Golden files: the reports that the analysis keeps, rendered. `SPEEDUP_UPDATE_GOLDEN=1 cargo test -p speedup-cli golden`
//! writes them anew; look at them then.

use std::path::PathBuf;

use speedup_analysis::study::Report;

use super::rendered;
use crate::console::{Color, Console, Paint};

fn path(parts: &[&str]) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR")].iter().chain(parts).collect()
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(name: &str) -> String {
    read(&path(&["..", "analysis", "tests", "golden", &format!("report_v1_{name}.json")]))
}

fn rendering(name: &str, paint: Paint, width: usize) -> String {
    rendered(&serde_json::from_str::<Report>(&json(name)).unwrap(), paint, width)
}

fn coloured() -> Paint {
    Console::new(Color::Always).out
}

/// A rendering without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[test]
fn golden_renderings() {
    for (name, width) in
        [("finished", 80), ("finished", 120), ("finished", 160), ("drawn", 100), ("empty", 80), ("mixed", 80)]
    {
        let text = rendering(name, Console::plain().out, width);
        let golden = path(&["tests", "golden", &format!("report_{name}_{width}.txt")]);
        if std::env::var_os("SPEEDUP_UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        assert_eq!(text, read(&golden), "{}", golden.display());
    }
}

#[test]
fn lines_keep_within_the_page() {
    for name in ["finished", "drawn", "empty", "mixed", "first"] {
        for width in [60, 80, 100, 130, 160] {
            for line in rendering(name, Console::plain().out, width).lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn a_reason_is_told_whole() {
    let mut report: Report = serde_json::from_str(&json("finished")).unwrap();
    let mishaps = &mut report.benchmarks[3].cells[1].mishaps;
    let words = "the runner could not read the command's environment ".repeat(5);
    mishaps.lost.get_mut("not_executed").unwrap().example.words = Some(words.clone());
    let text = rendered(&report, Console::plain().out, 80);
    let joined: Vec<&str> = text.split_whitespace().collect();
    assert!(joined.join(" ").contains(words.trim()), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn an_extension_stands_in_the_head_and_one_run_has_no_spread() {
    let mut report: Report = serde_json::from_str(&json("finished")).unwrap();
    report.head.planned_runs_per_cell = Some(20);
    report.benchmarks[5].cells[0].n = 1;
    let text = rendered(&report, Console::plain().out, 160);
    assert!(text.contains("30 runs of each cell (20 when submitted)"), "{text}");
    assert_eq!(text.matches("± 0.00").count(), 1, "{text}");
}

#[test]
fn many_versions_keep_within_the_page() {
    let mut report: Report = serde_json::from_str(&json("drawn")).unwrap();
    for _ in 0..3 {
        report.head.versions.push("another-version-with-a-name".to_owned());
        report.suites.push(report.suites[0].clone());
        for benchmark in &mut report.benchmarks {
            benchmark.cells.push(benchmark.cells[0].clone());
            benchmark.comparisons.push(benchmark.comparisons[0].clone());
        }
        for row in report.metrics.iter_mut().flat_map(|metric| &mut metric.rows) {
            row.medians.push(row.medians[0]);
            row.ratios.push(row.ratios[0]);
        }
    }
    let text = rendered(&report, Console::plain().out, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("For want of room without"), "{text}");
}

#[test]
fn colour_only_repeats_the_words() {
    let text = rendering("finished", coloured(), 120);
    let trimmed: Vec<_> = plain(&text).lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    assert_eq!(trimmed.concat(), rendering("finished", Console::plain().out, 120));
    for (code, words) in [("38;5;2", "faster"), ("38;5;1", "slower")] {
        assert!(text.contains(&format!("\u{1b}[{code}m{words}")), "{code} {words}\n{}", text.escape_debug());
    }
    assert!(!text.contains("m no difference shown"));
}

#[test]
fn a_newer_shape_is_shown_as_it_came() {
    let newer = r#"{"schema_version":2,"news":true}"#;
    assert!(super::report(newer, Console::plain().out).unwrap().contains("\"news\": true"));
    assert!(super::report("{}", Console::plain().out).is_err());
}
