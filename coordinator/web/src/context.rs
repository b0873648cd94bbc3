//! What all requests have in common, and whom a request comes from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{extract::FromRequestParts, http::HeaderMap, http::header::COOKIE, http::request::Parts};
use speedup_access::{FairSemaphore, Identity, Role, SecretHash, unix_seconds};
use tokio::sync::watch;
use tonic::transport::Channel;

use crate::{entry::Entrance, entry::Entries, page_error::PageError};

/// The path that takes a link.
pub(crate) const SIGN_IN: &str = "/sign-in";

/// What door and page have in common.
#[derive(Debug)]
pub(crate) struct SharedState {
    /// Where the page is, without a path.
    pub(crate) url: String,
    pub(crate) port: u16,
    pub(crate) is_secure: bool,
    pub(crate) names: Vec<String>,
    /// Stands in the forms of a page that is open to everyone.
    pub(crate) open_form_token: Arc<str>,
    pub(crate) streams: Arc<FairSemaphore>,
    pub(crate) report_streams: Arc<FairSemaphore>,
    pub(crate) entries: Mutex<Entries>,
}

impl SharedState {
    pub(crate) fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all routes have.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) entrance: Entrance,
    /// Closed when the page ends.
    pub(crate) stopped: watch::Receiver<()>,
}

/// Who asks: the holder of a session, or anyone where the page is open to all.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// Where people sign in.
    pub(crate) identity: Option<Identity>,
    pub(crate) role: Role,
    pub(crate) channel: Channel,
    pub(crate) form_token: Arc<str>,
}

impl Visitor {
    /// The name by which he has signed in.
    pub(crate) fn name(&self) -> Option<&str> {
        self.identity.as_ref().map(Identity::name)
    }

    /// What each of his forms carries.
    pub(crate) fn form_token(&self) -> &str {
        &self.form_token
    }

    /// Whether a form with this token is his.
    pub(crate) fn sent(&self, token: &str) -> bool {
        is_same(token, &self.form_token)
    }

    /// Whether he may change the pool.
    pub(crate) fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }

    /// Whether he may change an experiment of this owner.
    pub(crate) fn may_change(&self, owner: &str) -> bool {
        match self.role {
            Role::Admin => true,
            Role::Submitter => self.name() == Some(owner),
            Role::Viewer | Role::Agent => false,
        }
    }

    /// Who it is for records where nothing else says it.
    pub(crate) fn by(&self) -> String {
        self.name().unwrap_or("somebody at the page").to_owned()
    }
}

/// In a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    SecretHash::of(one) == SecretHash::of(other)
}

impl FromRequestParts<Arc<Context>> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, context: &Arc<Context>) -> Result<Self, PageError> {
        match &context.entrance {
            Entrance::Open(channel) => Ok(Self {
                identity: None,
                role: Role::Admin,
                channel: channel.clone(),
                form_token: context.shared.open_form_token.clone(),
            }),
            Entrance::SignedIn(holders) => {
                let secret = session_secret(&context.shared, &parts.headers).ok_or(PageError::SignedOut)?;
                let session = context.shared.entries().session(unix_seconds(), secret);
                let session = session.ok_or(PageError::SignedOut)?;
                if !holders.holds(session.certificate.serial) {
                    context.shared.entries().leave(secret);
                    return Err(PageError::SignedOut);
                }
                let identity = &session.certificate.identity;
                Ok(Self {
                    identity: Some(identity.clone()),
                    role: identity.role(),
                    channel: session.channel,
                    form_token: session.form_token,
                })
            }
        }
    }
}

/// Who has signed in that sends a request, as far as its session says.
pub(crate) fn signed_in(shared: &SharedState, headers: &HeaderMap) -> Option<Identity> {
    let session = shared.entries().session(unix_seconds(), session_secret(shared, headers)?)?;
    Some(session.certificate.identity.clone())
}

/// The name of the session's cookie: it has the port, because browsers send cookies to all ports of an address.
pub(crate) fn cookie_name(shared: &SharedState) -> String {
    let prefix = if shared.is_secure { "__Host-" } else { "" };
    format!("{prefix}speedup-{}", shared.port)
}

/// The session's secret that a request carries.
pub(crate) fn session_secret<'a>(shared: &SharedState, headers: &'a HeaderMap) -> Option<&'a str> {
    let name = cookie_name(shared);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}
