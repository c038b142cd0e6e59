//! The frame of all pages: navigation, search field, sign-out; pages with one message.

use assay_address::CanonicalAddress;
use assay_engine::facts::Environment;
use assay_store::sessions::SessionRole;
use maud::{DOCTYPE, Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::search::check_path;
use crate::MOUNT;

/// Kinds of text that the search field takes.
const SEARCHED: &str =
    "Address of any chain, transaction, check id, reference, or name of a listed party";

/// Person who looks at a page.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// Name of the tenant as people know it.
    pub(crate) tenant: String,
    /// Name of the person; empty if none is known.
    pub(crate) person: String,
    /// Permissions of the person.
    pub(crate) role: SessionRole,
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
    let body = html! {
        header.top {
            a.brand href=(MOUNT) { "Assay" }
            nav aria-label="Pages" {
                @for (path, name) in nav_items(visitor.role) {
                    @let is_current = path == current;
                    a href={ (MOUNT) (path) } aria-current=[is_current.then_some("page")] { (name) }
                }
            }
            form.find method="get" action={ (MOUNT) "/search" } role="search" {
                input type="search" name="q" value=(query) maxlength="300" autocomplete="off" spellcheck="false"
                    aria-label=(SEARCHED) title=(SEARCHED) placeholder="Address, transaction or name"
                    autofocus[current.is_empty()];
                button { @if visitor.role == SessionRole::Viewer { "Find" } @else { "Check" } }
            }
            form.out method="post" action={ (MOUNT) "/sign-out" } {
                span.tenant title="Tenant whose checks and policy these are" { (visitor.tenant) }
                @if !visitor.person.is_empty() {
                    span.tenant title="You, and what you may do" { (visitor.person) ", " (visitor.role) }
                }
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

/// Returns the pages of the navigation that a role may open, each with its path below [`MOUNT`].
fn nav_items(role: SessionRole) -> impl Iterator<Item = (&'static str, &'static str)> {
    let items = [
        ("", "Search", SessionRole::Viewer),
        ("/transfer", "Transfer", SessionRole::Analyst),
        ("/checks", "Checks", SessionRole::Viewer),
        ("/sources", "Sources", SessionRole::Viewer),
        ("/chains", "Chains", SessionRole::Viewer),
        ("/policy", "Policy", SessionRole::Viewer),
        ("/usage", "Usage", SessionRole::Viewer),
        ("/keys", "Keys", SessionRole::Viewer),
    ];
    let open = items.into_iter().filter(move |(_, _, needed)| role >= *needed);
    open.map(|(path, name, _)| (path, name))
}

/// Returns a page with one message, for people who are signed in or not.
pub(crate) fn message_page(visitor: Option<&Visitor>, title: &str, text: &str) -> Markup {
    let content = html! {
        section.message {
            h1 { (title) }
            p { (text) }
        }
    };
    let Some(visitor) = visitor else {
        let leads_back = html! { p.message { a href=(MOUNT) { "Go to the console" } } };
        return document(title, None, &html! { (brand()) main { (content) (leads_back) } });
    };
    framed(visitor, title, "none", "", &content)
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

/// Returns the page after a sign-in, which leads to a path: for a page that may check something, by a link alone, because another
/// site may have led to it. Otherwise it leads on by itself: a browser sends the new cookie with a request that this page
/// causes, but not with a redirection of a link that was clicked in another program's page.
pub(crate) fn signed_in_page(then: &str) -> Markup {
    let page = then.strip_prefix(MOUNT).unwrap_or_default();
    let is_check = ["/check/", "/search", "/transfer"].iter().any(|path| page.starts_with(path));
    let body = html! {
        (brand())
        main {
            section.message {
                h1 { "Signed in" }
                @if is_check {
                    p { "Another page led to " span.address { (page) } ". A check counts in your plan." }
                    p { a href=(then) { "Go on" } }
                    p { a href=(MOUNT) { "Go to the console" } }
                } @else {
                    p { a href=(then) { "Go to the console" } }
                }
            }
        }
    };
    document("Signed in", (!is_check).then_some(then), &body)
}

/// Returns the page for people without a session. `asked` is the path below [`MOUNT`] at which a person who signs in at the
/// issuer goes on; `None` if people sign in by a link.
pub(crate) fn sign_in_page(asked: Option<&str>) -> Markup {
    let body = html! {
        (brand())
        main {
            section.message {
                h1 { "Sign in" }
                @match asked {
                    Some(path) => {
                        p { "Your organization says who you are, and what you may see." }
                        p { a.button href={ (MOUNT) "/oidc/start?next=" (utf8_percent_encode(path, NON_ALPHANUMERIC)) } { "Sign in" } }
                    }
                    None => {
                        p {
                            "Open the link that the program printed when it started, or when the link before was used. "
                            "Each works once."
                        }
                    }
                }
                p.soft { "A session ends after 30 minutes without a request." }
            }
        }
    };
    document("Sign in", None, &body)
}

/// Returns the page after a sign-in at the issuer that failed.
pub(crate) fn not_signed_in_page(text: &str) -> Markup {
    let body = html! {
        (brand())
        main {
            section.message {
                h1 { "Not signed in" }
                p { (text) }
                p { a.button href={ (MOUNT) "/oidc/start" } { "Begin again" } }
            }
        }
    };
    document("Not signed in", None, &body)
}

/// Returns the page after a sign-out.
pub(crate) fn signed_out_page(has_issuer: bool) -> Markup {
    let body = html! {
        (brand())
        main {
            section.message {
                h1 { "Signed out" }
                @if has_issuer {
                    p { "The session is over. You may still be signed in at your organization." }
                    p { a href=(MOUNT) { "Sign in again" } }
                } @else {
                    p { "The session is over. The program has printed a new link to sign in." }
                }
            }
        }
    };
    document("Signed out", None, &body)
}

/// The head of a page without navigation.
fn brand() -> Markup {
    html! { header.top { a.brand href=(MOUNT) { "Assay" } } }
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
