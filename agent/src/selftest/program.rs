//! Programs of our own, as small as Linux allows: one that only exits, one that is busy for a given time.
//!
//! The host need not have a compiler: the instructions are assembled into this binary, and written as an
//! executable to memory when they are wanted. They use no C library and no page but their own, so nothing but
//! the kernel is timed.
#![expect(
    unsafe_code,
    reason = "reads instructions that the assembler placed in this binary; neighbours ask for a death signal"
)]

use std::process::{Child, Command, Stdio};
use std::{
    io, os::fd::AsRawFd as _, os::fd::OwnedFd, os::unix::process::CommandExt as _, path::PathBuf,
    time::Duration,
};

use rustix::process::{Signal, getpid};

use crate::launch::executable_in_memory;
use crate::leash::end_with_parent;

/// An executable in memory; its path is good while this value lives.
#[derive(Debug)]
pub struct MemoryProgram {
    path: PathBuf,
    _file: OwnedFd,
}

impl MemoryProgram {
    /// A program that only exits; none for this architecture.
    ///
    /// # Errors
    /// Those of making a file in memory.
    pub fn no_op() -> io::Result<Option<Self>> {
        code::no_op().map(|code| Self::of(c"speedup-no-op", code)).transpose()
    }

    /// A program that reads the raw monotonic clock again and again, and exits when it has gone `duration` on
    /// since the first reading; none for this architecture.
    ///
    /// # Errors
    /// Those of making a file in memory.
    pub fn busy(duration: Duration) -> io::Result<Option<Self>> {
        let Some(code) = code::busy() else { return Ok(None) };
        let wanted_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        // The code reads its duration from the eight bytes behind it.
        let code = [code, &wanted_ns.to_ne_bytes()].concat();
        Self::of(c"speedup-busy", &code).map(Some)
    }

    /// Where it can be executed from.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    fn of(name: &std::ffi::CStr, code: &[u8]) -> io::Result<Self> {
        let file = executable_in_memory(name, code)?;
        let pid = rustix::process::getpid().as_raw_nonzero();
        let path = PathBuf::from(format!("/proc/{pid}/fd/{}", file.as_raw_fd()));
        Ok(Self { path, _file: file })
    }
}

/// Longer than any selftest: they are killed before.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// Busy neighbours: one for each CPU that this process may use, until they are dropped or it ends.
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

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod code {
    //! The system calls are `clock_gettime`, of clock 4, the raw monotonic one, and `exit_group`: 228 and 231 on x86-64, 113
    //! and 94 on aarch64. A call keeps all registers that are used here but the one of its number and answer.

    #[cfg(target_arch = "x86_64")]
    core::arch::global_asm!(
        ".pushsection .rodata.speedup_selftest, \"a\", @progbits",
        ".globl speedup_no_op, speedup_no_op_end, speedup_busy, speedup_busy_end",
        ".hidden speedup_no_op, speedup_no_op_end, speedup_busy, speedup_busy_end",
        "speedup_no_op:",
        "mov eax, 231",
        "xor edi, edi",
        "syscall",
        "speedup_no_op_end:",
        "speedup_busy:",
        "sub rsp, 16",
        "mov r14, [rip + speedup_busy_end]",
        "mov edi, 4",
        "mov rsi, rsp",
        "mov eax, 228",
        "syscall",
        "imul r12, [rsp], 1000000000",
        "add r12, [rsp + 8]",
        "2:",
        "mov edi, 4",
        "mov rsi, rsp",
        "mov eax, 228",
        "syscall",
        "imul r13, [rsp], 1000000000",
        "add r13, [rsp + 8]",
        "sub r13, r12",
        "cmp r13, r14",
        "jb 2b",
        "mov eax, 231",
        "xor edi, edi",
        "syscall",
        "speedup_busy_end:",
        ".popsection",
    );

    #[cfg(target_arch = "aarch64")]
    core::arch::global_asm!(
        ".pushsection .rodata.speedup_selftest, \"a\", @progbits",
        ".balign 4",
        ".globl speedup_no_op, speedup_no_op_end, speedup_busy, speedup_busy_end",
        ".hidden speedup_no_op, speedup_no_op_end, speedup_busy, speedup_busy_end",
        "speedup_no_op:",
        "mov x8, #94",
        "mov x0, #0",
        "svc #0",
        "speedup_no_op_end:",
        "speedup_busy:",
        "sub sp, sp, #16",
        "adr x9, 3f",
        "ldr x20, [x9]",
        // 1 000 000 000
        "movz x12, #0xca00",
        "movk x12, #0x3b9a, lsl #16",
        "mov x0, #4",
        "mov x1, sp",
        "mov x8, #113",
        "svc #0",
        "ldp x10, x11, [sp]",
        "madd x21, x10, x12, x11",
        "2:",
        "mov x0, #4",
        "mov x1, sp",
        "mov x8, #113",
        "svc #0",
        "ldp x10, x11, [sp]",
        "madd x22, x10, x12, x11",
        "sub x22, x22, x21",
        "cmp x22, x20",
        "b.lo 2b",
        "mov x8, #94",
        "mov x0, #0",
        "svc #0",
        "3:",
        "speedup_busy_end:",
        ".popsection",
    );

    // SAFETY: the assembly above defines them.
    unsafe extern "C" {
        static speedup_no_op: u8;
        static speedup_no_op_end: u8;
        static speedup_busy: u8;
        static speedup_busy_end: u8;
    }

    pub(super) fn no_op() -> Option<&'static [u8]> {
        Some(between(&raw const speedup_no_op, &raw const speedup_no_op_end))
    }

    pub(super) fn busy() -> Option<&'static [u8]> {
        Some(between(&raw const speedup_busy, &raw const speedup_busy_end))
    }

    fn between(start: *const u8, end: *const u8) -> &'static [u8] {
        // SAFETY: both labels lie in one read-only section of this binary, the end behind the start.
        unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code {
    //! Nobody has written and tried the instructions for this architecture yet.

    pub(super) fn no_op() -> Option<&'static [u8]> {
        None
    }

    pub(super) fn busy() -> Option<&'static [u8]> {
        None
    }
}
