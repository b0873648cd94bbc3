//! The pages: one file each, and what they have in common. A page is whole without the script; the parts that change are
//! functions of their own, which the page and its stream share.

pub(crate) mod access;
pub(crate) mod events;
pub(crate) mod experiment;
pub(crate) mod experiments;
pub(crate) mod host;
pub(crate) mod hosts;
pub(crate) mod layout;
mod plan;
pub(crate) mod report;

use axum::{http::header::CONTENT_TYPE, response::IntoResponse, response::Response};
use maud::{Markup, html};
use speedup_core::value::count::{counted, grouped};
use speedup_core::value::foreign;
use speedup_proto::convert::known_moment;

use crate::{context::Visitor, page_error::PageError};

#[derive(Clone, Debug)]
pub(crate) struct Html(pub(crate) Markup);

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "text/html; charset=utf-8")], written(self.0)).into_response()
    }
}

/// Markup as browsers get it: no text of others hides, or turns the direction of what stands beside it.
pub(crate) fn written(markup: Markup) -> String {
    foreign::lines(&markup.into_string()).into_owned()
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let code = self.code();
        let body = match self {
            Self::SignedOut => layout::bare(
                "Sign in",
                &html! {
                    h1 { "Sign in" }
                    p { "The page uses the credentials of the command line. Run this command there, and open the \
                        link that it prints:" }
                    pre tabindex="0" aria-label="Command" { code { "speedup page" } }
                    p.quiet { "A link works once, within five minutes. A session lasts twelve hours." }
                },
            ),
            Self::Failed { words, hint, .. } => layout::bare(
                "That did not work",
                &html! {
                    h1 { "That did not work" }
                    p { (words) }
                    @if let Some(hint) = hint { p.quiet { (hint) } }
                    p { a href="/" { "To the experiments" } }
                },
            ),
        };
        (code, Html(body)).into_response()
    }
}

/// A moment in nanoseconds since 1970, in UTC: the page does not know where its reader is.
fn moment(at_ns: u64) -> Markup {
    let at = jiff::Timestamp::from_nanosecond(i128::from(at_ns)).unwrap_or(jiff::Timestamp::MAX);
    let shown = at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    html! { time datetime=(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()) { (shown) "\u{a0}UTC" } }
}

/// A moment of the API; nothing where it is absent.
fn moment_of(wire: Option<&prost_types::Timestamp>) -> Markup {
    known_moment(wire).map_or_else(Markup::default, |at| moment(at.0))
}

/// A table in a region that scrolls by itself, also by keyboard.
fn scrolling(name: &str, table: &Markup) -> Markup {
    html! { div.scroll role="region" aria-label={ (name) ", table" } tabindex="0" { (table) } }
}

/// A button that does something, as a form.
fn act(visitor: &Visitor, to: &str, id: &str, class: &str, words: &str) -> Markup {
    act_with(visitor, to, id, class, words, &html! {})
}

/// The same with what has to be filled in.
fn act_with(visitor: &Visitor, to: &str, id: &str, class: &str, words: &str, fields: &Markup) -> Markup {
    html! {
        form method="post" action=(to) {
            input type="hidden" name="token" value=(visitor.form_token());
            (fields)
            button id=(id) class=(class) { (words) }
        }
    }
}

/// Text as part of a path or query.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_cannot_leave_its_place() {
        assert_eq!(encoded("a/b?c&d\"<é"), "a%2Fb%3Fc%26d%22%3C%C3%A9");
        let shown = html! { p title=("\"><script>") { ("<script>") } }.into_string();
        assert_eq!(shown, "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;script&gt;</p>");
    }
}
