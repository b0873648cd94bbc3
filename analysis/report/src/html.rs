//! The report as a page: one file without scripts and requests, in light and dark. [`fragment`] is the same for a page that
//! has [`STYLE`] already.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use speedup_core::value::foreign::without_commands;

use crate::document::{Align, Column, Document, Element, Field, Kind, Section, Table, TableRow, Tone};
pub use crate::figure::svg::STYLE;
use crate::figure::{Figure, Forest, History, IntervalRow, Mark, Panels, ScalingFigure, svg};

/// Nothing is loaded and nothing executed, whatever stands in the report.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// Benchmarks up to which their drawings are seen at once; those of more are opened one by one.
const OPEN_PANELS: usize = 1;

/// A whole page.
pub fn page(document: &Document) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (document.title) }
                style { (PreEscaped(STYLE)) }
            }
            body class="speedup-report" { main { (titled(document)) } }
        }
    };
    without_commands(&page.into_string()).into_owned()
}

/// The report for another page with [`STYLE`], which stands in an element of the class `speedup-report`; its headings are of
/// the first and the second level.
pub fn fragment(document: &Document) -> String {
    html! { div class="speedup-report" { (titled(document)) } }.into_string()
}

/// The sections alone, for a page that has a heading and [`STYLE`]; nothing where there are none.
pub fn part(document: &Document) -> String {
    let sections = drawn(document);
    html! { @if !sections.is_empty() { div class="speedup-report" { @for one in &sections { (one) } } } }
        .into_string()
}

/// Sentences of a report, in which what stands between backticks is code.
pub fn sentences(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // Of an odd one nobody knows what it quotes.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.into_iter().enumerate() {
            @if at.is_multiple_of(2) { (part) } @else { code { (part) } }
        }
    }
}

fn titled(document: &Document) -> Markup {
    let sections = drawn(document);
    // The verdict comes before what it leads to.
    let verdict = document.sections.iter().position(|section| section.kind == Kind::Verdict);
    let first = verdict.map_or(0, |at| at + 1);
    html! {
        div class="report" {
            @if !document.has_head() { h1 { (document.title) } }
            @for one in &sections[..first] { (one) }
            @if verdict.is_some() { (contents(&document.sections[first..], &ids(&document.sections)[first..])) }
            @for one in &sections[first..] { (one) }
        }
    }
}

/// Each section under its heading.
fn drawn(document: &Document) -> Vec<Markup> {
    let sections = document.sections.iter();
    sections.zip(ids(&document.sections)).map(|(section, id)| drawn_section(section, &id)).collect()
}

fn drawn_section(section: &Section, id: &str) -> Markup {
    html! {
        @match section.kind {
            Kind::Head => header id=(id) { h1 { (section.heading) } (blocks(section, id)) },
            // The place to which the contents lead is within, so that a browser opens what is folded.
            kind if is_folded(kind) => section class=(kind.slug()) {
                details {
                    summary { h2 { (section.heading) } }
                    div id=(id) { (blocks(section, id)) }
                }
            },
            kind => section id=(id) class=(kind.slug()) { h2 { (section.heading) } (blocks(section, id)) },
        }
    }
}

/// Whether a section is for who wants to know more than what was shown and what that is worth.
const fn is_folded(kind: Kind) -> bool {
    match kind {
        Kind::Advice
        | Kind::Proportion
        | Kind::Multiplicity
        | Kind::SpeedupTest
        | Kind::Mixtures
        | Kind::Metric
        | Kind::Independence
        | Kind::Diagnostics
        | Kind::Method => true,
        Kind::Head
        | Kind::Verdict
        | Kind::Rule
        | Kind::Benchmarks
        | Kind::Endpoints
        | Kind::Scaling
        | Kind::Ranks
        | Kind::Suite
        | Kind::TrueShare
        | Kind::Controls
        | Kind::Exclusions
        | Kind::Mishaps
        | Kind::Caveats
        | Kind::Runs
        | Kind::Next => false,
    }
}

/// The word for each section, numbered where there are several of a kind.
fn ids(sections: &[Section]) -> Vec<String> {
    let mut ids = Vec::new();
    for (at, section) in sections.iter().enumerate() {
        let slug = section.kind.slug();
        match sections[..at].iter().filter(|other| other.kind == section.kind).count() {
            0 => ids.push(slug.to_owned()),
            before => ids.push(format!("{slug}-{}", before + 1)),
        }
    }
    ids
}

fn contents(sections: &[Section], ids: &[String]) -> Markup {
    html! {
        @if !sections.is_empty() {
            nav class="contents" aria-label="Contents" {
                ul {
                    @for (section, id) in sections.iter().zip(ids) {
                        li { a href={ "#" (id) } { (section.heading.split(',').next().unwrap_or_default()) } }
                    }
                }
            }
        }
    }
}

fn blocks(section: &Section, id: &str) -> Markup {
    // Items beside each other are one list, and the drawings of benchmarks are beside each other.
    let runs = section.blocks.chunk_by(|a, b| {
        matches!((a, b), (Element::Item(_), Element::Item(_))) || panels_of(a).zip(panels_of(b)).is_some()
    });
    let forest = section.blocks.iter().find_map(forest_of);
    // The second table of a section, and each after it, is called by its number: no two have one name.
    let mut tables = 0;
    let mut name = || {
        tables += 1;
        if tables == 1 { section.heading.clone() } else { format!("{}, table {tables}", section.heading) }
    };
    html! {
        @for run in runs {
            @match &run[0] {
                Element::Item(_) => ul {
                    @for block in run { @if let Element::Item(text) = block { li { (sentences(text)) } } }
                },
                Element::Paragraph { text, tone } => p class=[class(*tone)] { (sentences(text)) },
                Element::Verdict { text, tone } => {
                    p class={ "lead" @if let Some(tone) = class(*tone) { " " (tone) } } { (sentences(text)) }
                }
                Element::Command(line) => pre { code { (line) } },
                Element::Table(of) => (match forest.filter(|forest| forest.rows.len() == of.rows.len()) {
                    Some(forest) => strips(of, forest, id, &name()),
                    None => table(of, &name()),
                }),
                Element::Figure(of) => (figure(of, run)),
            }
        }
    }
}

fn figure_of(block: &Element) -> Option<&Figure> {
    if let Element::Figure(figure) = block { Some(figure) } else { None }
}

fn forest_of(block: &Element) -> Option<&Forest> {
    if let Figure::Forest(forest) = figure_of(block)? { Some(forest) } else { None }
}

fn panels_of(block: &Element) -> Option<&Panels> {
    if let Figure::Panels(panels) = figure_of(block)? { Some(panels) } else { None }
}

fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Better => Some("better"),
        Tone::Worse => Some("worse"),
    }
}

fn table(table: &Table, about: &str) -> Markup {
    html! {
        // What scrolls is reached by the keyboard as well.
        section class="scroll" tabindex="0" aria-label=(about) {
            table {
                thead { tr { @for column in &table.columns { (heading(column)) } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (at, (field, column)) in row.fields.iter().zip(&table.columns).enumerate() {
                                (cell(field, column, at == 0))
                            }
                        }
                        @if let Some(note) = row.note.as_ref().filter(|note| !note.is_empty()) {
                            tr class="note" { td colspan=(table.columns.len()) { (note) } }
                        }
                    }
                }
            }
        }
        (legend(table, ""))
    }
}

/// The column of a table with strips before which the intervals stand: names first, and the numbers beside their drawing.
const SPEEDUP: &str = "speedup";

/// The table of the benchmarks with their intervals drawn in it: a row a benchmark, the largest speedup first. What did not
/// change can be left out, without a script. `id` is that of the section.
fn strips(table: &Table, forest: &Forest, id: &str, about: &str) -> Markup {
    let strips = svg::Strips::new(forest);
    let drawn = table.columns.iter().position(|column| column.heading == SPEEDUP).unwrap_or(1);
    let rows = forest.by_effect().into_iter().map(|at| (&table.rows[at], &forest.rows[at]));
    let unchanged = forest.rows.iter().filter(|row| row.mark == Mark::Neither).count();
    let is_mixed = unchanged > 0 && unchanged < forest.rows.len();
    html! {
        @if is_mixed {
            input type="checkbox" class="only" id={ (id) "-only" };
            label for={ (id) "-only" } { " Only what changed" }
        }
        section class="scroll" tabindex="0" aria-label=(about) {
            table class="strips" {
                thead {
                    tr {
                        @for (at, column) in table.columns.iter().enumerate() {
                            @if at == drawn { td class="strip" { (strips.scale()) } }
                            (heading(column))
                        }
                    }
                }
                tbody { @for (row, of) in rows { (strip_row(table, row, of, &strips, drawn)) } }
            }
        }
        (legend(table, "Sorted by speedup."))
    }
}

fn strip_row(table: &Table, row: &TableRow, of: &IntervalRow, strips: &svg::Strips, drawn: usize) -> Markup {
    html! {
        tr class=[(of.mark == Mark::Neither).then_some("unchanged")] {
            @for (at, (field, column)) in row.fields.iter().zip(&table.columns).enumerate() {
                @if at == drawn { td class="strip" { (strips.row(of)) } }
                (cell(field, column, at == 0))
            }
        }
    }
}

/// What stands under a table, and then `more`.
fn legend(table: &Table, more: &str) -> Markup {
    let parts = table.legend.iter().map(|part| part.text.as_str());
    let legend: Vec<&str> = parts.chain(Some(more)).filter(|part| !part.is_empty()).collect();
    html! { @if !legend.is_empty() { p { (sentences(&legend.join(" "))) } } }
}

fn heading(column: &Column) -> Markup {
    html! { th scope="col" class=[column_class(column)] { (column.heading) } }
}

/// Characters from which on the text of a cell may be broken: a name that makes the table wider than the page.
const LONG: usize = 40;

fn cell(field: &Field, column: &Column, is_first: bool) -> Markup {
    html! {
        @if is_first {
            th scope="row" class=[column_class(column)] { (field.text) }
        } @else {
            td class=[column_class(column)] {
                @match (class(field.tone), field.text.chars().count() > LONG) {
                    (Some(tone), _) => span class=(tone) { (field.text) },
                    (None, true) => span class="long" { (field.text) },
                    (None, false) => (field.text),
                }
            }
        }
    }
}

/// Numbers are flush right; a phone may do without what other narrow pages do without.
fn column_class(column: &Column) -> Option<&'static str> {
    match (column.align, column.rank) {
        (Align::Left, 0) => None,
        (Align::Right, 0) => Some("number"),
        (Align::Left, _) => Some("more"),
        (Align::Right, _) => Some("number more"),
    }
}

/// A figure, or the drawings of all benchmarks that follow each other.
fn figure(figure: &Figure, run: &[Element]) -> Markup {
    html! {
        @match figure {
            // Its intervals stand in the table.
            Figure::Forest(_) => {},
            Figure::Proportion(proportion) => figure class="row" {
                figcaption class="wide" { (proportion.title) }
                (svg::proportion(proportion))
            },
            Figure::History(history) => figure class="row" {
                (svg::history(history))
                p { (History::KEY) }
            },
            Figure::Scaling(of) => (scaling(of)),
            Figure::Panels(_) => div class="drawings" {
                @for of in run.iter().filter_map(panels_of) { (panels(of, run.len() <= OPEN_PANELS)) }
            },
        }
    }
}

fn scaling(figure: &ScalingFigure) -> Markup {
    let names: Vec<&str> = figure.curves.iter().map(|curve| curve.version.as_str()).collect();
    html! {
        (keys(&names))
        div class="panels" { figure { figcaption { (figure.title) } (svg::scaling(figure)) } }
    }
}

/// What the marks of versions stand for.
fn keys(versions: &[impl AsRef<str>]) -> Markup {
    html! {
        ul class="keys" {
            @for (version, name) in versions.iter().enumerate() { li { (svg::key(version)) (name.as_ref()) } }
        }
    }
}

fn panels(panels: &Panels, is_open: bool) -> Markup {
    html! {
        details open[is_open] {
            summary { (panels.benchmark) " " span { (panels.verdict) } }
            (keys(&panels.versions))
            div class="panels" {
                @for panel in &panels.panels {
                    figure { figcaption { (panel.title) } (svg::panel(panels, panel)) }
                }
            }
        }
    }
}
