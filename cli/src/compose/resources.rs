//! What the shell and the disks leave to this process: looked at before anything starts, and named
//! where it runs out.
//!
//! Rust aborts where no memory is left, and panics where a thread does not start, so that others may
//! wait for that thread for ever. Here both end the process in words and with the exit code of the
//! infrastructure; what was acknowledged is durable by then.

#![expect(unsafe_code, reason = "the allocator, its settings and signal handlers have no safe interface")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{io, panic, thread};

use anyhow::{Context as _, anyhow};
use rustix::process::{Resource, geteuid, getrlimit};
use rustix::{fs::statvfs, stdio::stderr};
use speedup_core::value::hint::MARK;

use crate::exit::Exit;
use crate::exit::failure::{Failure, MORE_MEMORY, MORE_SPACE, MORE_THREADS};

/// Smallest stack: reading the command line overflows one of 512 KiB.
const STACK: u64 = 1 << 20;
/// Fewest open files: a command that embeds a coordinator has some 30, and so has its agent with a program.
const OPEN_FILES: u64 = 64;
/// Smallest limit on the size of files: a journal and a store of a thousand runs stay below it.
const FILE_SIZE: u64 = 1 << 20;
/// Smallest address space of a coordinator: an experiment of three runs takes 190 MiB, half of which is the program.
const ADDRESS_SPACE: u64 = 256 << 20;
/// Least free space on the disk of an agent: it writes a third of it before its first run.
pub(crate) const AGENT_SPACE: u64 = 1 << 20;
/// The same of a coordinator, and of an agent beside it.
pub(crate) const COORDINATOR_SPACE: u64 = 2 * AGENT_SPACE;
/// Threads of a coordinator besides those of the analysis, of which there is one for each processor: the event loop, what it may not
/// wait for, and the store.
const THREADS: usize = 16;

/// What a panic says where a thread could not be started, by the standard library, tokio, and the system.
const NOT_STARTED: [&str; 2] = ["thread", "Resource temporarily unavailable"];

/// The system's allocator, with a process that ends in words where no memory is left.
///
/// It also ends where the caller could have gone on without (`try_reserve`, by which the library reads files): an allocator is not
/// told. Whatever others send is bounded far below what is refused, so such a failure means that the process has no memory for its
/// own work either.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: every call goes to the system's allocator with the arguments that it came with.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what the system's allocator asks for.
        existing(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        existing(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        existing(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn existing(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end("no memory is left", MORE_MEMORY);
    }
    memory
}

/// Ends the process in words, for which it needs no memory.
#[cold]
fn end(words: &str, hint: &str) -> ! {
    for part in ["error: ", words, MARK, hint, "\n"] {
        let _ = rustix::io::write(stderr(), part.as_bytes());
    }
    // SAFETY: it ends the process at once.
    unsafe { libc::_exit(Exit::Infrastructure.code().into()) }
}

/// Checks the limit that every command needs, and has this process end in words where it meets another later.
pub(crate) fn prepare() -> Result<(), Failure> {
    fail_beyond_file_size();
    at_least(Resource::Stack, STACK, "the stack", 's')?;
    if getrlimit(Resource::As).current.is_some() {
        // Each further arena reserves 64 MiB.
        set_arenas(1);
    }
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let words = panic.payload_as_str().unwrap_or_default();
        if NOT_STARTED.iter().all(|part| words.contains(part)) {
            end("no more threads can be started", MORE_THREADS);
        }
        usual(panic);
    }));
    Ok(())
}

/// Has a write that would make a file too large fail, instead of the kernel ending the process. The programs that it starts are not
/// concerned: handlers do not outlast `execve`.
fn fail_beyond_file_size() {
    extern "C" fn pass(_: libc::c_int) {}
    let pass: extern "C" fn(libc::c_int) = pass;
    // SAFETY: zeroes are a valid sigaction; the handler does nothing, and a signal that was ignored stays ignored.
    unsafe {
        let mut before = std::mem::zeroed::<libc::sigaction>();
        libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &raw mut before);
        if before.sa_sigaction != libc::SIG_IGN {
            libc::signal(libc::SIGXFSZ, pass as libc::sighandler_t);
        }
    }
}

/// Has the threads of a service share as many arenas as there are processors.
///
/// glibc has eight times as many, and what is free in one is of no use to another: a service that lasts gathers it. A command that
/// exports as Parquet is a tenth to a fifth slower with so few.
pub(crate) fn share_heap() {
    if getrlimit(Resource::As).current.is_none() {
        set_arenas(processors());
    }
}

fn set_arenas(count: usize) {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it sets a number in the allocator, which takes its own lock.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, i32::try_from(count).unwrap_or(i32::MAX)) };
    }
    let _ = count;
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Checks the limits that an agent needs. Commands that only ask or show need none of them.
pub(crate) fn require_for_agent() -> Result<(), Failure> {
    at_least(Resource::Nofile, OPEN_FILES, "open files", 'n')?;
    at_least(Resource::Fsize, FILE_SIZE, "the size of files", 'f')
}

/// Checks the limits that a coordinator needs, its threads by starting as many.
pub(crate) fn require_for_coordinator() -> Result<(), Failure> {
    require_for_agent()?;
    at_least(Resource::As, ADDRESS_SPACE, "address space", 'v')?;
    let count = THREADS + processors();
    let started = start_threads(count).with_context(|| format!("cannot start {count} threads"));
    started.map_err(|error| Failure::infrastructure(error).hint(MORE_THREADS))
}

/// Starts threads, and ends them once all exist.
fn start_threads(count: usize) -> io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..count {
            thread::Builder::new().spawn_scoped(scope, || drop(gate.lock()))?;
        }
        Ok(())
    })
}

fn at_least(resource: Resource, least: u64, what: &str, flag: char) -> Result<(), Failure> {
    let Some(limit) = getrlimit(resource).current.filter(|limit| *limit < least) else { return Ok(()) };
    // Shells count open files one by one, most of the others in KiB, and some the size of files in blocks of 512 bytes.
    let (unit, word, count) = match flag {
        'n' => (1, "", least),
        'f' => (1 << 10, " KiB", least >> 9),
        _ => (1 << 10, " KiB", least >> 10),
    };
    let error = anyhow!(
        "the limit on {what} is {}{word}, and at least {}{word} are needed",
        limit / unit,
        least / unit
    );
    Err(Failure::infrastructure(error).hint(format!("raise it: `ulimit -{flag} {count}`")))
}

/// Checks that there is room on the disk of a directory, which may not exist yet.
pub(crate) fn require_space(directory: &Path, least: u64) -> Result<(), Failure> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| PathBuf::from(directory));
    // What cannot be looked at is told by whoever writes there.
    let Some(disk) = absolute.ancestors().find_map(|path| statvfs(path).ok()) else { return Ok(()) };
    let blocks = if geteuid().is_root() { disk.f_bfree } else { disk.f_bavail };
    let free = blocks.saturating_mul(disk.f_frsize);
    // Some file systems do not say how large they are.
    if disk.f_blocks == 0 || free >= least {
        return Ok(());
    }
    let error = anyhow!(
        "only {} KiB are free on the disk of {}, and at least {} KiB are needed",
        free >> 10,
        directory.display(),
        least >> 10
    );
    Err(Failure::infrastructure(error).hint(MORE_SPACE))
}
