//! Rules in the Common Expression Language that a cluster's API server checks, in addition to types and ranges. Each
//! rule has a message with the allowed values. The rules are extensions of the schemas; for files,
//! [`resolve()`](crate::resolve()) checks the same conditions.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

/// The schema's keyword for rules.
pub const RULES: &str = "x-kubernetes-validations";

/// A rule about a value: the condition, and the message if the condition does not hold.
#[must_use]
pub fn rule(holds: &str, sentence: &str) -> Value {
    json!({"rule": holds, "message": sentence})
}

/// A rule about one field of an object, which is named by `path`, such as `.window`.
#[must_use]
pub fn field_rule(path: &str, holds: &str, sentence: &str) -> Value {
    json!({"rule": holds, "message": sentence, "fieldPath": path})
}

/// The pattern of a name.
pub(crate) const NAME: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";

/// The schema of a text with a pattern, which `sentence` describes.
pub(crate) fn text(longest: usize, form: &str, sentence: &str) -> Schema {
    let rules = [rule(&format!("self.matches('{form}')"), sentence)];
    json_schema!({"type": "string", "minLength": 1, "maxLength": longest, RULES: rules})
}
