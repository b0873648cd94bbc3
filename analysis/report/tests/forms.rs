//! Every form of a few reports against golden files, and of reports that mean harm. `SPEEDUP_UPDATE_GOLDEN=1 cargo test -p
//! speedup-report` writes the files anew; look at them then: `tests/report/look` makes pictures of the pages.

#![expect(clippy::disallowed_methods, reason = "a golden file is a file")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use speedup_analysis::conclusion::{Protocol, Reason, ReasonCode, Verdict};
use speedup_analysis::study::{
    AdjustedEndpoint, ControlKind, ControlRow, ControlsReport, DifferenceReport, EndpointReport, EndpointRow,
    EndpointVerdict, IntervalReport, Report, RunUnit,
};
use speedup_core::experiment::Family;
use speedup_core::experiment::metric::Better;
use speedup_report::terminal::{self, Plots, Terminal};
use speedup_report::{Document, html, latex, markdown, sheet};
use speedup_statistics::inference::Adjustment;

#[path = "forms/ci.rs"]
mod ci;
#[path = "forms/estimates.rs"]
mod estimates;

/// The reports of the analysis: with figures, of a sample of benchmarks with several candidates, without a single
/// run, of a scaling series, of ranks on several hosts, and of the first release.
const REPORTS: [&str; 6] = ["figures", "drawn", "empty", "scaled", "ranked", "first"];
/// What somebody might hope to be executed, or to break a line, a table or a page.
const HOSTILE: &str = "</title></style><script>alert(1)</script>\"'<img src=x onerror=alert(1)>&amp; | a ` b $x$ \
    \\input{/etc/passwd} \\end{document} %{}~^_# -- [l](javascript:alert(1))\r\n# heading\n\u{1b}[2J\u{202e}\u{0} =1+1 速";

fn path(parts: &[&str]) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR")].iter().chain(parts).collect()
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn report(name: &str) -> Report {
    let json = read(&path(&["..", "tests", "golden", &format!("report_v1_{name}.json")]));
    serde_json::from_str(&json).expect("a report")
}

/// Each form with its ending.
fn forms(report: &Report) -> [(&'static str, String); 6] {
    let document = Document::of(report);
    let plots = |plots| terminal::text(&document, Terminal { width: 100, coloured: false, plots });
    [
        ("html", html::page(&document)),
        ("md", markdown::text(&document)),
        ("tex", latex::document(&document)),
        ("csv", sheet::csv(report)),
        ("plots.txt", plots(Plots::Unicode)),
        ("ascii.txt", plots(Plots::Ascii)),
    ]
}

/// A report in which every text that others wrote is hostile.
fn hostile() -> Report {
    let mut report = report("figures");
    for benchmark in &mut report.benchmarks {
        let name = format!("{} {HOSTILE}", benchmark.name);
        for figures in report.figures.iter_mut().flat_map(|figures| &mut figures.benchmarks) {
            if figures.benchmark == benchmark.name {
                figures.benchmark.clone_from(&name);
            }
        }
        benchmark.name = name;
        benchmark.cells.iter_mut().for_each(|cell| cell.version += HOSTILE);
        let failures = benchmark.cells.iter_mut().flat_map(|cell| cell.mishaps.failures.values_mut());
        failures.for_each(|failure| failure.example.line = Some(HOSTILE.to_owned()));
    }
    report.figures.iter_mut().flat_map(|figures| &mut figures.hosts).for_each(|host| *host += HOSTILE);
    for text in [&mut report.head.name, &mut report.head.description, &mut report.head.baseline] {
        text.push_str(HOSTILE);
    }
    report.suites.iter_mut().for_each(|suite| suite.candidate += HOSTILE);
    report.head.versions.iter_mut().for_each(|version| *version += HOSTILE);
    report
}

/// Half an experiment: a benchmark lost one of its versions, and nothing is compared.
fn without_a_comparison() -> Report {
    let mut report = report("figures");
    report.suites.clear();
    for benchmark in &mut report.benchmarks {
        benchmark.comparisons.clear();
        benchmark.cells.truncate(1);
    }
    for figures in report.figures.iter_mut().flat_map(|figures| &mut figures.benchmarks) {
        figures.cells.truncate(1);
        figures.precision.clear();
    }
    report
}

#[test]
fn golden_forms() {
    let reports = REPORTS.map(|name| (name, report(name)));
    for (name, report) in reports.into_iter().chain([("hostile", hostile())]) {
        for (ending, text) in forms(&report) {
            let golden = path(&["tests", "golden", &format!("report_{name}.{ending}")]);
            if std::env::var_os("SPEEDUP_UPDATE_GOLDEN").is_some() {
                std::fs::write(&golden, &text).unwrap();
            }
            assert!(text == read(&golden), "{} is another now", golden.display());
        }
    }
}

/// All drawings of a page.
fn drawings(page: &str) -> Vec<&str> {
    let mut drawings = Vec::new();
    let mut rest = page;
    while let Some(from) = rest.find("<svg class=") {
        rest = &rest[from..];
        // Drawings hold marks, which are drawings themselves.
        let (mut depth, mut end) = (0_i32, rest.len());
        for (at, _) in rest.match_indices("svg") {
            match &rest[..at] {
                before if before.ends_with("</") => depth -= 1,
                before if before.ends_with('<') => depth += 1,
                _ => {}
            }
            if depth == 0 {
                end = at + "svg>".len();
                break;
            }
        }
        drawings.push(&rest[..end]);
        rest = &rest[end..];
    }
    drawings
}

#[test]
fn drawings_are_well_formed_and_have_their_words() {
    let reports = [report("figures"), report("drawn"), report("first"), hostile(), without_a_comparison()];
    for report in reports {
        let page = html::page(&Document::of(&report));
        let drawings = drawings(&page);
        assert!(report.suites.is_empty() || drawings.len() > 1, "{}", drawings.len());
        for drawing in drawings {
            let read =
                roxmltree::Document::parse(drawing).unwrap_or_else(|error| panic!("{error}: {drawing}"));
            let root = read.root_element();
            if root.attribute("aria-hidden") == Some("true") {
                continue;
            }
            assert_eq!(root.attribute("role"), Some("img"));
            let words =
                |name| root.children().find(|child| child.has_tag_name(name)).and_then(|child| child.text());
            assert!(words("title").is_some_and(|title| !title.is_empty()), "{drawing}");
            assert!(words("desc").is_some_and(|words| words.len() > 20), "{drawing}");
            let attributes = read
                .descendants()
                .flat_map(|node| node.attributes().map(|one| one.value()).collect::<Vec<_>>());
            for value in attributes {
                assert!(!value.contains("NaN") && !value.contains("inf"), "{value} in {drawing}");
            }
        }
    }
}

#[test]
fn a_page_executes_nothing_and_asks_nobody() {
    for report in [report("figures"), hostile()] {
        let page = html::page(&Document::of(&report));
        for forbidden in [
            "<script",
            "<img",
            "<link",
            "<iframe",
            "url(",
            "@import",
            " src=",
            "javascript:\"",
            " onerror=\"",
        ] {
            let found =
                page.find(forbidden).map(|at| &page[at.saturating_sub(80)..(at + 80).min(page.len())]);
            // Text may say it, where it is text.
            assert!(found.is_none_or(|found| found.contains("&lt;img src=x")), "{forbidden}: {found:?}");
        }
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{0}']));
        assert_eq!(
            (page.matches("<title>").count(), page.matches("</style>").count()),
            (1 + titles(&page), 1)
        );
    }
}

/// The titles of drawings, and of their rows.
fn titles(page: &str) -> usize {
    page.split("</head>").nth(1).unwrap_or_default().matches("<title>").count()
}

#[test]
fn a_fragment_is_the_page_without_its_frame() {
    let document = Document::of(&report("figures"));
    let (page, fragment) = (html::page(&document), html::fragment(&document));
    let inner =
        fragment.strip_prefix("<div class=\"speedup-report\">").and_then(|rest| rest.strip_suffix("</div>"));
    assert!(page.contains(inner.unwrap()) && !fragment.contains("<style"));
}

#[test]
fn names_break_neither_lines_nor_tables() {
    let report = hostile();
    let [_, (_, md), (_, tex), (_, csv), (_, text), _] = forms(&report);
    // Rows have as many fields as their heading, whatever is in them.
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let tables: Vec<&str> = md.lines().filter(|line| line.starts_with("| ")).collect();
    let starts = tables.iter().enumerate().filter(|(_, line)| line.contains("| ---"));
    assert!(starts.clone().count() > 2);
    for (at, rule) in starts {
        assert_eq!([bars(tables[at - 1]), bars(tables[at + 1])], [bars(rule); 2], "{}", tables[at + 1]);
    }
    assert!(!md.contains("\n# heading") && !md.contains("<script"), "{md}");
    assert_eq!((tex.matches("\\end{document}").count(), tex.matches("\\input").count()), (1, 0));
    assert!(tex.is_ascii() || tex.chars().all(|c| c < '\u{180}'), "letters that LaTeX lacks");
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().collect::<Result<_, _>>().unwrap();
    assert_eq!((rows.len(), &rows[0][1]), (4, report.benchmarks[0].name.as_str()));
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}', '\r']), "{text}");
    assert!(!text.contains("\n# heading"));
}

#[test]
fn half_an_experiment_has_every_form() {
    for report in [without_a_comparison(), report("empty")] {
        for (ending, text) in forms(&report) {
            assert!(text.len() > 100 && !text.contains("NaN"), "{ending}");
        }
    }
    let [(_, page), ..] = forms(&without_a_comparison());
    assert!(page.contains("There is only one version") && page.contains("class=\"panel\""));
}

/// One row a verdict, told apart by the column `finding`, each number where a headline has it.
#[test]
fn the_sheet_has_rows_for_endpoints_and_controls() {
    let mut report = report("figures");
    let (benchmark, candidate) = (report.benchmarks[0].name.clone(), report.suites[0].candidate.clone());
    let interval = IntervalReport::Bounded {
        method: "order statistics".to_owned(),
        lower: 0.25,
        upper: 0.75,
        confidence: 0.96,
        caveats: Vec::new(),
    };
    let holm =
        AdjustedEndpoint { adjustment: Adjustment::Holm, verdict: EndpointVerdict::Undecided, p_value: 0.06 };
    let row = EndpointRow {
        benchmark: benchmark.clone(),
        candidate,
        verdict: EndpointVerdict::Worse,
        ratio: Some(0.5),
        interval: Some(interval.clone()),
        p_value: Some(0.02),
        p_same: None,
        difference: Some(DifferenceReport { estimate: -7.0, interval: interval.clone() }),
        note: None,
        reason: None,
        unit: RunUnit::Run.into(),
        adjusted: vec![holm],
    };
    let refused = Reason { code: ReasonCode::TooFewRuns.into(), sentence: "It takes 368 runs.".to_owned() };
    let without = EndpointRow {
        verdict: EndpointVerdict::NotEnoughData,
        ratio: None,
        interval: None,
        p_value: None,
        reason: Some(refused),
        adjusted: Vec::new(),
        ..row.clone()
    };
    let endpoint = |metric: &str, quantile, center, row| EndpointReport {
        metric: metric.to_owned(),
        quantile,
        center,
        better: Better::Lower,
        margin: None,
        family: Family::Common,
        rows: vec![row],
    };
    report.endpoints = vec![
        endpoint("max_rss", None, Some(Protocol::Median), row),
        endpoint("wall", Some(0.99), None, without),
    ];
    let control = ControlRow {
        benchmark,
        version: "=again, \"quoted\"".to_owned(),
        kind: ControlKind::BaselineAgain,
        verdict: Verdict::Undecided,
        ratio: Some(1.0),
        interval: Some(interval),
        smallest_effect: Some(0.732),
        reason: None,
    };
    report.controls = Some(ControlsReport {
        baseline_again: Some(control.version.clone()),
        controls: 1,
        alarms: 0,
        p_value: 1.0,
        smallest_effects: Some([0.732, 0.732]),
        sentence: String::new(),
        rows: vec![control],
    });
    let text = sheet::csv(&report);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().collect::<Result<_, _>>().unwrap();
    let headlines: usize = report.benchmarks.iter().map(|benchmark| benchmark.comparisons.len()).sum();
    assert_eq!(rows.len(), headlines + 3);
    let of = |row: &BTreeMap<String, String>, columns: &[&str]| -> Vec<String> {
        columns.iter().map(|column| row[*column].clone()).collect()
    };
    assert!(rows[..headlines].iter().all(|row| row["finding"] == "headline" && row["endpoint"].is_empty()));
    assert!(
        rows.iter().all(|row| row["experiment"] == report.head.experiment && row["confidence"] == "0.95")
    );
    let shown = [
        "finding",
        "endpoint",
        "verdict",
        "by",
        "speedup",
        "speedup_lower",
        "interval_confidence",
        "p_value",
    ];
    assert_eq!(
        of(&rows[headlines], &shown),
        ["endpoint", "max_rss", "worse", "median", "0.5", "0.25", "0.96", "0.02"]
    );
    let shown = ["adjusted_verdict", "adjusted_p_value", "baseline_median_ns", "smallest_effect"];
    assert_eq!(of(&rows[headlines], &shown), ["undecided", "0.06", "", ""]);
    assert_eq!(
        of(&rows[headlines], &["difference", "difference_lower", "difference_upper"]),
        ["-7", "0.25", "0.75"]
    );
    let shown = ["endpoint", "by", "verdict", "reason", "speedup", "adjusted_verdict"];
    let expected = ["p99 of wall", "0.99", "not enough data", "too_few_runs", "", ""];
    assert_eq!(of(&rows[headlines + 1], &shown), expected);
    let shown = ["finding", "candidate", "verdict", "speedup", "speedup_upper", "smallest_effect", "p_value"];
    let expected = ["control", "=again, \"quoted\"", "undecided", "1", "0.75", "0.732", ""];
    assert_eq!(of(&rows[headlines + 2], &shown), expected);
}

/// Of many benchmarks every one has its row, the largest speedup first, and what is detail is folded.
#[test]
fn a_large_report_is_one_table_by_speedup() {
    let mut report = report("first");
    let more: Vec<_> = (0..40).flat_map(|_| report.benchmarks.clone()).collect();
    report.benchmarks = more;
    let page = html::page(&Document::of(&report));
    let (_, rows) = page.split_once("<table class=\"strips\">").unwrap();
    let rows = rows.split("</table>").next().unwrap();
    assert_eq!((report.benchmarks.len(), rows.matches("<th scope=\"row\"").count()), (240, 240));
    let speedups: Vec<f64> = rows
        .split("<td>")
        .filter_map(|field| field.split_once('×').and_then(|(speedup, _)| speedup.parse().ok()))
        .collect();
    assert!(speedups.len() > 100 && speedups.is_sorted_by(|a, b| a >= b), "{speedups:?}");
    assert!(page.contains("<summary><h2>Method</h2></summary>"));
}

/// One wild speedup is cut off at the edge, and does not flatten the others.
#[test]
fn an_outlier_does_not_flatten_the_strips() {
    let mut report = report("drawn");
    let longest = |report: &Report| {
        let page = html::page(&Document::of(report));
        let places = page.split("<line class=\"interval\" x1=\"").skip(1).map(|line| {
            let (from, rest) = line.split_once('%').unwrap();
            let (_, to) = rest.split_once("x2=\"").unwrap();
            to.split_once('%').unwrap().0.parse::<f64>().unwrap() - from.parse::<f64>().unwrap()
        });
        places.take(4).fold(0.0, f64::max)
    };
    let before = longest(&report);
    let comparison = &mut report.benchmarks[11].comparisons[0];
    let first = comparison.first.as_mut().unwrap();
    first.speedup = 7.0;
    let after = longest(&report);
    assert!(after > before / 4.0, "{before} {after}");
}

#[test]
fn markdown_links_drawings_that_stand_alone() {
    for report in [report("figures"), report("drawn"), hostile()] {
        let (text, drawings) = markdown::with_drawings(&Document::of(&report), "a b(c)");
        assert!(!drawings.is_empty());
        for (drawing, number) in drawings.iter().zip(1..) {
            assert_eq!(drawing.name, format!("a b(c)-{number}.svg"));
            assert!(text.contains(&format!("](a%20b%28c%29-{number}.svg)")), "{text}");
            let svg = roxmltree::Document::parse(&drawing.svg)
                .unwrap_or_else(|error| panic!("{error}: {}", drawing.svg));
            let root = svg.root_element();
            assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
            assert!(
                svg.descendants().all(|node| !node.has_tag_name("script") && !node.has_tag_name("image"))
            );
        }
        assert_eq!(text.matches("![").count(), drawings.len() + text.matches("\\![").count());
    }
    assert!(!markdown::text(&Document::of(&report("figures"))).contains("!["));
}
