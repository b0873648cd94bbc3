//! The workplace: where the runs of an experiment find their input and stand while they run.
//!
//! ```text
//! SCRATCH/experiments/ID/input   what the setup step made; {input} in commands
//! SCRATCH/experiments/ID/ready   there once the setup has succeeded; holds its command's hash and the boot: what was made
//!                                before a power cut may not be whole
//! SCRATCH/experiments/ID/hosts   names the hosts that serve a run together; {hostfile} in commands
//! SCRATCH/experiments/ID/ranks   the times of the ranks of such a run on this host
//! SCRATCH/experiments/ID/speedup-rank   the program that takes them, a link to this one
//! SCRATCH/experiments/ID/work…   the working directory of one run, new for each; nothing else begins with a w
//! ```

use std::{
    cell::RefCell, fs::Permissions, io, os::unix::fs::MetadataExt as _, os::unix::fs::PermissionsExt as _,
    path::Path, path::PathBuf, time::Duration, time::Instant, time::SystemTime,
};

use speedup_core::experiment::environment::{DIRECTORY_NAME, Setting, SizeChoice};
use speedup_core::run::conditions::Unmet;
use speedup_core::run::work::ResolvedCommand;
use speedup_core::value::id::{BootId, ExperimentId};

use crate::launch::{User, rank};

/// The directory of all of them, in the agent's scratch directory.
pub(crate) const EXPERIMENTS: &str = "experiments";
/// Experiments whose directories are kept; older ones make room for a new one.
const KEPT: usize = 8;
/// How long the directory of an experiment is kept that nothing was done in, as the start of an agent finds it.
const KEPT_FOR: Duration = Duration::from_secs(7 * 86_400);
/// How long a directory has to look the same before that shows that nothing was done in it: file systems note changes by
/// the second, some by two.
const SETTLED: Duration = Duration::from_secs(3);
/// Longest name of a directory on Linux.
const MAX_NAME: usize = 255;

/// The directories of one experiment on this host.
#[derive(Clone, Debug)]
pub(crate) struct Workplace {
    root: PathBuf,
    boot: BootId,
    /// Whose the directories are that programs write to, if not the agent's user's.
    user: Option<User>,
    /// What was found when it was last cleared.
    vacancy: RefCell<Option<Vacancy>>,
}

/// A workplace that has nothing but an empty working directory for the next run.
#[derive(Clone, Debug)]
struct Vacancy {
    work: PathBuf,
    /// What the root and the working directory looked like before they were listed.
    looks: [Look; 2],
    /// Since when they have looked so.
    since: Instant,
    /// Whether a change since then would show.
    is_settled: bool,
}

/// What a directory looks like from outside. To make, rename or remove something in it, or to change its mode, changes this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Look {
    fn of(path: &Path) -> io::Result<Self> {
        let seen = std::fs::symlink_metadata(path)?;
        Ok(Self {
            device: seen.dev(),
            inode: seen.ino(),
            modified: (seen.mtime(), seen.mtime_nsec()),
            changed: (seen.ctime(), seen.ctime_nsec()),
        })
    }
}

impl Workplace {
    /// The workplace of an experiment, made if it is not there.
    pub(crate) fn of(
        scratch: &Path,
        boot: &BootId,
        user: Option<&User>,
        experiment: ExperimentId,
    ) -> io::Result<Self> {
        let root = root_of(scratch, experiment);
        let place = Self { root, boot: boot.clone(), user: user.cloned(), vacancy: RefCell::default() };
        place.make()?;
        Ok(place)
    }

    /// Makes it again if it is not there.
    pub(crate) fn make(&self) -> io::Result<()> {
        if let Some(all) = self.root.parent().filter(|_| !self.root.exists()) {
            std::fs::create_dir_all(all)?;
            make_room(all)?;
        }
        let input = self.input();
        if !input.exists() {
            std::fs::create_dir_all(&input)?;
            self.give(&input)?;
        }
        Ok(())
    }

    /// Whether it is that of an experiment, reached by this path of the scratch directory.
    pub(crate) fn is_of(&self, scratch: &Path, experiment: ExperimentId) -> bool {
        self.root == root_of(scratch, experiment)
    }

    pub(crate) fn input(&self) -> PathBuf {
        self.root.join("input")
    }

    /// What names the hosts that serve a run together.
    pub(crate) fn hostfile(&self) -> PathBuf {
        self.root.join("hosts")
    }

    /// Where the times of ranks go.
    pub(crate) fn ranks(&self) -> PathBuf {
        self.root.join("ranks")
    }

    /// The same, empty.
    pub(crate) fn clear_ranks(&self) -> io::Result<()> {
        let ranks = self.ranks();
        remove(&ranks)?;
        std::fs::create_dir(&ranks)?;
        self.give(&ranks)
    }

    /// The program that times a rank: this one, under another name.
    pub(crate) fn rank_timer(&self) -> io::Result<PathBuf> {
        let (link, program) = (self.root.join(rank::NAME), std::env::current_exe()?);
        if std::fs::read_link(&link).is_ok_and(|target| target == program) {
            return Ok(link);
        }
        remove(&link)?;
        std::os::unix::fs::symlink(program, &link)?;
        Ok(link)
    }

    /// The name that gives the path of a working directory the length that the plan wants.
    pub(crate) fn name_of_work(&self, length: SizeChoice, drawn: Option<u32>) -> Result<String, Unmet> {
        let bytes = match length {
            SizeChoice::AsIs => DIRECTORY_NAME.len(),
            SizeChoice::Random(_) => DIRECTORY_NAME.len() + drawn.unwrap_or(0) as usize,
            SizeChoice::Total(total) => {
                let parent = self.root.as_os_str().len() + 1;
                let name = (total as usize).checked_sub(parent).filter(|name| (1..=MAX_NAME).contains(name));
                name.ok_or_else(|| Unmet {
                    setting: Setting::DirectoryLength,
                    reason: format!(
                        "paths of working directories have {} to {} bytes on this host",
                        parent + 1,
                        parent + MAX_NAME
                    ),
                })?
            }
        };
        let name = DIRECTORY_NAME.chars().chain(std::iter::repeat('x'));
        Ok(name.take(bytes.min(MAX_NAME)).collect())
    }

    /// An empty working directory of this name, which [`Workplace::name_of_work`] has given.
    pub(crate) fn new_work(&self, name: &str) -> io::Result<PathBuf> {
        let work = self.root.join(name);
        if self.vacant().is_some_and(|vacant| vacant == work) {
            return Ok(work);
        }
        for other in self.works()?.iter().filter(|other| **other != work) {
            remove(other)?;
        }
        if !self.is_vacant(&work)? {
            remove(&work)?;
            std::fs::create_dir(&work)?;
            self.give(&work)?;
        }
        Ok(work)
    }

    /// Removes what a run left in its working directory: it may be all of the disk. Most runs leave nothing, and the next has
    /// the same directory: to make and remove it takes longer than to list it, and to list it longer than to see that nothing has
    /// changed.
    pub(crate) fn clear_work(&self) {
        if self.vacant().is_some() {
            return;
        }
        let found = self.cleared().unwrap_or_else(|error| {
            tracing::warn!("cannot remove what a run left: {error}");
            None
        });
        self.vacancy.replace(found);
    }

    fn cleared(&self) -> io::Result<Option<Vacancy>> {
        let now = Instant::now();
        let root = Look::of(&self.root)?;
        let works = self.works()?;
        let (mut vacant, mut removed) = (None, false);
        for work in &works {
            let look = Look::of(work)?;
            if self.is_vacant(work)? {
                vacant = Some((work, look));
            } else {
                remove(work)?;
                removed = true;
            }
        }
        let Some((work, look)) = vacant.filter(|_| works.len() == 1 && !removed) else { return Ok(None) };
        let looks = [root, look];
        let before = self.vacancy.borrow();
        let before = before.as_ref().filter(|before| before.work == *work && before.looks == looks);
        let since = before.map_or(now, |before| before.since);
        let is_settled = now.duration_since(since) >= SETTLED;
        Ok(Some(Vacancy { work: work.clone(), looks, since, is_settled }))
    }

    /// The working directory that is there, if it and the root look as they did when nothing else was there and nothing in it.
    fn vacant(&self) -> Option<PathBuf> {
        let vacancy = self.vacancy.borrow();
        let Vacancy { work, looks, .. } = vacancy.as_ref().filter(|vacancy| vacancy.is_settled)?;
        let as_it_was = Look::of(&self.root).ok()? == looks[0] && Look::of(work).ok()? == looks[1];
        as_it_was.then(|| work.clone())
    }

    /// Whether a working directory is there as a new one would be: empty, and open to the same.
    fn is_vacant(&self, work: &Path) -> io::Result<bool> {
        let there = match std::fs::symlink_metadata(work) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            there => there?,
        };
        let is_as_made = there.is_dir() && there.mode() == std::fs::symlink_metadata(&self.root)?.mode();
        Ok(is_as_made && std::fs::read_dir(work)?.next().is_none())
    }

    fn works(&self) -> io::Result<Vec<PathBuf>> {
        let mut works = Vec::new();
        for entry in std::fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b"w") {
                works.push(entry.path());
            }
        }
        Ok(works)
    }

    /// Whether this setup has succeeded here before.
    pub(crate) fn is_ready(&self, setup: &ResolvedCommand) -> bool {
        std::fs::read(self.root.join("ready")).is_ok_and(|mark| mark == self.fingerprint(setup))
    }

    /// An empty input directory, for a setup to fill.
    pub(crate) fn clear_input(&self) -> io::Result<PathBuf> {
        let input = self.input();
        remove(&self.root.join("ready"))?;
        remove(&input)?;
        std::fs::create_dir(&input)?;
        self.give(&input)?;
        Ok(input)
    }

    /// Remembers that the setup has succeeded.
    pub(crate) fn set_ready(&self, setup: &ResolvedCommand) -> io::Result<()> {
        std::fs::write(self.root.join("ready"), self.fingerprint(setup))
    }

    /// Gives a directory to the user as whom programs execute.
    fn give(&self, directory: &Path) -> io::Result<()> {
        self.user.as_ref().map_or(Ok(()), |user| user.own(directory))
    }

    fn fingerprint(&self, setup: &ResolvedCommand) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new();
        for word in setup.argv.iter().map(String::as_str).chain([self.boot.as_str()]) {
            hasher.update(word.as_bytes()).update(&[0]);
        }
        hasher.finalize().to_hex().as_bytes().to_vec()
    }
}

fn root_of(scratch: &Path, experiment: ExperimentId) -> PathBuf {
    scratch.join(EXPERIMENTS).join(experiment.to_string())
}

/// Removes a file or a directory, if it is there, whatever programs have done to its permissions.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            allow(path)?;
            std::fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Programs leave directories that nobody may write to, and that keep even their owner from removing what is in them.
fn allow(directory: &Path) -> io::Result<()> {
    let mode = std::fs::metadata(directory)?.permissions().mode();
    std::fs::set_permissions(directory, Permissions::from_mode(mode | 0o700))?;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            allow(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes the directories of experiments that were begun, or got a file of their own, more than a week ago, with their inputs. One
/// that goes on makes its own again.
pub(crate) fn remove_old(scratch: &Path) {
    let now = SystemTime::now();
    for (last, path) in by_age(&scratch.join(EXPERIMENTS)).unwrap_or_default() {
        if now.duration_since(last).is_ok_and(|age| age > KEPT_FOR) {
            remove_experiment(&path);
        }
    }
}

/// Removes the directories of the experiments that were worked on longest ago.
fn make_room(all: &Path) -> io::Result<()> {
    let begun = by_age(all)?;
    let surplus = (begun.len() + 1).saturating_sub(KEPT);
    for (_, path) in begun.iter().take(surplus) {
        remove_experiment(path);
    }
    Ok(())
}

/// The directories of experiments, with when they last changed, the oldest first.
fn by_age(all: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut begun: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(all)? {
        let entry = entry?;
        begun.push((entry.metadata()?.modified()?, entry.path()));
    }
    begun.sort();
    Ok(begun)
}

fn remove_experiment(path: &Path) {
    if let Err(error) = remove(path) {
        tracing::warn!(path = %path.display(), "cannot remove an old experiment's directory: {error}");
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn workplace(state: &Path) -> Workplace {
        let experiment = ExperimentId(Uuid::from_u128(1));
        Workplace::of(state, &"boot".parse().unwrap(), None, experiment).unwrap()
    }

    #[test]
    fn a_working_directory_has_the_length_of_the_plan() {
        let state = tempfile::tempdir().unwrap();
        let place = workplace(state.path());
        let work = |length, drawn| {
            place.name_of_work(length, drawn).map(|name| place.new_work(&name).unwrap().as_os_str().len())
        };
        let as_is = work(SizeChoice::AsIs, None).unwrap();
        assert_eq!(work(SizeChoice::Random(99), Some(0)), Ok(as_is));
        assert_eq!(work(SizeChoice::Random(251), Some(251)), Ok(as_is + 251));
        let (least, most) = (as_is - 3, as_is + 251);
        for total in [least, least + 1, as_is, most] {
            let length = SizeChoice::Total(u32::try_from(total).unwrap());
            assert_eq!(work(length, None), Ok(total));
        }
        for total in [1, least - 1, most + 1, 4_095] {
            let unmet = work(SizeChoice::Total(u32::try_from(total).unwrap()), None).unwrap_err();
            assert_eq!(unmet.setting, Setting::DirectoryLength);
            assert!(unmet.reason.contains(&format!("{least} to {most} bytes")), "{}", unmet.reason);
        }
    }

    #[test]
    fn what_is_done_in_a_vacant_directory_is_seen() {
        let state = tempfile::tempdir().unwrap();
        let place = workplace(state.path());
        let work = place.new_work("work").unwrap();
        place.clear_work();
        assert_eq!(place.vacant(), None, "a change within the same second would not show");
        // As if it had been seen long ago.
        let settle = || {
            place.clear_work();
            let mut vacancy = place.vacancy.borrow_mut();
            let vacancy = vacancy.as_mut().unwrap();
            vacancy.since = Instant::now().checked_sub(2 * SETTLED).unwrap();
        };
        let clock = state.path().join("clock");
        let ticked = || {
            std::fs::write(&clock, "tick").unwrap();
            std::fs::metadata(&clock).unwrap().modified().unwrap()
        };
        let changes: [fn(&Path); 6] = [
            |work| std::fs::write(work.join("file"), "left").unwrap(),
            |work| std::fs::create_dir(work.join("directory")).unwrap(),
            |work| std::fs::set_permissions(work, Permissions::from_mode(0o700)).unwrap(),
            |work| std::fs::create_dir(work.with_file_name("w")).unwrap(),
            |work| std::fs::remove_dir(work).unwrap(),
            |work| std::fs::rename(work, work.with_file_name("work2")).unwrap(),
        ];
        for change in changes {
            settle();
            place.clear_work();
            assert_eq!(place.vacant().as_ref(), Some(&work));
            assert_eq!(place.new_work("work").unwrap(), work);
            // The file system's clock goes by ticks: the change is noted by a later one than the making.
            let made = ticked();
            while ticked() == made {}
            change(&work);
            assert_eq!(place.vacant(), None);
            place.clear_work();
            assert_eq!(place.new_work("work").unwrap(), work);
            assert_eq!(std::fs::read_dir(&work).unwrap().count(), 0);
            assert_eq!(place.works().unwrap(), std::slice::from_ref(&work));
        }
        assert_ne!(place.new_work("workx").unwrap(), work);
    }

    #[test]
    fn there_is_one_working_directory_at_a_time() {
        let state = tempfile::tempdir().unwrap();
        let place = workplace(state.path());
        // What a run left whose agent was killed.
        std::fs::write(place.new_work("workxxx").unwrap().join("file"), "left").unwrap();
        std::fs::write(place.input().join("word"), "kept").unwrap();
        let work = place.new_work("work").unwrap();
        assert_eq!(place.works().unwrap(), std::slice::from_ref(&work));
        std::fs::write(work.join("file"), "left").unwrap();
        place.clear_work();
        assert!(place.works().unwrap().is_empty() && place.input().join("word").exists());
        assert_eq!(std::fs::read_dir(place.new_work("work").unwrap()).unwrap().count(), 0, "it is new");
        place.clear_work();
        assert_eq!(
            place.works().unwrap(),
            std::slice::from_ref(&work),
            "nothing was left in it: the next run has it, too"
        );
        for mode in [0o000, 0o500, 0o1777] {
            std::fs::set_permissions(&work, Permissions::from_mode(mode)).unwrap();
            place.clear_work();
            assert!(place.works().unwrap().is_empty(), "{mode:o} is not what a new one has");
            place.new_work("work").unwrap();
        }
        std::fs::remove_dir(&work).unwrap();
        std::fs::write(&work, "a file in its place").unwrap();
        assert!(place.new_work("work").unwrap().is_dir());
    }
}
