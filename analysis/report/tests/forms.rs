//! Every form of the reports that the analysis keeps, of half an experiment, and of names that mean harm. Each form has one
//! golden file, of a report with every section; `SPEEDUP_UPDATE_GOLDEN=1 cargo test -p speedup-report golden` writes them
//! anew. `SPEEDUP_RENDERED` names a folder into which every form of every report is written, for `tests/report/render`.

#![expect(clippy::disallowed_methods, reason = "a golden file is a file")]

use std::{collections::BTreeMap, path::Path, path::PathBuf};

use serde_json::Value;
use speedup_analysis::conclusion::{Reason, ReasonCode, Verdict};
use speedup_analysis::count;
use speedup_analysis::inquiry::{Inquiry, Method, NamedSample, Suite};
use speedup_analysis::study::{ComparisonReport, DesignKind, DesignReport, IntervalReport, Report, RunUnit};
use speedup_core::value::foreign::{is_obeyed, lines, without_commands};
use speedup_report::answer::{self, Subject};
use speedup_report::document::{Element, Kind, Tone};
use speedup_report::junit::JunitRules;
use speedup_report::terminal::{self, Plots, Terminal};
use speedup_report::{Document, bencher, github_benchmark, html, junit, latex, markdown, openmetrics, sheet};

#[path = "forms/ci.rs"]
mod ci;
#[path = "forms/estimates.rs"]
mod estimates;

/// The reports that the analysis keeps.
const REPORTS: [&str; 12] = [
    "built", "drawn", "empty", "figures", "finished", "first", "looked", "mixed", "placed", "ranked",
    "scaled", "watched",
];
/// Parts of other reports that the report of the golden files has, as JSON pointers.
const GRAFTS: [(&str, &str); 9] = [
    ("drawn", "/suites/0/true_share"),
    ("scaled", "/scaling"),
    ("ranked", "/ranks"),
    ("watched", "/exclusions"),
    ("watched", "/canary"),
    ("watched", "/diagnostics/hosts"),
    ("placed", "/diagnostics/placement"),
    ("mixed", "/benchmarks/0/cells/0/mixture"),
    ("finished", "/benchmarks/3/cells/1/mishaps"),
];
/// Keys under which a report has text that others wrote.
const FOREIGN: &str = "baseline baseline_again benchmark candidate concerns description host hosts line name revision series subject \
    version versions";
/// What somebody might hope to be executed, or to break a line, a table or a page.
const HOSTILE: &str = "</title></style><script>alert(1)</script>\"'<img src=x onerror=alert(1)>&amp; | a ` b $x$ \
    \\input{/etc/passwd} \\end{document} %{}~^_# -- [l](javascript:alert(1))\r\n# heading\n::error::x ##[error]y\n\u{1b}[2J\u{202e}\u{0} =1+1 速";
const RULES: JunitRules = JunitRules { requires_conclusive: false };

fn path(parts: &[&str]) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR")].iter().chain(parts).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(name: &str) -> Value {
    let text = read(&path(&["..", "tests", "golden", &format!("report_v1_{name}.json")]));
    serde_json::from_str(&text).expect("JSON")
}

fn report(name: &str) -> Report {
    serde_json::from_value(json(name)).expect("a report")
}

/// The report with figures, and sections of others: no experiment has all of them. The section of a rule of repetition stays
/// away, as it would leave out another.
fn rich() -> Value {
    let mut rich = json("figures");
    // One drawing of runs shows how they are drawn.
    rich["figures"]["benchmarks"].as_array_mut().expect("an array").truncate(1);
    for (name, pointer) in GRAFTS {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let part = json(name).pointer(pointer).expect("a part").clone();
        rich.pointer_mut(parent).expect("its place")[key] = part;
    }
    let own: serde_json::Map<String, Value> =
        serde_json::from_str(include_str!("forms/endpoints.json")).expect("JSON");
    rich.as_object_mut().expect("an object").extend(own);
    rich
}

/// The report with this text at both ends of every text that others wrote.
fn renamed(mut report: Value, text: &str) -> Report {
    rename(&mut report, false, text);
    serde_json::from_value(report).expect("a report")
}

fn rename(value: &mut Value, is_foreign: bool, text: &str) {
    match value {
        Value::String(name) if is_foreign => *name = format!("{text}{name}{text}"),
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, is_foreign, text)),
        Value::Object(fields) => {
            for (key, value) in fields {
                rename(value, FOREIGN.split(' ').any(|foreign| foreign == key), text);
            }
        }
        _ => {}
    }
}

fn hostile() -> Report {
    renamed(rich(), HOSTILE)
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

fn reports() -> Vec<(&'static str, Report)> {
    let mut reports: Vec<_> = REPORTS.into_iter().map(|name| (name, report(name))).collect();
    reports.extend([("rich", renamed(rich(), "")), ("half", without_a_comparison()), ("hostile", hostile())]);
    reports
}

fn plotted(document: &Document, plots: Plots, width: usize) -> String {
    terminal::text(document, Terminal { width, coloured: false, plots })
}

/// Each form with its ending.
fn forms(report: &Report) -> [(&'static str, String); 10] {
    let document = Document::full(report);
    [
        ("html", html::page(&document)),
        ("md", markdown::text(&document)),
        ("tex", latex::document(&document)),
        ("csv", sheet::csv(report)),
        ("txt", plotted(&document, Plots::Unicode, 100)),
        ("ascii.txt", plotted(&document, Plots::Ascii, 100)),
        ("junit.xml", junit::report(report, RULES)),
        ("openmetrics.txt", openmetrics::text(report)),
        ("bmf.json", bencher::json(report)),
        ("github-benchmark.json", github_benchmark::json(report)),
    ]
}

/// What the golden file of a form has: of a page not the style, which is a file already, and lines that can be compared;
/// in ASCII only sections with drawings, as all others are as in the other text.
fn golden(ending: &str, text: String, report: &Report) -> String {
    match ending {
        "html" => {
            let ends = ["</head>", "</h2>", "</p>", "</li>", "</tr>", "</svg>"];
            let page = text.replace(html::STYLE, "/* style.css */");
            ends.iter().fold(page, |page, end| page.replace(end, &format!("{end}\n")))
        }
        "ascii.txt" => {
            let mut document = Document { repeats_verdict: false, ..Document::full(report) };
            document
                .sections
                .retain(|one| one.blocks.iter().any(|block| matches!(block, Element::Figure(_))));
            plotted(&document, Plots::Ascii, 100)
        }
        _ => text,
    }
}

#[test]
fn golden_forms() {
    let report = renamed(rich(), "");
    for (ending, text) in forms(&report) {
        let text = golden(ending, text, &report);
        let file = path(&["tests", "golden", &format!("report.{ending}")]);
        if std::env::var_os("SPEEDUP_UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert!(text == read(&file), "{} is another now", file.display());
    }
}

/// A name in a table for programs.
fn inert(name: &str) -> String {
    without_commands(&lines(name)).into_owned()
}

/// What a terminal or a runner of workflows obeys in a text, by the runner's own rules.
fn obeyed(text: &str) -> Option<String> {
    if let Some(found) = text.chars().find(|c| is_obeyed(*c) && !matches!(c, '\n' | '\t')) {
        return Some(found.escape_unicode().to_string());
    }
    let is_command = |line: &&str| line.trim().starts_with("::") || line.contains("##[");
    text.lines().find(is_command).map(str::to_owned)
}

/// No form is without a number of a verdict, has what a terminal obeys, or shows what is no number.
#[test]
fn every_form_of_every_report_is_made() {
    for (name, report) in reports() {
        let comparisons = report.benchmarks.iter().flat_map(|benchmark| &benchmark.comparisons);
        let headlines: Vec<_> = comparisons.filter_map(ComparisonReport::headline).collect();
        for (ending, text) in forms(&report) {
            if let Some(folder) = std::env::var_os("SPEEDUP_RENDERED") {
                std::fs::write(Path::new(&folder).join(format!("{name}.{ending}")), &text).unwrap();
            }
            assert_eq!(obeyed(&text), None, "{name}.{ending}");
            assert!(!text.contains("NaN"), "{name}.{ending}");
            for headline in &headlines {
                let shown = count::ratio(headline.speedup, headline.interval.ends());
                let (number, _) = shown.split_once('×').unwrap();
                let expected = match ending {
                    "csv" | "openmetrics.txt" => headline.speedup.to_string(),
                    "bmf.json" => serde_json::to_string(&headline.speedup).unwrap(),
                    "tex" => format!("{number}\\texttimes{{}}"),
                    _ => format!("{number}×"),
                };
                assert!(text.contains(&expected), "{name}.{ending} has no {expected}");
            }
        }
    }
}

#[test]
fn every_section_has_its_heading_in_every_form() {
    for (name, report) in reports() {
        let sections = Document::full(&report).sections;
        let [(_, page), (_, md), (_, tex), _, (_, text), ..] = forms(&report);
        let has_runs = sections.iter().any(|section| section.kind == Kind::Runs);
        assert_eq!(tex.matches("\n\\subsection*{").count(), sections.len() - 1, "{name}");
        // The runs are nothing but drawn.
        assert_eq!(md.matches("\n## ").count(), sections.len() - 1 - usize::from(has_runs), "{name}");
        for section in sections {
            assert!(page.contains(&format!("id=\"{}\"", section.kind.slug())), "{name}: {:?}", section.kind);
            let is_broken = name == "hostile" || section.heading.chars().count() > 100;
            assert!(is_broken || text.lines().any(|line| line == section.heading), "{name}: {text}");
        }
    }
}

/// The blocks of the section of this kind.
fn blocks(report: &Report, kind: Kind) -> Vec<Element> {
    let sections = Document::full(report).sections;
    sections.into_iter().find(|section| section.kind == kind).map_or_else(Vec::new, |section| section.blocks)
}

/// A candidate that crashes is what is read first, not the ratio of the runs that are left.
#[test]
fn runs_that_failed_stand_before_any_verdict() {
    let is_of_missing = |block: &Element| matches!(block, Element::Verdict { tone: Tone::Worse, .. });
    let finished = report("finished");
    let first = blocks(&finished, Kind::Verdict).into_iter().next().expect("a verdict");
    assert!(finished.mishaps.failed_runs > 0 && is_of_missing(&first), "{first:?}");
    let Element::Verdict { text, .. } = first else { panic!("a verdict") };
    assert!(finished.suites.iter().all(|suite| suite.sentence != text), "{text}");
    let mixed = report("mixed");
    let first = blocks(&mixed, Kind::Verdict).into_iter().next();
    let Some(Element::Verdict { text, .. }) = first else { panic!("a verdict") };
    assert!(mixed.mishaps.failed_runs > 0 || text == mixed.suites[0].sentence, "{text}");
}

/// Two benchmarks of a version, one of them with the name of a verdict.
fn suite(version: &str, factor: f64) -> Suite {
    let benchmarks = ["faster", "sort"].map(|benchmark| {
        let runs = (0..20_u32).map(|run| vec![factor * (1.0 + 0.01 * f64::from(run))]).collect();
        NamedSample::new(benchmark, runs)
    });
    Suite::new(version, benchmarks.to_vec())
}

/// A slower suite is not green, though its sentence counts the faster benchmarks, and a benchmark named "faster" has no colour.
#[test]
fn verdicts_have_tones_and_names_have_none() {
    let inquiry = Inquiry::new(vec![suite("before", 1.0), suite("after", 2.0)], Method::ratio());
    let subject = Subject { metric: "time", unit: "s", per: "", is_direction_assumed: false };
    let document = answer::document(&inquiry.answer().expect("an answer"), subject);
    let mut verdicts = Vec::new();
    let mut fields = Vec::new();
    for section in &document.sections {
        for block in &section.blocks {
            if let (Kind::Verdict, Element::Paragraph { tone, .. }) = (section.kind, block) {
                verdicts.push(*tone);
            }
            if let (Kind::Benchmarks, Element::Table(table)) = (section.kind, block) {
                fields.extend(table.rows.iter().flat_map(|row| &row.fields));
            }
        }
    }
    assert_eq!(verdicts.first(), Some(&Tone::Worse), "{verdicts:?}");
    assert!(!verdicts.contains(&Tone::Better), "{verdicts:?}");
    assert!(fields.iter().any(|field| field.text == "faster"), "{fields:?}");
    for field in fields {
        let tone = if field.text == "slower" { Tone::Worse } else { Tone::Plain };
        assert_eq!(field.tone, tone, "{field:?}");
    }
}

/// While runs are outstanding nobody is told to publish, and a number has no colour.
#[test]
fn a_running_experiment_is_not_published() {
    let mut running = report("drawn");
    let told = |report: &Report| format!("{:?}", Document::brief(report));
    running.head.tally.waiting = 1;
    assert!(running.head.awaits_runs() && !told(&running).contains("bundle"));
    let mut stopped = report("mixed");
    stopped.head.measured_runs = 1;
    assert!(!told(&stopped).contains("bundle"));
}

/// Of pairs nobody says that their ratio is one of medians, or that Touati, Worms and Briais published their tests.
#[test]
fn tables_name_what_the_design_compares() {
    let mut report = report("finished");
    let told = |report: &Report, kind| format!("{:?}", blocks(report, kind));
    assert!(told(&report, Kind::Benchmarks).contains("the ratio of the trimmed means"));
    assert!(told(&report, Kind::SpeedupTest).contains("As published"));
    let pairs = DesignReport {
        kind: DesignKind::Pairs,
        unit: RunUnit::Visit.into(),
        baseline_units: 30,
        candidate_units: 30,
        incomplete: 0,
    };
    for comparison in report.benchmarks.iter_mut().flat_map(|benchmark| &mut benchmark.comparisons) {
        comparison.design = Some(pairs.clone());
    }
    assert!(told(&report, Kind::Benchmarks).contains("the trimmed mean of the ratios within pairs"));
    assert!(!told(&report, Kind::SpeedupTest).contains("As published"));
}

fn kinds(report: &Report) -> Vec<Kind> {
    Document::full(report).sections.iter().map(|section| section.kind).collect()
}

#[test]
fn a_report_has_the_sections_of_what_it_found() {
    let empty = kinds(&report("empty"));
    for (name, kind) in [
        ("looked", Kind::Rule),
        ("scaled", Kind::Scaling),
        ("ranked", Kind::Ranks),
        ("mixed", Kind::Mixtures),
        ("watched", Kind::Exclusions),
        ("finished", Kind::Mishaps),
        ("figures", Kind::Runs),
    ] {
        assert!(kinds(&report(name)).contains(&kind) && !empty.contains(&kind), "{name}: {kind:?}");
    }
    let rich = kinds(&renamed(rich(), ""));
    for kind in Kind::whole() {
        assert_eq!(rich.contains(&kind), kind != Kind::Rule, "{kind:?}");
    }
}

#[test]
fn lines_keep_within_the_page() {
    for (name, report) in reports().into_iter().filter(|(name, _)| *name != "hostile") {
        let document = Document::full(&report);
        // On 60 columns neither values in lines of hosts nor the table of scaling has room.
        let narrowest = if report.scaling.is_empty() { 60 } else { 80 };
        for (plots, least) in [(Plots::None, narrowest), (Plots::Ascii, 80), (Plots::Unicode, 80)] {
            for width in [least, 80, 100, 130, 160] {
                let text = plotted(&document, plots, width);
                // Commands are copied as they stand.
                for line in text.lines().filter(|line| !line.starts_with("    speedup ")) {
                    assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                    assert_eq!(line, line.trim_end());
                }
            }
        }
    }
}

#[test]
fn text_without_plots_is_that_of_a_report_without_drawings() {
    let whole = Document::full(&renamed(rich(), ""));
    let mut without = whole.clone();
    without.sections.retain(|section| section.kind != Kind::Runs);
    for section in &mut without.sections {
        section.blocks.retain(|block| !matches!(block, Element::Figure(_)));
    }
    assert_eq!(plotted(&whole, Plots::None, 100), plotted(&without, Plots::Unicode, 100));
}

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
    for (name, report) in reports() {
        let page = html::page(&Document::full(&report));
        assert!(report.figures.is_none() || page.contains("class=\"panel\""), "{name}");
        let drawings = drawings(&page);
        assert!(["empty", "half"].contains(&name) || drawings.len() > 1, "{name}: {}", drawings.len());
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
        let page = html::page(&Document::full(&report));
        let tags = ["<script", "<img", "<link", "<iframe", "url(", "@import"];
        for forbidden in tags.into_iter().chain([" src=", "javascript:\"", " onerror=\""]) {
            let found =
                page.find(forbidden).map(|at| &page[at.saturating_sub(80)..(at + 80).min(page.len())]);
            // Text may say it, where it is text.
            assert!(found.is_none_or(|found| found.contains("&lt;img src=x")), "{forbidden}: {found:?}");
        }
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{0}']));
        assert_eq!(page.matches("<title>").count(), 1 + titles(&page));
        assert_eq!(page.matches("</style>").count(), 1);
    }
}

/// The titles of drawings, and of their rows.
fn titles(page: &str) -> usize {
    page.split("</head>").nth(1).unwrap_or_default().matches("<title>").count()
}

#[test]
fn a_fragment_is_the_page_without_its_frame() {
    let document = Document::full(&report("figures"));
    let (page, fragment) = (html::page(&document), html::fragment(&document));
    let inner =
        fragment.strip_prefix("<div class=\"speedup-report\">").and_then(|rest| rest.strip_suffix("</div>"));
    assert!(page.contains(inner.unwrap()) && !fragment.contains("<style"));
}

#[test]
fn names_break_neither_lines_nor_tables() {
    let [_, (_, md), (_, tex), _, (_, text), ..] = forms(&hostile());
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
    assert_eq!(tex.matches("\\begin{").count(), tex.matches("\\end{").count());
    assert!(tex.is_ascii() || tex.chars().all(|c| c < '\u{180}'), "letters that LaTeX lacks");
    assert!(!text.contains("\n# heading"));
}

type CsvRow = BTreeMap<String, String>;

fn rows(report: &Report, finding: &str) -> Vec<CsvRow> {
    let text = sheet::csv(report);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<CsvRow> = reader.deserialize().collect::<Result<_, _>>().expect("a table");
    rows.into_iter().filter(|row| row["finding"] == finding).collect()
}

/// The numbers of these columns, where they have one.
fn numbers<const N: usize>(row: &CsvRow, columns: [&str; N]) -> [Option<f64>; N] {
    columns.map(|column| row[column].parse().ok())
}

/// Ends of an interval, where there is one.
fn ends(interval: Option<&IntervalReport>) -> [Option<f64>; 2] {
    interval.and_then(IntervalReport::ends).map_or([None; 2], |(lower, upper)| [Some(lower), Some(upper)])
}

/// One row a verdict, told apart by the column `finding`, each number in every digit and each name as it is, but for what would be obeyed.
#[test]
fn csv_has_each_verdict() {
    const SPEEDUP: [&str; 4] = ["speedup", "speedup_lower", "speedup_upper", "p_value"];
    for (name, report) in reports() {
        let headlines = rows(&report, "headline");
        let comparisons: Vec<_> = report
            .benchmarks
            .iter()
            .flat_map(|benchmark| benchmark.comparisons.iter().map(move |one| (&benchmark.name, one)))
            .collect();
        assert_eq!(headlines.len(), comparisons.len(), "{name}");
        for (row, (benchmark, comparison)) in headlines.iter().zip(comparisons) {
            let names = [benchmark, &comparison.candidate].map(|name| inert(name));
            assert_eq!([&row["benchmark"], &row["candidate"]], [&names[0], &names[1]]);
            assert_eq!(row["verdict"], comparison.verdict.words());
            let headline = comparison.headline();
            let [lower, upper] = ends(headline.as_ref().map(|headline| &headline.interval));
            let speedup = headline.as_ref().map(|headline| headline.speedup);
            let p_value = headline.as_ref().and_then(|headline| headline.p_value);
            assert_eq!(numbers(row, SPEEDUP), [speedup, lower, upper, p_value], "{name}");
        }
        let endpoints = report.endpoints.iter().flat_map(|one| one.rows.iter().map(move |row| (one, row)));
        for (row, (endpoint, of)) in rows(&report, "endpoint").iter().zip(endpoints.clone()) {
            assert_eq!((&row["endpoint"], &*row["verdict"]), (&endpoint.name(), of.verdict.words()));
            let code = of.reason.as_ref().map_or_else(String::new, |reason| reason.code.to_string());
            assert_eq!((&row["benchmark"], &row["reason"]), (&inert(&of.benchmark), &code));
            let [lower, upper] = ends(of.interval.as_ref());
            assert_eq!(numbers(row, SPEEDUP), [of.ratio, lower, upper, of.p_value]);
            let [lower, upper] = ends(of.difference.as_ref().map(|difference| &difference.interval));
            let difference = of.difference.as_ref().map(|difference| difference.estimate);
            let columns = ["difference", "difference_lower", "difference_upper", "adjusted_p_value"];
            let adjusted = of.adjusted.first().map(|adjusted| adjusted.p_value);
            assert_eq!(numbers(row, columns), [difference, lower, upper, adjusted]);
        }
        let controls: Vec<_> = report.controls.iter().flat_map(|controls| &controls.rows).collect();
        for (row, of) in rows(&report, "control").iter().zip(&controls) {
            assert_eq!((&row["candidate"], &*row["verdict"]), (&inert(&of.version), of.verdict.words()));
            assert_eq!(numbers(row, ["speedup", "smallest_effect"]), [of.ratio, of.smallest_effect]);
        }
        let counts = ["endpoint", "control"].map(|finding| rows(&report, finding).len());
        assert_eq!(counts, [endpoints.count(), controls.len()], "{name}");
    }
}

/// Of many benchmarks every one has its row, the largest speedup first, and what is detail is folded.
#[test]
fn a_large_report_is_one_table_by_speedup() {
    let mut report = report("first");
    let more: Vec<_> = (0..40).flat_map(|_| report.benchmarks.clone()).collect();
    report.benchmarks = more;
    let page = html::page(&Document::full(&report));
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
        let page = html::page(&Document::full(report));
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
        let (text, drawings) = markdown::with_drawings(&Document::full(&report), "a b(c)");
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
    assert!(!markdown::text(&Document::full(&report("figures"))).contains("!["));
}
