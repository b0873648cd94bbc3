//! Each form of a report through the command, of an experiment that is finished and of one that has not begun.

use std::path::Path;

use speedup_tests::{pool::Pool, pool::eventually, screen::Screen};

use crate::SPEEDUP;

const PLAN: &str = r#"
[experiment]
name = "forms"
description = "<forms> & 50%"
seed = 3
[versions.old]
baseline = true
vars = { time = "0.02" }
[versions.new]
vars = { time = "0.01" }
[versions.newest]
vars = { time = "0.005" }
[benchmarks.nap]
command = ["sleep", "{time}"]
[benchmarks.rest]
command = ["sleep", "{time}"]
[repetitions]
runs = 12
[independence]
policy = "any"
"#;

fn written(pool: &Pool, experiment: &str, form: &str, more: &[&str]) -> String {
    let file = pool.path().join(format!("report.{form}"));
    let path = file.display().to_string();
    assert_eq!(
        pool.ok(&[&["report", experiment, "--format", form, "-o", &path], more].concat()),
        "",
        "{form}"
    );
    std::fs::read_to_string(file).expect("a report")
}

#[test]
fn every_form_tells_of_an_experiment() {
    let pool = Pool::start(SPEEDUP, 2);
    let experiment = pool.submit(PLAN, &[]);
    pool.ok(&["wait", &experiment]);

    let html = written(&pool, &experiment, "html", &[]);
    assert!(html.contains("&lt;forms&gt; &amp; 50%") && !html.contains("<forms>"), "names are text");
    assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src=\"http"));
    let latex = written(&pool, &experiment, "latex", &[]);
    assert!(latex.contains("\\begin{tikzpicture}") && latex.ends_with("\\end{document}\n"));
    let json: serde_json::Value =
        serde_json::from_str(&written(&pool, &experiment, "json", &[])).expect("JSON");
    assert_eq!(json["head"]["state"].as_str(), Some("complete"));
    assert_eq!(json["suites"].as_array().map(Vec::len), Some(2));
    let csv = written(&pool, &experiment, "csv", &[]);
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "a row for each benchmark and candidate:\n{csv}");

    let plain = written(&pool, &experiment, "md", &[]);
    assert!(plain.contains("| benchmark |") && plain.contains("newest") && !plain.contains("]("), "{plain}");
    let drawn = written(&pool, &experiment, "md", &["--figures"]);
    let links: Vec<&str> =
        drawn.match_indices("](").map(|(at, _)| drawn[at + 2..].split(')').next().expect("a link")).collect();
    assert!(links.len() > 4, "{drawn}");
    for link in links {
        let svg = std::fs::read_to_string(pool.path().join(link)).expect("the drawing beside it");
        assert!(svg.starts_with("<svg xmlns="), "{svg}");
    }
    let nowhere = pool.path().join("none/report.md").display().to_string();
    let said = pool.refused(&["report", &experiment, "--format", "md", "--figures", "-o", &nowhere]);
    assert!(said.contains("none/report"), "{said}");
}

#[test]
fn a_terminal_has_plots_that_fit_it_and_its_locale() {
    let pool = Pool::start(SPEEDUP, 2);
    let experiment = pool.submit(PLAN, &[]);
    pool.ok(&["wait", &experiment]);
    let shown = |columns: u16, locale: &str| {
        let mut command = pool.command();
        command.args(["report", &experiment, "-v"]).env("LC_ALL", locale);
        let (status, text) = Screen::start(&command, columns, 1_000).end();
        assert!(status.success(), "{text}");
        assert!(text.contains("Wall time in run order"), "{text}");
        assert!(text.contains("Density of the wall times"), "{text}");
        text
    };
    for columns in [60, 80, 200] {
        let text = shown(columns, "C.UTF-8");
        assert!(text.contains('█') && text.contains('┴'), "{text}");
    }
    let ascii = shown(80, "C");
    let drawn = |c: char| "█▁├┤●○■┊".contains(c);
    assert!(!ascii.contains(drawn), "{ascii}");
    // Where nobody looks there are none.
    assert!(!pool.ok(&["report", &experiment, "-v"]).contains("Wall time in run order"));
}

#[test]
fn tables_fit_the_terminal_and_are_whole_elsewhere() {
    let pool = Pool::start(SPEEDUP, 3);
    pool.submit(PLAN, &[]);
    for verb in [&["list"][..], &["hosts", "list"]] {
        for columns in [60, 80, 200] {
            let mut command = pool.command();
            command.args(verb);
            let (status, text) = Screen::start(&command, columns, 30).end();
            assert!(status.success(), "{text}");
            let rows = if verb.len() == 1 { 1 } else { 3 };
            let table: Vec<&str> = text.lines().take(1 + rows).collect();
            let is_row = |line: &&str| line.contains("forms") || line.contains("serving");
            let shown = table.iter().skip(1).filter(|line| is_row(line)).count();
            assert_eq!(shown, rows, "{verb:?} {columns}:\n{text}");
            let is_narrow = columns < if rows == 1 { 70 } else { 100 };
            assert_eq!(text.contains("Left out to fit"), is_narrow, "{verb:?} {columns}:\n{text}");
        }
        let heading = pool.ok(verb).lines().next().unwrap_or_default().to_owned();
        assert!(["submitted", "timer bias"].iter().any(|last| heading.contains(last)), "{heading}");
    }
}

#[test]
fn an_experiment_without_a_run_has_every_form() {
    let pool = Pool::without_agents(SPEEDUP);
    let experiment = pool.submit(PLAN, &["--wait-for-hosts"]);
    eventually("it is there", || pool.json(&["list"]).filter(|list| list[0]["runs"] == 72));
    for form in ["html", "md", "latex", "csv", "json", "terminal"] {
        let text = written(&pool, &experiment, form, &[]);
        assert!(!text.is_empty() && !text.contains("NaN"), "{form}:\n{text}");
    }
    assert!(!Path::new(&pool.path().join("report-1.svg")).exists(), "nothing to draw");
}
