//! The live view of an experiment on a terminal: how far it is, what each host does, what it shows so far.
//!
//! It runs where somebody watches, and asks the coordinator now and then; `speedup run`, which may share its machine with
//! what it measures, has the bar of `progress` instead.
//!
//! In reading order: [`watch`]; `view` (what is known, and where one looks), `screen` (how it is laid out; pure), `pool`
//! (what the hosts do), `estimates` (reports as they come), `terminal` (keys, resizes, drawing).

mod estimates;
mod pool;
mod screen;
mod terminal;
mod view;

use std::time::{Duration, Instant};

use anyhow::Error;
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::{ExperimentStatus, StatusPhase};
use tokio::{sync::mpsc, time::sleep_until};

use crate::{
    connection::Connection, console::Console, console::Paint, console::render::report::speaks_unicode_here,
    exit::Exit, exit::failure::Failure, exit::standing::ExperimentStanding, follow::FollowUpdate,
    follow::Follower, follow::HostWait, follow::PATIENCE, follow::interrupt::Interrupts,
    follow::progress::Eta,
};
use terminal::{Act, Terminal};
use view::View;

/// How often the screen is drawn at most: a fast experiment changes hundreds of times a second, and nobody reads that.
const FRAME: Duration = Duration::from_millis(200);
/// Answers that may wait to be drawn.
const WAITING: usize = 2;

/// How the view is drawn.
#[derive(Clone, Copy, Debug)]
struct Style {
    paint: Paint,
    /// Whether it takes more than ASCII.
    unicode: bool,
}

/// Size of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    columns: usize,
    rows: usize,
}

#[derive(Debug)]
pub(crate) enum ViewEnd {
    Finished {
        status: Box<ExperimentStatus>,
        exit: Exit,
    },
    /// The coordinator paused it.
    Stuck {
        reason: String,
    },
    /// The user went; it is paused or goes on.
    Detached {
        paused: bool,
        exit: Exit,
    },
}

/// Shows an experiment until it ends or the user goes. The terminal is as it was when this returns.
pub(crate) async fn watch(
    connection: &Connection,
    experiment: ExperimentId,
    console: &Console,
    interrupts: &mut Interrupts,
    waiting: &HostWait,
) -> Result<ViewEnd, Failure> {
    let style = Style { paint: console.err, unicode: speaks_unicode_here() };
    let mut terminal = Terminal::enter().map_err(lost)?;
    let mut view = View::new(experiment);
    let mut follower = Follower::new(connection.experiments(), experiment, PATIENCE);
    let (pools, mut pool) = mpsc::channel(WAITING);
    let (reports, mut report) = mpsc::channel(WAITING);
    let asking = async {
        tokio::join!(
            pool::ask(connection, experiment, style, pools),
            estimates::ask(connection, experiment, reports)
        )
    };
    tokio::pin!(asking);
    let mut why = waiting.why.subscribe();
    let (mut asks, mut eta) = (true, Eta::default());
    // Drawn at once, and later when something changed and the last drawing is old enough.
    let (mut is_old, mut due) = (true, tokio::time::Instant::now());
    loop {
        tokio::select! {
            told = follower.next() => match told? {
                FollowUpdate::Status(status) => {
                    match ExperimentStanding::from(status.as_ref()) {
                        ExperimentStanding::Open => {}
                        ExperimentStanding::Finished(exit) => return Ok(ViewEnd::Finished { status, exit }),
                        ExperimentStanding::Stuck { reason } => return Ok(ViewEnd::Stuck { reason }),
                    }
                    waiting.note(&status);
                    let left = eta.left(Instant::now(), &status);
                    view.take_status(*status, left);
                }
                FollowUpdate::Away { failure } => view.take_away(failure.error.root_cause().to_string()),
            },
            Ok(()) = why.changed() => view.take_why(why.borrow_and_update().clone()),
            Some(seen) = pool.recv() => view.take_pool(seen),
            Some(seen) = report.recv() => view.take_estimates(seen),
            _ = &mut asking, if asks => asks = false,
            act = terminal.next() => match act.map_err(lost)? {
                Act::Detach => return Ok(detached(&view, Exit::Interrupted)),
                Act::Look(look) => view.look(look),
                Act::Resized => terminal.forget(),
                Act::Nothing => continue,
            },
            exit = interrupts.next() => return Ok(detached(&view, exit)),
            () = sleep_until(due), if is_old => {
                let size = terminal.size().map_err(lost)?;
                terminal.draw(screen::lines(&mut view, size, style)).map_err(lost)?;
                (is_old, due) = (false, tokio::time::Instant::now() + FRAME);
                continue;
            }
        }
        is_old = true;
    }
}

fn detached(view: &View, exit: Exit) -> ViewEnd {
    let paused =
        view.status.as_ref().is_some_and(|status| matches!(status.phase, StatusPhase::Paused { .. }));
    ViewEnd::Detached { paused, exit }
}

fn lost(error: std::io::Error) -> Failure {
    Failure::infrastructure(Error::new(error).context("the terminal cannot be used"))
        .hint("TERM=dumb makes this command write plain lines")
}
