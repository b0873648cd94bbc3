//! What the experiment found where nothing differs.

use speedup_analysis::count::{about, percent, ratio};
use speedup_analysis::study::{ControlKind, ControlRow, ControlsReport, IntervalReport, POWER, Report};

use super::benchmarks::{NOTHING, abbreviated, by_reason};
use crate::document::{Align, Column, Document, Field, Kind, LegendEntry, Table, TableRow, Tone};
use crate::facts::{Sheet, SheetCell, number, words};

/// The controls, where there are any.
pub(super) fn write(document: &mut Document, report: &Report) {
    let Some(controls) = &report.controls else { return };
    document.section(Kind::Controls, "Controls, where nothing differs");
    let columns = vec![
        Column::new("benchmark", Align::Left, 0),
        Column::new("control", Align::Left, 0),
        Column::new("ratio", Align::Left, 0),
        Column::new("smallest effect", Align::Right, 1),
        Column::new("found", Align::Left, 0),
    ];
    let rows = controls.rows.iter().map(row).collect();
    let text = format!(
        "Ratio: {} over the control, with its two-sided interval at {}: 1 is the truth, and faster or slower a \
            false alarm. Smallest effect: about the smallest change that would have been found with a probability of {}.",
        report.head.baseline,
        percent(report.head.confidence),
        percent(POWER)
    );
    document.table(Table { columns, rows, legend: vec![LegendEntry::always(text)], tells_left_out: true });
    let reasons = controls.rows.iter().filter_map(|row| Some((row.benchmark.as_str(), row.reason.as_ref()?)));
    for (sentence, names) in by_reason(reasons) {
        let names = abbreviated(&names, report.benchmarks.len());
        document.paragraph(format!("Not enough data on {names}: {sentence}"), Tone::Plain);
    }
}

/// The controls of plain samples, as rows.
pub(crate) fn sheet(controls: &ControlsReport) -> Sheet {
    let mut rows = Vec::new();
    for row in &controls.rows {
        let ends = row.interval.as_ref().and_then(IntervalReport::ends);
        rows.push(vec![
            SheetCell::text(&row.version),
            SheetCell::text(&row.benchmark),
            SheetCell::speedup(row.ratio, ends),
            row.smallest_effect.map_or(SheetCell::Absent, |share| SheetCell::Shown(share, about(share))),
            row.verdict.into(),
            row.reason.as_ref().map_or(SheetCell::Absent, |reason| SheetCell::text(reason.code.as_str())),
        ]);
    }
    Sheet {
        headings: vec![
            words("control", "control"),
            words("benchmark", "benchmark"),
            number("ratio", "ratio"),
            number("smallest_effect", "smallest effect"),
            words("found", "found"),
            words("reason", "reason"),
        ],
        rows,
    }
}

fn row(row: &ControlRow) -> TableRow {
    let ends = row.interval.as_ref().and_then(IntervalReport::ends);
    let kind = match row.kind {
        ControlKind::BaselineAgain => "baseline again".to_owned(),
        ControlKind::SameProgram => format!("{}: same program", row.version),
    };
    TableRow::from(vec![
        Field::name(&row.benchmark),
        kind.into(),
        row.ratio.map_or_else(|| NOTHING.to_owned(), |value| ratio(value, ends)).into(),
        row.smallest_effect.map_or_else(|| NOTHING.to_owned(), about).into(),
        Field { tone: row.verdict.into(), ..row.verdict.words().into() },
    ])
}
