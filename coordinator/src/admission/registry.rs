//! The registry: tokens that can be used and certificates that hold. Pure: time is an argument.

use std::collections::{BTreeMap, BTreeSet};

use speedup_access::{Identity, IdentityError, Role, Serial, TokenId};
use thiserror::Error;

use super::event::{AccessEvent, Change};

/// Most tokens that can be used at once: one for each host of a large pool.
const MAX_TOKENS: usize = 20_000;
/// Most certificates that hold at once: two for each host of a large pool while it is renewed, and users.
const MAX_CERTIFICATES: usize = 100_000;
/// Most certificates of one identity that hold at once: some for each machine that a user works on, and one that is renewed.
pub(crate) const MAX_CERTIFICATES_EACH: usize = 32;
/// Most certificates that one identity is given in an hour, with those that were ended since: twice what may hold at once.
const MAX_ISSUED_HOURLY: usize = 64;
/// The hour, in seconds.
const HOUR: u64 = 3_600;
/// Certificates of the coordinator's owner that hold on when another is made: the one that its connections still use.
const OWN_KEPT: usize = 1;
/// Who it is that makes what nobody asked for.
pub(crate) const ITSELF: &str = "coordinator";
/// Most uses of one token: a large pool enrols with one.
const MAX_USES: u32 = 20_000;
/// Longest life of a token, in seconds: a week, a job that waits in a queue.
const MAX_TOKEN_LIFE: u64 = 7 * 86_400;
/// Fewest bytes by which a token may be named.
const MIN_TOKEN_PREFIX: usize = 4;

/// A token that can still be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenState {
    pub(crate) role: Role,
    pub(crate) name: Option<String>,
    pub(crate) uses_left: u32,
    pub(crate) expires: u64,
    pub(crate) by: String,
}

/// Whose a certificate is that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) identity: Identity,
    pub(crate) not_after: u64,
    pub(crate) by: String,
    /// Whether the coordinator made it for its owner, unasked.
    is_own: bool,
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
    #[error("a token for one user or host is used once")]
    UsesOfName,
    #[error("a token is valid for 1 to {MAX_TOKEN_LIFE} seconds")]
    Lifetime,
    #[error("there are {MAX_TOKENS} tokens already")]
    TooManyTokens,
    #[error("there are {MAX_CERTIFICATES} certificates already")]
    TooManyCertificates,
    #[error("there are {MAX_CERTIFICATES_EACH} valid certificates of {0} already")]
    TooManyOfIdentity(Identity),
    #[error("{0} was given {MAX_ISSUED_HOURLY} certificates within an hour")]
    IssuedTooOften(Identity),
    #[error("nothing valid has that name")]
    Nothing,
    #[error("a token is named by at least {} hexadecimal digits that no other begins with", 2 * MIN_TOKEN_PREFIX)]
    Ambiguous,
}

speedup_core::hints! { Refusal:
    Self::Token => "ask an admin for another: `speedup token create`",
    Self::HostTaken(_) =>
        "if the host has lost its state directory, an admin ends the old one first: `speedup access revoke --host`",
    Self::TooManyTokens | Self::TooManyCertificates => "revoke what is not needed",
    Self::TooManyOfIdentity(_) =>
        "an admin ends those that are not needed: `speedup access list` shows them, `speedup access revoke` ends them",
    Self::IssuedTooOften(_) => "try again in an hour",
    Self::Nothing | Self::Ambiguous => "`speedup access list` shows the valid certificates",
    Self::NoName => "give the name with --name",
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registry {
    tokens: BTreeMap<TokenId, TokenState>,
    certificates: BTreeMap<Serial, Holder>,
    /// The certificates of each.
    of: BTreeMap<Identity, BTreeSet<Serial>>,
    /// How many of all certificates are the coordinator's own.
    own: usize,
    /// When each identity was given certificates, within the hour before the last.
    issue_times: BTreeMap<Identity, Vec<u64>>,
    /// From when on something has run out; none where nothing will.
    next_end: Option<u64>,
}

impl Registry {
    pub(crate) fn holds(&self, serial: Serial) -> bool {
        self.certificates.contains_key(&serial)
    }

    pub(crate) fn tokens(&self, now: u64) -> impl Iterator<Item = (TokenId, &TokenState)> {
        let usable = self.tokens.iter().filter(move |(_, token)| token.expires > now);
        usable.map(|(id, token)| (*id, token))
    }

    pub(crate) fn certificates(&self, now: u64) -> impl Iterator<Item = (Serial, &Holder)> {
        let holding = self.certificates.iter().filter(move |(_, holder)| holder.not_after >= now);
        holding.map(|(serial, holder)| (*serial, holder))
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

    /// Whether something has run out since it was last forgotten.
    pub(crate) fn has_run_out(&self, now: u64) -> bool {
        self.next_end.is_some_and(|end| end <= now)
    }

    /// Forgets what has run out. It looks through everything, but only if there is something to be forgotten.
    pub(crate) fn forget_until(&mut self, now: u64) {
        if !self.has_run_out(now) {
            return;
        }
        self.tokens.retain(|_, token| token.expires > now);
        let over = self.certificates.iter().filter(|(_, holder)| holder.not_after < now);
        let over: Vec<Serial> = over.map(|(serial, _)| *serial).collect();
        over.into_iter().for_each(|serial| self.remove(serial));
        self.issue_times.retain(|_, times| times.iter().any(|at| is_within_hour(*at, now)));
        let token_ends = self.tokens.values().map(|token| token.expires);
        let certificate_ends = self.certificates.values().map(|holder| after(holder.not_after));
        self.next_end = token_ends.chain(certificate_ends).min();
    }

    /// What making a token changes.
    pub(crate) fn create_token(
        &self,
        now: u64,
        token: TokenId,
        role: Role,
        name: Option<String>,
        uses: u32,
        lifetime: u64,
    ) -> Result<Change, Refusal> {
        match &name {
            Some(name) => drop(Identity::proposed(name, role)?),
            None if role != Role::Agent => return Err(Refusal::NoName),
            None => {}
        }
        if !(1..=MAX_USES).contains(&uses) {
            return Err(Refusal::Uses);
        }
        if name.is_some() && uses > 1 {
            return Err(Refusal::UsesOfName);
        }
        if !(1..=MAX_TOKEN_LIFE).contains(&lifetime) {
            return Err(Refusal::Lifetime);
        }
        if self.tokens.len() >= MAX_TOKENS {
            return Err(Refusal::TooManyTokens);
        }
        Ok(Change::TokenCreated { token, role, name, uses, expires: now + lifetime })
    }

    /// Whom a token enrols who says this name, and by whose leave. A host has room for one more always: see
    /// [`Self::end_replaced`].
    pub(crate) fn enrolled(
        &self,
        now: u64,
        token: TokenId,
        said: &str,
    ) -> Result<(Identity, String), Refusal> {
        let state = self.tokens.get(&token).filter(|token| token.expires > now).ok_or(Refusal::Token)?;
        let identity = match &state.name {
            Some(name) if said.is_empty() || said == name => Identity::new(name, state.role)?,
            Some(name) => return Err(Refusal::AnotherName(name.clone())),
            None => Identity::proposed(said, state.role)?,
        };
        // A token that names the host was made for it with what it has had before in mind.
        if state.name.is_none() && self.of.contains_key(&identity) {
            return Err(Refusal::HostTaken(identity.name().to_owned()));
        }
        if identity.role() != Role::Agent {
            self.require_few(now, &identity)?;
        }
        self.require_rate_and_total(now, &identity)?;
        Ok((identity, state.by.clone()))
    }

    /// Whether there is place for one more certificate of an identity. What the coordinator made for itself takes none.
    pub(crate) fn require_place(&self, now: u64, identity: &Identity) -> Result<(), Refusal> {
        self.require_few(now, identity)?;
        self.require_rate_and_total(now, identity)
    }

    fn require_few(&self, now: u64, identity: &Identity) -> Result<(), Refusal> {
        let holders = self.held_by(identity).filter(|(_, holder)| !holder.is_own && holder.not_after >= now);
        if holders.count() >= MAX_CERTIFICATES_EACH {
            return Err(Refusal::TooManyOfIdentity(identity.clone()));
        }
        Ok(())
    }

    fn require_rate_and_total(&self, now: u64, identity: &Identity) -> Result<(), Refusal> {
        let times = self.issue_times.get(identity).into_iter().flatten();
        if times.filter(|at| is_within_hour(**at, now)).count() >= MAX_ISSUED_HOURLY {
            return Err(Refusal::IssuedTooOften(identity.clone()));
        }
        if self.certificates.len() - self.own >= MAX_CERTIFICATES {
            return Err(Refusal::TooManyCertificates);
        }
        Ok(())
    }

    /// Ends the oldest certificate of a host that enrols again and has as many as may hold. A host without a disk does so at
    /// each boot; it has one agent, which uses the newest.
    pub(crate) fn end_replaced(&self, identity: &Identity) -> Vec<Change> {
        if identity.role() != Role::Agent {
            return Vec::new();
        }
        let mut held: Vec<_> = self.held_by(identity).collect();
        held.sort_by_key(|(_, holder)| holder.not_after);
        end_all_but(MAX_CERTIFICATES_EACH - 1, &held)
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
            let (mut own, mut others): (Vec<_>, Vec<_>) =
                self.held_by(identity).partition(|(_, holder)| holder.is_own);
            for held in [&mut own, &mut others] {
                held.sort_by_key(|(_, holder)| holder.not_after);
                changes.extend(end_all_but(MAX_CERTIFICATES_EACH, held));
            }
        }
        changes
    }

    pub(crate) fn revoke(&self, target: &Target) -> Result<Vec<Change>, Refusal> {
        let is_one = |identity: &Identity| match target {
            Target::User(name) => identity.role() != Role::Agent && identity.name() == name,
            Target::Host(name) => identity.role() == Role::Agent && identity.name() == name,
            Target::Certificate(_) | Target::Token(_) => false,
        };
        let changes: Vec<Change> = match target {
            Target::User(_) | Target::Host(_) => {
                let serials = self.of.iter().filter(|(identity, _)| is_one(identity)).flat_map(|(_, of)| of);
                serials.map(|serial| Change::CertificateRevoked { serial: *serial }).collect()
            }
            Target::Certificate(serial) => {
                let held = self.holds(*serial).then_some(Change::CertificateRevoked { serial: *serial });
                held.into_iter().collect()
            }
            Target::Token(prefix) if prefix.len() < MIN_TOKEN_PREFIX => return Err(Refusal::Ambiguous),
            Target::Token(prefix) => {
                let named = self.tokens.keys().filter(|id| id.bytes().starts_with(prefix));
                named.map(|token| Change::TokenRevoked { token: *token }).collect()
            }
        };
        match (target, &changes[..]) {
            (_, []) => Err(Refusal::Nothing),
            (Target::Token(_), [_, _, ..]) => Err(Refusal::Ambiguous),
            _ => Ok(changes),
        }
    }

    /// Changes as an event says; total.
    pub(crate) fn evolve(&mut self, event: &AccessEvent) {
        let by = event.by.clone();
        match &event.change {
            Change::TokenCreated { token, role, name, uses, expires } => {
                let state =
                    TokenState { role: *role, name: name.clone(), uses_left: *uses, expires: *expires, by };
                self.expect_end(state.expires);
                self.tokens.insert(*token, state);
            }
            Change::TokenRevoked { token } => drop(self.tokens.remove(token)),
            Change::CertificateIssued { serial, identity, not_after, token } => {
                if let Some(token) = token {
                    self.use_up(*token);
                }
                // One with the same number counts once.
                self.remove(*serial);
                let is_own = token.is_none() && by == ITSELF && identity.role() == Role::Admin;
                if is_own {
                    self.own += 1;
                } else {
                    let times = self.issue_times.entry(identity.clone()).or_default();
                    times.retain(|earlier| is_within_hour(*earlier, event.at));
                    // The last are enough to be counted, however many an earlier release issued.
                    if times.len() == MAX_ISSUED_HOURLY {
                        times.remove(0);
                    }
                    times.push(event.at);
                }
                self.expect_end(after(*not_after));
                self.of.entry(identity.clone()).or_default().insert(*serial);
                let holder = Holder { identity: identity.clone(), not_after: *not_after, by, is_own };
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
        state.uses_left = state.uses_left.saturating_sub(1);
        if state.uses_left == 0 {
            self.tokens.remove(&token);
        }
    }

    fn remove(&mut self, serial: Serial) {
        let Some(holder) = self.certificates.remove(&serial) else { return };
        if holder.is_own {
            self.own -= 1;
        }
        if let Some(of) = self.of.get_mut(&holder.identity) {
            of.remove(&serial);
            if of.is_empty() {
                self.of.remove(&holder.identity);
            }
        }
    }
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
