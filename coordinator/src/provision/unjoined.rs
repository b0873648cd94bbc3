//! What agents of jobs that do not join leave on the shared disk: why they cannot reach the coordinator, in their state
//! directory, and the last words of a job that has ended.

use std::{fs::File, io::ErrorKind, path::Path, path::PathBuf};

use speedup_core::machine::provision::{Job, UnreachedAgent};
use speedup_core::value::bounded::read_text_at_most;
use speedup_core::value::excerpt;
use speedup_core::value::id::JobId;

use super::{command::blocking, engine::Engine};

/// Most jobs of which files are read in one round: what is wrong is mostly wrong with all of them, and each is a read of a
/// shared disk.
const AT_ONCE: usize = 16;
/// Most bytes that are read of the end of a log: some lines.
const TAIL_BYTES: u64 = 4_096;
/// Most lines that are told of it: an error, its cause and its hint.
const LINES: usize = 3;
/// Most characters that are told of a line.
const MAX_CHARACTERS: usize = 500;

/// Which of these jobs have agents that say that they cannot reach the coordinator.
pub(super) async fn unreached<'a>(
    agent_states: &Path,
    jobs: impl Iterator<Item = &'a Job>,
) -> Vec<UnreachedAgent> {
    // Every engine starts an agent with the directory of its node.
    let state = |job: &Job| Some(agent_states.join(job.node.as_ref()?.as_str()));
    let found = read_of_each(jobs, state, read_unreached).await;
    // One of an earlier job on the node is no news.
    let own = found.into_iter().filter_map(|(id, agent)| agent.filter(|agent| agent.job == id));
    own.map(|agent| UnreachedAgent { reason: in_one_line(&agent.reason), ..agent }).collect()
}

fn read_unreached(state: &Path) -> Option<UnreachedAgent> {
    let file = File::open(state.join(UnreachedAgent::FILE)).ok()?;
    let text = read_text_at_most(file, UnreachedAgent::MAX_BYTES).ok()?;
    serde_json::from_str(&text).ok()
}

/// The last words of each of these jobs, where it has any.
pub(super) async fn last_words<'a>(
    engine: &dyn Engine,
    jobs: impl Iterator<Item = &'a Job>,
) -> Vec<(JobId, String)> {
    let found = read_of_each(jobs, |job| engine.log_of(job), |path| last_lines(path).ok().flatten()).await;
    found.into_iter().filter_map(|(id, line)| Some((id, line?))).collect()
}

async fn read_of_each<'a, T: Send + 'static>(
    jobs: impl Iterator<Item = &'a Job>,
    path: impl Fn(&Job) -> Option<PathBuf>,
    read: impl Fn(&Path) -> Option<T> + Send + 'static,
) -> Vec<(JobId, Option<T>)> {
    let paths = jobs.take(AT_ONCE).filter_map(|job| Some((job.id.clone(), path(job)?)));
    let paths: Vec<(JobId, PathBuf)> = paths.collect();
    if paths.is_empty() {
        return Vec::new();
    }
    blocking(move || paths.into_iter().map(|(id, path)| (id, read(&path))).collect()).await
}

/// The last lines of a file that say something; nothing where there is no file.
fn last_lines(path: &Path) -> std::io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let lines = excerpt::last_lines(file, TAIL_BYTES, LINES)?;
    let last: Vec<String> = lines.iter().map(|line| in_one_line(line)).collect();
    Ok(if last.is_empty() { None } else { Some(last.join("; ")) })
}

/// Words by others, as a line of ours shows them.
fn in_one_line(text: &str) -> String {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(MAX_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_that_say_something_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let told = |text: &str| {
            std::fs::write(&path, text).unwrap();
            last_lines(&path).unwrap()
        };
        assert_eq!(last_lines(&path).unwrap(), None);
        assert_eq!(told(""), None);
        assert_eq!(
            told("\n\nsh: 3: exec: speedup: not found\n\n").unwrap(),
            "sh: 3: exec: speedup: not found"
        );
        assert_eq!(
            told("1\n2\nerror: no\ncaused by: why\nhint: do\n").unwrap(),
            "error: no; caused by: why; hint: do"
        );
        let long = format!("{0}\n{0}\n\u{1b}[31mred\n", "x".repeat(2_500));
        assert_eq!(told(&long).unwrap(), format!("{}; \\x1b[31mred", "x".repeat(MAX_CHARACTERS)));
    }
}
