//! Enrolment tokens: a secret, and the fingerprint of the authority whom to tell it. Whoever has one becomes, once or a few
//! times and not for long, what it was made for.

use std::{fmt, str::FromStr};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use thiserror::Error;

const SECRET_BYTES: usize = 16;
const PREFIX: &str = "speedup-";

/// By which an authority is known before it is trusted: the BLAKE3 hash of its certificate's DER.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuthorityFingerprint([u8; 32]);

impl AuthorityFingerprint {
    /// That of a certificate.
    pub(crate) fn of(der: &[u8]) -> Self {
        Self(*blake3::hash(der).as_bytes())
    }
}

impl fmt::Display for AuthorityFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for AuthorityFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

/// What the coordinator keeps of a token: the hash of its secret. The secret has 128 random bits, so that nobody finds it
/// by its hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenId([u8; 32]);

impl TokenId {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// That of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// That of a secret that someone tells.
    pub fn of(secret: &[u8]) -> Self {
        Self(blake3::derive_key("speedup 2026 enrolment token", secret))
    }
}

impl fmt::Display for TokenId {
    /// Its first digits, by which people tell tokens apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0[..6]))
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An enrolment token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    secret: [u8; SECRET_BYTES],
    authority: AuthorityFingerprint,
}

/// Why a text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a token is {PREFIX}, 32 hexadecimal digits, a point and 64 more; it is one line of `speedup token create`"
)]
pub struct TokenError;

impl Token {
    /// A new one for an authority.
    pub fn random(authority: AuthorityFingerprint) -> Self {
        Self { secret: crate::random(), authority }
    }

    /// What is told to the coordinator.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// By what the coordinator knows it.
    pub fn id(&self) -> TokenId {
        TokenId::of(&self.secret)
    }

    /// Whom to tell it.
    pub fn authority(&self) -> AuthorityFingerprint {
        self.authority
    }

    /// The text that is handed over. It is a secret: it is nowhere but where it was asked for.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}.{}", HEXLOWER.encode(&self.secret), self.authority)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.id())
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let (secret, authority) =
            text.trim().strip_prefix(PREFIX).and_then(|text| text.split_once('.')).ok_or(TokenError)?;
        Ok(Self { secret: bytes(secret)?, authority: AuthorityFingerprint(bytes(authority)?) })
    }
}

fn bytes<const N: usize>(text: &str) -> Result<[u8; N], TokenError> {
    let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).map_err(|_| TokenError)?;
    bytes.try_into().map_err(|_| TokenError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_never_shown() {
        let token = Token::random(AuthorityFingerprint::of(b"authority"));
        let text = token.text();
        assert_eq!(text.parse::<Token>(), Ok(token.clone()));
        assert_eq!(format!("{text}\n").parse::<Token>(), Ok(token.clone()));
        let secret = &text[PREFIX.len()..PREFIX.len() + 32];
        assert!(!format!("{token:?} {}", token.id()).contains(secret));
        for wrong in [
            "",
            "speedup-",
            &text[1..],
            &text[..text.len() - 1],
            &text.replace('.', ""),
            &text.replace(secret, "é"),
        ] {
            assert_eq!(wrong.parse::<Token>(), Err(TokenError), "{wrong}");
        }
    }
}
