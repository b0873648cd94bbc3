//! The authority: it makes the certificates of one coordinator. Its key never leaves the coordinator's data directory.

use std::{
    collections::BTreeSet, fs::DirBuilder, io, net::IpAddr, os::unix::fs::DirBuilderExt as _, path::Path,
    path::PathBuf, time::Duration, time::UNIX_EPOCH,
};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber, SubjectPublicKeyInfo, string::Ia5String,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer};
use thiserror::Error;

use crate::certificate::{Certificate, Serial};
use crate::identity::Identity;
use crate::private_file::{self, PrivateFileError};
use crate::token::AuthorityFingerprint;

/// How long the authority lives: it has to outlive all that it makes, and a new one means to enrol everybody anew.
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(20 * 365 * 86_400);
/// How long the certificate of a user or agent holds. Both renew theirs after two thirds of it.
pub const CLIENT_LIFETIME: Duration = Duration::from_secs(90 * 86_400);
/// How long the server's holds. It is made anew when the coordinator starts, and when two thirds of it are over.
pub(crate) const SERVER_LIFETIME: Duration = Duration::from_secs(90 * 86_400);
/// How far clocks of machines may be apart: certificates hold from that long ago.
const CLOCKS_APART: u64 = 300;
/// Largest signing request: a key of a few hundred bytes and what is around it.
const MAX_REQUEST_BYTES: usize = 8 << 10;

const CERTIFICATE: &str = "authority.pem";
const KEY: &str = "authority.key";
/// The files of an authority in its directory, for whoever saves them.
pub const AUTHORITY_FILES: [&str; 2] = [CERTIFICATE, KEY];

/// The authority of one coordinator.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
}

/// Why there is no authority.
#[derive(Debug, Error)]
pub enum AuthorityError {
    #[error("cannot make {}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot use a file of the certificate authority")]
    File(#[from] PrivateFileError),
    #[error("{} is there, {} is not", there.display(), missing.display())]
    Half { there: PathBuf, missing: PathBuf },
    #[error("the certificate authority in {} is damaged", path.display())]
    Damaged { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
}

speedup_core::hints! { AuthorityError:
    Self::Directory { .. } => "look at the permissions of the data directory",
    Self::File(error) => error.hint(),
    Self::Half { .. } | Self::Damaged { .. } =>
        "restore both files from a backup, or remove both to create a new authority: then every agent \
            and user has to enrol again",
}

/// Why a certificate is not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IssueError {
    #[error("a signing request has at most {MAX_REQUEST_BYTES} bytes")]
    TooLong,
    /// The request is no PKCS #10, or is not signed with the key it names.
    #[error("it is no signing request of PKCS #10, signed with its own key")]
    Malformed,
    #[error("the certificate could not be made: {0}")]
    Failed(rcgen::Error),
}

/// A certificate that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    pub serial: Serial,
    /// The last second in which it holds, since 1970.
    pub not_after: u64,
    pub pem: String,
}

impl Authority {
    /// The authority in a directory, made if it is not there; it never is half made.
    ///
    /// # Errors
    /// [`AuthorityError`] when its files cannot be used, or others may read its key.
    pub fn open(directory: &Path) -> Result<Self, AuthorityError> {
        let made = |source| AuthorityError::Directory { path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(made)?;
        let (certificate, key) = (directory.join(CERTIFICATE), directory.join(KEY));
        match (private_file::read_public(&certificate)?, private_file::read(&key)?) {
            (Some(pem), Some(key)) => Self::of(directory, pem, &key),
            (None, None) => Self::make(directory),
            // The key is written first: one without a certificate was interrupted before anything was signed with it.
            (None, Some(_)) => Self::make(directory),
            (Some(_), None) => Err(AuthorityError::Half { there: certificate, missing: key }),
        }
    }

    fn of(directory: &Path, pem: String, key: &str) -> Result<Self, AuthorityError> {
        let damaged = |source| AuthorityError::Damaged { path: directory.to_owned(), source };
        let key = KeyPair::from_pem(key).map_err(|error| damaged(error.into()))?;
        let certificate =
            CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| damaged(error.into()))?;
        let public =
            x509_parser::parse_x509_certificate(&certificate).map_err(|error| damaged(error.into()))?;
        if public.1.public_key().subject_public_key.data != key.public_key_raw() {
            return Err(damaged("its key is not that of its certificate".into()));
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|error| damaged(error.into()))?;
        Ok(Self { issuer, certificate, pem })
    }

    fn make(directory: &Path) -> Result<Self, AuthorityError> {
        let damaged = |source: rcgen::Error| AuthorityError::Damaged {
            path: directory.to_owned(),
            source: source.into(),
        };
        let key = KeyPair::generate().map_err(damaged)?;
        let mut params = params(Serial::random(), crate::unix_seconds(), AUTHORITY_LIFETIME);
        // A name of its own, so that nobody takes the authority of another coordinator for this one.
        params.distinguished_name.push(DnType::CommonName, format!("speedup authority {}", Serial::random()));
        // It holds from ever on: a clock that is ahead at the first start must not make it one of the future.
        params.not_before = UNIX_EPOCH.into();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let pem = params.self_signed(&key).map_err(damaged)?.pem();
        private_file::write(&directory.join(KEY), &key.serialize_pem())?;
        private_file::write(&directory.join(CERTIFICATE), &pem)?;
        Self::of(directory, pem, &key.serialize_pem())
    }

    /// Its certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Its certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// By which it is known before it is trusted.
    pub fn fingerprint(&self) -> AuthorityFingerprint {
        AuthorityFingerprint::of(&self.certificate)
    }

    /// A certificate for who holds the key that signed the request; nothing else of the request is taken over.
    pub fn issue(&self, identity: &Identity, request: &[u8], now: u64) -> Result<Issued, IssueError> {
        self.issue_for(identity, request, now, CLIENT_LIFETIME)
    }

    /// The same, for another time than usual.
    pub fn issue_for(
        &self,
        identity: &Identity,
        request: &[u8],
        now: u64,
        lifetime: Duration,
    ) -> Result<Issued, IssueError> {
        if request.len() > MAX_REQUEST_BYTES {
            return Err(IssueError::TooLong);
        }
        let request = CertificateSigningRequestDer::from(request);
        let mut request =
            CertificateSigningRequestParams::from_der(&request).map_err(|_| IssueError::Malformed)?;
        let serial = Serial::random();
        request.params = client_params(serial, identity, now, lifetime)?;
        let made = request.signed_by(&self.issuer).map_err(IssueError::Failed)?;
        Ok(Issued { serial, not_after: now + lifetime.as_secs(), pem: made.pem() })
    }

    /// A certificate that follows another, for the same holder and key.
    pub fn issue_again(&self, certificate: &Certificate, now: u64) -> Result<Issued, IssueError> {
        let key = SubjectPublicKeyInfo::from_der(&certificate.public_key).map_err(IssueError::Failed)?;
        let serial = Serial::random();
        let params = client_params(serial, &certificate.identity, now, CLIENT_LIFETIME)?;
        let made = params.signed_by(&key, &self.issuer).map_err(IssueError::Failed)?;
        Ok(Issued { serial, not_after: now + CLIENT_LIFETIME.as_secs(), pem: made.pem() })
    }

    /// A certificate for a server with these names, and its key.
    pub(crate) fn issue_server(
        &self,
        names: &ServerNames,
        now: u64,
    ) -> Result<(CertificateDer<'static>, KeyPair), rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = params(Serial::random(), now, SERVER_LIFETIME);
        params.subject_alt_names = names.alternatives();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let made = params.signed_by(&key, &self.issuer)?;
        Ok((made.der().clone(), key))
    }
}

/// Those of a certificate for one who connects.
fn client_params(
    serial: Serial,
    identity: &Identity,
    now: u64,
    lifetime: Duration,
) -> Result<CertificateParams, IssueError> {
    let mut params = params(serial, now, lifetime);
    let uri = Ia5String::try_from(identity.uri()).map_err(IssueError::Failed)?;
    params.subject_alt_names = vec![SanType::URI(uri)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

/// What all certificates have in common.
fn params(serial: Serial, now: u64, lifetime: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.serial_number = Some(SerialNumber::from_slice(serial.bytes()));
    params.not_before = (UNIX_EPOCH + Duration::from_secs(now.saturating_sub(CLOCKS_APART))).into();
    params.not_after = (UNIX_EPOCH + Duration::from_secs(now) + lifetime).into();
    params.use_authority_key_identifier_extension = true;
    params
}

/// By what names a server may be addressed. Those of the machine itself are always among them: an ssh tunnel ends there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerNames(BTreeSet<String>);

impl ServerNames {
    /// Host names and addresses; what is neither is left out, as nobody can address it.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let names = own.into_iter().chain(names);
        Self(names.filter(|name| !name.is_empty() && name.is_ascii()).collect())
    }

    /// They, as in a certificate.
    pub(crate) fn alternatives(&self) -> Vec<SanType> {
        let alternative = |name: &String| match name.parse::<IpAddr>() {
            Ok(address) => Some(SanType::IpAddress(address)),
            Err(_) => Ia5String::try_from(name.as_str()).ok().map(SanType::DnsName),
        };
        self.0.iter().filter_map(alternative).collect()
    }
}
