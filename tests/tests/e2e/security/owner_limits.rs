//! What the owner of a host lets plans do there: the rest is refused by name before anything of it is executed, and the host
//! goes on serving.

use std::{fs, fs::Permissions, os::unix::fs::PermissionsExt as _, os::unix::fs::symlink, path::PathBuf};

use speedup_tests::{ledger::Row, pool::Pool, pool::eventually, pool::host_id};

use crate::SPEEDUP;

/// A pool whose agents have limits: the programs below `bench`, and the directories below it, and no settings of the host.
/// A program `bench/leave` leaves a trace, and `bench/out` is a link to the shell.
fn limited(agents: usize) -> Pool {
    let mut pool = Pool::without_agents(SPEEDUP);
    let bench = bench(&pool);
    fs::create_dir(&bench).expect("a directory");
    for (name, script) in
        [("tool", "exit 0".to_owned()), ("leave", format!("touch {}", trace(&pool).display()))]
    {
        fs::write(bench.join(name), format!("#!/bin/sh\n{script}\n")).expect("a program");
        fs::set_permissions(bench.join(name), Permissions::from_mode(0o755)).expect("its mode");
    }
    symlink("/bin/sh", bench.join("out")).expect("a link");
    symlink("/", bench.join("away")).expect("a link");
    let limits = pool.path().join("limits.toml");
    let text = format!(
        "commands = [\"{bench}\"]\ndirectories = [\"{bench}\"]\nforbid = [\"host_settings\"]\n",
        bench = bench.display()
    );
    fs::write(&limits, text).expect("the limits");
    fs::set_permissions(&limits, Permissions::from_mode(0o644)).expect("their mode");
    for _ in 0..agents {
        pool.add_agent_with(&["--limits", limits.to_str().expect("UTF-8")]);
    }
    pool.wait_for_hosts(agents);
    pool
}

fn bench(pool: &Pool) -> PathBuf {
    pool.path().canonicalize().expect("the pool's directory").join("bench")
}

fn trace(pool: &Pool) -> PathBuf {
    pool.path().join("trace")
}

/// A plan in which `~` is the directory of the owner's programs.
fn plan(pool: &Pool, text: &str) -> String {
    format!(
        "[experiment]\nname = \"limits\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n[limits]\nattempts = 1\n{}\n",
        text.replace('~', &bench(pool).display().to_string())
    )
}

fn rows(pool: &Pool, text: &str) -> Vec<Row> {
    pool.measure(&plan(pool, text)).rows
}

const TOOL: &str = "[benchmarks.b]\ncommand = [\"~/tool\"]\n";

#[test]
fn what_is_allowed_runs_and_all_else_is_refused_by_name() {
    let pool = limited(1);
    for allowed in [
        TOOL.to_owned(),
        format!("{TOOL}directory = \"~\"\n[setup]\ncommand = [\"~/tool\"]\n"),
        "[benchmarks.b]\ncommand = [\"tool\"]\nenv = { PATH = \"~\" }\n".to_owned(),
        format!("{TOOL}[environment]\nlimits.open_files = 99\n"),
    ] {
        let rows = rows(&pool, &allowed);
        assert!(rows.iter().all(|row| row["outcome"] == "measured"), "{allowed}: {rows:?}");
    }
    for (refused, key, named) in [
        ("[benchmarks.b]\nshell = \"true\"\n", "commands", "/bin/sh"),
        ("[benchmarks.b]\ncommand = [\"true\"]\n", "commands", "/true"),
        ("[benchmarks.b]\ncommand = [\"~/out\", \"-c\", \"true\"]\n", "commands", "/bench/out, which is /"),
        ("[benchmarks.b]\ncommand = [\"~/away/bin/sh\", \"-c\", \"true\"]\n", "commands", "/away/bin/sh"),
        (&format!("{TOOL}env = {{ LD_PRELOAD = \"/x.so\" }}\n"), "commands", "LD_PRELOAD"),
        (&format!("{TOOL}directory = \"/usr\"\n"), "directories", "/usr"),
        (&format!("{TOOL}directory = \"~/away\"\n"), "directories", "which is /"),
        (&format!("{TOOL}[environment]\ngovernor = \"performance\"\n"), "forbid", "governor"),
        (&format!("{TOOL}[environment]\ncpus = \"0\"\n"), "forbid", "cpus"),
        (&format!("{TOOL}[environment]\naslr = false\n"), "forbid", "aslr"),
        (
            &format!("{TOOL}[cleanup]\nshell = \"true\"\n[prepare]\ncommand = [\"~/leave\"]\n"),
            "commands",
            "cleanup",
        ),
        (
            "[benchmarks.b]\ncommand = [\"true\"]\n[setup]\ncommand = [\"~/leave\"]\n[prepare]\ncommand = [\"~/leave\"]\n",
            "commands",
            "/true",
        ),
    ] {
        let rows = rows(&pool, refused);
        assert_eq!(rows.len(), 2, "one attempt of each run: {refused}: {rows:?}");
        for row in rows {
            let words = &row["loss_words"];
            assert_eq!(row["loss"], "not_executed", "{refused}: {row:?}");
            assert!(words.contains("the owner of this"), "{refused}: {words}");
            assert!(words.contains(&format!("`{key}`")) && words.contains("limits.toml"), "{words}");
            assert!(words.contains(named), "{refused}: {words}");
        }
        assert!(!trace(&pool).exists(), "nothing of a refused run was executed: {refused}");
    }
}

/// A program that is not there when the run begins is judged when it is to be executed.
#[test]
fn what_a_run_makes_itself_is_not_executed() {
    let pool = limited(1);
    fs::write(bench(&pool).join("make"), "#!/bin/sh\ncp \"$(dirname \"$0\")/tool\" made\n")
        .expect("a program");
    fs::set_permissions(bench(&pool).join("make"), Permissions::from_mode(0o755)).expect("its mode");
    let made = "[benchmarks.b]\ncommand = [\"./made\"]\n[prepare]\ncommand = [\"~/make\"]\n";
    for row in rows(&pool, made) {
        assert!(row["loss_words"].contains("the owner of this host"), "{row:?}");
        assert!(row["loss_words"].contains("/made"), "{row:?}");
    }
}

#[test]
fn hosts_that_refuse_by_their_owners_will_stay_in_the_pool() {
    let pool = limited(2);
    let many = "[benchmarks.b]\nshell = \"true\"\n";
    let text = plan(&pool, many).replace("runs = 1", "runs = 9");
    let experiment = pool.submit(&text, &[]);
    let phase = || {
        let listed = pool.json(&["list"])?;
        let one = listed.as_array()?.iter().find(|one| one["experiment"] == experiment.as_str())?.clone();
        (one["phase"] == "paused").then_some(one)
    };
    eventually("the experiment is paused", phase);
    let tried = pool.ledger(&experiment).rows;
    let lost = tried.iter().filter(|row| row["loss_words"].contains("the owner of this host")).count();
    assert!((3..=6).contains(&lost), "three in a row, and what the hosts had begun by then: {tried:?}");
    for host in [host_id(0), host_id(1)] {
        let shown = pool.json(&["hosts", "show", &host]).expect("a host").to_string();
        assert!(!shown.contains("quarantined"), "{shown}");
    }
    let rows = rows(&pool, TOOL);
    assert!(rows.iter().all(|row| row["outcome"] == "measured"), "{rows:?}");
}

#[test]
fn an_agent_with_limits_that_cannot_be_kept_does_not_start() {
    let pool = Pool::without_agents(SPEEDUP);
    let limits = pool.path().join("limits.toml");
    let said = |text: &str, mode: u32| {
        fs::write(&limits, text).expect("the limits");
        fs::set_permissions(&limits, Permissions::from_mode(mode)).expect("their mode");
        let state = pool.path().join("state");
        let flags = ["--limits", limits.to_str().expect("UTF-8"), "--state", state.to_str().expect("UTF-8")];
        let refused = pool.speedup(&[&["agent", "start"], &flags[..]].concat());
        assert!(!refused.status.success());
        String::from_utf8_lossy(&refused.stderr).into_owned()
    };
    let misspelt = said("commands = []\ndirectory = [\"/\"]\n", 0o644);
    assert!(misspelt.contains("line 2") && misspelt.contains("`directory`"), "{misspelt}");
    assert!(misspelt.contains("hint: "), "{misspelt}");
    let gone = said("commands = [\"/no/such/program\"]\n", 0o644);
    assert!(gone.contains("line 1") && gone.contains("/no/such/program"), "{gone}");
    let open = said("commands = []\n", 0o666);
    assert!(open.contains("may be changed by others") && open.contains("666"), "{open}");
}
