//! What is shown when something fails: a page of its own.

use axum::response::{IntoResponse, Response};
use maud::html;

use super::{Html, layout};
use crate::trouble::Trouble;

impl IntoResponse for Trouble {
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
