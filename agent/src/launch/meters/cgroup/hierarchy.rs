//! Where the control groups of this host lie, and the agent's own in each hierarchy.

use std::{io, path::Path, path::PathBuf};

use speedup_core::experiment::metric::Absence;

use crate::launch::meters::{absence_of, unreadable};

/// The group into which the agent steps aside: a group of version 2 that hands controllers down may hold no processes of
/// its own.
const ASIDE: &str = "speedup-agent";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// A hierarchy for each controller.
    One,
    Two,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: Version,
    /// The agent's own group in it.
    pub(super) directory: PathBuf,
}

/// The hierarchies that know something of memory and CPU time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hierarchies {
    memory: Option<Hierarchy>,
    cpu: Option<Hierarchy>,
}

impl Hierarchies {
    /// Those that the agent sees. What cannot be read is not there.
    pub(super) fn of_this_process() -> Self {
        let read = |file| std::fs::read_to_string(file).unwrap_or_default();
        Self::from_texts(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    /// By the texts of `/proc/self/mountinfo` and `/proc/self/cgroup` (see `proc(5)` and `cgroups(7)`). A controller that
    /// version 1 has is not in version 2.
    fn from_texts(mounts: &str, memberships: &str) -> Self {
        let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
        let first = |controller: &str| {
            let mount = mounts.iter().find(|mount| mount.version == Version::One && mount.has(controller))?;
            mount.own_group(memberships, controller)
        };
        let second = || unified(&mounts, memberships);
        Self { memory: first("memory").or_else(second), cpu: first("cpuacct").or_else(second) }
    }

    /// Each once.
    pub(super) fn all(&self) -> impl Iterator<Item = &Hierarchy> {
        let other = self.cpu.as_ref().filter(|cpu| Some(*cpu) != self.memory.as_ref());
        self.memory.iter().chain(other)
    }

    /// The hierarchy that accounts memory, with that accounting switched on for groups beneath the agent's.
    pub(super) fn memory(&self) -> Result<&Hierarchy, Absence> {
        let hierarchy = self.memory.as_ref().ok_or(Absence::Unsupported)?;
        match hierarchy.version {
            Version::One => {}
            Version::Two => hand_down_memory(&hierarchy.directory)?,
        }
        Ok(hierarchy)
    }

    /// The hierarchy that accounts CPU time; with version 2 no controller is needed.
    pub(super) fn cpu(&self) -> Result<&Hierarchy, Absence> {
        self.cpu.as_ref().ok_or(Absence::Unsupported)
    }
}

/// The agent's own group of version 2, where it sees one.
pub(crate) fn own_unified_group() -> Option<PathBuf> {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let (mounts, memberships) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
    unified(&mounts, &memberships).map(|hierarchy| hierarchy.directory)
}

fn unified(mounts: &[Mount<'_>], memberships: &str) -> Option<Hierarchy> {
    let mut mounts = mounts.iter().filter(|mount| mount.version == Version::Two);
    mounts.find_map(|mount| mount.own_group(memberships, ""))
}

/// Makes the controller of memory available in the groups beneath this one.
fn hand_down_memory(directory: &Path) -> Result<(), Absence> {
    let list = |file: &str| {
        let text = std::fs::read_to_string(directory.join(file));
        text.map_err(|error| absence_of("read the controllers of the control group", &error))
    };
    let has_memory = |controllers: String| controllers.split_whitespace().any(|name| name == "memory");
    if has_memory(list("cgroup.subtree_control")?) {
        return Ok(());
    }
    if !has_memory(list("cgroup.controllers")?) {
        return Err(Absence::Unsupported);
    }
    let hand_down = || std::fs::write(directory.join("cgroup.subtree_control"), "+memory");
    match hand_down() {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            step_aside(directory)?;
            hand_down()
        }
        done => done,
    }
    .map_err(|error| absence_of("hand the memory controller down", &error))
}

/// Moves the agent into a group of its own beneath this one, if it is alone here: others are not ours to move.
fn step_aside(directory: &Path) -> Result<(), Absence> {
    let own = std::process::id().to_string();
    let inhabitants = std::fs::read_to_string(directory.join("cgroup.procs"));
    let inhabitants = inhabitants.map_err(|error| absence_of("see who is in the control group", &error))?;
    if inhabitants.split_whitespace().any(|pid| pid != own) {
        let reason =
            "the agent is not alone in its control group: start it in one of its own (systemd: Delegate=yes)";
        return Err(unreadable(reason.to_owned()));
    }
    let aside = directory.join(ASIDE);
    match std::fs::create_dir(&aside) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => std::fs::write(aside.join("cgroup.procs"), own),
    }
    .map_err(|error| absence_of("step aside in the control group", &error))
}

/// A line of `/proc/self/mountinfo` that is a hierarchy.
#[derive(Debug)]
struct Mount<'t> {
    version: Version,
    /// The group that is the mount's root.
    root: String,
    at: String,
    /// The controllers, among other options.
    options: &'t str,
}

impl<'t> Mount<'t> {
    /// `36 35 0:31 ROOT AT OPTIONS … - TYPE SOURCE SUPER_OPTIONS`.
    fn parse(line: &'t str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, at) = (unescaped(place.next()?), unescaped(place.next()?));
        let mut kind = kind.split(' ');
        let version = match kind.next()? {
            "cgroup" => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        Some(Self { version, root, at, options: kind.nth(1)? })
    }

    fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }

    /// The directory of the agent's group, whose path stands in a line `NUMBER:CONTROLLERS:PATH` of the memberships; the
    /// controllers are empty for version 2. A group outside of what is mounted has none.
    fn own_group(&self, memberships: &str, controller: &str) -> Option<Hierarchy> {
        let path = memberships.lines().find_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, path) = line.split_once(':')?;
            controllers.split(',').any(|name| name == controller).then_some(path)
        })?;
        let within = Path::new(path).strip_prefix(&self.root).ok()?;
        // A group above the root of the agent's cgroup namespace has a path that leads up.
        if within.components().any(|part| part == std::path::Component::ParentDir) {
            return None;
        }
        Some(Hierarchy { version: self.version, directory: Path::new(&self.at).join(within) })
    }
}

/// Spaces, tabs, line ends and backslashes stand as three octal digits after a backslash.
fn unescaped(text: &str) -> String {
    let pairs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    pairs.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(version: Version, directory: &str) -> Option<Hierarchy> {
        Some(Hierarchy { version, directory: directory.into() })
    }

    #[test]
    fn version_2_has_all_in_one() {
        let mounts = "24 18 0:22 / /proc rw - proc proc rw\n\
            29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let group = "/sys/fs/cgroup/system.slice/speedup.service";
        let found = Hierarchies::from_texts(mounts, "0::/system.slice/speedup.service\n");
        let two = at(Version::Two, group);
        assert_eq!(found, Hierarchies { memory: two.clone(), cpu: two });
        assert_eq!(found.all().count(), 1);
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each() {
        let mounts = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
            35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let memberships = "4:memory:/jobs/a:b\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/y\n";
        let found = Hierarchies::from_texts(mounts, memberships);
        let memory = at(Version::One, "/sys/fs/cgroup/memory/jobs/a:b");
        assert_eq!(found, Hierarchies { memory, cpu: at(Version::One, "/sys/fs/cgroup/cpu,cpuacct") });
        assert_eq!(found.all().count(), 2);
    }

    #[test]
    fn a_hybrid_host_has_each_controller_once() {
        let mounts = "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n\
            41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";
        let found = Hierarchies::from_texts(mounts, "4:memory:/m\n0::/u\n");
        let (memory, cpu) = (at(Version::One, "/cg/memory/m"), at(Version::Two, "/cg/unified/u"));
        assert_eq!(found, Hierarchies { memory, cpu });
    }

    #[test]
    fn a_container_sees_the_part_that_is_mounted() {
        let mounts =
            "35 31 0:32 /docker/17 /sys/fs/cgroup/memory\\040of\\134it ro - cgroup cgroup rw,memory\n";
        let found = Hierarchies::from_texts(mounts, "4:memory:/docker/17/agent\n");
        assert_eq!(found.memory, at(Version::One, "/sys/fs/cgroup/memory of\\it/agent"));
        assert_eq!(Hierarchies::from_texts(mounts, "4:memory:/elsewhere\n"), Hierarchies::default());
        let up = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(Hierarchies::from_texts(up, "0::/../other\n"), Hierarchies::default());
    }

    #[test]
    fn a_host_without_says_so() {
        let none = Hierarchies::from_texts("", "nonsense\n::\n");
        assert_eq!(none, Hierarchies::default());
        assert_eq!(none.memory(), Err(Absence::Unsupported));
        assert_eq!(none.cpu(), Err(Absence::Unsupported));
    }
}
