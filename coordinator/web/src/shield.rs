//! What holds for every request: by what name the page was called, where a form was sent from, how long it may take, and
//! what a browser may do with the answer.

use std::{sync::Arc, time::Duration};

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderValue, ORIGIN, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::{context::Context, page_error::PageError};

/// What the page may load and do: its own style, script and pictures, its own forms, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' \
                      data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/// How long an answer may take, the request's body included. What streams has begun by then.
const ANSWER: Duration = Duration::from_secs(30);

/// Refuses what comes under another name or from another page, and dresses the answer.
pub(crate) async fn shield(State(context): State<Arc<Context>>, request: Request, next: Next) -> Response {
    let names = &context.shared.names;
    let mut answer = match check(names, request.method(), request.headers()) {
        Err(error) => error.into_response(),
        Ok(()) => match tokio::time::timeout(ANSWER, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => PageError::plain(StatusCode::REQUEST_TIMEOUT, "This took too long. Try again.")
                .into_response(),
        },
    };
    dress(answer.headers_mut(), context.shared.is_secure);
    answer
}

fn dress(headers: &mut HeaderMap, is_secure: bool) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(X_FRAME_OPTIONS, "DENY");
    // A form says where it comes from only if it is allowed to; other sites hear nothing.
    set(REFERRER_POLICY, "same-origin");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    set(CACHE_CONTROL, "no-store");
    if is_secure {
        set(STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}

fn check(names: &[String], method: &Method, headers: &HeaderMap) -> Result<(), PageError> {
    let host = text(headers, HOST);
    // Another site whose name leads here would otherwise be taken for this one.
    let Some(host) = host.filter(|host| names.iter().any(|name| *name == bare(host))) else {
        let words = "The page is not known by this name. Use the address that `speedup page` prints.";
        return Err(PageError::plain(StatusCode::FORBIDDEN, words));
    };
    match *method {
        Method::GET | Method::HEAD => Ok(()),
        Method::POST => {
            let own = text(headers, ORIGIN).and_then(|origin| origin.split_once("://"));
            if own.is_some_and(|(_, own)| own == host) {
                Ok(())
            } else {
                Err(PageError::plain(StatusCode::FORBIDDEN, "This form was not sent by this page."))
            }
        }
        _ => Err(PageError::plain(StatusCode::METHOD_NOT_ALLOWED, "The page knows no such method.")),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A host without its port and brackets, in small letters.
fn bare(host: &str) -> String {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(method: &Method, pairs: &[(HeaderName, &'static str)]) -> Result<(), StatusCode> {
        let names = ["127.0.0.1".to_owned(), "::1".to_owned(), "login1".to_owned()];
        let headers = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        check(&names, method, &headers.collect()).map_err(|error| error.code())
    }

    #[test]
    fn it_answers_to_its_own_names_only() {
        for host in ["127.0.0.1", "127.0.0.1:7078", "[::1]:80", "LOGIN1:1"] {
            assert_eq!(checked(&Method::GET, &[(HOST, host)]), Ok(()), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "login1@evil", "", "[::2]:80"] {
            assert_eq!(checked(&Method::GET, &[(HOST, host)]), Err(StatusCode::FORBIDDEN), "{host}");
        }
        assert_eq!(checked(&Method::GET, &[]), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn forms_come_from_this_page() {
        let post = |origin| checked(&Method::POST, &[(HOST, "login1:7078"), (ORIGIN, origin)]);
        assert_eq!(post("http://login1:7078"), Ok(()));
        for origin in ["http://login1:7079", "http://login1", "https://evil.example", "null", ""] {
            assert_eq!(post(origin), Err(StatusCode::FORBIDDEN), "{origin}");
        }
        assert_eq!(checked(&Method::POST, &[(HOST, "login1:7078")]), Err(StatusCode::FORBIDDEN));
        let put = checked(&Method::PUT, &[(HOST, "login1")]);
        assert_eq!(put, Err(StatusCode::METHOD_NOT_ALLOWED));
    }
}
