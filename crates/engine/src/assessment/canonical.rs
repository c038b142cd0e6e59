//! Canonical JSON (RFC 8785) of JSON values.
//!
//! The library that knows the format sorts the fields of an object through several copies of each. Objects are sorted
//! here, and numbers other than integers are left to the library.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Largest integer up to which every integer is a number of JavaScript.
const MAX_SAFE_INTEGER: u64 = 1 << 53;

/// Returns the canonical JSON of a value.
pub(super) fn to_vec(value: &Value) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4096);
    write(value, &mut bytes)?;
    Ok(bytes)
}

fn write(value: &Value, to: &mut Vec<u8>) -> serde_json::Result<()> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => serde_json::to_writer(to, value)?,
        Value::Number(number) if is_safe_integer(number) => serde_json::to_writer(to, number)?,
        Value::Number(number) => serde_json_canonicalizer::to_writer(number, to)?,
        Value::Array(values) => {
            to.push(b'[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    to.push(b',');
                }
                write(value, to)?;
            }
            to.push(b']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by(|(one, _), (other, _)| order(one, other));
            to.push(b'{');
            for (index, (name, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    to.push(b',');
                }
                serde_json::to_writer(&mut *to, name)?;
                to.push(b':');
                write(value, to)?;
            }
            to.push(b'}');
        }
    }
    Ok(())
}

fn is_safe_integer(number: &Number) -> bool {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    magnitude.is_some_and(|magnitude| magnitude <= MAX_SAFE_INTEGER)
}

/// Compares names of fields by their code units in UTF-16.
fn order(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        one.cmp(other)
    } else {
        one.encode_utf16().cmp(other.encode_utf16())
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Generates values with names and texts of all kinds, and numbers around the bounds of integers.
    fn values() -> impl Strategy<Value = Value> {
        let around = |bound: i64| (bound - 2..bound + 3).prop_map(Value::from);
        let one = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (0..1001_u16).prop_map(|tenths| Value::from(f64::from(tenths) / 10.0)),
            around(1 << 53),
            around(-(1 << 53)),
            any::<String>().prop_map(Value::from),
            "[\\x00-\\x7f]{0,9}".prop_map(Value::from),
        ];
        let names = prop_oneof![
            any::<String>(),
            "[a-c_\"\\\\\\x00-\\x1f]{0,3}",
            "[z\u{ffff}\u{10000}]{0,2}"
        ];
        one.prop_recursive(4, 64, 8, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..8).prop_map(Value::from),
                vec((names.clone(), inner), 0..8).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_json_is_that_of_the_library(value in values()) {
            let expected = serde_json_canonicalizer::to_string(&value).unwrap();
            prop_assert_eq!(String::from_utf8(to_vec(&value).unwrap()).unwrap(), expected);
        }
    }
}
