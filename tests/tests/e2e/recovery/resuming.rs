//! A `speedup run` that is interrupted goes on where it stopped: what is settled is kept, and nothing is executed twice.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use speedup_tests::{
    ledger::Ledger, output::ended, output::said, output::succeeded, pool::eventually, process::Process,
};
use tempfile::TempDir;

use crate::SPEEDUP;

const RUNS: usize = 40;

/// A plan whose program writes a line for each execution.
struct Home {
    directory: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self { directory: tempfile::tempdir().expect("a directory") };
        let plan = format!(
            "[experiment]\nname = \"long\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
             [benchmarks.nap]\nshell = \"echo executed >> {} && sleep 0.05\"\n[repetitions]\nruns = {}\n\
             [independence]\npolicy = \"any\"\n",
            home.path("executions").display(),
            RUNS / 2
        );
        fs::write(home.path("plan.toml"), plan).expect("a plan");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(SPEEDUP);
        let state: &Path = self.directory.path();
        command.current_dir(state).env("XDG_STATE_HOME", state).env("NO_COLOR", "1").stdin(Stdio::null());
        command.env_remove("SPEEDUP_COORDINATOR");
        command
    }

    /// Starts the run, and waits until some of it was executed.
    fn begin(&self, flags: &[&str]) -> Child {
        let mut command = self.command();
        command.args(["run", "plan.toml"]).args(flags);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a run");
        eventually("some runs were executed", || (self.executions() >= 5).then_some(()));
        child
    }

    fn executions(&self) -> usize {
        fs::read_to_string(self.path("executions")).map_or(0, |text| text.lines().count())
    }

    fn speedup(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().expect("the command")
    }

    /// Asserts that all runs are measured once, of which `lost` were begun by a command that was killed.
    fn assert_all_once(&self, place: &[&str], lost: usize) {
        let exported = self.speedup(&[&["export", "last", "--format", "csv", "-o", "-"], place].concat());
        let ledger = Ledger::read(&String::from_utf8(exported.stdout).expect("UTF-8"));
        assert_eq!(ledger.assert_exactly_once(RUNS), RUNS);
        let executions = self.executions();
        assert!((RUNS..=RUNS + lost).contains(&executions), "{executions} executions");
    }
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_stopped() {
    let home = Home::new();
    let mut killed = home.begin(&[]);
    killed.kill().expect("SIGKILL");
    killed.wait().expect("its end");
    let done = home.executions();
    assert!(done < RUNS, "it was killed in the midst of it");
    let explained = said(&home.speedup(&["explain", "last"]));
    assert!(explained.contains("No command carries it out now: `speedup resume "), "{explained}");
    let resumed = ended(&home.speedup(&["resume", "last"]), 0);
    assert!(resumed.contains(&format!("complete: {RUNS} of {RUNS} runs measured")), "{resumed}");
    home.assert_all_once(&[], 1);
    // Nothing is left.
    let again = ended(&home.speedup(&["resume", "last"]), 2);
    assert!(again.contains("is finished") && again.contains("hint: "), "{again}");
}

#[test]
fn what_a_killed_run_left_is_kept_for_later_when_another_begins() {
    let home = Home::new();
    let mut killed = home.begin(&["--name", "first"]);
    killed.kill().expect("SIGKILL");
    killed.wait().expect("its end");
    let told = ended(&home.speedup(&["bench", "-N", "-r", "3", "true"]), 0);
    let line = told.lines().find(|line| line.starts_with("first was not finished")).expect("it is told");
    let typed = line.split('`').nth(1).expect("a command").to_owned();
    let words: Vec<&str> = typed.split_whitespace().skip(1).collect();
    let resumed = home.speedup(&words);
    assert!(resumed.status.success() && said(&resumed).contains("first ("), "{}", said(&resumed));
    let executions = home.executions();
    assert!((RUNS..=RUNS + 1).contains(&executions), "{executions} executions");
}

#[test]
fn an_agent_that_hangs_is_ended_when_its_command_is_gone() {
    let home = Home::new();
    let mut killed = home.begin(&["--data", "mine"]);
    let agents = Process::of(&killed).children();
    let [agent] = &agents[..] else { panic!("children: {agents:?}") };
    let id = agent.parse().expect("an id");
    let agent = Process::of_id(id);
    // The kernel would continue a stopped group that no parent of the session is left for.
    let mut beside = Command::new("sleep").arg("1000").process_group(id).spawn().expect("sleep");
    kill_process(Pid::from_raw(id).expect("a process"), Signal::STOP).expect("a signal");
    eventually("the agent has stopped", || (agent.state() == Some('T')).then_some(()));
    killed.kill().expect("SIGKILL");
    killed.wait().expect("its end");
    assert_eq!(agent.state(), Some('T'));
    let resumed = home.speedup(&["resume", "last", "--data", "mine"]);
    beside.kill().expect("SIGKILL");
    beside.wait().expect("its end");
    assert!(resumed.status.success(), "{}", said(&resumed));
    assert!(agent.has_ended());
    home.assert_all_once(&["--data", "mine"], 1);
}

#[test]
fn the_agent_of_a_command_that_lives_is_left_alone() {
    let home = Home::new();
    let living = home.begin(&["--data", "mine"]);
    let refused = home.speedup(&["run", "plan.toml", "--data", "mine"]);
    assert!(said(&refused).contains("is in use by process"), "{}", said(&refused));
    assert_eq!(refused.status.code(), Some(4), "{}", said(&refused));
    succeeded(&living.wait_with_output().expect("its end"));
    home.assert_all_once(&["--data", "mine"], 0);
}

#[test]
fn an_interrupted_run_says_what_to_type_and_goes_on_by_that() {
    for flags in [&[][..], &["--data", "mine"][..]] {
        let home = Home::new();
        let mut interrupted = home.begin(flags);
        kill_process(Pid::from_child(&interrupted), Signal::INT).expect("a signal");
        let mut told = String::new();
        let mut errors = interrupted.stderr.take().expect("what it says");
        errors.read_to_string(&mut told).expect("UTF-8");
        assert_eq!(interrupted.wait().expect("its end").code(), Some(130), "{told}");
        let done = home.executions();
        assert!(done < RUNS, "it was interrupted in the midst of it");
        let last = told.lines().last().expect("a last line");
        assert!(last.ends_with("continues where it stopped."), "{told}");
        let words: Vec<&str> =
            last.split('`').nth(1).expect("a command").split_whitespace().skip(1).collect();
        succeeded(&home.speedup(&words));
        home.assert_all_once(flags, 0);
    }
}

/// How a command ends that is cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    Killed,
    /// By two signals, of which the second does not wait for the run under way.
    Signaled(Signal),
}

impl Cut {
    pub(crate) const ALL: [Self; 3] =
        [Self::Killed, Self::Signaled(Signal::INT), Self::Signaled(Signal::TERM)];

    /// Cuts a command off, whose messages go to a file, and asserts how it ends.
    pub(crate) fn off(self, child: &mut Child, told: &Path) {
        let code = match self {
            Self::Killed => {
                child.kill().expect("SIGKILL");
                None
            }
            Self::Signaled(signal) => {
                let send = || kill_process(Pid::from_child(child), signal).expect("a signal");
                send();
                let heard = || fs::read_to_string(told).ok()?.contains("Interrupted").then_some(());
                eventually("the first is heard", heard);
                send();
                Some(128 + signal.as_raw())
            }
        };
        assert_eq!(child.wait().expect("its end").code(), code, "{self:?}");
    }
}

#[test]
fn a_run_that_was_cut_off_is_executed_anew_by_whichever_command() {
    const NAPS: usize = 6;
    let nap = "echo executed >> executions; sleep 0.4";
    for words in [&["run", "plan.toml"][..], &["bench", "-r", "6", nap]] {
        for cut in Cut::ALL {
            let home = Home::new();
            let plan = fs::read_to_string(home.path("plan.toml")).expect("a plan");
            let plan = plan.replace("sleep 0.05", "sleep 0.4").replace("runs = 20", "runs = 3");
            fs::write(home.path("plan.toml"), plan).expect("a plan");
            let told = fs::File::create(home.path("told")).expect("a file");
            let mut child =
                home.command().args(words).stdout(Stdio::null()).stderr(told).spawn().expect("runs");
            eventually("runs are executed", || (home.executions() >= 3).then_some(()));
            cut.off(&mut child, &home.path("told"));
            ended(&home.speedup(&["resume", "last"]), 0);
            let exported = home.speedup(&["export", "last", "--format", "csv", "-o", "-"]);
            let ledger = Ledger::read(&succeeded(&exported));
            assert_eq!(ledger.assert_exactly_once(NAPS), NAPS, "{words:?} {cut:?}");
            assert_eq!(
                ledger.rows.len(),
                NAPS + 1,
                "the attempt that was cut off is kept: {words:?} {cut:?}"
            );
        }
    }
}
