//! The runs of the benchmarks, drawn, where the report has what that takes.

use speedup_analysis::study::Report;

use crate::document::{Document, Element, Kind, Tone};
use crate::figure::{Figure, Panels};

pub(super) fn write(document: &mut Document, report: &Report) {
    let Some(figures) = &report.figures else { return };
    let panels = Panels::all(report, figures);
    if panels.is_empty() {
        return;
    }
    document.section(Kind::Runs, "The runs, drawn");
    document.paragraph(figures.sentence.as_str(), Tone::Plain);
    for of in panels {
        document.push(Element::Figure(Box::new(Figure::Panels(of))));
    }
}
