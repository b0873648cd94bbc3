//! Who asks: the holder of a session, or anyone where the page is open to all.

use std::sync::Arc;

use speedup_access::{Identity, Role};
use tonic::transport::Channel;

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
    speedup_access::SecretHash::of(one) == speedup_access::SecretHash::of(other)
}
