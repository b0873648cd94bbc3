//! What a peer shows: the identity, number and end of a certificate. Whether it is genuine was looked at before.

use std::{fmt, str::FromStr, time::Duration};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use rustls::pki_types::CertificateDer;
use thiserror::Error;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::identity::{Identity, IdentityError};

/// The number of a certificate: 16 random bytes of which the first is neither 0 nor above 127, as X.509 wants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serial([u8; Self::BYTES]);

impl Serial {
    const BYTES: usize = 16;

    pub(crate) fn random() -> Self {
        let mut bytes: [u8; Self::BYTES] = crate::random();
        bytes[0] = bytes[0] & 0x3F | 0x40;
        Self(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// That of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Serial {
    type Err = CertificateError;

    fn from_str(text: &str) -> Result<Self, CertificateError> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).map_err(|_| CertificateError::Serial)?;
        Self::from_bytes(&bytes).ok_or(CertificateError::Serial)
    }
}

/// How long after its end a certificate may still be renewed: a coordinator, a host or a user may be away for a year.
pub const RENEWABLE: Duration = Duration::from_secs(400 * 86_400);

/// A certificate of someone who connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    pub identity: Identity,
    pub serial: Serial,
    /// The last second in which it holds, since 1970.
    pub not_after: u64,
    /// The first.
    pub not_before: u64,
    /// The key that it is for, as the DER of X.509's SubjectPublicKeyInfo.
    pub public_key: Vec<u8>,
}

/// Why a certificate cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    #[error("not a valid X.509 certificate")]
    Malformed,
    #[error("its serial number is not 32 hexadecimal digits")]
    Serial,
    #[error("it names {0} identities, not one")]
    Identities(usize),
    #[error("it does not name a valid identity")]
    Identity(#[from] IdentityError),
}

impl Certificate {
    /// Reads one.
    pub fn read(der: &CertificateDer<'_>) -> Result<Self, CertificateError> {
        let (_, parsed) = X509Certificate::from_der(der).map_err(|_| CertificateError::Malformed)?;
        let names = parsed.subject_alternative_name().map_err(|_| CertificateError::Malformed)?;
        let mut uris = Vec::new();
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            if let GeneralName::URI(uri) = name {
                uris.push(*uri);
            }
        }
        let [uri] = uris[..] else { return Err(CertificateError::Identities(uris.len())) };
        Ok(Self {
            identity: Identity::from_uri(uri)?,
            serial: Serial::from_bytes(parsed.raw_serial()).ok_or(CertificateError::Serial)?,
            not_after: u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or(0),
            not_before: u64::try_from(parsed.validity().not_before.timestamp()).unwrap_or(0),
            public_key: parsed.public_key().raw.to_vec(),
        })
    }

    /// Whether it has run out.
    pub fn has_expired(&self, now: u64) -> bool {
        self.not_after < now
    }

    /// Whether it is time to have it renewed: two thirds of its life are over.
    pub fn is_due(&self, now: u64) -> bool {
        let life = self.not_after.saturating_sub(self.not_before);
        now >= self.not_before + life / 3 * 2
    }
}
