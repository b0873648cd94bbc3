//! Open files: every connected agent is one. The usual soft limit of 1,024 is meant for programs that use `select`.

use std::{future::Future, io, time::Duration};

use futures_util::future::Either;
use rustix::{io::Errno, process::Resource, process::getrlimit, process::setrlimit};
use speedup_core::value::hint::with_hint;

/// How long no connection is accepted when there are no more files: without a pause the attempt would be repeated at once.
const PAUSE: Duration = Duration::from_secs(1);

/// Takes as many open files as the process may have, and says how many in the log.
///
/// What the process starts later inherits this: so it is for a process that serves, not for one that measures.
pub fn raise_open_files() {
    let before = getrlimit(Resource::Nofile);
    let mut raised = before;
    raised.current = before.maximum;
    let shown =
        |limit: Option<u64>| limit.map_or_else(|| "any number of".to_owned(), |limit| limit.to_string());
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => tracing::info!(
            "may have {} open files (was {}), one per connected agent",
            shown(before.maximum),
            shown(before.current)
        ),
        Err(error) => tracing::warn!(
            "cannot raise the limit of {} open files, one per connected agent: {error}",
            shown(before.current)
        ),
    }
}

/// What helps where no file is left.
const RAISE_IT: &str = "start the coordinator with a higher limit of open files (ulimit -Hn, LimitNOFILE=): one \
    per agent plus a hundred";

/// Passes what was accepted on; after a pause when there was no file left for it.
pub(crate) fn paced<T>(accepted: io::Result<T>) -> impl Future<Output = io::Result<T>> {
    let exhausted = |error: &io::Error| {
        let number = error.raw_os_error();
        [Errno::MFILE, Errno::NFILE].iter().any(|errno| number == Some(errno.raw_os_error()))
    };
    match accepted {
        Err(error) if exhausted(&error) => Either::Left(async move {
            tracing::warn!("{}", with_hint(format!("cannot accept a connection: {error}"), Some(RAISE_IT)));
            tokio::time::sleep(PAUSE).await;
            Err(error)
        }),
        accepted => Either::Right(std::future::ready(accepted)),
    }
}
