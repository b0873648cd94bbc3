//! The rules that can be tests: the dependency law, the form of modules, the purity of the heart, the project's own
//! texts.

use std::{collections::BTreeMap, collections::BTreeSet, path::Path, path::PathBuf, process::Command};

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
        // A crate without dependencies has no section of them.
        let section =
            text.split("\n[dependencies]\n").nth(1).unwrap_or_default().split("\n[").next()?.to_owned();
        let on = section.lines().filter_map(|line| line.split([' ', '.', '=']).next());
        Some((name, on.filter(|name| name.starts_with("speedup-")).map(str::to_owned).collect()))
    });
    crates.collect()
}

#[test]
fn the_dependency_law_holds() {
    // Each package and those that it may depend on, without their common prefix.
    let law: BTreeMap<&str, &str> = BTreeMap::from([
        ("core", ""),
        ("formats", ""),
        ("journal", "core"),
        ("simulation", "core"),
        ("proto", "core"),
        ("access", "core proto"),
        ("statistics", "core"),
        ("studies", "analysis core statistics"),
        ("analysis", "core statistics"),
        ("observations", "core formats proto"),
        ("report", "core analysis statistics"),
        ("analysis-service", "access analysis core observations proto report statistics"),
        ("web", "access analysis core proto report"),
        ("coordinator", "access core journal proto"),
        ("agent", "access core formats journal proto"),
    ]);
    // Who puts all together, and who tests it.
    let everything = ["cli", "tests"];
    let found = dependencies();
    for name in law.keys().chain(&everything) {
        assert!(found.contains_key(&format!("speedup-{name}")), "there is no crate {name}");
    }
    for (name, on) in &found {
        let name = name.strip_prefix("speedup-").unwrap_or(name);
        if !everything.contains(&name) {
            let allowed = law.get(name).unwrap_or_else(|| panic!("the law does not know {name}"));
            let is_allowed =
                |on: &&String| allowed.split(' ').any(|one| on.strip_prefix("speedup-") == Some(one));
            let forbidden: Vec<_> = on.iter().filter(|on| !is_allowed(on)).collect();
            assert!(forbidden.is_empty(), "{name} may not depend on {forbidden:?}");
        }
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
    let doors = "proto/ tests/ cli/src/ analysis/service/ agent/src/entry.rs agent/src/files/line.rs agent/src/link.rs \
        coordinator/benches/ coordinator/src/door coordinator/src/server coordinator/web/";
    for file in names("tonic") {
        assert!(doors.split(' ').any(|door| file.starts_with(door)), "{file} names tonic and is no door");
    }
}

/// Returns each source file of the product: its path below the root, and its text without the unit tests at its end.
fn product_sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    for path in files(&root(), "rs") {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        if name.contains("/src/") && !name.starts_with("tests/") && !name.contains("/tests") {
            let text = read(&path);
            let product = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
            sources.push((name, product.to_owned()));
        }
    }
    sources
}

fn is_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// `slurm::Queue` may exist beside `machine::Queue`, as long as no crate exports either of them without its module.
#[test]
fn modules_distinguish_public_types_of_the_same_name() {
    // A crate that is started as a whole exports its options.
    let exempt = "Options";
    let mut modules_by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut exported_by_crates = BTreeSet::new();
    for (path, text) in product_sources() {
        let module = Path::new(&path).file_stem().expect("a name").to_string_lossy().into_owned();
        for line in text.lines() {
            let mut words = line.trim_start().split(|sign| !is_identifier(sign));
            let is_public = words.next() == Some("pub");
            let is_type =
                words.next().is_some_and(|word| ["struct", "enum", "trait", "type"].contains(&word));
            let name = words.next().unwrap_or_default();
            // The name of a macro's type is a variable.
            if is_public && is_type && !name.is_empty() && name != exempt {
                modules_by_name.entry(name.to_owned()).or_default().push(module.clone());
                if module == "lib" {
                    exported_by_crates.insert(name.to_owned());
                }
            }
        }
        if module == "lib" {
            for export in text.split("\npub use ").skip(1) {
                let names = export.split(';').next().unwrap_or_default().split(|sign| !is_identifier(sign));
                exported_by_crates.extend(names.map(str::to_owned));
            }
        }
    }
    assert!(modules_by_name.len() > 500, "only {} types were found", modules_by_name.len());
    for (name, modules) in modules_by_name.iter().filter(|(_, modules)| modules.len() > 1) {
        let distinct: BTreeSet<_> = modules.iter().collect();
        assert_eq!(distinct.len(), modules.len(), "{name} is in two modules of the same name: {modules:?}");
        assert!(!exported_by_crates.contains(name), "{name} is exported by a crate, and is in {modules:?}");
    }
}

/// The lint `missing_docs` would also demand it of fields and variants, whose names often suffice.
#[test]
fn every_public_item_has_a_doc_comment() {
    let items = ["fn", "const", "async", "unsafe", "struct", "enum", "union", "trait", "type", "static"];
    for (path, text) in product_sources() {
        let mut is_documented = false;
        let mut is_in_attribute = false;
        for (number, line) in text.lines().map(str::trim).enumerate() {
            is_in_attribute |= line.starts_with("#[");
            // A macro passes on its caller's doc comments.
            if ["///", "#[doc", "$(#["].iter().any(|start| line.starts_with(start)) {
                is_documented = true;
            } else if !is_in_attribute {
                let word = line.strip_prefix("pub ").and_then(|rest| rest.split(' ').next());
                let is_item = word.is_some_and(|word| items.contains(&word));
                assert!(is_documented || !is_item, "{path}:{}: no doc comment: {line}", number + 1);
                is_documented = false;
            }
            is_in_attribute &= !line.ends_with(']');
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures, or that nothing was tested")]
fn the_figures_meet_their_ceilings() {
    let can_run = Command::new("sh").args(["-c", "git ls-files && python3 -c 'import tomllib'"]).output();
    if !can_run.is_ok_and(|output| output.status.success()) {
        let needs_all = std::env::var_os("SPEEDUP_ALL_TOOLS").is_some();
        assert!(!needs_all, "git or Python 3.11 is missing: .ci/packages installs it");
        eprintln!("nothing was tested: git or Python 3.11 is missing");
        return;
    }
    let figures = Command::new("python3").arg(root().join("tests/house/figures")).arg("--ceilings").output();
    let figures = figures.expect("the figures");
    let printed = [figures.stdout, figures.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    eprintln!("{}", printed.concat());
    assert!(figures.status.success(), "the figures do not meet tests/house/ceilings.toml");
}

/// A hint is a value of its error; where it shares a text, one place writes and reads the mark between them.
#[test]
fn only_the_home_of_hints_and_the_console_spell_their_mark() {
    let doors = ["core/src/value/hint.rs", "cli/src/console.rs"];
    for (name, product) in product_sources() {
        if doors.contains(&name.as_str()) {
            continue;
        }
        for (number, line) in product.lines().enumerate() {
            let spells = ["\\nhint: ", "\"hint: "].iter().any(|mark| line.contains(mark));
            let goes_on = line.trim_start().starts_with("hint: ") && line.trim_end().ends_with('"');
            assert!(!spells && !goes_on, "{name}:{}: a hint in a text: {line}", number + 1);
        }
    }
    assert!(read(&root().join(doors[0])).contains("\"\\nhint: \""), "the mark has another home");
}

/// Whoever asks for the death signal also has to look for its parent afterwards: one place does both, and the trampoline's instructions.
#[test]
fn only_the_leash_asks_for_the_death_signal() {
    let places = ["agent/src/leash.rs", "agent/src/launch/child/trampoline.rs"];
    for path in files(&root(), "rs") {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        let asks = read(&path).lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            ["process_death_signal(", "PDEATHSIG", "pdeathsig"].iter().any(|word| code.contains(word))
        });
        assert!(!asks || name.starts_with("tests/") || places.contains(&name.as_str()), "{name} asks for it");
    }
}

/// The lints refuse it elsewhere, but for those who say that they expect it.
#[test]
fn only_the_instrument_what_measures_it_the_signal_flag_and_the_resources_are_unsafe() {
    let places = "agent/src/launch/ agent/src/launch.rs agent/src/selftest/ agent/src/stop.rs agent/tests/launch/ cli/src/compose/resources.rs";
    for path in files(&root(), "rs").into_iter().filter(|path| !path.ends_with("tests/tests/tidy.rs")) {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        let is_there = places.split(' ').any(|place| name.starts_with(place));
        assert!(is_there || !read(&path).contains("unsafe_code"), "{name} is unsafe");
    }
    assert!(read(&root().join("Cargo.toml")).contains("\nunsafe_code = \"deny\""));
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
fn what_is_measured_is_optimised_throughout_and_what_is_copied_to_a_cluster_where_it_counts() {
    let manifest: toml::Table = read(&root().join("Cargo.toml")).parse().expect("TOML");
    let packages = |profile: &str| {
        let own = manifest["profile"][profile]["package"].as_table().expect("packages").iter();
        own.map(|(name, own)| (name.clone(), own["opt-level"].clone())).collect::<BTreeMap<_, _>>()
    };
    // A profile takes over the packages of the one that it inherits from, and they come before its own level.
    let release = packages("release");
    let levels_of =
        |profile: &str| release.clone().into_iter().chain(packages(profile)).collect::<BTreeMap<_, _>>();
    let (most, least) = (toml::Value::from(3), toml::Value::from("z"));
    for (package, level) in levels_of("bench") {
        assert_eq!(level, most, "[profile.bench.package] does not optimise {package}");
    }
    let dist = levels_of("dist");
    for (package, level) in &dist {
        assert!([&most, &least].contains(&level), "[profile.dist.package] of {package}");
        let is_fast_before = release.get(package) == Some(&most);
        assert!(!is_fast_before || *level == most, "[profile.dist.package] slows {package} down");
    }
    // What each run, report and export passes through.
    for part in ["agent", "analysis", "coordinator", "core", "journal", "observations", "proto", "statistics"]
    {
        let level = dist.get(&format!("speedup-{part}")).unwrap_or(&most);
        assert_eq!(level, &most, "[profile.dist.package] of {part}");
    }
}

#[test]
fn the_readme_names_the_two_commands_and_the_check_runs_them() {
    let readme = read(&root().join("README.md"));
    let check: String = ["tests", "systems"].map(|tier| read(&root().join(".ci").join(tier))).concat();
    for command in
        ["cargo run --release -- run examples/locale.toml", "cargo test --workspace --no-fail-fast"]
    {
        assert!(readme.lines().any(|line| line == command), "the README does not say: {command}");
        assert!(check.lines().any(|line| line == command), "the check does not run: {command}");
    }
}

/// A page's lines outside its code blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// Where the links of a page lead, but for other sites.
fn links(page: &str) -> Vec<String> {
    let text: Vec<&str> = prose(page).collect();
    let text = text.join("\n");
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// The anchors of a page: its headings in small letters, with dashes for blanks and without punctuation.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
        kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let book = root().join("docs");
    let mut seen = 0;
    // Golden files are no pages: some are to show that a link of a stranger's is not believed.
    let golden = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "golden");
    for path in files(&root(), "md").into_iter().filter(|path| !golden(path)) {
        let page = read(&path);
        for link in links(&page) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = path.parent().expect("a folder").join(file);
            let target = if file.is_empty() { path.clone() } else { target };
            let there = target.canonicalize();
            let there = there.unwrap_or_else(|_| panic!("{}: {link} leads nowhere", path.display()));
            if path.starts_with(&book) {
                assert!(there.starts_with(&book), "{}: {link} leads out of the book", path.display());
            }
            if !anchor.is_empty() {
                let has = anchors(&read(&there)).contains(anchor);
                assert!(has, "{}: {link} leads to no heading", path.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} links were found");
}

#[test]
fn every_page_of_the_book_stands_in_its_summary() {
    let book = root().join("docs");
    let summary = read(&book.join("SUMMARY.md"));
    let listed: BTreeSet<String> = links(&summary).into_iter().collect();
    for path in files(&book, "md").into_iter().filter(|path| !path.ends_with("SUMMARY.md")) {
        let page = path.strip_prefix(&book).expect("below the book").display().to_string();
        assert!(listed.contains(&page), "docs/SUMMARY.md does not list {page}");
    }
}
