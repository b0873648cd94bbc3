//! How much memory, and how it is given out.

use super::{facts::Facts, processor::values, system::Reading, system::System};

const HUGE: &str = "sys/kernel/mm/transparent_hugepage";
/// The total is rounded to the power of two between this part of it and half of that.
///
/// `MemTotal` is what the firmware and the kernel's image leave: it differs by kilobytes to a few megabytes between
/// identical machines, and from boot to boot. A module that is missing or broken is a 32nd part or more.
const PART: u64 = 32;

pub(super) fn state(system: &System, facts: &mut Facts) {
    facts.state("memory.total", total(system));
    facts.state("memory.transparent_huge_pages", choice(system, &format!("{HUGE}/enabled")));
    facts.state("memory.transparent_huge_pages_defrag", choice(system, &format!("{HUGE}/defrag")));
    facts.state("memory.huge_pages", system.line("proc/sys/vm/nr_hugepages"));
    facts.state("memory.same_page_merging", system.line("sys/kernel/mm/ksm/run"));
    facts.state_if_there("memory.numa_balancing", system.line("proc/sys/kernel/numa_balancing"));
}

fn total(system: &System) -> Reading {
    const FILE: &str = "proc/meminfo";
    let Some(text) = system.lines(FILE)? else { return Ok(None) };
    let Some(total) = values(&text, "MemTotal").next() else { return Ok(None) };
    let kib = total.strip_suffix(" kB").and_then(|kib| kib.trim().parse::<u64>().ok());
    let kib = kib.ok_or_else(|| format!("/{FILE}: MemTotal is no number of kB"))?;
    Ok(Some(rounded(kib)))
}

/// A total in KiB as MiB, rounded.
fn rounded(kib: u64) -> String {
    let mib = kib / 1_024;
    let unit = (mib / PART).checked_ilog2().map_or(1, |log| 1 << log);
    format!("about {} MiB", mib.saturating_add(unit / 2) / unit * unit)
}

/// The kernel marks its choice among several: `always [madvise] never`.
fn choice(system: &System, file: &str) -> Reading {
    let Some(line) = system.line(file)? else { return Ok(None) };
    let marked = line.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    marked.map(|word| Some(word.to_owned())).ok_or_else(|| format!("/{file}: marks no choice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_rounded_to_a_small_part_of_itself() {
        // Two of the same machines, and one with a module of 8 GiB less of 256.
        assert_eq!(rounded(263_719_340), rounded(263_719_340 + 3_000));
        assert_ne!(rounded(263_719_340), rounded(263_719_340 - (8 << 20)));
        assert_eq!(rounded(24_684_096), "about 24064 MiB");
        assert_eq!(rounded(0), "about 0 MiB");
        assert_eq!(rounded(512), "about 0 MiB");
        assert!(rounded(u64::MAX).starts_with("about 1801"));
    }
}
