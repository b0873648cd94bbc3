//! Who asks: the holder of a session, or anyone where the page is open to all.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use speedup_access::{Role, unix_seconds};
use tonic::transport::Channel;

use crate::entry::Entrance;
use crate::routes::Context;
use crate::site::Shared;
use crate::trouble::Trouble;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// Where people sign in.
    pub(crate) name: Option<String>,
    pub(crate) role: Role,
    pub(crate) channel: Channel,
    form_token: Arc<str>,
}

impl Visitor {
    /// What each of his forms carries.
    pub(crate) fn form_token(&self) -> &str {
        &self.form_token
    }

    /// Refuses a form that is not his.
    pub(crate) fn require_form(&self, token: &str) -> Result<(), Trouble> {
        if is_same(token, &self.form_token) {
            return Ok(());
        }
        let words = "This form is of an earlier session. Reload the page, and try again.";
        Err(Trouble::plain(StatusCode::FORBIDDEN, words))
    }

    /// Whether he may change the pool.
    pub(crate) fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }

    /// Whether he may change an experiment of this owner.
    pub(crate) fn may_change(&self, owner: &str) -> bool {
        match self.role {
            Role::Admin => true,
            Role::Submitter => self.name.as_deref() == Some(owner),
            Role::Viewer | Role::Agent => false,
        }
    }

    /// Who it is for records where nothing else says it.
    pub(crate) fn by(&self) -> String {
        self.name.clone().unwrap_or_else(|| "somebody at the page".to_owned())
    }
}

/// In a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    speedup_access::SecretHash::of(one) == speedup_access::SecretHash::of(other)
}

impl FromRequestParts<Arc<Context>> for Visitor {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, context: &Arc<Context>) -> Result<Self, Trouble> {
        match &context.entrance {
            Entrance::Open(channel) => Ok(Self {
                name: None,
                role: Role::Admin,
                channel: channel.clone(),
                form_token: context.shared.open_form_token.clone(),
            }),
            Entrance::SignedIn(holders) => {
                let secret = session_secret(&context.shared, &parts.headers).ok_or(Trouble::SignedOut)?;
                let session = context.shared.entries().session(unix_seconds(), secret);
                let session = session.ok_or(Trouble::SignedOut)?;
                if !holders.holds(session.certificate.serial) {
                    context.shared.entries().leave(secret);
                    return Err(Trouble::SignedOut);
                }
                let identity = &session.certificate.identity;
                Ok(Self {
                    name: Some(identity.name().to_owned()),
                    role: identity.role(),
                    channel: session.channel,
                    form_token: session.form_token,
                })
            }
        }
    }
}

/// Whether a request is of one who has signed in, as far as its session says.
pub(crate) fn is_signed_in(shared: &Shared, headers: &HeaderMap) -> bool {
    let secret = session_secret(shared, headers);
    secret.is_some_and(|secret| shared.entries().session(unix_seconds(), secret).is_some())
}

/// The name of the session's cookie: it has the port, because browsers send cookies to all ports of an address.
pub(crate) fn cookie_name(shared: &Shared) -> String {
    let prefix = if shared.is_secure { "__Host-" } else { "" };
    format!("{prefix}speedup-{}", shared.port)
}

/// The session's secret that a request carries.
pub(crate) fn session_secret<'a>(shared: &Shared, headers: &'a HeaderMap) -> Option<&'a str> {
    let name = cookie_name(shared);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}
