//! Tables: a heading, rows, and space between the columns. Without lines they can be copied and cut, and need no colour.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use console::measure_text_width;
pub(crate) use speedup_core::value::foreign::one_line as printable;
pub(crate) use speedup_report::facts::Label as Column;
use speedup_report::{facts::ABSENT, facts::Sheet, facts::SheetCell, names::shortened};

use crate::console::{Console, Paint};

const GAP: usize = 2;
/// No name is shortened to less.
const LEAST_NAME: usize = 8;
/// So many numbers of a sheet, the first, are its result and never give way.
const RESULTS: u8 = 2;
/// The rank of a column without a value: it gives way before all others.
const EMPTY: u8 = u8::MAX;

/// Columns with the order in which they give way where there is little room: 0 never does, the highest first.
pub(crate) type RankedColumn = (Column, u8);

/// Prints a table that is as wide as the terminal where data goes to one, and whole elsewhere. What is left out is told. The column
/// `name` is the one whose words may be shortened.
pub(crate) fn print_fitted(
    columns: &[RankedColumn],
    name: usize,
    rows: impl IntoIterator<Item = Vec<String>>,
    console: &Console,
) -> std::io::Result<()> {
    let (text, left_out) =
        fitted(columns, name, rows.into_iter().collect(), console.out, Table::new().width().map(usize::from));
    console.print(&text)?;
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        console.talk(format_args!("Left out to fit the terminal: {left_out}; --format json has all."));
    }
    Ok(())
}

/// A table of at most so many columns of text, and the headings of what is left out. Where not even what never gives way
/// has room, the words of the column `name` are shortened.
fn fitted(
    columns: &[RankedColumn],
    name: usize,
    mut rows: Vec<Vec<String>>,
    paint: Paint,
    width: Option<usize>,
) -> (String, Vec<&'static str>) {
    rows.iter_mut().flatten().for_each(|text| *text = printable(text));
    let widths: Vec<usize> =
        columns.iter().enumerate().map(|(at, column)| widest(column.0, at, &rows)).collect();
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let total = |kept: &[usize]| kept.iter().map(|at| widths[*at] + GAP).sum::<usize>().saturating_sub(GAP);
    let room = width.unwrap_or(usize::MAX);
    while total(&kept) > room {
        let Some(place) = (0..kept.len()).max_by_key(|place| columns[kept[*place]].1) else { break };
        if columns[kept[place]].1 == 0 {
            break;
        }
        kept.remove(place);
    }
    let excess = total(&kept).saturating_sub(room);
    if excess > 0 {
        let most = widths[name].saturating_sub(excess).max(LEAST_NAME);
        rows.iter_mut().for_each(|row| row[name] = shortened(&row[name], most));
    }
    let left_out = (0..columns.len()).filter(|at| !kept.contains(at)).map(|at| columns[at].0.heading());
    let headings: Vec<Column> = kept.iter().map(|at| columns[*at].0).collect();
    let rows = rows.iter().map(|row| kept.iter().map(|at| row[*at].clone()).collect());
    (table(&headings, rows, paint), left_out.collect())
}

fn widest(column: Column, at: usize, rows: &[Vec<String>]) -> usize {
    let fields = rows.iter().map(|row| measure_text_width(&row[at]));
    fields.max().unwrap_or(0).max(measure_text_width(column.heading()))
}

/// A sheet as a table, as wide as the terminal where data goes to one, and whole elsewhere. What is left out stands under it.
pub(crate) fn of_sheet(sheet: &Sheet, paint: Paint) -> String {
    of_sheet_within(sheet, paint, Table::new().width().map(usize::from))
}

/// Columns without a value give way first, then numbers, the last first; words and the first numbers, which are the result, stay.
fn of_sheet_within(sheet: &Sheet, paint: Paint, width: Option<usize>) -> String {
    let rows: Vec<Vec<String>> = sheet.shown_rows().collect();
    let shown = (0..sheet.headings.len()).filter(|at| sheet.headings[*at].column.is_some());
    let is_words = |at: usize| {
        sheet.rows.iter().any(|row| matches!(row[at], SheetCell::Words(_) | SheetCell::Verdict(..)))
    };
    let words: Vec<bool> = shown.map(is_words).collect();
    let is_empty = |at: usize| rows.iter().all(|row| row[at] == ABSENT);
    let mut numbers = 0;
    let rank = |(at, column): (usize, Column)| {
        if is_empty(at) {
            return (column, EMPTY);
        }
        numbers += u8::from(!words[at] && numbers + 1 < EMPTY);
        (column, if words[at] { 0 } else { numbers.saturating_sub(RESULTS) })
    };
    let ranked: Vec<RankedColumn> = sheet.columns().into_iter().enumerate().map(rank).collect();
    let room = |at: &usize| widest(ranked[*at].0, *at, &rows);
    let name = (0..ranked.len()).filter(|at| words[*at]).max_by_key(room).unwrap_or(0);
    // Nobody misses what is empty.
    let missed: Vec<&str> =
        ranked.iter().filter(|(_, rank)| *rank < EMPTY).map(|(one, _)| one.heading()).collect();
    let (text, mut left_out) = fitted(&ranked, name, rows, paint, width);
    left_out.retain(|heading| missed.contains(heading));
    if left_out.is_empty() {
        return text;
    }
    format!("{text}\nLeft out to fit the terminal: {}.", left_out.join(", "))
}

const fn alignment(column: Column) -> CellAlignment {
    match column {
        Column::Words(_) => CellAlignment::Left,
        Column::Number(_) => CellAlignment::Right,
    }
}

/// A table as text. Nothing is cut: what is wider than the terminal is wrapped by it.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>, paint: Paint) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let cell = |text: &str, column: &Column| Cell::new(printable(text)).set_alignment(alignment(*column));
    table.set_header(columns.iter().map(|column| cell(column.heading(), column)));
    for row in rows {
        table.add_row(row.iter().zip(columns).map(|(text, column)| cell(text, column)));
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, GAP as u16));
    });
    let mut lines = table.lines().map(|line| line.trim_end().to_owned());
    let heading = lines.next().map(|heading| paint.strong(&heading));
    heading.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
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
    fn a_table_keeps_to_the_width_and_tells_what_is_left_out() {
        let columns = [
            (Column::Words("host"), 0),
            (Column::Words("state"), 0),
            (Column::Words("boot"), 2),
            (Column::Number("served"), 1),
        ];
        let rows =
            || vec![["a-host-with-a-long-name", "serving", "0b1c2d3e", "7"].map(str::to_owned).to_vec()];
        let of = |width| fitted(&columns, 0, rows(), Paint::NONE, width);
        assert_eq!(of(None).1, Vec::<&str>::new());
        for (width, left_out) in
            [(200, vec![]), (45, vec!["boot"]), (34, vec!["boot", "served"]), (24, vec!["boot", "served"])]
        {
            let (text, told) = of(Some(width));
            assert_eq!(told, left_out, "{width}");
            assert!(text.lines().all(|line| measure_text_width(line) <= width), "{width}:\n{text}");
        }
        assert!(of(Some(24)).0.contains("a-host-…ng-name") || of(Some(24)).0.contains('…'));
    }

    #[test]
    fn a_sheet_keeps_its_words_and_results_and_gives_up_the_last_numbers() {
        use speedup_report::facts::{number, words};
        let headings = vec![
            words("command", "command"),
            number("runs", "runs"),
            number("mean", "mean"),
            number("user", "user"),
            number("system", "system"),
            words("reason", "reason"),
        ];
        let row = |name: &str| {
            let times = [10.25, 9.5, 0.5].map(SheetCell::Number);
            let row = [SheetCell::text(name), SheetCell::Count(10)].into_iter().chain(times);
            row.chain([SheetCell::Absent]).collect::<Vec<_>>()
        };
        let sheet = Sheet { headings, rows: vec![row("sort words.txt"), row("LC_ALL=C sort words.txt")] };
        let of = |width| of_sheet_within(&sheet, Paint::NONE, width);
        let headings = |text: &str| {
            text.lines().next().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        assert_eq!(headings(&of(None)).unwrap(), "command runs mean user system reason");
        assert_eq!(headings(&of(Some(54))).unwrap(), "command runs mean user system");
        assert_eq!(headings(&of(Some(50))).unwrap(), "command runs mean user");
        let narrow = of(Some(30));
        assert_eq!(headings(&narrow).unwrap(), "command runs mean");
        assert!(narrow.ends_with(": user, system."), "{narrow}");
        assert!(narrow.lines().take(3).all(|line| measure_text_width(line) <= 30), "{narrow}");
    }
}
