//! A pool of real processes on loopback: one coordinator, agents with host identities of their own, and the command
//! beside them. Everything is killed when the pool is dropped.

use std::fs::{DirBuilder, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use speedup_access::{Credentials, Identity, Reach, Role, enrolment};
use speedup_proto::{v1, v1::experiments_client::ExperimentsClient, v1::hosts_client::HostsClient};
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::output::{json_lines, said, stderr, stdout};
use crate::{cluster::install, ledger::Ledger, process::Process};

/// How long a condition may take to come true before a test fails. Generous: machines of tests are shared and slow.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How often a condition is looked at.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);

/// Waits until a condition gives something.
pub fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "still waiting after {PATIENCE:?}: {what}");
        std::thread::sleep(GLANCE);
    }
}

/// A coordinator, agents, and a directory for all of them.
#[derive(Debug)]
pub struct Pool {
    directory: TempDir,
    binary: PathBuf,
    listens: SocketAddr,
    coordinator: Option<Child>,
    agents: Vec<Option<Child>>,
    grace: &'static str,
    reboot_limit: &'static str,
    /// By what name others are told to reach the coordinator, where it is not its address.
    advertised: Option<&'static str>,
    starter: &'static [&'static str],
    /// Who the coordinator is, where it is not this process's own user.
    owner: Option<u32>,
}

impl Pool {
    /// A pool with a coordinator and this many agents, all connected. `binary` is the command under test.
    pub fn start(binary: &str, agents: usize) -> Self {
        let mut pool = Self::without_agents(binary);
        for _ in 0..agents {
            pool.add_agent();
        }
        pool.wait_for_hosts(agents);
        pool
    }

    /// A pool with a coordinator and an agent that has these flags, connected.
    pub fn with_agent(binary: &str, flags: &[&str]) -> Self {
        let mut pool = Self::without_agents(binary);
        pool.add_agent_with(flags);
        pool.wait_for_hosts(1);
        pool
    }

    /// A pool with a coordinator and so many agents on hosts whose kernel's files lie in this directory, connected.
    pub fn on(binary: &str, system: &Path, agents: usize) -> Self {
        let mut pool = Self::without_agents(binary);
        for _ in 0..agents {
            pool.add_agent_on(system);
        }
        pool.wait_for_hosts(agents);
        pool
    }

    /// A pool with a coordinator alone.
    pub fn without_agents(binary: &str) -> Self {
        Self::at(binary, Ipv4Addr::LOCALHOST.into(), &[])
    }

    /// The same, whose coordinator is reached at this address of the machine and is started by a command that starts the
    /// command it is given.
    pub fn at(binary: &str, address: IpAddr, starter: &'static [&'static str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self::within(directory, PathBuf::from(binary), address, starter, None)
    }

    /// The same with a copy of the binary in the pool's directory, which is the owner's like all that lies there.
    pub fn installed(
        binary: &str,
        address: IpAddr,
        starter: &'static [&'static str],
        owner: Option<u32>,
    ) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).expect("an open directory");
        std::os::unix::fs::chown(directory.path(), owner, owner).expect("the owner's directory");
        let copy = install(binary, directory.path());
        Self::within(directory, copy, address, starter, owner)
    }

    fn within(
        directory: TempDir,
        binary: PathBuf,
        address: IpAddr,
        starter: &'static [&'static str],
        owner: Option<u32>,
    ) -> Self {
        let listens = SocketAddr::new(address, 0);
        let (coordinator, agents) = (None, Vec::new());
        let (grace, reboot_limit, advertised) = ("2s", "15m", None);
        let mut pool = Self {
            directory,
            binary,
            listens,
            coordinator,
            agents,
            grace,
            reboot_limit,
            advertised,
            starter,
            owner,
        };
        pool.start_coordinator();
        pool
    }

    /// The command under test.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Sets how long a host may take to boot anew, from the next start of the coordinator on.
    pub fn set_reboot_limit(&mut self, limit: &'static str) {
        self.reboot_limit = limit;
    }

    /// Sets how long a host may be away, from the next start of the coordinator on.
    pub fn set_grace(&mut self, grace: &'static str) {
        self.grace = grace;
    }

    /// Sets by what name others are told to reach the coordinator, from its next start on.
    pub fn advertise(&mut self, name: &'static str) {
        self.advertised = Some(name);
    }

    /// The directory of the pool.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The data directory of the coordinator.
    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Where the coordinator keeps a content, by its hash.
    pub fn blob(&self, blake3: &str) -> PathBuf {
        self.data().join("blobs").join(&blake3[..2]).join(&blake3[2..])
    }

    /// Writes a file into the directory of the pool.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), content).expect("a file");
    }

    /// Where the coordinator listens.
    pub fn url(&self) -> String {
        format!("https://{}", self.listens)
    }

    /// The access file that the coordinator wrote.
    pub fn access_file(&self) -> PathBuf {
        self.path().join("speedup/access.toml")
    }

    /// What the access file lets one in with: an admin.
    pub fn credentials(&self) -> Credentials {
        credentials_in(&self.access_file())
    }

    /// A connection with credentials, or with those of the access file.
    pub async fn channel(&self, credentials: Option<&Credentials>) -> Channel {
        let own = self.credentials();
        let reach = Reach::new(&self.url(), Some(credentials.unwrap_or(&own))).expect("credentials");
        reach.connect().await.expect("a connection")
    }

    /// Credentials that an admin has had made.
    pub async fn credentials_of(&self, name: &str, role: Role) -> Credentials {
        let reach = Reach::new(&self.url(), Some(&self.credentials())).expect("credentials");
        let identity = Identity::new(name, role).expect("an identity");
        enrolment::issue(&reach, &identity).await.expect("a certificate")
    }

    /// A connection with credentials made for it.
    pub async fn channel_of(&self, name: &str, role: Role) -> Channel {
        let credentials = self.credentials_of(name, role).await;
        self.channel(Some(&credentials)).await
    }

    /// Starts the coordinator, again where it was before if it was started before.
    pub fn start_coordinator(&mut self) {
        self.start_coordinator_by(self.starter);
    }

    /// The same, by a command that starts the command it is given.
    pub fn start_coordinator_by(&mut self, starter: &[&str]) {
        let access = self.access_file();
        // The file of a coordinator that was killed says where that one was.
        let _ = std::fs::remove_file(&access);
        if self.listens.ip().is_loopback() {
            // Meanwhile a connection of another test may have its port.
            eventually("the coordinator's address is free", || TcpListener::bind(self.listens).ok());
        }
        let bind = self.listens.to_string();
        let data = self.data();
        DirBuilder::new().recursive(true).mode(0o700).create(&data).expect("the data directory");
        std::os::unix::fs::chown(&data, self.owner, self.owner).expect("the owner's data directory");
        let mut command = match starter {
            [] => self.command(),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&self.binary).env("DATA", &data);
                self.surround(&mut command);
                command
            }
        };
        command.args(["coordinator", "start", "--bind", &bind, "--host-grace", self.grace]);
        command.args(["--reboot-limit", self.reboot_limit]);
        command.args(self.advertised.map(|name| format!("--advertise={name}")));
        command.arg("--data").arg(data);
        let child =
            command.stdout(Stdio::null()).stderr(self.log("coordinator")).spawn().expect("the coordinator");
        self.coordinator = Some(child);
        let text = eventually("the coordinator listens", || {
            let text = std::fs::read_to_string(&access).ok()?;
            text.contains("https://").then_some(text)
        });
        let port = text.split(&format!("{}:", self.listens.ip())).nth(1).expect("an address");
        let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
        self.listens.set_port(digits.parse().expect("a port"));
    }

    /// Kills the coordinator as a power cut would.
    pub fn kill_coordinator(&mut self) {
        if let Some(child) = self.coordinator.take() {
            kill(child);
        }
    }

    /// The coordinator, not the pool's to kill from now on.
    pub fn take_coordinator(&mut self) -> Child {
        self.coordinator.take().expect("a coordinator that was started")
    }

    /// An agent, not the pool's to kill from now on.
    pub fn take_agent(&mut self, number: usize) -> Child {
        self.agents[number].take().expect("an agent that was started")
    }

    /// Asks the coordinator to end, and waits until it has.
    pub fn stop_coordinator(&mut self) {
        if let Some(mut child) = self.coordinator.take() {
            kill_process(pid(&child), Signal::TERM).expect("a signal");
            child.wait().expect("an end");
        }
    }

    /// Starts one more agent, on a host of its own; gives its number.
    pub fn add_agent(&mut self) -> usize {
        self.agents.push(None);
        self.start_agent(self.agents.len() - 1);
        self.agents.len() - 1
    }

    /// Starts an agent that was killed.
    pub fn start_agent(&mut self, number: usize) {
        let child = self.spawn_agent(number, &agent_name(number));
        self.agents[number] = Some(child);
    }

    /// Starts one more agent, on a host whose kernel's files lie in this directory; gives its number.
    pub fn add_agent_on(&mut self, system: &Path) -> usize {
        self.agents.push(None);
        self.start_agent_on(self.agents.len() - 1, system);
        self.agents.len() - 1
    }

    /// Starts one more agent, with these flags.
    pub fn add_agent_with(&mut self, flags: &[&str]) {
        let number = self.agents.len();
        let child = self.agent_command(number, &agent_name(number)).args(flags).spawn();
        self.agents.push(Some(child.expect("an agent")));
    }

    /// The process id of an agent.
    pub fn agent_id(&self, number: usize) -> i32 {
        let agent = self.agents[number].as_ref().expect("an agent that was started");
        pid(agent).as_raw_nonzero().get()
    }

    /// The number of the coordinator's process.
    pub fn coordinator_id(&self) -> u32 {
        self.coordinator.as_ref().expect("a coordinator that was started").id()
    }

    /// The process of an agent that was started.
    pub fn agent_process(&mut self, number: usize) -> Process {
        let child = self.agents[number].as_mut().expect("an agent that was started");
        assert_eq!(child.try_wait().expect("a state"), None, "the agent has ended");
        Process::of(child)
    }

    /// The state directory of an agent.
    pub fn agent_state(&self, number: usize) -> PathBuf {
        self.path().join(agent_name(number))
    }

    /// Starts one more agent, without privilege also where this process has some.
    pub fn add_agent_without_privilege(&mut self) {
        const NOBODY: u32 = 65_534;
        let is_root = rustix::process::geteuid().is_root();
        let binary = self.binary.clone();
        if is_root {
            // It has to reach its state directory, which is the only thing that it owns, and the binary, which may be in a home.
            let open = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(self.path(), open).expect("an open directory");
            self.binary = self.path().join(binary.file_name().expect("a file"));
            std::fs::copy(&binary, &self.binary).expect("a copy of the binary");
        }
        let mut command = self.agent_command(self.agents.len(), "unprivileged");
        self.binary = binary;
        if is_root {
            let state = self.path().join("unprivileged");
            std::fs::create_dir_all(&state).expect("a state directory");
            std::os::unix::fs::chown(&state, Some(NOBODY), Some(NOBODY)).expect("its own state directory");
            command.uid(NOBODY).gid(NOBODY);
        }
        // It cannot read the access file.
        let file = self.path().join("token");
        std::fs::write(&file, self.ok(&["token", "create", "--role", "agent"])).expect("a token");
        command.arg("--token-file").arg(file);
        self.agents.push(Some(command.spawn().expect("an agent")));
    }

    /// Starts one more agent, by a command that starts the command it is given; gives its number.
    pub fn add_agent_by(&mut self, starter: &[&str]) -> usize {
        let number = self.agents.len();
        let agent = self.agent_command(number, &agent_name(number));
        let (program, arguments) = starter.split_first().expect("a command");
        let mut command = Command::new(program);
        command.args(arguments).arg(agent.get_program()).args(agent.get_args());
        self.surround(&mut command);
        command.stdout(Stdio::null()).stderr(self.log(&agent_name(number)));
        self.agents.push(Some(command.spawn().expect("an agent")));
        number
    }

    /// Starts an agent of [`Pool::add_agent_on`] that was killed.
    pub fn start_agent_on(&mut self, number: usize, system: &Path) {
        let mut command = self.agent_command(number, &agent_name(number));
        let child = command.arg("--system-root").arg(system).spawn().expect("an agent");
        self.agents[number] = Some(child);
    }

    /// An agent for the host of that number, with a state directory of that name; not the pool's to kill.
    pub fn spawn_agent(&self, number: usize, state: &str) -> Child {
        self.spawn_agent_with(number, state, &[])
    }

    /// The same, with these flags.
    pub fn spawn_agent_with(&self, number: usize, state: &str, flags: &[&str]) -> Child {
        self.agent_command(number, state).args(flags).spawn().expect("an agent")
    }

    /// An agent for the host of that number, in this boot and in this allocation of an engine; not the pool's to kill.
    pub fn spawn_agent_in(&self, number: usize, boot: &str, allocation: &str, flags: &[&str]) -> Child {
        let mut command = self.agent_command_in(number, &agent_name(number), boot);
        command.args(flags).env("POD_UID", allocation).spawn().expect("an agent")
    }

    fn agent_command(&self, number: usize, state: &str) -> Command {
        self.agent_command_in(number, state, &format!("boot-of-{number}"))
    }

    fn agent_command_in(&self, number: usize, state: &str, boot: &str) -> Command {
        let mut command = self.command();
        // All agents of a pool are on one machine.
        command.args(["agent", "start", "--share-machine", "--coordinator", &self.url()]);
        command.args(["--host-id", &host_id(number), "--boot-id", boot]);
        command.arg("--state").arg(self.path().join(state));
        command.stdout(Stdio::null()).stderr(self.log(state));
        command
    }

    /// Whether an agent has ended by itself.
    pub fn has_ended(&mut self, number: usize) -> bool {
        let agent = self.agents[number].as_mut();
        agent.is_some_and(|child| child.try_wait().expect("a state").is_some())
    }

    /// Kills the coordinator as a power cut would, and starts it again.
    pub fn restart_coordinator(&mut self) {
        self.kill_coordinator();
        self.start_coordinator();
    }

    /// Kills an agent as a power cut would.
    pub fn kill_agent(&mut self, number: usize) {
        if let Some(child) = self.agents[number].take() {
            kill(child);
        }
    }

    /// Asks an agent to end, and waits until it has.
    pub fn stop_agent(&mut self, number: usize) {
        if let Some(mut child) = self.agents[number].take() {
            kill_process(pid(&child), Signal::TERM).expect("a signal");
            child.wait().expect("an end");
        }
    }

    /// How many agents there were.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// Waits until this many hosts are connected.
    pub fn wait_for_hosts(&self, wanted: usize) {
        eventually("hosts join", || {
            let request = v1::ListHostsRequest::default();
            let listed = self.call(|channel| async move { HostsClient::new(channel).list(request).await })?;
            let connected = listed.hosts.iter().filter(|host| host.connected).count();
            (connected >= wanted).then_some(())
        });
    }

    /// Waits until every host has a run.
    pub fn wait_until_all_have_a_run(&self) {
        eventually("every host has a run", || {
            let listed = self.json(&["hosts", "list"])?;
            listed.as_array()?.iter().all(|host| !host["lease"].is_null()).then_some(())
        });
    }

    /// Runs the command against the coordinator.
    pub fn speedup(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).stdin(Stdio::null()).output().expect("the command")
    }

    /// What a command prints that has to succeed.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.speedup(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        stdout(&output)
    }

    /// What a command says that has to be refused.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str]) -> String {
        let output = self.speedup(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        stderr(&output)
    }

    /// What is said to a plan that has to be refused, by this verb.
    #[track_caller]
    pub fn refused_plan(&self, plan: &str, verb: &[&str]) -> String {
        self.write("refused.toml", plan);
        let file = self.path().join("refused.toml").display().to_string();
        self.refused(&[verb, &[&file]].concat())
    }

    /// Runs the command and reads its JSON, if it succeeds.
    pub fn json(&self, arguments: &[&str]) -> Option<serde_json::Value> {
        let output = self.speedup(&[arguments, &["--format", "json"]].concat());
        output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    /// Submits a plan; gives the experiment's id.
    pub fn submit(&self, plan: &str, flags: &[&str]) -> String {
        let file = self.path().join("plan.toml");
        std::fs::write(&file, plan).expect("a plan file");
        let path = file.display().to_string();
        let arguments = [&["submit", path.as_str(), "--format", "json"], flags].concat();
        let answer: serde_json::Value = serde_json::from_str(&self.ok(&arguments)).expect("JSON");
        answer["experiment"].as_str().expect("an id").to_owned()
    }

    /// Submits a plan and waits until it is carried out; gives the experiment's id.
    pub fn finish(&self, plan: &str) -> String {
        // The agents of a coordinator that has just started may still be on their way back.
        let experiment = self.submit(plan, &["--wait-for-hosts"]);
        self.wait_for(&experiment);
        experiment
    }

    /// Carries out a plan; gives its export.
    pub fn measure(&self, plan: &str) -> Ledger {
        self.ledger(&self.finish(plan))
    }

    /// Waits until an experiment has finished or was cancelled.
    pub fn wait_for(&self, experiment: &str) {
        eventually("the experiment finishes", || self.is_finished(experiment).then_some(()));
    }

    /// Whether an experiment has finished or was cancelled; false while the coordinator cannot be reached. Tests poll this, and a process for each look
    /// would take the processors from what they wait for.
    pub fn is_finished(&self, experiment: &str) -> bool {
        let request = v1::GetRequest { experiment: experiment.to_owned() };
        let status = self.call(|channel| async move { ExperimentsClient::new(channel).get(request).await });
        let phase = status.and_then(|status| status.phase);
        matches!(phase, Some(v1::experiment_status::Phase::Finished(_)))
    }

    /// What the coordinator answers to a call as an admin; none while it cannot be reached, or if it refuses.
    fn call<C, T>(&self, call: impl FnOnce(Channel) -> C + Send) -> Option<T>
    where
        C: Future<Output = Result<tonic::Response<T>, tonic::Status>>,
        T: Send,
    {
        let access = self.access_file();
        if !access.exists() {
            return None;
        }
        let reach = Reach::new(&self.url(), Some(&credentials_in(&access))).expect("credentials");
        // A thread of its own: some tests have a runtime already.
        let ask = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let channel = reach.connect().await.ok()?;
                call(channel).await.ok().map(tonic::Response::into_inner)
            })
        };
        std::thread::scope(|scope| scope.spawn(ask).join().expect("no panic"))
    }

    /// The export of an experiment.
    pub fn ledger(&self, experiment: &str) -> Ledger {
        Ledger::read(&self.export(experiment))
    }

    /// The rows of an experiment, with their types.
    pub fn rows(&self, experiment: &str) -> Vec<serde_json::Value> {
        json_lines(&self.export_as("jsonl", experiment))
    }

    /// The export of an experiment, as CSV.
    pub fn export(&self, experiment: &str) -> String {
        self.export_as("csv", experiment)
    }

    /// The export of an experiment, in this form.
    pub fn export_as(&self, form: &str, experiment: &str) -> String {
        self.ok(&["export", experiment, "--format", form, "-o", "-"])
    }

    /// What a process of the pool has logged, over all its starts.
    pub fn logged(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// The command under test, which knows the pool's coordinator.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        self.surround(&mut command);
        command
    }

    fn surround(&self, command: &mut Command) {
        command
            .env("XDG_STATE_HOME", self.path())
            .env("SPEEDUP_COORDINATOR", self.url())
            .env("NO_COLOR", "1");
    }

    fn log(&self, name: &str) -> File {
        let path = self.path().join(format!("{name}.log"));
        File::options().create(true).append(true).open(path).expect("a log file")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let agents = self.agents.iter_mut().filter_map(Option::take);
        agents.chain(self.coordinator.take()).for_each(kill);
    }
}

/// What an access file lets one in with.
pub fn credentials_in(file: &Path) -> Credentials {
    let text = std::fs::read_to_string(file).expect("an access file");
    let access: toml::Table = text.parse().expect("TOML");
    let part = |name: &str| access[name].as_str().expect("a text").to_owned();
    Credentials::new(&part("authority"), &part("certificate"), &part("key")).expect("credentials")
}

fn agent_name(number: usize) -> String {
    format!("agent-{number}")
}

/// The id of a host of the pool.
pub fn host_id(number: usize) -> String {
    format!("host-{number}")
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn kill(mut child: Child) {
    // It may have ended by itself; then there is nothing to kill.
    let _ = child.kill();
    let _ = child.wait();
}
