//! Who someone is: a user with a role, or the agent of a host. In a certificate it is the one URI among the subject's
//! alternative names: `speedup://user/NAME?role=ROLE` or `speedup://host/HOST?role=agent`.

use std::{fmt, fmt::Write as _, str::FromStr};

use serde::Serialize;
use speedup_core::value::id::{HostId, MAX_ID_BYTES};
use thiserror::Error;

/// The name by which the coordinator records what it does by itself; no admin gets it.
pub const COORDINATOR: &str = "coordinator";

const USER: &str = "speedup://user/";
const HOST: &str = "speedup://host/";
const ROLE: &str = "?role=";

/// Who someone is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    name: String,
    role: Role,
}

/// Why a text is no identity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// The name is empty, too long, or has characters that cannot be shown.
    #[error("a name has 1 to {MAX_ID_BYTES} printable bytes")]
    Name,
    /// An agent is named after its host, and this is no host's id.
    #[error("{0:?} is not a valid host id")]
    Host(String),
    /// No machine is called so, and where it stands as a part of a path or as an argument it would be something else.
    #[error("{0:?} is not a valid host name: it must not begin with a hyphen, and needs a letter or digit")]
    HostName(String),
    #[error("the name {COORDINATOR} is reserved for the coordinator itself")]
    Reserved,
    #[error(transparent)]
    Role(#[from] RoleError),
    #[error("it is neither speedup://user/NAME?role=ROLE nor speedup://host/HOST?role=agent")]
    Form,
}

impl Identity {
    /// A user's, or, with the role of an agent, that of the host with this id.
    pub fn new(name: &str, role: Role) -> Result<Self, IdentityError> {
        if name.trim().is_empty() || name.len() > MAX_ID_BYTES || name.chars().any(char::is_control) {
            return Err(IdentityError::Name);
        }
        if role == Role::Agent {
            HostId::try_from(name.to_owned()).map_err(|_| IdentityError::Host(name.to_owned()))?;
        }
        Ok(Self { name: name.to_owned(), role })
    }

    /// The same for one who is about to be let in: a host's id is then also a name that is neither `..` nor like an option, and
    /// an admin's is not the coordinator's own.
    /// Certificates and records of before may have others.
    pub fn proposed(name: &str, role: Role) -> Result<Self, IdentityError> {
        let identity = Self::new(name, role)?;
        let is_name = !name.starts_with('-') && name.contains(char::is_alphanumeric);
        if role == Role::Agent && !is_name {
            return Err(IdentityError::HostName(name.to_owned()));
        }
        if role == Role::Admin && name == COORDINATOR {
            return Err(IdentityError::Reserved);
        }
        Ok(identity)
    }

    /// The user's name, or the host's id.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it may do.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The form in a certificate.
    pub fn uri(&self) -> String {
        let kind = if self.role == Role::Agent { HOST } else { USER };
        format!("{kind}{}{ROLE}{}", encoded(&self.name), self.role)
    }

    /// Reads the form in a certificate. Two texts never are one identity.
    pub fn from_uri(uri: &str) -> Result<Self, IdentityError> {
        let (name, role) = uri.rsplit_once(ROLE).ok_or(IdentityError::Form)?;
        let role: Role = role.parse()?;
        let kind = if role == Role::Agent { HOST } else { USER };
        let name = name.strip_prefix(kind).and_then(decoded).ok_or(IdentityError::Form)?;
        let identity = Self::new(&name, role)?;
        if identity.uri() == uri { Ok(identity) } else { Err(IdentityError::Form) }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Agent => write!(f, "the agent of host {}", self.name),
            Role::Viewer | Role::Submitter | Role::Admin => write!(f, "{} ({})", self.name, self.role),
        }
    }
}

fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(byte.into()),
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

speedup_core::words! {
    /// What someone may do. Each of the first three may do what the one before may; an agent may only be an agent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Role {
        /// Reads experiments, reports and the pool.
        Viewer = "viewer",
        /// Submits experiments too, and changes those that it submitted.
        Submitter = "submitter",
        /// Changes everything, and says who may do what.
        Admin = "admin",
        /// Executes runs on the one host that it stands for.
        Agent = "agent",
    }
    /// Its word, in certificates and on the command line.
    fn name;
    const ALL;
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The word names no role.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a role; the roles are viewer, submitter, admin and agent")]
pub struct RoleError(String);

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        let named = Self::ALL.into_iter().find(|role| role.name() == text);
        named.ok_or_else(|| RoleError(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read_back_from_its_uri() {
        for (name, role, uri) in [
            ("alice", Role::Submitter, "speedup://user/alice?role=submitter"),
            (
                "Zoë O'Hara/x?role=admin",
                Role::Viewer,
                "speedup://user/Zo%C3%AB%20O%27Hara%2Fx%3Frole%3Dadmin?role=viewer",
            ),
            ("node-17", Role::Agent, "speedup://host/node-17?role=agent"),
        ] {
            let identity = Identity::new(name, role).unwrap();
            assert_eq!(identity.uri(), uri);
            assert_eq!(Identity::from_uri(uri), Ok(identity));
        }
    }

    #[test]
    fn what_is_no_identity_is_refused() {
        for uri in [
            "",
            "speedup://user/alice",
            "speedup://user/alice?role=root",
            "speedup://user/?role=admin",
            "speedup://user/node?role=agent",
            "speedup://host/alice?role=admin",
            "speedup://user/al%69ce?role=admin",
            "speedup://user/a%0a?role=admin",
            "speedup://user/%ff?role=admin",
            "speedup://user/%4?role=admin",
            "https://user/alice?role=admin",
        ] {
            assert!(Identity::from_uri(uri).is_err(), "{uri}");
        }
        assert!(Identity::new(&"x".repeat(254), Role::Viewer).is_err());
    }

    #[test]
    fn a_host_to_be_let_in_has_a_name_that_is_nothing_else() {
        for name in ["node-17", "10.0.0.1", "fe80::1", "nid001234.alps", "3f2c9a"] {
            assert!(Identity::proposed(name, Role::Agent).is_ok(), "{name}");
        }
        for name in ["..", ".", "...", "-rf", "--", ":", "_"] {
            let refused = Identity::proposed(name, Role::Agent);
            assert_eq!(refused, Err(IdentityError::HostName(name.to_owned())), "{name}");
            assert!(Identity::new(name, Role::Agent).is_ok(), "a certificate of before is still read");
        }
        for name in ["../x", "/etc", "two words", "a\u{202e}b"] {
            let refused = Identity::proposed(name, Role::Agent);
            assert_eq!(refused, Err(IdentityError::Host(name.to_owned())), "{name}");
        }
        assert!(Identity::proposed("..", Role::Viewer).is_ok(), "users are called as they are");
    }
}
