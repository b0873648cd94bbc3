//! Drawings of characters: a forest of speedups, proportions, and the runs in a few lines a benchmark. What else is drawn takes
//! a page.

mod glyphs;
mod runs;

use self::glyphs::Glyphs;
use super::page::Page;
use crate::figure::axis::{Axis, Spacing, label};
use crate::figure::{Figure, Forest, IntervalRow, Mark, ProportionFigure};
use crate::{document::Tone, names::shortened};

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

/// Draws a figure where the terminal can show it.
pub(super) fn write(page: &mut Page, figure: &Figure) {
    let Some(glyphs) = Glyphs::for_plots(page.plots()) else { return };
    match figure {
        Figure::Forest(of) => forest(page, of, glyphs),
        Figure::Proportion(of) => proportion(page, of, glyphs),
        // It takes a page.
        Figure::History(_) => {}
        Figure::Panels(of) => runs::draw(page, of, glyphs),
        // Its table says as much in as many lines.
        Figure::Scaling(_) => {}
    }
}

/// The columns that a drawing has beside names so long, where they are enough.
fn columns_beside(page: &Page, names: usize) -> Option<usize> {
    // The indent, the gap after the names, and a column free at the end.
    let columns = page.width().saturating_sub(names + 5).min(MOST_COLUMNS);
    (columns >= LEAST_COLUMNS).then_some(columns)
}

/// A name in so many columns, and the gap after it.
fn led(name: &str, names: usize) -> String {
    let name = shortened(name, names);
    format!("{name}{}  ", " ".repeat(names - name.chars().count()))
}

fn forest(page: &mut Page, forest: &Forest, glyphs: &Glyphs) {
    let known = forest.rows.iter().filter(|row| row.value.is_some()).count();
    // One line says no more than the table.
    if known < 2 || forest.rows.len() > MOST_ROWS {
        return;
    }
    let longest = forest.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let names = longest.min(page.width() / 4);
    let Some(columns) = columns_beside(page, names) else { return };
    let axis = forest.axis(WIDEST, 0.03).across(0.0, (columns - 1) as f64);
    let mut lines = Vec::new();
    for row in &forest.rows {
        lines.push(led(&row.name, names) + &line(page, row, Some(1.0), &axis, columns, glyphs));
    }
    page.lines(&lines);
    let lead = " ".repeat(names + 2);
    page.lines(&labels(&axis, columns, glyphs, ("×", 1.0)).map(|line| format!("{lead}{line}")));
    let Glyphs { faster, slower, neither, reference, .. } = glyphs;
    let key = format!("{faster} faster  {slower} slower  {neither} neither shown  {reference} no difference");
    page.paragraph(&key, Tone::Plain);
    page.lines(&[String::new()]);
}

fn proportion(page: &mut Page, figure: &ProportionFigure, glyphs: &Glyphs) {
    let names = figure.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let Some(columns) = columns_beside(page, names) else { return };
    let axis = Axis::between(Spacing::Linear, 0.0, 1.0).across(0.0, (columns - 1) as f64);
    let mut lines = Vec::new();
    for row in &figure.rows {
        lines.push(led(&row.name, names) + &line(page, row, None, &axis, columns, glyphs));
    }
    page.lines(&lines);
    let lead = " ".repeat(names + 2);
    page.lines(&labels(&axis, columns, glyphs, ("\u{a0}%", 100.0)).map(|line| format!("{lead}{line}")));
    page.lines(&[String::new()]);
}

fn column(axis: &Axis, value: f64) -> usize {
    axis.at(value).round() as usize
}

/// A line with its value, and what it is compared with.
fn line(
    page: &Page,
    row: &IntervalRow,
    reference: Option<f64>,
    axis: &Axis,
    columns: usize,
    glyphs: &Glyphs,
) -> String {
    let mut cells = vec![' '; columns];
    if let Some(reference) = reference {
        cells[column(axis, reference)] = glyphs.reference;
    }
    let Some(value) = row.value else { return cells.into_iter().collect() };
    if let Some((lower, upper)) = row.interval {
        let from = column(axis, lower);
        let to = column(axis, upper);
        cells[from..=to].fill(glyphs.line);
        cells[from] = if axis.holds(lower) { glyphs.lower } else { glyphs.before };
        cells[to] = if axis.holds(upper) { glyphs.upper } else { glyphs.beyond };
    }
    // The mark comes last: it stands over its interval and the reference.
    let (mark, tone) = match row.mark {
        Mark::Faster => (glyphs.faster, Tone::Better),
        Mark::Slower => (glyphs.slower, Tone::Worse),
        Mark::Neither => (glyphs.neither, Tone::Plain),
    };
    let at = column(axis, value);
    let before: String = cells[..at].iter().collect();
    let behind: String = cells[at + 1..].iter().collect();
    before + &page.toned(&mark.to_string(), tone) + &behind
}

/// The line of the axis, and its labels with a unit of which one of the axis is so many.
fn labels(axis: &Axis, columns: usize, glyphs: &Glyphs, (unit, of_one): (&str, f64)) -> [String; 2] {
    let (ticks, decimals) = axis.ticks_in(1.0 / of_one, columns / COLUMNS_OF_A_LABEL);
    let mut line = vec![glyphs.line; columns];
    let mut words = vec![' '; columns];
    let mut free = 0;
    for tick in ticks {
        let at = column(axis, tick / of_one);
        let label = format!("{}{unit}", label(tick, decimals));
        line[at] = glyphs.tick;
        let wide = label.chars().count();
        let from = at.saturating_sub(wide / 2).min(columns.saturating_sub(wide));
        if from >= free && wide <= columns {
            words.splice(from..from + wide, label.chars());
            free = from + wide + 1;
        }
    }
    [line, words].map(|cells| cells.into_iter().collect::<String>().trim_end().to_owned())
}
