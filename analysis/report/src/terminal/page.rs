//! Laying out: headings, paragraphs that keep within the page, tables with the columns for which there is room.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement};
use speedup_analysis::count::counted;

use super::{Plots, Terminal};
use crate::document::{Align, Column, Field, Table, TextLimit, Tone};
use crate::names::{labels, shortened};

/// How far everything under a heading stands in.
const INDENT: usize = 2;
/// Columns between those of a table.
const GAP: u16 = 2;
/// No name in the first column is shortened to less: its heading is as wide.
const LEAST_NAME: usize = 9;
/// The part of the page's width that a name in a table may have.
const SHARE_OF_NAMES: usize = 5;
/// How far a note stands in under its row.
const NOTE: &str = "  ";

/// A text that grows downwards.
pub(super) struct Page {
    terminal: Terminal,
    text: String,
}

/// A line without the spaces at its end, also those before what ends a style: the last cell has its style up to the end of its column.
fn trimmed(line: &str) -> String {
    let line = line.trim_end();
    match line.rfind('\u{1b}').map(|at| line.split_at(at)) {
        Some((text, style)) if is_style(style) => trimmed(text) + style,
        Some(_) | None => line.to_owned(),
    }
}

/// Whether this is the escape sequence of a style, and nothing else.
fn is_style(text: &str) -> bool {
    let code = text.strip_prefix("\u{1b}[").and_then(|code| code.strip_suffix('m'));
    code.is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
}

impl Page {
    pub(super) fn new(terminal: Terminal) -> Self {
        Self { terminal, text: String::new() }
    }

    pub(super) fn width(&self) -> usize {
        self.terminal.width
    }

    /// With which characters it shows drawings.
    pub(super) fn plots(&self) -> Plots {
        self.terminal.plots
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// A heading, with a line free before it.
    pub(super) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        for line in wrapped(text, self.terminal.width) {
            self.text += &self.strong(&line);
            self.text.push('\n');
        }
    }

    /// A paragraph under the heading.
    pub(super) fn paragraph(&mut self, text: &str, tone: Tone) {
        self.hanging("", text, tone);
    }

    /// A paragraph whose first line begins with `label`, and whose others stand in as far as the label is wide.
    pub(super) fn hanging(&mut self, label: &str, text: &str, tone: Tone) {
        let inside = INDENT + columns(label);
        for (at, line) in wrapped(text, self.terminal.width.saturating_sub(inside)).iter().enumerate() {
            let lead = if at == 0 { label.to_owned() } else { " ".repeat(columns(label)) };
            let line = self.toned(line, tone);
            self.text += format!("{}{lead}{line}", " ".repeat(INDENT)).trim_end();
            self.text.push('\n');
        }
    }

    /// A line that is copied as it stands, and so is not broken.
    pub(super) fn verbatim(&mut self, line: &str) {
        self.text += &format!("{}{line}\n", " ".repeat(INDENT + NOTE.len()));
    }

    /// Lines that are laid out already.
    pub(super) fn lines(&mut self, lines: &[String]) {
        for line in lines {
            self.text += &trimmed(&format!("{}{}", " ".repeat(INDENT), line));
            self.text.push('\n');
        }
    }

    /// A table under the heading, with a text under each row, whole, and what explains its columns. Where the page is too
    /// narrow for all columns, those of the lower numbers come first, and columns of one number come together or not at
    /// all; where not even those that are always shown have room, the names in the first are shortened.
    pub(super) fn table(&mut self, table: &Table) {
        let mut rows = self.fitted(table);
        let (kept, widths) = self.kept(&table.columns, &rows);
        let excess = total(&kept, &widths).saturating_sub(self.room());
        if excess > 0 {
            let most = usize::from(widths[0]).saturating_sub(excess).max(LEAST_NAME);
            let names: Vec<&str> = table.rows.iter().map(|row| row.fields[0].text.as_str()).collect();
            let short = labels(&names, most);
            rows.iter_mut().zip(short).for_each(|(row, label)| row[0].text = label);
        }
        let lines: Vec<String> = self.laid_out(&table.columns, &rows, &kept).lines().collect();
        // The first line is the heading.
        let notes = std::iter::once("").chain(table.rows.iter().map(|row| row.note.as_deref().unwrap_or("")));
        for (line, note) in lines.iter().zip(notes) {
            self.lines(std::slice::from_ref(line));
            self.hanging(NOTE, note, Tone::Plain);
        }
        let left_out = table.columns.len() - kept.len();
        if table.tells_left_out && left_out > 0 {
            let text = format!("Left out to fit the terminal: {}.", counted(left_out as u64, "column"));
            self.paragraph(&text, Tone::Plain);
        }
        let shown =
            table.legend.iter().filter(|part| part.column.is_none_or(|column| kept.contains(&column)));
        let legend: Vec<&str> = shown.map(|part| part.text.as_str()).collect();
        self.paragraph(&legend.join(" "), Tone::Plain);
    }

    /// The rows with their names as long as the page bears.
    fn fitted(&self, table: &Table) -> Vec<Vec<Field>> {
        let mut rows: Vec<Vec<Field>> = table.rows.iter().map(|row| row.fields.clone()).collect();
        for at in 0..table.columns.len() {
            let fields = table.rows.iter().map(|row| &row.fields[at]);
            let names = fields.filter(|field| field.limit == TextLimit::Name);
            let names: Vec<&str> = names.map(|field| field.text.as_str()).collect();
            let mut short = labels(&names, self.terminal.width / SHARE_OF_NAMES).into_iter();
            for field in rows.iter_mut().map(|row| &mut row[at]) {
                match field.limit {
                    TextLimit::Whole => {}
                    TextLimit::Name => field.text = short.next().unwrap_or_default(),
                    TextLimit::Characters(most) => field.text = shortened(&field.text, most),
                }
            }
        }
        rows
    }

    /// The columns for which there is room, and how wide each of all is.
    fn kept(&self, columns: &[Column], rows: &[Vec<Field>]) -> (Vec<usize>, Vec<u16>) {
        let all: Vec<usize> = (0..columns.len()).collect();
        let widths = self.laid_out(columns, rows, &all).column_max_content_widths();
        let mut kept: Vec<usize> = Vec::new();
        for rank in 0..=columns.iter().map(|column| column.rank).max().unwrap_or(0) {
            let mut more = kept.clone();
            more.extend(all.iter().copied().filter(|at| columns[*at].rank == rank));
            if rank == 0 || total(&more, &widths) <= self.room() {
                kept = more;
            }
        }
        kept.sort_unstable();
        (kept, widths)
    }

    /// What the columns of a table may take, with the gap after the last.
    fn room(&self) -> usize {
        self.terminal.width + usize::from(GAP) - INDENT
    }

    fn laid_out(&self, columns: &[Column], rows: &[Vec<Field>], kept: &[usize]) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        // By default it would look at the standard output, which the page need not go to.
        if self.terminal.coloured {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let headings = kept.iter().map(|at| &columns[*at]);
        table.set_header(headings.map(|column| cell(column, &column.short).add_attribute(Attribute::Bold)));
        for row in rows {
            table.add_row(kept.iter().map(|at| toned_cell(&columns[*at], &row[*at])));
        }
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, GAP));
        });
        table
    }

    fn strong(&self, text: &str) -> String {
        if self.terminal.coloured { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn toned(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Better => 32,
            Tone::Worse => 31,
        };
        if self.terminal.coloured { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn cell(column: &Column, text: &str) -> Cell {
    Cell::new(text).set_alignment(match column.align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    })
}

fn toned_cell(column: &Column, field: &Field) -> Cell {
    let plain = cell(column, &field.text);
    match field.tone {
        Tone::Plain => plain,
        Tone::Better => plain.fg(Color::DarkGreen),
        Tone::Worse => plain.fg(Color::DarkRed),
    }
}

fn total(kept: &[usize], widths: &[u16]) -> usize {
    kept.iter().map(|at| usize::from(widths[*at] + GAP)).sum()
}

/// `text` in lines of at most `width`, broken at spaces; a longer word is broken where the line ends.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()).flat_map(|word| pieces(word, width)) {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(&word) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) | None => lines.push(word),
        }
    }
    lines
}

fn pieces(word: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect()
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::trimmed;

    #[test]
    fn no_line_ends_with_spaces_whatever_its_style() {
        let cases = [
            ("a  ", "a"),
            ("a \u{1b}[1mb  \u{1b}[0m", "a \u{1b}[1mb\u{1b}[0m"),
            ("a \u{1b}[38;5;1mb  \u{1b}[39m\u{1b}[0m  ", "a \u{1b}[38;5;1mb\u{1b}[39m\u{1b}[0m"),
            ("\u{1b}[1ma\u{1b}[0m b ", "\u{1b}[1ma\u{1b}[0m b"),
        ];
        for (line, wanted) in cases {
            assert_eq!(trimmed(line), wanted);
        }
    }
}
