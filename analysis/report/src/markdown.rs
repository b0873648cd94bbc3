//! The report as Markdown, of the kind that forges show: headings, paragraphs, lists and tables, and drawings as files beside it
//! where there is a place for them: a forge shows no drawing that stands in the text.

use speedup_core::value::foreign::{lines, without_commands};

use crate::document::{Align, Document, Element, Kind, Section, Table};
use crate::figure::{Figure, Panels, svg::File, svg::files};

/// Marks and strokes of the versions in words, as they are drawn.
const MARKS: [&str; 6] = ["circles", "diamonds", "squares", "triangles", "hanging triangles", "crosses"];
const STROKES: [&str; 4] = ["solid", "dashed", "dashed and dotted", "shortly dashed"];

/// A file that stands beside the Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawingFile {
    pub name: String,
    pub svg: String,
}

/// The drawings met so far; without a stem there are none.
struct Drawings<'a> {
    stem: Option<&'a str>,
    files: Vec<DrawingFile>,
}

/// The report as Markdown, without drawings: what they show stands in the tables as numbers.
pub fn text(document: &Document) -> String {
    whole(document, &mut Drawings { stem: None, files: Vec::new() })
}

/// The report as Markdown with links to drawings, whose names begin with `stem`.
pub fn with_drawings(document: &Document, stem: &str) -> (String, Vec<DrawingFile>) {
    let mut drawings = Drawings { stem: Some(stem), files: Vec::new() };
    (whole(document, &mut drawings), drawings.files)
}

fn whole(document: &Document, drawings: &mut Drawings<'_>) -> String {
    let mut text = format!("# {}\n", escaped(&document.title));
    // The runs are nothing but drawn.
    for section in &document.sections {
        if section.kind != Kind::Runs || drawings.stem.is_some() {
            write(&mut text, section, drawings);
        }
    }
    without_commands(&text).into_owned()
}

fn write(text: &mut String, section: &Section, drawings: &mut Drawings<'_>) {
    if section.kind != Kind::Head {
        *text += &format!("\n## {}\n", escaped(&section.heading));
    }
    let mut is_list = false;
    for block in &section.blocks {
        let is_item = matches!(block, Element::Item(_));
        // Items that follow each other are one list, with no line free between them.
        if !(is_item && is_list) {
            text.push('\n');
        }
        is_list = is_item;
        match block {
            Element::Paragraph { text: words, .. } | Element::Verdict { text: words, .. } => {
                *text += &format!("{}\n", opened(&escaped(words)));
            }
            Element::Item(words) => *text += &format!("- {}\n", escaped(words)),
            Element::Command(line) => *text += &code(line),
            Element::Table(of) => *text += &table(of),
            Element::Figure(_) if drawings.stem.is_none() => {
                // Takes back the empty line that was left for the figure.
                text.pop();
            }
            Element::Figure(figure) => draw(text, figure, drawings),
        }
    }
}

/// Links to the drawings of a figure, each with its words as the alternative.
fn draw(text: &mut String, figure: &Figure, drawings: &mut Drawings<'_>) {
    match figure {
        Figure::Panels(of) => *text += &lead(of),
        Figure::Scaling(of) => {
            let versions = of.curves.iter().map(|curve| curve.version.as_str());
            *text += &format!("{}\n\n", opened(&escaped(&keys(versions))));
        }
        Figure::Forest(_) | Figure::Proportion(_) | Figure::History(_) => {}
    }
    let Some(stem) = drawings.stem else { return };
    let links: Vec<String> = files(figure)
        .into_iter()
        .map(|File { description, svg }| {
            let name = format!("{stem}-{}.svg", drawings.files.len() + 1);
            let link = format!("![{}]({})", escaped(&description), address(&name));
            drawings.files.push(DrawingFile { name, svg });
            link
        })
        .collect();
    *text += &format!("{}\n", links.join("\n"));
}

/// Whose drawings follow, and what their marks stand for.
fn lead(of: &Panels) -> String {
    let verdict = if of.verdict.is_empty() { String::new() } else { format!(": {}", of.verdict) };
    format!(
        "### {}\n\n{}\n\n",
        escaped(&format!("{}{verdict}", of.benchmark)),
        opened(&escaped(&keys(of.versions.iter().map(String::as_str))))
    )
}

/// What the marks of versions stand for.
fn keys<'v>(versions: impl Iterator<Item = &'v str>) -> String {
    let mut keys = Vec::new();
    for (at, version) in versions.enumerate() {
        let mark = MARKS[at % MARKS.len()];
        let stroke = STROKES[at % STROKES.len()];
        keys.push(format!("{mark} and {stroke} lines: {version}"));
    }
    keys.join("; ")
}

/// The name of a file as part of a link.
fn address(name: &str) -> String {
    let mut address = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => address.push(byte.into()),
            _ => address += &format!("%{byte:02X}"),
        }
    }
    address
}

/// A table with the notes on its rows as a list under it, and its legend.
pub(crate) fn table(table: &Table) -> String {
    let mut text = table_line(table.columns.iter().map(|column| escaped(&column.heading)));
    text += &table_line(table.columns.iter().map(|column| match column.align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    }));
    for row in &table.rows {
        text += &table_line(row.fields.iter().map(|field| escaped(&field.text)));
    }
    let mut notes = String::new();
    for row in &table.rows {
        if let Some(note) = row.note.as_ref().filter(|note| !note.is_empty()) {
            // The first fields say which row it is: Markdown has no place for a note under one.
            let about: Vec<&str> = row.fields.iter().take(3).map(|field| field.text.as_str()).collect();
            notes += &format!("- {}: {}\n", escaped(&about.join(", ")), escaped(note));
        }
    }
    if !notes.is_empty() {
        text += &format!("\n{notes}");
    }
    let legend: Vec<&str> = table.legend.iter().map(|part| part.text.as_str()).collect();
    if !legend.is_empty() {
        text += &format!("\n{}\n", opened(&escaped(&legend.join(" "))));
    }
    text
}

fn table_line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Text that means nothing but itself (CommonMark 0.31, §2.4; GFM tables and mathematics).
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in lines(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' => escaped.extend(['\\', c]),
            // A mention is none, nor an address a link.
            '@' => escaped += "&#64;",
            c => escaped.push(c),
        }
    }
    escaped.replace("://", "&#58;//")
}

/// A paragraph that begins with what would begin a list, a heading or a rule.
fn opened(text: &str) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        Some('-' | '+' | '=') if digits == 0 => format!("\\{text}"),
        Some(_) | None => text.to_owned(),
    }
}

/// A fence that is longer than any in the line.
fn code(line: &str) -> String {
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}sh\n{line}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_itself() {
        assert_eq!(
            escaped("a|b <c> *d* _e_ [f](g) `h`"),
            "a\\|b &lt;c&gt; \\*d\\* \\_e\\_ \\[f\\](g) \\`h\\`"
        );
        assert_eq!(escaped("@all see https://x.y"), "&#64;all see https&#58;//x.y");
        assert_eq!([opened("1. x"), opened("- x"), opened("12 runs")], ["1\\. x", "\\- x", "12 runs"]);
        assert_eq!(code("a ``` b"), "````sh\na ``` b\n````\n");
    }
}
