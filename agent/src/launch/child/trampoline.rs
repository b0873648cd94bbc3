//! The trampoline: a process of a few pages from which the program starts, so that its peak memory is its own.
//!
//! At `execve` Linux counts the peak of the memory that a process replaces as the program's. A child that shares the
//! agent's memory would hand on the agent's; so, when all else is prepared, the child becomes a program of a page of
//! instructions, and that clones the *program's* process, which shares its memory instead:
//!
//! ```text
//! agent ── clone (CLONE_VM) ──► child: prepares itself ── execve ──► trampoline: sleeps until the run is over
//!   ▲                                                                   │ clone (CLONE_VM | CLONE_PARENT)
//!   └──── its id; "go" when the agent is about to sleep ────────────────┴──► leash, group, stamp, execve ──► program
//! ```
//!
//! The program is the agent's own child (`CLONE_PARENT`), has inherited what the child prepared, and takes for itself
//! what is not inherited: the leash and the process group. Its arguments and environment are those that the kernel laid
//! on the trampoline's stack. The trampoline stays, asleep: the program's `execve` would otherwise have to take its memory
//! down while the clock runs. It cannot be traced: the page on which the program's start is noted is mapped there.
//!
//! It is a process more. So it is not used where the plan bounds processes or open files, or where control groups or
//! counters would count it ([`is_for`]), nor where the host refuses to execute it; then the floor is the agent's peak.
#![expect(
    unsafe_code,
    reason = "maps the shared report, and reads the instructions that the assembler placed here"
)]

use std::{
    ffi::c_int, io, os::fd::AsFd as _, os::fd::AsRawFd as _, os::fd::BorrowedFd, os::fd::OwnedFd,
    os::fd::RawFd, ptr, ptr::NonNull, sync::atomic::AtomicBool, sync::atomic::Ordering, time::Duration,
};

use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::Pid;

use super::{executable::executable_in_memory, image::Image};
use crate::launch::{errno, preparation::Preparation, report::Report, signals::Blocked, signals::Polled};

/// Descriptors of the trampoline: its end of the release socket, the report, and, up to its `execve`, its own program.
const RELEASE: c_int = 3;
const REPORT: c_int = 4;
const PROGRAM: c_int = 5;
/// The first descriptor that it does not have. Those that become its own lie from here on.
const FIRST_FREE: c_int = 6;
/// More than a report takes, and no less than a page anywhere.
const PAGE: usize = 64 << 10;

/// The report of one run at a time, in memory that the agent shares with the trampoline.
#[derive(Debug)]
pub(in crate::launch) struct ReportPage {
    file: OwnedFd,
    base: NonNull<Report>,
}

impl ReportPage {
    pub(in crate::launch) fn new() -> io::Result<Self> {
        let file = high(&rustix::fs::memfd_create("speedup-report", MemfdFlags::CLOEXEC)?)?;
        rustix::fs::ftruncate(&file, PAGE as u64)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping aliases nothing; it is aligned to a page, and longer than a report.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), PAGE, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { file, base })
    }

    /// An empty report.
    pub(in crate::launch) fn clear(&mut self) {
        // SAFETY: the mapping is ours alone, for no run outlives its borrow of it, and a report needs no drop.
        unsafe { self.base.write(Report::default()) };
    }

    pub(in crate::launch) fn report(&self) -> &Report {
        // SAFETY: `new` maps zeroes, which are an empty report, and `clear` writes one. Other processes write atomics only,
        // before the program is there.
        unsafe { self.base.as_ref() }
    }
}

impl Drop for ReportPage {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(self.base.as_ptr().cast(), PAGE) };
    }
}

/// The trampoline's program, kept between runs.
#[derive(Debug)]
pub(in crate::launch) struct Trampoline {
    program: OwnedFd,
}

impl Trampoline {
    /// None on an architecture without instructions, or on a host that has no executable memory files.
    pub(in crate::launch) fn new() -> Option<Self> {
        let file = executable_in_memory(c"speedup-trampoline", code::trampoline()?).ok()?;
        Some(Self { program: high(&file).ok()? })
    }

    /// One use of it. Both ends of the release socket are open until the child is there.
    pub(in crate::launch) fn start(&self, page: &ReportPage) -> io::Result<TrampolineStart> {
        let (near, far) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let far = high(&far)?;
        let descriptors = TrampolineDescriptors {
            release: far.as_raw_fd(),
            report: page.file.as_raw_fd(),
            program: self.program.as_raw_fd(),
        };
        Ok(TrampolineStart { release: ReleaseSocket(near), far, descriptors })
    }
}

/// Whether a program that is prepared so may start from a trampoline, as far as the plan's limits go: it would be one more
/// process, and it needs descriptors of its own.
pub(in crate::launch) fn is_for(preparation: &Preparation) -> bool {
    preparation.limits.processes.is_none() && preparation.limits.open_files.is_none()
}

/// Whether an error in becoming the trampoline lies in the host, and not in the size of the command.
pub(in crate::launch) fn is_refused_by_host(error: &io::Error) -> bool {
    ![libc::E2BIG, libc::ENOMEM, libc::EAGAIN].map(Some).contains(&error.raw_os_error())
}

/// The same descriptor, out of the way of those that the trampoline has.
fn high(file: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(file, FIRST_FREE)?)
}

/// What the agent holds of one use of the trampoline.
#[derive(Debug)]
pub(in crate::launch) struct TrampolineStart {
    pub release: ReleaseSocket,
    pub far: OwnedFd,
    pub descriptors: TrampolineDescriptors,
}

/// The descriptors that the child passes on.
#[derive(Debug, Clone, Copy)]
pub(in crate::launch) struct TrampolineDescriptors {
    release: RawFd,
    report: RawFd,
    program: RawFd,
}

impl TrampolineDescriptors {
    /// Puts them where the trampoline looks for them, in the child, and returns the first descriptor that it does not need.
    pub(in crate::launch) fn take_in_child(self) -> rustix::io::Result<c_int> {
        for (from, to, flags) in
            [(self.release, RELEASE, 0), (self.report, REPORT, 0), (self.program, PROGRAM, libc::O_CLOEXEC)]
        {
            // SAFETY: takes numbers only; the child has its own table of descriptors.
            errno::check(unsafe { libc::syscall(libc::SYS_dup3, from, to, flags) })?;
        }
        Ok(FIRST_FREE)
    }

    /// Becomes the trampoline; returns only if that failed.
    pub(in crate::launch) fn execute(image: &Image) -> io::Error {
        let (argv, env) = (image.argv_after_program().as_ptr(), image.env().as_ptr());
        // SAFETY: an empty C string and two null-terminated vectors of such.
        unsafe {
            libc::syscall(libc::SYS_execveat, PROGRAM, c"".as_ptr(), argv, env, libc::AT_EMPTY_PATH);
        }
        io::Error::last_os_error()
    }
}

/// The agent's end of what it shares with the trampoline and the program's process.
#[derive(Debug)]
pub(in crate::launch) struct ReleaseSocket(OwnedFd);

impl ReleaseSocket {
    /// The program's process, when it waits to be let go. None if there is none: the child is gone or hangs, or the
    /// caller wants to stop.
    pub(in crate::launch) fn program(
        &self,
        blocked: &Blocked,
        stop: &AtomicBool,
        timeout: Duration,
    ) -> io::Result<Option<Pid>> {
        loop {
            match blocked.poll(self.as_fd(), Some(timeout))? {
                Polled::Ready => break,
                Polled::Elapsed => return Ok(None),
                Polled::Interrupted if stop.load(Ordering::Acquire) => return Ok(None),
                Polled::Interrupted => {}
            }
        }
        let mut id = [0; size_of::<libc::pid_t>()];
        // A peer that is gone has reset the connection, or ended it.
        let read = rustix::io::read(&self.0, &mut id).unwrap_or(0);
        Ok((read == id.len()).then(|| libc::pid_t::from_ne_bytes(id)).and_then(Pid::from_raw))
    }

    /// Lets the program's process go; one that is gone needs no telling.
    pub(in crate::launch) fn open(&self) {
        let _ = rustix::net::send(&self.0, &[1], SendFlags::NOSIGNAL);
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(target_arch = "x86_64")]
mod code {
    //! System calls: 0 `read`, 1 `write`, 3 `close`, 9 `mmap`, 34 `pause`, 39 `getpid`, 56 `clone`, 59 `execve`, 98 `getrusage`,
    //! 109 `setpgid`, 110 `getppid`, 157 `prctl`, 228 `clock_gettime`, 231 `exit_group`. A call keeps all registers but `rax`,
    //! `rcx` and `r11`. Neither process uses its stack: they share it. `r12` points to the program's path and, behind
    //! it, its arguments; `r13` to its environment; `r14` to the report.

    use std::mem::offset_of;

    use super::{RELEASE, REPORT, Report};
    use crate::launch::failure::LaunchStep;

    core::arch::global_asm!(
        ".pushsection .rodata.speedup_trampoline, \"a\", @progbits",
        ".globl speedup_trampoline, speedup_trampoline_end",
        ".hidden speedup_trampoline, speedup_trampoline_end",
        "speedup_trampoline:",
        "mov rbx, [rsp]",
        "lea r12, [rsp + 8]",
        "lea r13, [r12 + rbx * 8 + 8]",
        // mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, REPORT, 0)
        "xor edi, edi",
        "mov esi, 4096",
        "mov edx, 3",
        "mov r10d, 1",
        "mov r8d, {report}",
        "xor r9d, r9d",
        "mov eax, 9",
        "syscall",
        "test rax, rax",
        "js 9f",
        "mov r14, rax",
        // close(REPORT)
        "mov edi, {report}",
        "mov eax, 3",
        "syscall",
        // prctl(PR_SET_DUMPABLE, 0)
        "mov edi, 4",
        "xor esi, esi",
        "mov eax, 157",
        "syscall",
        // clone(CLONE_VM | CLONE_PARENT, the same stack, 0, 0, 0): the signal of its end is the trampoline's own
        "mov edi, 0x8100",
        "xor esi, esi",
        "xor edx, edx",
        "xor r10d, r10d",
        "xor r8d, r8d",
        "mov eax, 56",
        "syscall",
        "mov ebx, {trampoline}",
        "test rax, rax",
        "js 8f",
        "jz 3f",
        // The trampoline: closes what it has, and sleeps.
        "xor edi, edi",
        "mov eax, 3",
        "syscall",
        "mov edi, 1",
        "mov eax, 3",
        "syscall",
        "mov edi, 2",
        "mov eax, 3",
        "syscall",
        "mov edi, {release}",
        "mov eax, 3",
        "syscall",
        "2:",
        "mov eax, 34",
        "syscall",
        "jmp 2b",
        // The program's process: tells the agent its id, and waits to be let go.
        "3:",
        "mov eax, 39",
        "syscall",
        "mov [r14 + {program}], eax",
        "mov edi, {release}",
        "lea rsi, [r14 + {program}]",
        "mov edx, 4",
        "mov eax, 1",
        "syscall",
        "mov edi, {release}",
        "lea rsi, [r14 + {go}]",
        "mov edx, 1",
        "xor eax, eax",
        "syscall",
        "cmp rax, 1",
        "jne 9f",
        "mov edi, {release}",
        "mov eax, 3",
        "syscall",
        // prctl(PR_SET_PDEATHSIG, SIGKILL)
        "mov edi, 1",
        "mov esi, 9",
        "mov eax, 157",
        "syscall",
        "mov ebx, {leash}",
        "test rax, rax",
        "jnz 8f",
        "mov eax, 110",
        "syscall",
        "cmp eax, [r14 + {agent}]",
        "mov rax, -3", // ESRCH
        "jne 8f",
        // setpgid(0, 0)
        "xor edi, edi",
        "xor esi, esi",
        "mov eax, 109",
        "syscall",
        "mov ebx, {group}",
        "test rax, rax",
        "jnz 8f",
        // getrusage(RUSAGE_SELF, …)
        "xor edi, edi",
        "lea rsi, [r14 + {usage}]",
        "mov eax, 98",
        "syscall",
        // clock_gettime(CLOCK_MONOTONIC_RAW, …)
        "mov edi, 4",
        "lea rsi, [r14 + {clock}]",
        "mov eax, 228",
        "syscall",
        "imul rax, [r14 + {clock}], 1000000000",
        "add rax, [r14 + {clock} + 8]",
        "mov [r14 + {started}], rax",
        "mov rdi, [r12]",
        "lea rsi, [r12 + 8]",
        "mov rdx, r13",
        "mov eax, 59",
        "syscall",
        "mov ebx, {exec}",
        "8:",
        "neg eax",
        "mov [r14 + {errno}], eax",
        "mov byte ptr [r14 + {failed}], bl",
        "9:",
        "mov edi, 127",
        "mov eax, 231",
        "syscall",
        "speedup_trampoline_end:",
        ".popsection",
        report = const REPORT,
        release = const RELEASE,
        program = const offset_of!(Report, program),
        go = const offset_of!(Report, go),
        agent = const offset_of!(Report, agent),
        usage = const offset_of!(Report, usage_before),
        clock = const offset_of!(Report, clock),
        started = const offset_of!(Report, started_ns),
        errno = const offset_of!(Report, errno),
        failed = const offset_of!(Report, failed_step),
        leash = const LaunchStep::Leash as u8,
        group = const LaunchStep::Group as u8,
        exec = const LaunchStep::Exec as u8,
        trampoline = const LaunchStep::Trampoline as u8,
    );

    // SAFETY: the assembly above defines them.
    unsafe extern "C" {
        static speedup_trampoline: u8;
        static speedup_trampoline_end: u8;
    }

    pub(in crate::launch) fn trampoline() -> Option<&'static [u8]> {
        let (start, end) = (&raw const speedup_trampoline, &raw const speedup_trampoline_end);
        // SAFETY: both labels lie in one read-only section of this binary, the end behind the start.
        Some(unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) })
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod code {
    //! Nobody has written and tried the instructions for this architecture yet.

    pub(in crate::launch) fn trampoline() -> Option<&'static [u8]> {
        None
    }
}
