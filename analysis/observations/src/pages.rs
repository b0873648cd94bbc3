//! All pages of an export, on several threads: each decodes pages and brings their rows into form, and the rows are written in
//! the order of the pages. So a file is the same on any number of threads, and what waits is bounded.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{io::Write, num::NonZero, thread};

use speedup_core::machine::event::EndedAttempt;

use super::writer::{PagesError, PreparedPage, RowForm, RowWriter};

/// Most threads that prepare pages: one that writes keeps up with about so many.
const MOST_THREADS: usize = 4;
/// Queue length per thread, for both unprepared and prepared pages.
const WAITING: usize = 2;

/// One end of a thread that prepares pages, each in its turn.
type PageReceiver<E> = Receiver<Result<PreparedPage, PagesError<E>>>;

/// Writes the rows of all attempts as they come, and of the runs without, as long as anyone reads them. `attempts` gives those of
/// a page, on any thread.
///
/// # Errors
/// The first of the pages', or of the writer's.
pub fn write_rows<P: Send, E: Send, A: IntoIterator<Item = Result<EndedAttempt, E>>>(
    form: &RowForm<'_>,
    mut pages: impl Iterator<Item = P> + Send,
    attempts: impl Fn(P) -> Result<A, E> + Sync,
    to: impl Write + Send,
    is_read: impl Fn() -> bool,
) -> Result<(), PagesError<E>> {
    let mut writer = RowWriter::new(form, to).map_err(PagesError::Write)?;
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    thread::scope(|scope| {
        let mut turns: Vec<SyncSender<_>> = Vec::new();
        let mut prepared: Vec<PageReceiver<E>> = Vec::new();
        for _ in 0..threads {
            let (turn, taken) = sync_channel(WAITING);
            let (done, result) = sync_channel(WAITING);
            let attempts = &attempts;
            scope.spawn(move || prepare(form, attempts, &taken, &done));
            turns.push(turn);
            prepared.push(result);
        }
        scope.spawn(move || {
            let mut turns = turns.iter().cycle();
            while let (Some(page), Some(turn)) = (pages.next(), turns.next()) {
                // A thread is gone when nobody reads any more.
                if turn.send(page).is_err() {
                    return;
                }
            }
        });
        // The first that has no page more has had its last turn after all the others.
        for result in prepared.iter().cycle() {
            let Ok(page) = result.recv() else { break };
            writer.page(page?).map_err(PagesError::Write)?;
            if !is_read() {
                return Ok(());
            }
        }
        writer.end().map_err(PagesError::Write)
    })
}

fn prepare<P, E, A: IntoIterator<Item = Result<EndedAttempt, E>>>(
    form: &RowForm<'_>,
    attempts: impl Fn(P) -> Result<A, E>,
    taken: &Receiver<P>,
    done: &SyncSender<Result<PreparedPage, PagesError<E>>>,
) {
    for page in taken {
        let page = attempts(page).map_err(PagesError::Page).and_then(|attempts| form.page(attempts));
        if done.send(page).is_err() {
            return;
        }
    }
}
