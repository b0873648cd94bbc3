//! The Speedup-Test as it was published, beside the headlines: mean and median, each one-sided, with the best level and its
//! refusals in words.

use speedup_analysis::study::{BenchmarkReport, ComparisonReport, ProtocolReport, Report};
use speedup_analysis::{conclusion::Protocol, conclusion::Verdict, count::percent, count::ratio};

use super::benchmarks::{NOTHING, abbreviated, is_by_looks, write_each};
use crate::document::{Align, Column, Document, Field, Kind, LegendEntry, Table, Tone};

/// Levels above this are shown as such: the papers' tables end here.
const HIGHEST_LEVEL: f64 = 0.9999;
/// The columns that are explained.
const LEVEL: usize = 3;
const TYPICAL: usize = 4;
const PROTOCOLS: [Protocol; 2] = [Protocol::Mean, Protocol::Median];

/// Both lines of each benchmark of the candidate `at` this place. Under looks there are none.
pub(super) fn write(document: &mut Document, report: &Report, at: usize) {
    let candidate = &report.suites[at].candidate;
    let has_any = report.benchmarks.iter().any(|benchmark| benchmark.comparisons[at].mean.is_some());
    if is_by_looks(report) || !has_any {
        return;
    }
    let heading = format!("Speedup-Test: {candidate} against {}", report.head.baseline);
    document.section(Kind::SpeedupTest, heading);
    let columns = [
        Column::new("benchmark", Align::Left, 0),
        Column::new("mean", Align::Left, 2),
        Column::new("by the mean", Align::Left, 0),
        Column::new("level", Align::Right, 1),
        Column::new("typical run", Align::Left, 3),
        Column::new("by the median", Align::Left, 0),
        Column::new("level", Align::Right, 1),
    ];
    let row = |benchmark: &BenchmarkReport| {
        let comparison = &benchmark.comparisons[at];
        let of = |protocol| match comparison.of(protocol) {
            Some(report) => fields(report),
            None => [NOTHING.into(), NOTHING.into(), NOTHING.into()],
        };
        let all = std::iter::once(Field::name(&benchmark.name)).chain(PROTOCOLS.into_iter().flat_map(of));
        all.collect::<Vec<Field>>().into()
    };
    let rows = report.benchmarks.iter().map(row).collect();
    let published = format!(
        "As published (Touati, Worms, Briais 2010): one-sided, faster and slower each at {}.",
        percent(report.head.confidence)
    );
    let legend = vec![
        LegendEntry::always(published),
        LegendEntry::of(LEVEL, "Level: the best that these data allow."),
        LegendEntry::of(TYPICAL, "Typical run: the Hodges–Lehmann ratio."),
    ];
    document.table(Table { columns: columns.into(), rows, legend, tells_left_out: false });
    for protocol in PROTOCOLS {
        let on = format!("No verdict by the {} on", protocol.name());
        write_each(document, report, &on, |benchmark| {
            benchmark.comparisons[at].of(protocol).and_then(|report| report.reason.as_ref())
        });
    }
    write_differences(document, report, at);
}

fn fields(report: &ProtocolReport) -> [Field; 3] {
    [
        ratio(report.speedup, report.interval.ends()).into(),
        Field { tone: report.verdict.into(), ..report.verdict.words().into() },
        level(report).into(),
    ]
}

/// The best level, never rounded up.
fn level(report: &ProtocolReport) -> String {
    match report.best.confidence {
        None => NOTHING.to_owned(),
        Some(level) if level > HIGHEST_LEVEL => format!(">\u{a0}{}", percent(HIGHEST_LEVEL)),
        Some(level) => percent((level * 1e4).floor() / 1e4),
    }
}

/// Where a protocol concludes otherwise than the headline, and why that may be.
fn write_differences(document: &mut Document, report: &Report, at: usize) {
    let says = |comparison: &ComparisonReport, verdict: &dyn Fn(Verdict) -> bool| {
        PROTOCOLS.iter().filter_map(|by| comparison.of(*by)).any(|protocol| verdict(protocol.verdict))
    };
    let is_effect = |verdict: Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    let only_there =
        |comparison: &ComparisonReport| !is_effect(comparison.verdict) && says(comparison, &is_effect);
    let opposite = |comparison: &ComparisonReport| {
        let own = comparison.verdict;
        is_effect(own) && says(comparison, &|verdict| is_effect(verdict) && verdict != own)
    };
    let tell = |document: &mut Document, differs: &dyn Fn(&ComparisonReport) -> bool, why: &str| {
        let names: Vec<&str> = report
            .benchmarks
            .iter()
            .filter(|benchmark| differs(&benchmark.comparisons[at]))
            .map(|benchmark| benchmark.name.as_str())
            .collect();
        if !names.is_empty() {
            let names = abbreviated(&names, report.benchmarks.len());
            document.paragraph(format!("Differs from the headline on {names}: {why}"), Tone::Plain);
        }
    };
    tell(
        document,
        &only_there,
        "the Speedup-Test asks either direction at the full risk, which is twice the headline's, and supposes normal times or \
         a shift where the headline supposes neither.",
    );
    tell(
        document,
        &opposite,
        "mean and median moved in opposite directions, so the laws differ in shape; the headline is of the centre that the \
         plan declares.",
    );
}
