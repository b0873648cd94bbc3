//! The scratch directory of this host: input directories, working directories, and the cache of files. Programs stand in it
//! and read from it while they are timed, so it belongs on a disk of the host, while the agent's state (outbox, certificate)
//! may be on a home directory that all hosts share.
//!
//! It is a directory of this agent's own, below the place that the owner names; without one, the state directory itself if
//! that is local, else a place for temporary files that is.
//!
//! Launchers start the ranks of a run on other hosts in the working directory of the first, with words in which its paths
//! stand. So the hosts of a gang reach their scratch directories by one path: a link of this user's, of one name on all hosts.

use std::{io::ErrorKind, os::unix::fs::MetadataExt as _, path::Path, path::PathBuf};

use speedup_core::{run::conditions::FileSystem, value::id::ExperimentId};
use speedup_journal::private::{self, NotPrivate, Others};

use crate::{file_system::allows_execution, file_system::file_system, file_system::mark_of, workplace};

/// Where temporary files are on every Linux, the largest first after the one that the environment names.
const TEMPORARY: [&str; 2] = ["/var/tmp", "/tmp"];

/// Where such links are: every Linux has it, it is gone at the next boot, and services with temporary files of their own see the
/// same one.
const LINKS: &str = "/dev/shm";

#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    file_system: Option<FileSystem>,
    /// Nobody asked for it: nothing of it stays when the agent ends.
    is_temporary: bool,
}

impl Scratch {
    /// The one that the owner names or, without a name, one beside the state directory or among temporary files.
    pub(crate) fn open(asked: Option<&Path>, state: &Path, others: Others) -> Result<Self, NotPrivate> {
        let (path, is_temporary) = match asked {
            Some(place) => (own_below(place, state), false),
            None if is_local(state) => (state.to_owned(), false),
            None => match temporary(&places(std::env::var_os("TMPDIR").map(PathBuf::from)), state, others) {
                Some(path) => (path, true),
                None => (state.to_owned(), false),
            },
        };
        if let Some(closed) = private::claim(&path, others, &[])? {
            tracing::warn!("{closed}");
        }
        let path = path.canonicalize().unwrap_or(path);
        let scratch = Self { file_system: file_system(&path), path, is_temporary };
        scratch.tell();
        // An agent that was killed has left its links.
        remove_links(Path::new(LINKS), &scratch.path);
        Ok(scratch)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn tell(&self) {
        let path = self.path.display();
        let kind = self.file_system.as_ref().map_or("an unknown file system", |found| &found.kind);
        match &self.file_system {
            Some(found) if !found.is_local() => tracing::warn!(
                "programs run and files are cached in {path}, on {kind}, which is not a disk of this host: times include \
                 it; name a local directory with --scratch"
            ),
            Some(_) | None => tracing::info!("programs run and files are cached in {path}, on {kind}"),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_links(Path::new(LINKS), &self.path);
        if self.is_temporary
            && let Err(error) = workplace::remove(&self.path)
        {
            tracing::warn!("cannot remove the scratch directory {}: {error}", self.path.display());
        }
    }
}

/// The path of a scratch directory for an experiment's runs on several hosts: a link. Where another agent of this machine has it, or
/// there can be none, the directory's own.
pub(crate) fn common(scratch: &Path, experiment: ExperimentId, others: Others) -> PathBuf {
    linked(Path::new(LINKS), scratch, experiment, others).unwrap_or_else(|error| {
        tracing::warn!("hosts of a run have no common path below {LINKS}: {error}");
        scratch.to_owned()
    })
}

fn linked(
    links: &Path,
    scratch: &Path,
    experiment: ExperimentId,
    others: Others,
) -> std::io::Result<PathBuf> {
    let own = own_links(links);
    private::claim(&own, others, &[]).map_err(std::io::Error::other)?;
    let link = own.join(experiment.to_string());
    let has = || std::fs::read_link(&link).is_ok_and(|target| target == scratch);
    if has() {
        return Ok(link);
    }
    // Another agent, the last that had links here, may remove the directory now.
    for entry in std::fs::read_dir(&own).into_iter().flatten().flatten() {
        // What an agent left that has ended, with its directory, and this one of experiments whose directories it has removed.
        // Another may be about to make that of its link.
        let is_left = std::fs::read_link(entry.path()).is_ok_and(|target| match target == scratch {
            true => !scratch.join(workplace::EXPERIMENTS).join(entry.file_name()).exists(),
            false => !target.exists(),
        });
        if is_left {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let mut made = std::os::unix::fs::symlink(scratch, &link);
    if made.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        // Another agent, the last that had links there, has just ended.
        private::claim(&own, others, &[]).map_err(std::io::Error::other)?;
        made = std::os::unix::fs::symlink(scratch, &link);
    }
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ if has() => Ok(link),
        _ => Ok(scratch.to_owned()),
    }
}

/// Where this user's links are.
fn own_links(links: &Path) -> PathBuf {
    links.join(format!("speedup-{}", rustix::process::geteuid().as_raw()))
}

/// Removes the links to a scratch directory, and those that lead nowhere any more; with the last one also their directory.
fn remove_links(links: &Path, scratch: &Path) {
    let own = own_links(links);
    // Everybody may put something of that name there.
    let user = rustix::process::geteuid().as_raw();
    if !std::fs::symlink_metadata(&own).is_ok_and(|seen| seen.is_dir() && seen.uid() == user) {
        return;
    }
    for entry in std::fs::read_dir(&own).into_iter().flatten().flatten() {
        if std::fs::read_link(entry.path()).is_ok_and(|target| target == scratch || !target.exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    // It stays while another agent has links there.
    let _ = std::fs::remove_dir(own);
}

/// The directory of this agent below a place that may be others' too: of this user, and of this state directory.
fn own_below(place: &Path, state: &Path) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    place.join(format!("speedup-{user}-{}", mark_of(state)))
}

fn is_local(directory: &Path) -> bool {
    file_system(directory).is_none_or(|found| found.is_local())
}

fn places(named: Option<PathBuf>) -> Vec<PathBuf> {
    named.into_iter().filter(|path| path.is_absolute()).chain(TEMPORARY.map(PathBuf::from)).collect()
}

/// The first of these places that is local, where programs may be executed, and where we can have a directory of our own.
fn temporary(places: &[PathBuf], state: &Path, others: Others) -> Option<PathBuf> {
    let usable = places.iter().filter(|place| is_local(place) && allows_execution(place));
    usable.map(|place| own_below(place, state)).find(|path| private::claim(path, others, &[]).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_state_directory_is_the_scratch_directory() {
        let state = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(None, state.path(), Others::Nothing).unwrap();
        assert_eq!(scratch.path(), state.path().canonicalize().unwrap());
        drop(scratch);
        assert!(state.path().exists(), "it stays");
    }

    #[test]
    fn hosts_of_a_run_reach_their_directories_by_one_path() {
        let links = tempfile::tempdir().unwrap();
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let of = |number| ExperimentId(uuid::Uuid::from_u128(number));
        let path = |scratch: &tempfile::TempDir, number| {
            linked(links.path(), scratch.path(), of(number), Others::Nothing).unwrap()
        };
        let first = path(&one, 1);
        assert!(first.starts_with(links.path()) && first.ends_with(of(1).to_string()), "{}", first.display());
        assert_eq!(first.canonicalize().unwrap(), one.path().canonicalize().unwrap());
        assert_eq!(path(&one, 1), first, "it stays");
        assert_eq!(path(&other, 1), other.path(), "another agent of this machine has it");
        let second = path(&other, 2);
        assert_eq!(second.canonicalize().unwrap(), other.path().canonicalize().unwrap());
        path(&other, 3);
        assert!(!second.exists(), "nothing is there of an experiment that is over");
        let gone = one.path().to_owned();
        drop(one);
        assert_eq!(path(&other, 1), first, "the agent that had it is gone, and with it {}", gone.display());
    }

    #[test]
    fn the_links_of_an_agent_end_with_it() {
        let links = tempfile::tempdir().unwrap();
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (scratch, number) in [(&one, 1), (&one, 2), (&other, 3)] {
            let id = ExperimentId(uuid::Uuid::from_u128(number));
            linked(links.path(), scratch.path(), id, Others::Nothing).unwrap();
        }
        let own = own_links(links.path());
        std::os::unix::fs::symlink("/nowhere/at/all", own.join("left")).unwrap();
        remove_links(links.path(), one.path());
        let left: Vec<_> = std::fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left.iter().map(|link| link.canonicalize().unwrap()).collect::<Vec<_>>(), [other.path()]);
        remove_links(links.path(), other.path());
        assert!(!own.exists());
        std::os::unix::fs::symlink(other.path(), &own).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", other.path().join("theirs")).unwrap();
        remove_links(links.path(), other.path());
        assert!(own.is_symlink() && other.path().join("theirs").is_symlink(), "no link is followed there");
    }

    #[test]
    fn two_agents_share_a_place_and_no_directory() {
        let (place, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, other) = (state.path().join("one"), state.path().join("other"));
        let at = |state: &Path| Scratch::open(Some(place.path()), state, Others::Nothing).unwrap();
        let [first, second] = [at(&one), at(&other)];
        assert_ne!(first.path(), second.path());
        assert_eq!(first.path(), at(&one).path(), "a later start finds what an earlier one has cached");
        assert!(first.path().starts_with(place.path().canonicalize().unwrap()));
    }

    #[test]
    fn what_nobody_asked_for_is_local_and_does_not_stay() {
        let place = tempfile::tempdir().unwrap();
        let (gone, here) = (place.path().join("gone/deeper"), place.path().to_owned());
        // Procfs is local, and nobody makes directories there.
        let places = [PathBuf::from("/proc"), here];
        let found = temporary(&places, Path::new("/state"), Others::Nothing).unwrap();
        assert!(found.starts_with(place.path()), "{}", found.display());
        let scratch = Scratch { path: found.clone(), file_system: None, is_temporary: true };
        std::fs::create_dir_all(found.join("experiments/x")).unwrap();
        drop(scratch);
        assert!(!found.exists() && !gone.exists() && place.path().exists());
    }
}
