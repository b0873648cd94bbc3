//! Settings of other machines, changed and put back; also by the next start.

use super::*;
use crate::surroundings::tree::Tree;

const INTEL: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "sys/devices/system/cpu/cpufreq/boost";

fn governor(policy: u32) -> String {
    format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor")
}

/// Two frequency policies of two CPUs each, and huge pages.
fn tree() -> Tree {
    let tree = Tree::new().with(HUGE_PAGES, "always [madvise] never\n");
    (0..2).fold(tree, |tree, policy| {
        let cpus = format!("{} {}\n", 2 * policy, 2 * policy + 1);
        tree.with(&governor(policy), "powersave\n")
            .with(&format!("sys/devices/system/cpu/cpufreq/policy{policy}/affected_cpus"), cpus)
    })
}

fn boot(name: &str) -> BootId {
    name.parse().unwrap()
}

fn open(tree: &Tree, state: &Path) -> HostSettings {
    HostSettings::open(tree.root(), state, &boot("boot-1"))
}

fn wanted(cpus: &str) -> Wanted {
    Wanted {
        governor: Some("performance".to_owned()),
        turbo: Some(false),
        huge_pages: Some(HugePages::Always),
        cpus: cpus.parse().unwrap(),
    }
}

#[test]
fn intel_is_set_and_put_back() {
    let (tree, state) = (tree().with(INTEL, "0\n"), tempfile::tempdir().unwrap());
    let mut settings = open(&tree, state.path());
    // The kernel shows the chosen word in brackets; a plain file does not.
    let found = settings.hold(&wanted("2-3"));
    assert_eq!(found, []);
    let now =
        [governor(0), governor(1), INTEL.to_owned(), HUGE_PAGES.to_owned()].map(|file| tree.read(&file));
    assert_eq!(now, ["powersave", "performance", "1", "always"], "only the policy of the CPUs is touched");
    assert!(settings.are_changed() && state.path().join("host-settings").exists());
    settings.release();
    let now = [governor(1), INTEL.to_owned(), HUGE_PAGES.to_owned()].map(|file| tree.read(&file));
    assert_eq!(now, ["powersave", "0", "madvise"]);
    assert!(!settings.are_changed() && !state.path().join("host-settings").exists());
}

#[test]
fn boost_is_turned_the_other_way_round() {
    for file in [BOOST, "sys/devices/system/cpu/cpufreq/policy0/boost"] {
        let (tree, state) = (tree().with(file, "1\n"), tempfile::tempdir().unwrap());
        let mut settings = open(&tree, state.path());
        assert_eq!(settings.hold(&wanted("0")), []);
        assert_eq!(tree.read(file), "0");
        drop(settings);
        assert_eq!(tree.read(file), "1", "put back when the agent ends");
    }
}

#[test]
fn what_a_host_has_not_is_unmet_with_its_reason() {
    let (tree, state) = (Tree::big_little(), tempfile::tempdir().unwrap());
    let found = open(&tree, state.path()).hold(&wanted("0-7"));
    let told: Vec<_> = found.iter().map(|unmet| (unmet.setting, unmet.reason.as_str())).collect();
    let expected = [
        (Setting::HugePages, "this host has no transparent huge pages"),
        (Setting::Governor, "this host has no frequency governors"),
        (Setting::Turbo, "this host does not report turbo"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_cannot_be_set_is_verified_and_told() {
    // A directory in place of the file cannot be written by anyone, root included.
    let (tree, state) = (tree().with(INTEL, "1\n"), tempfile::tempdir().unwrap());
    let file = tree.root().join(governor(0));
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let mut settings = open(&tree, state.path());
    let found = settings.hold(&Wanted { huge_pages: None, ..wanted("0-3") });
    let [only] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(only.setting, Setting::Governor);
    assert!(only.reason.contains("policy0/scaling_governor cannot be read"), "{}", only.reason);
    assert!(!settings.are_changed(), "turbo was off already");
}

#[test]
fn the_next_start_puts_back_what_a_killed_agent_has_left() {
    let (tree, state) = (tree().with(INTEL, "0\n"), tempfile::tempdir().unwrap());
    let mut killed = open(&tree, state.path());
    killed.hold(&wanted("0-3"));
    // A killed agent does not drop anything.
    std::mem::forget(killed);
    assert_eq!(tree.read(&governor(0)), "performance");
    let settings = open(&tree, state.path());
    assert!(!settings.are_changed());
    let now =
        [governor(0), governor(1), INTEL.to_owned(), HUGE_PAGES.to_owned()].map(|file| tree.read(&file));
    assert_eq!(now, ["powersave", "powersave", "0", "madvise"]);
    assert!(!state.path().join("host-settings").exists());
}

#[test]
fn after_a_boot_there_is_nothing_to_put_back() {
    let (tree, state) = (tree(), tempfile::tempdir().unwrap());
    let mut killed = open(&tree, state.path());
    killed.hold(&Wanted { turbo: None, ..wanted("0-3") });
    std::mem::forget(killed);
    drop(HostSettings::open(tree.root(), state.path(), &boot("boot-2")));
    assert_eq!(tree.read(&governor(0)), "performance", "what the next boot began with is not touched");
    assert!(!state.path().join("host-settings").exists());
}

#[test]
fn a_file_of_anybody_elses_changes_nothing() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    std::fs::write(&victim, "whole").unwrap();
    for line in [
        format!("broken {}", victim.display()),
        "broken sys/../../victim".to_owned(),
        "broken etc/passwd".to_owned(),
        "no-space".to_owned(),
    ] {
        let (tree, state) = (tree().with("etc/passwd", "whole"), tempfile::tempdir().unwrap());
        std::fs::write(state.path().join("host-settings"), format!("{HEAD}\nboot-1\n{line}\n")).unwrap();
        assert!(!open(&tree, state.path()).are_changed(), "{line}");
        assert_eq!(tree.read("etc/passwd"), "whole");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "whole");
    }
    for text in ["", "speedup host settings 2\nboot-1\n", "\0\0\0"] {
        let (tree, state) = (tree(), tempfile::tempdir().unwrap());
        std::fs::write(state.path().join("host-settings"), text).unwrap();
        assert!(!open(&tree, state.path()).are_changed(), "{text:?}");
    }
}

#[test]
fn another_plan_begins_from_the_hosts_own_settings() {
    let (tree, state) = (tree(), tempfile::tempdir().unwrap());
    let mut settings = open(&tree, state.path());
    settings.hold(&Wanted { turbo: None, ..wanted("0-3") });
    settings.hold(&Wanted { governor: None, turbo: None, ..wanted("0-3") });
    assert_eq!([tree.read(&governor(0)), tree.read(HUGE_PAGES)], ["powersave", "always"]);
    settings.hold(&Wanted::default());
    assert_eq!(tree.read(HUGE_PAGES), "madvise");
    assert!(!settings.are_changed());
}
