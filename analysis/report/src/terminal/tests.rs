//! The reports that the analysis keeps, on a terminal. `tests/forms.rs` has the golden file.

#![expect(clippy::disallowed_methods, reason = "a golden file is a file")]

use std::path::PathBuf;

use speedup_analysis::study::{MetricReport, MetricRow, Report};
use speedup_core::experiment::metric::Better;

use super::{Plots, Terminal, text};
use crate::document::{Document, Kind};

fn path(parts: &[&str]) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR")].iter().chain(parts).collect()
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(name: &str) -> String {
    read(&path(&["..", "tests", "golden", &format!("report_v1_{name}.json")]))
}

const PLAIN: Terminal = Terminal { width: 100, coloured: false, plots: Plots::None };
const COLOURED: Terminal = Terminal { coloured: true, ..PLAIN };

fn rendered(report: &Report, terminal: Terminal, width: usize) -> String {
    text(&Document::full(report), Terminal { width, ..terminal })
}

fn rendering(name: &str, terminal: Terminal, width: usize) -> String {
    rendered(&serde_json::from_str::<Report>(&json(name)).unwrap(), terminal, width)
}

/// A rendering without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[test]
fn a_reason_is_told_whole() {
    let mut report: Report = serde_json::from_str(&json("finished")).unwrap();
    let mishaps = &mut report.benchmarks[3].cells[1].mishaps;
    let words = "words of one reason ".repeat(5);
    mishaps.lost.get_mut("not_executed").unwrap().example.words = Some(words.clone());
    let text = rendered(&report, PLAIN, 80);
    let joined: Vec<&str> = text.split_whitespace().collect();
    assert!(joined.join(" ").contains(words.trim()), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn an_extension_stands_in_the_head_and_one_run_has_no_spread() {
    let mut report: Report = serde_json::from_str(&json("finished")).unwrap();
    report.head.planned_runs_per_cell = Some(20);
    report.benchmarks[5].cells[0].n = 1;
    let text = rendered(&report, PLAIN, 160);
    assert!(text.contains("(20 when submitted)"), "{text}");
    assert_eq!(text.matches("± 0.00").count(), 1, "{text}");
}

#[test]
fn metrics_of_ones_own_and_energy_have_their_units_and_legends() {
    let mut report: Report = serde_json::from_str(&json("finished")).unwrap();
    let versions = report.head.versions.len();
    let row = |medians: Vec<Option<f64>>, ratio| MetricRow {
        benchmark: "sort".to_owned(),
        ratios: vec![Some(ratio); medians.len() - 1],
        medians,
        comparisons: Vec::new(),
        means: Vec::new(),
        iterations: Vec::new(),
    };
    let metric = |name: &str, unit: &str, better, own, rows| MetricReport {
        metric: name.to_owned(),
        unit: unit.to_owned(),
        sentence: "Told by the program.".to_owned(),
        better,
        own,
        rows,
    };
    let rows = vec![row(vec![Some(0.000_012_345_6); versions], 2.0)];
    // Called as a built-in unit, it is still the user's.
    report.metrics.push(metric("rate", "count", Better::Higher, true, rows));
    let rows = vec![row(vec![Some(1_234_567.0); versions], 0.5)];
    report.metrics.push(MetricReport {
        sentence: report.metrics[0].sentence.clone(),
        ..metric("energy_pkg", "uj", Better::Lower, false, rows)
    });
    let text = rendered(&report, PLAIN, 120);
    for part in [
        "rate, median in count",
        "0.00001235",
        "energy_pkg, median in J",
        "1.235",
        "utf8 over candidate",
        "for user, max_rss, energy_pkg.",
        "candidate over utf8",
        "for rate.",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
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
    let text = rendered(&report, PLAIN, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("Left out"), "{text}");
}

#[test]
fn disturbed_runs_are_told_with_the_verdict() {
    let mut report: Report = serde_json::from_str(&json("finished")).unwrap();
    assert!(!rendered(&report, PLAIN, 120).contains("disturbed"));
    let conditions = report.head.conditions.as_mut().unwrap();
    (conditions.recorded, conditions.disturbed) = (30, 3);
    let text = rendered(&report, PLAIN, 120);
    assert!(text.contains("disturbed during 3 of 30"), "{text}");
}

#[test]
fn a_brief_report_is_what_fits_a_screen() {
    let report = serde_json::from_str::<Report>(&json("finished")).unwrap();
    let (short, whole) = (text(&Document::brief(&report), PLAIN), text(&Document::full(&report), PLAIN));
    for section in short
        .split("\n\n")
        .filter(|section| section.starts_with("Verdict") || section.starts_with("Benchmarks"))
    {
        assert!(whole.contains(section.trim_end()), "word for word as in the whole: {section}");
    }
    let caveats = short.split("\n\n").find(|section| section.starts_with("Caveats\n")).unwrap();
    let codes = |text: &str| text.lines().filter(|line| line.starts_with("  - ")).count();
    assert!(codes(caveats) == 3 && report.warnings.len() > 3, "{caveats}");
    assert!(caveats.contains("more: --section caveats"), "{caveats}");
    let heaviest = ["timeouts_censor", "failed_runs", "retries_can_bias"];
    assert!(heaviest.iter().all(|code| caveats.contains(code)), "{caveats}");
    assert!(!caveats.contains("independence_not_provided"), "the verdict says it: {caveats}");
    assert!(short.contains("2 more: --section failures"), "{short}");
    for heading in ["Method\n", "In short\n", "Proportion of benchmarks"] {
        assert!(whole.contains(heading) && !short.contains(heading), "{heading}: {short}");
    }
}

#[test]
fn sections_that_are_asked_for_stand_alone() {
    let report = serde_json::from_str::<Report>(&json("finished")).unwrap();
    let only = text(&Document::full(&report).only(&[Kind::Suite, Kind::Method]), PLAIN);
    assert!(only.starts_with("Suite: ") && only.contains("\nMethod\n"), "{only}");
    assert!(!only.contains("Verdict"), "{only}");
}

#[test]
fn colour_only_repeats_the_words() {
    let text = rendering("finished", COLOURED, 120);
    let trimmed: Vec<_> = plain(&text).lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    assert_eq!(trimmed.concat(), rendering("finished", PLAIN, 120));
    for (code, words) in [("38;5;2", "faster"), ("38;5;1", "slower")] {
        assert!(text.contains(&format!("\u{1b}[{code}m{words}")), "{code} {words}\n{}", text.escape_debug());
    }
    assert!(!text.contains("m no difference shown"));
}
