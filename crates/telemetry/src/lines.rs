//! Log lines: as JSON, one flat object a line, or as text. A line contains the identifiers of the request in progress
//! and the fields of its event.

use std::fmt::{self, Debug, Write};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Writer},
    },
    registry::LookupSpan,
};

use crate::{
    TimeSource,
    request::{RequestIdentifiers, current_request, with_current_request},
};

/// Usual size of a line of JSON in bytes.
const LINE_BYTES: usize = 512;

/// Formats one event as one line of JSON, with the time.
pub(super) struct JsonLines(pub(super) TimeSource);

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut line = String::with_capacity(LINE_BYTES);
        let (time, level) = ((self.0)(), metadata.level());
        write!(line, "{{\"timestamp\":\"{time}\",\"level\":\"{level}\",\"target\":")?;
        write_string(&mut line, metadata.target());
        with_current_request(|RequestIdentifiers { request_id, trace_id }| {
            line.push_str(",\"request_id\":");
            write_string(&mut line, request_id);
            line.push_str(",\"trace_id\":\"");
            push_hex(&mut line, trace_id.to_bytes());
            line.push('"');
        });
        let mut fields = Fields { line, outcome: Ok(()) };
        event.record(&mut fields);
        fields.outcome?;
        fields.line.push_str("}\n");
        writer.write_str(&fields.line)
    }
}

/// Formats one event as text for people.
pub(super) struct TextLines {
    /// Formats the event itself.
    pub(super) event: Format,
}

impl<S, N> FormatEvent<S, N> for TextLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(RequestIdentifiers { request_id, trace_id }) = current_request() else {
            return self.event.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.event.format_event(context, Writer::new(&mut line), event)?;
        writeln!(writer, "{} request_id={request_id} trace_id={trace_id}", line.trim_end())
    }
}

/// Writer of an event's fields as members of a JSON object.
struct Fields {
    line: String,
    outcome: fmt::Result,
}

impl Fields {
    /// Begins the member of a field, whose value follows.
    fn begin(&mut self, field: &Field) -> &mut String {
        self.line.push(',');
        write_string(&mut self.line, field.name());
        self.line.push(':');
        &mut self.line
    }

    fn put(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let written = self.begin(field).write_fmt(value);
        self.outcome = self.outcome.and(written);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let line = self.begin(field);
        line.push('"');
        let written = write!(Escaped(line), "{value:?}");
        line.push('"');
        self.outcome = self.outcome.and(written);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        write_string(self.begin(field), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, format_args!("{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, format_args!("{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, format_args!("{value}"));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.record_u64(field, value),
            Err(_) => self.put(field, format_args!("\"{value}\"")),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.put(field, format_args!("{value:?}"));
        } else {
            self.put(field, format_args!("null"));
        }
    }
}

/// Adds bytes as hexadecimal digits.
fn push_hex(line: &mut String, bytes: impl IntoIterator<Item = u8>) {
    let digits = bytes.into_iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    line.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
}

/// Adds a text as a JSON string.
fn write_string(line: &mut String, text: &str) {
    line.push('"');
    write_escaped(line, text);
    line.push('"');
}

const fn must_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

/// Adds a text as the content of a JSON string.
fn write_escaped(line: &mut String, text: &str) {
    // Nearly all texts are plain; a search that reads all bytes runs on many at once.
    if !text.bytes().fold(false, |found, byte| found | must_escape(byte)) {
        line.push_str(text);
        return;
    }
    for character in text.chars() {
        match character {
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            '\r' => line.push_str("\\r"),
            '"' | '\\' => line.extend(['\\', character]),
            '\0'..='\x1f' => {
                line.push_str("\\u00");
                push_hex(line, u8::try_from(character));
            }
            plain => line.push(plain),
        }
    }
}

/// Writer that escapes texts for a JSON string.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_escaped(self.0, text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_as_json_is_read() {
        for text in [
            "",
            "plain",
            "a \"quoted\" \\ text",
            "line\nline\r\n\ttab",
            "\0\u{1f}\u{7f}",
            "ä € \u{1f600}\"",
        ] {
            let mut written = String::new();
            write_string(&mut written, text);
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text, "{written}");
        }
    }
}
