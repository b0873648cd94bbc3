//! Who was let in and out, and what holds now: for admins. And where one signs in by a link.

use maud::{Markup, html};
use speedup_access::{Identity, unix_seconds};
use speedup_proto::v1::{AccessList, ListEventsResponse};

use super::{counted, events, layout, layout::Section, layout::page, moment_of, scrolling};
use crate::context::{SIGN_IN, Visitor};

/// Certificates of users that are shown; those of agents are a number.
const SHOWN: usize = 200;

pub(crate) fn whole(
    visitor: &Visitor,
    at: &events::Listing,
    listed: &ListEventsResponse,
    holds: &AccessList,
) -> Markup {
    let now = unix_seconds();
    // Others have expired, and are listed because they can be renewed.
    let valid = holds.certificates.iter().filter(|one| {
        one.not_after.is_some_and(|end| u64::try_from(end.seconds).is_ok_and(|end| end >= now))
    });
    let (agents, users): (Vec<_>, Vec<_>) = valid.partition(|one| one.role == "agent");
    let rows = html! {
        table {
            caption.hidden { "Valid certificates of users" }
            thead { tr { th scope="col" { "User" } th scope="col" { "Role" } th scope="col" { "Until" } th scope="col" { "By" } } }
            tbody {
                @for one in users.iter().take(SHOWN) {
                    tr {
                        th scope="row" { (one.name) }
                        td { (one.role) }
                        td { (moment_of(one.not_after.as_ref())) }
                        td { (one.by) }
                    }
                }
            }
        }
    };
    let body = html! {
        h1 { "Access" }
        section aria-labelledby="h-holds" {
            h2 #h-holds { "Who may do what" }
            p.quiet {
                (counted(users.len() as u64, "certificate")) " of users, " (agents.len()) " of agents, "
                (counted(holds.tokens.len() as u64, "token")) " that can be used. "
                code { "speedup access" } " and " code { "speedup token" } " change them."
            }
            (scrolling("Certificates", &rows))
        }
        section aria-labelledby="h-log" {
            h2 #h-log { "Admissions" }
            (events::table_of(&listed.events, ""))
            (events::pages("/access", at, listed))
        }
    };
    page(visitor, Section::Access, "Access", None, &body)
}

/// Who follows a link says that it was he.
pub(crate) fn sign_in(identity: &Identity, link: &str) -> Markup {
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
