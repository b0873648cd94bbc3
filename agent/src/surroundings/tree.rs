//! Trees of files of other machines.

use std::path::Path;

use tempfile::TempDir;

/// A tree of files, as the kernel of some machine would show it.
pub(super) struct Tree(TempDir);

impl Tree {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn with(self, file: &str, text: impl AsRef<str>) -> Self {
        let path = self.root().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.as_ref()).unwrap();
        self
    }

    pub(super) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.root().join(file)).unwrap().trim().to_owned()
    }

    /// Two packages of four cores with two hardware threads each: CPU n and n + 8 share a core, as Linux numbers them.
    pub(super) fn two_packages() -> Self {
        let tree = Self::new()
            .with("sys/devices/system/cpu/online", "0-15\n")
            .with("sys/devices/system/node/node0/cpulist", "0-3,8-11\n")
            .with("sys/devices/system/node/node1/cpulist", "4-7,12-15\n");
        (0..16).fold(tree, |tree, cpu| {
            let (core, package) = (cpu % 8, u32::from(cpu % 8 >= 4));
            let at = format!("sys/devices/system/cpu/cpu{cpu}");
            tree.with(&format!("{at}/topology/core_cpus_list"), format!("{core},{}\n", core + 8))
                .with(&format!("{at}/topology/physical_package_id"), format!("{package}\n"))
                .with(&format!("{at}/cpufreq/scaling_cur_freq"), format!("{}\n", 2_000_000 + 1_000 * cpu))
                .with(&format!("{at}/thermal_throttle/core_throttle_count"), format!("{cpu}\n"))
                .with(
                    &format!("{at}/thermal_throttle/package_throttle_count"),
                    format!("{}\n", 100 + package),
                )
        })
    }

    /// Four small cores and four large ones, without threads, as phones and boards of Arm have them.
    pub(super) fn big_little() -> Self {
        let tree = Self::new().with("sys/devices/system/cpu/online", "0-7\n");
        (0..8).fold(tree, |tree, cpu| {
            let at = format!("sys/devices/system/cpu/cpu{cpu}");
            let capacity = if cpu < 4 { 446 } else { 1_024 };
            tree.with(&format!("{at}/topology/thread_siblings_list"), format!("{cpu}\n"))
                .with(&format!("{at}/cpu_capacity"), format!("{capacity}\n"))
        })
    }

    /// A desktop processor of Intel: two large cores with two threads each, four small ones.
    pub(super) fn hybrid() -> Self {
        let tree = Self::new()
            .with("sys/devices/system/cpu/online", "0-7\n")
            .with("sys/devices/cpu_core/cpus", "0-3\n")
            .with("sys/devices/cpu_atom/cpus", "4-7\n");
        (0..8).fold(tree, |tree, cpu| {
            let core =
                if cpu < 4 { format!("{}-{}\n", cpu / 2 * 2, cpu / 2 * 2 + 1) } else { format!("{cpu}\n") };
            tree.with(&format!("sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"), core)
        })
    }
}
