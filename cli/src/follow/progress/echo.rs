//! What is typed while a bar stands. The terminal shows Ctrl-C as ^C where the cursor is, behind the sentence; where that
//! makes it longer than a row, what is drawn next stands a row lower and the bar is there twice.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::console;

/// Keeps control characters from being shown, until it is dropped. Signals are sent as before.
#[derive(Debug)]
pub(super) struct NoEcho(Option<Termios>);

impl NoEcho {
    /// Begins, where this process may set its terminal.
    pub(super) fn begin() -> Self {
        let Some(before) = tcgetattr(io::stderr()).ok().filter(|_| console::is_in_foreground()) else {
            return Self(None);
        };
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHOCTL);
        Self(tcsetattr(io::stderr(), OptionalActions::Now, &quiet).is_ok().then_some(before))
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        if let Some(before) = self.0.take().filter(|_| console::is_in_foreground()) {
            // A terminal that is gone needs nothing.
            let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
        }
    }
}
