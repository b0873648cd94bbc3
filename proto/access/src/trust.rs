//! TLS of one who connects: whom it trusts, and what it shows.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerIncompatible, RootCertStore,
    SignatureScheme,
};
use thiserror::Error as ThisError;

use crate::credentials::{Credentials, CredentialsError, authorities_of, certificate_of};
use crate::token::AuthorityFingerprint;

/// What both sides speak above TLS.
pub(crate) const PROTOCOL: &[u8] = b"h2";

/// Whom one who connects trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Servers with a certificate of this authority, given as PEM: of any of its generations that stand there.
    Authority(String),
    /// The same, where only its fingerprint is known yet; the server shows the authority itself.
    Fingerprint(AuthorityFingerprint),
}

/// Why there can be no secured connection.
#[derive(Debug, ThisError)]
pub enum TrustError {
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("TLS cannot use the certificates")]
    Tls(#[from] Error),
}

impl Trust {
    /// How to connect, with a certificate or without.
    pub(crate) fn client_config(
        &self,
        credentials: Option<&Credentials>,
    ) -> Result<Arc<ClientConfig>, TrustError> {
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let builder = match self {
            Self::Authority(pem) => builder.with_root_certificates(roots(&authorities_of(pem)?)?),
            Self::Fingerprint(expected) => {
                let algorithms = provider.signature_verification_algorithms;
                let verifier = KnownByFingerprint { expected: *expected, provider, algorithms };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        let mut config = match credentials {
            None => builder.with_no_client_auth(),
            Some(credentials) => {
                let chain = vec![certificate_of(credentials.certificate_pem(), "certificate")?];
                let key = PrivateKeyDer::from_pem_slice(credentials.key_pem().as_bytes())
                    .map_err(|source| CredentialsError::Pem { part: "key", source })?;
                builder.with_client_auth_cert(chain, key)?
            }
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Arc::new(config))
    }
}

/// The one provider of cryptography in the program.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The generations of an authority, and nobody else.
pub(crate) fn roots(authorities: &[CertificateDer<'static>]) -> Result<Arc<RootCertStore>, Error> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    Ok(Arc::new(roots))
}

/// Takes the certificate with the expected fingerprint, which the server has to show, for the authority, and then looks
/// at the server's as usual.
#[derive(Debug)]
struct KnownByFingerprint {
    expected: AuthorityFingerprint,
    provider: Arc<CryptoProvider>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for KnownByFingerprint {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = intermediates.iter().find(|shown| AuthorityFingerprint::of(shown) == self.expected);
        let authority = shown.ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let roots = roots(&[authority.clone().into_owned()])?;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, self.provider.clone()).build();
        let verifier = verifier.map_err(|error| Error::General(error.to_string()))?;
        // A later generation is known by the one with the fingerprint, which has made a certificate for it.
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
