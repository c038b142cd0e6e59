//! JSON values that are kept for long and read seldom.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON value kept as text, because a parsed tree takes ten times the memory. There is one such JSON value for each
/// manifest.
#[derive(Clone)]
pub struct CompactJson(Box<str>);

impl CompactJson {
    /// The value.
    #[must_use]
    pub fn value(&self) -> Value {
        // The text was serialized from a value.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl PartialEq for CompactJson {
    fn eq(&self, other: &Self) -> bool {
        // The same value can be written in more than one order.
        self.0 == other.0 || self.value() == other.value()
    }
}

impl Default for CompactJson {
    fn default() -> Self {
        Self::from(&Value::Null)
    }
}

impl From<&Value> for CompactJson {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Debug for CompactJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for CompactJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CompactJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&Value::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_are_equal_in_any_notation() {
        let read = |text: &str| serde_json::from_str::<CompactJson>(text).unwrap();
        assert_eq!(read(r#"{"b": [1, "ü"], "a": null}"#), read(r#"{"a":null,"b":[1,"\u00fc"]}"#));
        assert_ne!(read("1"), read("2"));
    }

    proptest! {
        #[test]
        fn a_value_survives_a_round_trip(text in ".*", number: i64, float: f64, is_so: bool) {
            prop_assume!(float.is_finite());
            let value = json!({text.clone(): [number, {"float": float, "is": is_so}, text, null]});
            let compact = CompactJson::from(&value);
            prop_assert_eq!(compact.value(), value.clone());
            prop_assert_eq!(serde_json::to_value(&compact).unwrap(), value);
        }
    }
}
