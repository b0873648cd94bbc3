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
use speedup_access::unix_seconds;
use speedup_proto::convert::id_text;
use uuid::Uuid;

use crate::{
    context::Context, context::Shared, context::cookie_name, context::session_secret, door::SIGN_IN,
    entry::Entrance, entry::SESSION_LIFETIME_S, live, page, page::Html, shield, trouble::Trouble,
    visitor::Visitor,
};

/// Most bytes of a form: a token and a few words.
const MAX_FORM_BYTES: usize = 8 << 10;

type Site = State<Arc<Context>>;
type Page = Result<Html, Trouble>;

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
        .fallback(|| async { Trouble::unknown() })
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(from_fn_with_state(context.clone(), shield::shield))
        .with_state(context)
}

async fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache")], text)
}

/// Which page of a report.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) page: Option<usize>,
}

/// What every form carries.
#[derive(Debug, Deserialize)]
struct Signed {
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
    fn runs(&self) -> Result<u32, Trouble> {
        let runs = self.runs.trim().parse().ok().filter(|runs| *runs > 0);
        runs.ok_or_else(|| {
            Trouble::plain(StatusCode::BAD_REQUEST, "How many further runs? Write a whole number from 1 on.")
        })
    }

    fn reason(&self) -> Result<String, Trouble> {
        match self.reason.trim() {
            "" => Err(Trouble::plain(
                StatusCode::BAD_REQUEST,
                "Say what is wrong with the host: reports tell it.",
            )),
            reason => Ok(reason.to_owned()),
        }
    }
}

/// Refuses a form that is not of this visitor's session.
fn require_form(visitor: &Visitor, token: &str) -> Result<(), Trouble> {
    if visitor.sent(token) {
        return Ok(());
    }
    let words = "This form is of an earlier session. Reload the page, and try again.";
    Err(Trouble::plain(StatusCode::FORBIDDEN, words))
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

async fn report(visitor: Visitor, Path(id): Path<Uuid>, Query(at): Query<Numbered>) -> Page {
    let status = visitor.experiment(id).await?;
    let json = visitor.report(id).await?;
    // It may have a hundred thousand benchmarks: it is read apart from the event loop.
    let drawn = move || page::report::whole(&visitor, &status, &json, at.page.unwrap_or(1));
    let drawn = tokio::task::spawn_blocking(drawn).await;
    let failed = |_| Trouble::plain(StatusCode::INTERNAL_SERVER_ERROR, "The report cannot be shown.");
    drawn.map(Html).map_err(failed)
}

async fn change_experiment(
    visitor: Visitor,
    Path((id, act)): Path<(Uuid, String)>,
    Form(form): Form<Change>,
) -> Result<Redirect, Trouble> {
    require_form(&visitor, &form.token)?;
    match act.as_str() {
        "pause" => visitor.pause(id).await?,
        "resume" => visitor.resume(id).await?,
        "cancel" => visitor.cancel(id).await?,
        "extend" => visitor.extend(id, form.runs()?).await?,
        _ => return Err(Trouble::unknown()),
    }
    Ok(Redirect::to(&format!("/experiments/{id}")))
}

async fn hosts(visitor: Visitor, Query(at): Query<page::hosts::Listing>) -> Page {
    let (pool, listed) = (visitor.pool().await?, visitor.page_of_hosts(&at).await?);
    Ok(Html(page::hosts::whole(&visitor, &at, &pool, &listed)))
}

/// Which host is looked for.
#[derive(Debug, Deserialize)]
struct Wanted {
    host: String,
}

async fn find_host(_visitor: Visitor, Query(wanted): Query<Wanted>) -> Redirect {
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
) -> Result<Redirect, Trouble> {
    require_form(&visitor, &form.token)?;
    match act.as_str() {
        "drain" => visitor.drain(id.clone()).await?,
        "quarantine" => visitor.quarantine(id.clone(), form.reason()?).await?,
        "resume" => visitor.resume_host(id.clone()).await?,
        _ => return Err(Trouble::unknown()),
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

fn no_link() -> Trouble {
    let words = "This link was already used, or has expired. Run `speedup page` for another.";
    Trouble::plain(StatusCode::GONE, words)
}

/// Looking at a link leaves it as it is: programs that look at links before people do would use it up.
async fn ask_to_sign_in(State(context): Site, Query(Link { link }): Query<Link>) -> Page {
    let entries = context.shared.entries();
    let certificate = entries.link(unix_seconds(), &link).ok_or_else(no_link)?;
    Ok(Html(page::access::sign_in(&certificate.identity, &link)))
}

async fn sign_in(State(context): Site, Form(Link { link }): Form<Link>) -> Result<Response, Trouble> {
    let Entrance::SignedIn(holders) = &context.entrance else { return Err(Trouble::unknown()) };
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
    Form(form): Form<Signed>,
) -> Result<Response, Trouble> {
    require_form(&visitor, &form.token)?;
    if let Some(secret) = session_secret(&context.shared, &headers) {
        context.shared.entries().leave(secret);
    }
    Ok(([(SET_COOKIE, cookie(&context.shared, "", 0))], Redirect::to("/")).into_response())
}

fn cookie(shared: &Shared, value: &str, lifetime_s: u64) -> String {
    let secure = if shared.is_secure { "; Secure" } else { "" };
    let name = cookie_name(shared);
    format!("{name}={value}; Path=/; Max-Age={lifetime_s}; HttpOnly; SameSite=Strict{secure}")
}
