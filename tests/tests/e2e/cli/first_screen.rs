//! What a newcomer types first, on a terminal of 80 columns and 24 rows: nothing is wider, and what is longer says how to see
//! the rest.

use std::{process::Command, process::ExitStatus};

use speedup_tests::{desk::Desk, root, screen::Screen};

use crate::SPEEDUP;

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
/// Rows of a screen from which nothing scrolls away.
const ENOUGH: u16 = 400;

/// What is reported then. Its own table of times, as that of hyperfine, may be wider than the terminal.
const MEASURE: &str = "speedup bench --style basic -r 8 'sleep 0.01' 'sleep 0.03'";

/// A command line of a page, in a terminal; paths of examples start from the repository.
fn screen(desk: &Desk, line: &str, rows: u16) -> Screen {
    let mut command = Command::new("sh");
    let line = line.replace("examples/", &format!("{}/examples/", root().display()));
    command.arg("-c").arg(line.replacen("speedup", SPEEDUP, 1)).current_dir(desk.path());
    Screen::start(command.env("XDG_STATE_HOME", desk.path().join("state")), COLUMNS, rows)
}

/// How it ends, and all that it shows, none of it wider than the terminal.
fn shown(desk: &Desk, line: &str) -> (ExitStatus, String) {
    let mut screen = screen(desk, line, ENOUGH);
    let status = screen.ended();
    let text = screen.text();
    assert_eq!(screen.overflowing(), Vec::<String>::new(), "{line}:\n{text}");
    (status, text)
}

#[test]
fn what_is_typed_first_fits_the_terminal() {
    let desk = Desk::new(SPEEDUP);
    let (status, text) = screen(&desk, MEASURE, ENOUGH).end();
    assert!(status.success(), "{text}");
    for line in ["speedup --help", "speedup report last", "speedup list"] {
        let (status, text) = shown(&desk, line);
        assert!(status.success(), "{line}:\n{text}");
    }
    let (status, text) = shown(&desk, "speedup benchmark true");
    assert!(!status.success() && text.contains("use 'speedup bench' instead"), "{text}");
}

#[test]
fn a_small_report_fits_a_screen_or_says_how_to_see_the_rest() {
    let desk = Desk::new(SPEEDUP);
    assert!(screen(&desk, MEASURE, ENOUGH).end().0.success());
    let (status, screen) = screen(&desk, "speedup report last", ROWS).end();
    assert!(status.success(), "{screen}");
    let (_, all) = shown(&desk, "speedup report last");
    assert!(
        all.lines().count() < usize::from(ROWS) || screen.contains(" -v"),
        "the last screen is\n{screen}"
    );
}
