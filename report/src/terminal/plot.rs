//! Drawings of characters: a forest of speedups. What else is drawn takes a page.

use super::page::Page;
use crate::document::{Tone, shortened};
use crate::figure::axis::{Axis, Spacing, label};
use crate::figure::{Figure, Forest, ForestRow, Mark};

/// Rows of a drawing: a screen's worth.
const MOST_ROWS: usize = 40;
/// Columns without which a drawing says little.
const LEAST_COLUMNS: usize = 30;
/// Columns of a drawing at most: the eye should reach from a name to its mark.
const MOST_COLUMNS: usize = 80;
/// Columns for each label of the axis.
const COLUMNS_OF_A_LABEL: usize = 12;
/// Intervals are drawn so much beyond the estimates at most.
const WIDEST: f64 = 2.0;

/// Draws a figure where the terminal can show it, and where there is more than one line of it.
pub(super) fn write(page: &mut Page, figure: &Figure) {
    let Figure::Forest(forest) = figure else { return };
    let known = forest.rows.iter().filter(|row| row.speedup.is_some()).count();
    if !page.has_plots() || known < 2 || forest.rows.len() > MOST_ROWS {
        return;
    }
    let longest = forest.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let names = longest.min(page.width() / 4);
    // The indent, the gap after the names, and a column free at the end.
    let columns = page.width().saturating_sub(names + 5).min(MOST_COLUMNS);
    if columns >= LEAST_COLUMNS {
        draw(page, forest, names, columns);
    }
}

fn draw(page: &mut Page, forest: &Forest, names: usize, columns: usize) {
    let axis = axis(&forest.rows).across(0.0, (columns - 1) as f64);
    let lines: Vec<String> = forest
        .rows
        .iter()
        .map(|row| {
            let name = shortened(&row.name, names);
            format!(
                "{name}{}  {}",
                " ".repeat(names - name.chars().count()),
                drawn(page, row, &axis, columns)
            )
        })
        .collect();
    page.lines(&lines);
    let lead = " ".repeat(names + 2);
    page.lines(&labels(&axis, columns).map(|line| format!("{lead}{line}")));
    page.paragraph("● faster  ■ slower  ○ neither shown  ┊ no difference", Tone::Plain);
    page.lines(&[String::new()]);
}

fn axis(rows: &[ForestRow]) -> Axis {
    let estimates = || rows.iter().filter_map(|row| row.speedup).chain([1.0]);
    let (least, most) =
        estimates().fold((f64::INFINITY, 0.0_f64), |(least, most), at| (least.min(at), most.max(at)));
    let ends = rows.iter().filter_map(|row| row.interval).flat_map(|(lower, upper)| [lower, upper]);
    let ends = ends.map(|end| end.clamp(least / WIDEST, most * WIDEST));
    Axis::over(Spacing::Logarithmic, estimates().chain(ends), 0.03)
}

/// The column of a value.
fn column(axis: &Axis, value: f64) -> usize {
    axis.at(value).round() as usize
}

fn drawn(page: &Page, row: &ForestRow, axis: &Axis, columns: usize) -> String {
    let mut cells = vec![' '; columns];
    cells[column(axis, 1.0)] = '┊';
    let Some(speedup) = row.speedup else { return cells.into_iter().collect() };
    if let Some((lower, upper)) = row.interval {
        let (from, to) = (column(axis, lower), column(axis, upper));
        cells[from..=to].fill('─');
        cells[from] = if axis.holds(lower) { '├' } else { '←' };
        cells[to] = if axis.holds(upper) { '┤' } else { '→' };
    }
    let (mark, tone) = match row.mark {
        Mark::Faster => ('●', Tone::Better),
        Mark::Slower => ('■', Tone::Worse),
        Mark::Neither => ('○', Tone::Plain),
    };
    let at = column(axis, speedup);
    let part = |cells: &[char]| cells.iter().collect::<String>();
    part(&cells[..at]) + &page.toned(&mark.to_string(), tone) + &part(&cells[at + 1..])
}

/// The line of the axis, and its labels.
fn labels(axis: &Axis, columns: usize) -> [String; 2] {
    let (ticks, decimals) = axis.ticks(columns / COLUMNS_OF_A_LABEL);
    let (mut line, mut words) = (vec!['─'; columns], vec![' '; columns]);
    let mut free = 0;
    for tick in ticks {
        let (at, label) = (column(axis, tick), format!("{}×", label(tick, decimals)));
        line[at] = '┴';
        let wide = label.chars().count();
        let from = at.saturating_sub(wide / 2).min(columns - wide);
        if from >= free {
            words.splice(from..from + wide, label.chars());
            free = from + wide + 1;
        }
    }
    [line, words].map(|cells| cells.into_iter().collect::<String>().trim_end().to_owned())
}
