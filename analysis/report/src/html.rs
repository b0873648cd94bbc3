//! The report as a page: one file without scripts and requests, in light and dark. [`fragment`] is the same for a page that
//! has [`STYLE`] already.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::document::{Align, Document, Element, Field, Kind, Section, Table, Tone};
use crate::figure::{Figure, Panels, svg};

/// The style of a report; all its rules are within the class `speedup-report`.
pub const STYLE: &str = include_str!("style.css");
/// Nothing is loaded and nothing executed, whatever stands in the report.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// Benchmarks whose drawings are seen at once.
const OPEN_PANELS: usize = 3;

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
    page.into_string()
}

/// The report for another page with [`STYLE`], which stands in an element of the class `speedup-report`; its headings are of
/// the first and the second level.
pub fn fragment(document: &Document) -> String {
    html! { div class="speedup-report" { (titled(document)) } }.into_string()
}

/// The sections alone, for a page that has a heading and [`STYLE`]; nothing where there are none.
pub fn part(document: &Document) -> String {
    html! { @if !document.sections.is_empty() { div class="speedup-report" { (sections(document)) } } }
        .into_string()
}

fn titled(document: &Document) -> Markup {
    html! { @if !document.has_head() { h1 { (document.title) } } (sections(document)) }
}

fn sections(document: &Document) -> Markup {
    let ids = ids(&document.sections);
    html! {
        @for (at, (section, id)) in document.sections.iter().zip(&ids).enumerate() {
            @if section.kind == Kind::Head {
                header id=(id) { h1 { (section.heading) } (blocks(section)) }
            } @else {
                section id=(id) class=(section.kind.slug()) { h2 { (section.heading) } (blocks(section)) }
            }
            @if section.kind == Kind::Verdict { (contents(&document.sections[at + 1..], &ids[at + 1..])) }
        }
    }
}

/// The word for each section, numbered where there are several of a kind.
fn ids(sections: &[Section]) -> Vec<String> {
    let id = |(at, section): (usize, &Section)| {
        let before = sections[..at].iter().filter(|other| other.kind == section.kind).count();
        let slug = section.kind.slug();
        if before == 0 { slug.to_owned() } else { format!("{slug}-{}", before + 1) }
    };
    sections.iter().enumerate().map(id).collect()
}

fn contents(sections: &[Section], ids: &[String]) -> Markup {
    html! {
        @if !sections.is_empty() {
            nav aria-label="Contents" {
                ul {
                    @for (section, id) in sections.iter().zip(ids) {
                        li { a href={ "#" (id) } { (section.heading.split(',').next().unwrap_or_default()) } }
                    }
                }
            }
        }
    }
}

fn blocks(section: &Section) -> Markup {
    // Items beside each other are one list.
    let runs = section.blocks.chunk_by(|a, b| matches!((a, b), (Element::Item(_), Element::Item(_))));
    let mut drawn = 0;
    html! {
        @for run in runs {
            @match &run[0] {
                Element::Item(_) => ul {
                    @for block in run { @if let Element::Item(text) = block { li { (text) } } }
                },
                Element::Paragraph { text, tone } => p class=[class(*tone)] { (text) },
                Element::Command(line) => pre { code { (line) } },
                Element::Table(of) => (table(of, &section.heading)),
                Element::Figure(of) => (figure(of, &mut drawn)),
            }
        }
    }
}

fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Better => Some("better"),
        Tone::Worse => Some("worse"),
    }
}

fn table(table: &Table, about: &str) -> Markup {
    let legend: Vec<&str> = table.legend.iter().map(|part| part.text.as_str()).collect();
    html! {
        // What scrolls is reached by the keyboard as well.
        section class="scroll" tabindex="0" aria-label=(about) {
            table {
                thead {
                    tr {
                        @for column in &table.columns {
                            th scope="col" class=[number(column.align)] { (column.heading) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (at, (field, column)) in row.fields.iter().zip(&table.columns).enumerate() {
                                (cell(field, column.align, at == 0))
                            }
                        }
                        @if let Some(note) = row.note.as_ref().filter(|note| !note.is_empty()) {
                            tr class="note" { td colspan=(table.columns.len()) { (note) } }
                        }
                    }
                }
            }
        }
        @if !legend.is_empty() { p { (legend.join(" ")) } }
    }
}

fn cell(field: &Field, align: Align, is_first: bool) -> Markup {
    html! {
        @if is_first {
            th scope="row" class=[number(align)] { (field.text) }
        } @else {
            td class=[number(align)] {
                @match class(field.tone) {
                    Some(tone) => span class=(tone) { (field.text) },
                    None => (field.text),
                }
            }
        }
    }
}

fn number(align: Align) -> Option<&'static str> {
    (align == Align::Right).then_some("number")
}

fn figure(figure: &Figure, drawn: &mut usize) -> Markup {
    html! {
        @match figure {
            Figure::Forest(forest) => figure class="row" {
                figcaption class="wide" { (forest.title) }
                (svg::forest(forest))
            },
            Figure::Proportion(proportion) => figure class="row" {
                figcaption class="wide" { (proportion.title) }
                (svg::proportion(proportion))
            },
            Figure::Panels(of) => ({
                *drawn += 1;
                panels(of, *drawn <= OPEN_PANELS)
            }),
        }
    }
}

fn panels(panels: &Panels, is_open: bool) -> Markup {
    html! {
        details open[is_open] {
            summary { (panels.benchmark) " " span { (panels.verdict) } }
            ul class="keys" {
                @for (version, name) in panels.versions.iter().enumerate() { li { (svg::key(version)) (name) } }
            }
            div class="panels" {
                @for panel in &panels.panels {
                    figure { figcaption { (panel.title) } (svg::panel(panels, panel)) }
                }
            }
        }
    }
}
