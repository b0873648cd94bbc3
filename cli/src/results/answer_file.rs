//! `-o FILE`: standard output becomes that file, as `> FILE` makes it, and takes its place only when the answer is whole.

use std::path::Path;

use anyhow::Context as _;

use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::results::draft::Draft;

/// Executes `work` with what it prints going to `path`. Only an answer takes the place of what was there, not a failure.
pub(crate) fn written<F>(path: &Path, work: F) -> Result<Exit, Failure>
where
    F: FnOnce() -> Result<Exit, Failure>,
{
    let (file, draft) = Draft::of(path)?;
    let taken = rustix::stdio::dup2_stdout(&file).context("cannot redirect standard output");
    let mut exit = Exit::Done;
    let done = taken.map_err(Failure::infrastructure).and_then(|()| work());
    draft.end(done.map(|how| exit = how))?;
    Ok(exit)
}
