//! Identifiers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An identifier of something of which there may be more kinds later, such as a category or a reason. A reader that does
/// not know one treats the message as unreadable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Word")]
pub struct Identifier(pub String);

impl fmt::Debug for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
