//! The pages of API keys.

use assay_picture::text::counted;
use assay_store::{
    control::{KeyRecord, KeyState},
    sessions::SessionRole,
};
use assay_tenancy::{Name, key::KeyId};
use jiff::Timestamp;
use maud::{Markup, html};

use super::{
    checks::{moment, on_day},
    frame::{Visitor, framed},
};
use crate::MOUNT;

/// Content of the page of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeysContent<'a> {
    /// All keys of the tenant, in order of creation.
    pub(crate) keys: &'a [KeyRecord],
    /// Key that the person's session acts as; of a person without a key, an identifier that no key has.
    pub(crate) own: &'a KeyId,
    /// The tenant.
    pub(crate) tenant: &'a Name,
    /// True if the server can create and revoke keys.
    pub(crate) can_change: bool,
    /// Number of open sessions of the tenant.
    pub(crate) sessions: u64,
}

/// A new key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyForm<'a> {
    /// Visible part.
    pub(crate) id: &'a str,
    /// The whole key.
    pub(crate) secret: &'a str,
}

/// Returns the page of a tenant's keys: active ones first, the newest first.
pub(crate) fn keys_page(visitor: &Visitor, content: &KeysContent<'_>, now: Timestamp) -> Markup {
    let is_active = |key: &&KeyRecord| key.state(now) == KeyState::Active;
    let (active, ended): (Vec<&KeyRecord>, Vec<&KeyRecord>) =
        content.keys.iter().rev().partition(is_active);
    let markup = html! {
        h1 { "API keys" }
        p.lead { "Programs use keys to call the API. A key is shown once, when it is created; the server stores its hash alone." }
        (table(visitor, content, &active, now))
        @if !ended.is_empty() {
            details {
                summary { (counted(ended.len().try_into().unwrap_or(u64::MAX), "key", "keys")) " revoked or expired" }
                (table(visitor, content, &ended, now))
            }
        }
        h2 { "New key" }
        @if !content.can_change {
            (manifest(content.tenant))
        } @else if visitor.role == SessionRole::Admin {
            (form(visitor))
        } @else {
            p.soft { "Keys are created and revoked by people with the role " (SessionRole::Admin) "." }
        }
        h2 { "Sessions" }
        (sessions(visitor, content.sessions))
    };
    framed(visitor, "API keys", "/keys", "", &markup)
}

fn table(
    visitor: &Visitor,
    content: &KeysContent<'_>,
    keys: &[&KeyRecord],
    now: Timestamp,
) -> Markup {
    html! {
        div.scroll tabindex="0" { table.stack {
            thead { tr {
                th { "Key" } th { "Name" } th { "State" } th { "Permits" } th { "Data" } th { "Created" } th { "Expires" }
                th { "Last used" } th { span.hidden { "Revoke" } }
            } }
            tbody {
                @for key in keys {
                    @let is_active = key.state(now) == KeyState::Active;
                    tr {
                        td.address { (key.id.as_str()) }
                        td data-head="Name" { (key.name) @if key.id == *content.own { " " span.soft { "(this session acts as it)" } } }
                        td { span.state.(if is_active { "assessed" } else { "unavailable" }) { (key.state(now).as_str()) } }
                        td data-head="Permits" { (key.scopes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")) }
                        td data-head="Data" { (key.environment.as_str()) }
                        td.nowrap data-head="Created" { (moment(key.created_at, now)) }
                        td.nowrap data-head="Expires" { @match key.expires_at { Some(time) => (on_day(time)), None => "never" } }
                        td.nowrap data-head="Last used" { @match key.last_used_at { Some(time) => (moment(time, now)), None => "never" } }
                        td { @if is_active && content.can_change && visitor.role == SessionRole::Admin { (revoke(visitor, key)) } }
                    }
                }
            }
        } }
    }
}

fn sessions(visitor: &Visitor, number: u64) -> Markup {
    html! {
        p { (counted(number, "session", "sessions")) " of this tenant in browsers, this one included." }
        form method="post" action={ (MOUNT) "/sign-out" } {
            input type="hidden" name="form_token" value=(visitor.form_token);
            input type="hidden" name="everywhere" value="on";
            button.quiet { "Sign out everywhere" }
        }
        @if visitor.role == SessionRole::Admin {
            details.confirm {
                summary { "Sign everybody out" }
                form method="post" action={ (MOUNT) "/sign-out/everybody" } {
                    input type="hidden" name="form_token" value=(visitor.form_token);
                    p { "All people of this tenant must sign in again, you included." }
                    button.danger { "Sign everybody out" }
                }
            }
        }
    }
}

fn revoke(visitor: &Visitor, key: &KeyRecord) -> Markup {
    html! {
        details.confirm {
            summary { "Revoke" }
            form method="post" action={ (MOUNT) "/keys/" (key.id.as_str()) "/revoke" } {
                input type="hidden" name="form_token" value=(visitor.form_token);
                p { "Programs that use the key are refused at once, for good." }
                button.danger { "Revoke " (key.id.as_str()) }
            }
        }
    }
}

fn form(visitor: &Visitor) -> Markup {
    let scopes = [
        ("check", "Check addresses, transfers and read earlier checks"),
        ("screen", "Screen many addresses at once"),
        ("usage", "Read usage"),
    ];
    html! {
        form.fields method="post" action={ (MOUNT) "/keys" } {
            input type="hidden" name="form_token" value=(visitor.form_token);
            label { "Name" input name="name" maxlength="100" placeholder="payments back end" autocomplete="off"; }
            fieldset {
                legend { "Permits" }
                @for (name, text) in scopes {
                    label.box { input type="checkbox" name=(name) checked; (text) }
                }
            }
            label { "Expires"
                select name="lifetime" {
                    option value="30d" { "in 30 days" }
                    option value="90d" selected { "in 90 days" }
                    option value="365d" { "in 365 days" }
                    option value="" { "never" }
                }
            }
            label.box { input type="checkbox" name="sandbox"; "For the sandbox: demo answers, which cost nothing" }
            button { "Create key" }
        }
    }
}

/// The manifest of a key, for a cluster, and the command for a database that this server does not own.
fn manifest(tenant: &Name) -> Markup {
    html! {
        p { "This server does not write keys itself. In a cluster, apply this manifest in a namespace of the tenant; the key is then in the Secret of the same name:" }
        pre tabindex="0" { (key_manifest(tenant)) }
        p { "Outside of a cluster:" }
        pre tabindex="0" { "assay keys create --tenant " (tenant) " --name 'payments back end' --expires-in 90d" }
    }
}

fn key_manifest(tenant: &Name) -> String {
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ApiKey\nmetadata:\n  name: payments\nspec:\n  tenant: {tenant}\n  scopes: [check, screen, usage]\n"
    )
}

/// Returns the page that shows a new key, once.
pub(crate) fn new_key_page(visitor: &Visitor, key: &KeyForm<'_>) -> Markup {
    let markup = html! {
        section.message {
            h1 { "The new key" }
            p { "Copy it now: it is shown this once, and stored nowhere." }
            pre.secret tabindex="0" { (key.secret) }
            p.soft { "Lists show it as " (key.id) ". Programs send it in the header field " code { "X-API-Key" } "." }
            p { a href={ (MOUNT) "/keys" } { "Back to the keys" } }
        }
    };
    framed(visitor, "The new key", "/keys", "", &markup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_of_a_key_names_its_tenant() {
        let manifest = key_manifest(&"acme".parse().unwrap());
        assert!(manifest.contains("kind: ApiKey\n") && manifest.contains("tenant: acme\n"));
    }
}
