//! Signals kept off while a child shares the agent's memory, and let in only inside the wait.
#![expect(unsafe_code, reason = "signal masks, handlers and ppoll with a mask have no safe interface")]

use std::{
    io, mem, mem::MaybeUninit, os::fd::AsRawFd, os::fd::BorrowedFd, ptr, sync::Once, sync::atomic::AtomicU32,
    sync::atomic::Ordering, time::Duration,
};

use rustix::process::Pid;

/// How many signals the kernel has, on every architecture that Rust has Linux for but MIPS, where the call
/// below that is told the size of the set fails and changes nothing.
const SIGNALS: usize = 64;

/// How often this process was continued.
static CONTINUED: AtomicU32 = AtomicU32::new(0);

/// All signals are blocked on this thread until it is dropped. The child inherits that, so no handler of the
/// agent can run in it.
#[derive(Debug)]
pub(super) struct Blocked {
    before: libc::sigset_t,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Polled {
    Ready,
    Elapsed,
    Interrupted,
}

impl Blocked {
    pub(super) fn all() -> Self {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigfillset fills the set it is given; pthread_sigmask reads that set, writes the old mask,
        // and fails only on an unknown first argument.
        let before = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        };
        Self { before }
    }

    /// Sleeps until the descriptor is readable, with the signals let in as they were before. They are let in
    /// and the sleep begins at once, so that a signal in between cannot be lost. Only SIGCHLD stays out: an
    /// orphan that the agent adopts and that ends must not wake it.
    pub(super) fn poll(&self, fd: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<Polled> {
        let mut mask = self.before;
        // SAFETY: the mask is an initialised set of our own.
        unsafe { libc::sigaddset(&raw mut mask, libc::SIGCHLD) };
        let timeout = timeout.map(|timeout| libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, and a time and a mask that outlive the call.
        let ready = unsafe { libc::ppoll(&raw mut entry, 1, timeout, &raw const mask) };
        match ready {
            0 => Ok(Polled::Elapsed),
            1.. => Ok(Polled::Ready),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(Polled::Interrupted),
                error => Err(error),
            },
        }
    }
}

impl Blocked {
    /// The signal that stopped a child of this process since all signals were blocked, taken from the SIGCHLD that waits
    /// since then. Of several that came only the first waits.
    pub(super) fn stop_of(&self, child: Pid) -> Option<u8> {
        let mut only = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: zeroes are a valid siginfo.
        let mut info = unsafe { mem::zeroed::<libc::siginfo_t>() };
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: sigemptyset fills the set it is given; sigtimedwait reads that set and the time, and writes the siginfo.
        let taken = unsafe {
            libc::sigemptyset(only.as_mut_ptr());
            libc::sigaddset(only.as_mut_ptr(), libc::SIGCHLD);
            libc::sigtimedwait(only.as_ptr(), &raw mut info, &raw const at_once)
        };
        // SAFETY: a siginfo of SIGCHLD has these fields.
        let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
        let is_its = taken == libc::SIGCHLD && info.si_code == libc::CLD_STOPPED;
        (is_its && pid == child.as_raw_nonzero().get()).then(|| u8::try_from(status).unwrap_or(u8::MAX))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: puts back the mask that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}

/// Counts from now on how often this process is continued.
pub(super) fn count_continuations() -> io::Result<()> {
    static ONCE: Once = Once::new();
    let mut done = Ok(());
    ONCE.call_once(|| {
        let count = || {
            CONTINUED.fetch_add(1, Ordering::Relaxed);
        };
        // SAFETY: the action adds to an atomic, which is allowed in a signal handler, and does nothing else.
        done = unsafe { signal_hook_registry::register(libc::SIGCONT, count) }.map(drop);
    });
    done
}

/// How often this process was continued so far. A signal that is kept off is counted when it is let in.
pub(super) fn continued() -> u32 {
    CONTINUED.load(Ordering::Relaxed)
}

/// Gives every signal its default action. For the child only: `execve` would keep what the agent ignores
/// (Rust ignores SIGPIPE). Straight to the kernel, for the C library keeps two signals to itself, and an
/// agent may have been started with those ignored.
pub(super) fn reset_in_child() {
    /// At least the size of the kernel's structure, of which all zeroes are the default action.
    static DEFAULT: [u64; 8] = [0; 8];
    for signal in 1..=SIGNALS {
        // SAFETY: the kernel reads its structure from the zeroes and writes nothing. The child has its own
        // table of actions, for it is cloned without CLONE_SIGHAND. SIGKILL and SIGSTOP are refused, and have
        // their defaults.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                DEFAULT.as_ptr(),
                ptr::null_mut::<u64>(),
                SIGNALS / 8,
            )
        };
    }
}

/// Lets all signals in; done last, when none has a handler of the agent.
pub(super) fn unblock_in_child() {
    // SAFETY: as above: an empty set of our own.
    unsafe {
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

/// Whether ended children vanish by themselves, with their exit code and usage, because SIGCHLD is ignored
/// (an agent started by a program that does so inherits it), and no more after this.
pub(super) fn keep_ended_children() {
    // SAFETY: reads the action for SIGCHLD into a sigaction of our own and, if it is to discard, sets the
    // default one.
    unsafe {
        let mut action = mem::zeroed::<libc::sigaction>();
        libc::sigaction(libc::SIGCHLD, ptr::null(), &raw mut action);
        if action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0 {
            let default = mem::zeroed::<libc::sigaction>();
            libc::sigaction(libc::SIGCHLD, &raw const default, ptr::null_mut());
        }
    }
}
