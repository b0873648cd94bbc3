//! An answer for people: what each candidate is in a sentence, the table, and what must be known of it.

use speedup_statistics::ratio::Summary;
use std::collections::BTreeSet;

use speedup_analysis::count;
use speedup_analysis::inquiry::{
    Answer, EffectFinding, Findings, IntervalAnswer, PerformanceFinding, Remark, SpeedupTestSuite,
};
use speedup_analysis::study::{IntervalReport, Protocol, ProtocolReport, Reason, Verdict};
use speedup_statistics::protocol::hierarchical_performance_test::ReliableSpeedup;

use speedup_report::markdown::escaped;

use super::rows;
use super::sheet::level;
use super::versions::Versions;
use crate::console::Paint;
use crate::console::render::counted;

/// The answer as text.
pub(crate) fn shown(answer: &Answer, versions: &Versions, paint: Paint) -> String {
    let mut parts = vec![opening(answer, versions)];
    parts.extend(sentences(answer));
    parts.push(rows::sheet(answer).table(paint));
    if let Findings::Mixture(of) = &answer.findings {
        let metrics = rows::metrics(of, &answer.versions);
        if !metrics.rows.is_empty() {
            parts.push(metrics.table(paint));
        }
    }
    let notes = notes(answer);
    if !notes.is_empty() {
        parts.push(notes.join("\n"));
    }
    parts.push(format!("Sources: {}.", answer.method.sources.join("; ")));
    parts.join("\n\n")
}

/// The answer as Markdown: the same words, and every column of the table.
pub(crate) fn markdown(answer: &Answer, versions: &Versions) -> String {
    let opening = opening(answer, versions);
    let (name, of) = opening.split_once('\n').unwrap_or((opening.as_str(), ""));
    let mut parts = vec![format!("# {}", escaped(name)), escaped(of)];
    let listed = |lines: &mut dyn Iterator<Item = &str>| -> String {
        let item = |line: &str| {
            let inner = if line.starts_with("  ") { "  " } else { "" };
            format!("{inner}- {}", escaped(line.trim_start()))
        };
        lines.map(item).collect::<Vec<_>>().join("\n")
    };
    parts.extend(sentences(answer).map(|text| listed(&mut text.lines())));
    parts.push(rows::sheet(answer).markdown());
    if let Findings::Mixture(of) = &answer.findings {
        let metrics = rows::metrics(of, &answer.versions);
        if !metrics.rows.is_empty() {
            parts.push(metrics.markdown());
        }
    }
    parts.push(listed(&mut notes(answer).iter().flat_map(|note| note.lines())));
    parts.push(escaped(&format!("Sources: {}.", answer.method.sources.join("; "))));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

pub(super) fn opening(answer: &Answer, versions: &Versions) -> String {
    let baseline = answer.versions.first().map_or("", String::as_str);
    let unit = versions.unit.to_string();
    let unit = if unit.is_empty() { String::new() } else { format!(" in {unit}") };
    let seed = answer.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let level = count::percent(answer.confidence.get());
    let against = if answer.versions.len() > 1 { format!(", baseline {baseline}") } else { String::new() };
    format!("{}\nconfidence level {level}, {}{unit}{against}{seed}", answer.method.name, versions.metric)
}

pub(super) fn sentences(answer: &Answer) -> Option<String> {
    let lines: Vec<String> = match &answer.findings {
        Findings::SpeedupTest(of) => of.iter().map(of_suite).collect(),
        Findings::PerformanceTest(of) => of.iter().map(of_performance).collect(),
        Findings::Earlier(of) => of
            .iter()
            .map(|suite| {
                let sure = suite.confidence.map_or_else(String::new, |share| {
                    format!(", all of them at a level of {}", level(share))
                });
                let all = counted(suite.benchmarks.len() as u64, "benchmark");
                format!("{}: faster on {} of {all}{sure}.", suite.candidate, suite.accelerated)
            })
            .collect(),
        Findings::Effect(_)
        | Findings::Mixture(_)
        | Findings::Distribution(_)
        | Findings::SignedRank(_)
        | Findings::Diagnostics(_) => Vec::new(),
    };
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn of_suite(suite: &SpeedupTestSuite) -> String {
    let how_much = suite.speedup.map_or_else(String::new, |speedup| {
        let change = count::change(100.0 * (1.0 / speedup - 1.0), suite.interval.ends());
        format!(", {} ({change})", count::ratio(speedup, suite.interval.ends()))
    });
    let over = counted(suite.benchmarks.len() as u64, "benchmark");
    let mut text = format!("{}: {}{how_much}, over {over}.", suite.candidate, suite.verdict.words());
    if suite.benchmarks.len() < 2 {
        return text;
    }
    for overall in &suite.overall {
        let summary = match overall.summary {
            Summary::Min => "minimum",
            Summary::Mean => "mean",
            Summary::Median => "median",
        };
        let gain = count::change(100.0 * overall.gain, None);
        text.push_str(&format!("\n  by the {summary}: speedup {:.4}, gain {gain}", overall.speedup));
    }
    for proportion in &suite.proportions {
        let interval = of_proportion(&proportion.interval);
        let beside =
            [("recommended", Some(&proportion.recommended)), ("as asked", proportion.asked.as_ref())];
        let beside: String = beside
            .into_iter()
            .filter_map(|(which, interval)| match interval? {
                bounded @ IntervalAnswer::Bounded { method, .. } => {
                    Some(format!("\n    {which}, {method}:{}", of_proportion(bounded)))
                }
                IntervalAnswer::Missing { .. } => None,
            })
            .collect();
        let needed = proportion.benchmarks_needed.unwrap_or(proportion.benchmarks_needed_by_wilson);
        let alone = proportion.overall_of_accelerated.as_ref();
        let alone = alone
            .filter(|_| proportion.accelerated < proportion.benchmarks)
            .map_or_else(String::new, |alone| format!("; they alone {:.4}", alone.speedup));
        text.push_str(&format!(
            "\n  accelerated by the {}: {} of {}, {}{interval}{alone}; for ±{} draw {}{beside}",
            proportion.by.name(),
            proportion.accelerated,
            proportion.benchmarks,
            count::percent(proportion.estimate),
            count::percent(proportion.precision),
            count::counted(needed, "benchmark"),
        ));
    }
    text
}

fn of_proportion(interval: &IntervalAnswer) -> String {
    interval.ends().map_or_else(String::new, |(lower, upper)| {
        format!(" [{}, {}]", count::percent(lower), count::percent(upper))
    })
}

fn of_performance(finding: &PerformanceFinding) -> String {
    let under_test = finding.speedup_under_test;
    let what = if under_test == 1.0 {
        finding.verdict.words().to_owned()
    } else if finding.verdict == Verdict::Faster {
        format!("more than {under_test}× faster")
    } else {
        format!("not shown to be more than {under_test}× faster")
    };
    let confidence =
        finding.confidence.map_or_else(String::new, |share| format!(", confidence {}", level(share)));
    let geometric = finding.geometric_mean_speedup.map_or_else(String::new, |speedup| {
        format!("; the geometric mean, which has no confidence, is {speedup:.4}")
    });
    let reliable = match finding.reliable_speedup {
        Some(ReliableSpeedup::Supremum { speedup, .. }) => {
            format!("; r-Speedup at the level {speedup:.4}")
        }
        Some(ReliableSpeedup::NotFaster) => "; no speedup is confirmed at the level".to_owned(),
        Some(ReliableSpeedup::Unbounded) => "; any speedup is confirmed at so low a level".to_owned(),
        None => String::new(),
    };
    format!("{}: {what}{confidence}{reliable}{geometric}.", finding.candidate)
}

/// Caveats and reasons, each code once, as sentences.
pub(super) fn notes(answer: &Answer) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut notes = Vec::new();
    let mut note = |code: &str, sentence: &str| {
        if seen.insert(format!("{code} {sentence}")) {
            notes.push(format!("{code}: {sentence}"));
        }
    };
    for Reason { code, sentence } in reasons(answer) {
        note(&code, &sentence);
    }
    for Remark { code, sentence } in answer.caveats.iter().cloned().chain(caveats(&answer.findings)) {
        note(&code, &sentence);
    }
    notes
}

/// The caveats of all findings.
pub(crate) fn caveats(findings: &Findings) -> Vec<Remark> {
    match findings {
        Findings::SpeedupTest(of) => {
            of.iter()
                .flat_map(|suite| {
                    let of_benchmarks = suite.benchmarks.iter().flat_map(|one| {
                        [Protocol::Mean, Protocol::Median].map(|by| one.of(by).caveats.clone())
                    });
                    let of_suite = [&suite.interval]
                        .into_iter()
                        .chain(suite.proportions.iter().map(|one| &one.interval))
                        .map(|interval| interval.caveats().to_vec());
                    let of_suite: Vec<_> =
                        if suite.benchmarks.len() > 1 { of_suite.collect() } else { Vec::new() };
                    of_benchmarks.chain(of_suite).flatten().collect::<Vec<_>>()
                })
                .collect()
        }
        Findings::PerformanceTest(of) => of.iter().flat_map(|one| one.caveats.clone()).collect(),
        Findings::Effect(of) => of.iter().flat_map(EffectFinding::caveats).collect(),
        Findings::Mixture(of) => of.samples.iter().flat_map(|one| one.caveats.clone()).collect(),
        Findings::Distribution(of) => of.iter().flat_map(|one| one.caveats.clone()).collect(),
        Findings::SignedRank(of) => {
            of.iter().flat_map(|one| one.caveats.iter().chain(one.interval.caveats()).cloned()).collect()
        }
        Findings::Earlier(of) => of.iter().flat_map(|one| one.caveats.clone()).collect(),
        Findings::Diagnostics(of) => of.iter().flat_map(|one| one.caveats.clone()).collect(),
    }
}

/// Why a protocol has no verdict, and why it has no interval.
fn of_protocol(report: &ProtocolReport) -> Vec<Reason> {
    let of_interval = match &report.interval {
        IntervalReport::Missing { reason } => Some(reason),
        IntervalReport::Bounded { .. } => None,
    };
    report.reason.iter().chain(of_interval).cloned().collect()
}

/// Why there is not enough data, and why intervals are missing, where there is not and they are.
fn reasons(answer: &Answer) -> Vec<Reason> {
    match &answer.findings {
        Findings::SpeedupTest(of) => of
            .iter()
            .flat_map(|suite| {
                let of_benchmarks = suite.benchmarks.iter().flat_map(|one| {
                    [Protocol::Mean, Protocol::Median].map(|by| of_protocol(&one.of(by).report))
                });
                of_benchmarks.flatten().chain(suite.interval.reason().cloned())
            })
            .collect(),
        Findings::PerformanceTest(of) => of
            .iter()
            .flat_map(|one| [one.reason.clone(), one.reliable_speedup_reason.clone()])
            .flatten()
            .collect(),
        Findings::Effect(of) => of
            .iter()
            .flat_map(|one| {
                let of_bootstrap = one.bootstrap.as_ref().and_then(|bootstrap| bootstrap.interval.reason());
                one.reason.iter().chain(one.interval.reason()).chain(of_bootstrap).cloned()
            })
            .collect(),
        Findings::Mixture(of) => {
            of.samples.iter().flat_map(|one| [one.reason.clone(), one.fit_reason.clone()]).flatten().collect()
        }
        Findings::Distribution(of) => of
            .iter()
            .flat_map(|one| {
                let ends = one.quantiles.iter().filter_map(|quantile| quantile.interval.reason().cloned());
                one.reason.clone().into_iter().chain(ends).collect::<Vec<_>>()
            })
            .collect(),
        Findings::SignedRank(of) => {
            of.iter().flat_map(|one| one.reason.iter().chain(one.interval.reason()).cloned()).collect()
        }
        Findings::Earlier(of) => {
            of.iter().flat_map(|suite| &suite.benchmarks).filter_map(|one| one.reason.clone()).collect()
        }
        Findings::Diagnostics(of) => of
            .iter()
            .flat_map(|one| &one.diagnostics)
            .filter_map(|diagnostic| diagnostic.reason.clone())
            .collect(),
    }
}
