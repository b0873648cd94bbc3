//! TLS of one who is connected to: what the server shows, and whom it lets in.
//!
//! Who shows nothing is let in as far as the handshake goes, because enrolling needs that; who shows a certificate of another
//! authority is not. One of this authority is let in at any time, also if it has run out, so that its holder is told in words
//! and may renew it: what the caller makes of [`Certificate::not_after`] decides.

use std::{sync::Arc, sync::Mutex, sync::PoisonError, time::Duration};

use rustls::{
    CertificateError as Invalid, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    ServerConnection, SignatureScheme, crypto::CryptoProvider, pki_types::CertificateDer,
    pki_types::PrivateKeyDer, pki_types::PrivatePkcs8KeyDer, pki_types::UnixTime, server::ClientHello,
    server::ResolvesServerCert, server::WebPkiClientVerifier, server::danger::ClientCertVerified,
    server::danger::ClientCertVerifier, sign::CertifiedKey,
};
use thiserror::Error as ThisError;

use crate::authority::{Authority, SERVER_LIFETIME, ServerNames};
use crate::certificate::{Certificate, CertificateError};
use crate::trust::{PROTOCOL, provider, roots};

/// Why a server cannot secure its connections.
#[derive(Debug, ThisError)]
pub enum ServerError {
    #[error("cannot create the server's certificate: {0}")]
    Issue(rcgen::Error),
    #[error("TLS cannot use the certificates")]
    Tls(#[from] Error),
}

/// How a server with these names secures its connections. Its certificate is made here, lies in memory alone, and is made
/// anew in time.
pub fn config(authority: Arc<Authority>, names: ServerNames) -> Result<Arc<ServerConfig>, ServerError> {
    let provider = provider();
    let roots = roots(authority.trusted())?;
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|error| Error::General(error.to_string()))?;
    let current = Mutex::new(Current::make(&authority, &names, &provider)?);
    let shown = Shown { authority, names, provider: provider.clone(), current };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(Arc::new(AtAnyTime(verifier)))
        .with_cert_resolver(Arc::new(shown));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // A session taken up again would not show its certificate anew; connections are few and long.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// How a server for browsers with these names secures its connections. They show no certificate.
pub fn config_for_browsers(
    authority: Arc<Authority>,
    names: ServerNames,
) -> Result<Arc<ServerConfig>, ServerError> {
    let provider = provider();
    let current = Mutex::new(Current::make(&authority, &names, &provider)?);
    let shown = Shown { authority, names, provider: provider.clone(), current };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(shown));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Who is at the other end of a connection whose handshake is over; nothing when it showed nothing.
pub fn peer(connection: &ServerConnection) -> Result<Option<Certificate>, CertificateError> {
    connection.peer_certificates().and_then(<[_]>::first).map(Certificate::read).transpose()
}

#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    made: u64,
}

impl Current {
    fn make(
        authority: &Authority,
        names: &ServerNames,
        provider: &CryptoProvider,
    ) -> Result<Self, ServerError> {
        let made = crate::unix_seconds();
        let (certificate, key) = authority.issue_server(names, made).map_err(ServerError::Issue)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = provider.key_provider.load_private_key(key)?;
        // The authority goes with it, for those who know only its fingerprint.
        let chain = std::iter::once(certificate).chain(authority.chain()).collect();
        Ok(Self { key: Arc::new(CertifiedKey::new(chain, key)), made })
    }
}

/// The server's certificate, made anew when two thirds of its time are over, or when the clock was put back behind it.
#[derive(Debug)]
struct Shown {
    authority: Arc<Authority>,
    names: ServerNames,
    provider: Arc<CryptoProvider>,
    current: Mutex<Current>,
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let now = crate::unix_seconds();
        let age = Duration::from_secs(now.saturating_sub(current.made));
        // One of the future was made while the clock was ahead: nobody whose clock is right takes it.
        let is_to_be_made = now < current.made || age > SERVER_LIFETIME / 3 * 2;
        if is_to_be_made && let Ok(next) = Current::make(&self.authority, &self.names, &self.provider) {
            *current = next;
        }
        Some(current.key.clone())
    }
}

/// Verifies certificates as usual, but not whether they are valid at this time. One from the future was made while the
/// coordinator's clock was ahead.
#[derive(Debug)]
struct AtAnyTime(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AtAnyTime {
    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self.0.verify_client_cert(end_entity, intermediates, now) {
            Err(Error::InvalidCertificate(
                Invalid::Expired
                | Invalid::ExpiredContext { .. }
                | Invalid::NotValidYet
                | Invalid::NotValidYetContext { .. },
            )) => {
                let read = Certificate::read(end_entity);
                let read = read.map_err(|_| Error::InvalidCertificate(Invalid::BadEncoding))?;
                let then = UnixTime::since_unix_epoch(Duration::from_secs(read.not_after));
                self.0.verify_client_cert(end_entity, intermediates, then)
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
