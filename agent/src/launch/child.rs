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
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

use rustix::process::{Pid, PidfdFlags, Signal};

use super::{
    cgroup::Groups, cgroup::MOST_GROUPS, clock, execution::Switches, failure::LaunchStep, image::Image,
    mark::Mark, preparation::Preparation, preparation::Trials, signals, stack::Stack, trampoline::Door,
    trampoline::Leap, trampoline::Places, usage, usage::Gone,
};
use crate::leash::end_with_parent;

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
    pub places: Option<Places>,
}

/// What the child writes for the agent, in the memory that they share. The trampoline's instructions know the places of
/// those that it uses.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Report {
    pub started_ns: AtomicU64,
    pub failed_step: AtomicU8,
    pub errno: AtomicI32,
    /// The program's parent, for the trampoline.
    pub agent: AtomicI32,
    /// The program's process, where it starts from a trampoline.
    pub program: AtomicI32,
    /// The byte that lets it go.
    pub go: AtomicU8,
    /// The clock as the kernel writes it there: seconds and nanoseconds.
    pub clock: [AtomicU64; 2],
    /// Its usage right before `execve`, as the kernel writes it there: 18 numbers on 64 bits.
    pub usage_before: [AtomicU64; 18],
    /// What was tried and failed.
    pub trials: Trials,
    /// Why control groups were not joined; 0 where they were.
    joining: [AtomicI32; MOST_GROUPS],
}

impl Report {
    /// When the clock started, if the child came that far.
    pub(super) fn started_ns(&self) -> Option<u64> {
        Some(self.started_ns.load(Ordering::Acquire)).filter(|&stamp| stamp != 0)
    }

    /// The step that failed, with its errno. To be asked when the child is gone.
    pub(super) fn failure(&self) -> Option<(LaunchStep, i32)> {
        let step = LaunchStep::from_code(self.failed_step.load(Ordering::Acquire))?;
        Some((step, self.errno.load(Ordering::Acquire)))
    }

    /// The context switches of the program's process before it was the program: its wait to be let go.
    pub(super) fn switches_before(&self) -> Switches {
        let [.., voluntary, involuntary] = &self.usage_before;
        let [voluntary, involuntary] = [voluntary, involuntary].map(|count| count.load(Ordering::Acquire));
        Switches { voluntary, involuntary }
    }

    /// Notes in the child that it could not join the control group of this number. That is no failure: it is measured
    /// without.
    pub(super) fn not_joined(&self, number: usize, errno: rustix::io::Errno) {
        if let Some(joining) = self.joining.get(number) {
            joining.store(errno.raw_os_error(), Ordering::Release);
        }
    }

    /// Why the control group of this number was not joined, if so. To be asked when the child is gone.
    pub(super) fn errno_of_joining(&self, number: usize) -> Option<i32> {
        let errno = self.joining.get(number)?.load(Ordering::Acquire);
        (errno != 0).then_some(errno)
    }
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
    door: Door,
}

/// Starts the child, lets `wait` sit by it, ends its process group, and reaps it. However `wait` returns, the
/// child is gone afterwards.
pub(super) fn run<T>(
    stack: &mut Stack,
    orders: &Orders<'_>,
    leap: Option<Leap>,
    program: impl FnOnce(&Door) -> io::Result<Option<Pid>>,
    wait: impl FnOnce(&Child) -> io::Result<T>,
) -> io::Result<(T, Gone)> {
    let mut child = start(stack, orders)?;
    if let Some(Leap { door, far, .. }) = leap {
        // The child has its own by now, and no other end may keep the door from closing.
        drop(far);
        child = child.leapt(door, program)?;
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

fn start(stack: &mut Stack, orders: &Orders<'_>) -> io::Result<Child> {
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
    // SAFETY: `start` passes its orders, which outlive the child.
    let orders = unsafe { &*argument.cast::<Orders<'_>>() };
    let (step, errno) = match prepare(orders) {
        Ok(()) => {
            let image = orders.image;
            signals::unblock_in_child();
            if orders.places.is_some() {
                let error = Places::execute(image);
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
    let first = orders.places.map(Places::take_in_child).transpose().map_err(at(LaunchStep::Trampoline))?;
    // Closed here rather than by `execve`, where the clock runs. Before Linux 5.9 there is no such call; then
    // `execve` closes them, for the agent opens everything close-on-exec.
    // SAFETY: the child has its own table of descriptors, and uses none of them from the first one on.
    unsafe { libc::syscall(libc::SYS_close_range, first.unwrap_or(3), u32::MAX, 0_u32) };
    Ok(())
}

impl Child {
    /// The program's process, when this one is its trampoline; this one itself, to be waited for, if it did not come so
    /// far.
    fn leapt(self, door: Door, program: impl FnOnce(&Door) -> io::Result<Option<Pid>>) -> io::Result<Self> {
        let Some(pid) = program(&door)? else { return Ok(self) };
        // It is a child of this process that nobody has reaped: its id is its own.
        let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
            // It ends by itself when nobody is at the door.
            drop(door);
            usage::wait4(pid)?;
            return Err(io::Error::other("the program's process cannot be held"));
        };
        Ok(Self { pid, pidfd, reaped: false, origin: Some(Origin { trampoline: Box::new(self), door }) })
    }

    /// Lets the program start, if it waits for that. To be called right before the wait.
    pub(super) fn let_go(&self) {
        if let Some(origin) = &self.origin {
            origin.door.open();
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
