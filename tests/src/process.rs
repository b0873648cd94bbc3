//! A process as the kernel shows it from outside.

use std::{collections::BTreeMap, path::PathBuf, process::Child};

/// A process that is not yet waited for.
#[derive(Clone, Debug)]
pub struct Process(PathBuf);

impl Process {
    /// That of a child.
    pub fn of(child: &Child) -> Self {
        Self(PathBuf::from(format!("/proc/{}", child.id())))
    }

    /// That of this id, which may be anybody's.
    pub fn of_id(id: i32) -> Self {
        Self(PathBuf::from(format!("/proc/{id}")))
    }

    /// The letter of its state, as in `proc_pid_stat(5)`; nothing when it is gone.
    pub fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(self.0.join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    /// Whether it has ended, reaped or not.
    pub fn has_ended(&self) -> bool {
        self.state().is_none_or(|state| matches!(state, 'Z' | 'X'))
    }

    /// The context switches of each thread so far, voluntary and not; nothing while one of them is not asleep.
    pub fn switches_asleep(&self) -> Option<BTreeMap<String, [String; 2]>> {
        let of_thread = |(id, status): (String, String)| {
            let field = |name: &str| {
                let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                value.map(|value| value.trim().to_owned())
            };
            let switches = [field("voluntary_ctxt_switches")?, field("nonvoluntary_ctxt_switches")?];
            field("State")?.starts_with('S').then_some((id, switches))
        };
        self.of_threads("status").into_iter().map(of_thread).collect()
    }

    /// The CPU time that it has used, without its children's, in hundredths of a second (`USER_HZ`).
    pub fn cpu_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(self.0.join("stat")).expect("a process that is there");
        let after_name = stat.rsplit_once(") ").expect("a name").1;
        let used = after_name.split_ascii_whitespace().skip(11).take(2);
        used.map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
    }

    /// The ids of its children, also of those that it adopted and of those that have ended and are not reaped.
    pub fn children(&self) -> Vec<String> {
        let texts = self.of_threads("children");
        texts.iter().flat_map(|(_, text)| text.split_whitespace()).map(str::to_owned).collect()
    }

    /// A file of each thread, with the thread's id. Threads that end meanwhile are left out.
    fn of_threads(&self, file: &str) -> Vec<(String, String)> {
        let threads = std::fs::read_dir(self.0.join("task")).expect("a process that is there");
        let of_thread = |entry: std::fs::DirEntry| {
            let text = std::fs::read_to_string(entry.path().join(file)).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), text))
        };
        threads.flatten().filter_map(of_thread).collect()
    }
}

/// A child that is killed when this is dropped.
#[derive(Debug)]
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
