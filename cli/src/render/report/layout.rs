//! Laying out: headings, paragraphs that keep within the page, tables with the columns for which there is room.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};

use crate::console::Paint;

/// How far everything under a heading stands in.
const INDENT: usize = 2;
/// Columns between those of a table.
const GAP: u16 = 2;
/// No name in the first column is shortened to less: its heading is as wide.
const LEAST_NAME: usize = 9;
/// How far a note stands in under its row.
const NOTE: &str = "  ";

/// A text that grows downwards.
pub(super) struct Page {
    width: usize,
    paint: Paint,
    text: String,
}

/// What a text means, which a colour repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// Nothing a colour should say.
    Plain,
    /// Significantly better.
    Better,
    /// Significantly worse.
    Worse,
}

/// A field of a table.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) heading: String,
    pub(super) align: Align,
    /// 0 is always shown; the others as far as there is room, in the order of their numbers.
    pub(super) rank: u8,
}

/// At which side a column's fields are flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// The headings of the columns for which there was room: a legend explains no others.
pub(super) struct Kept(Vec<String>);

impl Kept {
    pub(super) fn has(&self, heading: &str) -> bool {
        self.0.iter().any(|kept| kept == heading)
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self { text, tone: Tone::Plain }
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Column {
    pub(super) fn new(heading: impl Into<String>, align: Align, rank: u8) -> Self {
        Self { heading: heading.into(), align, rank }
    }
}

impl Page {
    pub(super) fn new(width: usize, paint: Paint) -> Self {
        Self { width, paint, text: String::new() }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// A heading, with a line free before it.
    pub(super) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        for line in wrapped(text, self.width) {
            self.text += &self.paint.strong(&line);
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
        for (at, line) in wrapped(text, self.width.saturating_sub(inside)).iter().enumerate() {
            let lead = if at == 0 { label.to_owned() } else { " ".repeat(columns(label)) };
            let line = self.toned(line, tone);
            self.text += format!("{}{lead}{line}", " ".repeat(INDENT)).trim_end();
            self.text.push('\n');
        }
    }

    /// A table under the heading. Where the page is too narrow for all columns, those of the lower numbers come first, and
    /// columns of one number come together or not at all; where not even those that are always shown have room, the
    /// names in the first are shortened.
    pub(super) fn table(&mut self, columns: &[Column], rows: &[Vec<Field>]) -> Kept {
        self.table_with_notes(columns, rows, &[])
    }

    /// A table with a text under each row, whole.
    pub(super) fn table_with_notes(
        &mut self,
        columns: &[Column],
        rows: &[Vec<Field>],
        notes: &[String],
    ) -> Kept {
        let all: Vec<usize> = (0..columns.len()).collect();
        let widths = self.laid_out(columns, rows, &all).column_max_content_widths();
        let total = |kept: &[usize]| -> usize { kept.iter().map(|at| usize::from(widths[*at] + GAP)).sum() };
        let room = self.width + usize::from(GAP) - INDENT;
        let mut kept: Vec<usize> = Vec::new();
        for rank in 0..=columns.iter().map(|column| column.rank).max().unwrap_or(0) {
            let mut more = kept.clone();
            more.extend(all.iter().copied().filter(|at| columns[*at].rank == rank));
            if rank == 0 || total(&more) <= room {
                kept = more;
            }
        }
        kept.sort_unstable();
        let mut rows = rows.to_vec();
        let excess = total(&kept).saturating_sub(room);
        if excess > 0 {
            let most = usize::from(widths[0]).saturating_sub(excess).max(LEAST_NAME);
            rows.iter_mut().for_each(|row| row[0].text = shortened(&row[0].text, most));
        }
        let lines: Vec<String> = self.laid_out(columns, &rows, &kept).lines().collect();
        // The first line is the heading.
        let notes = std::iter::once("").chain(notes.iter().map(String::as_str));
        for (line, note) in lines.iter().zip(notes.chain(std::iter::repeat(""))) {
            self.text += &" ".repeat(INDENT);
            self.text += line.trim_end();
            self.text.push('\n');
            self.hanging(NOTE, note, Tone::Plain);
        }
        Kept(kept.iter().map(|at| columns[*at].heading.clone()).collect())
    }

    fn laid_out(&self, columns: &[Column], rows: &[Vec<Field>], kept: &[usize]) -> Table {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if self.paint.is_coloured() {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let cell = |column: &Column, text: &str| {
            let align = match column.align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            };
            Cell::new(text).set_alignment(align)
        };
        let heading = |at: &usize| cell(&columns[*at], &columns[*at].heading).add_attribute(Attribute::Bold);
        table.set_header(kept.iter().map(heading).collect::<Vec<_>>());
        for row in rows {
            let field = |at: &usize| {
                let plain = cell(&columns[*at], &row[*at].text);
                match row[*at].tone {
                    Tone::Plain => plain,
                    Tone::Better => plain.fg(Color::DarkGreen),
                    Tone::Worse => plain.fg(Color::DarkRed),
                }
            };
            table.add_row(kept.iter().map(field).collect::<Vec<_>>());
        }
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, GAP));
        });
        table
    }

    fn toned(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Better => 32,
            Tone::Worse => 31,
        };
        if self.paint.is_coloured() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// A name, shortened in its middle when it is longer than `most`: names of a family often end in what tells them apart.
pub(super) fn shortened(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let (front, back) = (most / 2, most - most / 2 - 1);
    let part = |letters: &[char]| letters.iter().collect::<String>();
    format!("{}…{}", part(&letters[..front]), part(&letters[letters.len() - back..]))
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
