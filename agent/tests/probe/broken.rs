//! Files that are not there, cannot be read, or hold what no kernel writes.

use std::{fs, os::unix::fs::PermissionsExt as _, os::unix::fs::symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use speedup_agent::probe::{ProbeError, probe};
use speedup_core::fingerprint::{Fact, MAX_FACT_BYTES, MAX_FACTS};

use crate::{probed, tree::Tree};

const RELEASE: &str = "proc/sys/kernel/osrelease";

fn release(tree: &Tree) -> Fact {
    probed(tree).fingerprint.get("kernel.release").clone()
}

fn why(fact: Fact) -> String {
    match fact {
        Fact::Unreadable(why) => why,
        other => panic!("it was read: {other:?}"),
    }
}

#[test]
fn a_host_without_files_has_nothing() {
    let probed = probed(&Tree::empty());
    assert!(probed.fingerprint.len() > 30);
    assert!(probed.fingerprint.iter().all(|(_, fact)| *fact == Fact::Absent), "{probed:?}");
    let error = probe(&Tree::empty().path("none")).unwrap_err();
    assert!(matches!(error, ProbeError::Root { .. }), "{error}");
}

#[test]
fn what_is_empty_is_absent() {
    let tree = Tree::empty();
    for nothing in ["", "\n", "  \n"] {
        tree.write(RELEASE, nothing);
        assert_eq!(release(&tree), Fact::Absent);
    }
    fs::remove_file(tree.path(RELEASE)).unwrap();
    assert_eq!(release(&tree), Fact::Absent);
}

#[test]
fn what_is_no_file_is_unreadable() {
    let tree = Tree::empty();
    let path = tree.made(RELEASE);
    fs::create_dir(&path).unwrap();
    assert!(why(release(&tree)).contains("a directory"));
    fs::remove_dir(&path).unwrap();
    symlink("osrelease", &path).unwrap();
    assert!(why(release(&tree)).contains("symbolic links"));
    fs::remove_file(&path).unwrap();
    // A pipe to which nobody writes would be waited for without end.
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(why(release(&tree)).contains("a pipe"));
}

#[test]
fn what_is_forbidden_is_unreadable() {
    // Root may read everything.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let tree = Tree::of("xeon");
    let locked =
        |file: &str| fs::set_permissions(tree.path(file), fs::Permissions::from_mode(0o000)).unwrap();
    locked(RELEASE);
    locked("sys/devices/virtual/dmi/id/product_uuid");
    assert!(why(release(&tree)).contains("os error 13"));
    let hardware = probed(&tree).hardware;
    assert!(hardware.id.is_some() && hardware.unreadable.contains_key("product uuid"), "{hardware:?}");
}

#[test]
fn what_is_no_text_is_unreadable() {
    let tree = Tree::empty();
    for garbage in [&b"\xff\xfe6.1"[..], b"6.1\x1b[2J", b"6.1\0"] {
        tree.write(RELEASE, garbage);
        assert!(why(release(&tree)).contains("not text"), "{garbage:?}");
    }
}

#[test]
fn what_is_too_large_is_unreadable() {
    let tree = Tree::empty();
    tree.write(RELEASE, vec![b'6'; (64 << 10) + 1]);
    assert!(why(release(&tree)).contains("65536 bytes"));
    let table = fs::File::create(tree.made("proc/cpuinfo")).unwrap();
    table.set_len((64 << 20) + 1).unwrap();
    let fingerprint = probed(&tree).fingerprint;
    assert!(why(fingerprint.get("cpu.model").clone()).contains("67108864 bytes"));
    assert!(matches!(fingerprint.get("machine.hypervisor"), Fact::Unreadable(_)), "nobody knows");
}

/// What a file of each CPU says is unreadable when one of them is.
#[test]
fn one_cpu_that_cannot_be_read_is_not_left_out() {
    let tree = Tree::of("xeon");
    let governor = "sys/devices/system/cpu/cpu5/cpufreq/scaling_governor";
    fs::create_dir(tree.made(governor)).unwrap();
    assert!(
        why(probed(&tree).fingerprint.get("cpu.governor").clone()).starts_with(&format!("/{governor}: "))
    );
    fs::remove_dir(tree.path(governor)).unwrap();
    let value = Fact::Value("7 x performance, 1 x none".to_owned());
    assert_eq!(probed(&tree).fingerprint.get("cpu.governor"), &value);
}

#[test]
fn what_no_kernel_writes_is_unreadable() {
    let tree = Tree::of("xeon");
    let cpus = "sys/devices/system/cpu";
    for (file, text, fact) in [
        (format!("{cpus}/online"), "all", "cpu.online"),
        (format!("{cpus}/cpu0/cache/index0/level"), "99", "cpu.cache"),
        (format!("{cpus}/cpu0/cache/index0/type"), "Odd", "cpu.cache"),
        (format!("{cpus}/cpu0/cache/index0/shared_cpu_list"), "x", "cpu.cache"),
        (format!("{cpus}/intel_pstate/no_turbo"), "maybe", "cpu.turbo"),
        ("sys/kernel/mm/transparent_hugepage/enabled".to_owned(), "always", "memory.transparent_huge_pages"),
        ("proc/meminfo".to_owned(), "MemTotal: much", "memory.total"),
        ("usr/lib64/libc.so.6".to_owned(), "GNU C Library is free", "os.libc"),
    ] {
        let found = tree.changed(&file, text, || probed(&tree).fingerprint);
        let why = why(found.get(fact).clone());
        assert!(why.starts_with(&format!("/{file}: ")) || file.starts_with("usr"), "{why}");
    }
}

/// A tree that means harm: as many and as long facts as can be had.
#[test]
fn a_hostile_tree_is_bounded() {
    let tree = Tree::empty();
    let long = "x".repeat(60_000);
    for number in 0..65 {
        tree.write(&format!("sys/devices/system/cpu/vulnerabilities/v{number}"), &long);
    }
    let cpuinfo: String = (0..50).map(|cpu| format!("flags : {cpu} {long}\n")).collect();
    tree.write("proc/cpuinfo", cpuinfo);
    tree.write("sys/devices/virtual/dmi/id/product_name", &long);
    let fingerprint = probed(&tree).fingerprint;
    assert!(why(fingerprint.get("cpu.mitigations").clone()).ends_with("has more than 64 entries"));
    for fact in ["cpu.flags", "machine.product"] {
        let Fact::Value(value) = fingerprint.get(fact) else { panic!("{fact}") };
        assert!(value.len() <= MAX_FACT_BYTES && value.contains(" ... BLAKE3 "), "{fact}");
    }
    fs::remove_file(tree.path("sys/devices/system/cpu/vulnerabilities/v64")).unwrap();
    for level in 1..=8 {
        for (index, kind) in ["Data", "Instruction", "Unified"].into_iter().enumerate() {
            let cpu = 2 * level + index / 2;
            let at = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{}", index % 2);
            tree.write(&format!("{at}/level"), level.to_string());
            tree.write(&format!("{at}/type"), kind);
        }
    }
    tree.write("sys/devices/system/cpu/online", "0-8191");
    let fingerprint = probed(&tree).fingerprint;
    assert!((64 + 24..=MAX_FACTS).contains(&fingerprint.len()), "{}", fingerprint.len());
}

/// A tree's links lead within it: the facts are of that machine, never of this one.
#[test]
fn links_do_not_leave_the_tree() {
    let tree = Tree::empty();
    symlink("/proc/sys/kernel/version", tree.made(RELEASE)).unwrap();
    symlink("../../../../../../../../proc/cpuinfo", tree.made("proc/meminfo")).unwrap();
    assert_eq!(release(&tree), Fact::Absent);
    tree.write("proc/sys/kernel/version", "theirs");
    assert_eq!(release(&tree), Fact::Value("theirs".to_owned()));
    assert_eq!(probed(&tree).fingerprint.get("memory.total"), &Fact::Absent);
}
