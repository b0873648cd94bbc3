//! The gRPC door that gives links: who may call it is known by his certificate, and so is whom the link signs in.

use std::sync::Arc;

use speedup_access::{Certificate, unix_seconds};
use speedup_proto::{convert::timestamp_of_seconds, v1, v1::page_server::Page};
use tonic::{Request, Response, Status};

use crate::context::Shared;

/// The path that takes a link.
pub(crate) const SIGN_IN: &str = "/sign-in";

/// The door that gives links.
#[derive(Debug)]
pub(crate) struct PageDoor {
    pub(crate) shared: Arc<Shared>,
}

#[tonic::async_trait]
impl Page for PageDoor {
    async fn sign_in(&self, request: Request<v1::SignInRequest>) -> Result<Response<v1::SignInLink>, Status> {
        let page = self.shared.url.clone();
        let Some(certificate) = request.extensions().get::<Arc<Certificate>>() else {
            // Without TLS nobody shows a certificate, and nobody signs in.
            return Ok(Response::new(v1::SignInLink { page, path: "/".to_owned(), expires: None }));
        };
        let (secret, expires) = self.shared.entries().add_link(unix_seconds(), certificate.clone());
        tracing::info!(identity = %certificate.identity, "a link to the page was given");
        let path = format!("{SIGN_IN}?link={}", secret.text());
        Ok(Response::new(v1::SignInLink { page, path, expires: Some(timestamp_of_seconds(expires)) }))
    }
}
