//! From clone to `execve`, and the last word of `wait4`.
//!
//! The child shares the agent's memory until it becomes the program (`CLONE_VM`, as `posix_spawn` does), so
//! that its start costs the same whatever the agent's size. Unlike `posix_spawn` it does not suspend the
//! agent meanwhile (`CLONE_VFORK`): the agent would be woken by the `execve`, that is just after the clock
//! has started, only to go back to sleep. As it is, the agent is usually asleep in its wait before the clock
//! starts. What the child needs and reports stays in place until it is gone; [`run`] sees to that.
//!
//! Where there is a [trampoline](super::trampoline), the child becomes that, and the program's process starts from there.
#![expect(unsafe_code, reason = "clone, execve and close_range have no safe interface")]

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr;
use std::sync::atomic::Ordering;

use rustix::process::{Pid, PidfdFlags, Signal};

use super::{
    clock, command::LaunchCommand, failure::LaunchError, failure::LaunchStep, meters::cgroup::Groups,
    preparation::Preparation, report::Report, signals, stack::Stack, survivors::Mark, usage, usage::Gone,
};
use crate::leash::end_with_parent;

mod executable;
mod image;
mod trampoline;

pub(crate) use executable::executable_in_memory;
pub(super) use image::Image;
pub(crate) use image::program_of;
use trampoline::TrampolineDescriptors;
pub(super) use trampoline::{
    ReleaseSocket, ReportPage, Trampoline, TrampolineStart, is_for, is_refused_by_host,
};

/// All that the child does, prepared so that it need not allocate.
#[derive(Debug)]
pub(super) struct Orders<'a> {
    pub image: &'a Image,
    pub preparation: &'a Preparation,
    pub stdin: BorrowedFd<'a>,
    pub stdout: BorrowedFd<'a>,
    pub stderr: BorrowedFd<'a>,
    pub mark: Mark,
    pub groups: &'a Groups,
    /// Its parent: if that is another by then, the agent is gone.
    pub agent: Pid,
    pub report: &'a Report,
    /// What it passes on to the trampoline, if it is to become one.
    pub descriptors: Option<TrampolineDescriptors>,
}

/// A child that is not yet reaped: until then its id is its own.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    reaped: bool,
    /// What it started from, if it did not come from the agent itself.
    origin: Option<Origin>,
}

/// A trampoline, which lives as long as the program's process is not reaped.
#[derive(Debug)]
struct Origin {
    trampoline: Box<Child>,
    release: ReleaseSocket,
}

/// Starts the child, lets `wait` sit by it, ends its process group, and reaps it. However `wait` returns, the
/// child is gone afterwards.
pub(super) fn run<T>(
    stack: &mut Stack,
    orders: &Orders<'_>,
    start: Option<TrampolineStart>,
    program: impl FnOnce(&ReleaseSocket) -> io::Result<Option<Pid>>,
    wait: impl FnOnce(&Child) -> io::Result<T>,
) -> io::Result<(T, Gone)> {
    let mut child = clone_child(stack, orders)?;
    if let Some(TrampolineStart { release, far, .. }) = start {
        // The child has its own by now, and no other end may keep the socket from closing.
        drop(far);
        child = child.into_program(release, program)?;
    }
    let seen = wait(&child)?;
    // It ends while the program's process is reaped.
    let origin = child.origin.take().map(|Origin { trampoline, .. }| {
        let floor_bytes = usage::peak_of(trampoline.pid);
        trampoline.signal_group(Signal::KILL);
        (trampoline, floor_bytes)
    });
    // Before it is reaped, while the group's id cannot be another's yet.
    child.signal_group(Signal::KILL);
    let mut gone = usage::wait4(child.pid)?;
    child.reaped = true;
    if let Some((mut trampoline, floor_bytes)) = origin {
        usage::wait4(trampoline.pid)?;
        trampoline.reaped = true;
        gone.floor_bytes = floor_bytes;
        gone.usage.switches = gone.usage.switches.since(orders.report.switches_before());
    }
    Ok((seen, gone))
}

fn clone_child(stack: &mut Stack, orders: &Orders<'_>) -> io::Result<Child> {
    let flags = libc::CLONE_VM | libc::CLONE_PIDFD | libc::SIGCHLD;
    let argument = ptr::from_ref(orders).cast::<c_void>().cast_mut();
    let mut pidfd: c_int = -1;
    // SAFETY: the child runs `become_program` on a stack of its own with a guard page, and only reads
    // `orders`, but for the report's atomics. `run` holds the borrows of both until the child is reaped, by
    // `Child`'s drop if need be. The two share this thread's errno: the child reads it only after its own
    // failing call, and the agent makes no failing call through libc meanwhile but a ppoll that a signal
    // interrupts; then the worst is a wrong errno for a run that is being stopped.
    let pid = unsafe { libc::clone(become_program, stack.top(), flags, argument, &raw mut pidfd) };
    let Some(pid) = Some(pid).filter(|&pid| pid > 0).and_then(Pid::from_raw) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: the kernel has just made this descriptor for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Child { pid, pidfd, reaped: false, origin: None })
}

/// The child's whole life before the program. Nothing here allocates, locks or panics: it would do so in the
/// agent.
extern "C" fn become_program(argument: *mut c_void) -> c_int {
    // SAFETY: `clone_child` passes its orders, which outlive the child.
    let orders = unsafe { &*argument.cast::<Orders<'_>>() };
    let (step, errno) = match prepare(orders) {
        Ok(()) => {
            let image = orders.image;
            signals::unblock_in_child();
            if orders.descriptors.is_some() {
                let error = TrampolineDescriptors::execute(image);
                (LaunchStep::Trampoline, error.raw_os_error().unwrap_or(0))
            } else {
                orders.report.started_ns.store(clock::now_ns(), Ordering::Release);
                // SAFETY: a C string and two null-terminated vectors of such; it returns only if it failed.
                unsafe {
                    libc::execve(image.program_c().as_ptr(), image.argv().as_ptr(), image.env().as_ptr())
                };
                (LaunchStep::Exec, io::Error::last_os_error().raw_os_error().unwrap_or(0))
            }
        }
        Err((step, errno)) => (step, errno.raw_os_error()),
    };
    orders.report.errno.store(errno, Ordering::Release);
    orders.report.failed_step.store(step as u8, Ordering::Release);
    // SAFETY: ends the child without running the agent's exit handlers.
    unsafe { libc::_exit(127) }
}

fn prepare(orders: &Orders<'_>) -> Result<(), (LaunchStep, rustix::io::Errno)> {
    let at = |step| move |errno| (step, errno);
    orders.preparation.apply_in_child(&orders.report.trials)?;
    // Kernels before 5.16 ask whether the one who writes may, not whether the one who opened might.
    orders.groups.join_in_child(orders.report);
    orders.preparation.become_user_in_child()?;
    // Not before the change of user, which would undo it.
    end_with_parent(orders.agent, Signal::KILL).map_err(at(LaunchStep::Leash))?;
    rustix::process::setpgid(None, None).map_err(at(LaunchStep::Group))?;
    signals::reset_in_child();
    orders.mark.set_in_child().map_err(at(LaunchStep::Mark))?;
    rustix::thread::set_no_new_privs(true).map_err(at(LaunchStep::Privileges))?;
    rustix::process::chdir(orders.image.directory_c()).map_err(at(LaunchStep::Directory))?;
    rustix::stdio::dup2_stdin(orders.stdin).map_err(at(LaunchStep::Streams))?;
    rustix::stdio::dup2_stdout(orders.stdout).map_err(at(LaunchStep::Streams))?;
    rustix::stdio::dup2_stderr(orders.stderr).map_err(at(LaunchStep::Streams))?;
    let first = orders
        .descriptors
        .map(TrampolineDescriptors::take_in_child)
        .transpose()
        .map_err(at(LaunchStep::Trampoline))?;
    // Closed here rather than by `execve`, where the clock runs. Before Linux 5.9 there is no such call; then
    // `execve` closes them, for the agent opens everything close-on-exec.
    // SAFETY: the child has its own table of descriptors, and uses none of them from the first one on.
    unsafe { libc::syscall(libc::SYS_close_range, first.unwrap_or(3), u32::MAX, 0_u32) };
    Ok(())
}

impl Child {
    /// The program's process, when this one is its trampoline; this one itself, to be waited for, if it did not come so
    /// far.
    fn into_program(
        self,
        release: ReleaseSocket,
        program: impl FnOnce(&ReleaseSocket) -> io::Result<Option<Pid>>,
    ) -> io::Result<Self> {
        let Some(pid) = program(&release)? else { return Ok(self) };
        // It is a child of this process that nobody has reaped: its id is its own.
        let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
            // It ends by itself once the release socket is closed.
            drop(release);
            usage::wait4(pid)?;
            return Err(io::Error::other("the program's process cannot be held"));
        };
        Ok(Self { pid, pidfd, reaped: false, origin: Some(Origin { trampoline: Box::new(self), release }) })
    }

    /// Lets the program start, if it waits for that. To be called right before the wait.
    pub(super) fn let_go(&self) {
        if let Some(origin) = &self.origin {
            origin.release.open();
        }
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends to the child's process group, and to the child itself if it is not in that group yet, or no
    /// more.
    pub(super) fn signal_group(&self, signal: Signal) {
        // A process or group that is gone needs no signal, and there is no other way to fail.
        let reached = rustix::process::kill_process_group(self.pid, signal).is_ok();
        if !reached || rustix::process::getpgid(Some(self.pid)) != Ok(self.pid) {
            let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal_group(Signal::KILL);
            let _ = usage::wait4(self.pid);
        }
    }
}

/// The error for a step that failed in the child.
pub(super) fn classify(step: LaunchStep, errno: i32, command: &LaunchCommand, image: &Image) -> LaunchError {
    let source = io::Error::from_raw_os_error(errno);
    let program = image.program().to_owned();
    match step {
        LaunchStep::Directory => LaunchError::Directory { directory: command.directory.clone(), source },
        LaunchStep::Exec => match errno {
            libc::ENOENT if exists(&command.directory, &program) => {
                LaunchError::Interpreter { program, source }
            }
            libc::ENOENT | libc::ENOTDIR => LaunchError::NotFound { program },
            libc::EACCES | libc::EPERM => LaunchError::NotExecutable { program, source },
            libc::ENOEXEC => LaunchError::Format { program, source },
            _ => LaunchError::Step { program, step, source },
        },
        LaunchStep::Affinity
        | LaunchStep::Scheduler
        | LaunchStep::Priority
        | LaunchStep::AddressSpace
        | LaunchStep::ResourceLimits
        | LaunchStep::User
        | LaunchStep::Leash
        | LaunchStep::Group
        | LaunchStep::Mark
        | LaunchStep::Privileges
        | LaunchStep::Streams
        | LaunchStep::Trampoline => LaunchError::Step { program, step, source },
    }
}

fn exists(directory: &Path, program: &Path) -> bool {
    directory.join(program).exists()
}
