//! Who calls: what the doors may know of a connection's other end.

use std::{sync::Arc, sync::atomic::AtomicBool, sync::atomic::Ordering};

use speedup_access::{Certificate, Identity, Role};
use speedup_core::value::hint::with_hint;
use tonic::{Request, Status};

use super::user;

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) caller: Caller,
    /// Where it is, for the log.
    pub(crate) address: Arc<str>,
    /// Whether a refusal of this connection stands in the log already.
    is_told: Arc<AtomicBool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Inside,
    /// Anyone on this machine, where the coordinator was started without TLS.
    Unchecked,
    /// Somebody who showed no certificate.
    Unknown,
    /// The holder of a certificate of our authority; whether it still holds is looked at with each request.
    Known(Arc<Certificate>),
}

impl Peer {
    pub(crate) fn new(caller: Caller, address: &str) -> Self {
        Self { caller, address: address.into(), is_told: Arc::default() }
    }

    /// Logs a refusal, the first of a connection where it is seen.
    pub(crate) fn log(&self, path: &str, status: &Status) {
        let reason = status.message().lines().next().unwrap_or_default();
        let address = &*self.address;
        let code = status.code();
        if self.is_told.swap(true, Ordering::Relaxed) {
            tracing::debug!(%address, path, ?code, "refused: {reason}");
        } else {
            tracing::warn!(%address, path, ?code, "refused: {reason}");
        }
    }
}

impl Caller {
    /// The caller who sent a request.
    pub(crate) fn from_request<T>(request: &Request<T>) -> Result<Self, Status> {
        let peer = request.extensions().get::<Peer>();
        peer.map(|peer| peer.caller.clone()).ok_or_else(|| Status::internal("the caller is unknown"))
    }

    /// Whose shares a request counts in; nobody's where the process itself asks, or callers are not told apart.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match self {
            Self::Known(certificate) => Some(&certificate.identity),
            Self::Inside | Self::Unchecked | Self::Unknown => None,
        }
    }

    /// Who asks, for the records: the name in the certificate, else what the request says.
    pub(crate) fn name(&self, claimed: &str) -> Result<String, Status> {
        match self {
            Self::Known(certificate) => Ok(certificate.identity.name().to_owned()),
            Self::Inside | Self::Unchecked => user(claimed),
            Self::Unknown => Err(Status::unauthenticated("the caller is unknown")),
        }
    }

    /// Refuses one who is neither the owner nor an admin.
    pub(crate) fn require_owner(&self, owner: &str) -> Result<(), Status> {
        let Self::Known(certificate) = self else { return Ok(()) };
        let identity = &certificate.identity;
        if identity.role() == Role::Admin || identity.name() == owner {
            return Ok(());
        }
        Err(Status::permission_denied(with_hint(
            format_args!("the experiment is {owner}'s, and you are {identity}"),
            Some(&format!("ask {owner} or an admin")),
        )))
    }

    /// Refuses an agent that speaks for another host than its own.
    pub(crate) fn require_host(&self, host: &str) -> Result<(), Status> {
        match self {
            Self::Known(certificate) if certificate.identity.name() != host => {
                let identity = &certificate.identity;
                Err(Status::permission_denied(with_hint(
                    format_args!("the certificate is for {identity}, and not for host {host}"),
                    Some(&format!("enrol this host, or start its agent with --host-id {}", identity.name())),
                )))
            }
            Self::Known(_) | Self::Inside | Self::Unchecked | Self::Unknown => Ok(()),
        }
    }
}
