//! What a peer shows: the identity, number and end of a certificate. Whether it is genuine was looked at before.

use std::{fmt, str::FromStr, time::Duration};

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
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
        let digit = |place: usize| text.get(2 * place..2 * place + 2);
        let byte = |place| digit(place).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let bytes: Option<Vec<u8>> = (0..Self::BYTES).map(byte).collect();
        let serial = bytes.filter(|_| text.len() == 2 * Self::BYTES);
        serial.and_then(|bytes| Self::from_bytes(&bytes)).ok_or(CertificateError::Serial)
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
        let uris: Vec<&str> = names.map_or(Vec::new(), |names| {
            let uri = |name: &_| if let GeneralName::URI(uri) = *name { Some(uri) } else { None };
            names.value.general_names.iter().filter_map(uri).collect()
        });
        let [uri] = uris[..] else { return Err(CertificateError::Identities(uris.len())) };
        let seconds = |at: i64| u64::try_from(at).unwrap_or(0);
        Ok(Self {
            identity: Identity::from_uri(uri)?,
            serial: Serial::from_bytes(parsed.raw_serial()).ok_or(CertificateError::Serial)?,
            not_after: seconds(parsed.validity().not_after.timestamp()),
            not_before: seconds(parsed.validity().not_before.timestamp()),
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
