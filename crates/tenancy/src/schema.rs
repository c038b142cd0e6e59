//! Rules in the Common Expression Language that a cluster's API server checks, beside types and ranges. Each
//! has a message that says what is allowed. They are extensions of the schemas; for files,
//! [`resolve()`](crate::resolve()) checks the same.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use crate::Period;

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

/// The rule that the period in a field lies between two others.
#[must_use]
pub fn between(field: &str, least: Period, most: Period) -> Value {
    let (text, from, to) = (format!("self.{field}"), least.seconds(), most.seconds());
    // A text that is no period breaks the rule of its own type already.
    let holds = format!(
        "!{text}.matches('{PERIOD}') || ({seconds} >= {from} && {seconds} <= {to})",
        seconds = seconds(&text),
    );
    field_rule(&format!(".{field}"), &holds, &format!("must be from {least} to {most}"))
}

/// The seconds of a period, as an expression.
#[must_use]
pub fn seconds(period: &str) -> String {
    format!(
        "int({period}.substring(0, size({period}) - 1)) * \
         {{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}}[{period}.substring(size({period}) - 1)]"
    )
}

/// The form of a period. Nine digits are enough for anything, and fit into an integer in seconds.
pub(crate) const PERIOD: &str = "^[0-9]{1,9}[smhd]$";

/// The form of a name.
pub(crate) const NAME: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";

/// A text of a form, and a sentence that says which.
pub(crate) fn text(longest: usize, form: &str, sentence: &str) -> Schema {
    let rules = [rule(&format!("self.matches('{form}')"), sentence)];
    json_schema!({"type": "string", "minLength": 1, "maxLength": longest, RULES: rules})
}
