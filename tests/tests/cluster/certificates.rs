//! Certificates over days and years, and under clocks that are wrong: of the coordinator, of an agent, of users, each with a wall
//! clock of its own. Whoever may stay is renewed, and comes back without a person.

use std::{fs::File, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command, process::Output};
use std::{process::Child, process::Stdio, thread};

use speedup_access::Serial;
use speedup_tests::cluster::wall_clock;
use speedup_tests::output::{failed, said, stderr, succeeded};
use speedup_tests::pool::{Pool, credentials_in, eventually};
use speedup_tests::process::{Killed, Process};

use crate::SPEEDUP;

const DAY: i64 = 86_400;
const COORDINATOR: &str = "coordinator";
const AGENT: &str = "agent";
const USER: &str = "user";

/// A coordinator, an agent and users, each kind with a wall clock.
struct Site {
    /// Only its directory is used: its coordinator has ended, for the one here has a clock.
    pool: Pool,
    coordinator: Option<Killed>,
}

impl Site {
    fn start() -> Self {
        let mut pool = Pool::without_agents(SPEEDUP);
        pool.stop_coordinator();
        let mut site = Self { pool, coordinator: None };
        site.set([COORDINATOR, AGENT, USER], 0);
        site.start_coordinator();
        site
    }

    /// Shifts wall clocks by seconds against this machine's.
    fn set<const N: usize>(&self, clocks: [&str; N], seconds: i64) {
        for name in clocks {
            let (new, clock) = (self.pool.path().join("clock.new"), self.clock(name));
            std::fs::write(&new, format!("{seconds:+}")).expect("a clock");
            std::fs::rename(new, clock).expect("a clock");
        }
    }

    fn clock(&self, name: &str) -> PathBuf {
        self.pool.path().join(format!("clock-{name}"))
    }

    fn command(&self, clock: &str) -> Command {
        let mut command = self.pool.command();
        command.envs(wall_clock(&self.clock(clock))).stdin(Stdio::null());
        command
    }

    fn spawn(&self, command: &mut Command, log: &str) -> Child {
        let path = self.pool.path().join(format!("{log}.log"));
        let log = File::options().create(true).append(true).open(path).expect("a log");
        command.stdout(Stdio::null()).stderr(log).spawn().expect("a process")
    }

    /// Starts the coordinator and waits until it listens. The access file is as its last end left it.
    fn start_coordinator(&mut self) {
        let before = self.pool.logged(COORDINATOR).matches("listening on").count();
        let mut command = self.command(COORDINATOR);
        let address = self.pool.url().replace("https://", "");
        command.args(["coordinator", "start", "--bind", &address, "--data"]).arg(self.pool.data());
        self.coordinator = Some(Killed(self.spawn(&mut command, COORDINATOR)));
        eventually("it listens", || {
            (self.pool.logged(COORDINATOR).matches("listening on").count() > before).then_some(())
        });
    }

    /// Kills the coordinator, and starts it on a day on which all clocks agree.
    fn restart_on(&mut self, day: i64) {
        self.coordinator = None;
        self.set([COORDINATOR, AGENT, USER], day * DAY);
        self.start_coordinator();
    }

    /// The command of the coordinator's own user.
    fn own(&self, arguments: &[&str]) -> Output {
        self.command(USER).args(arguments).output().expect("the command")
    }

    fn token(&self, role: &str, name: &str) -> PathBuf {
        let file = self.pool.path().join(format!("{name}.token"));
        let made = succeeded(&self.own(&["token", "create", "--role", role, "--name", name]));
        std::fs::write(&file, made).expect("a token");
        file
    }

    /// Enrols a user; gives the access file.
    fn enrol(&self, name: &str) -> PathBuf {
        let token = self.token("submitter", name).display().to_string();
        let access = self.pool.path().join(format!("{name}.access.toml"));
        let to = access.display().to_string();
        let url = self.pool.url();
        let words = ["access", "enrol", "--url", &url, "--token-file", &token, "--access-file", &to];
        succeeded(&self.own(&words));
        access
    }

    /// A command of an enrolled user, which has nothing to say but its answer.
    fn ask(&self, access: &PathBuf) -> Output {
        let mut command = self.command(USER);
        command.args(["access", "whoami", "--access-file"]).arg(access).output().expect("the command")
    }

    /// Starts the agent, with a token that is used up after its first start.
    fn start_agent(&self) -> Killed {
        let token = self.pool.path().join("host-0.token");
        let mut command = self.command(AGENT);
        command.args(["agent", "start", "--no-selftest", "--share-machine", "--host-id", "host-0"]);
        command.args(["--boot-id", "boot", "--coordinator", &self.pool.url(), "--state"]);
        command.arg(self.pool.path().join("agent")).arg("--token-file").arg(token);
        Killed(self.spawn(&mut command, AGENT))
    }

    /// Waits until the agent has joined once more than before.
    fn wait_until_joined(&self, before: usize) {
        eventually("the agent joins", || (self.joined() > before).then_some(()));
    }

    fn joined(&self) -> usize {
        self.pool.logged(AGENT).matches("joined the pool").count()
    }

    fn wait_for(&self, log: &str, words: &str) {
        eventually(words, || self.pool.logged(log).contains(words).then_some(()));
    }

    /// The certificate of the agent.
    fn agent_serial(&self) -> Serial {
        serial(&self.pool.path().join("agent/identity.toml"))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if thread::panicking() {
            for name in [COORDINATOR, AGENT] {
                eprintln!("{name}:\n{}", self.pool.logged(name));
            }
        }
    }
}

fn serial(file: &PathBuf) -> Serial {
    credentials_in(file).certificate().serial
}

#[test]
fn users_are_renewed_by_their_commands_for_four_hundred_days_after_the_end() {
    let site = Site::start();
    // The day of a command, counted from the enrolment, and whether it has the certificate renewed.
    let days = [(59, false), (61, true), (91, true), (366, true), (400, true), (489, true)];
    let users = days.map(|(day, _)| site.enrol(&format!("user-{day}")));
    let [late, later, revoked] = ["late", "later", "revoked"].map(|name| site.enrol(name));
    for ((day, is_renewed), user) in days.into_iter().zip(&users) {
        site.set([COORDINATOR, USER], day * DAY);
        let before = serial(user);
        succeeded(&site.ask(user));
        assert_eq!(serial(user) != before, is_renewed, "on day {day}");
        let renewed = serial(user);
        succeeded(&site.ask(user));
        assert!(serial(user) == renewed, "a new one is not renewed");
    }
    let log = site.pool.logged(COORDINATOR);
    assert!(log.contains("renewed a certificate that had expired"), "{log}");
    eventually("the owner's access file is renewed by the coordinator", || {
        let ended = site.own(&["access", "revoke", "--user", "revoked"]);
        ended.status.success().then_some(())
    });
    let refused = failed(&site.ask(&revoked), 2);
    assert!(refused.contains("was revoked"), "{refused}");
    for (day, user) in [(491, &late), (7_400, &later), (7_400, &users[5])] {
        site.set([COORDINATOR, USER], day * DAY);
        let before = serial(user);
        let refused = failed(&site.ask(user), 2);
        assert!(refused.contains("more than 400 days ago") && refused.contains("enrol again"), "{refused}");
        assert!(serial(user) == before, "what was refused is kept");
    }
    eventually("the owner goes on", || site.own(&["list"]).status.success().then_some(()));
}

#[test]
fn commands_that_find_a_certificate_due_at_once_renew_it_once() {
    let site = Site::start();
    let user = site.enrol("alice");
    site.set([COORDINATOR, USER], 61 * DAY);
    thread::scope(|scope| {
        let commands: Vec<_> = (0..8).map(|_| scope.spawn(|| site.ask(&user))).collect();
        for command in commands {
            let listed = command.join().expect("no panic");
            assert!(listed.status.success() && stderr(&listed).is_empty(), "{}", said(&listed));
        }
    });
    let listed = eventually("the owner is let in", || {
        let listed = site.own(&["access", "list", "--format", "json"]);
        listed.status.success().then_some(listed)
    });
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let certificates = listed["certificates"].as_array().expect("a list");
    let of_alice = certificates.iter().filter(|one| one["name"] == "alice").count();
    assert_eq!(of_alice, 2, "the one of before and the renewed one: {listed}");
}

#[test]
fn an_access_file_that_cannot_be_written_fails_no_command_and_takes_no_certificates() {
    let site = Site::start();
    let user = site.enrol("alice");
    std::fs::set_permissions(&user, std::fs::Permissions::from_mode(0o400)).expect("a mode");
    let before = serial(&user);
    site.set([COORDINATOR, USER], 61 * DAY);
    for _ in 0..3 {
        let listed = site.ask(&user);
        let words = stderr(&listed);
        assert!(listed.status.success() && words.contains("read-only"), "{words}");
        assert_eq!(words.lines().count(), 1, "{words}");
    }
    assert!(serial(&user) == before);
    std::fs::set_permissions(&user, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    succeeded(&site.ask(&user));
    assert!(serial(&user) != before);
}

#[test]
fn a_clock_that_is_ahead_here_makes_no_certificates_without_end() {
    let site = Site::start();
    let user = site.enrol("alice");
    // The server's certificate still holds by that clock.
    site.set([USER], 70 * DAY);
    let before = serial(&user);
    for _ in 0..3 {
        succeeded(&site.ask(&user));
    }
    assert!(serial(&user) == before, "the coordinator's clock decides");
}

#[test]
fn an_agent_whose_clock_is_ahead_at_boot_serves_when_it_is_right() {
    let site = Site::start();
    site.token("agent", "host-0");
    let agent = site.start_agent();
    site.wait_until_joined(0);
    drop(agent);
    let before = site.agent_serial();
    site.set([AGENT], 100 * DAY);
    let agent = site.start_agent();
    site.wait_for(AGENT, "certificate expired");
    site.set([AGENT], 0);
    site.wait_until_joined(1);
    assert!(site.agent_serial() == before, "its certificate was never gone");
    assert!(!Process::of(&agent.0).has_ended());
}

#[test]
fn an_agent_is_renewed_while_its_key_is_known_and_looks_again_after_that() {
    let mut site = Site::start();
    site.token("agent", "host-0");
    let agent = site.start_agent();
    site.wait_until_joined(0);
    drop(agent);
    for day in [61, 61 + 91, 61 + 91 + 89 + 400] {
        let (before, joined) = (site.agent_serial(), site.joined());
        site.restart_on(day);
        let agent = site.start_agent();
        site.wait_until_joined(joined);
        eventually("it has another certificate", || (site.agent_serial() != before).then_some(()));
        drop(agent);
    }
    let (before, joined) = (site.agent_serial(), site.joined());
    // Before the authority that the agent knows has ended, on day 7,305.
    site.restart_on(7_200);
    let agent = site.start_agent();
    site.wait_for(AGENT, "more than 400 days ago");
    assert!(!Process::of(&agent.0).has_ended(), "the clocks may be wrong");
    // They were.
    site.set([COORDINATOR, AGENT], 650 * DAY);
    site.wait_until_joined(joined);
    assert!(site.agent_serial() == before);
}

#[test]
fn after_a_coordinator_was_away_for_ninety_five_days_everybody_comes_back() {
    let mut site = Site::start();
    site.token("agent", "host-0");
    let (agent, user) = (site.start_agent(), site.enrol("alice"));
    site.wait_until_joined(0);
    let before = [site.agent_serial(), serial(&user)];
    site.restart_on(95);
    site.wait_until_joined(1);
    succeeded(&site.ask(&user));
    succeeded(&site.own(&["list"]));
    assert!(site.agent_serial() != before[0] && serial(&user) != before[1]);
    assert!(!Process::of(&agent.0).has_ended());
    let log = site.pool.logged(COORDINATOR);
    assert_eq!(log.matches("renewed a certificate that had expired").count(), 2, "{log}");
}

#[test]
fn a_coordinator_that_starts_in_local_time_serves_when_its_clock_is_put_back() {
    let mut site = Site::start();
    site.token("agent", "host-0");
    let (agent, user) = (site.start_agent(), site.enrol("alice"));
    site.wait_until_joined(0);
    for ahead in [2 * 3_600, 100 * DAY] {
        site.coordinator = None;
        site.set([COORDINATOR], ahead);
        site.start_coordinator();
        let refused = failed(&site.ask(&user), 4);
        assert!(refused.contains("not valid yet"), "{refused}");
        let joined = site.joined();
        site.set([COORDINATOR], 0);
        succeeded(&site.ask(&user));
        succeeded(&site.own(&["list"]));
        site.wait_until_joined(joined);
    }
    assert!(!Process::of(&agent.0).has_ended());
}

#[test]
fn what_was_made_while_the_clock_was_ahead_is_good_when_it_is_right() {
    let mut site = Site::start();
    site.coordinator = None;
    site.set([COORDINATOR, AGENT, USER], 100 * DAY);
    // As after a first start: nothing is there but what was made under the wrong clock.
    std::fs::remove_file(site.pool.access_file()).ok();
    site.start_coordinator();
    site.token("agent", "host-0");
    let (agent, user) = (site.start_agent(), site.enrol("alice"));
    site.wait_until_joined(0);
    // It is killed, and leaves an access file of the future.
    site.coordinator = None;
    site.set([COORDINATOR, AGENT, USER], 0);
    site.start_coordinator();
    site.wait_until_joined(1);
    succeeded(&site.own(&["list"]));
    succeeded(&site.ask(&user));
    assert!(!Process::of(&agent.0).has_ended());
}
