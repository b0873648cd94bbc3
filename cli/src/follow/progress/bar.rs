//! The bar: drawn once an event, whole.

use std::{fmt::Write, io, sync::Arc, sync::Mutex, sync::PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use speedup_core::machine::event::Tally;

use crate::{console, exit::standing};

const TEMPLATE: &str = "{wide_bar} {percent:>3} %\n{sentence}";

/// A bar on the terminal. indicatif draws at every change of length, position and message; here they change together,
/// so the sentence is handed over beside it.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    sentence: Arc<Mutex<String>>,
    _echo: NoEcho,
}

impl Bar {
    /// A bar that is not drawn yet.
    pub(super) fn new() -> Self {
        let sentence = Arc::new(Mutex::new(String::new()));
        let shown = sentence.clone();
        let write = move |_: &ProgressState, to: &mut dyn Write| {
            // What cannot be drawn is drawn at the next event.
            let _ = to.write_str(&shown.lock().unwrap_or_else(PoisonError::into_inner));
        };
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style.with_key("sentence", write));
        Self { bar, sentence, _echo: NoEcho::begin() }
    }

    pub(super) fn draw(&self, tally: &Tally, sentence: String) {
        *self.sentence.lock().unwrap_or_else(PoisonError::into_inner) = sentence;
        self.bar.update(|state| {
            state.set_len(tally.runs().into());
            state.set_pos((standing::done(tally) + tally.abandoned).into());
        });
    }

    /// Takes the bar away while something else is printed.
    pub(super) fn step_aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Leaves the bar as it is.
    pub(super) fn end(&self) {
        self.bar.abandon();
    }
}

/// Keeps control characters from being shown, until it is dropped. Signals are sent as before.
///
/// The terminal shows Ctrl-C as ^C where the cursor is, behind the sentence; where that makes it longer than a row, what is
/// drawn next stands a row lower and the bar is there twice.
#[derive(Debug)]
struct NoEcho(Option<Termios>);

impl NoEcho {
    /// Begins, where this process may set its terminal.
    fn begin() -> Self {
        // A process in the background would be stopped when it sets the terminal.
        if !console::is_in_foreground() {
            return Self(None);
        }
        let Ok(before) = tcgetattr(io::stderr()) else { return Self(None) };
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHOCTL);
        Self(tcsetattr(io::stderr(), OptionalActions::Now, &quiet).is_ok().then_some(before))
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        if let Some(before) = &self.0
            && console::is_in_foreground()
        {
            // A terminal that is gone needs nothing.
            let _ = tcsetattr(io::stderr(), OptionalActions::Now, before);
        }
    }
}
