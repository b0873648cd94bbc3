//! One-line files of the kernel. What is not there, or not as expected, is absent.

use std::path::Path;

use speedup_core::value::cpu_set::CpuSet;

/// The first line, without the space around it.
pub(super) fn line(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

pub(super) fn number(path: &Path) -> Option<u64> {
    line(path)?.parse().ok()
}

/// A list of CPUs, in the kernel's list format or separated by spaces.
pub(super) fn list(path: &Path) -> Option<CpuSet> {
    line(path)?.replace(' ', ",").parse().ok()
}
