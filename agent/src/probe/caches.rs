//! Caches by level and kind: how many of which size there are, and how many CPUs share each.

use std::collections::{BTreeMap, BTreeSet};

use speedup_core::value::cpu_set::CpuSet;

use super::{facts::Facts, system::System, topology};

/// Most caches that a CPU belongs to: today's have four.
const MAX_CACHES: u32 = 16;
/// Highest level of a cache: today's have four.
const MAX_LEVEL: u32 = 8;

/// Each cache by level and kind: the CPUs that share it, and its size.
type Caches = BTreeMap<(u32, &'static str), BTreeSet<(CpuSet, String)>>;

pub(super) fn state(system: &System, facts: &mut Facts) {
    match caches(system) {
        Err(why) => facts.state("cpu.cache", Err(why)),
        Ok(caches) if caches.is_empty() => facts.state("cpu.cache", Ok(None)),
        Ok(caches) => {
            for ((level, kind), caches) in caches {
                facts.state(&format!("cpu.cache.l{level}.{kind}"), Ok(Some(told(&caches))));
            }
        }
    }
}

fn caches(system: &System) -> Result<Caches, String> {
    let mut found = Caches::new();
    for cpu in topology::online(system)?.unwrap_or_default().iter() {
        for index in 0..MAX_CACHES {
            let at = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            let read = |file: &str| system.line(&format!("{at}/{file}"));
            let Some(level) = read("level")? else { break };
            let level = level.parse().ok().filter(|level| (1..=MAX_LEVEL).contains(level));
            let level = level.ok_or_else(|| format!("/{at}/level: is no level of a cache"))?;
            let kind = match read("type")?.as_deref() {
                Some("Data") => "data",
                Some("Instruction") => "instruction",
                Some("Unified") => "unified",
                Some(_) | None => return Err(format!("/{at}/type: is no kind of a cache")),
            };
            let sharers = read("shared_cpu_list")?.unwrap_or_else(|| cpu.to_string());
            let sharers: CpuSet =
                sharers.parse().map_err(|error| format!("/{at}/shared_cpu_list: {error}"))?;
            // Arm's tables may name a cache without its size.
            let size = read("size")?.unwrap_or_else(|| "unknown size".to_owned());
            found.entry((level, kind)).or_default().insert((sharers, size));
        }
    }
    Ok(found)
}

/// `2 x 1280K for 2 CPUs, 1 x 2048K for 4 CPUs`.
fn told(caches: &BTreeSet<(CpuSet, String)>) -> String {
    let mut counts: BTreeMap<(usize, &str), u32> = BTreeMap::new();
    for (sharers, size) in caches {
        *counts.entry((sharers.len(), size)).or_default() += 1;
    }
    let each = counts.into_iter().map(|((cpus, size), count)| {
        let plural = if cpus == 1 { "" } else { "s" };
        format!("{count} x {size} for {cpus} CPU{plural}")
    });
    each.collect::<Vec<_>>().join(", ")
}
