//! What programs inherit, whoever starts them: the signals, limits and descriptors that a login shell would give them, however the
//! agent or the coordinator was started and whatever they have set up for themselves.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use speedup_tests::{pool::Pool, pool::eventually};

use crate::SPEEDUP;

/// An agent of a shell that ignores and blocks signals.
const HOSTILE: [&str; 3] = ["env", "--ignore-signal=HUP,USR1,PIPE,CHLD", "--block-signal=USR2,ALRM"];
/// Two signals that the C library keeps for itself, and ignores in whatever its `posix_spawn` starts.
const OF_LIBRARY: u64 = 3 << 31;
/// The programs of a plan that a single host executes, by the names that they say.
const KINDS: [&str; 8] = ["build", "canary", "cleanup", "container", "prepare", "prologue", "run", "setup"];

/// Writes a program that leaves in files of its first word's name what it has inherited, and executes the rest of its words. What it
/// asks has no handlers of its own.
fn write_program(directory: &Path) -> String {
    let path = directory.join("look");
    let script = format!(
        "#!/bin/sh\nname={}/$1\ncat /proc/self/status >$name.status\nls /proc/self/fd >$name.files\n\
         cat /proc/self/limits >$name.part\nmv $name.part $name.limits\nshift\n[ $# -eq 0 ] || exec \"$@\"\n",
        directory.display()
    );
    fs::write(&path, script).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable one");
    path.display().to_string()
}

/// Asserts that a program that was started under this name has inherited what a login shell gives; the agent's limits are this test's.
fn assert_usual(directory: &Path, name: &str) {
    let read = |what: &str| {
        let path = directory.join(format!("{name}.{what}"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let status = read("status");
    for field in ["SigBlk:", "SigIgn:", "SigCgt:"] {
        let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
        let signals = u64::from_str_radix(line.trim(), 16).expect("a mask");
        assert_eq!(signals & !OF_LIBRARY, 0, "{name}: {status}");
    }
    // The last is the directory that is listed.
    assert_eq!(read("files"), "0\n1\n2\n3\n", "{name}");
    let own = fs::read_to_string("/proc/self/limits").expect("limits");
    assert_eq!(of_use(&read("limits")), of_use(&own), "{name}");
}

/// The limits but for that of file locks, which Linux ignores: an agent finds by it what its programs leave behind.
fn of_use(limits: &str) -> Vec<&str> {
    limits.lines().filter(|line| !line.starts_with("Max file locks")).collect()
}

#[test]
fn every_program_of_a_plan_inherits_what_a_login_shell_gives() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.add_agent_by(&HOSTILE);
    pool.wait_for_hosts(1);
    let looks = tempfile::tempdir().expect("a directory");
    let look = write_program(looks.path());
    fs::write(looks.path().join("image"), "an image").expect("an image");
    let plan = format!(
        "[experiment]\nname = \"inherited\"\nseed = 3\n[repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n\
         [limits]\nattempts = 1\n[benchmarks.look]\ncommand = [\"{look}\", \"run\"]\n\
         [setup]\ncommand = [\"{look}\", \"setup\"]\n[prepare]\ncommand = [\"{look}\", \"prepare\"]\n\
         [cleanup]\ncommand = [\"{look}\", \"cleanup\"]\n[canary]\ncommand = [\"{look}\", \"canary\"]\n\
         [versions.one]\nbaseline = true\n\
         [versions.two]\nbuild = [\"sh\", \"-c\", \"{look} build && touch made\"]\nproducts = {{ made = \"made\" }}\n\
         [versions.two.environment]\nprologue = \"{look} prologue\"\n\
         container = {{ image = \"{image}\", command = [\"{look}\", \"container\", \"env\", \"IMAGE={{image}}\"] }}\n",
        image = looks.path().join("image").display()
    );
    pool.finish(&plan);
    for kind in KINDS {
        assert_usual(looks.path(), kind);
    }
}

#[test]
fn a_launcher_and_its_ranks_inherit_what_a_login_shell_gives() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.add_agent_by(&HOSTILE);
    pool.add_agent_by(&HOSTILE);
    pool.wait_for_hosts(2);
    let looks = tempfile::tempdir().expect("a directory");
    let look = write_program(looks.path());
    let launch = format!("[\"{look}\", \"launcher\", \"env\", \"PMI_RANK=0\"]");
    let plan = format!(
        "[experiment]\nname = \"ranks\"\nseed = 3\n[repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n\
         [limits]\nattempts = 1\n[versions.one]\nbaseline = true\n[versions.two]\n\
         [benchmarks.look]\ncommand = [\"{look}\", \"rank\"]\nhosts = 2\nranks_per_host = 1\n\
         launch = {launch}\ntime_ranks = true\n"
    );
    pool.finish(&plan);
    for kind in ["launcher", "rank"] {
        assert_usual(looks.path(), kind);
    }
}

/// A coordinator raises its own limit of open files; what its agents measure, and what engines pass on to jobs, is not to have it.
#[test]
fn what_a_coordinator_starts_has_the_limit_of_open_files_from_before() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let looks = tempfile::tempdir().expect("a directory");
    let look = write_program(looks.path());
    let slurm = looks.path().join("bin");
    fs::create_dir(&slurm).expect("a directory");
    for name in ["sbatch", "scontrol", "sinfo", "squeue", "sacct"] {
        let program = slurm.join(name);
        fs::write(&program, format!("#!/bin/sh\nexec {look} slurm false\n")).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable one");
    }
    let path = format!("PATH={}:{}", slurm.display(), std::env::var("PATH").expect("a path"));
    pool.stop_coordinator();
    // No job of Slurm could reach it otherwise.
    pool.advertise("localhost");
    pool.start_coordinator_by(&["prlimit", "--nofile=500:4000", "env", &path]);
    pool.ok(&["hosts", "local", "add", "--max-jobs", "1", "--poll", "1s"]);
    let plan = format!(
        "[experiment]\nname = \"limits\"\nseed = 3\n[repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n\
         [versions.one]\nbaseline = true\n[versions.two]\n[benchmarks.look]\ncommand = [\"{look}\", \"run\"]\n"
    );
    pool.finish(&plan);
    // Whatever becomes of it, the command was started.
    pool.speedup(&["hosts", "slurm", "add", "--", "--partition=none"]);
    for kind in ["run", "slurm"] {
        let seen = eventually(kind, || fs::read_to_string(looks.path().join(format!("{kind}.limits"))).ok());
        let line = seen.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[3..5], ["500", "4000"], "{kind}");
    }
    let limits = format!("/proc/{}/limits", pool.coordinator_id());
    let limits = fs::read_to_string(limits).expect("the coordinator's limits");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    assert!(line.split_whitespace().nth(3) == Some("4000"), "it has raised its own: {line}");
}
