//! What gates say of each benchmark as JUnit XML, which continuous integration shows as tests: a regression is a failure, what
//! is undecided is skipped, or fails where everything has to be decided.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use speedup_analysis::{gate::Conclusion, gate::Ruling, study::Report};
use speedup_core::value::foreign::{one_line, without_commands};

/// By what a test fails.
#[derive(Clone, Copy, Debug)]
pub struct JunitRules {
    /// Whether a test fails that is undecided.
    pub requires_conclusive: bool,
}

/// What the tests are of.
#[derive(Clone, Debug)]
pub struct JunitSubject {
    name: String,
    /// The experiment and when it was submitted, of a report.
    experiment: Option<(String, String)>,
    /// The mean times of candidates in seconds, by candidate and benchmark.
    times: BTreeMap<(String, String), f64>,
}

impl JunitSubject {
    /// Plain samples.
    pub fn for_samples(name: &str) -> Self {
        Self { name: name.to_owned(), experiment: None, times: BTreeMap::new() }
    }

    /// An experiment.
    pub fn for_report(report: &Report) -> Self {
        let times = report.benchmarks.iter().flat_map(|benchmark| {
            let cells = benchmark.cells.iter();
            cells.filter_map(|cell| {
                let of = (cell.version.clone(), benchmark.name.clone());
                Some((of, cell.wall_ns.as_ref()?.mean / 1e9))
            })
        });
        let head = &report.head;
        Self {
            name: head.name.clone(),
            experiment: Some((head.experiment.clone(), head.submitted.clone())),
            times: times.collect(),
        }
    }
}

/// What became of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passed,
    Failed,
    Skipped,
}

fn fate(conclusion: &Conclusion, rules: JunitRules) -> Fate {
    match conclusion.ruling {
        Ruling::Regression => Fate::Failed,
        Ruling::Undecided if rules.requires_conclusive => Fate::Failed,
        Ruling::Undecided => Fate::Skipped,
        Ruling::Sound => Fate::Passed,
    }
}

/// What gates say of a report.
pub fn report(report: &Report, rules: JunitRules) -> String {
    document(&JunitSubject::for_report(report), &Conclusion::of_report(report), rules)
}

/// The document: a suite for each candidate, a test for each benchmark, endpoint, and all benchmarks together.
pub fn document(subject: &JunitSubject, conclusions: &[Conclusion], rules: JunitRules) -> String {
    let name = xml_text(&subject.name);
    // Line breaks are written out: maud makes none, and people read these files as well.
    let document = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name=(name) tests=(conclusions.len()) failures=(count(conclusions, rules, Fate::Failed)) errors="0" {
            @for of in conclusions.chunk_by(|one, next| one.candidate == next.candidate) {
                "\n  "
                testsuite name=(format!("{name}: {}", xml_text(&of[0].candidate))) tests=(of.len())
                    failures=(count(of, rules, Fate::Failed)) errors="0" skipped=(count(of, rules, Fate::Skipped))
                    timestamp=[subject.experiment.as_ref().map(|(_, submitted)| xml_text(submitted))] {
                    @if let Some((experiment, _)) = &subject.experiment {
                        "\n    "
                        properties { property name="experiment" value=(xml_text(experiment)) {} }
                    }
                    @for one in of { "\n    " (test(subject, one, rules)) }
                    "\n  "
                }
            }
            "\n"
        }
        "\n"
    };
    without_commands(&document.into_string()).into_owned()
}

fn count(conclusions: &[Conclusion], rules: JunitRules, wanted: Fate) -> usize {
    conclusions.iter().filter(|conclusion| fate(conclusion, rules) == wanted).count()
}

fn test(subject: &JunitSubject, conclusion: &Conclusion, rules: JunitRules) -> Markup {
    let benchmark = conclusion.benchmark.as_deref();
    let mut name = benchmark.unwrap_or("all benchmarks").to_owned();
    if let Some(endpoint) = &conclusion.endpoint {
        name.push_str(&format!(": {endpoint}"));
    }
    let time = benchmark.and_then(|benchmark| {
        subject
            .times
            .get(&(conclusion.candidate.clone(), benchmark.to_owned()))
            .map(|time| format!("{time:.9}"))
    });
    let said = xml_text(&conclusion.to_string());
    html! {
        testcase classname=(xml_text(&format!("{}.{}", subject.name, conclusion.candidate))) name=(xml_text(&name)) time=[time] {
            properties {
                property name="verdict" value=(conclusion.verdict.words()) {}
                property name="adjusted_verdict" value=(conclusion.adjusted_verdict.words()) {}
            }
            @match (fate(conclusion, rules), conclusion.ruling) {
                (Fate::Failed, Ruling::Undecided) => failure type="undecided" message=(said) { (said) },
                (Fate::Failed, _) if conclusion.failure.is_some() => failure type="failed" message=(said) { (said) },
                (Fate::Failed, _) => failure type="regression" message=(said) { (said) },
                (Fate::Skipped, _) => skipped message=(said) {},
                (Fate::Passed, _) => system-out { (said) },
            }
        }
    }
}

/// Text in which XML has a place for every character.
fn xml_text(text: &str) -> String {
    one_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
