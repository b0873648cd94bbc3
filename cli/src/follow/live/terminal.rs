//! The terminal itself: raw while the view is there, and as it was afterwards.

use std::io::{self, Write as _};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use tokio_stream::StreamExt as _;

use super::{Size, view::ScrollStep};

/// A terminal in raw mode, on its other screen. Talk goes to standard error, and so does this.
pub(super) struct Terminal {
    events: EventStream,
    shown: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Detach,
    /// Looks elsewhere.
    Look(ScrollStep),
    /// Made the terminal larger or smaller.
    Resized,
    /// Nothing that has a meaning here.
    Nothing,
}

impl Terminal {
    pub(super) fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        // From here on it is given back when this is dropped.
        let terminal = Self { events: EventStream::new(), shown: Vec::new() };
        execute!(io::stderr(), EnterAlternateScreen, DisableLineWrap, Hide)?;
        Ok(terminal)
    }

    pub(super) fn size(&self) -> io::Result<Size> {
        let (columns, rows) = crossterm::terminal::size()?;
        Ok(Size { columns: columns.into(), rows: rows.into() })
    }

    /// What the user does next. A terminal that is gone is a user who goes.
    pub(super) async fn next(&mut self) -> io::Result<Act> {
        Ok(match self.events.next().await {
            Some(event) => meaning(&event?),
            None => Act::Detach,
        })
    }

    /// Takes it that nothing of what was drawn is there any more.
    pub(super) fn forget(&mut self) {
        self.shown.clear();
    }

    pub(super) fn draw(&mut self, lines: Vec<String>) -> io::Result<()> {
        let mut out = Vec::new();
        queue!(out, BeginSynchronizedUpdate)?;
        if self.shown.is_empty() {
            queue!(out, Clear(ClearType::All))?;
        }
        let changed = lines.iter().enumerate().filter(|(at, line)| self.shown.get(*at) != Some(line));
        for (row, line) in changed {
            // Cleared first: after the last column of a row the cursor stands on it.
            queue!(out, MoveTo(0, u16::try_from(row).unwrap_or(u16::MAX)), Clear(ClearType::CurrentLine))?;
            out.extend_from_slice(line.as_bytes());
        }
        if lines.len() < self.shown.len() {
            queue!(
                out,
                MoveTo(0, u16::try_from(lines.len()).unwrap_or(u16::MAX)),
                Clear(ClearType::FromCursorDown)
            )?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        self.shown = lines;
        let mut stderr = io::stderr().lock();
        stderr.write_all(&out)?;
        stderr.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = execute!(io::stderr(), Show, EnableLineWrap, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

fn meaning(event: &Event) -> Act {
    match event {
        Event::Resize(..) => Act::Resized,
        Event::Key(key) if key.kind != KeyEventKind::Release => act_of_key(key),
        _ => Act::Nothing,
    }
}

fn act_of_key(key: &KeyEvent) -> Act {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Act::Detach,
        KeyCode::Char('l') if control => Act::Resized,
        KeyCode::Char('q' | 'Q') => Act::Detach,
        KeyCode::Up | KeyCode::Char('k') => Act::Look(ScrollStep::Up),
        KeyCode::Down | KeyCode::Char('j') => Act::Look(ScrollStep::Down),
        KeyCode::PageUp => Act::Look(ScrollStep::PageUp),
        KeyCode::PageDown | KeyCode::Char(' ') => Act::Look(ScrollStep::PageDown),
        KeyCode::Home | KeyCode::Char('g') => Act::Look(ScrollStep::Home),
        KeyCode::End | KeyCode::Char('G') => Act::Look(ScrollStep::End),
        KeyCode::Tab | KeyCode::BackTab => Act::Look(ScrollStep::Other),
        _ => Act::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Act {
        meaning(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn q_and_control_c_detach_and_c_does_not() {
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Act::Detach);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Act::Detach);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), Act::Nothing);
        assert_eq!(meaning(&Event::Resize(80, 24)), Act::Resized);
    }
}
