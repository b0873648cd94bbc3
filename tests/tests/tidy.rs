//! The rules that can be tests: the dependency law, the form of modules, the purity of the heart, the project's own
//! texts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a folder with an ending, but for build products.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|is| is == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The crates of the workspace, and on which of them each depends outside its tests.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let manifests = files(&root(), "toml").into_iter().filter(|path| path.ends_with("Cargo.toml"));
    let crates = manifests.filter_map(|path| {
        let text = read(&path);
        let name =
            text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?.to_owned();
        let section = text.split("\n[dependencies]\n").nth(1)?.split("\n[").next()?.to_owned();
        let on = section.lines().filter_map(|line| line.split([' ', '.', '=']).next());
        Some((name, on.filter(|name| name.starts_with("speedup-")).map(str::to_owned).collect()))
    });
    crates.collect()
}

#[test]
fn the_dependency_law_holds() {
    let law: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("speedup-core", &[][..]),
        ("speedup-formats", &[][..]),
        ("speedup-journal", &["speedup-core"][..]),
        ("speedup-proto", &["speedup-core"][..]),
        ("speedup-access", &["speedup-core", "speedup-proto"][..]),
        ("speedup-analysis", &["speedup-core"][..]),
        ("speedup-report", &["speedup-core", "speedup-analysis"][..]),
        (
            "speedup-analysis-service",
            &["speedup-access", "speedup-core", "speedup-proto", "speedup-analysis"][..],
        ),
        (
            "speedup-web",
            &["speedup-access", "speedup-analysis", "speedup-core", "speedup-proto", "speedup-report"][..],
        ),
        ("speedup-coordinator", &["speedup-access", "speedup-core", "speedup-journal", "speedup-proto"][..]),
        (
            "speedup-agent",
            &["speedup-access", "speedup-core", "speedup-formats", "speedup-journal", "speedup-proto"][..],
        ),
    ]);
    let found = dependencies();
    for (name, allowed) in law {
        let on = found.get(name).unwrap_or_else(|| panic!("there is no crate {name}"));
        let forbidden: Vec<_> = on.iter().filter(|on| !allowed.contains(&on.as_str())).collect();
        assert!(forbidden.is_empty(), "{name} may not depend on {forbidden:?}");
    }
}

#[test]
fn only_the_store_names_sled_and_only_doors_and_links_name_tonic() {
    let names = |word: &str| -> BTreeSet<String> {
        let sources = files(&root(), "rs").into_iter().filter(|path| !path.ends_with("tests/tests/tidy.rs"));
        let users = sources.filter(|path| {
            let uses =
                |line: &str| !line.trim_start().starts_with("//") && line.contains(&format!("{word}::"));
            read(path).lines().any(uses)
        });
        users.map(|path| path.strip_prefix(root()).expect("below the root").display().to_string()).collect()
    };
    assert_eq!(names("sled"), BTreeSet::from(["coordinator/src/store.rs".to_owned()]));
    let doors = [
        "access/src/enrolment.rs",
        "access/src/reach.rs",
        "agent/src/entry.rs",
        "agent/src/files/line.rs",
        "agent/src/link.rs",
        "analysis/service/",
        "cli/src/",
        "coordinator/benches/",
        "coordinator/src/door",
        "coordinator/src/server",
        "proto/",
        "tests/",
        "web/src/",
    ];
    for file in names("tonic") {
        assert!(doors.iter().any(|door| file.starts_with(door)), "{file} names tonic and is no door");
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for path in files(&root(), "toml").into_iter().filter(|path| path.ends_with("Cargo.toml")) {
        let text = read(&path);
        if text.contains("[package]") {
            assert!(text.contains("[lints]\nworkspace = true"), "{} has lints of its own", path.display());
        }
    }
}

#[test]
fn every_module_says_what_it_is_and_fits_the_eye() {
    for path in files(&root(), "rs") {
        let text = read(&path);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//!"), "{} does not say what it is", path.display());
        assert!(text.lines().count() <= 800, "{} is longer than 800 lines", path.display());
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let vague = ["util", "utils", "common", "helpers", "helper", "misc", "types"];
        assert!(!vague.contains(&name.as_str()), "{} is named after nothing", path.display());
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = read(&root().join("Cargo.toml"));
    let section =
        manifest.split("[workspace.dependencies]\n").nth(1).and_then(|rest| rest.split("\n[").next());
    for line in section.expect("dependencies").lines().filter(|line| !line.is_empty()) {
        let own = line.starts_with("speedup-");
        assert!(own || line.contains(" # "), "no reason is given: {line}");
    }
}

#[test]
fn the_readme_names_the_two_commands_and_the_check_runs_them() {
    let readme = read(&root().join("README.md"));
    let check = read(&root().join(".ci/run"));
    for command in ["cargo run --release -- run examples/locale.toml", "cargo test --workspace"] {
        assert!(readme.lines().any(|line| line == command), "the README does not say: {command}");
        assert!(check.lines().any(|line| line.starts_with(command)), ".ci/run does not run: {command}");
    }
}
