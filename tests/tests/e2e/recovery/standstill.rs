//! Runs in which the agent or the program stood still: lost where the time is not known, marked where it is, and never
//! measured beyond their timeout.

use std::{path::Path, path::PathBuf, time::Duration, time::Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use speedup_tests::{ledger::Row, pool::Pool, pool::eventually, process::Process};

use crate::SPEEDUP;

/// Long enough that nothing here runs out of it by itself.
const LONG: Duration = Duration::from_secs(600);

/// An agent, and an experiment of two runs whose program says who it is and waits for a gate.
struct Stage {
    pool: Pool,
    agent: i32,
    desk: tempfile::TempDir,
    experiment: String,
}

impl Stage {
    fn open(pool: Pool, agent: i32, timeout: Duration) -> Self {
        pool.wait_for_hosts(1);
        let desk = tempfile::tempdir().expect("a directory");
        let at = desk.path().display();
        let program = format!(
            "echo $$ > {at}/pid.new; mv {at}/pid.new {at}/pid; until [ -e {at}/gate ]; do sleep 0.01; done"
        );
        let plan = format!(
            "[experiment]\nname = \"standstill\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
             [benchmarks.wait]\nshell = '{program}'\ntimeout = \"{}ms\"\n[repetitions]\nruns = 1\n\
             [independence]\npolicy = \"any\"\n",
            timeout.as_millis()
        );
        let experiment = pool.submit(&plan, &[]);
        Self { pool, agent, desk, experiment }
    }

    fn start(timeout: Duration) -> Self {
        let mut pool = Pool::without_agents(SPEEDUP);
        let agent = pool.add_agent();
        let id = pool.agent_id(agent);
        Self::open(pool, id, timeout)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.desk.path().join(name)
    }

    /// The program of the run that is under way.
    fn program(&self) -> i32 {
        eventually("a run has begun", || std::fs::read_to_string(self.file("pid")).ok()?.trim().parse().ok())
    }

    /// Lets this program and all later ones end.
    fn open_gate(&self) {
        std::fs::write(self.file("gate"), "").expect("a file");
    }

    fn signal_agent(&self, signal: Signal) {
        kill_process(pid(self.agent), signal).expect("a signal");
    }

    /// Stops the agent, and waits until it is.
    fn stop_agent(&self) {
        self.signal_agent(Signal::STOP);
        wait_for_state(self.agent, 'T');
    }

    /// Waits until the agent sleeps, having taken in what it was sent before.
    fn wait_for_sleep(&self) {
        wait_for_state(self.agent, 'S');
    }

    /// The rows of both runs, which are measured in the end.
    fn rows(&self) -> Vec<Row> {
        self.pool.wait_for(&self.experiment);
        let ledger = self.pool.ledger(&self.experiment);
        assert_eq!(ledger.assert_exactly_once(2), 2, "{:?}", ledger.rows);
        ledger.rows
    }

    /// That one attempt is lost for this reason, and the others were measured undisturbed by any standstill.
    fn assert_one_lost(&self, words: &str) {
        let rows = self.rows();
        let (lost, measured): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["outcome"] == "lost");
        let [lost] = &lost[..] else { panic!("one attempt is lost: {rows:?}") };
        assert_eq!(lost["loss"], "not_executed");
        assert!(lost["loss_words"].contains(words), "{lost:?}");
        assert_eq!(lost["wall_ns"], "", "no time is told that is not known");
        assert!(measured.iter().all(|row| !row["disturbances"].contains("stopped")), "{measured:?}");
    }

    /// That one measured run is disturbed so, and that the report counts it by that name.
    fn assert_one_disturbed(&self, code: &str) {
        let rows = self.rows();
        assert_eq!(rows.len(), 2, "no attempt was lost: {rows:?}");
        let named =
            rows.iter().filter(|row| row["disturbances"].split(' ').any(|found| found == code)).count();
        assert_eq!(named, 1, "{rows:?}");
        let report = self.pool.speedup(&["report", &self.experiment, "-v"]);
        let report = String::from_utf8(report.stdout).expect("UTF-8");
        let flat: Vec<&str> = report.split_whitespace().collect();
        assert!(flat.join(" ").contains(&format!("{code} 1")), "{report}");
    }
}

fn pid(id: i32) -> Pid {
    Pid::from_raw(id).expect("an id")
}

fn wait_for_state(id: i32, wanted: char) {
    eventually("a process comes into a state", || (Process::of_id(id).state()? == wanted).then_some(()));
}

fn wait_for_end(id: i32) {
    eventually("the program ends", || Process::of_id(id).has_ended().then_some(()));
}

/// Waits until a time is over: there is no other sign of it.
fn wait_until(moment: Instant) {
    eventually("a time is over", || (Instant::now() > moment).then_some(()));
}

#[test]
fn a_run_that_ended_while_its_agent_was_stopped_is_lost() {
    let stage = Stage::start(LONG);
    let program = stage.program();
    stage.stop_agent();
    stage.open_gate();
    wait_for_end(program);
    stage.signal_agent(Signal::CONT);
    stage.assert_one_lost("a signal stopped the agent");
}

/// The program ended in time, as far as it can be known; the agent saw it long after.
#[test]
fn no_time_beyond_the_timeout_is_measured() {
    let timeout = Duration::from_secs(2);
    let stage = Stage::start(timeout);
    let program = stage.program();
    let begun = Instant::now();
    stage.stop_agent();
    stage.open_gate();
    wait_for_end(program);
    wait_until(begun + timeout);
    stage.signal_agent(Signal::CONT);
    stage.assert_one_lost("is not known");
    for row in stage.rows().iter().filter(|row| row["outcome"] == "measured") {
        assert!(row["wall_ns"].parse::<u128>().expect("a time") <= timeout.as_nanos(), "{row:?}");
    }
}

#[test]
fn an_agent_that_was_stopped_and_sees_the_end_marks_the_run() {
    let stage = Stage::start(LONG);
    stage.program();
    stage.wait_for_sleep();
    stage.stop_agent();
    stage.signal_agent(Signal::CONT);
    stage.wait_for_sleep();
    stage.open_gate();
    stage.assert_one_disturbed("agent_stopped");
}

#[test]
fn a_program_that_was_stopped_marks_its_run() {
    let stage = Stage::start(LONG);
    let program = stage.program();
    // Not its group: of a child that is stopped before it executes anything, the shell would wait for that, unstopped.
    kill_process(pid(program), Signal::STOP).expect("a signal");
    wait_for_state(program, 'T');
    kill_process(pid(program), Signal::CONT).expect("a signal");
    stage.open_gate();
    stage.assert_one_disturbed("program_stopped");
}

/// A freezer sends no signals; what it holds is the agent and its program together.
#[test]
fn a_run_in_a_frozen_group_is_lost() {
    let Some(group) = Group::make() else { return };
    let join = format!("echo $$ > {}; exec \"$@\"", group.file("cgroup.procs").display());
    let mut pool = Pool::without_agents(SPEEDUP);
    let agent = pool.add_agent_by(&["sh", "-c", &join, "sh"]);
    let id = pool.agent_id(agent);
    let stage = Stage::open(pool, id, LONG);
    stage.program();
    group.set_frozen(true);
    group.set_frozen(false);
    stage.open_gate();
    stage.assert_one_lost("control group");
}

/// A control group of version 2, removed when it is empty.
struct Group(PathBuf);

impl Group {
    /// None where this user cannot make one.
    fn make() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let unified = mounts.lines().find(|line| line.contains(" - cgroup2 "));
        let root = unified.and_then(|line| line.split(' ').nth(4)).filter(|_| geteuid().is_root());
        let Some(root) = root else {
            speedup_tests::skip("freezing takes root, and control groups of version 2");
            return None;
        };
        let directory = Path::new(root).join(format!("speedup-freezer-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("a control group");
        Some(Self(directory))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Freezes or thaws it, and waits until that is so.
    fn set_frozen(&self, frozen: bool) {
        let number = u8::from(frozen);
        std::fs::write(self.file("cgroup.freeze"), number.to_string()).expect("a freezer");
        let events = || std::fs::read_to_string(self.file("cgroup.events")).expect("events");
        eventually("it is so", || events().contains(&format!("frozen {number}")).then_some(()));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        eventually("the group is empty", || std::fs::remove_dir(&self.0).ok());
    }
}
