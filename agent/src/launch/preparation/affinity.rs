//! The CPUs that a thread may use. Without the C library's set, which ends at 1,024 of them.
#![expect(unsafe_code, reason = "rustix's and libc's sets of CPUs are too small for large hosts")]

use std::{io, mem::size_of};

use speedup_core::value::cpu_set::{CpuSet, MAX_CPUS};

use crate::launch::errno;

const WORD_BITS: u32 = u64::BITS;
const WORDS: usize = (MAX_CPUS / WORD_BITS) as usize;

/// CPUs as the kernel takes them: one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuMask(Box<[u64]>);

impl From<&CpuSet> for CpuMask {
    fn from(cpus: &CpuSet) -> Self {
        let words = cpus.iter().next_back().map_or(1, |last| (last / WORD_BITS) as usize + 1);
        let mut mask = vec![0_u64; words];
        for cpu in cpus.iter() {
            mask[(cpu / WORD_BITS) as usize] |= 1 << (cpu % WORD_BITS);
        }
        Self(mask.into())
    }
}

impl CpuMask {
    /// Confines the calling thread. Safe to call between clone and `execve`.
    pub fn confine_this_thread(&self) -> rustix::io::Result<()> {
        let bytes = self.0.len() * size_of::<u64>();
        // SAFETY: reads the mask of our own, of the length told, about this thread.
        errno::check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, bytes, self.0.as_ptr()) })
    }
}

/// The CPUs that the calling thread may use.
pub fn allowed() -> io::Result<CpuSet> {
    let mut mask = vec![0_u64; WORDS];
    let bytes = mask.len() * size_of::<u64>();
    // SAFETY: writes at most so many bytes to the mask of our own, about this thread.
    let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bytes, mask.as_mut_ptr()) };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    let bits = mask.iter().zip(0..).flat_map(|(word, at)| {
        (0..WORD_BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * WORD_BITS + bit)
    });
    Ok(bits.collect())
}
