//! Names of manifests, as Kubernetes allows them.

use std::{fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::text_form::text_form;

/// The name of a plan, tenant, limit or policy: an RFC 1123 label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// A text that is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name: use 1 to 63 lowercase letters, digits and hyphens, with a letter or digit \
     first and last"
)]
pub struct InvalidManifestName(pub String);

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the tenant's sandbox. No manifest can have such a name, so that nothing that is kept by the names of
    /// tenants is a sandbox's.
    #[must_use]
    pub fn of_sandbox(&self) -> Self {
        Self(format!("sandbox.{}", self.0).into())
    }
}

impl FromStr for Name {
    type Err = InvalidManifestName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        let valid = (1..=63).contains(&bytes.len())
            && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
            && bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain);
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(InvalidManifestName(text.chars().take(64).collect()))
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

text_form!(Name);

impl JsonSchema for Name {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        crate::schema::text(
            63,
            crate::schema::NAME,
            "use 1 to 63 lowercase letters, digits and hyphens, with a letter or digit first and last",
        )
    }
}
