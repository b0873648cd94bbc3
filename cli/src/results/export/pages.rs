//! All pages of an export, on several threads: each decodes pages and brings their rows into form, and the rows are written in
//! the order of the pages. So a file is the same on any number of threads, and what waits is bounded.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Context as _;

use super::sheet::Sheet;
use super::writer::{Format, PreparedPage, RowForm, RowWriter};
use crate::exit::failure::Failure;
use crate::results::attempts::{Attempts, Page};

/// Most threads that prepare pages: one that writes keeps up with about so many.
const MOST_THREADS: usize = 4;
/// Pages that wait for a thread, and prepared ones that wait for their turn, of each thread.
const WAITING: usize = 2;

/// One end of a thread that prepares pages, each in its turn.
type Prepared = Receiver<Result<PreparedPage, Failure>>;

/// Writes the rows of all attempts as they come, and of the runs without, as long as anyone reads them.
pub(crate) fn write_rows(
    attempts: Attempts,
    format: Format,
    to: impl Write + Send,
    is_read: impl Fn() -> bool,
) -> Result<(), Failure> {
    let Attempts { status, plan, mut pages } = attempts;
    let sheet = Sheet::new(&status, &plan);
    let form = RowForm::new(format, &sheet);
    let mut writer = failed(RowWriter::new(&form, to))?;
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    thread::scope(|scope| {
        let (mut turns, mut prepared): (Vec<SyncSender<_>>, Vec<Prepared>) = (Vec::new(), Vec::new());
        for _ in 0..threads {
            let (turn, taken) = sync_channel(WAITING);
            let (done, result) = sync_channel(WAITING);
            let form = &form;
            scope.spawn(move || prepare(form, &taken, &done));
            turns.push(turn);
            prepared.push(result);
        }
        scope.spawn(move || {
            let mut turns = turns.iter().cycle();
            while let (Some(page), Some(turn)) = (pages.blocking_recv(), turns.next()) {
                // A thread is gone when nobody reads any more.
                if turn.send(page).is_err() {
                    return;
                }
            }
        });
        // The first that has no page more has had its last turn after all the others.
        for result in prepared.iter().cycle() {
            let Ok(page) = result.recv() else { break };
            failed(writer.page(page?))?;
            if !is_read() {
                return Ok(());
            }
        }
        failed(writer.end())
    })
}

fn prepare(
    form: &RowForm<'_>,
    taken: &Receiver<Result<Page, Failure>>,
    done: &SyncSender<Result<PreparedPage, Failure>>,
) {
    for page in taken {
        let page = page.and_then(Page::decoded).and_then(|attempts| failed(form.page(attempts)));
        if done.send(page).is_err() {
            return;
        }
    }
}

fn failed<T>(result: io::Result<T>) -> Result<T, Failure> {
    result.context("cannot write the export").map_err(Failure::infrastructure)
}
