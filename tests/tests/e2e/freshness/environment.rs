//! The environment of runs, from the plan to the export: what was asked for, what was had, what disturbed.

use std::{path::Path, process::Command, process::Stdio};

use speedup_tests::{ledger::Row, pool::Pool, pool::eventually, process::Killed};

use crate::SPEEDUP;

const HEAD: &str = "[experiment]\nname = \"environment\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [independence]\npolicy = \"any\"\n[output]\nkeep_of = \"all\"\n[repetitions]\nruns = 3\n";

/// The lines that the program of a row wrote, from the export with the output that was kept.
fn kept(pool: &Pool, plan: &str) -> Vec<(serde_json::Value, Vec<String>)> {
    let experiment = pool.finish(plan);
    let lines = |row: &serde_json::Value| {
        row["stdout_kept"].as_str().unwrap_or_default().lines().map(str::to_owned).collect()
    };
    pool.rows(&experiment).into_iter().map(|row| (row.clone(), lines(&row))).collect()
}

#[test]
fn a_program_has_the_environment_of_its_plan() {
    let pool = Pool::start(SPEEDUP, 1);
    let plan = format!(
        "{HEAD}[benchmarks.look]\nshell = '''\ngrep Cpus_allowed_list /proc/self/status | cut -f2\n\
         cut -d' ' -f19,41 /proc/self/stat\ncat /proc/self/personality\n\
         tr -d -c '\\000' < /proc/self/environ | wc -c\nwc -c < /proc/self/environ\nulimit -n\ncat prepared'''\nwarmup = 1\n\
         [prepare]\nshell = \"echo {{benchmark}} {{version}} > prepared\"\n\
         [cleanup]\nshell = \"test -e prepared && echo done >> {{input}}/../cleanups\"\n\
         [environment]\ncpus = \"0\"\nnice = 19\nscheduler = \"batch\"\naslr = false\nenv_bytes = 4000\n\
         page_cache = \"keep\"\nsettle = \"5ms\"\nlimits.open_files = 99\n"
    );
    let rows = kept(&pool, &plan);
    assert_eq!(rows.len(), 6);
    for (row, lines) in rows {
        let version = row["version"].as_str().expect("a version");
        assert_eq!(row["outcome"], "measured", "{row}");
        assert_eq!(lines[..3], ["0", "19 3", "00040000"], "{row}");
        assert_eq!(lines[4], "4000", "the size is that of the plan: {row}");
        assert_eq!(lines[5..], ["99".to_owned(), format!("look {version}")]);
        assert_eq!(row["unmet"], "");
        assert_eq!(row["cpus"], "0");
        assert_eq!(row["env_bytes"], 4_000);
        assert!(row["disturbed"].is_boolean() && row["steal_ns"].is_u64(), "{row}");
    }
    let cleanups = find(pool.path(), "cleanups").expect("the cleanup's file");
    let text = std::fs::read_to_string(cleanups).expect("a text");
    assert_eq!(text.lines().count(), 12, "after each run and each warm-up");
}

#[test]
fn the_size_of_the_environment_is_drawn_by_the_plans_seed() {
    let plan =
        format!("{HEAD}[benchmarks.true]\ncommand = [\"true\"]\n[environment]\nenv_bytes_random = 4096\n");
    let sizes = || {
        let pool = Pool::start(SPEEDUP, 1);
        let ledger = pool.measure(&plan);
        let size = |row: &Row| (row["run"].clone(), row["env_bytes"].parse::<u64>().expect("a size"));
        let mut sizes: Vec<(String, u64)> = ledger.rows.iter().map(size).collect();
        sizes.sort();
        // The directories of two pools have names of one length.
        sizes
    };
    let (first, second) = (sizes(), sizes());
    assert_eq!(first, second);
    let distinct: std::collections::BTreeSet<u64> = first.iter().map(|(_, size)| *size).collect();
    assert!(distinct.len() > 3, "{first:?}");
}

#[test]
fn what_a_host_cannot_do_is_recorded_or_refused() {
    let machine = tempfile::tempdir().expect("a machine without governors");
    let pool = Pool::on(SPEEDUP, machine.path(), 1);
    let plan = |strict: bool| {
        format!(
            "{HEAD}[benchmarks.true]\ncommand = [\"true\"]\n[limits]\nattempts = 1\n\
             [environment]\ngovernor = \"performance\"\nturbo = false\ncpus = \"numa:7\"\npage_cache = \"drop\"\n\
             strict = {strict}\n"
        )
    };
    for row in &pool.measure(&plan(false)).rows {
        assert_eq!(row["outcome"], "measured");
        assert_eq!(row["unmet"], "cpus page_cache governor turbo");
        assert_eq!(row["load_before_percent"], "", "absent, not zero");
        assert_eq!(row["steal_ns"], "", "absent, not zero");
    }
    let experiment = pool.submit(&plan(true), &[]);
    let paused = eventually("the experiment is given up", || {
        let listed = pool.json(&["list"])?;
        let one = listed.as_array()?.iter().find(|one| one["experiment"] == experiment.as_str())?.clone();
        (one["phase"] == "paused").then_some(one)
    });
    let text = pool.export(&experiment);
    assert!(text.contains("governor: "), "{paused}: {text}");
    // The agent is as well as before.
    assert!(pool.measure(&plan(false)).rows.iter().all(|row| row["outcome"] == "measured"));
}

#[test]
fn programs_execute_as_the_user_that_the_owner_named() {
    if !rustix::process::geteuid().is_root() {
        return speedup_tests::skip("only root executes programs as another user");
    }
    let pool = Pool::with_agent(SPEEDUP, &["--user", "nobody"]);
    let plan = format!(
        "{HEAD}[setup]\nshell = \"id -u > setup\"\n[prepare]\nshell = \"id -u > prepared\"\n\
         [cleanup]\nshell = \"test -O prepared\"\n\
         [benchmarks.id]\nshell = \"cat {{input}}/setup prepared; id -u; touch new && echo new\"\n"
    );
    for (row, lines) in kept(&pool, &plan) {
        assert_eq!(lines, ["65534", "65534", "65534", "new"], "{row}");
        assert!(!row["disturbances"].as_str().expect("a text").contains("cleanup_failed"), "{row}");
    }
    let unknown = pool.speedup(&["agent", "start", "--user", "speedup-no-such-user"]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(!unknown.status.success() && said.contains("hint: add the user"), "{said}");
}

#[test]
fn without_any_permission_each_setting_is_recorded_as_what_it_was() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.add_agent_without_privilege();
    pool.wait_for_hosts(1);
    let pages = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let other_pages = if pages.contains("[always]") { "madvise" } else { "always" };
    let plan = format!(
        "{HEAD}[benchmarks.true]\ncommand = [\"true\"]\n[environment]\ncpus = \"8191\"\nhousekeeping = 8000\nnice = -20\n\
         scheduler = \"fifo:99\"\nenv_bytes = 1\npage_cache = \"drop\"\ntransparent_huge_pages = \"{other_pages}\"\n\
         governor = \"nobodys\"\nlimits.open_files = 1000000000000\n"
    );
    for _ in 0..2 {
        for row in &pool.measure(&plan).rows {
            let unmet = "cpus housekeeping nice scheduler env_bytes page_cache transparent_huge_pages governor limits";
            assert_eq!((row["outcome"].as_str(), row["unmet"].as_str()), ("measured", unmet), "{row:?}");
            assert_eq!((row["survivors"].as_str(), row["cpus"].as_str()), ("0", ""));
        }
    }
}

#[test]
fn a_failed_preparation_is_no_run_and_a_failed_cleanup_marks_it() {
    let pool = Pool::start(SPEEDUP, 1);
    let plan =
        |more: &str| format!("{HEAD}[benchmarks.true]\ncommand = [\"true\"]\n[limits]\nattempts = 1\n{more}");
    for row in &pool.measure(&plan("[cleanup]\nshell = \"echo no >&2; exit 3\"\n")).rows {
        assert_eq!((row["outcome"].as_str(), row["disturbed"].as_str()), ("measured", "true"));
        assert!(row["disturbances"].contains("cleanup_failed"), "{row:?}");
    }
    let experiment = pool.submit(&plan("[prepare]\nshell = \"echo no >&2; exit 3\"\n"), &[]);
    eventually("a run is abandoned", || pool.export(&experiment).contains("exit code 3: no").then_some(()));
}

#[test]
fn settings_of_the_host_are_put_back_also_after_a_kill() {
    let machine = tempfile::tempdir().expect("a machine");
    let governor = machine.path().join("sys/devices/system/cpu/cpufreq/policy0/scaling_governor");
    let write = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    };
    write(&governor, "powersave\n");
    write(&governor.with_file_name("affected_cpus"), "0\n");
    write(&machine.path().join("sys/devices/system/cpu/online"), "0\n");
    let read = || std::fs::read_to_string(&governor).expect("a governor").trim().to_owned();

    let mut pool = Pool::on(SPEEDUP, machine.path(), 1);
    let plan = |nap: &str| {
        format!(
            "{HEAD}[benchmarks.nap]\ncommand = [\"sleep\", \"{nap}\"]\n[limits]\nattempts = 9\n\
            [environment]\ngovernor = \"performance\"\n"
        )
    };
    assert!(pool.measure(&plan("0.01")).rows.iter().all(|row| row["unmet"].is_empty()));
    eventually("an idle agent puts it back", || (read() == "powersave").then_some(()));

    let experiment = pool.submit(&plan("0.5"), &[]);
    eventually("a run is under way", || (read() == "performance").then_some(()));
    pool.kill_agent(0);
    assert_eq!(read(), "performance", "nobody was there to put it back");
    assert!(pool.speedup(&["cancel", &experiment]).status.success());
    pool.start_agent_on(0, machine.path());
    eventually("the next start puts it back", || (read() == "powersave").then_some(()));
}

#[test]
fn a_busy_neighbour_is_noticed() {
    let cpu = allowed_cpu();
    let _neighbour = neighbour_on(&cpu);
    let pool = Pool::start(SPEEDUP, 1);
    let plan =
        format!("{HEAD}[benchmarks.nap]\ncommand = [\"sleep\", \"0.3\"]\n[environment]\ncpus = \"{cpu}\"\n");
    let experiment = pool.finish(&plan);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(6), 6, "a disturbed run is marked and counts");
    for row in &ledger.rows {
        assert!(row["disturbed"] == "true" && row["disturbances"].contains("other_load"), "{row:?}");
    }
    let report = pool.json(&["report", &experiment]).expect("a report");
    let codes: Vec<&str> = report["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .filter_map(|warning| warning["code"].as_str())
        .collect();
    assert!(codes.contains(&"host_disturbed"), "{codes:?}");
    assert_eq!(report["benchmarks"][0]["cells"][0]["conditions"]["disturbed"], 3);
}

/// The first CPU that this test may use.
fn allowed_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
    list.trim().split(['-', ',']).next().expect("a CPU").to_owned()
}

/// A process that does nothing but use a CPU: taskset becomes the shell.
fn neighbour_on(cpu: &str) -> Killed {
    let mut command = Command::new("taskset");
    command.args(["-c", cpu, "sh", "-c", "while :; do :; done"]);
    Killed(command.stdin(Stdio::null()).spawn().expect("taskset"))
}

/// A file of this name somewhere below a directory.
fn find(directory: &Path, name: &str) -> Option<std::path::PathBuf> {
    for entry in std::fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        if entry.file_name() == name {
            return Some(path);
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(found) = find(&path, name)
        {
            return Some(found);
        }
    }
    None
}
