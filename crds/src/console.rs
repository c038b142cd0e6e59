//! Pages for people, and how they sign in.

use assay_tenancy::{Name, manifest::SecretKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pages for people at `/console`, who sign in at an OpenID Connect issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleSpec {
    /// URL at which people reach the server, such as `https://risk.example.com`. The redirect URI is
    /// `/console/oidc/callback` below it. Unset: `https://` and the host of `exposure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^https://[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?(:[0-9]{1,5})?$"))]
    pub url: Option<String>,
    /// URL of the issuer, below which its configuration is found, such as `https://id.example.com/realms/staff`.
    #[schemars(length(max = 512), regex(pattern = r"^https://[^/?#\s]+[^?#\s]*$"))]
    pub issuer: String,
    /// Client ID.
    #[schemars(length(min = 1, max = 253))]
    pub client_id: String,
    /// Key of a Secret that holds the client secret. Unset: a public client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecretKey>,
    /// Scopes that are requested beside `openid`. Default: `profile` and `email`.
    #[serde(default = "default_scopes")]
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 64), regex(pattern = r"^[!#-\[\]-~]+$"))
    )]
    pub scopes: Vec<String>,
    /// Rules that give people a tenant and a role by the claims of the issuer. The first rule that matches decides.
    #[schemars(length(min = 1, max = 256))]
    pub role_mapping: Vec<RoleRuleSpec>,
}

fn default_scopes() -> Vec<String> {
    vec!["profile".into(), "email".into()]
}

/// Key of a Secret with a client secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientSecretKey {
    /// Name of the Secret.
    pub name: Name,
    /// Key in the Secret. Default `client-secret`.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn default_key() -> String {
    "client-secret".into()
}

impl From<ClientSecretKey> for SecretKey {
    fn from(ClientSecretKey { name, key }: ClientSecretKey) -> Self {
        Self { name, key }
    }
}

/// Rule that gives people a tenant and a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.tenant) != has(self.tenantClaim)",
    "message": "name either a tenant or a tenantClaim",
}]))]
pub struct RoleRuleSpec {
    /// Claim of the issuer, such as `groups`, or its path, such as `realm_access.roles`. The claim `email` counts if the issuer
    /// verified it.
    #[schemars(length(min = 1, max = 253))]
    pub claim: String,
    /// Text that the claim is, or that its list contains.
    #[schemars(length(min = 1, max = 512))]
    pub value: String,
    /// Tenant of the people. Exactly one of `tenant` and `tenantClaim`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Name>,
    /// Claim that names the tenant of the people. Exactly one of `tenant` and `tenantClaim`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub tenant_claim: Option<String>,
    /// Permissions of the people: a viewer reads, an analyst checks addresses and transfers too, an admin ends sessions too.
    pub role: PersonRole,
}

/// Permissions of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PersonRole {
    /// Reads, and checks nothing.
    Viewer,
    /// Checks addresses and transfers too.
    Analyst,
    /// Ends all sessions of the tenant too.
    Admin,
}
