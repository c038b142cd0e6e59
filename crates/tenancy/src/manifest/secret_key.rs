//! One key of a Secret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Name;

/// One key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// The Secret's name.
    pub name: Name,
    /// The key in it.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn default_key() -> String {
    "url".into()
}
