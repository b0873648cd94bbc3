//! The guard before all doors: it looks at who calls what, by the table of methods, before anything of a request is read.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use futures_util::future::Either;
use speedup_access::{Certificate, Role, unix_seconds};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::caller::{Caller, Peer};
use super::methods::{Need, is_enough, need};
use crate::admission::Admission;

/// The guard; without admissions it lets pass whoever it finds.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) admission: Option<Admission>,
}

impl Guard {
    fn check(&self, path: &str, caller: &Caller) -> Result<(), Status> {
        let Some(need) = need(path) else {
            return Err(Status::unimplemented(format!("there is no method {path}")));
        };
        match (need, caller) {
            (_, Caller::Inside | Caller::Unchecked) | (Need::Nothing, _) => Ok(()),
            (Need::Certificate | Need::Role(_) | Need::RoleOrAgent(_), Caller::Unknown) => {
                Err(Status::unauthenticated(
                    "this needs a certificate, and none was shown\nhint: an admin makes a token with `speedup token create`; \
                 `speedup access enrol` and `speedup agent start` take it with --token-file",
                ))
            }
            (Need::Certificate, Caller::Known(certificate)) => self.require_holds(certificate),
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
                Err(Status::permission_denied(format!(
                    "you are {identity}, and this needs the role {wanted}\nhint: an admin may give you another"
                )))
            }
        }
    }

    fn require_holds(&self, certificate: &Certificate) -> Result<(), Status> {
        let identity = &certificate.identity;
        if certificate.not_after < unix_seconds() {
            return Err(Status::unauthenticated(format!(
                "the certificate of {identity} has run out\nhint: enrol anew with a token of an admin"
            )));
        }
        if self.admission.as_ref().is_some_and(|admission| !admission.holds(certificate.serial)) {
            return Err(Status::unauthenticated(format!(
                "the certificate of {identity} was revoked, or this coordinator never made it\nhint: enrol anew with a \
                 token of an admin"
            )));
        }
        Ok(())
    }
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { guard: self.clone(), inner }
    }
}

/// Doors with a guard before them.
#[derive(Clone, Debug)]
pub(crate) struct Guarded<S> {
    guard: Guard,
    inner: S,
}

impl<S: Service<Request<Body>, Response = Response<Body>>> Service<Request<Body>> for Guarded<S> {
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
            None => Err(Status::internal("nobody knows who called")),
        };
        match checked {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(status) => Either::Right(ready(Ok(status.into_http()))),
        }
    }
}
