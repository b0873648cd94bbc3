//! The two ends of a terminal: data on standard output, talk on standard error. Everything that is printed goes through
//! here; whoever stops reading is not an error.

pub(crate) mod moment;
pub(crate) mod render;

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::console::AnsiCodeIterator;
use clap::ValueEnum;
use speedup_core::value::foreign;

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Where to print, and how.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    pub(crate) out: Paint,
    pub(crate) err: Paint,
    /// Whether talk goes to a terminal, where a line may be drawn anew.
    pub(crate) interactive: bool,
    /// Whether nothing is said or printed.
    pub(crate) silent: bool,
}

impl Console {
    pub(crate) fn new(color: Color) -> Self {
        let quiet_colours = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let paint = |terminal: bool| {
            Paint(match color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => terminal && !quiet_colours && !dumb,
            })
        };
        let interactive = io::stderr().is_terminal() && !dumb;
        let (out, err) = (paint(io::stdout().is_terminal()), paint(io::stderr().is_terminal()));
        Self { out, err, interactive, silent: false }
    }

    /// Whether keys can be read as well.
    pub(crate) fn has_keys(&self) -> bool {
        self.interactive && io::stdin().is_terminal() && is_in_foreground()
    }

    /// One without colours that is no terminal.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { out: Paint(false), err: Paint(false), interactive: false, silent: false }
    }

    /// Says something to the user. A user who is gone cannot be told so.
    pub(crate) fn talk(&self, text: impl Display) {
        if self.silent {
            return;
        }
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "{}", self.err.harmless(&text.to_string()));
    }

    /// Commands whatever executes a workflow and reads its log.
    pub(crate) fn command(&self, line: &str) {
        if !self.silent {
            let _ = writeln!(io::stderr().lock(), "{}", foreign::lines(line));
        }
    }

    /// Says something that the user should notice.
    pub(crate) fn warn(&self, text: impl Display) {
        self.talk(format_args!("{} {text}", self.err.alarm("warning:")));
    }

    /// Says what the user can do, where nothing failed.
    pub(crate) fn hint(&self, text: impl Display) {
        self.talk(format_args!("hint: {text}"));
    }

    /// Prints data, and a line end if it has none.
    pub(crate) fn print(&self, text: &str) -> io::Result<()> {
        if self.silent {
            return Ok(());
        }
        let mut out = StandardOutput::default();
        out.write_all(self.out.harmless(text).as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

/// Whether this process may set its terminal: one in the background is stopped when it tries to.
pub(crate) fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stderr()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Colour, or none. Words carry the meaning; colour only repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint(bool);

impl Paint {
    /// None: what is written into files.
    pub(crate) const NONE: Self = Self(false);

    /// Something that went wrong.
    pub(crate) fn alarm(self, text: &str) -> String {
        self.style("1;31", text)
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.style("1", text)
    }

    pub(crate) fn is_coloured(self) -> bool {
        self.0
    }

    /// A text in which words of others, such as the error of a tool on a host, cannot act on the terminal: colours stay where
    /// there are any, other sequences are left out, and what else would be obeyed is seen as such.
    fn harmless(self, text: &str) -> String {
        let mut harmless = String::with_capacity(text.len());
        for (part, is_sequence) in AnsiCodeIterator::new(text) {
            match is_sequence {
                true if self.0 && part.ends_with('m') => harmless.push_str(part),
                true => {}
                false => harmless.push_str(&foreign::lines(part)),
            }
        }
        foreign::without_commands(&harmless).into_owned()
    }

    fn style(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The log, on standard error: each event is written at once, and may have words of others.
#[derive(Debug)]
pub(crate) struct Log(pub(crate) Paint);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = self.0.harmless(&String::from_utf8_lossy(bytes));
        io::stderr().lock().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

/// Standard output. When its reader has gone, what is written is dropped: `speedup list | head -1` is no failure.
#[derive(Debug, Default)]
pub(crate) struct StandardOutput {
    reader: Reader,
}

/// Whoever reads standard output, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    gone: Arc<AtomicBool>,
}

impl Reader {
    /// Whether what is written is dropped, so that there is no use in going on.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

impl StandardOutput {
    pub(crate) fn reader(&self) -> Reader {
        self.reader.clone()
    }

    fn bear(&self, result: io::Result<()>) -> io::Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.reader.gone.store(true, Ordering::Relaxed);
                Ok(())
            }
            other => other,
        }
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.reader.is_gone() {
            let written = io::stdout().lock().write_all(bytes);
            self.bear(written)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.reader.is_gone() {
            return Ok(());
        }
        let flushed = io::stdout().lock().flush();
        self.bear(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_an_addition() {
        assert_eq!(Paint(false).alarm("error:"), "error:");
        assert_eq!(Paint(true).strong("hint:"), "\u{1b}[1mhint:\u{1b}[0m");
    }

    #[test]
    fn words_of_others_do_not_act_on_the_terminal() {
        let words = "caused by:\n\u{1b}[91mERROR\u{1b}[0m \u{1b}]0;title\u{7} \u{1b}[2J\u{1b}[H\u{8}\r\u{9b}31mgone \u{1b}";
        let plain = Paint(false).harmless(words);
        assert!(plain.starts_with("caused by:\nERROR "), "{plain:?}");
        assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
        let coloured = Paint(true).harmless(words);
        assert!(coloured.starts_with("caused by:\n\u{1b}[91mERROR\u{1b}[0m "), "{coloured:?}");
        assert!(!coloured.contains("\u{1b}[2J") && !coloured.contains("\u{1b}]0"), "{coloured:?}");
    }

    #[test]
    fn a_reader_that_is_gone_is_no_error() {
        let out = StandardOutput::default();
        assert!(out.bear(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(out.reader().is_gone());
        assert!(StandardOutput::default().bear(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
