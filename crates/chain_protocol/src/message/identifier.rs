//! Identifiers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The identifier of a category, reason or other kind; later releases may add kinds. A reader rejects a message with an
/// unknown identifier.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Word")]
pub struct Identifier(pub String);

impl fmt::Debug for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
