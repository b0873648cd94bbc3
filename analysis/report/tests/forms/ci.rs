//! The forms for continuous integration, whatever others call their benchmarks and versions.

use proptest::prelude::*;
use speedup_analysis::gate::Conclusion;
use speedup_core::value::foreign::one_line as shown;
use speedup_report::github::{AnnotationLevel, MOST_ANNOTATIONS, annotation, annotations};
use speedup_report::junit::JunitSubject;

use super::*;

/// How many tests a JUnit document has, by what became of them.
fn tests(xml: &str) -> BTreeMap<&'static str, usize> {
    let document = roxmltree::Document::parse(xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let mut found = BTreeMap::new();
    for test in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let has = |name: &str| test.children().any(|child| child.has_tag_name(name));
        let fate = if has("failure") {
            "failed"
        } else if has("skipped") {
            "skipped"
        } else {
            "passed"
        };
        *found.entry(fate).or_default() += 1;
        assert!(test.attribute("name").is_some_and(|name| !name.is_empty()), "{xml}");
    }
    let root = document.root_element();
    let told = |name| root.attribute(name).and_then(|text| text.parse::<usize>().ok()).expect("a number");
    assert_eq!(told("tests"), found.values().sum::<usize>());
    assert_eq!(told("failures"), found.get("failed").copied().unwrap_or(0));
    found
}

#[test]
fn tests_fail_as_gates_do() {
    let report = report("finished");
    let conclusions = Conclusion::of_report(&report);
    let undecided = conclusions.iter().filter(|one| !one.verdict.is_conclusive()).count();
    let slower = conclusions.iter().filter(|one| one.verdict == Verdict::Slower).count();
    assert!(undecided > 0 && slower > 0, "this report has everything");
    let usual = tests(&junit::report(&report, RULES));
    assert_eq!((usual["skipped"], usual["failed"]), (undecided, slower));
    let strict = JunitRules { requires_conclusive: true };
    assert_eq!(tests(&junit::report(&report, strict))["failed"], undecided + slower);
}

/// The samples of an OpenMetrics text: name and labels, by the grammar of the specification.
fn samples(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let body = text.strip_suffix("# EOF\n").expect("an end");
    let mut found = Vec::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            assert!(["TYPE ", "UNIT ", "HELP "].iter().any(|kind| rest.starts_with(kind)), "{line}");
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("no sample: {line:?}"));
        let mut labels = BTreeMap::new();
        let mut rest = rest;
        while let Some((label, value)) = rest.split_once("=\"") {
            let mut text = String::new();
            let mut chars = value.char_indices();
            let end = loop {
                match chars.next().unwrap_or_else(|| panic!("an open label: {line:?}")) {
                    (_, '\\') => match chars.next().expect("what is escaped").1 {
                        'n' => text.push('\n'),
                        other => text.push(other),
                    },
                    (at, '"') => break at,
                    (_, other) => text.push(other),
                }
            };
            labels.insert(label.trim_start_matches(',').to_owned(), text);
            rest = &value[end + 1..];
        }
        let value = rest.strip_prefix("} ").unwrap_or_else(|| panic!("no value: {line:?}"));
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line:?}");
        found.push((name.to_owned(), labels));
    }
    found
}

/// Anything, and often what means something to a form.
fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        "\"", "\\", "\n", "\r", "&", "<", ">", "]]>", "<!--", "::", "%0A", "%", ",", "'", "{", "}", "# EOF",
        "\u{0}", "\u{1b}[", "\u{85}", "\u{2028}", "\u{202e}", "\u{fffe}", "\u{ffff}", "速", "\u{feff}",
    ]);
    let command = Just("::error::".to_owned());
    let piece = prop_oneof![26 => special.prop_map(str::to_owned), 1 => command, 27 => any::<char>().prop_map(|c| c.to_string())];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// The same, with what begins commands and what turns text around.
fn orders() -> impl Strategy<Value = String> {
    let pieces = vec![
        "::error::",
        "::stop-commands::x",
        "##[error]",
        "#",
        " ",
        "\n",
        "\r",
        "\u{2066}",
        "\u{200b}",
        "\u{a0}",
        "word",
    ];
    let piece = prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => text()];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn no_form_of_a_report_obeys_what_names_say(name in orders(), width in 60_usize..160) {
        let report = renamed(json("figures"), &name);
        for (ending, text) in forms(&report) {
            prop_assert_eq!(obeyed(&text), None, "{}", ending);
        }
        prop_assert_eq!(obeyed(&plotted(&Document::full(&report), Plots::Unicode, width)), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn whatever_the_names_are_each_form_is_one(name in text()) {
        let usual = super::report("figures");
        let report = renamed(json("figures"), &name);
        prop_assert_eq!(tests(&junit::report(&report, RULES)), tests(&junit::report(&usual, RULES)));
        let found = samples(&openmetrics::text(&report));
        prop_assert_eq!(found.len(), samples(&openmetrics::text(&usual)).len());
        prop_assert!(found.iter().all(|(_, labels)| labels["experiment"] == shown(&report.head.name)));
        let cells = report.benchmarks.iter().flat_map(|benchmark| &benchmark.cells);
        let measured = cells.filter(|cell| cell.wall_ns.is_some()).count();
        let bmf: serde_json::Value = serde_json::from_str(&bencher::json(&report)).unwrap();
        prop_assert_eq!(bmf.as_object().unwrap().len(), measured);
        let charts: serde_json::Value = serde_json::from_str(&github_benchmark::json(&report)).unwrap();
        prop_assert!(charts.as_array().unwrap().iter().all(|one| one["value"].is_f64()));
    }

    #[test]
    fn no_text_ends_an_annotation_or_begins_another(title in text(), message in text()) {
        let line = annotation(AnnotationLevel::Error, &title, &message);
        prop_assert!(!line.contains(['\n', '\r', '\u{85}', '\u{2028}']), "{line:?}");
        let rest = line.strip_prefix("::error title=").unwrap();
        let (told, said) = rest.split_once("::").unwrap();
        prop_assert!(!told.contains([':', ',']));
        let unescaped = |text: &str| text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%");
        prop_assert_eq!(unescaped(told), shown(&title));
        prop_assert_eq!(said.replace("%25", "%"), shown(&message));
    }
}

#[test]
fn the_last_annotation_counts_those_without_a_line() {
    let conclusions = Conclusion::of_report(&report("figures"));
    let many: Vec<Conclusion> = conclusions.iter().cycle().take(25).cloned().collect();
    let lines = annotations(AnnotationLevel::Warning, "Slower", &many);
    assert_eq!(lines.len(), MOST_ANNOTATIONS);
    assert!(lines[9].contains("and 16 more"), "{}", lines[9]);
    assert_eq!(annotations(AnnotationLevel::Error, "Slower", &many[..10]).len(), 10);
    assert!(lines.iter().all(|line| line.starts_with("::warning title=Slower::")));
}

#[test]
fn samples_alone_have_tests_too() {
    let conclusions = Conclusion::of_report(&report("figures"));
    let xml = junit::document(&JunitSubject::for_samples("wall"), &conclusions, RULES);
    assert_eq!(tests(&xml).values().sum::<usize>(), conclusions.len());
}
