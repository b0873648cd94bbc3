//! The heap of a service.

#![expect(unsafe_code, reason = "mallopt has no safe interface")]

/// Has the threads of a service share as many arenas as there are processors.
///
/// glibc has eight times as many, and what is free in one is of no use to another: a service that lasts gathers it. A command that
/// exports as Parquet is a tenth to a fifth slower with so few.
pub(crate) fn share() {
    #[cfg(target_env = "gnu")]
    {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: it sets a number in the allocator, which takes its own lock.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, i32::try_from(processors).unwrap_or(i32::MAX)) };
    }
}
