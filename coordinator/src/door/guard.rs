//! The guard before all doors: it looks at who calls what, by the table of methods, before anything of a request is read.

use std::{future::Ready, future::ready, task::Context, task::Poll};

use futures_util::future::Either;
use speedup_access::{Certificate, RENEWABLE, Role, unix_seconds};
use speedup_core::value::hint::with_hint;
use tonic::{Status, body::Body, codegen::http::Request, codegen::http::Response};
use tower_layer::Layer;
use tower_service::Service;

use super::{caller::Caller, caller::Peer, methods::Need, methods::is_enough, methods::need};
use crate::{admission::Admission, metrics::Metrics, metrics::RefusedCall};

/// What one is told who shows no certificate where one is needed.
const NO_CERTIFICATE: &str = "this needs a certificate, but the client presented none";

/// What can be done about it.
const HOW_TO_GET_ONE: &str = "an admin makes a token with `speedup token create`; `speedup access enrol` and `speedup agent \
    start` take it with --token-file";

/// What helps one whose certificate has expired, but not for long.
const RENEW: &str = "any command renews it, such as `speedup access whoami`, and an agent by itself; where that is not possible, enrol \
    again with a token of an admin";

/// What helps one whose certificate does not count any more.
const ENROL_ANEW: &str = "enrol again with a token of an admin";

/// What one is told whose orders would be executed with the rights of somebody else.
const AS_THE_OWNER: &str = "repeat the command as the user who started the coordinator, with the access file that it wrote \
    then; a certificate from a token does not suffice";

/// The guard; without admissions it lets pass whoever it finds.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) admission: Option<Admission>,
    pub(crate) metrics: Metrics,
}

impl Guard {
    fn check(&self, path: &str, caller: &Caller) -> Result<(), Status> {
        self.judge(path, caller).map_err(|(why, status)| {
            self.metrics.refused_call(why);
            status
        })
    }

    fn judge(&self, path: &str, caller: &Caller) -> Result<(), (RefusedCall, Status)> {
        let Some(need) = need(path) else {
            let status = Status::unimplemented(format!("there is no method {path}"));
            return Err((RefusedCall::Method, status));
        };
        // Without TLS everyone on this machine may do all but what is done with the owner's rights on other machines.
        match (need, caller) {
            (Need::Owner, Caller::Unchecked) => {
                let status = Status::permission_denied(with_hint(
                    "only the coordinator's own user may request hosts, and without TLS nobody is known to be that user",
                    Some("start the coordinator without --insecure"),
                ));
                Err((RefusedCall::Role, status))
            }
            (_, Caller::Inside | Caller::Unchecked) | (Need::Nothing, _) => Ok(()),
            (_, Caller::Unknown) => {
                let status = Status::unauthenticated(with_hint(NO_CERTIFICATE, Some(HOW_TO_GET_ONE)));
                Err((RefusedCall::NoCertificate, status))
            }
            (Need::Renewable, Caller::Known(certificate)) => self.require_renewable(certificate),
            (Need::Certificate, Caller::Known(certificate)) => self.require_holds(certificate),
            (Need::Owner, Caller::Known(certificate)) => {
                self.require_holds(certificate)?;
                self.require_owners(certificate)
            }
            (Need::RoleOrAgent(_), Caller::Known(certificate))
                if certificate.identity.role() == Role::Agent =>
            {
                self.require_holds(certificate)
            }
            (Need::Role(wanted) | Need::RoleOrAgent(wanted), Caller::Known(certificate)) => {
                self.require_holds(certificate)?;
                let identity = &certificate.identity;
                if is_enough(identity.role(), wanted) {
                    return Ok(());
                }
                let status = Status::permission_denied(with_hint(
                    format_args!("you are {identity}, and this needs the role {wanted}"),
                    Some("an admin may give you another"),
                ));
                Err((RefusedCall::Role, status))
            }
        }
    }

    /// An admin can have a certificate made in any name: only that of the access file is the owner's.
    fn require_owners(&self, certificate: &Certificate) -> Result<(), (RefusedCall, Status)> {
        if self.admission.as_ref().is_none_or(|admission| admission.is_owners(certificate.serial)) {
            return Ok(());
        }
        let status = Status::permission_denied(with_hint(
            format_args!(
                "you are {}, and only the coordinator's own user may request hosts, which is done with that user's rights",
                certificate.identity
            ),
            Some(AS_THE_OWNER),
        ));
        Err((RefusedCall::Role, status))
    }

    fn require_holds(&self, certificate: &Certificate) -> Result<(), (RefusedCall, Status)> {
        if certificate.has_expired(unix_seconds()) {
            let words = format_args!("the certificate of {} has expired", certificate.identity);
            return Err((RefusedCall::Expired, Status::unauthenticated(with_hint(words, Some(RENEW)))));
        }
        self.require_known(certificate)
    }

    /// Lets in also who has expired, for a while: a coordinator, a host or a user that was away comes back by itself.
    fn require_renewable(&self, certificate: &Certificate) -> Result<(), (RefusedCall, Status)> {
        if certificate.has_expired(unix_seconds().saturating_sub(RENEWABLE.as_secs())) {
            let days = RENEWABLE.as_secs() / 86_400;
            let words = format_args!(
                "the certificate of {} expired more than {days} days ago, and is not renewed",
                certificate.identity
            );
            // Told from a revocation, after which an agent ends: here a clock may be wrong.
            let status = Status::failed_precondition(with_hint(words, Some(ENROL_ANEW)));
            return Err((RefusedCall::Expired, status));
        }
        self.require_known(certificate)
    }

    fn require_known(&self, certificate: &Certificate) -> Result<(), (RefusedCall, Status)> {
        let identity = &certificate.identity;
        if self.admission.as_ref().is_some_and(|admission| !admission.holds(certificate.serial)) {
            let status = Status::unauthenticated(with_hint(
                format_args!(
                    "the certificate of {identity} was revoked, or this coordinator did not issue it"
                ),
                Some(ENROL_ANEW),
            ));
            return Err((RefusedCall::Revoked, status));
        }
        Ok(())
    }
}

impl<S> Layer<S> for Guard {
    type Service = GuardedService<S>;

    fn layer(&self, inner: S) -> GuardedService<S> {
        GuardedService { guard: self.clone(), inner }
    }
}

/// Doors with a guard before them.
#[derive(Clone, Debug)]
pub(crate) struct GuardedService<S> {
    guard: Guard,
    inner: S,
}

impl<S: Service<Request<Body>, Response = Response<Body>>> Service<Request<Body>> for GuardedService<S> {
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // Doors that others add know who calls by the certificate alone.
        if let Some(Peer { caller: Caller::Known(certificate), .. }) = request.extensions().get::<Peer>() {
            let certificate = certificate.clone();
            request.extensions_mut().insert(certificate);
        }
        let path = request.uri().path();
        let checked = match request.extensions().get::<Peer>() {
            Some(peer) => self.guard.check(path, &peer.caller).inspect_err(|status| peer.log(path, status)),
            None => Err(Status::internal("the caller is unknown")),
        };
        match checked {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(status) => Either::Right(ready(Ok(status.into_http()))),
        }
    }
}
