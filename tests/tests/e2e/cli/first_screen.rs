//! What a newcomer types first, on a terminal of 80 columns and 24 rows: nothing is wider, and what is longer says how to see
//! the rest.

use std::{path::Path, process::Command, process::ExitStatus};

use speedup_tests::screen::Screen;
use tempfile::TempDir;

use crate::SPEEDUP;

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
/// Rows of a screen from which nothing scrolls away.
const ENOUGH: u16 = 400;

/// What is reported then. Its own table of times, as that of hyperfine, may be wider than the terminal.
const MEASURE: &str = "speedup bench --style basic -r 8 'sleep 0.01' 'sleep 0.03'";

/// A directory to stand in.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// A command line of a page, in a terminal; paths of examples start from the repository.
    fn screen(&self, line: &str, rows: u16) -> Screen {
        let mut command = Command::new("sh");
        let repository =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository");
        let line = line.replace("examples/", &format!("{}/examples/", repository.display()));
        command.args([
            "-c",
            &format!("cd {} && {}", self.0.path().display(), line.replacen("speedup", SPEEDUP, 1)),
        ]);
        command.env("XDG_STATE_HOME", self.0.path().join("state"));
        Screen::start(&command, COLUMNS, rows)
    }

    /// How it ends, and all that it shows, none of it wider than the terminal.
    fn shown(&self, line: &str) -> (ExitStatus, String) {
        let mut screen = self.screen(line, ENOUGH);
        let status = screen.ended();
        let text = screen.text();
        assert_eq!(screen.overflowing(), Vec::<String>::new(), "{line}:\n{text}");
        (status, text)
    }
}

#[test]
fn what_is_typed_first_fits_the_terminal() {
    let desk = Desk::new();
    let (status, text) = desk.screen(MEASURE, ENOUGH).end();
    assert!(status.success(), "{text}");
    for line in ["speedup --help", "speedup report last", "speedup list"] {
        let (status, text) = desk.shown(line);
        assert!(status.success(), "{line}:\n{text}");
    }
    let (status, text) = desk.shown("speedup benchmark true");
    assert!(!status.success() && text.contains("use 'speedup bench' instead"), "{text}");
}

#[test]
fn a_small_report_fits_a_screen_or_says_how_to_see_the_rest() {
    let desk = Desk::new();
    assert!(desk.screen(MEASURE, ENOUGH).end().0.success());
    let (status, screen) = desk.screen("speedup report last", ROWS).end();
    assert!(status.success(), "{screen}");
    let (_, all) = desk.shown("speedup report last");
    assert!(
        all.lines().count() < usize::from(ROWS) || screen.contains(" -v"),
        "the last screen is\n{screen}"
    );
}
