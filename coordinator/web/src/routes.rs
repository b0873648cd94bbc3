//! Which page is where, and what its forms do.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use speedup_access::{Certificate, unix_seconds};
use speedup_proto::convert::{id_text, timestamp_of_seconds};
use speedup_proto::{v1, v1::page_server::Page as PageService};
use tonic::{Request, Status};
use uuid::Uuid;

use crate::{
    context::Context, context::SIGN_IN, context::SharedState, context::Visitor, context::cookie_name,
    context::session_secret, entry::Entrance, entry::SESSION_LIFETIME_S, live, page, page::Html,
    page_error::PageError, shield,
};

/// Most bytes of a form: a token and a few words.
const MAX_FORM_BYTES: usize = 8 << 10;

type Site = State<Arc<Context>>;
type Page = Result<Html, PageError>;

pub(crate) fn routes(context: Arc<Context>) -> Router {
    Router::new()
        .route("/", get(experiments))
        .route("/experiments/{id}", get(experiment))
        .route("/experiments/{id}/report", get(report))
        .route("/experiments/{id}/{act}", post(change_experiment))
        .route("/hosts", get(hosts))
        .route("/hosts/find", get(find_host))
        .route("/hosts/of/{id}", get(host))
        .route("/hosts/of/{id}/{act}", post(change_host))
        .route("/events", get(events))
        .route("/access", get(access))
        .route(SIGN_IN, get(ask_to_sign_in).post(sign_in))
        .route("/sign-out", post(sign_out))
        .merge(live::routes())
        .route("/style.css", get(|| asset("text/css; charset=utf-8", include_str!("assets/style.css"))))
        .route("/report.css", get(|| asset("text/css; charset=utf-8", speedup_report::html::STYLE)))
        .route("/live.js", get(|| asset("text/javascript; charset=utf-8", include_str!("assets/live.js"))))
        .route("/icon.svg", get(|| asset("image/svg+xml", include_str!("assets/icon.svg"))))
        .fallback(|| async { PageError::unknown() })
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(from_fn_with_state(context.clone(), shield::shield))
        .with_state(context)
}

async fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache")], text)
}

/// Which page of a report.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct ReportPage {
    pub(crate) page: Option<usize>,
}

/// What every form carries.
#[derive(Debug, Deserialize)]
struct SignedForm {
    token: String,
}

/// A form that changes something, with what some changes ask for.
#[derive(Debug, Deserialize)]
struct Change {
    token: String,
    #[serde(default)]
    runs: String,
    #[serde(default)]
    reason: String,
}

impl Change {
    fn runs(&self) -> Result<u32, PageError> {
        let runs = self.runs.trim().parse().ok().filter(|runs| *runs > 0);
        runs.ok_or_else(|| {
            PageError::plain(
                StatusCode::BAD_REQUEST,
                "How many further runs? Write a whole number from 1 on.",
            )
        })
    }

    fn reason(&self) -> Result<String, PageError> {
        match self.reason.trim() {
            "" => Err(PageError::plain(
                StatusCode::BAD_REQUEST,
                "Say what is wrong with the host: reports tell it.",
            )),
            reason => Ok(reason.to_owned()),
        }
    }
}

/// Refuses a form that is not of this visitor's session.
fn require_form(visitor: &Visitor, token: &str) -> Result<(), PageError> {
    if visitor.sent(token) {
        return Ok(());
    }
    let words = "This form is of an earlier session. Reload the page, and try again.";
    Err(PageError::plain(StatusCode::FORBIDDEN, words))
}

async fn experiments(visitor: Visitor, Query(wanted): Query<page::experiments::Listing>) -> Page {
    let listed = visitor.page_of_experiments(&wanted).await?;
    Ok(Html(page::experiments::whole(&visitor, &wanted, &listed)))
}

async fn experiment(visitor: Visitor, Path(id): Path<Uuid>) -> Page {
    let status = visitor.experiment(id).await?;
    let events = visitor.events(&id_text(id), String::new()).await?;
    let plan = visitor.plan(id).await?;
    Ok(Html(page::experiment::whole(&visitor, &status, &plan, &events)))
}

async fn report(visitor: Visitor, Path(id): Path<Uuid>, Query(at): Query<ReportPage>) -> Page {
    let status = visitor.experiment(id).await?;
    let json = visitor.report(id).await?;
    // It may have a hundred thousand benchmarks: it is read apart from the event loop.
    let drawn = tokio::task::spawn_blocking(move || {
        page::report::whole(&visitor, &status, &json, at.page.unwrap_or(1))
    });
    match drawn.await {
        Ok(report) => Ok(Html(report)),
        Err(_) => Err(PageError::plain(StatusCode::INTERNAL_SERVER_ERROR, "The report cannot be shown.")),
    }
}

async fn change_experiment(
    visitor: Visitor,
    Path((id, act)): Path<(Uuid, String)>,
    Form(form): Form<Change>,
) -> Result<Redirect, PageError> {
    require_form(&visitor, &form.token)?;
    match act.as_str() {
        "pause" => visitor.pause(id).await?,
        "resume" => visitor.resume(id).await?,
        "cancel" => visitor.cancel(id).await?,
        "extend" => visitor.extend(id, form.runs()?).await?,
        _ => return Err(PageError::unknown()),
    }
    Ok(Redirect::to(&format!("/experiments/{id}")))
}

async fn hosts(visitor: Visitor, Query(at): Query<page::hosts::Listing>) -> Page {
    let pool = visitor.pool().await?;
    let listed = visitor.page_of_hosts(&at).await?;
    Ok(Html(page::hosts::whole(&visitor, &at, &pool, &listed)))
}

/// Which host is looked for.
#[derive(Debug, Deserialize)]
struct HostQuery {
    host: String,
}

async fn find_host(_visitor: Visitor, Query(wanted): Query<HostQuery>) -> Redirect {
    Redirect::to(&page::hosts::link(wanted.host.trim()))
}

async fn host(visitor: Visitor, Path(id): Path<String>) -> Page {
    let shown = visitor.host(&id).await?;
    Ok(Html(page::host::whole(&visitor, &shown)))
}

async fn change_host(
    visitor: Visitor,
    Path((id, act)): Path<(String, String)>,
    Form(form): Form<Change>,
) -> Result<Redirect, PageError> {
    require_form(&visitor, &form.token)?;
    match act.as_str() {
        "drain" => visitor.drain(id.clone()).await?,
        "quarantine" => visitor.quarantine(id.clone(), form.reason()?).await?,
        "resume" => visitor.resume_host(id.clone()).await?,
        _ => return Err(PageError::unknown()),
    }
    Ok(Redirect::to(&page::hosts::link(&id)))
}

async fn events(visitor: Visitor, Query(at): Query<page::events::Listing>) -> Page {
    let events = visitor.page_of_events(&at, at.place()?).await?;
    Ok(Html(page::events::whole(&visitor, &at, &events)))
}

async fn access(visitor: Visitor, Query(at): Query<page::events::Listing>) -> Page {
    let events = visitor.admissions(at.place()?).await?;
    let holds = visitor.access().await?;
    Ok(Html(page::access::whole(&visitor, &at, &events, &holds)))
}

#[derive(Debug, Deserialize)]
struct Link {
    link: String,
}

fn no_link() -> PageError {
    let words = "This link was already used, or has expired. Run `speedup page` for another.";
    PageError::plain(StatusCode::GONE, words)
}

/// Looking at a link leaves it as it is: programs that look at links before people do would use it up.
async fn ask_to_sign_in(State(context): Site, Query(Link { link }): Query<Link>) -> Page {
    let entries = context.shared.entries();
    let certificate = entries.link(unix_seconds(), &link).ok_or_else(no_link)?;
    Ok(Html(page::access::sign_in(&certificate.identity, &link)))
}

/// The gRPC door that gives links: who may call it is known by his certificate, and so is whom the link signs in.
#[derive(Debug)]
pub(crate) struct PageDoor {
    pub(crate) shared: Arc<SharedState>,
}

#[tonic::async_trait]
impl PageService for PageDoor {
    async fn sign_in(
        &self,
        request: Request<v1::SignInRequest>,
    ) -> Result<tonic::Response<v1::SignInLink>, Status> {
        let page = self.shared.url.clone();
        let Some(certificate) = request.extensions().get::<Arc<Certificate>>() else {
            // Without TLS nobody shows a certificate, and nobody signs in.
            return Ok(tonic::Response::new(v1::SignInLink { page, path: "/".to_owned(), expires: None }));
        };
        let (secret, expires) = self.shared.entries().add_link(unix_seconds(), certificate.clone());
        tracing::info!(identity = %certificate.identity, "issued link to the page");
        let path = format!("{SIGN_IN}?link={}", secret.text());
        Ok(tonic::Response::new(v1::SignInLink { page, path, expires: Some(timestamp_of_seconds(expires)) }))
    }
}

async fn sign_in(State(context): Site, Form(Link { link }): Form<Link>) -> Result<Response, PageError> {
    let Entrance::SignedIn(holders) = &context.entrance else { return Err(PageError::unknown()) };
    let shared = &context.shared;
    let entered =
        shared.entries().enter(unix_seconds(), &link, |certificate| holders.channel_as(certificate));
    let secret = entered.ok_or_else(no_link)?;
    tracing::info!("someone signed in to the page");
    let cookie = cookie(shared, secret.text(), SESSION_LIFETIME_S);
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

async fn sign_out(
    visitor: Visitor,
    State(context): Site,
    headers: HeaderMap,
    Form(form): Form<SignedForm>,
) -> Result<Response, PageError> {
    require_form(&visitor, &form.token)?;
    if let Some(secret) = session_secret(&context.shared, &headers) {
        context.shared.entries().leave(secret);
    }
    Ok(([(SET_COOKIE, cookie(&context.shared, "", 0))], Redirect::to("/")).into_response())
}

fn cookie(shared: &SharedState, value: &str, lifetime_s: u64) -> String {
    let secure = if shared.is_secure { "; Secure" } else { "" };
    let name = cookie_name(shared);
    format!("{name}={value}; Path=/; Max-Age={lifetime_s}; HttpOnly; SameSite=Strict{secure}")
}
