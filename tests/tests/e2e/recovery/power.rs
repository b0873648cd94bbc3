//! Power cuts of the whole coordinator on a block device: whatever was acknowledged before is there after.
//!
//! A real coordinator serves from an ext4 on a device that is cut at any write or flush, while agents report and people
//! submit. Each cut is mounted, a real coordinator is started on it, and whoever was told something before the cut asks for
//! it again, with the certificate from before. `SPEEDUP_BLOCK_CUTS=n` makes n cuts, `SPEEDUP_BLOCK_FIRST=s` begins with
//! the seed s.

use std::{
    collections::BTreeMap, fs, path::PathBuf, sync::Arc, sync::Mutex, sync::PoisonError, time::Duration,
};

use prost::Message as _;
use rand_chacha::ChaCha8Rng;
use speedup_access::{Credentials, Reach, Role};
use speedup_core::{
    agent::Action, agent::Agent, agent::Input, agent::message::CoordinatorMessage,
    experiment::metric::Metric, host::HostFacts, run::record::Outcome, run::record::Output,
    run::record::Record, value::id::AgentEpoch, value::id::AgentId, value::seed::Seed, value::seed::below,
};
use speedup_proto::{v1, v1::agents_client::AgentsClient, v1::experiments_client::ExperimentsClient};
use speedup_tests::block_device::{BlockDevice, Fate, PowerCut, empty_ext4};
use speedup_tests::pool::Pool;
use speedup_tests::skip;
use tempfile::TempDir;
use tokio::{runtime::Runtime, sync::mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use uuid::Uuid;

use crate::SPEEDUP;

/// Cuts in the normal run.
const USUAL_CUTS: u64 = 4;
/// Cuts of one life of a coordinator; the next begins with what the last cut left, or with an empty device.
const CUTS_OF_A_LIFE: u64 = 20;
/// Lives after which the device is empty again.
const LIVES_OF_A_DEVICE: u64 = 4;
/// Writes and flushes before a cut: some groups of the journal, up to a checkpoint of the file system.
const LONGEST_PAUSE: u64 = 400;
const DEVICE_BYTES: u64 = 64 << 20;
const AGENTS: u64 = 4;
/// Longest run of a simulated agent, milliseconds.
const LONGEST_RUN_MS: u64 = 6;
/// Runs of each of the two versions: about what a life can do.
const RUNS: u32 = 600;

/// A run that an agent was told is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Acknowledged {
    experiment: Vec<u8>,
    run: u32,
    attempt: u32,
}

/// What people and agents were told, by lease.
#[derive(Clone, Debug, Default)]
struct Told {
    submitted: Vec<String>,
    acknowledged: BTreeMap<u64, Acknowledged>,
}

/// A pool whose data directory is a mounted device.
struct Site {
    pool: Pool,
    mounted_at: TempDir,
    device: Option<BlockDevice>,
}

impl Site {
    fn new() -> Self {
        let mut pool = Pool::without_agents(SPEEDUP);
        pool.stop_coordinator();
        let mounted_at = tempfile::tempdir().expect("a directory");
        fs::remove_dir_all(pool.data()).expect("removed");
        std::os::unix::fs::symlink(mounted_at.path(), pool.data()).expect("a link");
        Self { pool, mounted_at, device: None }
    }

    fn start(&mut self, image: Vec<u8>) -> Result<(), String> {
        self.device = Some(BlockDevice::mount(image, self.mounted_at.path())?);
        self.pool.start_coordinator();
        Ok(())
    }

    fn end(&mut self) {
        self.pool.kill_coordinator();
        self.device = None;
    }

    fn device(&self) -> &BlockDevice {
        self.device.as_ref().expect("a mounted device")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // A coordinator that waits for a device that stands still cannot be killed.
        if let Some(device) = &self.device {
            device.go_on();
        }
        self.end();
    }
}

/// What a coordinator said, if the test fails.
struct LogOf(PathBuf);

impl Drop for LogOf {
    #[expect(clippy::print_stderr, reason = "it says why the test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(&self.0).unwrap_or_default());
        }
    }
}

#[test]
fn whatever_was_acknowledged_outlasts_a_power_cut_at_any_write() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let cuts = number("SPEEDUP_BLOCK_CUTS").unwrap_or(USUAL_CUTS);
    let first = number("SPEEDUP_BLOCK_FIRST").unwrap_or(0);
    let empty = match empty_ext4(DEVICE_BYTES) {
        Ok(empty) => empty,
        Err(why) => return skip(&why),
    };
    let (mut served, mut judged) = (Site::new(), Site::new());
    let _logs = [&served, &judged].map(|site| LogOf(site.pool.path().join("coordinator.log")));
    let (mut image, mut told, mut seen) = (empty.clone(), Told::default(), Seen::default());
    for life in first.. {
        if (life - first).is_multiple_of(LIVES_OF_A_DEVICE) {
            (image, told) = (empty.clone(), Told::default());
        }
        if let Err(why) = served.start(image.clone()) {
            assert_eq!(life, first, "a device that was mounted before: {why}");
            return skip(&why);
        }
        let runtime = Runtime::new().expect("a runtime");
        let left = CUTS_OF_A_LIFE.min(cuts - seen.cuts);
        (image, told) = live(&runtime, life, left, &served, &mut judged, told, &mut seen);
        served.end();
        drop(runtime);
        if seen.cuts == cuts {
            break;
        }
    }
    seen.tell(cuts);
}

/// One life of a coordinator; gives what its last cut left.
fn live(
    runtime: &Runtime,
    life: u64,
    cuts: u64,
    served: &Site,
    judged: &mut Site,
    told: Told,
    seen: &mut Seen,
) -> (Vec<u8>, Told) {
    let random = &mut Seed(life).child("power cuts");
    let told = Arc::new(Mutex::new(told));
    let submitted = served.pool.submit(&plan(life), &["--wait-for-hosts"]);
    held(&told, |told| told.submitted.push(submitted));
    for number in 0..AGENTS {
        let channel = runtime.block_on(served.pool.channel_of(&host(number), Role::Agent));
        let agent = SimulatedAgent::new(number, life, told.clone());
        runtime.spawn(agent.serve(channel));
    }
    let admin = served.pool.credentials();
    let mut left = None;
    for _ in 0..cuts {
        let fate = Fate::ALL[below(Fate::ALL.len() as u64, random) as usize];
        let pause = 1 + below(LONGEST_PAUSE, random);
        let (cut, before) = served.device().cut(pause, fate, random, || held(&told, |told| told.clone()));
        seen.note(&cut, &before);
        let what = format!("life {life}, {fate:?}, after {} writes and {} flushes", cut.writes, cut.flushes);
        judge(runtime, judged, cut.image.clone(), &before, &admin, &what);
        served.device().go_on();
        left = Some((cut.image, before));
    }
    left.expect("a cut")
}

/// Starts a coordinator on what a cut left, and looks for all that was told before.
fn judge(runtime: &Runtime, site: &mut Site, image: Vec<u8>, told: &Told, admin: &Credentials, what: &str) {
    site.start(image).unwrap_or_else(|why| panic!("{what}: the file system is lost: {why}"));
    let mut found = BTreeMap::new();
    runtime.block_on(async {
        // The certificate was made before the cut, by the authority on the device.
        let reach = Reach::new(&site.pool.url(), Some(admin)).expect("credentials");
        let channel = reach.connect().await.unwrap_or_else(|error| panic!("{what}: not let in: {error}"));
        let mut client = ExperimentsClient::new(channel).max_decoding_message_size(64 << 20);
        for experiment in &told.submitted {
            let request =
                v1::ExportRequest { experiment: experiment.clone(), ..v1::ExportRequest::default() };
            let pieces = client.export(request).await;
            let mut pieces =
                pieces.unwrap_or_else(|error| panic!("{what}: {experiment}: {error}")).into_inner();
            while let Some(piece) = pieces.message().await.expect("a piece") {
                let Some(v1::export_chunk::Part::Attempts(attempts)) = piece.part else { continue };
                for encoded in attempts.attempts {
                    let ended = v1::EndedAttempt::decode(encoded).expect("an attempt");
                    let lease = ended.lease.clone().expect("a lease").epoch;
                    assert!(found.insert(lease, ended).is_none(), "{what}: lease {lease} ended twice");
                }
            }
        }
    });
    for (lease, acknowledged) in &told.acknowledged {
        let ended =
            found.get(lease).unwrap_or_else(|| panic!("{what}: lease {lease} is gone: {acknowledged:?}"));
        assert_eq!(
            Some((acknowledged, wall_ns(*lease))),
            measured(ended).as_ref().map(|(is, wall)| (is, *wall)),
            "{what}"
        );
    }
    for (lease, ended) in &found {
        let is_as_reported = measured(ended).is_none_or(|(_, wall)| wall == wall_ns(*lease));
        assert!(is_as_reported, "{what}: nobody reported {ended:?}");
    }
    site.end();
}

/// What an attempt measured, if it did.
fn measured(ended: &v1::EndedAttempt) -> Option<(Acknowledged, u64)> {
    let lease = ended.lease.as_ref()?;
    let record = match ended.end.as_ref()? {
        v1::ended_attempt::End::Reported(record) => record,
        v1::ended_attempt::End::Lost(lost) => lost.late.as_ref()?,
    };
    let wall = record.metrics.iter().find(|metric| metric.metric == i32::from(v1::Metric::Wall))?.value;
    let (experiment, run, attempt) = (lease.experiment.clone(), lease.run, lease.attempt);
    Some((Acknowledged { experiment, run, attempt }, wall))
}

/// What was seen over all cuts.
#[derive(Default)]
struct Seen {
    cuts: u64,
    with_pending: u64,
    acknowledged: usize,
}

impl Seen {
    fn note(&mut self, cut: &PowerCut, told: &Told) {
        self.cuts += 1;
        self.with_pending += u64::from(cut.pending > 0);
        self.acknowledged += told.acknowledged.len();
    }

    #[expect(clippy::print_stderr, reason = "a person who ran many wants to know")]
    fn tell(&self, cuts: u64) {
        let Self { cuts: done, with_pending, acknowledged } = self;
        eprintln!(
            "{done} power cuts, {with_pending} of them with unflushed writes, {acknowledged} acknowledged runs looked for"
        );
        assert_eq!(*done, cuts);
        assert!(cuts < USUAL_CUTS || *acknowledged > 0, "nothing was acknowledged");
    }
}

fn held<T>(told: &Mutex<Told>, work: impl FnOnce(&mut Told) -> T) -> T {
    work(&mut told.lock().unwrap_or_else(PoisonError::into_inner))
}

fn plan(life: u64) -> String {
    format!(
        "[experiment]\nname = \"power\"\nseed = {life}\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = {RUNS}\n[independence]\npolicy = \"any\"\n\
         [limits]\nattempts = 50\n"
    )
}

fn host(number: u64) -> String {
    format!("host-{number}")
}

/// What the run of a lease is reported to have taken: told by the lease, so that a record is known again.
fn wall_ns(lease: u64) -> u64 {
    1_000_000 + lease
}

/// The real machine of an agent on a real connection, which executes nothing.
struct SimulatedAgent {
    machine: Agent,
    random: ChaCha8Rng,
    leases: BTreeMap<u64, Acknowledged>,
    told: Arc<Mutex<Told>>,
}

impl SimulatedAgent {
    fn new(number: u64, life: u64, told: Arc<Mutex<Told>>) -> Self {
        let host = host(number).parse().expect("a host");
        let boot = format!("boot-{number}").parse().expect("a boot");
        let facts = HostFacts { named_by_owner: true, ..HostFacts::bare(host, boot) };
        let id = AgentId(Uuid::from_u128(u128::from(number)));
        let machine = Agent::new(facts, id, AgentEpoch(1 + life), Vec::new());
        let random = Seed(life).child(&format!("agent {number}"));
        Self { machine, random, leases: BTreeMap::new(), told }
    }

    /// Serves until the coordinator is gone.
    async fn serve(mut self, channel: Channel) {
        let (up, messages) = mpsc::channel(64);
        if self.act(Input::LinkUp, &up).await.is_none() {
            return;
        }
        let session = AgentsClient::new(channel).session(ReceiverStream::new(messages)).await;
        let Ok(session) = session else { return };
        let mut down = session.into_inner();
        while let Ok(Some(message)) = down.message().await {
            let message = CoordinatorMessage::try_from(message).expect("a message");
            if let CoordinatorMessage::Acknowledged { lease } = &message
                && let Some(acknowledged) = self.leases.remove(&lease.0)
            {
                held(&self.told, |told| told.acknowledged.insert(lease.0, acknowledged));
            }
            if self.act(Input::Heard(message), &up).await.is_none() {
                return;
            }
        }
    }

    /// What the machine wants done; nothing when nobody hears it any more.
    async fn act(&mut self, input: Input, up: &mpsc::Sender<v1::AgentMessage>) -> Option<()> {
        let mut next = Some(input);
        while let Some(input) = next.take() {
            for action in self.machine.handle(input) {
                match action {
                    Action::Send(message) => up.send(message.into()).await.ok()?,
                    Action::Execute(grant) => {
                        let run = Duration::from_millis(1 + below(LONGEST_RUN_MS, &mut self.random));
                        tokio::time::sleep(run).await;
                        let experiment = grant.experiment.0.as_bytes().to_vec();
                        let (run, attempt) = (grant.run.0, grant.attempt.0);
                        self.leases.insert(grant.lease.0, Acknowledged { experiment, run, attempt });
                        next = Some(Input::Executed(record(grant.lease.0)));
                    }
                    Action::Prepare(_)
                    | Action::Begin
                    | Action::End { .. }
                    | Action::Keep(_)
                    | Action::Forget(_)
                    | Action::Remember(_)
                    | Action::Complain { .. }
                    | Action::Reboot { .. }
                    | Action::Withdraw { .. } => {}
                    Action::GiveUp { reason } | Action::Leave { reason } => {
                        panic!("an agent was refused for good: {reason}")
                    }
                }
            }
        }
        Some(())
    }
}

fn record(lease: u64) -> Record {
    let stream = Output { bytes: 0, blake3: [0; 32], kept: Vec::new() };
    Record {
        metrics: BTreeMap::from([(Metric::Wall, wall_ns(lease))]),
        stdout: stream.clone(),
        stderr: stream,
        ..Record::bare(Outcome::Measured)
    }
}
