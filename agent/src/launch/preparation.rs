//! How the program is to execute: what the child does to itself between clone and `execve`, before the clock.
//!
//! A setting is either insisted on, and then its failure is the launch's, or tried: then the program executes all the
//! same, and what failed is told. The user is always insisted on.
#![expect(
    unsafe_code,
    reason = "scheduling, personality and limits of the child, without the C library's threads"
)]

use std::{ptr, sync::atomic::AtomicI32, sync::atomic::Ordering};

use rustix::io::Errno;
use speedup_core::experiment::environment::{ResourceLimits, Scheduler};

mod affinity;
mod huge_pages;
mod user;

pub use affinity::{CpuMask, allowed};
pub use huge_pages::NoHugePages;
pub use user::{User, UserError, settle_name_service};

use super::{errno, failure::LaunchStep};

/// How the program is to execute. What is absent stays as the agent has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preparation {
    pub cpus: Option<CpuMask>,
    pub scheduler: Option<Scheduler>,
    pub nice: Option<i8>,
    /// Whether its address space is randomised.
    pub aslr: Option<bool>,
    pub limits: ResourceLimits,
    pub user: Option<User>,
    /// Whether a setting that fails ends the launch.
    pub strict: bool,
}

/// A step that was tried and failed, while the program executed all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedStep {
    pub step: LaunchStep,
    pub errno: i32,
}

/// The steps that may fail, in their order.
const TRIED: [LaunchStep; 5] = [
    LaunchStep::Affinity,
    LaunchStep::Scheduler,
    LaunchStep::Priority,
    LaunchStep::AddressSpace,
    LaunchStep::ResourceLimits,
];

/// Where the child writes what failed, in the memory that it shares with the agent. Zero is no error.
#[derive(Debug, Default)]
pub(super) struct Trials([AtomicI32; TRIED.len()]);

impl Trials {
    pub(super) fn failed(&self) -> Vec<FailedStep> {
        let errnos = self.0.iter().map(|errno| errno.load(Ordering::Acquire));
        let steps = TRIED.into_iter().zip(errnos).filter(|(_, errno)| *errno != 0);
        steps.map(|(step, errno)| FailedStep { step, errno }).collect()
    }
}

impl Preparation {
    /// All but the user. Safe to call between clone and `execve`: it neither allocates nor locks.
    pub(super) fn apply_in_child(&self, trials: &Trials) -> Result<(), (LaunchStep, Errno)> {
        let results = [
            self.cpus.as_ref().map(CpuMask::confine_this_thread),
            self.scheduler.map(set_scheduler),
            self.nice.map(set_nice),
            self.aslr.map(set_aslr),
            Some(set_limits(&self.limits)),
        ];
        for ((step, result), trial) in TRIED.into_iter().zip(results).zip(&trials.0) {
            match result {
                Some(Err(errno)) if self.strict => return Err((step, errno)),
                Some(Err(errno)) => trial.store(errno.raw_os_error(), Ordering::Release),
                Some(Ok(())) | None => {}
            }
        }
        Ok(())
    }

    /// Becomes the user. To be called when all is done that may need the privilege that goes with it. Safe to call
    /// between clone and `execve`.
    pub(super) fn become_user_in_child(&self) -> Result<(), (LaunchStep, Errno)> {
        self.user.as_ref().map_or(Ok(()), User::become_in_child).map_err(|errno| (LaunchStep::User, errno))
    }
}

/// Straight to the kernel: not every C library passes it on.
fn set_scheduler(scheduler: Scheduler) -> rustix::io::Result<()> {
    let (class, priority) = match scheduler {
        Scheduler::Other => (libc::SCHED_OTHER, 0),
        Scheduler::Batch => (libc::SCHED_BATCH, 0),
        Scheduler::Fifo(priority) => (libc::SCHED_FIFO, i32::from(priority)),
        Scheduler::RoundRobin(priority) => (libc::SCHED_RR, i32::from(priority)),
    };
    // The kernel's parameter is this one number; those of some C libraries have more.
    // SAFETY: reads the number of our own, about this thread.
    errno::check(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, class, &raw const priority) })
}

fn set_nice(nice: i8) -> rustix::io::Result<()> {
    // SAFETY: takes numbers only.
    errno::check(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, i32::from(nice)) })
}

fn set_aslr(randomised: bool) -> rustix::io::Result<()> {
    /// Asks for the personality and sets none.
    const ASK: libc::c_ulong = 0xFFFF_FFFF;
    let flag = libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: takes a number only, and changes nothing but this process.
    let before = unsafe { libc::syscall(libc::SYS_personality, ASK) };
    let before = libc::c_ulong::try_from(before).map_err(|_| errno::last())?;
    let wanted = if randomised { before & !flag } else { before | flag };
    if wanted == before {
        return Ok(());
    }
    // SAFETY: as above.
    errno::check(unsafe { libc::syscall(libc::SYS_personality, wanted) })
}

/// Soft and hard alike, so that the program cannot raise them again.
fn set_limits(limits: &ResourceLimits) -> rustix::io::Result<()> {
    let all = [
        (libc::RLIMIT_NOFILE, limits.open_files),
        (libc::RLIMIT_AS, limits.memory),
        (libc::RLIMIT_STACK, limits.stack),
        (libc::RLIMIT_CORE, limits.core),
        (libc::RLIMIT_NPROC, limits.processes),
    ];
    let mut outcome = Ok(());
    for (resource, limit) in all {
        let Some(limit) = limit else { continue };
        let limit = libc::rlimit64 { rlim_cur: limit, rlim_max: limit };
        // SAFETY: reads the limit of our own, about this process.
        let set = errno::check(unsafe {
            libc::syscall(
                libc::SYS_prlimit64,
                0,
                resource,
                &raw const limit,
                ptr::null_mut::<libc::rlimit64>(),
            )
        });
        outcome = outcome.and(set);
    }
    outcome
}
