//! What is kept of admissions, and its form in the journal.

use speedup_access::{Identity, Role, Serial, TokenId};
use speedup_proto::journal::v1 as wire;
use thiserror::Error;
use wire::access_event::Change as Kept;

/// One change, when, and who did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessEvent {
    /// Seconds since 1970.
    pub(crate) at: u64,
    pub(crate) by: String,
    pub(crate) change: Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    TokenCreated { token: TokenId, role: Role, name: Option<String>, uses: Uses, expires: u64 },
    TokenRevoked { token: TokenId },
    CertificateIssued { serial: Serial, identity: Identity, not_after: u64, token: Option<TokenId> },
    CertificateRevoked { serial: Serial },
}

/// How often a token can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    Times(u32),
    /// Until it expires: it is the secret of jobs, which cannot keep what they are given.
    Unlimited,
}

/// A record that is no event, or one of a newer release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the {0} of a record is missing, malformed, or of a newer release")]
pub(crate) struct MalformedEvent(&'static str);

impl From<&AccessEvent> for wire::AccessEvent {
    fn from(event: &AccessEvent) -> Self {
        let change = match &event.change {
            Change::TokenCreated { token, role, name, uses, expires } => {
                let token = token.bytes().to_vec();
                let role = role.name().to_owned();
                let name = name.clone().unwrap_or_default();
                let expires_s = *expires;
                match *uses {
                    Uses::Times(uses) => {
                        Kept::TokenCreated(wire::TokenCreated { token, role, name, uses, expires_s })
                    }
                    Uses::Unlimited => Kept::ReusableTokenCreated(wire::ReusableTokenCreated {
                        token,
                        role,
                        name,
                        expires_s,
                    }),
                }
            }
            Change::TokenRevoked { token } => {
                Kept::TokenRevoked(wire::TokenRevoked { token: token.bytes().to_vec() })
            }
            Change::CertificateIssued { serial, identity, not_after, token } => {
                Kept::CertificateIssued(wire::CertificateIssued {
                    serial: serial.bytes().to_vec(),
                    identity: identity.uri(),
                    not_after_s: *not_after,
                    token: token.map_or(Vec::new(), |token| token.bytes().to_vec()),
                })
            }
            Change::CertificateRevoked { serial } => {
                Kept::CertificateRevoked(wire::CertificateRevoked { serial: serial.bytes().to_vec() })
            }
        };
        Self { at_s: event.at, by: event.by.clone(), change: Some(change) }
    }
}

impl TryFrom<wire::AccessEvent> for AccessEvent {
    type Error = MalformedEvent;

    fn try_from(event: wire::AccessEvent) -> Result<Self, MalformedEvent> {
        let change = match event.change.ok_or(MalformedEvent("change"))? {
            Kept::TokenCreated(wire::TokenCreated { token: id, role, name, uses, expires_s }) => {
                created(token(&id)?, &role, name, Uses::Times(uses), expires_s)?
            }
            Kept::ReusableTokenCreated(wire::ReusableTokenCreated { token: id, role, name, expires_s }) => {
                created(token(&id)?, &role, name, Uses::Unlimited, expires_s)?
            }
            Kept::TokenRevoked(revoked) => Change::TokenRevoked { token: token(&revoked.token)? },
            Kept::CertificateIssued(issued) => Change::CertificateIssued {
                serial: serial(&issued.serial)?,
                identity: Identity::from_uri(&issued.identity).map_err(|_| MalformedEvent("identity"))?,
                not_after: issued.not_after_s,
                token: if issued.token.is_empty() { None } else { Some(token(&issued.token)?) },
            },
            Kept::CertificateRevoked(revoked) => {
                Change::CertificateRevoked { serial: serial(&revoked.serial)? }
            }
        };
        Ok(Self { at: event.at_s, by: event.by, change })
    }
}

fn token(bytes: &[u8]) -> Result<TokenId, MalformedEvent> {
    TokenId::from_bytes(bytes).ok_or(MalformedEvent("token"))
}

fn serial(bytes: &[u8]) -> Result<Serial, MalformedEvent> {
    Serial::from_bytes(bytes).ok_or(MalformedEvent("serial number"))
}

fn created(
    token: TokenId,
    role: &str,
    name: String,
    uses: Uses,
    expires: u64,
) -> Result<Change, MalformedEvent> {
    let role = role.parse().map_err(|_| MalformedEvent("role"))?;
    Ok(Change::TokenCreated { token, role, name: Some(name).filter(|name| !name.is_empty()), uses, expires })
}
