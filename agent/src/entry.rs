//! The entry: how this agent is let in by the coordinator. Its certificate is for this host alone, lies in the state
//! directory, and is renewed before it runs out; its key was made here and never leaves.

use std::{fmt, path::Path, path::PathBuf, sync::Arc, time::Duration, time::Instant};

use serde::{Deserialize, Serialize};
use speedup_access::enrolment::{self, EnrolmentError};
use speedup_access::private_file::{self, PrivateFileError};
use speedup_access::{
    Credentials, CredentialsError, Identity, IdentityError, Reach, ReachError, Role, Token, unix_seconds,
};
use speedup_core::{value::causes::with_causes, value::id::HostId};
use thiserror::Error;
use tonic::Code;

/// How long after a renewal failed it is tried again.
const AGAIN: Duration = Duration::from_secs(600);
/// How often it is looked whether the certificate is to be renewed: it has weeks.
const LOOK: Duration = Duration::from_secs(600);
/// How long an agent waits whose certificate has expired for good, until it asks again: a person has to do something, or a clock
/// to be set.
pub(crate) const EXPIRED: Duration = Duration::from_secs(60);

/// What an access file says now: the coordinator's address and what one is let in with; nothing when it is not there.
pub type AccessFile = Arc<dyn Fn() -> Option<(String, Option<Credentials>)> + Send + Sync>;

/// What the agent was given to be let in with.
#[derive(Clone)]
pub struct Admittance {
    /// Where the coordinator is, such as `https://login1:7077`.
    pub coordinator: String,
    /// Credentials of an access file: an admin's, by which the agent has a certificate made for its host, or its own.
    pub credentials: Option<Credentials>,
    /// A token to enrol with, where there is no certificate yet.
    pub token: Option<Token>,
    /// The access file, to be read again when the coordinator is not reached: another may have begun since.
    pub access_file: Option<AccessFile>,
}

impl fmt::Debug for Admittance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admittance").field("coordinator", &self.coordinator).finish_non_exhaustive()
    }
}

/// Why the agent is not let in.
#[derive(Debug, Error)]
pub enum EntryError {
    /// The coordinator cannot be spoken to.
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error("this host cannot be named in a certificate")]
    Identity(#[from] IdentityError),
    #[error("the coordinator issued no certificate for this host")]
    Enrolment(#[from] EnrolmentError),
    #[error("the stored certificate cannot be used")]
    Kept(#[from] PrivateFileError),
    #[error("the certificate stored in {} is damaged", path.display())]
    Damaged { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("the coordinator rejected this agent: {0}")]
    Revoked(String),
    /// It may be the clocks: once they are right, the certificate is good again.
    #[error("the certificate has expired, and the coordinator issues no other")]
    Expired(#[source] EnrolmentError),
}

impl EntryError {
    /// Whether it is of no use to try again: somebody has to do something first.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Enrolment(EnrolmentError::Refused(status)) => !matches!(
                status.code(),
                Code::Unavailable
                    | Code::Cancelled
                    | Code::Unknown
                    | Code::Internal
                    | Code::ResourceExhausted
            ),
            Self::Enrolment(EnrolmentError::Unreachable(_)) | Self::Expired(_) => false,
            Self::Enrolment(_)
            | Self::Reach(_)
            | Self::Identity(_)
            | Self::Kept(_)
            | Self::Damaged { .. }
            | Self::Revoked(_) => true,
        }
    }
}

impl EntryError {
    /// Why the coordinator cannot be reached, if that is it.
    pub(crate) fn unreached(&self) -> Option<String> {
        match self {
            Self::Enrolment(EnrolmentError::Unreachable(error)) => Some(with_causes(error)),
            Self::Enrolment(_)
            | Self::Reach(_)
            | Self::Identity(_)
            | Self::Kept(_)
            | Self::Damaged { .. }
            | Self::Revoked(_)
            | Self::Expired(_) => None,
        }
    }
}

speedup_core::hints! { EntryError:
    Self::Reach(error) => error.hint(),
    Self::Kept(error) => error.hint(),
    Self::Enrolment(_) | Self::Expired(_) => "ask an admin for a token of `speedup token create --role agent`",
    Self::Damaged { .. } => "remove the file and enrol again",
    Self::Revoked(_) =>
        "to use this host again, remove identity.toml from its state directory and enrol again",
    Self::Identity(_) => "choose another id with --host-id",
}

#[derive(Debug)]
pub(crate) struct Entry {
    given: Admittance,
    host: HostId,
    path: PathBuf,
    held: Option<Credentials>,
    reach: Option<Reach>,
    look: Instant,
}

/// What is kept in the state directory.
#[derive(Serialize, Deserialize)]
struct Kept {
    authority: String,
    certificate: String,
    key: String,
    /// The fingerprint of the authority in the token that the agent was given. It stays valid for this certificate when later
    /// certificates of the authority have replaced the one that the token names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_authority: Option<String>,
}

impl Entry {
    /// The entry for a host, whose certificate lies in a state directory. Nothing is connected.
    pub(crate) fn new(given: Admittance, host: HostId, state: &Path) -> Result<Self, EntryError> {
        let (path, look) = (state.join("identity.toml"), Instant::now());
        let mut entry = Self { given, host, path, held: None, reach: None, look };
        if !entry.is_secured() {
            entry.reach = Some(Reach::new(&entry.given.coordinator, None)?);
            return Ok(entry);
        }
        entry.held = entry.kept()?.filter(|kept| entry.fits(kept));
        if entry.held.is_none() && entry.given.credentials.is_none() && entry.given.token.is_none() {
            let url = entry.given.coordinator;
            return Err(ReachError::NoCredentials { url }.into());
        }
        Ok(entry)
    }

    /// Where the coordinator is looked for.
    pub(crate) fn coordinator(&self) -> &str {
        &self.given.coordinator
    }

    /// The way in, once there was one.
    pub(crate) fn reach(&self) -> Option<&Reach> {
        self.reach.as_ref()
    }

    /// The way in, with a certificate that is asked for if there is none.
    pub(crate) async fn open(&mut self) -> Result<Reach, EntryError> {
        if let Some(reach) = &self.reach {
            return Ok(reach.clone());
        }
        if self.held.is_none() && self.is_secured() {
            let got = self.ask().await?;
            tracing::info!(serial = %got.certificate().serial, "this host has a certificate");
            self.keep(got)?;
        }
        let reach = Reach::new(&self.given.coordinator, self.held.as_ref())?;
        Ok(self.reach.insert(reach).clone())
    }

    /// Renews the certificate if it is time to. Says whether there is a new one, which the next connection uses.
    pub(crate) async fn renew(&mut self) -> bool {
        let now = Instant::now();
        let Some(held) = self.held.as_ref().filter(|_| now >= self.look) else { return false };
        self.look = now + LOOK;
        if !held.certificate().is_due(unix_seconds()) {
            return false;
        }
        let renewed = match enrolment::renew_if_due(&self.given.coordinator, held).await {
            Ok(None) => return false,
            Ok(Some(renewed)) => self.keep(renewed),
            Err(error) => Err(error.into()),
        };
        match renewed {
            Ok(()) => tracing::info!("the certificate was renewed"),
            Err(error) => {
                self.look = now + AGAIN;
                tracing::warn!("cannot renew the certificate, will retry: {}", with_causes(&error));
                return false;
            }
        }
        self.reach = None;
        true
    }

    /// Renews a certificate that the coordinator accepts no more, or asks for another with what was given. One that was revoked
    /// is not renewed. It is kept until there is another: the clock by which it has expired may be wrong.
    pub(crate) async fn turned_out(&mut self, reason: &str) -> Result<(), EntryError> {
        let Some(held) = &self.held else { return Err(EntryError::Revoked(reason.to_owned())) };
        let got = match enrolment::renew(&self.given.coordinator, held).await {
            Ok(renewed) => renewed,
            Err(EnrolmentError::Refused(status)) if status.code() == Code::Unauthenticated => {
                return Err(EntryError::Revoked(reason.to_owned()));
            }
            // It has expired for longer than it may be renewed.
            Err(EnrolmentError::Refused(status)) if status.code() == Code::FailedPrecondition => {
                match self.ask().await {
                    Ok(other) if other != *held => other,
                    Err(error) if !error.is_lasting() => return Err(error),
                    // The access file has the same one, a token was used up, or there is nothing to ask with.
                    Ok(_) | Err(_) => return Err(EntryError::Expired(EnrolmentError::Refused(status))),
                }
            }
            Err(error) => return Err(error.into()),
        };
        tracing::info!(serial = %got.certificate().serial, "the certificate was renewed after it had expired");
        self.keep(got)?;
        self.reach = None;
        Ok(())
    }

    /// Takes what the access file says now: the coordinator may have begun anew, with another authority or elsewhere.
    pub(crate) fn look_again(&mut self) {
        let Some((url, credentials)) = self.given.access_file.as_ref().and_then(|read| read()) else {
            return;
        };
        if url == self.given.coordinator && credentials == self.given.credentials {
            return;
        }
        self.given.coordinator = url;
        self.given.credentials = credentials;
        self.held = self.held.take().filter(|held| self.fits(held));
        self.reach = None;
    }

    async fn ask(&self) -> Result<Credentials, EntryError> {
        let Admittance { coordinator: url, credentials, token, access_file: _ } = &self.given;
        let identity = Identity::new(self.host.as_str(), Role::Agent)?;
        match (credentials, token) {
            (_, Some(token)) => Ok(enrolment::enrol(url, token, identity.name()).await?),
            (Some(own), None) if own.certificate().identity == identity => Ok(own.clone()),
            (Some(given), None) => {
                let reach = Reach::new(url, Some(given))?;
                match enrolment::issue(&reach, &identity).await {
                    // Whoever writes the access file renews it; then it is read again.
                    Err(EnrolmentError::Refused(status))
                        if status.code() == Code::Unauthenticated
                            && given.certificate().has_expired(unix_seconds()) =>
                    {
                        Err(EntryError::Expired(EnrolmentError::Refused(status)))
                    }
                    issued => Ok(issued?),
                }
            }
            (None, None) => Err(ReachError::NoCredentials { url: url.clone() }.into()),
        }
    }

    fn is_secured(&self) -> bool {
        self.given.coordinator.starts_with("https://")
    }

    /// Whether credentials are for this host and of the coordinator of the access file. Whether they have expired is not judged here, by a clock
    /// that may not be set yet: the coordinator says it.
    fn fits(&self, kept: &Credentials) -> bool {
        let identity = &kept.certificate().identity;
        let is_own = identity.role() == Role::Agent && identity.name() == self.host.as_str();
        is_own && self.given.credentials.as_ref().is_none_or(|given| kept.share_authority(given))
    }

    /// The stored credentials, unless the token is of another coordinator.
    fn kept(&self) -> Result<Option<Credentials>, EntryError> {
        let Some(text) = private_file::read(&self.path)? else { return Ok(None) };
        let damaged = |source| EntryError::Damaged { path: self.path.clone(), source };
        let kept: Kept = toml::from_str(&text).map_err(|error| damaged(error.into()))?;
        let credentials = Credentials::new(&kept.authority, &kept.certificate, &kept.key);
        let credentials = credentials.map_err(|error: CredentialsError| damaged(error.into()))?;
        if let Some(token) = &self.given.token {
            let authority = token.authority();
            if !credentials.trusts(authority) && kept.token_authority != Some(authority.to_string()) {
                return Ok(None);
            }
        }
        Ok(Some(credentials))
    }

    fn keep(&mut self, got: Credentials) -> Result<(), EntryError> {
        let kept = Kept {
            authority: got.authority_pem().to_owned(),
            certificate: got.certificate_pem().to_owned(),
            key: got.key_pem().to_owned(),
            token_authority: self.given.token.as_ref().map(|token| token.authority().to_string()),
        };
        let damaged = |source| EntryError::Damaged { path: self.path.clone(), source };
        let text = toml::to_string(&kept).map_err(|error| damaged(error.into()))?;
        private_file::write(&self.path, &text)?;
        self.held = Some(got);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use speedup_access::{Authority, Signing};

    use super::*;

    fn authority() -> Authority {
        Authority::open(tempfile::tempdir().unwrap().path()).unwrap()
    }

    fn entry(token: &Token, state: &Path) -> Entry {
        let given = Admittance {
            coordinator: "https://localhost:7077".to_owned(),
            credentials: None,
            token: Some(token.clone()),
            access_file: None,
        };
        Entry::new(given, "a".parse().unwrap(), state).unwrap()
    }

    /// An agent is started for years with the token by which it enrolled, also when later certificates have replaced that of the
    /// authority.
    #[test]
    fn a_stored_certificate_is_used_beside_the_token_that_it_came_by() {
        let state = tempfile::tempdir().unwrap();
        let (first, later) = (authority(), authority());
        let token = Token::random(first.fingerprint());
        let identity = Identity::new("a", Role::Agent).unwrap();
        let signing = Signing::new().unwrap();
        let issued = later.issue(&identity, signing.request(), unix_seconds()).unwrap();
        let renewed = signing.complete(later.pem(), &issued.pem).unwrap();
        entry(&token, state.path()).keep(renewed.clone()).unwrap();
        assert_eq!(entry(&token, state.path()).held, Some(renewed));
        let of_another = Token::random(authority().fingerprint());
        assert_eq!(entry(&of_another, state.path()).held, None);
    }
}
