//! The role mapping: rules that give a person a tenant and a role by the claims of the issuer. The first rule that matches
//! decides.

use assay_store::sessions::{SessionRole, UnknownRole};
use assay_tenancy::Name;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Claims of an issuer about a person, by their names.
pub(crate) type Claims = Map<String, Value>;

/// Rules in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleMapping(Vec<Rule>);

/// Fault of a role mapping.
#[derive(Debug, thiserror::Error)]
pub enum RoleMappingError {
    /// The text is no YAML of this form.
    #[error(
        "the rules are not of the form `rules: [{{claim: groups, value: risk, tenant: acme, role: analyst}}]`: {0}"
    )]
    Form(#[from] serde_saphyr::Error),
    /// There is no rule, so nobody could sign in.
    #[error("there is no rule, so nobody could sign in: write at least one")]
    None,
    /// A rule has an empty claim or value.
    #[error("rule {0}: claim and value must not be empty")]
    Empty(usize),
    /// A rule names no tenant, or names it twice.
    #[error("rule {0}: write either `tenant` or `tenantClaim`")]
    Tenant(usize),
    /// A rule names a tenant that no tenant can have as its name.
    #[error("rule {0}: `{1}` cannot be the name of a tenant")]
    TenantName(usize, String),
    /// A rule names no role.
    #[error("rule {0}: {1}")]
    Role(usize, UnknownRole),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Name of the claim, or its path with dots.
    claim: String,
    /// Text that the claim is, or that its list contains.
    value: String,
    tenant: TenantOf,
    role: SessionRole,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TenantOf {
    /// One tenant.
    Named(Name),
    /// The tenant that a claim names.
    Claim(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    rules: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenRule {
    claim: String,
    value: String,
    tenant: Option<String>,
    tenant_claim: Option<String>,
    role: String,
}

impl RoleMapping {
    /// Reads rules from YAML or JSON.
    ///
    /// # Errors
    ///
    /// Returns the first fault, by the number of its rule, the first of which is 1.
    pub fn read(text: &str) -> Result<Self, RoleMappingError> {
        let file: RulesFile = serde_saphyr::from_str(text)?;
        if file.rules.is_empty() {
            return Err(RoleMappingError::None);
        }
        let numbered = (1..).zip(file.rules);
        numbered.map(|(number, rule)| rule.check(number)).collect::<Result<_, _>>().map(Self)
    }

    /// Returns tenant and role of a person; `None` if no rule matches, or the first that does finds no tenant in its claim.
    pub(crate) fn admit(&self, claims: &Claims) -> Option<(Name, SessionRole)> {
        let rule = self.0.iter().find(|rule| rule.matches(claims))?;
        let tenant = match &rule.tenant {
            TenantOf::Named(tenant) => tenant.clone(),
            TenantOf::Claim(claim) => found(claims, claim)?.as_str()?.parse().ok()?,
        };
        Some((tenant, rule.role))
    }
}

impl WrittenRule {
    fn check(self, number: usize) -> Result<Rule, RoleMappingError> {
        if self.claim.is_empty() || self.value.is_empty() {
            return Err(RoleMappingError::Empty(number));
        }
        let tenant = match (self.tenant, self.tenant_claim.filter(|claim| !claim.is_empty())) {
            (Some(name), None) => match name.parse() {
                Ok(tenant) => TenantOf::Named(tenant),
                Err(_) => return Err(RoleMappingError::TenantName(number, name)),
            },
            (None, Some(claim)) => TenantOf::Claim(claim),
            _ => return Err(RoleMappingError::Tenant(number)),
        };
        let role = self.role.parse().map_err(|error| RoleMappingError::Role(number, error))?;
        Ok(Rule { claim: self.claim, value: self.value, tenant, role })
    }
}

impl Rule {
    /// True if the claim is the value, or a list with the value. An e-mail address counts only if the issuer verified it.
    fn matches(&self, claims: &Claims) -> bool {
        if self.claim == "email" && !is_email_verified(claims) {
            return false;
        }
        match found(claims, &self.claim) {
            Some(Value::String(text)) => *text == self.value,
            Some(Value::Array(list)) => list.iter().any(|it| it.as_str() == Some(&self.value)),
            _ => false,
        }
    }
}

/// True if the issuer has verified the e-mail address of a person.
pub(crate) fn is_email_verified(claims: &Claims) -> bool {
    claims.get("email_verified") == Some(&Value::Bool(true))
}

/// Finds a claim by its name, or else by its path: `realm_access.roles` is the claim `roles` in the claim `realm_access`.
fn found<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    let start = claims.get(first)?;
    rest.split('.').try_fold(start, |value, part| value.get(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULES: &str = "
rules:
  - {claim: groups, value: risk-admins, tenant: acme, role: admin}
  - {claim: realm_access.roles, value: risk, tenantClaim: org, role: analyst}
  - {claim: email, value: ada@example.com, tenant: other, role: viewer}
";

    fn admitted(claims: Value) -> Option<(String, SessionRole)> {
        let rules = RoleMapping::read(RULES).unwrap();
        let Value::Object(claims) = claims else { panic!("no claims") };
        rules.admit(&claims).map(|(tenant, role)| (tenant.to_string(), role))
    }

    #[test]
    fn the_first_rule_that_matches_gives_tenant_and_role() {
        let in_groups = json!({"groups": ["x", "risk-admins"], "email": "ada@example.com", "email_verified": true});
        assert_eq!(admitted(in_groups), Some(("acme".into(), SessionRole::Admin)));
        assert_eq!(
            admitted(json!({"groups": "risk-admins"})),
            Some(("acme".into(), SessionRole::Admin))
        );
        let by_path = json!({"realm_access": {"roles": ["risk"]}, "org": "lantern"});
        assert_eq!(admitted(by_path), Some(("lantern".into(), SessionRole::Analyst)));
        let by_name = json!({"realm_access.roles": ["risk"], "org": "lantern"});
        assert_eq!(admitted(by_name), Some(("lantern".into(), SessionRole::Analyst)));
        let by_mail = json!({"email": "ada@example.com", "email_verified": true});
        assert_eq!(admitted(by_mail), Some(("other".into(), SessionRole::Viewer)));
    }

    #[test]
    fn nobody_is_admitted_whom_no_rule_names() {
        for claims in [
            json!({}),
            json!({"groups": ["risk-admins2", "RISK-ADMINS"]}),
            json!({"groups": {"risk-admins": true}}),
            json!({"groups": "risk-admins,x"}),
            json!({"email": "ada@example.com"}),
            json!({"email": "ada@example.com", "email_verified": "true"}),
            json!({"realm_access": {"roles": ["risk"]}}),
            // The first rule that matches decides, also if it finds no tenant.
            json!({"realm_access": {"roles": ["risk"]}, "email": "ada@example.com", "email_verified": true}),
            json!({"realm_access": {"roles": ["risk"]}, "org": "no name"}),
            json!({"realm_access": {"roles": ["risk"]}, "org": ["lantern"]}),
        ] {
            assert_eq!(admitted(claims.clone()), None, "{claims}");
        }
    }

    #[test]
    fn rules_with_a_fault_are_refused_by_their_number() {
        for (text, told) in [
            ("rules: []", "at least one"),
            ("people: []", "not of the form"),
            ("rules: [{claim: a, value: b, tenant: t, role: analyst, x: y}]", "not of the form"),
            ("rules: [{claim: '', value: b, tenant: t, role: admin}]", "rule 1: claim and value"),
            ("rules: [{claim: a, value: b, role: admin}]", "rule 1: write either"),
            (
                "rules: [{claim: a, value: b, tenant: t, tenantClaim: c, role: admin}]",
                "rule 1: write either",
            ),
            ("rules: [{claim: a, value: b, tenant: A B, role: admin}]", "`A B` cannot be"),
            (
                "rules: [{claim: a, value: b, tenant: t, role: admin}, {claim: a, value: b, tenant: t, role: root}]",
                "rule 2: `root` is no role",
            ),
        ] {
            let error = RoleMapping::read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
