//! Open files: every connected agent is one. The usual soft limit of 1,024 is meant for programs that use `select`.

use std::{ffi::OsStr, future::Future, io, path::Path, sync::OnceLock, time::Duration};

use futures_util::future::Either;
use rustix::{io::Errno, process::Resource, process::getrlimit, process::setrlimit};
use speedup_core::value::hint::with_hint;
use tokio::process::Command;

/// How long no connection is accepted when there are no more files: without a pause the attempt would be repeated at once.
const PAUSE: Duration = Duration::from_secs(1);

/// The soft limit from before it was raised.
static BEFORE: OnceLock<u64> = OnceLock::new();
/// Restores a soft limit and becomes the program: between fork and execve, nothing but unsafe code could do it.
const RESTORE: &str = r#"ulimit -S -n "$1"; shift; exec "$@""#;

/// Takes as many open files as the process may have, and says how many in the log. What it starts is to be started by `command`.
pub fn raise_open_files() {
    let before = getrlimit(Resource::Nofile);
    let mut raised = before;
    raised.current = before.maximum;
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => {
            tracing::info!(
                "may have {} open files (was {}), one per connected agent",
                in_words(before.maximum),
                in_words(before.current)
            );
            if let Some(current) = before.current {
                BEFORE.get_or_init(|| current);
            }
        }
        Err(error) => tracing::warn!(
            "cannot raise the limit of {} open files, one per connected agent: {error}",
            in_words(before.current)
        ),
    }
}

fn in_words(limit: Option<u64>) -> String {
    limit.map_or_else(|| "any number of".to_owned(), |limit| limit.to_string())
}

/// Makes a command whose program has the soft limit that this process was started with. It may use `select`; an engine passes the
/// limits of who submits on to its jobs, and an agent those that it has to what it measures.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let Some(before) = BEFORE.get() else { return Command::new(program) };
    // A program that is not there is to be an error of its start, not words of the shell.
    if !is_found(program.as_ref()) {
        return Command::new(program);
    }
    let mut command = Command::new("sh");
    command.args(["-c", RESTORE, "sh", &before.to_string()]).arg(program);
    command
}

/// Whether there is a program of this name, in the search path if it has no directory.
fn is_found(program: &OsStr) -> bool {
    if Path::new(program).components().count() > 1 {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// What helps where no file is left.
const RAISE_IT: &str = "start the coordinator with a higher limit of open files (ulimit -Hn, LimitNOFILE=): one \
    per agent plus a hundred";

/// Passes what was accepted on; after a pause when there was no file left for it.
pub(crate) fn paced<T>(accepted: io::Result<T>) -> impl Future<Output = io::Result<T>> {
    match accepted {
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE)) => {
            Either::Left(async move {
                tracing::warn!(
                    "{}",
                    with_hint(format!("cannot accept a connection: {error}"), Some(RAISE_IT))
                );
                tokio::time::sleep(PAUSE).await;
                Err(error)
            })
        }
        accepted => Either::Right(std::future::ready(accepted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_started_has_the_limit_from_before_and_what_is_not_there_is_an_error_of_its_start() {
        BEFORE.get_or_init(|| 100);
        let output = command("sh").args(["-c", "ulimit -S -n"]).output().await.unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "100\n");
        for missing in ["no-such-program", "/no/such/program"] {
            assert_eq!(command(missing).output().await.unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
