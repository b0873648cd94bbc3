//! The registry: tokens that can be used, certificates that hold, and those that have ended. Pure: time is an argument.
//!
//! Time alone forgets nothing: an expired certificate can be renewed, and the clock by which it has expired may be wrong.

use std::collections::{BTreeMap, BTreeSet};

use speedup_access::{COORDINATOR, Identity, IdentityError, RENEWABLE, Role, Serial, TokenId};
use speedup_core::value::bounded::share;
use thiserror::Error;

use super::event::{AccessEvent, Change, Uses};

/// Most tokens that can be used at once, of which each admin has a share: that of one alone is one for each host of a large pool.
/// As many that have ended may be kept.
const MAX_TOKENS: usize = 80_000;
/// Most certificates of agents that hold at once: two for each host of a large pool while it is renewed, and as many again for
/// hosts that come and go. Those of users have room of their own, so that whoever enrols hosts keeps no user out.
const MAX_OF_AGENTS: usize = 80_000;
/// Most certificates of users that hold at once.
const MAX_OF_USERS: usize = 20_000;
/// Most certificates that have ended and are kept.
const MAX_ENDED: usize = MAX_OF_AGENTS + MAX_OF_USERS;
/// Most certificates of one identity that hold at once: some for each machine that a user works on, and one that is renewed.
pub(crate) const MAX_CERTIFICATES_EACH: usize = 32;
/// Most certificates that one identity is given in an hour, with those that were ended since: twice what may hold at once.
const MAX_ISSUED_HOURLY: usize = 64;
/// Most certificates of one identity that hold at once and were made with tokens that can be used again: one for each job that
/// runs. Beyond it the oldest is revoked, which is more than an hour old.
const MAX_JOBS_EACH: usize = 256;
/// Most certificates that one identity is given in an hour with such tokens.
const MAX_JOBS_HOURLY: usize = MAX_JOBS_EACH;
/// How long such a certificate holds, in seconds: as long as jobs of continuous integration may take. It is not renewed.
const JOB_LIFE: u64 = 5 * 86_400;
/// The hour, in seconds.
const HOUR: u64 = 3_600;
/// Certificates of the coordinator's owner that hold on when another is made: the one that its connections still use.
const OWN_KEPT: usize = 1;
/// Who it is that makes what nobody asked for.
pub(crate) const ITSELF: &str = COORDINATOR;
/// Most uses of one token: a large pool enrols with one, which leaves three quarters of all places to others.
const MAX_USES: u32 = 20_000;
/// Longest life of a token, in seconds: a week, a job that waits in a queue.
const MAX_TOKEN_LIFE: u64 = 7 * 86_400;
/// Longest life of a token that can be used again, in seconds: a year, and a month to replace it.
const MAX_REUSABLE_LIFE: u64 = 400 * 86_400;
/// Fewest bytes by which a token may be named.
const MIN_TOKEN_PREFIX: usize = 4;

/// A token that can still be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenState {
    pub(crate) role: Role,
    pub(crate) name: Option<String>,
    pub(crate) uses: Uses,
    pub(crate) expires: u64,
    pub(crate) by: String,
}

/// A token that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct NewToken {
    pub(crate) role: Role,
    pub(crate) name: Option<String>,
    pub(crate) uses: Uses,
    pub(crate) lifetime: u64,
    pub(crate) by: String,
}

/// What a token gives to whoever shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enrolment {
    pub(crate) identity: Identity,
    /// The admin who made the token.
    pub(crate) by: String,
    /// How long the certificate holds, in seconds, where not as long as usual.
    pub(crate) lifetime: Option<u64>,
}

/// Whose a certificate is that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) identity: Identity,
    pub(crate) not_after: u64,
    pub(crate) by: String,
    issued_at: u64,
    /// The token that can be used again, with which it was made.
    job_token: Option<TokenId>,
    /// Whether the coordinator made it for its owner, unasked.
    is_own: bool,
    /// Whether it counts in the bound of all certificates: it held when they were last counted, and is not the coordinator's.
    counts: bool,
}

impl Holder {
    /// Whether it is a job's, which is not renewed.
    pub(crate) fn is_job(&self) -> bool {
        self.job_token.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    User(String),
    Host(String),
    Certificate(Serial),
    /// By the first bytes of its id.
    Token(Vec<u8>),
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("the token is unknown, used up, expired or revoked")]
    Token,
    #[error("the token enrols {0}, and nobody else")]
    AnotherName(String),
    #[error("there is a certificate for host {0} already")]
    HostTaken(String),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("a token for a user needs the user's name")]
    NoName,
    #[error("a token can be used 1 to {MAX_USES} times")]
    Uses,
    #[error("a token that can be used again is for a viewer or submitter")]
    ReusableRole,
    #[error("a token that can be used again is valid for 1 second to {} days", MAX_REUSABLE_LIFE / 86_400)]
    ReusableLifetime,
    #[error("the certificate was made with a token that can be used again, and is not renewed")]
    OfReusableToken,
    #[error("{by} has reached the limit of {most} valid tokens for each admin")]
    TooManyTokensOf { by: String, most: u64 },
    #[error("a token for one user or host is used once")]
    UsesOfName,
    #[error("a token is valid for 1 to {MAX_TOKEN_LIFE} seconds")]
    Lifetime,
    #[error("there are {MAX_TOKENS} tokens already")]
    TooManyTokens,
    #[error("there are {0} certificates already")]
    TooManyCertificates(usize),
    #[error("there are {MAX_CERTIFICATES_EACH} valid certificates of {0} already")]
    TooManyOfIdentity(Identity),
    #[error("{identity} was given {most} certificates within an hour")]
    IssuedTooOften { identity: Identity, most: usize },
    #[error("the certificate was revoked")]
    Revoked,
    #[error("nothing valid has that name")]
    Nothing,
    #[error("a token is named by at least {} hexadecimal digits that no other begins with", 2 * MIN_TOKEN_PREFIX)]
    Ambiguous,
}

speedup_core::hints! { Refusal:
    Self::Token => "ask an admin for another: `speedup token create`",
    Self::HostTaken(_) =>
        "if the host has lost its state directory, an admin ends the old one first: `speedup access revoke --host`",
    Self::TooManyTokens | Self::TooManyTokensOf { .. } | Self::TooManyCertificates(_) => "revoke what is not needed",
    Self::TooManyOfIdentity(_) =>
        "an admin ends those that are not needed: `speedup access list` shows them, `speedup access revoke` ends them",
    Self::IssuedTooOften { .. } => "try again in an hour",
    Self::Nothing | Self::Ambiguous => "`speedup access list` shows the valid certificates",
    Self::NoName => "give the name with --name",
    Self::OfReusableToken => "enrol again with the token: `speedup access enrol`",
    Self::Revoked => "enrol again with a token of an admin",
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registry {
    tokens: BTreeMap<TokenId, TokenState>,
    certificates: BTreeMap<Serial, Holder>,
    /// The certificates of each.
    of: BTreeMap<Identity, BTreeSet<Serial>>,
    /// How many certificates count in the bounds of all.
    counted: Counts,
    /// When each identity was given certificates, but for jobs, within the hour before the last.
    issue_times: BTreeMap<Identity, Vec<u64>>,
    /// When each identity was given certificates for jobs, likewise.
    job_times: BTreeMap<Identity, Vec<u64>>,
    /// When they were last counted.
    counted_at: u64,
    /// From when on something more has run out; none where nothing will.
    next_end: Option<u64>,
}

/// How many certificates there are, by whose they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    agents: usize,
    users: usize,
}

impl Counts {
    fn by_role(&mut self, role: Role) -> &mut usize {
        if role == Role::Agent { &mut self.agents } else { &mut self.users }
    }
}

impl Registry {
    /// Whether a certificate was issued here and is not revoked; it says itself whether it has expired.
    pub(crate) fn holds(&self, serial: Serial) -> bool {
        self.certificates.contains_key(&serial)
    }

    pub(crate) fn holder(&self, serial: Serial) -> Option<&Holder> {
        self.certificates.get(&serial)
    }

    pub(crate) fn token(&self, id: TokenId) -> Option<&TokenState> {
        self.tokens.get(&id)
    }

    pub(crate) fn tokens(&self, now: u64) -> impl Iterator<Item = (TokenId, &TokenState)> {
        let usable = self.tokens.iter().filter(move |(_, token)| token.expires > now);
        usable.map(|(id, token)| (*id, token))
    }

    /// Certificates that hold, or have expired and can still be renewed.
    pub(crate) fn certificates(&self, now: u64) -> impl Iterator<Item = (Serial, &Holder)> {
        let renewable_since = now.saturating_sub(RENEWABLE.as_secs());
        let useful = self.certificates.iter().filter(move |(_, holder)| {
            holder.not_after >= if holder.is_job() { now } else { renewable_since }
        });
        useful.map(|(serial, holder)| (*serial, holder))
    }

    /// The holders of certificates that have expired and can still be renewed, one for each.
    pub(crate) fn expired(&self, now: u64) -> Vec<&Identity> {
        let expired = self.certificates(now).filter(|(_, holder)| holder.not_after < now);
        expired.map(|(_, holder)| &holder.identity).collect()
    }

    /// Users other than the coordinator's own who may submit.
    pub(crate) fn submitters(&self, now: u64) -> BTreeSet<&str> {
        let mut own = BTreeSet::new();
        let mut others = BTreeSet::new();
        for (_, holder) in self.certificates(now) {
            match holder.identity.role() {
                _ if holder.is_own => own.insert(holder.identity.name()),
                Role::Submitter | Role::Admin => others.insert(holder.identity.name()),
                Role::Viewer | Role::Agent => continue,
            };
        }
        others.difference(&own).copied().collect()
    }

    /// Whether what counts is no longer what was counted: something has run out since, or the clock was put back.
    pub(crate) fn is_outdated(&self, now: u64) -> bool {
        self.next_end.is_some_and(|end| end <= now) || now < self.counted_at
    }

    /// Counts what holds now, and forgets the oldest of what has ended beyond the bounds. It looks through everything, but only
    /// if something has changed.
    pub(crate) fn recount(&mut self, now: u64) {
        if !self.is_outdated(now) {
            return;
        }
        self.forget_tokens(now);
        self.forget_certificates(now);
        for times in [&mut self.issue_times, &mut self.job_times] {
            times.retain(|_, times| times.iter().any(|at| is_within_hour(*at, now)));
        }
        // Counted anew and not subtracted: what had ended may hold again where the clock was put back.
        self.counted = Counts::default();
        self.counted_at = now;
        let live_tokens = self.tokens.values().map(|token| token.expires).filter(|end| *end > now);
        let mut next_end = live_tokens.min();
        for holder in self.certificates.values_mut() {
            let is_live = holder.not_after >= now;
            holder.counts = is_live && !holder.is_own;
            *self.counted.by_role(holder.identity.role()) += usize::from(holder.counts);
            if is_live {
                let end = after(holder.not_after);
                next_end = Some(next_end.map_or(end, |next| next.min(end)));
            }
        }
        self.next_end = next_end;
    }

    fn forget_tokens(&mut self, now: u64) {
        let excess = self.tokens.len().saturating_sub(MAX_TOKENS);
        let ended = self.tokens.iter().filter(|(_, token)| token.expires <= now);
        let mut ended: Vec<(u64, TokenId)> = ended.map(|(id, token)| (token.expires, *id)).collect();
        ended.sort_unstable();
        for (_, token) in ended.into_iter().take(excess) {
            self.tokens.remove(&token);
        }
    }

    fn forget_certificates(&mut self, now: u64) {
        let mut forgotten = Vec::new();
        let mut all_ended = Vec::new();
        for identity in self.of.keys() {
            // Jobs take no place of their user.
            for (is_job, most) in [(false, MAX_CERTIFICATES_EACH), (true, MAX_JOBS_EACH)] {
                let mut count = 0_usize;
                let mut ended = Vec::new();
                for (serial, holder) in self.held_by(identity) {
                    if holder.is_job() != is_job {
                        continue;
                    }
                    count += 1;
                    if holder.not_after < now {
                        ended.push((holder.not_after, serial));
                    }
                }
                ended.sort_unstable();
                // Who has many that hold has no need of those that have ended.
                let excess = count.saturating_sub(most).min(ended.len());
                all_ended.extend(ended.split_off(excess));
                forgotten.append(&mut ended);
            }
        }
        all_ended.sort_unstable();
        let excess = all_ended.len().saturating_sub(MAX_ENDED);
        forgotten.extend(all_ended.drain(..excess));
        for (_, serial) in forgotten {
            self.remove(serial);
        }
    }

    /// What making a token changes.
    pub(crate) fn create_token(&self, now: u64, token: TokenId, new: &NewToken) -> Result<Change, Refusal> {
        let NewToken { role, name, uses, lifetime, .. } = new;
        match name {
            Some(name) => drop(Identity::proposed(name, *role)?),
            None if *role != Role::Agent => return Err(Refusal::NoName),
            None => {}
        }
        // A token that can be used again lies in the settings of some service: it makes no admin and no host.
        match uses {
            Uses::Unlimited if *role != Role::Viewer && *role != Role::Submitter => {
                return Err(Refusal::ReusableRole);
            }
            Uses::Unlimited if !(1..=MAX_REUSABLE_LIFE).contains(lifetime) => {
                return Err(Refusal::ReusableLifetime);
            }
            Uses::Times(times) if !(1..=MAX_USES).contains(times) => return Err(Refusal::Uses),
            Uses::Times(times) if name.is_some() && *times > 1 => return Err(Refusal::UsesOfName),
            Uses::Times(_) if !(1..=MAX_TOKEN_LIFE).contains(lifetime) => return Err(Refusal::Lifetime),
            Uses::Unlimited | Uses::Times(_) => {}
        }
        self.require_share_of_tokens(now, new)?;
        let expires = now + lifetime;
        Ok(Change::TokenCreated { token, role: *role, name: name.clone(), uses: *uses, expires })
    }

    /// Refuses a token beyond an admin's share of all tokens, which leaves some to others.
    fn require_share_of_tokens(&self, now: u64, new: &NewToken) -> Result<(), Refusal> {
        let mut own = 0;
        let mut others = 0;
        for (_, token) in self.tokens(now) {
            if token.by == new.by {
                own += 1;
            } else {
                others += 1;
            }
        }
        let most = share(MAX_TOKENS as u64, others);
        if own + others >= MAX_TOKENS as u64 {
            return Err(Refusal::TooManyTokens);
        }
        if own >= most {
            return Err(Refusal::TooManyTokensOf { by: new.by.clone(), most });
        }
        Ok(())
    }

    /// Whom a token enrols who says this name, by whose leave and for how long. A host and a job have room for one more always:
    /// see [`Self::end_replaced`].
    pub(crate) fn enrolled(&self, now: u64, token: TokenId, said: &str) -> Result<Enrolment, Refusal> {
        let state = self.tokens.get(&token).filter(|token| token.expires > now).ok_or(Refusal::Token)?;
        let identity = match &state.name {
            Some(name) if said.is_empty() || said == name => Identity::new(name, state.role)?,
            Some(name) => return Err(Refusal::AnotherName(name.clone())),
            None => Identity::proposed(said, state.role)?,
        };
        // A token that names the host was made for it with what it has had before in mind.
        let is_held = self.held_by(&identity).any(|(_, holder)| holder.not_after >= now);
        if state.name.is_none() && is_held {
            return Err(Refusal::HostTaken(identity.name().to_owned()));
        }
        let by = state.by.clone();
        if state.uses == Uses::Unlimited {
            require_rate(now, &self.job_times, &identity, MAX_JOBS_HOURLY)?;
            self.require_total(&identity)?;
            let lifetime = Some(JOB_LIFE.min(state.expires - now));
            return Ok(Enrolment { identity, by, lifetime });
        }
        if identity.role() != Role::Agent {
            self.require_few(now, &identity)?;
        }
        self.require_rate_and_total(now, &identity)?;
        Ok(Enrolment { identity, by, lifetime: None })
    }

    /// Whether a certificate may be renewed, as far as the others go. An agent has room always, as when it enrols.
    pub(crate) fn require_renewable(
        &self,
        now: u64,
        identity: &Identity,
        serial: Serial,
    ) -> Result<(), Refusal> {
        let holder = self.holder(serial).ok_or(Refusal::Revoked)?;
        if holder.is_job() {
            return Err(Refusal::OfReusableToken);
        }
        if identity.role() != Role::Agent {
            self.require_few(now, identity)?;
        }
        self.require_rate_and_total(now, identity)
    }

    /// Whether there is place for one more certificate of an identity. What the coordinator made for itself takes none.
    pub(crate) fn require_place(&self, now: u64, identity: &Identity) -> Result<(), Refusal> {
        self.require_few(now, identity)?;
        self.require_rate_and_total(now, identity)
    }

    fn require_few(&self, now: u64, identity: &Identity) -> Result<(), Refusal> {
        let holders = self.held_by(identity).filter(|(_, holder)| holder.not_after >= now);
        if holders.filter(|(_, holder)| !holder.is_own && !holder.is_job()).count() >= MAX_CERTIFICATES_EACH {
            return Err(Refusal::TooManyOfIdentity(identity.clone()));
        }
        Ok(())
    }

    fn require_rate_and_total(&self, now: u64, identity: &Identity) -> Result<(), Refusal> {
        require_rate(now, &self.issue_times, identity, MAX_ISSUED_HOURLY)?;
        self.require_total(identity)
    }

    fn require_total(&self, identity: &Identity) -> Result<(), Refusal> {
        let Counts { agents, users } = self.counted;
        if identity.role() == Role::Agent && agents >= MAX_OF_AGENTS {
            return Err(Refusal::TooManyCertificates(MAX_OF_AGENTS));
        }
        if identity.role() != Role::Agent && users >= MAX_OF_USERS {
            return Err(Refusal::TooManyCertificates(MAX_OF_USERS));
        }
        Ok(())
    }

    /// Ends the oldest certificate of a job when the next is given one and there are as many as may hold: a job that is over does
    /// not say so.
    pub(crate) fn end_oldest_job(&self, identity: &Identity) -> Vec<Change> {
        let mut jobs: Vec<_> = self.held_by(identity).filter(|(_, holder)| holder.is_job()).collect();
        jobs.sort_by_key(|(_, holder)| holder.issued_at);
        end_all_but(MAX_JOBS_EACH - 1, &jobs)
    }

    /// Ends certificates of a host that is given another, but for the one in use: all that have expired, which nobody else is to
    /// renew, and the oldest if it has as many as may hold. A host without a disk enrols at each boot; it has one agent, which
    /// uses the newest.
    pub(crate) fn end_replaced(&self, now: u64, identity: &Identity, in_use: Option<Serial>) -> Vec<Change> {
        if identity.role() != Role::Agent {
            return Vec::new();
        }
        let others = self.held_by(identity).filter(|(serial, _)| in_use != Some(*serial));
        let mut others: Vec<_> = others.collect();
        others.sort_by_key(|(_, holder)| holder.not_after);
        let live = others.iter().filter(|(_, holder)| holder.not_after >= now).count();
        let room = MAX_CERTIFICATES_EACH - 1 - usize::from(in_use.is_some());
        end_all_but(live.min(room), &others)
    }

    fn held_by(&self, identity: &Identity) -> impl Iterator<Item = (Serial, &Holder)> {
        let serials = self.of.get(identity).into_iter().flatten();
        serials.filter_map(|serial| Some((*serial, self.certificates.get(serial)?)))
    }

    /// Ends the coordinator's own earlier certificates of an identity, when it is given another. The one in use is kept, or
    /// else the newest.
    pub(crate) fn end_earlier(&self, identity: &Identity, in_use: Option<Serial>) -> Vec<Change> {
        let mut own: Vec<(Serial, &Holder)> =
            self.held_by(identity).filter(|(_, holder)| holder.is_own).collect();
        own.sort_by_key(|(serial, holder)| (in_use == Some(*serial), holder.not_after));
        end_all_but(OWN_KEPT, &own)
    }

    /// Ends the oldest certificates of everyone who has more than may hold at once, which earlier releases allowed.
    pub(crate) fn end_surplus(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for identity in self.of.keys() {
            // No release has let jobs have more than they may.
            let usual = self.held_by(identity).filter(|(_, holder)| !holder.is_job());
            let (mut own, mut others): (Vec<_>, Vec<_>) = usual.partition(|(_, holder)| holder.is_own);
            for held in [&mut own, &mut others] {
                held.sort_by_key(|(_, holder)| holder.not_after);
                changes.extend(end_all_but(MAX_CERTIFICATES_EACH, held));
            }
        }
        changes
    }

    pub(crate) fn revoke(&self, target: &Target) -> Result<Vec<Change>, Refusal> {
        let mut changes = Vec::new();
        match target {
            Target::User(name) => {
                changes.extend(self.end_all_of(name, |role| role != Role::Agent));
                // With a token that can be used again, whoever has it would be let in again at once.
                for (token, state) in &self.tokens {
                    if state.uses == Uses::Unlimited && state.name.as_ref() == Some(name) {
                        changes.push(Change::TokenRevoked { token: *token });
                    }
                }
            }
            Target::Host(name) => changes.extend(self.end_all_of(name, |role| role == Role::Agent)),
            Target::Certificate(serial) if self.holds(*serial) => {
                changes.push(Change::CertificateRevoked { serial: *serial });
            }
            Target::Certificate(_) => {}
            Target::Token(prefix) if prefix.len() < MIN_TOKEN_PREFIX => return Err(Refusal::Ambiguous),
            Target::Token(prefix) => {
                let mut named = self.tokens.keys().filter(|id| id.bytes().starts_with(prefix));
                let token = *named.next().ok_or(Refusal::Nothing)?;
                if named.next().is_some() {
                    return Err(Refusal::Ambiguous);
                }
                changes.push(Change::TokenRevoked { token });
                for (serial, holder) in &self.certificates {
                    if holder.job_token == Some(token) {
                        changes.push(Change::CertificateRevoked { serial: *serial });
                    }
                }
            }
        }
        if changes.is_empty() { Err(Refusal::Nothing) } else { Ok(changes) }
    }

    /// Ends all certificates of a name in these roles.
    fn end_all_of(&self, name: &str, is_meant: fn(Role) -> bool) -> Vec<Change> {
        let mut changes = Vec::new();
        for (identity, serials) in &self.of {
            if identity.name() == name && is_meant(identity.role()) {
                changes.extend(serials.iter().map(|serial| Change::CertificateRevoked { serial: *serial }));
            }
        }
        changes
    }

    /// Changes as an event says; total.
    pub(crate) fn evolve(&mut self, event: &AccessEvent) {
        let by = event.by.clone();
        match &event.change {
            Change::TokenCreated { token, role, name, uses, expires } => {
                let state =
                    TokenState { role: *role, name: name.clone(), uses: *uses, expires: *expires, by };
                self.expect_end(state.expires);
                self.tokens.insert(*token, state);
            }
            Change::TokenRevoked { token } => drop(self.tokens.remove(token)),
            Change::CertificateIssued { serial, identity, not_after, token } => {
                let job_token = token.filter(|token| self.is_reusable(*token));
                if let Some(token) = token {
                    self.use_up(*token);
                }
                // One with the same number counts once.
                self.remove(*serial);
                let is_own = token.is_none() && by == ITSELF && identity.role() == Role::Admin;
                if !is_own {
                    *self.counted.by_role(identity.role()) += 1;
                    let times = if job_token.is_some() { &mut self.job_times } else { &mut self.issue_times };
                    let times = times.entry(identity.clone()).or_default();
                    times.retain(|earlier| is_within_hour(*earlier, event.at));
                    // The last are enough to be counted, however many an earlier release issued.
                    if times.len() == MAX_JOBS_HOURLY {
                        times.remove(0);
                    }
                    times.push(event.at);
                }
                self.expect_end(after(*not_after));
                self.of.entry(identity.clone()).or_default().insert(*serial);
                let identity = identity.clone();
                let holder = Holder {
                    identity,
                    not_after: *not_after,
                    by,
                    issued_at: event.at,
                    job_token,
                    is_own,
                    counts: !is_own,
                };
                self.certificates.insert(*serial, holder);
            }
            Change::CertificateRevoked { serial } => self.remove(*serial),
        }
    }

    fn expect_end(&mut self, end: u64) {
        self.next_end = Some(self.next_end.map_or(end, |next| next.min(end)));
    }

    fn use_up(&mut self, token: TokenId) {
        let Some(state) = self.tokens.get_mut(&token) else { return };
        let Uses::Times(left) = &mut state.uses else { return };
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.tokens.remove(&token);
        }
    }

    fn is_reusable(&self, token: TokenId) -> bool {
        self.tokens.get(&token).is_some_and(|state| state.uses == Uses::Unlimited)
    }

    fn remove(&mut self, serial: Serial) {
        let Some(holder) = self.certificates.remove(&serial) else { return };
        if holder.counts {
            *self.counted.by_role(holder.identity.role()) -= 1;
        }
        if let Some(of) = self.of.get_mut(&holder.identity) {
            of.remove(&serial);
            if of.is_empty() {
                self.of.remove(&holder.identity);
            }
        }
    }
}

/// Whether an identity was given fewer certificates of a kind within the hour than it may be.
fn require_rate(
    now: u64,
    times: &BTreeMap<Identity, Vec<u64>>,
    identity: &Identity,
    hourly: usize,
) -> Result<(), Refusal> {
    let times = times.get(identity).into_iter().flatten();
    if times.filter(|at| is_within_hour(**at, now)).count() >= hourly {
        return Err(Refusal::IssuedTooOften { identity: identity.clone(), most: hourly });
    }
    Ok(())
}

/// Whether a certificate was made within an hour of now. A clock that was put back does not count one for years.
fn is_within_hour(at: u64, now: u64) -> bool {
    at.abs_diff(now) < HOUR
}

/// The first second in which a certificate no longer holds.
fn after(not_after: u64) -> u64 {
    not_after.saturating_add(1)
}

/// Ends all but the last of some certificates.
fn end_all_but(kept: usize, held: &[(Serial, &Holder)]) -> Vec<Change> {
    let ended = &held[..held.len().saturating_sub(kept)];
    ended.iter().map(|(serial, _)| Change::CertificateRevoked { serial: *serial }).collect()
}

#[cfg(test)]
mod tests;
