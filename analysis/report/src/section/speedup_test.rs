//! The Speedup-Test as it was published, beside the headlines: mean and median, each one-sided, with the best level and its
//! refusals in words.

use speedup_analysis::study::{Contradiction, DesignKind, ProtocolReport, Report};
use speedup_analysis::{conclusion::Protocol, count::percent, count::ratio};

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
    let mut rows = Vec::new();
    for benchmark in &report.benchmarks {
        let mut row = vec![Field::name(&benchmark.name)];
        for protocol in PROTOCOLS {
            match benchmark.comparisons[at].of(protocol) {
                Some(report) => row.extend(fields(report)),
                None => row.extend([NOTHING; 3].map(Field::from)),
            }
        }
        rows.push(row.into());
    }
    // The design of a comparison decides which tests stand for the paper's.
    let kind = report.benchmarks.iter().find_map(|one| Some(one.comparisons[at].design.as_ref()?.kind));
    let [protocols, typical] = match kind {
        None => ["As published (Touati, Worms, Briais 2010)", "the Hodges–Lehmann ratio"],
        Some(DesignKind::Levels | DesignKind::Builds) => [
            "As published (Touati, Worms, Briais 2010), of the means of what is independent",
            "the Hodges–Lehmann ratio",
        ],
        Some(DesignKind::Pairs) => [
            "After the Speedup-Test, whose authors have no protocol for pairs: the paired t test and Wilcoxon's signed ranks",
            "the Hodges–Lehmann estimate of the ratios within pairs",
        ],
        Some(DesignKind::Classes) => [
            "After the Speedup-Test, whose authors have no protocol for classes of hosts: both tests within the classes",
            "the mean over the classes of the ratios of medians",
        ],
    };
    let level = percent(report.head.confidence);
    let legend = vec![
        LegendEntry::always(format!("{protocols}; one-sided, faster and slower each at {level}.")),
        LegendEntry::for_column(LEVEL, "Level: the best that these data allow."),
        LegendEntry::for_column(TYPICAL, format!("Typical run: {typical}.")),
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
    for contradiction in [Contradiction::OnlyThere, Contradiction::Opposite] {
        let mut names = Vec::new();
        for benchmark in &report.benchmarks {
            if benchmark.comparisons[at].contradiction() == Some(contradiction) {
                names.push(benchmark.name.as_str());
            }
        }
        if names.is_empty() {
            continue;
        }
        let names = abbreviated(&names, report.benchmarks.len());
        let why = match contradiction {
            Contradiction::OnlyThere => {
                "quote the headline. The Speedup-Test asks either direction at the full risk, which is twice the headline's, \
                 and supposes normal times or a shift where the headline supposes neither."
            }
            Contradiction::Opposite => {
                "quote the headline, which is of the centre that the plan declares. Another centre moved in the \
                 opposite direction, so the laws differ in shape."
            }
        };
        document.paragraph(format!("Differs from the headline on {names}: {why}"), Tone::Plain);
    }
}
