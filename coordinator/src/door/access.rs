//! The door where one is let in: enrolling, renewing, tokens, revoking.

mod page;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use speedup_access::{Certificate, CertificateError, Identity, Issued, Role, Serial, TokenId, unix_seconds};
use speedup_core::machine::{self, Command, HostRequest};
use speedup_core::value::hint::{Hinted, with_hint};
use speedup_core::value::id::HostId;
use speedup_proto::convert::{hex_bytes, hex_text, span_in_seconds, timestamp_of_seconds};
use speedup_proto::v1;
use speedup_proto::v1::access_server::Access;
use tonic::{Request, Response, Status};

use super::{Caller, Reply};
use crate::admission::{
    Admission, AdmissionRequestError, Holder, NewToken, Refusal, Target, TokenState, Uses,
};
use crate::handle::Handle;
use crate::metrics::{Metrics, RefusedEnrolment};

/// Bytes of the hash of a token's secret.
const TOKEN_ID_BYTES: usize = 32;
/// How long a wrong token is thought over: guessing is hopeless, and is to be slow as well.
const SECOND_THOUGHT: Duration = Duration::from_millis(250);

/// The door where one is let in.
#[derive(Clone, Debug)]
pub(crate) struct AccessDoor {
    pub(crate) admission: Admission,
    pub(crate) handle: Handle,
    pub(crate) metrics: Metrics,
}

#[tonic::async_trait]
impl Access for AccessDoor {
    async fn enrol(&self, request: Request<v1::EnrolRequest>) -> Reply<v1::IssuedCertificate> {
        let v1::EnrolRequest { secret, name, signing_request } = request.into_inner();
        let token = TokenId::of(&secret);
        match self.admission.enrol(token, name, signing_request).await {
            Ok(issued) => {
                tracing::info!(%token, serial = %issued.serial, "enrolled with a token");
                Ok(self.issued(issued))
            }
            Err(error) => {
                tracing::warn!(%token, "refused to enrol: {error}");
                self.metrics.refused_enrolment(refused(&error));
                if matches!(error, AdmissionRequestError::Refused(Refusal::Token)) {
                    tokio::time::sleep(SECOND_THOUGHT).await;
                }
                Err(unheard(&error))
            }
        }
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Reply<v1::IssuedCertificate> {
        let certificate = own(&request)?;
        let signing_request = request.into_inner().signing_request;
        let issued = self.admission.renew(certificate.clone(), signing_request).await;
        let issued = issued.map_err(|error| unheard(&error))?;
        let Certificate { identity, serial, not_after, .. } = &*certificate;
        let late = unix_seconds().saturating_sub(*not_after);
        if late > 0 {
            // Whoever had been away longer than its certificate lasts is back: an admin may want to know.
            tracing::info!(%identity, %serial, days = late / 86_400, "renewed a certificate that had expired");
        }
        Ok(self.issued(issued))
    }

    async fn issue(&self, request: Request<v1::IssueRequest>) -> Reply<v1::IssuedCertificate> {
        let by = Caller::from_request(&request)?.name("")?;
        let v1::IssueRequest { name, role, signing_request } = request.into_inner();
        let identity = Identity::proposed(&name, self::role(&role)?);
        let identity = identity.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let issued = self.admission.issue(identity.clone(), signing_request, by.clone()).await;
        let issued = issued.map_err(|error| unheard(&error))?;
        tracing::info!(%identity, by, "issued certificate");
        Ok(self.issued(issued))
    }

    async fn who_am_i(&self, request: Request<v1::WhoAmIRequest>) -> Reply<v1::CertificateStatus> {
        let status = match Caller::from_request(&request)? {
            Caller::Known(certificate) => {
                // A job's is not renewed.
                let registry = self.admission.registry();
                let is_job = registry.holder(certificate.serial).is_some_and(Holder::is_job);
                v1::CertificateStatus {
                    serial: certificate.serial.to_string(),
                    name: certificate.identity.name().to_owned(),
                    role: certificate.identity.role().name().to_owned(),
                    not_after: Some(timestamp_of_seconds(certificate.not_after)),
                    by: String::new(),
                    due: Some(!is_job && certificate.is_due(unix_seconds())),
                }
            }
            Caller::Inside | Caller::Unchecked | Caller::Unknown => {
                v1::CertificateStatus { role: Role::Admin.name().to_owned(), ..Default::default() }
            }
        };
        Ok(Response::new(status))
    }

    async fn create_token(&self, request: Request<v1::CreateTokenRequest>) -> Reply<v1::CreateTokenResponse> {
        let by = Caller::from_request(&request)?.name("")?;
        let v1::CreateTokenRequest { role, name, uses, lifetime, reusable } = request.into_inner();
        let uses = match (reusable, uses) {
            (false, times) => Uses::Times(times),
            (true, 0) => Uses::Unlimited,
            (true, _) => {
                return Err(Status::invalid_argument("a token that can be used again has no number of uses"));
            }
        };
        let lifetime = lifetime.map_or(Ok(0), |lifetime| span_in_seconds(&lifetime, "lifetime"))?;
        let role = self::role(&role)?;
        let name = Some(name).filter(|name| !name.is_empty());
        let asked = NewToken { role, name, uses, lifetime, by: by.clone() };
        let token = self.admission.create_token(asked).await.map_err(|error| unheard(&error))?;
        let id = token.id();
        tracing::info!(token = %id, %role, ?uses, lifetime, by, "created token");
        let registry = self.admission.registry();
        let status = registry.token(id).map(|state| token_status(id, state));
        Ok(Response::new(v1::CreateTokenResponse { token: token.text(), status }))
    }

    async fn list(&self, request: Request<v1::ListAccessRequest>) -> Reply<v1::AccessList> {
        page::page(&self.admission.registry(), unix_seconds(), request.get_ref()).map(Response::new)
    }

    async fn revoke(&self, request: Request<v1::RevokeRequest>) -> Reply<v1::AccessList> {
        use v1::revoke_request::What;
        let by = Caller::from_request(&request)?.name("")?;
        let what = request.into_inner().what;
        let target = match what.ok_or_else(|| Status::invalid_argument("nothing is named"))? {
            What::User(name) => Target::User(name),
            What::Host(name) => Target::Host(name),
            What::Serial(digits) => {
                Target::Certificate(digits.parse().map_err(|error: CertificateError| {
                    Status::invalid_argument(format!("serial: {error}"))
                })?)
            }
            What::Token(digits) => Target::Token(hex_bytes(&digits, TOKEN_ID_BYTES, "token")?),
        };
        let revoked = self.admission.revoke(target, by.clone()).await.map_err(|error| unheard(&error))?;
        // A host may have several certificates, and is reset once.
        let mut answer = v1::AccessList::default();
        let mut agents = BTreeSet::new();
        for (serial, holder) in &revoked.certificates {
            answer.certificates.push(certificate_status(*serial, holder));
            if holder.identity.role() == Role::Agent {
                agents.insert(holder.identity.name());
            }
        }
        for (id, token) in &revoked.tokens {
            answer.tokens.push(token_status(*id, token));
        }
        let v1::AccessList { tokens, certificates, .. } = &answer;
        tracing::info!(by, certificates = certificates.len(), tokens = tokens.len(), "revoked access");
        for host in agents {
            self.reset_unless_held(host, &by).await?;
        }
        Ok(Response::new(answer))
    }
}

impl AccessDoor {
    /// Whoever had the certificate of a host may have said anything in its name: the next to be let in is the host. With
    /// another certificate it goes on.
    async fn reset_unless_held(&self, host: &str, by: &str) -> Result<(), Status> {
        let now = unix_seconds();
        // Expired ones do not count: whoever renews one is the next to be let in.
        let is_held = self.admission.registry().certificates(now).any(|(_, holder)| {
            holder.identity.role() == Role::Agent && holder.identity.name() == host && holder.not_after >= now
        });
        if is_held {
            return Ok(());
        }
        let Ok(host) = HostId::try_from(host.to_owned()) else { return Ok(()) };
        let reset = Command::ResetHost(HostRequest { host, by: by.to_owned() });
        match self.handle.command(reset).await? {
            // One that never joined has nothing to be forgotten.
            Ok(()) | Err(machine::Refusal::UnknownHost(_)) => Ok(()),
            Err(refusal) => Err(super::refused(&refusal)),
        }
    }

    fn issued(&self, issued: Issued) -> Response<v1::IssuedCertificate> {
        let authority = self.admission.authority().pem().to_owned();
        Response::new(v1::IssuedCertificate { certificate: issued.pem, authority })
    }
}

/// Who may have its own certificate renewed: one who shows one.
fn own<T>(request: &Request<T>) -> Result<Arc<Certificate>, Status> {
    match Caller::from_request(request)? {
        Caller::Known(certificate) => Ok(certificate),
        Caller::Inside | Caller::Unchecked | Caller::Unknown => {
            Err(Status::unauthenticated("there is no certificate to be renewed"))
        }
    }
}

fn role(word: &str) -> Result<Role, Status> {
    word.parse().map_err(|error: speedup_access::RoleError| Status::invalid_argument(error.to_string()))
}

fn token_status(id: TokenId, token: &TokenState) -> v1::TokenStatus {
    v1::TokenStatus {
        id: hex_text(id.bytes()),
        role: token.role.name().to_owned(),
        name: token.name.clone().unwrap_or_default(),
        uses_left: match token.uses {
            Uses::Times(left) => left,
            Uses::Unlimited => 0,
        },
        reusable: token.uses == Uses::Unlimited,
        expires: Some(timestamp_of_seconds(token.expires)),
        by: token.by.clone(),
    }
}

fn certificate_status(serial: Serial, holder: &Holder) -> v1::CertificateStatus {
    v1::CertificateStatus {
        serial: serial.to_string(),
        name: holder.identity.name().to_owned(),
        role: holder.identity.role().name().to_owned(),
        not_after: Some(timestamp_of_seconds(holder.not_after)),
        by: holder.by.clone(),
        due: None,
    }
}

/// Why somebody is not enrolled, to be counted. What only other requests are refused for cannot come here.
fn refused(error: &AdmissionRequestError) -> RefusedEnrolment {
    match error {
        AdmissionRequestError::Refused(Refusal::Token) => RefusedEnrolment::Token,
        AdmissionRequestError::Refused(Refusal::AnotherName(_) | Refusal::NoName | Refusal::Identity(_)) => {
            RefusedEnrolment::Name
        }
        AdmissionRequestError::Refused(Refusal::HostTaken(_)) => RefusedEnrolment::HostTaken,
        AdmissionRequestError::Refused(
            Refusal::TooManyCertificates(_)
            | Refusal::TooManyTokens
            | Refusal::TooManyTokensOf { .. }
            | Refusal::TooManyOfIdentity(_)
            | Refusal::IssuedTooOften { .. },
        ) => RefusedEnrolment::Full,
        // Of other requests than that to enrol.
        AdmissionRequestError::Refused(
            Refusal::Revoked
            | Refusal::OfReusableToken
            | Refusal::ReusableRole
            | Refusal::ReusableLifetime
            | Refusal::Nothing
            | Refusal::Uses
            | Refusal::UsesOfName
            | Refusal::Lifetime
            | Refusal::Ambiguous,
        )
        | AdmissionRequestError::Issue(_) => RefusedEnrolment::Request,
        AdmissionRequestError::Gone | AdmissionRequestError::Broken => RefusedEnrolment::Unavailable,
    }
}

fn unheard(error: &AdmissionRequestError) -> Status {
    let refusal = match error {
        AdmissionRequestError::Refused(refusal) => refusal,
        AdmissionRequestError::Issue(error) => return Status::invalid_argument(error.to_string()),
        AdmissionRequestError::Gone | AdmissionRequestError::Broken => {
            return Status::unavailable(error.to_string());
        }
    };
    let text = with_hint(refusal, refusal.hint());
    // What passes with time or by an admin is told from what the caller has to change.
    match refusal {
        Refusal::Token | Refusal::Revoked => Status::unauthenticated(text),
        Refusal::AnotherName(_) => Status::permission_denied(text),
        Refusal::HostTaken(_) => Status::already_exists(text),
        Refusal::TooManyTokens
        | Refusal::TooManyTokensOf { .. }
        | Refusal::TooManyCertificates(_)
        | Refusal::TooManyOfIdentity(_)
        | Refusal::IssuedTooOften { .. } => Status::resource_exhausted(text),
        Refusal::Nothing => Status::not_found(text),
        Refusal::OfReusableToken => Status::failed_precondition(text),
        Refusal::Identity(_)
        | Refusal::NoName
        | Refusal::Uses
        | Refusal::UsesOfName
        | Refusal::Lifetime
        | Refusal::ReusableRole
        | Refusal::ReusableLifetime
        | Refusal::Ambiguous => Status::invalid_argument(text),
    }
}
