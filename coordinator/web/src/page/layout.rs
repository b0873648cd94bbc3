//! What every page has: head, skip link, navigation, and the place where its stream is named.

use maud::{DOCTYPE, Markup, html};

use crate::context::Visitor;

/// How often a page without script asks again, in seconds.
const REFRESH_S: u32 = 10;

/// Which part of the site a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Experiments,
    Hosts,
    Events,
    Access,
}

impl Section {
    const ALL: [Self; 4] = [Self::Experiments, Self::Hosts, Self::Events, Self::Access];

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Experiments => ("Experiments", "/"),
            Self::Hosts => ("Hosts", "/hosts"),
            Self::Events => ("Events", "/events"),
            Self::Access => ("Access", "/access"),
        }
    }
}

/// A page of someone who is in. `live` names the stream of what changes on it.
pub(crate) fn page(
    visitor: &Visitor,
    section: Section,
    title: &str,
    live: Option<&str>,
    body: &Markup,
) -> Markup {
    let shown =
        |section: &Section| *section != Section::Access || visitor.is_admin() && visitor.identity.is_some();
    whole(
        title,
        live,
        &html! {
            header.top {
                a.brand href="/" { img src="/icon.svg" alt="" width="24" height="24"; "Speedup" }
                nav aria-label="Main" {
                    ul {
                        @for one in Section::ALL.into_iter().filter(shown) {
                            @let (words, path) = one.words();
                            li { a href=(path) aria-current=[(one == section).then_some("page")] { (words) } }
                        }
                    }
                }
                @if let Some(name) = visitor.name() {
                    div.who {
                        span { (name) " " span.quiet { "(" (visitor.role) ")" } }
                        (super::act(visitor, "/sign-out", "sign-out", "plain", "Sign out"))
                    }
                }
            }
        },
        body,
    )
}

/// A page of nobody in particular.
pub(crate) fn bare(title: &str, body: &Markup) -> Markup {
    let top = html! {
        header.top { span.brand { img src="/icon.svg" alt="" width="24" height="24"; "Speedup" } }
    };
    whole(title, None, &top, &html! { div.narrow { (body) } })
}

fn whole(title: &str, live: Option<&str>, top: &Markup, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – Speedup" }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/style.css";
                link rel="stylesheet" href="/report.css";
                @if live.is_some() {
                    script src="/live.js" defer {}
                    noscript { meta http-equiv="refresh" content=(REFRESH_S); }
                }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (top)
                main #main tabindex="-1" data-live=[live] {
                    @if live.is_some() {
                        p #link.quiet.live hidden data-on="Live" data-off="Connection lost. Trying again…"
                            data-over="Nothing changes any more" {}
                        noscript { p.quiet.live { "Loaded again every " (REFRESH_S) " seconds." } }
                    }
                    (body)
                }
            }
        }
    }
}
