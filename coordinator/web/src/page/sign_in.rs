//! Who follows a link says that it was he.

use maud::{Markup, html};
use speedup_access::Identity;

use super::layout;
use crate::door::SIGN_IN;

/// The page of a link.
pub(crate) fn whole(identity: &Identity, link: &str) -> Markup {
    layout::bare(
        "Sign in",
        &html! {
            h1 { "Sign in" }
            p { "This link signs you in as " strong { (identity.name()) } ", with the role " strong { (identity.role()) } "." }
            form method="post" action=(SIGN_IN) {
                input type="hidden" name="link" value=(link);
                button.main autofocus { "Sign in as " (identity.name()) }
            }
            p.quiet { "If you did not ask for it with " code { "speedup page" } ", close this page." }
        },
    )
}
