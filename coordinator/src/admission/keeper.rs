//! The keeper: one thread that decides about tokens and certificates, writes what came of it to a journal of its own, and
//! only then answers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use prost::Message as _;
use speedup_access::{
    Authority, AuthorityError, Certificate, Credentials, CredentialsError, Identity, IssueError, Issued,
    Serial, Signing, Token, TokenId, unix_seconds,
};
use speedup_core::value::causes::with_causes;
use speedup_journal::private::{self, NotPrivate, Others};
use speedup_journal::{Journal, JournalId, OpenError, Options, PayloadVersion, ReplayError, WriteError};
use speedup_proto::journal::v1 as wire;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::event::{AccessEvent, Change, MalformedEvent};
use super::log::AdmissionLog;
use super::registry::{Enrolment, Holder, ITSELF, NewToken, Refusal, Registry, Target, TokenState};
use crate::fault::{Broken, Fault};

/// Requests that may wait; whoever asks more waits.
const WAITING: usize = 1_024;
/// Requests whose events are synced together.
const BATCH: usize = 256;
const VERSION: PayloadVersion = PayloadVersion(1);
/// Events that are synced together when a start ends what there is too much of: far less than a group of the journal holds.
const SURPLUS_BATCH: usize = 4_096;

/// Why nobody can be let in.
#[derive(Debug, Error)]
pub enum AdmissionError {
    #[error("there is no certificate authority")]
    Authority(#[from] AuthorityError),
    #[error("cannot make the directory of admissions private to this user")]
    Directory(#[from] NotPrivate),
    /// The authority is there, and not what says whom it let in.
    #[error("there is no journal of admissions in {}, but the authority is beside it", .0.display())]
    NoJournal(PathBuf),
    #[error("cannot open the journal of admissions")]
    Open(#[source] OpenError),
    #[error("cannot read the journal of admissions")]
    Read(#[source] ReplayError),
    #[error("cannot decode the journal of admissions in {}", path.display())]
    Event { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("cannot write the journal of admissions")]
    Write(#[source] WriteError),
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}

speedup_core::hints! { AdmissionError:
    Self::Authority(error) => error.hint(),
    Self::Directory(error) => error.hint(),
    Self::NoJournal(_) =>
        "nothing was changed: bring its segments (*.seg) back, or restore a backup; to start over, move \
            the directory `access` away, which invalidates all certificates and tokens",
    Self::Open(error) => error.hint(),
    Self::Read(error) => error.hint(),
    Self::Event { .. } => "start the release that wrote it, or a newer one",
}

/// Why a request got no answer.
#[derive(Clone, Debug, Error)]
pub(crate) enum AdmissionRequestError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error("the coordinator is stopping")]
    Gone,
    #[error("the coordinator cannot write its journal of admissions; its log says why")]
    Broken,
}

/// Why the owner of a coordinator gets no credentials.
#[derive(Debug, Error)]
pub enum OwnError {
    #[error("the coordinator cannot change its certificates: {0}")]
    Unheard(String),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// What was revoked, as it was before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Revocation {
    pub(crate) certificates: Vec<(Serial, Holder)>,
    pub(crate) tokens: Vec<(TokenId, TokenState)>,
}

/// How everyone speaks to the keeper. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Admission {
    jobs: mpsc::Sender<Message>,
    registry: Arc<RwLock<Registry>>,
    authority: Arc<Authority>,
    log: AdmissionLog,
    /// The certificates that this process has given out for its access file.
    owners: Arc<Mutex<BTreeSet<Serial>>>,
}

enum Message {
    Do(Job),
    /// The coordinator stops; doors that are still open hear no answer.
    Stop,
}

/// Decides in the registry; gives what to do when it is durable, or is known not to be.
type Job = Box<dyn FnOnce(&Registry, &Authority, u64) -> (Vec<AccessEvent>, Completion) + Send>;
type Completion = Box<dyn FnOnce(Result<(), AdmissionRequestError>) + Send>;

impl Admission {
    /// The admissions kept in a data directory. `revoked` is told of each certificate that was ended.
    pub(crate) fn open(
        data: &Path,
        fault: Fault,
        revoked: impl Fn(Serial) + Send + 'static,
    ) -> Result<(Self, JoinHandle<()>), AdmissionError> {
        let directory = data.join("access");
        let path = directory.join("journal");
        private::claim(&directory, Others::Nothing, &[])?;
        let authority_is_there =
            speedup_access::AUTHORITY_FILES.iter().any(|name| directory.join(name).exists());
        if authority_is_there && !Journal::lies_in(&path).map_err(AdmissionError::Open)? {
            return Err(AdmissionError::NoJournal(path));
        }
        // The journal is there before the authority: one without it was moved away.
        let options = Options::new(JournalId(*Uuid::now_v7().as_bytes()));
        let (journal, recovery) = Journal::open(&path, &options).map_err(AdmissionError::Open)?;
        if let Some(cut) = recovery.cut {
            tracing::warn!(file = %cut.file.display(), bytes = cut.bytes, "cut off the torn tail of the admissions");
        }
        let authority = Arc::new(Authority::open(&directory)?);
        let registry = Arc::new(RwLock::new(replay(&journal, &path)?));
        let (jobs, waiting) = mpsc::channel(WAITING);
        let mut keeper =
            AdmissionWriter { journal, registry: registry.clone(), authority: authority.clone(), fault };
        keeper.end_surplus().map_err(AdmissionError::Write)?;
        let thread = std::thread::Builder::new().name("admission".to_owned());
        let thread = thread.spawn(move || keeper.run(waiting, &revoked)).map_err(AdmissionError::Thread)?;
        Ok((
            Self { jobs, registry, authority, log: AdmissionLog::new(&path), owners: Arc::default() },
            thread,
        ))
    }

    /// The authority of its certificates.
    pub fn authority(&self) -> &Arc<Authority> {
        &self.authority
    }

    /// What was done, as people read it.
    pub(crate) fn log(&self) -> &AdmissionLog {
        &self.log
    }

    pub(crate) fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a certificate was issued here and is not revoked; it says itself whether it has expired.
    pub fn holds(&self, serial: Serial) -> bool {
        self.registry().holds(serial)
    }

    /// Whether a certificate is one of the coordinator's own access file.
    pub(crate) fn is_owners(&self, serial: Serial) -> bool {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).contains(&serial)
    }

    /// Credentials of an admin, for the access file: those that were there before, while they hold for long enough.
    pub async fn own(
        &self,
        identity: &Identity,
        before: Option<Credentials>,
    ) -> Result<Credentials, OwnError> {
        let now = unix_seconds();
        let in_use = before.as_ref().map(|before| before.certificate().serial);
        if let Some(before) = before
            && before.authority_pem() == self.authority.pem()
            && before.certificate().identity == *identity
            && !before.certificate().is_due(now)
            && self.holds(before.certificate().serial)
        {
            self.remember_owner(&before);
            return Ok(before);
        }
        // The key stays here; what is signed is the request.
        let signing = Signing::new()?;
        let identity = identity.clone();
        let request = signing.request().to_vec();
        let issued = self.ask(move |registry, authority, now| {
            let ended = registry.end_earlier(&identity, in_use);
            let (mut events, issued) = issue(authority, now, identity, &request, ITSELF.to_owned())?;
            events.extend(by_itself(now, ended));
            Ok((events, issued))
        });
        let issued = issued.await.map_err(|error| OwnError::Unheard(error.to_string()))?;
        let credentials = signing.complete(self.authority.pem(), &issued.pem)?;
        self.remember_owner(&credentials);
        Ok(credentials)
    }

    fn remember_owner(&self, credentials: &Credentials) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.insert(credentials.certificate().serial);
    }

    /// Ends a certificate that [`Self::own`] made, and whose key nobody has any more.
    pub async fn disown(&self, serial: Serial) -> Result<(), OwnError> {
        let revoked = self.revoke(Target::Certificate(serial), ITSELF.to_owned()).await;
        revoked.map(drop).map_err(|error| OwnError::Unheard(error.to_string()))
    }

    pub(crate) async fn create_token(&self, new: NewToken) -> Result<Token, AdmissionRequestError> {
        let token = Token::random(self.authority.fingerprint());
        self.ask(move |registry, _, now| {
            let change = registry.create_token(now, token.id(), &new)?;
            Ok((vec![AccessEvent { at: now, by: new.by, change }], token))
        })
        .await
    }

    pub(crate) async fn enrol(
        &self,
        token: TokenId,
        name: String,
        request: Vec<u8>,
    ) -> Result<Issued, AdmissionRequestError> {
        self.ask(move |registry, authority, now| {
            let Enrolment { identity, by, lifetime } = registry.enrolled(now, token, &name)?;
            let mut replaced = registry.end_replaced(now, &identity, None);
            let issued = match lifetime {
                None => authority.issue(&identity, &request, now)?,
                Some(seconds) => {
                    replaced.extend(registry.end_oldest_job(&identity));
                    authority.issue_for(&identity, &request, now, Duration::from_secs(seconds))?
                }
            };
            let mut events = vec![recorded(now, identity, &issued, by, Some(token))];
            events.extend(by_itself(now, replaced));
            Ok((events, issued))
        })
        .await
    }

    /// Makes a certificate by the word of someone who may.
    pub(crate) async fn issue(
        &self,
        identity: Identity,
        request: Vec<u8>,
        by: String,
    ) -> Result<Issued, AdmissionRequestError> {
        self.ask(move |registry, authority, now| {
            registry.require_place(now, &identity)?;
            issue(authority, now, identity, &request, by)
        })
        .await
    }

    /// Renews a certificate for the key of a request, or for its own where that is empty.
    pub(crate) async fn renew(
        &self,
        certificate: Arc<Certificate>,
        request: Vec<u8>,
    ) -> Result<Issued, AdmissionRequestError> {
        self.ask(move |registry, authority, now| {
            let Certificate { identity, serial, .. } = &*certificate;
            // It may have been revoked since the guard let it in.
            registry.require_renewable(now, identity, *serial)?;
            let replaced = registry.end_replaced(now, identity, Some(*serial));
            let issued = if request.is_empty() {
                authority.issue_again(&certificate, now)?
            } else {
                authority.issue(identity, &request, now)?
            };
            let mut events = vec![recorded(now, identity.clone(), &issued, identity.name().to_owned(), None)];
            events.extend(by_itself(now, replaced));
            Ok((events, issued))
        })
        .await
    }

    pub(crate) async fn revoke(
        &self,
        target: Target,
        by: String,
    ) -> Result<Revocation, AdmissionRequestError> {
        self.ask(move |registry, _, now| {
            let mut events = Vec::new();
            let mut revoked = Revocation::default();
            for change in registry.revoke(&target)? {
                // What it was is told from here: the list of all others may be long.
                match &change {
                    Change::CertificateRevoked { serial } => {
                        let holder = registry.holder(*serial).cloned();
                        revoked.certificates.extend(holder.map(|holder| (*serial, holder)));
                    }
                    Change::TokenRevoked { token } => {
                        let state = registry.token(*token).cloned();
                        revoked.tokens.extend(state.map(|state| (*token, state)));
                    }
                    Change::TokenCreated { .. } | Change::CertificateIssued { .. } => {}
                }
                events.push(AccessEvent { at: now, by: by.clone(), change });
            }
            Ok((events, revoked))
        })
        .await
    }

    /// Ends the keeper, once it has done what it was told before.
    pub(crate) async fn stop(&self) {
        // It may be gone already.
        let _ = self.jobs.send(Message::Stop).await;
    }

    async fn ask<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&Registry, &Authority, u64) -> Result<(Vec<AccessEvent>, T), AdmissionRequestError>
        + Send
        + 'static,
    ) -> Result<T, AdmissionRequestError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |registry, authority, now| {
            let (events, decided) = match decide(registry, authority, now) {
                Ok((events, answer)) => (events, Ok(answer)),
                Err(refusal) => (Vec::new(), Err(refusal)),
            };
            // Who asked may be gone.
            let after: Completion = Box::new(move |durable| drop(reply.send(durable.and(decided))));
            (events, after)
        });
        self.jobs.send(Message::Do(job)).await.map_err(|_| AdmissionRequestError::Gone)?;
        answer.await.map_err(|_| AdmissionRequestError::Gone)?
    }
}

fn issue(
    authority: &Authority,
    now: u64,
    identity: Identity,
    request: &[u8],
    by: String,
) -> Result<(Vec<AccessEvent>, Issued), AdmissionRequestError> {
    let issued = authority.issue(&identity, request, now)?;
    Ok((vec![recorded(now, identity, &issued, by, None)], issued))
}

/// The record of a certificate.
fn recorded(at: u64, identity: Identity, issued: &Issued, by: String, token: Option<TokenId>) -> AccessEvent {
    let Issued { serial, not_after, .. } = *issued;
    AccessEvent { at, by, change: Change::CertificateIssued { serial, identity, not_after, token } }
}

/// What the coordinator changes unasked, as events.
fn by_itself(at: u64, changes: Vec<Change>) -> impl Iterator<Item = AccessEvent> {
    changes.into_iter().map(move |change| AccessEvent { at, by: ITSELF.to_owned(), change })
}

fn replay(journal: &Journal, path: &Path) -> Result<Registry, AdmissionError> {
    let event = |source: Box<dyn std::error::Error + Send + Sync>| AdmissionError::Event {
        path: path.to_owned(),
        source,
    };
    let mut registry = Registry::default();
    let mut records = journal.replay(journal.first()).map_err(AdmissionError::Read)?;
    while let Some(record) = records.next_record().map_err(AdmissionError::Read)? {
        if record.version != VERSION {
            return Err(event(format!("version {} of a record is unknown", record.version.0).into()));
        }
        let read = wire::AccessEvent::decode(record.payload).map_err(|error| event(error.into()))?;
        let read = AccessEvent::try_from(read).map_err(|error: MalformedEvent| event(error.into()))?;
        registry.evolve(&read);
    }
    registry.recount(unix_seconds());
    Ok(registry)
}

struct AdmissionWriter {
    journal: Journal,
    registry: Arc<RwLock<Registry>>,
    authority: Arc<Authority>,
    fault: Fault,
}

impl AdmissionWriter {
    fn run(mut self, mut waiting: mpsc::Receiver<Message>, revoked: &dyn Fn(Serial)) {
        let _vital = self.fault.watch_over("the keeper of admissions");
        let mut batch = Vec::with_capacity(BATCH);
        while waiting.blocking_recv_many(&mut batch, BATCH) > 0 {
            let is_last = batch.iter().any(|message| matches!(message, Message::Stop));
            let (events, afters) = self.decide(&mut batch);
            if let Err(error) = self.commit(&events) {
                // The registry is ahead of the journal from now on. Nothing more is decided on it, and the process ends.
                tracing::error!("access can no longer change: {}", with_causes(&error));
                self.fault.report(Broken::Admissions(with_causes(&error)));
                for after in afters {
                    after(Err(AdmissionRequestError::Broken));
                }
                return;
            }
            for event in &events {
                if let Change::CertificateRevoked { serial } = event.change {
                    revoked(serial);
                }
            }
            for after in afters {
                after(Ok(()));
            }
            if is_last {
                break;
            }
        }
        if let Err(error) = self.journal.close() {
            tracing::error!(
                "closing the journal of admissions failed; the next start will check it: {}",
                with_causes(&error)
            );
        }
    }

    /// Decides one after the other, each on what those before have changed.
    fn decide(&self, batch: &mut Vec<Message>) -> (Vec<AccessEvent>, Vec<Completion>) {
        let now = unix_seconds();
        let mut events = Vec::new();
        let mut afters = Vec::with_capacity(batch.len());
        if self.read().is_outdated(now) {
            self.write().recount(now);
        }
        for message in batch.drain(..) {
            let Message::Do(job) = message else { continue };
            // Nobody else writes: what it decides on stays as it is, and those who ask whether they hold need not wait.
            let (came, after) = job(&self.read(), &self.authority, now);
            if !came.is_empty() {
                let mut registry = self.write();
                for event in &came {
                    registry.evolve(event);
                }
            }
            events.extend(came);
            afters.push(after);
        }
        (events, afters)
    }

    /// Ends, before anyone is let in, what an earlier release issued beyond the bound of each identity.
    fn end_surplus(&mut self) -> Result<(), WriteError> {
        let surplus = self.read().end_surplus();
        if surplus.is_empty() {
            return Ok(());
        }
        tracing::warn!(certificates = surplus.len(), "ended the oldest certificates of who has too many");
        let events: Vec<AccessEvent> = by_itself(unix_seconds(), surplus).collect();
        for batch in events.chunks(SURPLUS_BATCH) {
            self.commit(batch)?;
        }
        let mut registry = self.write();
        for event in &events {
            registry.evolve(event);
        }
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit(&mut self, events: &[AccessEvent]) -> Result<(), WriteError> {
        if events.is_empty() {
            return Ok(());
        }
        for event in events {
            self.journal.append(VERSION, &wire::AccessEvent::from(event).encode_to_vec())?;
        }
        self.journal.sync().map(drop)
    }
}

#[cfg(test)]
mod tests;
