//! Body of a check of many addresses: bodies of checks of one address, each valid or not by itself.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use crate::{
    check::CheckRequest,
    json,
    problem::{Code, Problem},
};

/// Most checks of one request.
pub const MOST_CHECKS: usize = 100;

/// Request to check many addresses: 1 to 100 bodies of a check of one address.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressesRequest {
    /// The checks, answered in this order: 1 to 100.
    #[schemars(with = "Vec<CheckRequest>", length(min = 1, max = MOST_CHECKS))]
    pub checks: Vec<CheckItem>,
}

/// One check of a request with many: the fields of an object, which are read as the body of a check of one address.
#[derive(Clone, Debug)]
pub struct CheckItem(Vec<(String, Value)>);

impl AddressesRequest {
    /// Reads the body of a check of many addresses.
    ///
    /// # Errors
    ///
    /// Returns a problem that describes the error.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        json::parse(bytes)
    }

    /// Returns the checks, each with its request or its problem.
    ///
    /// # Errors
    ///
    /// Returns a problem if there is no check, or more than [`MOST_CHECKS`].
    pub fn checks(self) -> Result<Vec<Result<CheckRequest, Problem>>, Problem> {
        let count = self.checks.len();
        if !(1..=MOST_CHECKS).contains(&count) {
            let message = format!("has {count} checks: 1 to {MOST_CHECKS} are allowed");
            let problem = Problem::new(Code::InvalidRequest, format!("checks: {message}"));
            return Err(problem.field("checks", message));
        }
        Ok(self.checks.into_iter().map(|CheckItem(fields)| json::parse_fields(fields)).collect())
    }
}

impl<'de> Deserialize<'de> for CheckItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

/// Reads the fields of an object, repeated ones too.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = CheckItem;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the object of a check")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CheckItem, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(CheckItem(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(body: &str) -> Result<Vec<Result<CheckRequest, Problem>>, Problem> {
        AddressesRequest::read(body.as_bytes())?.checks()
    }

    /// The code and the first wrong field of a problem.
    fn told(problem: &Problem) -> (String, String) {
        let details = problem.details("/", "");
        (details.code, details.errors[0].field.clone())
    }

    #[test]
    fn each_check_is_valid_or_not_by_itself() {
        let found = checks(
            r#"{"checks": [
                {"blockchain": "btc", "address": "x", "reference": "1"},
                {"blockchain": "btc", "adress": "x"},
                {"blockchain": "btc", "address": 5},
                {"blockchain": "btc", "address": "x", "address": "y"},
                {"blockchain": "btc"}
            ]}"#,
        );
        let mut found = found.unwrap().into_iter();
        assert_eq!(found.next().unwrap().unwrap().reference.as_deref(), Some("1"));
        for field in ["adress", "address", "address", "address"] {
            let wrong = told(&found.next().unwrap().unwrap_err());
            assert_eq!(wrong, ("invalid_request".into(), field.into()));
        }
    }

    #[test]
    fn a_body_without_checks_or_with_too_many_is_refused() {
        let one = r#"{"blockchain": "btc", "address": "x"}"#;
        let of = |count: usize| format!("{{\"checks\": [{}]}}", vec![one; count].join(","));
        assert_eq!(checks(&of(MOST_CHECKS)).unwrap().len(), MOST_CHECKS);
        for body in [&*of(0), &*of(MOST_CHECKS + 1), "{}", r#"{"checks": 1}"#] {
            assert_eq!(
                told(&checks(body).unwrap_err()),
                ("invalid_request".into(), "checks".into())
            );
        }
        let (code, field) = told(&checks(r#"{"checks": [5]}"#).unwrap_err());
        assert_eq!((&*code, &*field), ("invalid_request", "checks[0]"));
        assert!(checks(r#"{"checks": [}"#).is_err());
    }
}
