//! The screen: what is known, laid out in so many columns and rows. No line is wider, and there are no more.

use console::truncate_str;
use speedup_core::machine::event::Tally;
use speedup_proto::convert::{ExperimentStatus, StatusPhase};
use speedup_report::terminal::{self, Plots, Terminal};

use super::{Size, Style, estimates::Estimates, view::Pane, view::View, view::Window};
use crate::connection::selector;
use crate::console::moment;
use crate::console::render::table::printable;
use crate::{exit::standing, follow::progress};

/// Rows for which both panes have room.
const ROWS_OF_BOTH: usize = 16;
/// Columns in which the keys are told at length.
const COLUMNS_OF_KEYS: usize = 88;
/// Columns of the bar at most: the eye should see its end.
const BAR: usize = 80;

pub(super) fn lines(view: &mut View, size: Size, style: Style) -> Vec<String> {
    let mut lines = head(view, size, style);
    lines.push(String::new());
    let room = size.rows.saturating_sub(lines.len() + 1);
    let body = body(view, size, room, style);
    lines.extend(body);
    lines.truncate(size.rows.saturating_sub(1));
    lines.resize(size.rows.saturating_sub(1), String::new());
    lines.push(keys(size.columns, style));
    lines.truncate(size.rows);
    let more = match size.columns {
        0 => "",
        _ if style.unicode => "…",
        _ => ">",
    };
    lines.into_iter().map(|line| truncate_str(&line, size.columns, more).into_owned()).collect()
}

/// How far the experiment is, in four lines.
fn head(view: &View, size: Size, style: Style) -> Vec<String> {
    let Some(status) = &view.status else {
        let text = format!("{}: connecting to the coordinator", view.experiment);
        return vec![text, String::new(), String::new(), note_of_away(view, style)];
    };
    let title = format!(
        "{}  {}  {}",
        style.paint.strong(&printable(&status.name)),
        selector::short(status.experiment),
        standing::phase(status)
    );
    let note = if view.away.is_some() { note_of_away(view, style) } else { note(status, &view.why, style) };
    vec![title, bar(&status.tally, size.columns, style), counts(view, status), note]
}

fn bar(tally: &Tally, columns: usize, style: Style) -> String {
    let share = f64::from(tally.settled()) / f64::from(tally.runs().max(1));
    let room = columns.saturating_sub(6).min(BAR);
    let full = (share * room as f64).floor() as usize;
    let (done, open) = if style.unicode { ("█", "░") } else { ("#", "-") };
    format!("{}{} {:>3.0} %", done.repeat(full), open.repeat(room - full), (100.0 * share).floor())
}

fn counts(view: &View, status: &ExperimentStatus) -> String {
    let tally = &status.tally;
    let under_way = tally.leased + tally.running;
    let mut text = standing::tally(tally);
    if tally.open() > 0 {
        text += &format!(", {} left ({under_way} in progress)", tally.open());
    }
    if let Some(left) = view.left {
        text += &format!(", about {} left", moment::roughly(left));
    }
    text
}

/// What holds the experiment up, or what its rule says.
fn note(status: &ExperimentStatus, why: &str, style: Style) -> String {
    let words = printable(&status.words);
    match &status.phase {
        StatusPhase::Paused { reason } => style.paint.alarm(&printable(reason)),
        StatusPhase::Deciding => "All runs are settled; the plan's rule looks at the results.".to_owned(),
        StatusPhase::Cancelling => "Cancelled; runs in progress finish.".to_owned(),
        StatusPhase::WaitingForHosts if !why.is_empty() => printable(&why.replace('\n', " ")),
        StatusPhase::WaitingForHosts => {
            format!(
                "No connected host can take any of its runs: {}.",
                progress::why_waiting(status.experiment)
            )
        }
        StatusPhase::Running | StatusPhase::Finished { .. } => words,
    }
}

fn note_of_away(view: &View, style: Style) -> String {
    view.away.as_ref().map_or_else(String::new, |why| {
        style.paint.alarm(&format!("The coordinator does not answer; retrying: {}", printable(why)))
    })
}

/// The panes: both where there is room, else the one that is looked at.
fn body(view: &mut View, size: Size, room: usize, style: Style) -> Vec<String> {
    let estimates = estimates(&view.estimates, size, style);
    if size.rows < ROWS_OF_BOTH {
        return match view.focus {
            Pane::Hosts => hosts(view, room, style),
            Pane::Estimates => pane(view, Pane::Estimates, "Estimates", "", &estimates, room, style),
        };
    }
    // Two headings, that of the columns, and a line between.
    let inside = room.saturating_sub(4);
    let of_hosts = view.pool.lines.len().min((inside / 3).max(inside.saturating_sub(estimates.len())));
    let mut lines = hosts(view, of_hosts + 2, style);
    lines.push(String::new());
    let rest = room.saturating_sub(lines.len());
    lines.extend(pane(view, Pane::Estimates, "Estimates", "", &estimates, rest, style));
    lines
}

fn hosts(view: &mut View, room: usize, style: Style) -> Vec<String> {
    let heading = match view.pool.summary.as_str() {
        "" => "Hosts".to_owned(),
        summary => format!("Hosts: {summary}"),
    };
    // Taken and put back: the window is the view's as well.
    let (columns, lines) = (view.pool.heading.clone(), std::mem::take(&mut view.pool.lines));
    let shown = pane(view, Pane::Hosts, &heading, &columns, &lines, room, style);
    view.pool.lines = lines;
    shown
}

/// A pane with its heading, in so many lines.
fn pane(
    view: &mut View,
    which: Pane,
    heading: &str,
    columns: &str,
    lines: &[String],
    room: usize,
    style: Style,
) -> Vec<String> {
    let fixed = if columns.is_empty() { 1 } else { 2 };
    let rows = room.saturating_sub(fixed);
    let window = view.windows[which as usize].within(rows, lines.len());
    view.windows[which as usize] = window;
    let mark = match (view.focus == which, style.unicode) {
        (true, true) => "▸ ",
        (true, false) => "> ",
        (false, _) => "  ",
    };
    let mut shown = vec![format!("{mark}{}{}", style.paint.strong(heading), seen(window, lines.len()))];
    if !columns.is_empty() {
        shown.push(format!("  {columns}"));
    }
    shown.extend(lines.iter().skip(window.top).take(rows).map(|line| format!("  {line}")));
    shown.truncate(room);
    shown
}

/// Which lines are seen, when not all are.
fn seen(window: Window, lines: usize) -> String {
    if lines <= window.rows {
        return String::new();
    }
    format!("  ({}-{} of {lines})", (window.top + 1).min(lines), (window.top + window.rows).min(lines))
}

fn estimates(estimates: &Estimates, size: Size, style: Style) -> Vec<String> {
    let document = match estimates {
        Estimates::Awaited => return vec!["The first report is being computed.".to_owned()],
        Estimates::Unknown(words) => return vec![printable(words)],
        Estimates::Known(document) => document,
    };
    let page = Terminal {
        width: size.columns.saturating_sub(2),
        coloured: style.paint.is_coloured(),
        plots: Plots::None,
    };
    terminal::text(document, page).lines().map(str::to_owned).collect()
}

fn keys(columns: usize, style: Style) -> String {
    let arrows = if style.unicode { "↑ ↓" } else { "up down" };
    if columns < COLUMNS_OF_KEYS {
        return format!("q: detach  Tab: other part  {arrows} PgUp PgDn: scroll");
    }
    format!("q: detach, the experiment continues   Tab: the other part   {arrows} PgUp PgDn: scroll")
}

#[cfg(test)]
mod tests {
    use console::measure_text_width;

    use super::{super::pool::Pool, *};
    use crate::{console::Paint, exit::standing::tests::status};

    const PLAIN: Style = Style { paint: Paint::NONE, unicode: false };

    fn view(hosts: usize) -> View {
        let tally = Tally {
            waiting: 36,
            running: 2,
            leased: 1,
            measured: 20,
            failed: 1,
            lost_attempts: 2,
            ..Tally::default()
        };
        let mut view = View::new(status().experiment);
        view.take_status(ExperimentStatus { tally, ..status() }, Some(std::time::Duration::from_secs(130)));
        view.take_pool(Pool {
            summary: format!("{hosts} hosts connected, 3 at work"),
            heading: "host  state".to_owned(),
            lines: (0..hosts).map(|host| format!("h{host:04}  idle")).collect(),
        });
        view
    }

    #[test]
    fn the_screen_tells_what_is_done_left_failed_and_lost() {
        let lines = lines(&mut view(3), Size { columns: 100, rows: 24 }, PLAIN);
        assert_eq!(lines[0], "locale  0193a5b2-7c3d  running");
        assert!(lines[1].ends_with(" 35 %") && lines[1].contains("##--"), "{}", lines[1]);
        for part in ["21/60 ", "1 failed", "2 attempts lost", "39 left (3 ", "2 min 10 s"] {
            assert!(lines[2].contains(part), "{part}: {}", lines[2]);
        }
        assert!(lines.iter().any(|line| line.contains("Hosts: 3 hosts connected")));
        assert!(lines.iter().any(|line| line.contains("being computed")));
    }

    #[test]
    fn any_size_is_kept_to() {
        for columns in [0, 1, 7, 20, 59, 80, 300] {
            for rows in 0..50 {
                for style in [PLAIN, Style { paint: Paint::NONE, unicode: true }] {
                    let mut view = view(5_000);
                    view.look(super::super::view::ScrollStep::End);
                    let lines = lines(&mut view, Size { columns, rows }, style);
                    assert!(lines.len() == rows, "{columns}x{rows}: {}", lines.len());
                    let widest = lines.iter().map(|line| measure_text_width(line)).max();
                    assert!(widest.is_none_or(|widest| widest <= columns), "{columns}x{rows}: {lines:?}");
                }
            }
        }
    }

    #[test]
    fn more_hosts_than_rows_scroll() {
        let (mut view, size) = (view(5_000), Size { columns: 80, rows: 30 });
        let seen = |view: &mut View| lines(view, size, PLAIN).join("\n");
        assert!(seen(&mut view).contains("h0000") && !seen(&mut view).contains("h4999"));
        view.look(super::super::view::ScrollStep::End);
        let end = seen(&mut view);
        assert!(end.contains("h4999") && end.contains("-5000 of 5000") && !end.contains("h0000"), "{end}");
        view.look(super::super::view::ScrollStep::Up);
        assert!(!seen(&mut view).contains("h4999"));
        view.look(super::super::view::ScrollStep::Home);
        assert!(seen(&mut view).contains("h0000"));
    }

    #[test]
    fn what_others_wrote_does_not_move_the_cursor() {
        let mut view = view(1);
        let named = ExperimentStatus { name: "a\u{1b}[2Jb".to_owned(), ..status() };
        view.take_status(named, None);
        let lines = lines(&mut view, Size { columns: 80, rows: 24 }, PLAIN);
        assert!(lines[0].starts_with("a\u{fffd}[2Jb"), "{}", lines[0]);
    }
}
