//! Watching on a terminal: what the screen shows while real hosts work, and what stays of it.

use speedup_tests::{desk::Desk, plan::naps, pool::Pool, pool::eventually, screen::Screen};

use crate::SPEEDUP;

const DOWN: &str = "\u{1b}[B";
const END: &str = "\u{1b}[F";
const CONTROL_C: &str = "\u{3}";

fn plan(runs: u32) -> String {
    naps("watched", ["0.3", "0.1"], runs, "any", "[benchmarks.rest]\ncommand = [\"sleep\", \"{time}\"]\n")
}

fn watch(pool: &Pool, experiment: &str, columns: u16, rows: u16) -> Screen {
    let mut command = pool.command();
    command.args(["watch", experiment]);
    Screen::start(&command, columns, rows)
}

/// The number before a word on the screen.
fn number_before(text: &str, word: &str) -> Option<u64> {
    let before = &text[..text.find(word)?];
    let digits: Vec<char> = before.chars().rev().take_while(char::is_ascii_digit).collect();
    digits.into_iter().rev().collect::<String>().parse().ok()
}

#[test]
fn the_screen_shows_hosts_counts_and_estimates_until_the_user_goes() {
    let pool = Pool::start(SPEEDUP, 3);
    let experiment = pool.submit(&plan(5_000), &[]);
    let mut screen = watch(&pool, &experiment, 110, 40);
    let text = screen.until("hosts at work", |text| text.contains("running  ") && text.contains("nap, "));
    assert!(screen.is_other(), "the view leaves no trace:\n{text}");
    assert!(text.starts_with("watched  ") && text.contains("3 hosts connected"), "{text}");
    // The counts move, and so do those of the hosts.
    let done = number_before(&screen.shows("/20000 runs done"), "/20000 runs done").expect("a number");
    screen.until("more is done", |text| {
        number_before(text, "/20000 runs done").is_some_and(|now| now > done + 8) && text.contains(" left (")
    });
    // Estimates with intervals and verdicts come as soon as the analysis has them.
    let text = screen.until("estimates", |text| text.contains("× [") && text.contains("faster"));
    assert!(text.contains("Estimates") && text.contains("Verdict"), "{text}");
    screen.until("what is left", |text| text.contains("about ") && text.contains(" left"));
    // Another size is another screen, without rests of the last.
    screen.resize(70, 20);
    let text = screen.until("the keys stand in the last row", |text| {
        text.lines().count() == 20 && text.lines().last().is_some_and(|line| line.starts_with("q: detach"))
    });
    assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
    assert!(text.lines().nth(1).is_some_and(|bar| bar.ends_with(" %")), "the last column is drawn:\n{text}");
    screen.press("\t");
    screen.until("the other part", |text| text.contains("▸ Estimates"));
    screen.press(DOWN);
    screen.until("it scrolls", |text| text.contains("  (2-"));
    screen.press("q");
    let (status, text) = screen.end();
    assert_eq!(status.code(), Some(130), "{text}");
    assert!(text.contains("Detached;") && text.contains(&experiment), "{text}");
    assert!(!text.contains("Hosts: "), "the view is gone:\n{text}");
    assert!(!pool.is_finished(&experiment), "it goes on");
}

#[test]
fn control_c_detaches_and_a_paused_experiment_says_so() {
    let pool = Pool::start(SPEEDUP, 1);
    let experiment = pool.submit(&plan(5_000), &[]);
    let mut screen = watch(&pool, &experiment, 80, 24);
    screen.shows("running");
    assert!(pool.speedup(&["pause", &experiment]).status.success());
    screen.until("it is paused", |text| text.contains("paused by "));
    screen.press(CONTROL_C);
    let (status, text) = screen.end();
    assert_eq!(status.code(), Some(130), "{text}");
    assert!(text.contains("stays paused") && !text.contains("^C"), "{text}");
}

#[test]
fn the_end_of_the_experiment_ends_the_view_and_stays_on_the_screen() {
    let pool = Pool::start(SPEEDUP, 2);
    let experiment = pool.submit(&plan(8), &[]);
    let screen = watch(&pool, &experiment, 100, 30);
    let (status, text) = screen.end();
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.contains("watched: 32/32 runs done; finished"), "{text}");
    assert!(text.contains(&format!("`speedup report {experiment}`")), "{text}");
}

#[test]
fn a_lost_host_and_an_absent_coordinator_are_seen() {
    let mut pool = Pool::start(SPEEDUP, 2);
    let experiment = pool.submit(&plan(5_000), &[]);
    let mut screen = watch(&pool, &experiment, 110, 30);
    screen.shows("running");
    pool.kill_agent(1);
    screen.until("the lost attempt is counted, also by host", |text| {
        text.contains("1 attempt lost") && text.contains("1 away") && text.contains("away since")
    });
    pool.kill_coordinator();
    screen.shows("does not answer; retrying");
    pool.start_coordinator();
    screen.until("it is back", |text| !text.contains("does not answer"));
    screen.press("q");
    assert_eq!(screen.end().0.code(), Some(130));
}

#[test]
fn more_hosts_than_rows_scroll() {
    let pool = Pool::start(SPEEDUP, 12);
    let experiment = pool.submit(&plan(5_000), &[]);
    let mut screen = watch(&pool, &experiment, 90, 18);
    screen.until("some of twelve", |text| text.contains(" of 12)"));
    screen.press(END);
    screen.until("the last", |text| text.contains("-12 of 12)"));
    screen.press("q");
    assert_eq!(screen.end().0.code(), Some(130));
}

#[test]
fn without_a_capable_terminal_there_are_lines_and_no_colour_is_kept_to() {
    let pool = Pool::start(SPEEDUP, 1);
    let experiment = pool.submit(&plan(5_000), &[]);
    let mut dumb = pool.command();
    dumb.args(["watch", &experiment]).env("TERM", "dumb");
    let mut screen = Screen::start(&dumb, 80, 24);
    let text = screen.shows("runs done");
    assert!(!screen.is_other() && !text.contains("Hosts: "), "{text}");
    screen.press(CONTROL_C);
    assert_eq!(screen.end().0.code(), Some(130));
    // The same screen with and without colour.
    let of = |coloured: bool| {
        let mut command = pool.command();
        command.args(["watch", &experiment]);
        if coloured {
            command.env_remove("NO_COLOR");
        }
        let screen = Screen::start(&command, 80, 24);
        screen.shows("Hosts: 1 host connected");
        screen.formatted()
    };
    assert!(of(true).contains("\u{1b}[1m"), "headings are strong");
    assert!(!of(false).contains("\u{1b}[1m") && !of(false).contains("\u{1b}[3"), "NO_COLOR");
}

#[test]
fn control_c_leaves_one_bar_of_a_run_on_this_machine() {
    let desk = Desk::new(SPEEDUP);
    desk.write("plan.toml", plan(5_000));
    let mut screen = Screen::start(desk.command(&["run", "plan.toml"]).env("NO_COLOR", "1"), 100, 60);
    screen.until("a few runs", |text| number_before(text, "/20000 runs done").is_some_and(|done| done >= 4));
    screen.press(CONTROL_C);
    let bars = |text: &str| text.lines().filter(|line| line.trim_end().ends_with(" %")).count();
    let text = screen.shows("Ctrl-C again to stop at once");
    assert!(!text.contains("^C"), "{text}");
    let text = screen.until("it is paused", |text| text.contains("paused by "));
    assert!(bars(&text) <= 1, "one bar:\n{text}");
    let ended = eventually("the report", || {
        Some(screen.text()).filter(|text| text.contains("continues where it stopped"))
    });
    let (status, _) = screen.end();
    assert_eq!(status.code(), Some(130), "{ended}");
}
