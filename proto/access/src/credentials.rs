//! What someone holds who may connect: its certificate, the key to it, and the authority that made it.

use std::fmt;

use rcgen::{CertificateParams, KeyPair};
use rustls::{pki_types::CertificateDer, pki_types::PrivateKeyDer, pki_types::pem::PemObject as _};
use thiserror::Error;

use crate::{certificate::Certificate, certificate::CertificateError, token::AuthorityFingerprint};

/// Certificate, key and authority.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    authority: String,
    certificate: String,
    key: String,
    read: Certificate,
}

/// Why credentials cannot be used or created.
#[derive(Debug, Error)]
pub enum CredentialsError {
    #[error("the {part} is not valid PEM")]
    Pem { part: &'static str, source: rustls::pki_types::pem::Error },
    #[error("the certificate cannot be used")]
    Certificate(#[from] CertificateError),
    #[error("cannot create a key: {0}")]
    Key(rcgen::Error),
}

impl Credentials {
    /// Reads credentials from these PEM texts.
    pub fn new(authority: &str, certificate: &str, key: &str) -> Result<Self, CredentialsError> {
        authorities_of(authority)?;
        let read = Certificate::read(&certificate_of(certificate, "certificate")?)?;
        PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|source| CredentialsError::Pem { part: "key", source })?;
        Ok(Self {
            authority: authority.to_owned(),
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            read,
        })
    }

    /// Whose they are, and for how long.
    pub fn certificate(&self) -> &Certificate {
        &self.read
    }

    /// The certificate, as PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// The authority's certificate, as PEM.
    pub fn authority_pem(&self) -> &str {
        &self.authority
    }

    /// The key, as PEM: a secret.
    pub fn key_pem(&self) -> &str {
        &self.key
    }

    /// Whether they trust an authority that is known by its fingerprint.
    pub fn trusts(&self, authority: AuthorityFingerprint) -> bool {
        self.fingerprints().contains(&authority)
    }

    /// Whether they are of the same coordinator as others: a generation of the authority is trusted by both.
    pub fn share_authority(&self, others: &Self) -> bool {
        others.fingerprints().into_iter().any(|authority| self.trusts(authority))
    }

    fn fingerprints(&self) -> Vec<AuthorityFingerprint> {
        let authorities = authorities_of(&self.authority).unwrap_or_default();
        authorities.iter().map(|authority| AuthorityFingerprint::of(authority)).collect()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("certificate", &self.read).finish_non_exhaustive()
    }
}

/// Reads the certificates of an authority: one of each generation, at least one.
pub(crate) fn authorities_of(pem: &str) -> Result<Vec<CertificateDer<'static>>, CredentialsError> {
    // The iterator below finds nothing in a text without a certificate; reading the first one says so.
    certificate_of(pem, "authority")?;
    let all = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    all.map_err(|source| CredentialsError::Pem { part: "authority", source })
}

pub(crate) fn certificate_of(
    pem: &str,
    part: &'static str,
) -> Result<CertificateDer<'static>, CredentialsError> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|source| CredentialsError::Pem { part, source })
}

/// A new key that waits for its certificate. It is made where it is used and never sent.
pub struct Signing {
    key: KeyPair,
    request: Vec<u8>,
}

impl Signing {
    /// Creates a key and its signing request.
    pub fn new() -> Result<Self, CredentialsError> {
        let key = KeyPair::generate().map_err(CredentialsError::Key)?;
        let request = CertificateParams::default().serialize_request(&key).map_err(CredentialsError::Key)?;
        Ok(Self { request: request.der().to_vec(), key })
    }

    /// The signing request, PKCS #10.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// The credentials, once the certificate is there.
    pub fn complete(self, authority: &str, certificate: &str) -> Result<Credentials, CredentialsError> {
        Credentials::new(authority, certificate, &self.key.serialize_pem())
    }
}
