//! Secrets that are made here, told once and recognised again: links and sessions of the web page. Who keeps one keeps its
//! hash.

use std::fmt;

use data_encoding::HEXLOWER;

const BYTES: usize = 32;

/// A secret of 256 random bits, as text. It is nowhere but where it was asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What is kept of a secret, by which it is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecretHash([u8; 32]);

impl Secret {
    /// A new one.
    pub fn random() -> Self {
        let bytes: [u8; BYTES] = crate::random();
        Self(HEXLOWER.encode(&bytes))
    }

    /// The text that is told.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// By what it is recognised.
    pub fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl SecretHash {
    /// That of what someone tells.
    pub fn of(text: &str) -> Self {
        Self(blake3::derive_key("speedup 2026 page secret", text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_recognised_and_never_shown() {
        let secret = Secret::random();
        assert_eq!(SecretHash::of(secret.text()), secret.hash());
        assert_ne!(Secret::random(), secret);
        assert!(!format!("{secret:?} {:?}", secret.hash()).contains(secret.text()));
        assert_eq!(secret.text().len(), 64);
    }
}
