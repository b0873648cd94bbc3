//! A host as a user names it for ssh, checked: it becomes an argument of ssh, the id of a host and the name of a directory.

use std::{fmt, fmt::Display, fmt::Formatter, str::FromStr};

use serde::{Deserialize, Serialize};
use speedup_core::value::id::HostId;
use thiserror::Error;

/// Longest name of a host or user: that of a host in DNS.
const MAX_BYTES: usize = 253;

/// `HOST` or `USER@HOST`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Destination {
    user: Option<String>,
    host: HostId,
}

/// Why a text names no host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is no host for ssh: write HOST or USER@HOST in letters, digits, and any of . _ - : that begin with a letter or digit"
)]
pub(crate) struct DestinationError(String);

impl Destination {
    /// The id of the host, which is its name.
    pub(crate) fn host(&self) -> &HostId {
        &self.host
    }
}

impl Display for Destination {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match &self.user {
            Some(user) => write!(to, "{user}@{}", self.host),
            None => write!(to, "{}", self.host),
        }
    }
}

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        let (user, host) = match text.split_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, text),
        };
        match host.parse() {
            Ok(id) if is_name(host) && user.is_none_or(is_name) => {
                Ok(Self { user: user.map(str::to_owned), host: id })
            }
            Ok(_) | Err(_) => Err(DestinationError(text.chars().take(MAX_BYTES).collect())),
        }
    }
}

impl TryFrom<String> for Destination {
    type Error = DestinationError;

    fn try_from(text: String) -> Result<Self, DestinationError> {
        text.parse()
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

/// Whether a text can be a user or a host: nothing that ssh takes for an option, and nothing that leads out of a directory.
fn is_name(text: &str) -> bool {
    text.len() <= MAX_BYTES
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_as_for_ssh() {
        for text in ["node1", "alice@node1.example.org", "10.0.0.1", "a@2001:db8::1"] {
            let destination: Destination = text.parse().unwrap();
            assert_eq!(destination.to_string(), text);
            assert_eq!(destination.host().as_str(), text.rsplit('@').next().unwrap());
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let long = "a".repeat(254);
        for text in
            ["", "-oProxyCommand=x", "a@-x", "..", "a/b", "a b", "a;b", "@a", "a@", "a@b@c", "$(x)", &long]
        {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
    }
}
