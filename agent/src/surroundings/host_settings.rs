//! Settings of the whole host: governor, turbo, transparent huge pages. They are held while a plan wants them, and put
//! back afterwards.
//!
//! What was there before is written to a file, and synced, before anything is changed. It is read at the next start, so
//! that also an agent that was killed leaves the host as it found it. A boot undoes everything by itself; so the file
//! names the boot.

use std::{fs, io, path::Component, path::Path, path::PathBuf};

use speedup_core::experiment::environment::{HugePages, Setting};
use speedup_core::run::conditions::Unmet;
use speedup_core::value::cpu_set::CpuSet;
use speedup_core::value::id::BootId;
use speedup_journal::private::replace;

use super::file::{line, list};

/// The first line of the file: what it is, and of which version.
const HEAD: &str = "speedup host settings 1";
/// Most bytes of the file: some hundred bytes for each of a host's frequency policies.
const MAX_FILE_BYTES: u64 = 1 << 20;
const HUGE_PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";
const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The governor of the CPUs.
    pub(super) governor: Option<String>,
    /// Whether they may exceed their nominal frequency.
    pub(super) turbo: Option<bool>,
    /// Transparent huge pages; [`HugePages::Never`] is the program's own and not wanted here.
    pub(super) huge_pages: Option<HugePages>,
    pub(super) cpus: CpuSet,
}

#[derive(Debug)]
pub(super) struct HostSettings {
    root: PathBuf,
    file: PathBuf,
    boot: BootId,
    wanted: Option<Wanted>,
    /// What was there before, in the order of the changes.
    before: Vec<Knob>,
}

/// A file of the kernel with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Knob {
    path: PathBuf,
    value: String,
}

impl HostSettings {
    /// Puts back what an earlier start of the agent has left.
    pub(super) fn open(root: &Path, state: &Path, boot: &BootId) -> Self {
        let file = state.join("host-settings");
        let mut settings =
            Self { root: root.to_owned(), file, boot: boot.clone(), wanted: None, before: Vec::new() };
        match settings.read() {
            Ok(left) if left.is_empty() => {}
            Ok(left) => {
                tracing::info!("restoring settings of the host that an earlier agent left changed");
                settings.before = left;
                settings.release();
            }
            Err(error) => {
                tracing::warn!(file = %settings.file.display(), "cannot read the saved settings of the host: {error}");
            }
        }
        settings
    }

    /// Whether anything of the host is changed.
    pub(super) fn are_changed(&self) -> bool {
        !self.before.is_empty()
    }

    /// Sees to it that the host has what is wanted, and says what it has not.
    pub(super) fn hold(&mut self, wanted: &Wanted) -> Vec<Unmet> {
        if self.wanted.as_ref().is_some_and(|held| held != wanted) {
            self.release();
        }
        self.wanted = Some(wanted.clone());
        let mut unmet = Vec::new();
        for (setting, knobs) in self.knobs(wanted) {
            let set = knobs.and_then(|knobs| knobs.iter().try_for_each(|knob| self.turn(knob)));
            unmet.extend(set.err().map(|reason| Unmet { setting, reason }));
        }
        unmet
    }

    /// Puts everything back as it was.
    pub(super) fn release(&mut self) {
        self.wanted = None;
        if self.before.is_empty() {
            return;
        }
        while let Some(knob) = self.before.pop() {
            if let Err(error) = fs::write(self.root.join(&knob.path), &knob.value) {
                tracing::warn!(file = %knob.path.display(), value = knob.value, "cannot restore a setting of the host: \
                    {error}");
            }
        }
        if let Err(error) = fs::remove_file(&self.file) {
            tracing::warn!(file = %self.file.display(), "cannot remove: {error}");
        }
    }

    /// The knobs of each setting with the values wanted, or why there is none.
    fn knobs(&self, wanted: &Wanted) -> Vec<(Setting, Result<Vec<Knob>, String>)> {
        let one = |path: &str, value: &str| Knob { path: path.into(), value: value.to_owned() };
        let governor = wanted.governor.as_ref().map(|governor| {
            let knobs = self.policies(&wanted.cpus, "scaling_governor", governor);
            let none = "this host has no frequency governors";
            (Setting::Governor, if knobs.is_empty() { Err(none.to_owned()) } else { Ok(knobs) })
        });
        let turbo = wanted.turbo.map(|turbo| {
            let (on, off) = if turbo { ("1", "0") } else { ("0", "1") };
            let boost = format!("{CPUFREQ}/boost");
            let knobs = if self.has(NO_TURBO) {
                vec![one(NO_TURBO, off)]
            } else if self.has(&boost) {
                vec![one(&boost, on)]
            } else {
                self.policies(&wanted.cpus, "boost", on)
            };
            let none = "this host does not report turbo";
            (Setting::Turbo, if knobs.is_empty() { Err(none.to_owned()) } else { Ok(knobs) })
        });
        let huge_pages = wanted.huge_pages.map(|pages| {
            let none = "this host has no transparent huge pages".to_owned();
            let knob = self.has(HUGE_PAGES).then(|| vec![one(HUGE_PAGES, pages.name())]);
            (Setting::HugePages, knob.ok_or(none))
        });
        [huge_pages, governor, turbo].into_iter().flatten().collect()
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// A file of each frequency policy that rules one of the CPUs.
    fn policies(&self, cpus: &CpuSet, file: &str, value: &str) -> Vec<Knob> {
        let Ok(entries) = fs::read_dir(self.root.join(CPUFREQ)) else { return Vec::new() };
        let rules_one = |directory: &Path| {
            let ruled = ["affected_cpus", "related_cpus"].iter().find_map(|file| list(&directory.join(file)));
            ruled.is_some_and(|ruled| !ruled.within(cpus).is_empty())
        };
        let mut knobs: Vec<Knob> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("policy"))
            .filter(|entry| rules_one(&entry.path()) && entry.path().join(file).exists())
            .map(|entry| Knob {
                path: Path::new(CPUFREQ).join(entry.file_name()).join(file),
                value: value.to_owned(),
            })
            .collect();
        knobs.sort_by(|one, other| one.path.cmp(&other.path));
        knobs
    }

    /// Sets a knob if it is not set so, and looks whether it is then.
    fn turn(&mut self, knob: &Knob) -> Result<(), String> {
        let path = self.root.join(&knob.path);
        let name = knob.path.display();
        let current = value(&path).ok_or_else(|| format!("{name} cannot be read"))?;
        if current == knob.value {
            return Ok(());
        }
        let is_known = self.before.iter().any(|before| before.path == knob.path);
        if !is_known {
            self.before.push(Knob { path: knob.path.clone(), value: current.clone() });
            self.write().map_err(|error| {
                self.before.pop();
                format!("{name} is {current}, and cannot be saved for restoring: {error}")
            })?;
        }
        let refused = |error| format!("{name} is {current} and cannot be set to {}: {error}", knob.value);
        fs::write(&path, &knob.value).map_err(refused)?;
        match value(&path) {
            Some(now) if now == knob.value => Ok(()),
            now => {
                Err(format!("{name} is {} after {} was written to it", now.unwrap_or_default(), knob.value))
            }
        }
    }

    /// Writes what was there before, whole or not at all.
    fn write(&self) -> io::Result<()> {
        let knob = |knob: &Knob| format!("{} {}\n", knob.value, knob.path.display());
        let lines: String = self.before.iter().map(knob).collect();
        replace(&self.file, format!("{HEAD}\n{}\n{lines}", self.boot).as_bytes())
    }

    /// What an earlier start has written in this boot, if anything.
    fn read(&self) -> io::Result<Vec<Knob>> {
        match fs::metadata(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Ok(there) if there.len() > MAX_FILE_BYTES => return Err(invalid("the file is too long")),
            other => other.map(drop)?,
        }
        let text = fs::read_to_string(&self.file)?;
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(invalid("the file is of another release"));
        }
        if lines.next() != Some(self.boot.as_str()) {
            fs::remove_file(&self.file)?;
            return Ok(Vec::new());
        }
        lines
            .map(|line| knob_of(line).ok_or_else(|| invalid("the file has a line that is no setting")))
            .collect()
    }
}

impl Drop for HostSettings {
    fn drop(&mut self) {
        self.release();
    }
}

/// A line of the file. It names a file of the kernel and nothing else, whoever wrote it.
fn knob_of(line: &str) -> Option<Knob> {
    let (value, path) = line.split_once(' ')?;
    let path = PathBuf::from(path);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && path.starts_with("sys")).then(|| Knob { path, value: value.to_owned() })
}

/// The value of a knob: the word in brackets where the file lists all that are possible.
fn value(path: &Path) -> Option<String> {
    let line = line(path)?;
    let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Some(chosen.map_or(line.clone(), |(chosen, _)| chosen.to_owned()))
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
