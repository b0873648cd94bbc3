//! kill -9 of the coordinator and of whole hosts at random moments, while plans of all policies are served at once. What is judged is
//! the export, by the log that the programs themselves wrote: nothing was executed twice, or without an attempt that says so.
//!
//! `SPEEDUP_KILLS=1000 cargo test -p speedup-tests --test e2e -- kills` is the slow set.

use std::{
    fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Child, time::Duration, time::Instant,
};

use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::{Seed, below};
use speedup_tests::checker::{Rule, check_with_log};
use speedup_tests::pool::{PATIENCE, Pool, eventually, host_id};

use crate::SPEEDUP;

/// Kills of a normal run.
const KILLS: usize = 30;
/// Kills while one experiment of each policy is served; then these end in peace and are judged.
const KILLS_A_ROUND: usize = 30;
/// Hosts at the beginning: lost attempts of `distinct` use some up, and more come.
const HOSTS: usize = 6;
/// Longest time between two kills, in milliseconds.
const LONGEST_PAUSE: u64 = 300;
/// Benchmarks of each plan: so many that its runs last as long as the kills of a round.
const BENCHMARKS: usize = 4;
/// What is told of repetitions and independence, by the policy's name.
const POLICIES: [(&str, &str); 5] = [
    ("any", "hosts = 4\nruns = 1"),
    ("rested", "hosts = 4\nruns = 1"),
    ("rebooted", "hosts = 3\nruns = 1"),
    ("reallocated", "runs = 3"),
    ("distinct", "runs = 2"),
];

/// Hosts that lose their power, with what is kept beside them.
struct Site {
    pool: Pool,
    hosts: Vec<Host>,
    random: ChaCha8Rng,
}

/// A host: its agent, and how often it has booted and been given out.
#[derive(Default)]
struct Host {
    agent: Option<Child>,
    boots: u32,
    allocations: u32,
}

impl Site {
    fn new(seed: u64) -> Self {
        let pool = Pool::without_agents(SPEEDUP);
        fs::create_dir(pool.path().join("where")).expect("a directory");
        fs::create_dir(pool.path().join("asked")).expect("a directory");
        let script = format!(
            "#!/bin/bash\nhost=${{PWD#*/agent-}}\nhost=${{host%%/*}}\nread -r where < {}/where/host-$host\n\
             echo \"$EPOCHREALTIME host-$host $where $2 $3\" >> \"$1\"\nsleep 0.4\n",
            pool.path().display()
        );
        let program = pool.path().join("program");
        fs::write(&program, script).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
        let mut site = Self { pool, hosts: Vec::new(), random: Seed(seed).child("kills") };
        (0..HOSTS).for_each(|_| site.add_host());
        site
    }

    fn add_host(&mut self) {
        self.hosts.push(Host::default());
        self.power_on(self.hosts.len() - 1);
    }

    /// A host comes up: in a new boot, and given out anew by its engine.
    fn power_on(&mut self, number: usize) {
        let host = &mut self.hosts[number];
        (host.boots, host.allocations) = (host.boots + 1, host.allocations + 1);
        let (boot, uid) =
            (format!("boot-{number}-{}", host.boots), format!("uid-{number}-{}", host.allocations));
        let file = self.pool.path().join("where").join(host_id(number));
        fs::write(file, format!("{boot} pod:{uid}\n")).expect("a file");
        let asked = self.asked(number);
        let _ = fs::remove_file(&asked);
        let command = format!("touch {}", asked.display());
        let flags = ["--reboot-command", command.as_str(), "--reboot-patience", "1h"];
        self.hosts[number].agent = Some(self.pool.spawn_agent_in(number, &boot, &uid, &flags));
    }

    /// Where a host's reboot command leaves word.
    fn asked(&self, number: usize) -> PathBuf {
        self.pool.path().join("asked").join(host_id(number))
    }

    fn power_off(&mut self, number: usize) {
        if let Some(mut agent) = self.hosts[number].agent.take() {
            agent.kill().expect("a kill");
            agent.wait().expect("an end");
        }
    }

    /// Hosts that were told to boot do.
    fn boot_those_asked(&mut self) {
        for number in 0..self.hosts.len() {
            if self.asked(number).exists() {
                self.power_off(number);
                self.power_on(number);
            }
        }
    }

    /// Kills the coordinator or a host at a moment drawn from the seed, and starts it again.
    fn strike(&mut self) {
        let until = Instant::now() + Duration::from_millis(below(LONGEST_PAUSE, &mut self.random));
        while Instant::now() < until {
            self.boot_those_asked();
            std::thread::park_timeout(
                Duration::from_millis(5).min(until.saturating_duration_since(Instant::now())),
            );
        }
        if below(4, &mut self.random) == 0 {
            self.pool.restart_coordinator();
        } else {
            let victim = below(self.hosts.len() as u64, &mut self.random) as usize;
            self.power_off(victim);
            self.power_on(victim);
        }
    }

    /// Lets all experiments end. Where nobody holds anything, hosts are given out anew, and one more comes.
    fn settle(&mut self, experiments: &[String]) {
        let deadline = Instant::now() + PATIENCE * 2;
        let mut idle = 0;
        while !experiments.iter().all(|experiment| self.pool.is_finished(experiment)) {
            assert!(Instant::now() < deadline, "still waiting: {}", self.standing(experiments));
            self.boot_those_asked();
            let hosts = self.pool.json(&["hosts", "list"]).unwrap_or_default();
            let hosts = hosts.as_array().cloned().unwrap_or_default();
            for host in hosts.iter().filter(|host| host.to_string().contains("quarantined")) {
                self.pool.speedup(&["hosts", "resume", host["host"].as_str().expect("an id")]);
            }
            let is_idle = |host: &serde_json::Value| host["connected"] == true && host["lease"].is_null();
            idle = if hosts.iter().all(is_idle) { idle + 1 } else { 0 };
            // Seen so twice: between two runs nobody holds anything either.
            if idle >= 2 {
                idle = 0;
                (0..self.hosts.len()).for_each(|number| self.power_off(number));
                (0..self.hosts.len()).for_each(|number| self.power_on(number));
                self.add_host();
            }
        }
    }

    fn standing(&self, experiments: &[String]) -> String {
        let listed = self.pool.json(&["list"]).unwrap_or_default();
        let hosts = self.pool.json(&["hosts", "list"]).unwrap_or_default();
        format!("{experiments:?}\n{listed:#}\n{hosts:#}")
    }

    /// The programs' log of an experiment.
    fn log(&self, round: usize, policy: &str) -> PathBuf {
        self.pool.path().join(format!("log-{round}-{policy}"))
    }

    fn plan(&self, round: usize, policy: &str, repetitions: &str) -> String {
        let (program, log) = (self.pool.path().join("program"), self.log(round, policy));
        let command =
            format!("[\"{}\", \"{}\", \"{{benchmark}}\", \"{{version}}\"]", program.display(), log.display());
        let benchmarks: String =
            (0..BENCHMARKS).map(|number| format!("[benchmarks.b{number}]\ncommand = {command}\n")).collect();
        format!(
            "[experiment]\nname = \"{policy}\"\nseed = {round}\n[versions.old]\nbaseline = true\n[versions.new]\n\
             env = {{ NEW = \"1\" }}\n{benchmarks}[repetitions]\n{repetitions}\n[independence]\npolicy = \"{policy}\"\nhosts = \"any\"\n\
             rest = {{ idle = \"20ms\" }}\n[limits]\nattempts = 100\n"
        )
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        (0..self.hosts.len()).for_each(|number| self.power_off(number));
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the number of kills is printed, and what is wrong")]
fn nothing_is_executed_that_the_export_does_not_say() {
    let asked = std::env::var("SPEEDUP_KILLS").ok();
    let kills = asked.map_or(KILLS, |text| text.parse().expect("SPEEDUP_KILLS is a number"));
    let mut site = Site::new(20_261_123);
    site.pool.wait_for_hosts(HOSTS);
    let (begun, mut lost, mut executed) = (Instant::now(), 0, 0);
    for round in 0..kills.div_ceil(KILLS_A_ROUND) {
        let plans = POLICIES.map(|(policy, repetitions)| (policy, site.plan(round, policy, repetitions)));
        let experiments =
            plans.iter().map(|(_, plan)| site.pool.submit(plan, &["--wait-for-hosts"])).collect::<Vec<_>>();
        for _ in 0..KILLS_A_ROUND.min(kills - round * KILLS_A_ROUND) {
            site.strike();
        }
        site.settle(&experiments);
        for ((policy, plan), experiment) in plans.iter().zip(&experiments) {
            let log = fs::read_to_string(site.log(round, policy)).expect("a log");
            let export = eventually("the export is there", || {
                let output = site.pool.speedup(&["export", experiment, "--format", "jsonl", "-o", "-"]);
                output.status.success().then(|| String::from_utf8(output.stdout).expect("UTF-8"))
            });
            let verdict = check_with_log(plan, &export, &log);
            if !verdict.complaints.is_empty() {
                eprintln!("round {round}, {policy}:\n{export}\n{log}");
            }
            verdict.assert_ok();
            (lost, executed) = (lost + verdict.lost().count(), executed + log.lines().count());
        }
    }
    assert!(lost > 0, "some kill hit a run");
    eprintln!("{kills} kills in {:?}: {executed} programs executed, {lost} attempts lost", begun.elapsed());
}

/// What the judge is tried with.
const PLAN: &str = "[versions.old]\n[versions.new]\n[benchmarks.b]\n[repetitions]\nhosts = 2\nruns = 1\n\
    [independence]\npolicy = \"rebooted\"\nscope = \"cell\"\n";

fn row(run: u32, version: &str, host: &str, lease: u64) -> String {
    let repetition = 1 + run % 2;
    let (granted, ended) = (lease * 1_000_000, lease * 1_000_000 + 900_000);
    format!(
        "{{\"experiment\":\"e\",\"benchmark\":\"b\",\"version\":\"{version}\",\"run\":{run},\"repetition\":{repetition},\
         \"run_state\":\"measured\",\"counts\":true,\"why_not\":null,\"attempt\":1,\"outcome\":\"measured\",\
         \"loss\":null,\"after\":null,\"host\":\"{host}\",\"boot\":\"boot-{lease}\",\"allocation\":\"a\",\
         \"agent_epoch\":{lease},\"lease_epoch\":{lease},\"granted_ns\":{granted},\"started_ns\":{granted},\
         \"ended_ns\":{ended},\"served_in_scope\":0,\"served_in_all\":0,\"idle_ns\":null,\"boot_before\":null,\
         \"allocation_before\":null,\"previous_experiment\":null,\"previous_run\":null,\"wall_ns\":1,\
         \"host_clock_ns\":null}}\n"
    )
}

fn line(version: &str, host: &str, lease: u64) -> String {
    format!("0.{:06} {host} boot-{lease} a b {version}\n", lease * 1_000 + 500)
}

fn complaints(export: &str, log: &str) -> Vec<Rule> {
    let found = check_with_log(PLAN, export, log).complaints;
    let about = |rule: &Rule| matches!(rule, Rule::Executed | Rule::Freshness | Rule::Form);
    found.into_iter().map(|complaint| complaint.rule).filter(about).collect()
}

/// That the judge sees what is wrong.
#[test]
fn what_was_executed_is_what_the_export_says() {
    let rows =
        [row(0, "old", "h1", 1), row(1, "old", "h2", 2), row(2, "new", "h3", 3), row(3, "new", "h4", 4)];
    let lines = [line("old", "h1", 1), line("old", "h2", 2), line("new", "h3", 3), line("new", "h4", 4)];
    let (export, log) = (rows.concat(), lines.concat());
    assert_eq!(complaints(&export, &log), []);
    assert_eq!(complaints(&export, &lines[1..].concat()), [Rule::Executed], "one is missing");
    let doubled = format!("{log}{}", lines[0]);
    assert_eq!(complaints(&export, &doubled), [Rule::Executed, Rule::Freshness], "one is there twice");
    let stranger = format!("{log}{}", line("old", "h5", 5));
    assert_eq!(complaints(&export, &stranger), [Rule::Executed], "nobody gave that to this host");
    let other = log.replace("boot-2 a b old", "boot-2 a b new");
    assert_eq!(complaints(&export, &other), [Rule::Executed], "another version was executed");
    assert_eq!(complaints(&export, &format!("{log}torn")), [Rule::Form]);
}

#[test]
fn runs_of_a_cell_on_one_host_are_seen() {
    let rows =
        [row(0, "old", "h1", 1), row(1, "old", "h1", 2), row(2, "new", "h3", 3), row(3, "new", "h4", 4)];
    let lines = [line("old", "h1", 1), line("old", "h1", 2), line("new", "h3", 3), line("new", "h4", 4)];
    let found = complaints(&rows.concat(), &lines.concat());
    assert!(found.iter().all(|rule| *rule == Rule::Freshness) && !found.is_empty(), "{found:?}");
}
