//! Tables: a heading, rows, and space between the columns. Without lines they can be copied and cut, and need no colour.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

use crate::console::Paint;

/// A column: its heading, and how it is aligned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// Words begin at the left.
    Words(&'static str),
    /// Numbers end at the right.
    Number(&'static str),
}

impl Column {
    const fn heading(self) -> &'static str {
        match self {
            Self::Words(heading) | Self::Number(heading) => heading,
        }
    }

    const fn alignment(self) -> CellAlignment {
        match self {
            Self::Words(_) => CellAlignment::Left,
            Self::Number(_) => CellAlignment::Right,
        }
    }
}

/// A table as text. Nothing is cut: what is wider than the terminal is wrapped by it.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>, paint: Paint) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let cell = |text: &str, column: &Column| Cell::new(printable(text)).set_alignment(column.alignment());
    table.set_header(columns.iter().map(|column| cell(column.heading(), column)));
    for row in rows {
        table.add_row(row.iter().zip(columns).map(|(text, column)| cell(text, column)));
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, 2));
    });
    let mut lines = table.lines().map(|line| line.trim_end().to_owned());
    let heading = lines.next().map(|heading| paint.strong(&heading));
    heading.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// What others wrote must not move the cursor, nor end a row.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Console;

    #[test]
    fn numbers_end_at_the_right_and_lines_have_no_tail() {
        let columns = [Column::Words("name"), Column::Number("runs")];
        let rows = [("sort", "7"), ("a-longer-name", "1000")];
        let rows = rows.map(|(name, runs)| vec![name.to_owned(), runs.to_owned()]);
        let text = table(&columns, rows, Console::plain().out);
        assert_eq!(text, "name           runs\nsort              7\na-longer-name  1000");
    }

    #[test]
    fn what_others_wrote_is_printable() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
    }
}
