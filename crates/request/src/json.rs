//! Parser for JSON bodies, strict about every field.

use http::{HeaderMap, header};
use serde::de::{DeserializeOwned, IgnoredAny, value::MapDeserializer};

use crate::problem::{Code, Problem};

/// Refuses a body whose `Content-Type` is not JSON.
///
/// # Errors
///
/// Returns a problem that names the expected type.
pub fn require_type(headers: &HeaderMap) -> Result<(), Problem> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    if media_type.trim().eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let found = match content_type {
        Some(found) => format!("`{}`", found.chars().take(100).collect::<String>()),
        None => "missing".to_owned(),
    };
    let detail = format!("Content-Type is {found}; send `Content-Type: application/json`");
    Err(Problem::new(Code::UnsupportedMediaType, detail))
}

/// Parses `T` from JSON; an error names the wrong field.
///
/// # Errors
///
/// Returns a problem that describes the error and names the field.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let bytes = text(bytes).map_err(|reason| Problem::new(Code::MalformedJson, reason))?;
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(not_an_object(bytes));
    }
    // The path of a field is only needed for an error, and costs more than the rest.
    if let Ok(parsed) = serde_json::from_slice(bytes) {
        return Ok(parsed);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() { invalid_field(&path, &error) } else { malformed(&error) }
    })?;
    deserializer.end().map_err(|error| {
        Problem::new(Code::MalformedJson, format!("unexpected text after the JSON value: {error}"))
    })?;
    Ok(parsed)
}

/// Reads `T` from the fields of a JSON object, of which some may be repeated; an error names the wrong field.
///
/// # Errors
///
/// Returns a problem that describes the error and names the field.
pub(crate) fn parse_fields<T: DeserializeOwned>(
    fields: Vec<(String, serde_json::Value)>,
) -> Result<T, Problem> {
    let deserializer = MapDeserializer::new(fields.into_iter());
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        invalid_field(&path, &error.into_inner())
    })
}

/// Returns the text without a byte order mark of UTF-8, which some programs write before JSON (RFC 8259, section 8.1).
///
/// # Errors
///
/// Returns a message if the text is UTF-16.
pub(crate) fn text(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let is_utf16 = bytes.starts_with(b"\xFF\xFE")
        || bytes.starts_with(b"\xFE\xFF")
        || matches!(bytes, [0, ..] | [_, 0, ..]);
    if is_utf16 {
        return Err("the body is UTF-16; send JSON as UTF-8");
    }
    Ok(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes))
}

/// Returns the problem of a body that is not a JSON object. An array is refused too, although it could
/// be parsed as fields in order.
fn not_an_object(bytes: &[u8]) -> Problem {
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => {
            let message = "expected a JSON object";
            Problem::new(Code::InvalidRequest, format!("body: {message}")).field("body", message)
        }
        Err(error) => malformed(&error),
    }
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem::new(Code::MalformedJson, format!("the body is not valid JSON: {error}"))
}

/// Returns the problem of a value of the wrong type, or of a missing, unknown or repeated field.
fn invalid_field(path: &str, error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    // The path of missing and repeated fields is the object's; their name is in the message.
    let field = match path {
        "." => message.split('`').nth(1).unwrap_or("body"),
        path => path,
    };
    Problem::new(Code::InvalidRequest, format!("{field}: {message}")).field(field, message)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Request {
        #[serde(rename = "blockchain")]
        _blockchain: String,
        #[serde(rename = "count")]
        _count: Option<u8>,
    }

    #[test]
    fn a_byte_order_mark_is_ignored_and_utf_16_told() {
        let value: serde_json::Value = parse(b"\xEF\xBB\xBF{\"a\": 1}").unwrap();
        assert_eq!(value["a"], 1);
        for bytes in [&b"\xFF\xFE{\0}\0"[..], b"\xFE\xFF\0{\0}", b"{\0}\0", b"\0{\0}"] {
            let problem = parse::<serde_json::Value>(bytes).unwrap_err();
            let detail = problem.details("/", "").detail;
            assert_eq!(detail, "the body is UTF-16; send JSON as UTF-8");
        }
    }

    #[test]
    fn an_error_names_the_wrong_field() {
        let cases: [(&[u8], &str, &str); 10] = [
            (
                b"",
                "malformed_json",
                "the body is not valid JSON: EOF while parsing a value at line 1 column 0",
            ),
            (b"{}", "invalid_request", "blockchain: missing field `blockchain`"),
            (
                br#"{"blockchain": 5}"#,
                "invalid_request",
                "blockchain: invalid type: integer `5`, expected a string",
            ),
            (
                br#"{"blockchain": "a", "count": 300}"#,
                "invalid_request",
                "count: invalid value: integer `300`, expected u8",
            ),
            (
                br#"{"blockchain": "a", "adress": 1}"#,
                "invalid_request",
                "adress: unknown field `adress`, expected `blockchain` or `count`",
            ),
            (
                br#"{"blockchain": "a", "blockchain": "b"}"#,
                "invalid_request",
                "blockchain: duplicate field `blockchain`",
            ),
            (br#"["btc", 1]"#, "invalid_request", "body: expected a JSON object"),
            (
                b"{\"blockchain\": \"a\"",
                "malformed_json",
                "the body is not valid JSON: EOF while parsing an object at line 1 column 18",
            ),
            (
                b"{\"blockchain\": \"\xFF\"}",
                "malformed_json",
                "the body is not valid JSON: invalid unicode code point at line 1 column 17",
            ),
            (
                b"{\"blockchain\": \"a\"} x",
                "malformed_json",
                "unexpected text after the JSON value: trailing characters at line 1 column 21",
            ),
        ];
        for (bytes, code, detail) in cases {
            let problem = parse::<Request>(bytes).unwrap_err();
            let details = problem.details("/", "");
            assert_eq!((details.code.as_str(), details.detail.as_str()), (code, detail));
        }
        let deep = vec![b'['; 100_000];
        assert_eq!(parse::<serde_json::Value>(&deep).unwrap_err().code(), Code::MalformedJson);
    }
}
