//! Rules in the Common Expression Language that a cluster's API server checks, beside types and ranges. Each
//! has a message that says what is allowed. They are extensions of the schemas; for files,
//! [`resolve()`](crate::resolve()) checks the same.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

/// The schema's keyword for rules.
pub const RULES: &str = "x-kubernetes-validations";

/// A rule about a value: what must hold, and otherwise what would be right.
#[must_use]
pub fn rule(holds: &str, sentence: &str) -> Value {
    json!({"rule": holds, "message": sentence})
}

/// A rule about one field of an object, which is named by `path`, such as `.window`.
#[must_use]
pub fn field_rule(path: &str, holds: &str, sentence: &str) -> Value {
    json!({"rule": holds, "message": sentence, "fieldPath": path})
}

/// The form of a name.
pub(crate) const NAME: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";

/// A text of a form, and a sentence that says which.
pub(crate) fn text(longest: usize, form: &str, sentence: &str) -> Schema {
    let rules = [rule(&format!("self.matches('{form}')"), sentence)];
    json_schema!({"type": "string", "minLength": 1, "maxLength": longest, RULES: rules})
}
