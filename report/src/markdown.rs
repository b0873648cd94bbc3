//! The report as Markdown, of the kind that forges show: headings, paragraphs, lists and tables, and no drawings.

use crate::document::{Align, Block, Document, Kind, Section, Table};

/// The report as Markdown.
pub fn text(document: &Document) -> String {
    let mut text = format!("# {}\n", escaped(&document.title));
    for section in document.sections.iter().filter(|section| section.kind != Kind::Runs) {
        write(&mut text, section);
    }
    text
}

fn write(text: &mut String, section: &Section) {
    if section.kind != Kind::Head {
        *text += &format!("\n## {}\n", escaped(&section.heading));
    }
    let mut is_list = false;
    for block in &section.blocks {
        let is_item = matches!(block, Block::Item(_));
        if !(is_item && is_list) {
            text.push('\n');
        }
        is_list = is_item;
        match block {
            Block::Paragraph { text: words, .. } => *text += &format!("{}\n", opened(&escaped(words))),
            Block::Item(words) => *text += &format!("- {}\n", escaped(words)),
            Block::Command(line) => *text += &code(line),
            Block::Table(of) => table(text, of),
            // What a drawing shows stands in the tables as numbers.
            Block::Figure(_) => {
                text.pop();
            }
        }
    }
}

fn table(text: &mut String, table: &Table) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    *text += &line(table.columns.iter().map(|column| escaped(&column.heading)).collect());
    let rule = |align: Align| if align == Align::Right { "---:" } else { "---" }.to_owned();
    *text += &line(table.columns.iter().map(|column| rule(column.align)).collect());
    for row in &table.rows {
        *text += &line(row.fields.iter().map(|field| escaped(&field.text)).collect());
    }
    let notes = table.rows.iter().filter_map(|row| {
        let note = row.note.as_ref().filter(|note| !note.is_empty())?;
        let about: Vec<&str> = row.fields.iter().take(3).map(|field| field.text.as_str()).collect();
        Some(format!("- {}: {}\n", escaped(&about.join(", ")), escaped(note)))
    });
    let notes: String = notes.collect();
    if !notes.is_empty() {
        *text += &format!("\n{notes}");
    }
    let legend: Vec<&str> = table.legend.iter().map(|part| part.text.as_str()).collect();
    if !legend.is_empty() {
        *text += &format!("\n{}\n", opened(&escaped(&legend.join(" "))));
    }
}

/// Text that means nothing but itself (CommonMark 0.31, §2.4; GFM tables and mathematics).
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
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
