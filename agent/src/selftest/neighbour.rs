//! Busy neighbours: one for each CPU that this process may use, until they are dropped or it ends.
#![expect(unsafe_code, reason = "a neighbour asks for its parent's death signal between fork and execve")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid};

use super::program::MemoryProgram;
use crate::leash::end_with_parent;

/// Longer than any selftest: they are killed before.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// Processes that keep every CPU busy.
#[derive(Debug)]
pub(super) struct Neighbours {
    processes: Vec<Child>,
}

impl Neighbours {
    /// Starts them; none where this architecture has no busy program.
    pub(super) fn start() -> io::Result<Self> {
        let mut neighbours = Self { processes: Vec::new() };
        let Some(program) = MemoryProgram::busy(LONG)? else { return Ok(neighbours) };
        let parent = getpid();
        for _ in 0..std::thread::available_parallelism()?.get() {
            let mut command = Command::new(program.path());
            let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // SAFETY: two system calls, and an error that is a number.
            let leashed = unsafe { silent.pre_exec(move || Ok(end_with_parent(parent, Signal::KILL)?)) };
            neighbours.processes.push(leashed.spawn()?);
        }
        Ok(neighbours)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // One that has ended already is what is wanted.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
