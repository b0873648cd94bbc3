//! Enrolment: credentials from a token, from an admin, or renewed from credentials that are about to expire.

use speedup_proto::{limits::MAX_ACCESS_BYTES, v1, v1::access_client::AccessClient};
use thiserror::Error;
use tonic::{Code, Status, transport::Channel};

use crate::credentials::{Credentials, CredentialsError, Signing};
use crate::identity::Identity;
use crate::reach::{Reach, ReachError};
use crate::token::Token;
use crate::trust::Trust;

/// Why there are no credentials.
#[derive(Debug, Error)]
pub enum EnrolmentError {
    #[error("cannot connect to the coordinator")]
    Reach(#[from] ReachError),
    /// It is not there, or is another than the token was made by.
    #[error("cannot reach the coordinator, or it is not the one that made the token")]
    Unreachable(#[source] tonic::transport::Error),
    #[error("the coordinator refused to issue a certificate")]
    Refused(#[source] Box<Status>),
    #[error("the certificate cannot be used")]
    Credentials(#[from] CredentialsError),
    #[error("the certificate is for another identity, {0}")]
    Another(Identity),
}

/// Enrols with a token. The name is the host's id for an agent, and may be empty where the token says it.
pub async fn enrol(url: &str, token: &Token, name: &str) -> Result<Credentials, EnrolmentError> {
    let reach = Reach::secured(url, &Trust::Fingerprint(token.authority()), None)?;
    let signing = Signing::new()?;
    let request = v1::EnrolRequest {
        secret: token.secret().to_vec(),
        name: name.to_owned(),
        signing_request: signing.request().to_vec(),
    };
    let answer = client(&reach).await?.enrol(request).await;
    complete(signing, answer)
}

/// Has a certificate made for someone else, as an admin may.
pub async fn issue(reach: &Reach, identity: &Identity) -> Result<Credentials, EnrolmentError> {
    let signing = Signing::new()?;
    let request = v1::IssueRequest {
        name: identity.name().to_owned(),
        role: identity.role().name().to_owned(),
        signing_request: signing.request().to_vec(),
    };
    let answer = client(reach).await?.issue(request).await;
    let credentials = complete(signing, answer)?;
    match &credentials.certificate().identity {
        got if got == identity => Ok(credentials),
        another => Err(EnrolmentError::Another(another.clone())),
    }
}

/// Renews one's own certificate, with a new key. The coordinator renews also one that has expired, for [`crate::RENEWABLE`].
pub async fn renew(url: &str, credentials: &Credentials) -> Result<Credentials, EnrolmentError> {
    let reach = Reach::new(url, Some(credentials))?;
    renew_by(client(&reach).await?).await
}

/// Renews one's own certificate if it is time to, or if the coordinator accepts it no more. The coordinator's clock decides:
/// one here that is ahead would ask for certificates without end.
pub async fn renew_if_due(
    url: &str,
    credentials: &Credentials,
) -> Result<Option<Credentials>, EnrolmentError> {
    let reach = Reach::new(url, Some(credentials))?;
    let mut client = client(&reach).await?;
    match client.who_am_i(v1::WhoAmIRequest {}).await {
        Ok(status) => {
            // An earlier release does not say it.
            let here = credentials.certificate().is_due(crate::unix_seconds());
            if !status.into_inner().due.unwrap_or(here) {
                return Ok(None);
            }
        }
        // Expired by the clock there. Whether it may be renewed nevertheless is its answer to that request.
        Err(status) if status.code() == Code::Unauthenticated => {}
        Err(status) => return Err(EnrolmentError::Refused(Box::new(status))),
    }
    renew_by(client).await.map(Some)
}

async fn renew_by(mut client: AccessClient<Channel>) -> Result<Credentials, EnrolmentError> {
    let signing = Signing::new()?;
    let request = v1::RenewRequest { signing_request: signing.request().to_vec() };
    let answer = client.renew(request).await;
    complete(signing, answer)
}

/// Lists all tokens and certificates, page by page.
pub async fn list(access: &mut AccessClient<Channel>) -> Result<v1::AccessList, Status> {
    let mut all = v1::AccessList::default();
    loop {
        let request = v1::ListAccessRequest { page_token: all.next_page_token };
        let page = access.list(request).await?.into_inner();
        all.tokens.extend(page.tokens);
        all.certificates.extend(page.certificates);
        all.next_page_token = page.next_page_token;
        if all.next_page_token.is_empty() {
            return Ok(all);
        }
    }
}

async fn client(reach: &Reach) -> Result<AccessClient<Channel>, EnrolmentError> {
    let channel = reach.connect().await.map_err(EnrolmentError::Unreachable)?;
    Ok(AccessClient::new(channel).max_decoding_message_size(MAX_ACCESS_BYTES))
}

fn complete(
    signing: Signing,
    answer: Result<tonic::Response<v1::IssuedCertificate>, Status>,
) -> Result<Credentials, EnrolmentError> {
    let answer = answer.map_err(|status| EnrolmentError::Refused(Box::new(status)))?.into_inner();
    Ok(signing.complete(&answer.authority, &answer.certificate)?)
}
