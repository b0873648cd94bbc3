//! The probe on the files of other machines, whole ones and broken ones.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod broken;
mod tree;

use std::fs;

use speedup_agent::probe::{Probed, probe};
use speedup_core::fingerprint::{Fact, Fingerprint};

use tree::{MACHINES, Tree, file_of};

fn probed(tree: &Tree) -> Probed {
    probe(tree.root()).unwrap()
}

/// One fact a line, and the marks of the hardware.
fn told(probed: &Probed) -> String {
    let facts = probed.fingerprint.iter().map(|(name, fact)| match fact {
        Fact::Value(value) => format!("{name} = {value}\n"),
        Fact::Absent => format!("{name} is absent\n"),
        Fact::Unreadable(why) => format!("{name} is unreadable: {why}\n"),
    });
    let marks = probed.hardware.marks.iter().map(|(kind, count)| format!("hardware: {count} {kind}\n"));
    facts.chain(marks).collect()
}

#[test]
fn machines_are_what_they_are() {
    let mut otherwise = String::new();
    for machine in MACHINES {
        let found = told(&probed(&Tree::of(machine)));
        let expected = fs::read_to_string(file_of(machine, "facts")).unwrap_or_default();
        if found != expected {
            otherwise += &format!("== {machine}\n{found}");
        }
    }
    assert!(otherwise.is_empty(), "found to be otherwise:\n{otherwise}");
}

#[test]
fn a_machine_is_of_one_class_whenever_it_is_probed() {
    let mut classes = Vec::new();
    for machine in MACHINES {
        let tree = Tree::of(machine);
        let (once, again) = (probed(&tree), probed(&tree));
        assert_eq!(once, again, "{machine}");
        assert_eq!(once.fingerprint.class(), again.fingerprint.class());
        classes.push(once.fingerprint.class());
    }
    classes.sort();
    classes.dedup();
    assert_eq!(classes.len(), MACHINES.len(), "no two of them are of one class");
}

/// What changes while a machine runs, and what is its own.
#[test]
fn what_is_not_stable_does_not_count() {
    let tree = Tree::of("xeon");
    let before = probed(&tree).fingerprint;
    let other = |text: String| text.replace("120", "300").replace("bogomips	: 600", "bogomips	: 599");
    let cpuinfo = fs::read_to_string(tree.path("proc/cpuinfo")).unwrap();
    let busy = other(cpuinfo.clone());
    assert_ne!(busy, cpuinfo);
    tree.write("proc/cpuinfo", busy);
    tree.write("proc/meminfo", "MemTotal:       196511804 kB\nMemFree: 1 kB\n");
    tree.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
    let line = fs::read_to_string(tree.path("proc/cmdline")).unwrap();
    tree.write("proc/cmdline", line.replace("192.0.2.17", "192.0.2.18").replace("rhel-root", "vg0-root"));
    assert_eq!(probed(&tree).fingerprint.differences(&before), []);
}

/// A change of a file, and the one fact that it changes.
const CHANGES: [(&str, &str, &str); 30] = [
    ("proc/cmdline", "quiet mitigations=off", "kernel.command_line"),
    ("proc/sys/kernel/osrelease", "6.1.0", "kernel.release"),
    ("proc/sys/kernel/arch", "x86_64", "kernel.architecture"),
    ("proc/sys/kernel/randomize_va_space", "0", "kernel.aslr"),
    ("proc/sys/kernel/numa_balancing", "0", "memory.numa_balancing"),
    ("proc/sys/vm/nr_hugepages", "64", "memory.huge_pages"),
    ("proc/meminfo", "MemTotal: 188123876 kB", "memory.total"),
    ("proc/self/exe", "speedup 0.1.1", "speedup.binary"),
    ("etc/os-release", "ID=rhel\nVERSION_ID=9.5", "os.version"),
    ("usr/lib64/libc.so.6", "GNU C Library (GNU libc) stable release version 2.35.", "os.libc"),
    ("sys/devices/system/cpu/smt/control", "forceoff", "cpu.smt"),
    ("sys/devices/system/cpu/isolated", "3", "cpu.isolated"),
    ("sys/devices/system/cpu/nohz_full", "3", "cpu.nohz_full"),
    ("sys/devices/system/cpu/cpu5/topology/core_cpus_list", "5", "cpu.cores"),
    ("sys/devices/system/cpu/cpu5/topology/physical_package_id", "2", "cpu.sockets"),
    ("sys/devices/system/cpu/cpu5/cpu_capacity", "512", "cpu.capacity"),
    ("sys/devices/cpu_atom/cpus", "4-7", "cpu.kinds"),
    ("sys/devices/system/cpu/cpu5/cache/index2/size", "2048K", "cpu.cache.l2.unified"),
    ("sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "powersave", "cpu.governor"),
    ("sys/devices/system/cpu/cpu5/cpufreq/scaling_driver", "intel_cpufreq", "cpu.driver"),
    ("sys/devices/system/cpu/intel_pstate/status", "passive", "cpu.driver_mode"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1", "cpu.turbo"),
    ("sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable", "cpu.mitigation.mds"),
    ("sys/devices/system/cpu/cpuidle/current_governor", "haltpoll", "cpu.idle_governor"),
    ("sys/devices/system/node/node1/cpulist", "2-3", "memory.nodes"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", "kernel.clocksource"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never", "memory.transparent_huge_pages"),
    ("sys/kernel/mm/ksm/run", "1", "memory.same_page_merging"),
    ("sys/hypervisor/type", "xen", "machine.hypervisor"),
    ("sys/devices/virtual/dmi/id/bios_version", "2.22.0", "machine.bios_version"),
];

#[test]
fn each_stable_fact_changes_the_class_and_is_named_alone() {
    let tree = Tree::of("xeon");
    let before = probed(&tree).fingerprint;
    for (file, text, fact) in CHANGES {
        let after = tree.changed(file, format!("{text}\n"), || probed(&tree).fingerprint);
        names_only(&before, &after, fact);
    }
    assert_eq!(probed(&tree).fingerprint, before);
}

/// What `/proc/cpuinfo` says of the processor, line by line.
#[test]
fn each_line_of_the_processor_counts() {
    let keys = [
        ("xeon", "GenuineIntel", "HygonGenuine", "cpu.vendor"),
        ("xeon", "Gold 6248R", "Gold 6248", "cpu.model"),
        ("xeon", "stepping	: 7", "stepping	: 6", "cpu.stepping"),
        ("xeon", "0x5003604", "0x5003605", "cpu.microcode"),
        ("xeon", " avx512_vnni", "", "cpu.flags"),
        ("graviton", "CPU part	: 0xd0c", "CPU part	: 0xd40", "cpu.part"),
        ("graviton", " ssbs", " ssbs sve", "cpu.features"),
        ("graviton", "CPU revision	: 1", "CPU revision	: 2", "cpu.revision"),
    ];
    for machine in ["xeon", "graviton"] {
        let tree = Tree::of(machine);
        let before = probed(&tree).fingerprint;
        let cpuinfo = fs::read_to_string(tree.path("proc/cpuinfo")).unwrap();
        for (_, from, to, fact) in keys.iter().filter(|(of, ..)| *of == machine) {
            // One CPU of several is enough.
            let other = cpuinfo.replacen(from, to, 1);
            let after = tree.changed("proc/cpuinfo", other, || probed(&tree).fingerprint);
            names_only(&before, &after, fact);
        }
    }
}

fn names_only(before: &Fingerprint, after: &Fingerprint, fact: &str) {
    let differences = before.differences(after);
    let named: Vec<&str> = differences.iter().map(|difference| difference.fact.as_str()).collect();
    assert_eq!(named, [fact]);
    assert_ne!(before.class(), after.class(), "{fact}");
}

/// Clones of one image have one machine id, and other serial numbers.
#[test]
fn hardware_is_known_whatever_the_image() {
    let tree = Tree::of("xeon");
    let before = probed(&tree).hardware;
    let id = before.id.unwrap().to_string();
    for serial in ["0000sn1", "4c4c4544", "5e:00:53"] {
        assert!(!serde_json::to_string(&before).unwrap().to_lowercase().contains(serial), "{serial}");
        assert!(!told(&probed(&tree)).to_lowercase().contains(serial), "{serial}");
    }
    for (file, text) in [
        ("sys/devices/virtual/dmi/id/product_uuid", "4c4c4544-0031-3510-8054-b2c04f000002"),
        ("sys/devices/virtual/dmi/id/board_serial", ".0000SN2."),
        ("sys/class/net/eno2/bonding_slave/perm_hwaddr", "02:00:5e:00:53:03"),
    ] {
        let clone = tree.changed(file, format!("{text}\n"), || probed(&tree));
        assert_ne!(clone.hardware.id.unwrap().to_string(), id, "{file}");
        assert_eq!(clone.fingerprint, probed(&tree).fingerprint, "of one class nevertheless");
    }
    // What comes and goes with bonds, guests, docks and privacy is no mark.
    tree.write("sys/class/net/bond0/address", "02:00:5e:00:53:77\n");
    tree.write("sys/class/net/eno2/address", "02:00:5e:00:53:78\n");
    assert_eq!(probed(&tree).hardware, before);
    assert_eq!(probed(&Tree::empty()).hardware.id, None);
}

/// Two guests with one made-up address are not one machine; two machines that show one serial number or one maker's address are.
#[test]
fn a_machine_is_told_by_what_its_makers_give_to_no_other() {
    let tree = Tree::empty();
    let card = "sys/class/net/eth0";
    tree.write(&format!("{card}/device/vendor"), "0x1af4\n");
    tree.write(&format!("{card}/address"), "52:54:00:12:34:56\n");
    let guest = probed(&tree).hardware;
    assert!(guest.id.is_some() && guest.machine.is_none(), "{guest:?}");
    tree.write(&format!("{card}/address"), "00:00:5e:00:53:01\n");
    let made = probed(&tree).hardware;
    assert!(made.machine.is_some() && made.machine == made.id, "{made:?}");
    tree.write("sys/devices/virtual/dmi/id/product_uuid", "4c4c4544-0031-3510-8054-b2c04f000001\n");
    assert_ne!(probed(&tree).hardware.machine, made.machine);
}
