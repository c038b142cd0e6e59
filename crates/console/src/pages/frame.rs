//! The frame of all pages: navigation, search field, sign-out; pages with one message.

use assay_address::CanonicalAddress;
use assay_engine::facts::Environment;
use maud::{DOCTYPE, Markup, html};

use super::search::check_path;
use crate::MOUNT;

/// Person who looks at a page.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// Name of the tenant as people know it.
    pub(crate) tenant: String,
    /// Token of the session's forms.
    pub(crate) form_token: String,
    /// Kind of the server's data.
    pub(crate) environment: Environment,
}

/// Returns a page. `current` is the path of the navigation's item that leads to it; `query` fills the search field.
pub(super) fn framed(
    visitor: &Visitor,
    title: &str,
    current: &str,
    query: &str,
    content: &Markup,
) -> Markup {
    let items = [
        ("", "Search"),
        ("/transfer", "Transfer"),
        ("/checks", "Checks"),
        ("/sources", "Sources"),
        ("/chains", "Chains"),
        ("/policy", "Policy"),
        ("/usage", "Usage"),
        ("/keys", "Keys"),
    ];
    let body = html! {
        header.top {
            a.brand href=(MOUNT) { "Assay" }
            nav aria-label="Pages" {
                @for (path, name) in items {
                    @let is_current = path == current;
                    a href={ (MOUNT) (path) } aria-current=[is_current.then_some("page")] { (name) }
                }
            }
            form.find method="get" action={ (MOUNT) "/search" } role="search" {
                input type="search" name="q" value=(query) maxlength="300" autocomplete="off" spellcheck="false"
                    aria-label="Address, transaction, check id, reference or name" placeholder="Address, transaction, check id, reference or name"
                    autofocus[current.is_empty()];
                button { "Check" }
            }
            form.out method="post" action={ (MOUNT) "/sign-out" } {
                span.tenant title="Tenant whose checks and policy these are" { (visitor.tenant) }
                input type="hidden" name="form_token" value=(visitor.form_token);
                button.quiet { "Sign out" }
            }
        }
        @if visitor.environment == Environment::Sample {
            aside.banner aria-label="Kind of data" { "Demo data set: every address, name and list here is made up." }
        }
        main { (content) }
    };
    document(title, None, &body)
}

/// Returns a page with one message, for people who are signed in or not.
pub(crate) fn message_page(visitor: Option<&Visitor>, title: &str, text: &str) -> Markup {
    let content = html! {
        section.message {
            h1 { (title) }
            p { (text) }
        }
    };
    match visitor {
        Some(visitor) => framed(visitor, title, "none", "", &content),
        None => document(title, None, &html! { main { (content) } }),
    }
}

/// Returns the page that asks before an address is checked, for a link of another site.
pub(crate) fn confirm_page(visitor: &Visitor, address: &CanonicalAddress) -> Markup {
    let content = html! {
        section.message {
            h1 { "Check this address?" }
            p.address { (address.as_str()) }
            p { "Another page led here. A check counts in your plan." }
            p { a href={ (MOUNT) (check_path(address)) } { "Check it on " (address.chain().info().name) } }
        }
    };
    framed(visitor, "Check this address?", "none", address.as_str(), &content)
}

/// Returns the page after a sign-in. It leads on by itself: a browser sends the new cookie with a request that this page
/// causes, but not with a redirection of a link that was clicked in another program's page.
pub(crate) fn signed_in_page() -> Markup {
    let body = html! {
        main {
            section.message {
                h1 { "Signed in" }
                p { a href=(MOUNT) { "Go to the console" } }
            }
        }
    };
    document("Signed in", Some(MOUNT), &body)
}

fn document(title: &str, leads_to: Option<&str>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if let Some(path) = leads_to {
                    meta http-equiv="refresh" content={ "0;url=" (path) };
                }
                title { (title) " \u{2013} Assay" }
                link rel="icon" href={ (MOUNT) "/icon.svg" } type="image/svg+xml";
                link rel="stylesheet" href={ (MOUNT) "/style.css" };
            }
            body { (body) }
        }
    }
}
