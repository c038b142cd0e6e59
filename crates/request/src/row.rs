//! Row of a bulk request: one JSON object a line.

use http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::Deserialize;

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

/// Refuses a body whose `Content-Type` is not JSON lines.
///
/// # Errors
///
/// Returns a problem that names the expected type.
pub fn require_type(headers: &HeaderMap) -> Result<(), Problem> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let known = ["application/x-ndjson", "application/jsonl", "application/json-lines"];
    if known.iter().any(|known| media_type.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let detail = "send one JSON object a line with `Content-Type: application/x-ndjson`";
    Err(Problem::new(Code::UnsupportedMediaType, detail))
}
