//! Rows of a bulk request: JSON objects, one a line or in an array.

use http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    check::check_reference,
    json::text,
    problem::{Code, Problem},
};

/// One row of a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScreenRequest {
    /// Blockchain: its identifier or a well-known name, in any letter case.
    #[schemars(length(min = 1))]
    pub blockchain: String,
    /// Address in any form that the blockchain allows.
    #[schemars(length(min = 1))]
    pub address: String,
    /// Your own reference, at most 128 characters; repeated in the row's answer.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub reference: Option<String>,
}

/// Outcome of reading a line: the row, or a description of the error.
pub type RowResult = Result<ScreenRequest, String>;

impl ScreenRequest {
    /// Reads a row.
    ///
    /// # Errors
    ///
    /// Returns the error as a message for the row's answer.
    pub fn read(line: &[u8]) -> RowResult {
        let line = text(line).map_err(str::to_owned)?;
        if line.trim_ascii().first() != Some(&b'{') {
            return Err("expected a JSON object".to_owned());
        }
        let row: Self = serde_json::from_slice(line).map_err(|error| {
            let text = error.to_string();
            // A row is always line 1: only the column is useful.
            text.replace(" at line 1 column ", " at character ")
        })?;
        check_reference(row.reference.as_deref())
            .map_err(|message| format!("reference: {message}"))?;
        Ok(row)
    }
}

/// Form of the rows of a body, by its `Content-Type`. The answer has the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// One JSON object a line.
    Lines,
    /// One JSON array of objects.
    Array,
}

impl RowFormat {
    /// Returns the form of a body with these header fields.
    ///
    /// # Errors
    ///
    /// Returns a problem that names the expected types.
    pub fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        let is = |known: &&str| media_type.eq_ignore_ascii_case(known);
        if ["application/x-ndjson", "application/jsonl", "application/json-lines"].iter().any(is) {
            return Ok(Self::Lines);
        }
        if is(&"application/json") {
            return Ok(Self::Array);
        }
        let detail = "send one JSON object a line with `Content-Type: application/x-ndjson`, or an array of \
                      JSON objects with `Content-Type: application/json`";
        Err(Problem::new(Code::UnsupportedMediaType, detail))
    }
}

/// Reads an array of rows, of which none is longer than `limit` bytes.
///
/// # Errors
///
/// Returns a problem if the body is no array. Errors in rows are results of these rows.
pub fn read_array(bytes: &[u8], limit: usize) -> Result<Vec<RowResult>, Problem> {
    let bytes = text(bytes).map_err(|reason| Problem::new(Code::MalformedJson, reason))?;
    let rows: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            let message = "expected a JSON array of rows";
            Problem::new(Code::InvalidRequest, format!("body: {message}")).field("body", message)
        } else {
            Problem::new(Code::MalformedJson, format!("the body is not valid JSON: {error}"))
        }
    })?;
    let read = |row: &RawValue| match row.get() {
        row if row.len() > limit => Err(format!("the row is longer than {limit} bytes")),
        row => ScreenRequest::read(row.as_bytes()),
    };
    Ok(rows.into_iter().map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_says_the_form_of_rows() {
        let form = |media_type: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, media_type.parse().unwrap());
            RowFormat::of(&headers).ok()
        };
        for lines in ["application/x-ndjson", "Application/JSONL; charset=utf-8"] {
            assert_eq!(form(lines), Some(RowFormat::Lines));
        }
        assert_eq!(form("application/json;charset=utf-8"), Some(RowFormat::Array));
        for other in ["text/csv", "application/problem+json", ""] {
            assert_eq!(form(other), None);
        }
        assert!(RowFormat::of(&HeaderMap::new()).is_err());
    }

    #[test]
    fn a_wrong_row_of_an_array_does_not_stop_the_others() {
        let long = "1".repeat(100);
        let body = format!(
            r#" [{{"blockchain": "btc", "address": "a"}}, 5, {{"blockchain": "btc"}},
                {{"blockchain": "btc", "address": "{long}"}}] "#
        );
        let rows = read_array(body.as_bytes(), 100).unwrap();
        let told: Vec<Result<&str, &str>> = rows
            .iter()
            .map(|row| row.as_ref().map(|row| row.address.as_str()).map_err(String::as_str))
            .collect();
        let expected = [
            Ok("a"),
            Err("expected a JSON object"),
            Err("missing field `address` at character 21"),
            Err("the row is longer than 100 bytes"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_body_that_is_no_array_is_refused() {
        let code = |body: &[u8]| read_array(body, 100).unwrap_err().code();
        for body in [&b"{}"[..], b"5", b"null"] {
            assert_eq!(code(body), Code::InvalidRequest);
        }
        for body in [&b""[..], b"[", b"[{}] []", b"[1,]", b"\xFF\xFE[\0]\0"] {
            assert_eq!(code(body), Code::MalformedJson);
        }
    }
}
