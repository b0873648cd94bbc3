//! The authority: it makes the certificates of one coordinator. Its keys never leave the coordinator's data directory.
//!
//! It outlives its own certificate by generations. The next one is trusted by everyone for longer than
//! anyone may be away before it makes certificates, and the one before until its certificate ends.

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

use crate::certificate::{Certificate, RENEWABLE, Serial};
use crate::identity::Identity;
use crate::private_file::{self, PrivateFileError};
use crate::token::AuthorityFingerprint;

/// How long a generation of the authority lives.
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(20 * 365 * 86_400);
/// How long a generation is only trusted until it makes the certificates: whoever may still be renewed has it by then.
const TRUSTED_FIRST: Duration = RENEWABLE;
/// The next generation is made by itself when the newest has so long left.
const NEXT_BEFORE_END: Duration = Duration::from_secs(5 * 365 * 86_400);
/// Most generations: one in fifteen years.
const MAX_GENERATIONS: usize = 16;
/// How long the certificate of a user or agent holds. Both renew theirs after two thirds of it.
pub const CLIENT_LIFETIME: Duration = Duration::from_secs(90 * 86_400);
/// How long the server's holds. It is made anew when the coordinator starts, and when two thirds of it are over.
pub(crate) const SERVER_LIFETIME: Duration = Duration::from_secs(90 * 86_400);
/// How far clocks of machines may be apart: certificates hold from that long ago.
const CLOCKS_APART: u64 = 300;
/// Largest signing request: a key of a few hundred bytes and what is around it.
const MAX_REQUEST_BYTES: usize = 8 << 10;

/// The files of the first generation in its directory. Those of later ones have a number.
pub const AUTHORITY_FILES: [&str; 2] = ["authority.pem", "authority.key"];

/// The authority of one coordinator.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// What is trusted: first the certificate of who issues, then those of the generations beside it.
    trusted: Vec<CertificateDer<'static>>,
    /// The issuer's certificate once more, made by the generation before, for those who know only that.
    bridge: Option<CertificateDer<'static>>,
    pem: String,
}

/// One of the certificates that an authority has had, with its key.
struct Generation {
    certificate: CertificateDer<'static>,
    key: KeyPair,
    pem: String,
    /// The common name in its certificate.
    name: String,
    /// In seconds since 1970.
    not_after: u64,
}

/// Why there is no authority.
#[derive(Debug, Error)]
pub enum AuthorityError {
    #[error("cannot create {}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot use a file of the certificate authority")]
    File(#[from] PrivateFileError),
    #[error("{} exists, but {} does not", there.display(), missing.display())]
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
    #[error("not a PKCS #10 signing request that is signed with its own key")]
    Malformed,
    #[error("cannot create the certificate: {0}")]
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
    /// [`AuthorityError`] when its files cannot be used, or others may read its keys.
    pub fn open(directory: &Path) -> Result<Self, AuthorityError> {
        let made = |source| AuthorityError::Directory { path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(made)?;
        let now = crate::unix_seconds();
        let mut generations = Generation::all(directory)?;
        let newest = generations.last().map(|newest| newest.not_after);
        if newest.is_none_or(|end| end < now + NEXT_BEFORE_END.as_secs())
            && generations.len() < MAX_GENERATIONS
        {
            generations.push(Generation::make(directory, generations.len(), now)?);
        }
        Self::at(directory, generations, now)
    }

    /// The authority that these generations are at a time: the newest that everyone has had time to come to know issues, or else
    /// the first; where that has ended, the one after it.
    fn at(directory: &Path, mut generations: Vec<Generation>, now: u64) -> Result<Self, AuthorityError> {
        let mut known = generations.iter().rposition(|one| one.issues_from() <= now).unwrap_or(0);
        // The next one may have been made by a clock that was ahead, and is not due for years.
        if generations.get(known).is_some_and(|one| one.not_after < now) && known + 1 < generations.len() {
            known += 1;
        }
        let next = generations.get(known + 1).map(|next| (next.certificate.clone(), next.pem.clone()));
        let issuing = generations.swap_remove(known);
        // What was before it is where it was.
        let before = known.checked_sub(1).and_then(|before| generations.get(before));
        let before = before.filter(|before| before.not_after >= now);
        let damaged = |error: rcgen::Error| Generation::damaged(directory, error.into());
        let bridge = before.map(|before| issuing.vouched_by(before)).transpose().map_err(damaged)?;
        let mut trusted = vec![issuing.certificate.clone()];
        let mut pem = issuing.pem.clone();
        let beside = before.map(|before| (before.certificate.clone(), before.pem.clone()));
        for (certificate, text) in next.into_iter().chain(beside) {
            trusted.push(certificate);
            pem.push_str(&text);
        }
        let issuer = Issuer::from_ca_cert_der(&issuing.certificate, issuing.key).map_err(damaged)?;
        Ok(Self { issuer, trusted, bridge, pem })
    }

    /// The certificates that are trusted, as PEM: first that of who issues.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificates that are trusted.
    pub(crate) fn trusted(&self) -> &[CertificateDer<'static>] {
        &self.trusted
    }

    /// What a server shows after its own certificate: by it the authority is known to those who have only a fingerprint, or an
    /// earlier generation.
    pub(crate) fn chain(&self) -> impl Iterator<Item = CertificateDer<'static>> {
        self.bridge.iter().chain(&self.trusted).cloned()
    }

    /// By which it is known before it is trusted.
    pub fn fingerprint(&self) -> AuthorityFingerprint {
        // There is always one who issues.
        AuthorityFingerprint::of(self.trusted.first().map_or(&[], |issuing| issuing.as_ref()))
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

/// The names of the files of an authority in its directory, for whoever saves them.
pub fn authority_files(directory: &Path) -> Vec<String> {
    let mut names = AUTHORITY_FILES.map(str::to_owned).to_vec();
    for number in 1..MAX_GENERATIONS {
        // The certificate is looked for first: where it is, the key was before.
        let there = Generation::names(number).into_iter().filter(|name| directory.join(name).exists());
        names.extend(there);
    }
    names
}

impl Generation {
    /// The names of the files of one, by its number from 0 on: its certificate, and its key.
    fn names(number: usize) -> [String; 2] {
        match number {
            0 => AUTHORITY_FILES.map(str::to_owned),
            number => ["pem", "key"].map(|kind| format!("authority-{}.{kind}", number + 1)),
        }
    }

    fn files(directory: &Path, number: usize) -> [PathBuf; 2] {
        Self::names(number).map(|name| directory.join(name))
    }

    /// All in a directory, in their order.
    fn all(directory: &Path) -> Result<Vec<Self>, AuthorityError> {
        let mut all = Vec::new();
        for number in 0..MAX_GENERATIONS {
            let [certificate, key] = Self::files(directory, number);
            match (private_file::read_public(&certificate)?, private_file::read(&key)?) {
                (Some(pem), Some(key)) => all.push(Self::read(directory, pem, &key)?),
                // The key is written first: one without a certificate was interrupted before anything was signed with it.
                (None, _) => break,
                (Some(_), None) => return Err(AuthorityError::Half { there: certificate, missing: key }),
            }
        }
        Ok(all)
    }

    fn damaged(directory: &Path, source: Box<dyn std::error::Error + Send + Sync>) -> AuthorityError {
        AuthorityError::Damaged { path: directory.to_owned(), source }
    }

    fn read(directory: &Path, pem: String, key: &str) -> Result<Self, AuthorityError> {
        let key = KeyPair::from_pem(key).map_err(|error| Self::damaged(directory, error.into()))?;
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| Self::damaged(directory, error.into()))?;
        let (_, public) = x509_parser::parse_x509_certificate(&certificate)
            .map_err(|error| Self::damaged(directory, error.into()))?;
        if public.public_key().subject_public_key.data != key.public_key_raw() {
            return Err(Self::damaged(directory, "its key is not that of its certificate".into()));
        }
        let not_after = u64::try_from(public.validity().not_after.timestamp()).unwrap_or(0);
        let name = public.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
        let name = name.unwrap_or_default().to_owned();
        Ok(Self { certificate, key, pem, name, not_after })
    }

    fn make(directory: &Path, number: usize, now: u64) -> Result<Self, AuthorityError> {
        let damaged = |source: rcgen::Error| Self::damaged(directory, source.into());
        let key = KeyPair::generate().map_err(damaged)?;
        // A name of its own, so that nobody takes the authority of another coordinator for this one.
        let name = format!("speedup authority {}", Serial::random());
        let params = authority_params(&name, now + AUTHORITY_LIFETIME.as_secs());
        let pem = params.self_signed(&key).map_err(damaged)?.pem();
        let [certificate_file, key_file] = Self::files(directory, number);
        private_file::write(&key_file, &key.serialize_pem())?;
        private_file::write(&certificate_file, &pem)?;
        Self::read(directory, pem, &key.serialize_pem())
    }

    /// Its certificate, made by another generation instead of itself.
    fn vouched_by(&self, other: &Self) -> Result<CertificateDer<'static>, rcgen::Error> {
        let issuer = Issuer::from_ca_cert_der(&other.certificate, &other.key)?;
        let params = authority_params(&self.name, self.not_after);
        Ok(params.signed_by(&self.key, &issuer)?.der().clone())
    }

    /// When it begins to issue, unless it is the first. Its certificate says when it was made by its end alone.
    fn issues_from(&self) -> u64 {
        self.not_after.saturating_sub(AUTHORITY_LIFETIME.as_secs()) + TRUSTED_FIRST.as_secs()
    }
}

/// Those of the certificate of an authority.
fn authority_params(name: &str, not_after: u64) -> CertificateParams {
    let mut params = params(Serial::random(), 0, Duration::from_secs(not_after));
    params.distinguished_name.push(DnType::CommonName, name);
    // It holds from ever on: a clock that is ahead at the first start must not make it one of the future.
    params.not_before = UNIX_EPOCH.into();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
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
        let mut alternatives = Vec::new();
        for name in &self.0 {
            if let Ok(address) = name.parse::<IpAddr>() {
                alternatives.push(SanType::IpAddress(address));
            } else if let Ok(name) = Ia5String::try_from(name.as_str()) {
                alternatives.push(SanType::DnsName(name));
            }
        }
        alternatives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;
    const DAY: u64 = 86_400;

    /// A directory with generations that were made so many days after now.
    fn with_generations(days: &[u64]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (number, day) in days.iter().enumerate() {
            Generation::make(directory.path(), number, NOW + day * DAY).unwrap();
        }
        directory
    }

    fn at(directory: &tempfile::TempDir, day: u64) -> Authority {
        let generations = Generation::all(directory.path()).unwrap();
        Authority::at(directory.path(), generations, NOW + day * DAY).unwrap()
    }

    /// Which generation issues, how many are trusted, and whether the earlier one vouches for it.
    fn state(directory: &tempfile::TempDir, day: u64) -> (usize, usize, bool) {
        let authority = at(directory, day);
        let all = Generation::all(directory.path()).unwrap();
        let issues = all.iter().position(|one| one.certificate == authority.trusted[0]).unwrap();
        assert_eq!(authority.pem.matches("BEGIN CERTIFICATE").count(), authority.trusted.len());
        (issues, authority.trusted.len(), authority.bridge.is_some())
    }

    #[test]
    fn the_next_generation_is_trusted_first_then_issues_and_is_alone_at_last() {
        let directory = with_generations(&[0, 1_000]);
        for (day, expected) in [
            (1_000, (0, 2, false)),
            (1_399, (0, 2, false)),
            (1_400, (1, 2, true)),
            (7_300, (1, 2, true)),
            (7_301, (1, 1, false)),
        ] {
            assert_eq!(state(&directory, day), expected, "day {day}");
        }
        // One that was made by a clock that was ahead is not waited for beyond the end of the first.
        let ahead = with_generations(&[0, 7_400]);
        assert_eq!(state(&ahead, 7_299), (0, 2, false));
        assert_eq!(state(&ahead, 7_301), (1, 1, false));
        let three = with_generations(&[0, 1_000, 4_000]);
        assert_eq!(state(&three, 4_100), (1, 3, true));
        assert_eq!(state(&three, 4_400), (2, 2, true));
    }

    #[test]
    fn the_first_generation_issues_at_once() {
        let directory = with_generations(&[0]);
        assert_eq!(state(&directory, 0), (0, 1, false));
    }

    #[test]
    fn one_that_ends_in_some_years_is_followed_by_itself() {
        let directory = with_generations(&[]);
        let old = crate::unix_seconds() - 16 * 365 * DAY;
        let first = Generation::make(directory.path(), 0, old).unwrap();
        for _ in 0..2 {
            let opened = Authority::open(directory.path()).unwrap();
            assert_eq!((opened.trusted[0].clone(), opened.trusted.len()), (first.certificate.clone(), 2));
        }
        assert_eq!(authority_files(directory.path()).len(), 4);
    }
}
