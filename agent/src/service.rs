//! What starts, and the loop: the machine says what to do, the loop does it.

mod attempt;

use std::{path::Path, path::PathBuf, time::Duration};

use rustix::{io::Errno, process::Pid, process::Signal};
use speedup_core::{
    agent::Action, agent::Agent, agent::Input, agent::message::AgentMessage,
    agent::message::CoordinatorMessage, agent::message::Grant, host::HostFacts, run::timer::TimerTest,
    value::causes::with_causes, value::id::BootId, value::seed::Seed,
};
use speedup_journal::private::{self, NotPrivate, Others};
use thiserror::Error;
use tracing::Instrument as _;

use self::attempt::HeldPart;
use crate::{
    entry, entry::Admittance, entry::Entry, entry::EntryError, files::Files, launch::LaunchError,
    launch::User, launch::UserError, leash::end_with_parent, limits::Limits, limits::LimitsError, link::Link,
    link::LinkError, outbox, outbox::Outbox, outbox::OutboxError, probe, probe::Names, probe::ProbeError,
    reboot::RebootCommand, runner::Runner, scratch::Scratch, selftest, selftest::Depth, selftest::Selftest,
    stop::Stop, surroundings::Surroundings, unreached::Unreached,
};

/// Where reports wait in the state directory.
const OUTBOX: &str = "outbox";
/// How long an idle agent listens before it says again what it waits for.
const QUIET: Duration = Duration::from_secs(60);
/// How long a report may be on its way before the outbox is synced. A coordinator that is there has made it durable
/// sooner, and the sync of this host's disk is saved: it would take as long as many a run.
const ON_ITS_WAY: Duration = Duration::from_millis(5);
/// How long settings of the host stay as a run wanted them while no other run comes: runs of an experiment follow each
/// other within milliseconds, and a governor that goes to and fro between them would be a disturbance itself.
const LINGER: Duration = Duration::from_secs(1);
/// The same of an agent that waits for the others of its gang: while their run is timed, nothing of it wakes.
const HELD: Duration = Duration::from_secs(3_600);
/// Pauses between attempts to connect: the first, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// How an agent is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// The coordinator, and how it lets this agent in.
    pub coordinator: Admittance,
    /// Where outbox and certificate lie; made if it is not there.
    pub state: PathBuf,
    /// Where programs run and files are cached, in a directory of the agent's own below it; where it is absent, the state
    /// directory or, if that is not local, a place for temporary files.
    pub scratch: Option<PathBuf>,
    /// The host's names, where they are not what machine and engine say.
    pub names: Names,
    /// How its owner lets it boot anew, if at all.
    pub reboot: Option<RebootCommand>,
    /// Most bytes of files that are kept for runs to come.
    pub file_cache: u64,
    /// Whether the timer is tested before the host joins.
    pub timer_test: TimerTesting,
    /// The process with which the agent ends, if any: its parent.
    pub exit_with_parent: Option<Pid>,
    /// The user as whom programs execute, by name or number, where it is not the agent's own.
    pub user: Option<String>,
    /// The file with what the owner lets plans do, where that is not everything.
    pub limits: Option<PathBuf>,
    /// Where the kernel's files `sys` and `proc` lie that tell of the host and set it: `/`, but in tests.
    pub system: PathBuf,
}

/// Whether the timer is tested before the host joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerTesting {
    /// At a glance, unless a test of this boot and this release lies in the state directory.
    WhenUntested,
    /// Never; the result of an earlier one is used.
    Never,
}

/// Why an agent ends other than by being asked to.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The coordinator does not let it in.
    #[error(transparent)]
    Entry(#[from] EntryError),
    #[error("cannot determine the id of this host")]
    Probe(#[from] ProbeError),
    #[error("cannot create the state directory {}", path.display())]
    State { path: PathBuf, source: std::io::Error },
    #[error("cannot make the state directory private to this user")]
    NotPrivate(#[from] NotPrivate),
    #[error("cannot use the scratch directory")]
    Scratch(#[source] NotPrivate),
    #[error("the outbox in {} cannot be used", path.display())]
    Outbox { path: PathBuf, source: OutboxError },
    #[error("cannot execute programs as another user")]
    User(#[from] UserError),
    #[error("cannot keep the limits of this host's owner")]
    Limits(#[from] LimitsError),
    #[error("cannot execute commands on this host")]
    Launch(#[from] LaunchError),
    #[error("cannot open the cache of files")]
    Files(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot prepare the agent's process")]
    Process(#[source] std::io::Error),
    /// The process with which it is to end has ended before it began, or is not its parent.
    #[error("process {0}, with which the agent is to end, is not its parent")]
    Orphan(Pid),
    #[error("the coordinator rejected this host permanently: {0}")]
    TurnedAway(String),
}

impl AgentError {
    /// Whether it is of no use to try again.
    fn is_lasting(&self) -> bool {
        match self {
            Self::Entry(error) => error.is_lasting(),
            Self::Probe(_)
            | Self::State { .. }
            | Self::NotPrivate(_)
            | Self::Scratch(_)
            | Self::Outbox { .. }
            | Self::User(_)
            | Self::Limits(_)
            | Self::Launch(_)
            | Self::Files(_)
            | Self::Process(_)
            | Self::Orphan(_)
            | Self::TurnedAway(_) => true,
        }
    }
}

speedup_core::hints! { AgentError:
    Self::Probe(error) => error.hint(),
    Self::NotPrivate(error) => error.hint(),
    Self::Scratch(error) => error.hint().or(Some("choose another with --scratch")),
    Self::Outbox { source, .. } => source.hint(),
    Self::User(error) => error.hint(),
    Self::Limits(error) => error.hint(),
    Self::Launch(error) => error.hint(),
    Self::State { .. } | Self::Files(_) => "choose another with --state",
    Self::Entry(error) => error.hint(),
    // What can be done about the others differs; the coordinator says it with the reason.
}

/// How many reports in a state directory the coordinator has not acknowledged. No agent may be using it.
pub fn waiting_reports(state: &Path) -> Result<usize, AgentError> {
    let path = state.join(OUTBOX);
    outbox::waiting(&path).map_err(|source| AgentError::Outbox { path, source })
}

/// Serves until SIGTERM or SIGINT. Call it from the only thread of the process.
pub fn run(options: Options) -> Result<(), AgentError> {
    if let Some(parent) = options.exit_with_parent {
        end_with_parent(parent, Signal::TERM).map_err(|errno| match errno {
            Errno::SRCH => AgentError::Orphan(parent),
            errno => AgentError::Process(errno.into()),
        })?;
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(AgentError::Process)?;
    runtime.block_on(async {
        let service = Service::start(options)?;
        let lines_of = tracing::info_span!("agent", host = %service.facts.host);
        service.serve().instrument(lines_of).await
    })
}

struct Service {
    agent: Agent,
    /// What was last said of the host.
    facts: HostFacts,
    /// Where its files lie.
    system: PathBuf,
    reboot: Option<RebootCommand>,
    outbox: Outbox,
    outbox_path: PathBuf,
    runner: Runner,
    files: Files,
    /// Dropped last: all of them work in it.
    _scratch: Scratch,
    entry: Entry,
    stop: Stop,
    link: Option<Link>,
    /// What is said once a connection stands.
    unsaid: Vec<AgentMessage>,
    backoff: Duration,
    complaint: Option<String>,
    unreached: Unreached,
    /// What is prepared, and waits for the others of its gang.
    held: Option<HeldPart>,
    /// Why the agent has to end once it has said what it has to say.
    broken: Option<AgentError>,
}

/// How a session ended.
enum SessionEnd {
    /// By this side, or because there was no way in.
    Closed,
    Failed(LinkError),
}

impl Service {
    fn start(options: Options) -> Result<Self, AgentError> {
        let state = |source| AgentError::State { path: options.state.clone(), source };
        // Programs of another user execute in directories below it.
        let others = if options.user.is_some() { Others::Pass } else { Others::Nothing };
        if let Some(closed) = private::claim(&options.state, others, &[OUTBOX])? {
            tracing::warn!("{closed}");
        }
        let root = options.state.canonicalize().map_err(state)?;
        let outbox_path = root.join(OUTBOX);
        let outbox = Outbox::open(&outbox_path)
            .map_err(|source| AgentError::Outbox { path: outbox_path.clone(), source })?;
        let boot = probe::boot_id(options.names.boot.clone())?;
        let limits = options.limits.as_deref().map(Limits::read).transpose()?.unwrap_or_default();
        let user = options.user.as_deref().map(User::named).transpose()?;
        // Before the probe: an earlier start may have left settings changed that are facts of the host.
        let surroundings = Surroundings::new(&options.system, &root, &boot, user);
        let mut facts = probe::host_facts(&options.system, options.names, boot)?;
        facts.can_reboot = options.reboot.is_some();
        facts.timer = timer_test(&root, &facts.boot, options.timer_test);
        let unreached = Unreached::new(&root, facts.job.clone());
        let entry = Entry::new(options.coordinator, facts.host.clone(), &root)?;
        tracing::info!(host = %facts.host, agent = %outbox.agent(), epoch = %outbox.epoch(),
            unacknowledged = outbox.reports().len(), "the agent starts");
        let scratch =
            Scratch::open(options.scratch.as_deref(), &root, others).map_err(AgentError::Scratch)?;
        Ok(Self {
            files: Files::open(scratch.path(), options.file_cache)
                .map_err(|error| AgentError::Files(error.into()))?,
            runner: Runner::new(scratch.path(), &facts, &options.system, surroundings, limits)?,
            _scratch: scratch,
            system: options.system,
            reboot: options.reboot,
            agent: Agent::new(facts.clone(), outbox.agent(), outbox.epoch(), outbox.reports()),
            stop: Stop::listen().map_err(AgentError::Process)?,
            facts,
            outbox,
            outbox_path,
            entry,
            link: None,
            unsaid: Vec::new(),
            backoff: BACKOFF.0,
            complaint: None,
            unreached,
            held: None,
            broken: None,
        })
    }

    async fn serve(mut self) -> Result<(), AgentError> {
        while !self.stop.is_wished() {
            match self.session().await? {
                SessionEnd::Failed(error) if error.is_unauthenticated() => self.turned_out(&error).await?,
                SessionEnd::Failed(error) => {
                    self.complain(&error);
                    self.entry.look_again();
                }
                SessionEnd::Closed => {}
            }
            if self.stop.is_wished() && self.held.is_some() {
                self.take(Input::Retire).await?;
            }
            self.link = None;
            self.release_host();
            self.take(Input::LinkDown).await?;
            let pause = tokio::time::sleep(self.backoff);
            self.backoff = (self.backoff * 2).min(BACKOFF.1);
            tokio::select! {
                () = pause => {}
                () = self.stop.wished() => {}
            }
            self.look_again();
        }
        self.outbox(Outbox::settle)?;
        tracing::info!("the agent stops");
        Ok(())
    }

    /// Says what the host is now: settings may have been changed while nobody was told.
    fn look_again(&mut self) {
        match probe::probe_again(&self.system, &self.facts) {
            Ok(facts) if facts == self.facts => {}
            Ok(facts) => {
                let differences = self.facts.fingerprint.differences(&facts.fingerprint);
                let changed: Vec<&str> = differences.iter().map(|one| one.fact.as_str()).collect();
                tracing::info!("this host has changed: {}", changed.join(", "));
                self.facts = facts.clone();
                self.agent.handle(Input::Probed(facts));
            }
            Err(error) => tracing::warn!("cannot probe this host again: {}", with_causes(&error)),
        }
    }

    /// Runs one session, from connecting to its end. An error ends the agent.
    async fn session(&mut self) -> Result<SessionEnd, AgentError> {
        self.unsaid.clear();
        self.take(Input::LinkUp).await?;
        let first = std::mem::take(&mut self.unsaid);
        let entry = &mut self.entry;
        let connected = tokio::select! {
            connected = async { Ok(Link::connect(&entry.open().await?, first).await) } => connected,
            () = self.stop.wished() => return Ok(SessionEnd::Closed),
        };
        match connected {
            Ok(Ok(link)) => self.link = Some(link),
            Ok(Err(error)) => return Ok(SessionEnd::Failed(error)),
            Err(error) if AgentError::is_lasting(&error) => return Err(error),
            Err(error) => {
                self.try_again(&error);
                return Ok(SessionEnd::Closed);
            }
        }
        while !self.stop.is_wished() {
            // A renewed certificate takes effect with the next connection.
            if self.entry.renew().await {
                return Ok(SessionEnd::Closed);
            }
            let patience = self.patience();
            let Some(link) = &mut self.link else { return Ok(SessionEnd::Closed) };
            tokio::select! {
                // A message that has arrived comes before the stop and before any pause.
                biased;
                heard = link.hear() => match heard {
                    Ok(message) => self.hear(message).await?,
                    Err(error) => return Ok(SessionEnd::Failed(error)),
                },
                () = self.stop.wished() => return Ok(SessionEnd::Closed),
                () = tokio::time::sleep(patience) => self.pause_over(patience).await?,
            }
        }
        Ok(SessionEnd::Closed)
    }

    /// How long to wait for a message before something else is due.
    fn patience(&self) -> Duration {
        if self.outbox.is_due() {
            ON_ITS_WAY
        } else if self.held.is_some() {
            HELD
        } else if self.runner.holds_host() {
            LINGER
        } else {
            QUIET
        }
    }

    async fn hear(&mut self, message: CoordinatorMessage) -> Result<(), AgentError> {
        if matches!(message, CoordinatorMessage::Welcome { .. }) {
            tracing::info!("joined the pool");
            self.complaint = None;
            self.unreached.clear();
        }
        self.take(Input::Heard(message)).await
    }

    /// Does what was due after no message arrived for `patience`.
    async fn pause_over(&mut self, patience: Duration) -> Result<(), AgentError> {
        if patience == QUIET || patience == HELD {
            return self.take(Input::Quiet).await;
        }
        if patience == LINGER {
            self.release_host();
        }
        self.outbox(Outbox::sync)
    }

    /// Lets the machine take something in, and does what it says, until it says nothing more.
    async fn take(&mut self, input: Input) -> Result<(), AgentError> {
        let mut next = Some(input);
        while let Some(input) = next.take() {
            for action in self.agent.handle(input) {
                next = self.perform(action).await?.or(next);
            }
            match &mut self.link {
                // Who goes on to listen says it while nothing is heard.
                Some(link) if self.broken.is_some() || self.stop.is_wished() => link.flush().await,
                Some(_) => {}
                None => self.outbox(Outbox::sync)?,
            }
            if let Some(error) = self.broken.take() {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn perform(&mut self, action: Action) -> Result<Option<Input>, AgentError> {
        match action {
            Action::Send(message) => self.say(message),
            // A report that cannot be kept is still sent; then the agent ends.
            Action::Keep(report) => self.broken = self.outbox(|outbox| outbox.keep(*report)).err(),
            Action::Forget(lease) => {
                self.backoff = BACKOFF.0;
                self.outbox(|outbox| outbox.forget(lease))?;
            }
            Action::Remember(epoch) => self.outbox(|outbox| outbox.remember(epoch))?,
            Action::Execute(grant) => {
                let lines_of = lines_of(&grant);
                return self.execute(*grant).instrument(lines_of).await;
            }
            Action::Prepare(grant) => {
                let lines_of = lines_of(&grant);
                return self.prepare(*grant).instrument(lines_of).await;
            }
            Action::Begin => {
                let Some(held) = self.held.take() else { return Ok(None) };
                let lines_of = lines_of(held.grant());
                return self.begin(held).instrument(lines_of).await.map(Some);
            }
            Action::End { reason } => return Ok(self.end(reason)),
            Action::Reboot { reason } => return self.reboot(&reason).await,
            Action::Complain { lease, reason } => tracing::warn!(%lease, "a report was refused: {reason}"),
            Action::Leave { reason } => {
                tracing::info!("{reason}");
                self.stop.wish();
            }
            Action::GiveUp { reason } => {
                self.link = None;
                self.broken = Some(AgentError::TurnedAway(reason));
            }
            Action::Withdraw { reason } => {
                self.link = None;
                self.backoff = BACKOFF.1.min(self.backoff * 4);
                self.say_once(format!("the coordinator rejected this host: {reason}"));
            }
        }
        Ok(None)
    }

    /// Puts the settings of the host back, unless a run of a gang is to find them.
    fn release_host(&mut self) {
        if self.held.is_none() {
            self.runner.release_host();
        }
    }

    /// Boots the host anew, as its owner has configured it; the coordinator is told if that does not happen.
    async fn reboot(&mut self, reason: &str) -> Result<Option<Input>, AgentError> {
        // What is not acknowledged is sent after the boot.
        self.outbox(Outbox::sync)?;
        self.runner.release_host();
        self.link = None;
        self.backoff = BACKOFF.1;
        let Some(reboot) = &self.reboot else {
            tracing::warn!("this host should reboot ({reason}), but its agent has no --reboot-command");
            return Ok(Some(Input::NotRebooted));
        };
        tracing::info!(command = ?reboot.command, "this host reboots: {reason}");
        match reboot.execute(&mut self.stop).await {
            Ok(()) => Ok(None),
            Err(error) => {
                tracing::warn!("this host did not reboot: {}", with_causes(&error));
                Ok(Some(Input::NotRebooted))
            }
        }
    }

    /// What cannot be said now is said again by the machine in the next session.
    fn say(&mut self, message: AgentMessage) {
        match &mut self.link {
            Some(link) => {
                if let Err(error) = link.say(message) {
                    tracing::debug!("{error}");
                }
            }
            None => self.unsaid.push(message),
        }
    }

    fn outbox(
        &mut self,
        work: impl FnOnce(&mut Outbox) -> Result<(), OutboxError>,
    ) -> Result<(), AgentError> {
        work(&mut self.outbox).map_err(|source| AgentError::Outbox { path: self.outbox_path.clone(), source })
    }

    /// Tells who sees this host's disk that the coordinator cannot be reached, if that is it.
    fn leave_word(&mut self, unreached: Option<String>) {
        if let Some(words) = unreached {
            self.unreached.tell(self.entry.coordinator(), &words);
        }
    }

    /// The coordinator accepts the certificate no more; the outcome of a renewal says whether the agent has to end.
    async fn turned_out(&mut self, error: &LinkError) -> Result<(), AgentError> {
        let reason = with_causes(error);
        let renewed = tokio::select! {
            renewed = self.entry.turned_out(&reason) => renewed,
            () = self.stop.wished() => return Ok(()),
        };
        match renewed.map_err(AgentError::Entry) {
            Ok(()) => self.backoff = BACKOFF.0,
            Err(error) if error.is_lasting() => return Err(error),
            Err(error) => self.try_again(&error),
        }
        Ok(())
    }

    /// There is no way in now, but may be later.
    fn try_again(&mut self, error: &AgentError) {
        if let AgentError::Entry(entry) = error {
            self.leave_word(entry.unreached());
        }
        if matches!(error, AgentError::Entry(EntryError::Expired(_))) {
            self.backoff = entry::EXPIRED;
        }
        self.say_once(format!("{}; trying again", with_causes(error)));
        self.entry.look_again();
    }

    fn complain(&mut self, error: &LinkError) {
        self.leave_word(error.unreached());
        self.say_once(format!("{}; trying again", with_causes(error)));
    }

    /// The same trouble is told once, not at each attempt.
    fn say_once(&mut self, complaint: String) {
        if self.complaint.as_ref() != Some(&complaint) {
            tracing::warn!("{complaint}");
            self.complaint = Some(complaint);
        }
    }
}

/// What the lines of the log are of while something is done under a grant.
fn lines_of(grant: &Grant) -> tracing::Span {
    let Grant { lease, experiment, run, attempt, .. } = grant;
    tracing::info_span!("run", %experiment, run = run.0, attempt = attempt.0, %lease)
}

/// The result of the last selftest, or of one made now. A host whose timer cannot be tested serves nevertheless, and
/// says so.
fn timer_test(state: &Path, boot: &BootId, wanted: TimerTesting) -> Option<TimerTest> {
    let kept = selftest::read(state, boot);
    if kept.is_some() || wanted == TimerTesting::Never {
        return kept.as_ref().and_then(Selftest::test);
    }
    let found = match Selftest::measure(Depth::GLANCE, Seed(0)) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!("this host's timer was not tested: {}", with_causes(&error));
            return None;
        }
    };
    if let Err(error) = selftest::write(state, boot, &found) {
        tracing::warn!("cannot keep the test of this host's timer: {error}");
    }
    let test = found.test();
    if let Some(TimerTest { error, floor_ns, .. }) = test {
        tracing::info!(
            bias_ns = error.bias_ns,
            spread_ns = error.spread_ns,
            floor_ns,
            "tested this host's timer"
        );
    }
    test
}
