//! One key of a Secret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Name;

/// One key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// Name of the Secret.
    pub name: Name,
    /// Key in the Secret. Default `url`.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn default_key() -> String {
    "url".into()
}
