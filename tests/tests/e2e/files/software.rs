//! The software of runs, from the plan to the export and the report: real environment modules (and Lmod, where it is unpacked),
//! a prologue, Spack's interface, and a real launcher of containers. All of it happens before the clock starts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use speedup_tests::pool::{Pool, eventually};

use crate::SPEEDUP;

/// Where Lmod's Debian package has its start for shells. It conflicts with environment-modules, so it is unpacked, not installed.
const LMOD: &str = "/usr/share/lmod/lmod/init/bash";

/// Whether this machine lacks what a test needs, so that the test says nothing. The project's own check has everything.
#[expect(clippy::print_stderr, reason = "it says that nothing was tested")]
pub(crate) fn lacks(what: &str, command: &str) -> bool {
    let found = Command::new("bash").args(["--login", "-c", &format!("type {command}")]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        assert!(
            std::env::var_os("SPEEDUP_ALL_TOOLS").is_none(),
            "{what} is missing: .ci/packages installs it"
        );
        eprintln!("nothing was tested: {what} is missing");
    }
    !is_there
}

fn lacks_modules() -> bool {
    lacks("environment-modules", "module")
}

/// A pool with a directory of modules `tool/1` and `tool/2`, of which each has a program `tool` of its own on PATH.
fn pool(agents: usize) -> Pool {
    let pool = Pool::start(SPEEDUP, agents);
    for version in ["1", "2"] {
        let bin = own(&pool).join(version);
        program(&bin, "tool", &format!("echo tool {version} $TOOL $EXTRA"));
        let text = format!("setenv TOOL {version}\nprepend-path PATH {}\n", bin.display());
        module(&pool, &format!("tool/{version}"), &text);
    }
    pool
}

fn own(pool: &Pool) -> PathBuf {
    pool.path().canonicalize().expect("the pool's directory").join("tools")
}

fn modules(pool: &Pool) -> PathBuf {
    own(pool).join("modulefiles")
}

fn module(pool: &Pool, name: &str, text: &str) {
    let path = modules(pool).join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory of modules");
    fs::write(path, format!("#%Module1.0\n{text}")).expect("a module");
}

fn program(directory: &Path, name: &str, script: &str) {
    fs::create_dir_all(directory).expect("a directory of programs");
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("an executable one");
}

/// A plan of a benchmark that executes `tool`, in which `~` is the directory of the tools.
fn plan(pool: &Pool, text: &str) -> String {
    let text = format!(
        "[experiment]\nname = \"software\"\nseed = 3\n[repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n\
         [output]\nkeep_of = \"all\"\n[limits]\nattempts = 1\n[benchmarks.tool]\ncommand = [\"tool\"]\n{text}"
    );
    text.replace('~', &own(pool).display().to_string())
}

const TWO: &str = "[versions.one]\nbaseline = true\n[versions.two]\n";

/// The rows of the export with the output that was kept.
fn rows(pool: &Pool, plan: &str) -> (String, Vec<Json>) {
    let experiment = pool.finish(plan);
    let mut rows = pool.rows(&experiment);
    // Builds are no rows of runs.
    rows.retain(|row| !row["benchmark"].is_null());
    (experiment, rows)
}

fn measured(pool: &Pool, plan: &str) -> (String, Vec<Json>) {
    let (experiment, rows) = rows(pool, plan);
    assert!(!rows.is_empty() && rows.iter().all(|row| row["outcome"] == "measured"), "{rows:#?}");
    (experiment, rows)
}

/// Why no run could be executed.
fn prevented(pool: &Pool, plan: &str) -> String {
    let experiment = pool.submit(plan, &[]);
    let told = |row: &Json| row["loss_words"].as_str().filter(|words| !words.is_empty()).map(str::to_owned);
    eventually("it is told what stands in the way", || {
        let rows = pool.rows(&experiment);
        for row in &rows {
            assert!(row["outcome"] != "measured" && row["outcome"] != "failed", "{rows:#?}");
        }
        rows.iter().find_map(told)
    })
}

fn of<'r>(rows: &'r [Json], version: &str, column: &str) -> Vec<&'r Json> {
    rows.iter().filter(|row| row["version"] == version).map(|row| &row[column]).collect()
}

fn codes(pool: &Pool, experiment: &str) -> Vec<String> {
    let report = pool.json(&["report", experiment]).expect("a report");
    let warnings = report["warnings"].as_array().expect("a list").clone();
    warnings.iter().map(|warning| warning["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn two_versions_have_the_programs_of_two_modules() {
    if lacks_modules() {
        return;
    }
    let pool = pool(1);
    let text = format!(
        "[environment]\nprologue = \"module use ~/modulefiles\"\n{}",
        "[versions.one]\nbaseline = true\nenv = { EXTRA = \"plan\" }\nenvironment.modules = [\"tool/1\"]\n\
         [versions.two]\nenvironment.modules = [\"tool/2\"]\n"
    );
    let (experiment, rows) = measured(&pool, &plan(&pool, &text));
    assert!(of(&rows, "one", "stdout_kept").iter().all(|text| **text == "tool 1 1 plan\n"), "{rows:#?}");
    assert!(of(&rows, "two", "stdout_kept").iter().all(|text| **text == "tool 2 2\n"), "{rows:#?}");
    let hashes = |version| of(&rows, version, "environment_blake3");
    let [one, two] = ["one", "two"].map(hashes);
    assert_eq!((one[0], two[0]), (one[1], two[1]), "a version has one environment");
    assert!(one[0] != two[0] && one[0].as_str().is_some_and(|hash| hash.len() == 64), "{one:?} {two:?}");
    let told = |version| {
        let texts = of(&rows, version, "environment").into_iter().filter_map(Json::as_str);
        texts.filter(|text| !text.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let one = told("one");
    assert_eq!((one.len(), told("two").len()), (1, 1), "the variables are told once");
    let lines: Vec<&str> = one[0].lines().collect();
    for line in ["TOOL=1", "HOME={work}", "TMPDIR={work}", "LOADEDMODULES=tool/1"] {
        assert!(lines.contains(&line), "{line}: {lines:#?}");
    }
    assert!(
        !lines.iter().any(|line| line.starts_with("BASH_FUNC_") || line.starts_with("EXTRA=")),
        "{lines:#?}"
    );
    assert!(!codes(&pool, &experiment).contains(&"environment_differs".to_owned()));
}

/// Setup and canary are the same for all versions, and have what `[environment]` loads; where that needs what the setup makes, they
/// have none of it.
#[test]
fn setup_and_canary_have_the_software_of_all_versions() {
    if lacks_modules() {
        return;
    }
    let pool = pool(1);
    let versions = "[versions.one]\nbaseline = true\n[versions.two]\nenvironment.modules = [\"tool/2\"]\n";
    let text = format!(
        "{versions}[benchmarks.said]\ncommand = [\"cat\", \"{{input}}/said\"]\n[setup]\nshell = \"tool > said\"\n\
         [canary]\nshell = \"test \\\"$(tool)\\\" = 'tool 1 1'\"\n\
         [environment]\nprologue = \"module use ~/modulefiles\"\nmodules = [\"tool/1\"]\n"
    );
    let (_, rows) = measured(&pool, &plan(&pool, &text));
    let said = |benchmark: &str, version: &str| {
        let rows = rows.iter().filter(|row| row["benchmark"] == benchmark && row["version"] == version);
        rows.map(|row| row["stdout_kept"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said("tool", "two"), ["tool 2 2\n"; 2], "{rows:#?}");
    assert_eq!(said("said", "one"), ["tool 1 1\n"; 2], "{rows:#?}");
    assert_eq!(said("said", "two"), said("said", "one"), "one setup for both");
    assert!(rows.iter().all(|row| row["canary_ns"].is_u64() && row["canary_failed"].is_null()), "{rows:#?}");

    let text = format!(
        "{versions}[setup]\nshell = \"cp -r ~/modulefiles . && ! command -v tool\"\n\
         [environment]\nprologue = \"module use {{input}}/modulefiles\"\nmodules = [\"tool/1\"]\n"
    );
    let (_, rows) = measured(&pool, &plan(&pool, &text));
    assert_eq!(of(&rows, "one", "stdout_kept"), [&Json::from("tool 1 1\n"); 2], "{rows:#?}");
}

/// Two agents are two hosts with other directories: what the hash is of does not contain them.
#[test]
fn hosts_with_the_same_modules_have_the_same_hash_and_others_are_told() {
    if lacks_modules() {
        return;
    }
    let pool = pool(2);
    let each = "[independence]\npolicy = \"distinct\"\nscope = \"cell\"\n";
    let text = format!(
        "{TWO}[environment]\nprologue = \"module use ~/modulefiles; export SCRATCH=$HOME/x\"\nmodules = [\"tool/1\"]\n"
    );
    let plan_of = |text: &str| plan(&pool, text).replace("[independence]\npolicy = \"any\"\n", each);
    let (experiment, same) = measured(&pool, &plan_of(&text));
    let hashes: std::collections::BTreeSet<_> =
        same.iter().map(|row| row["environment_blake3"].to_string()).collect();
    let hosts: std::collections::BTreeSet<_> = same.iter().map(|row| row["host"].to_string()).collect();
    assert_eq!((hashes.len(), hosts.len()), (1, 2), "{same:#?}");
    assert!(!codes(&pool, &experiment).contains(&"environment_differs".to_owned()));
    // The first host to look makes the directory; the other finds it there.
    let text = text.replace("export SCRATCH=$HOME/x", "mkdir ~/first && export FIRST=1 || true");
    let (experiment, other) = measured(&pool, &plan_of(&text));
    assert!(codes(&pool, &experiment).contains(&"environment_differs".to_owned()), "{other:#?}");
}

#[test]
fn a_plan_can_insist_on_the_hash() {
    if lacks_modules() {
        return;
    }
    let pool = pool(1);
    let text =
        format!("{TWO}[environment]\nprologue = \"module use ~/modulefiles\"\nmodules = [\"tool/1\"]\n");
    let (_, rows) = measured(&pool, &plan(&pool, &text));
    let hash = rows[0]["environment_blake3"].as_str().expect("a hash");
    measured(&pool, &plan(&pool, &format!("{text}blake3 = \"{hash}\"\n")));
    let words = prevented(&pool, &plan(&pool, &format!("{text}blake3 = \"{}\"\n", "0".repeat(64))));
    assert!(words.contains(hash) && words.contains("the plan wants"), "{words}");
}

/// A module that takes a while, by the stages that are recorded: it had ended, once for each version, before any clock started.
#[test]
fn what_a_slow_module_takes_is_not_timed() {
    if lacks_modules() {
        return;
    }
    let pool = pool(1);
    let slow = "puts stderr \"this takes a while\"\nexec sleep 1\nexec sh -c \"date +%s%N >>~/loaded\"\n";
    module(&pool, "slow/1", &slow.replace('~', &own(&pool).display().to_string()));
    let text = format!(
        "{TWO}[environment]\nprologue = \"module use ~/modulefiles\"\nmodules = [\"slow/1\", \"tool/1\"]\n"
    );
    let (_, rows) = measured(&pool, &plan(&pool, &text));
    assert_eq!(rows.len(), 4);
    let loaded = fs::read_to_string(own(&pool).join("loaded")).expect("the module was loaded");
    let loaded: Vec<u64> = loaded.lines().map(|line| line.parse().expect("nanoseconds")).collect();
    assert_eq!(loaded.len(), 1, "both versions have the same software on this host");
    let ended: Vec<u64> = rows.iter().filter_map(|row| row["environment_clock_ns"].as_u64()).collect();
    assert_eq!(ended.len(), 1);
    assert!(loaded[0] <= ended[0]);
    let took = rows.iter().find_map(|row| row["environment_ns"].as_u64()).expect("it is recorded");
    assert!(took >= 1_000_000_000, "its sleep is part of the preparation: {took}");
    for row in &rows {
        let clock = row["host_clock_ns"].as_u64().expect("the start of the clock");
        assert!(clock >= ended[0], "the clock started when all was prepared: {row:#?}");
    }
}

#[test]
fn what_stands_in_the_way_is_told_in_the_words_of_the_tool() {
    if lacks_modules() {
        return;
    }
    let pool = pool(1);
    module(&pool, "broken/1", "error \"no licence today\"\n");
    let used = "prologue = \"module use ~/modulefiles\"";
    for (environment, parts) in [
        ("USED\nmodules = [\"tool/1\", \"nosuch/7\"]", vec!["`module load nosuch/7`", "Unable to locate"]),
        ("USED\nmodules = [\"broken/1\"]", vec!["`module load broken/1`", "no licence today"]),
        ("prologue = \"echo no disk >&2; exit 7\"", vec!["the prologue", "code 7", "no disk"]),
        ("prologue = \"exit 0\"", vec!["the prologue ended"]),
        ("prologue = \"sleep 600\"\nsoftware_timeout = \"300ms\"", vec!["did not end within 300"]),
        ("prologue = \"module() { :; }\"\nmodules = [\"tool/1\"]", vec!["loaded modules"]),
        ("prologue = \"unset -f module\"\nmodules = [\"tool/1\"]", vec!["no command `module`"]),
        ("spack = [\"tool@1\"]", vec!["`spack load tool@1`", "no command `spack`"]),
    ] {
        let environment = environment.replace("USED", used);
        let words = prevented(&pool, &plan(&pool, &format!("{TWO}[environment]\n{environment}\n")));
        assert!(words.contains("software"), "{words}");
        assert!(parts.iter().all(|part| words.contains(part)), "{parts:?}: {words}");
    }
}

/// The interface of Spack as a site's prologue gives it: `spack` is a function that changes the shell.
#[test]
fn specs_of_spack_are_loaded_by_its_command() {
    let pool = pool(1);
    let spack = "spack() { case $1 in load) export TOOL=$2 PATH=~/1:$PATH ;; env) export EXTRA=$3 ;; *) return 2 ;; esac; }\n";
    fs::write(own(&pool).join("setup-env.sh"), spack.replace('~', &own(&pool).display().to_string()))
        .expect("a script");
    let text = format!(
        "{TWO}[environment]\nprologue = \". ~/setup-env.sh\"\nspack = [\"tool@1.2 +shared\"]\nspack_environment = \"bench\"\n"
    );
    let (_, rows) = measured(&pool, &plan(&pool, &text));
    assert!(rows.iter().all(|row| row["stdout_kept"] == "tool 1 tool@1.2 +shared bench\n"), "{rows:#?}");
}

/// Versions are compiled with their modules.
#[test]
fn builds_have_the_software_of_their_version() {
    if lacks_modules() {
        return;
    }
    let pool = pool(1);
    let build = "build_shell = \"printf '#!/bin/sh\\necho built with %s\\n' $TOOL >prog; chmod +x prog\"\n\
        products = { prog = \"prog\" }\nenvironment.modules";
    let text = format!(
        "[environment]\nprologue = \"module use ~/modulefiles\"\n\
         [versions.one]\nbaseline = true\n{build} = [\"tool/1\"]\n[versions.two]\n{build} = [\"tool/2\"]\n"
    );
    let text = plan(&pool, &text).replace("command = [\"tool\"]", "command = [\"{build.prog}\"]");
    let (_, rows) = measured(&pool, &text);
    assert!(of(&rows, "one", "stdout_kept").iter().all(|text| **text == "built with 1\n"), "{rows:#?}");
    assert!(of(&rows, "two", "stdout_kept").iter().all(|text| **text == "built with 2\n"), "{rows:#?}");
}

#[test]
fn lmod_is_loaded_by_a_prologue() {
    if lacks("Lmod", LMOD) {
        return;
    }
    let pool = pool(1);
    let prologue = format!("unset -f module ml; . {LMOD}; module use ~/modulefiles");
    let text = format!("{TWO}[environment]\nprologue = \"{prologue}\"\nmodules = [\"tool/2\"]\n");
    let (_, rows) = measured(&pool, &plan(&pool, &text));
    assert!(rows.iter().all(|row| row["stdout_kept"] == "tool 2 2\n"), "{rows:#?}");
    let told = rows.iter().find_map(|row| row["environment"].as_str().filter(|text| !text.is_empty()));
    let told = told.expect("the variables");
    assert!(told.contains("LMOD_CMD=") && told.contains("LOADEDMODULES=tool/2"), "{told}");
    for own in ["_ModuleTable", "BASH_ENV=", "BASH_FUNC_"] {
        assert!(!told.contains(own), "{own}: {told}");
    }
    let missing = text.replace("tool/2", "nosuch/7");
    let words = prevented(&pool, &plan(&pool, &missing));
    assert!(words.contains("`module load nosuch/7`") && words.contains("unknown"), "{words}");
}

/// A real launcher that puts the program into namespaces of its own, with the root file system of the host read-only.
#[test]
fn a_program_is_executed_in_a_container() {
    if lacks("bubblewrap", "bwrap") {
        return;
    }
    let pool = pool(1);
    program(&own(&pool).join("1"), "inside", "test -w /etc && echo can write; cat /proc/1/comm; pwd");
    let image = own(&pool).join("image");
    fs::write(&image, "an image").expect("an image");
    let words = "[\"bwrap\", \"--ro-bind\", \"/\", \"/\", \"--bind\", \"{scratch}\", \"{scratch}\", \"--proc\", \"/proc\", \"--dev\", \
                 \"/dev\", \"--unshare-pid\", \"--setenv\", \"IMAGE\", \"{image}\", \"--chdir\", \"{work}\", \"--\"]";
    let container = |more: &str| format!("container = {{ image = \"~/image\", command = {words}{more} }}");
    let text = |more: &str| {
        let text = format!("{TWO}[environment]\nprologue = \"export PATH=~/1:$PATH\"\n{}\n", container(more));
        plan(&pool, &text).replace("command = [\"tool\"]", "command = [\"inside\"]")
    };
    let (experiment, rows) = measured(&pool, &text(""));
    for row in &rows {
        let lines: Vec<&str> = row["stdout_kept"].as_str().expect("output").lines().collect();
        assert_eq!(lines[0], "bwrap", "it is in a namespace of processes of its own: {row:#?}");
        assert!(lines[1].ends_with("/work"), "{row:#?}");
        assert_eq!(row["image"], format!("blake3:{}", speedup_tests::blake3_hex(b"an image")));
        assert!(row["container_ns"].as_u64() > Some(0), "the start of the container was measured: {row:#?}");
        assert!(row["program"].as_str().is_some_and(|program| program.ends_with("bwrap")), "{row:#?}");
    }
    assert!(codes(&pool, &experiment).contains(&"container_timed".to_owned()));
    let (_, rows) = measured(&pool, &text(", digest = [\"sh\", \"-c\", \"echo sha256:0123\"], probe = []"));
    for row in &rows {
        assert!(row["image"] == "sha256:0123" && row["container_ns"].is_null(), "{rows:#?}");
    }
    let broken = text("").replace("--unshare-pid", "--no-such-option");
    let words = prevented(&pool, &broken);
    assert!(words.contains("in the container") && words.contains("no-such-option"), "{words}");
    let missing = text("").replace("\"bwrap\"", "\"no-such-launcher\"");
    let words = prevented(&pool, &missing);
    assert!(words.contains("no-such-launcher"), "{words}");
}

/// An owner who lists commands has not allowed a shell that executes whatever a plan says.
#[test]
fn where_commands_are_limited_software_needs_a_word_of_its_own() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let bin = own(&pool).join("bin");
    program(&bin, "tool", "echo tool $TOOL $LD_LIBRARY_PATH");
    module(&pool, "tool/1", "setenv TOOL 1\nprepend-path LD_LIBRARY_PATH /opt/tool/lib\n");
    let limits = pool.path().join("limits.toml");
    let write = |more: &str| {
        fs::write(&limits, format!("commands = [\"{}\"]\n{more}", bin.display())).expect("the limits");
        fs::set_permissions(&limits, Permissions::from_mode(0o644)).expect("their mode");
    };
    write("software = [\"container\"]\n");
    pool.add_agent_with(&["--limits", limits.to_str().expect("UTF-8")]);
    pool.wait_for_hosts(1);
    let trace = own(&pool).join("trace");
    let text = |environment: &str| {
        let text = format!("{TWO}[environment]\n{environment}\n");
        plan(&pool, &text).replace("command = [\"tool\"]", &format!("command = [\"{}/tool\"]", bin.display()))
    };
    for (environment, part) in [
        ("prologue = \"touch ~/trace\"", "prologue"),
        ("modules = [\"tool/1\"]", "modules"),
        ("spack = [\"tool\"]", "spack"),
        ("container = { image = \"i\", command = [\"touch\", \"~/trace\", \"{image}\"] }", "container"),
    ] {
        let words = prevented(&pool, &text(environment));
        assert!(words.contains("the owner of this") && words.contains(part), "{words}");
    }
    assert!(!trace.exists(), "nothing of it was executed");
}

/// The example of the guide, on a host that has modules.
#[test]
fn the_example_loads_modules_that_travel_with_the_plan() {
    if lacks_modules() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let output = Command::new(SPEEDUP)
        .args(["run", "examples/modules.toml", "-r", "6"])
        .current_dir(root)
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path())
        .output()
        .expect("the command");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("12 of 12 runs measured") && said.contains("fast against full"), "{said}");
}
