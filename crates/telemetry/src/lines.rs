//! Log lines: as JSON, one flat object a line, or as text. A line contains the identifiers of the request in progress
//! and the fields of its event.

use std::fmt::{self, Debug, Display, Write};

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
    request::{RequestIdentifiers, current_request},
};

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
        let (time, level) = ((self.0)(), metadata.level());
        write!(writer, "{{\"timestamp\":\"{time}\",\"level\":\"{level}\",\"target\":")?;
        write_string(&mut writer, metadata.target())?;
        if let Some(RequestIdentifiers { request_id, trace_id }) = current_request() {
            writer.write_str(",\"request_id\":")?;
            write_string(&mut writer, &request_id)?;
            write!(writer, ",\"trace_id\":\"{trace_id}\"")?;
        }
        let mut fields = Fields { writer: writer.by_ref(), outcome: Ok(()) };
        event.record(&mut fields);
        fields.outcome?;
        writer.write_str("}\n")
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
struct Fields<'a> {
    writer: Writer<'a>,
    outcome: fmt::Result,
}

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        if self.outcome.is_ok() {
            self.outcome = self.try_put(field.name(), value);
        }
    }

    fn try_put(
        &mut self,
        name: &str,
        value: impl FnOnce(&mut Writer<'_>) -> fmt::Result,
    ) -> fmt::Result {
        self.writer.write_char(',')?;
        write_string(&mut self.writer, name)?;
        self.writer.write_char(':')?;
        value(&mut self.writer)
    }

    fn put_number(&mut self, field: &Field, value: impl Display) {
        self.put(field, |writer| write!(writer, "{value}"));
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, |writer| {
            writer.write_char('"')?;
            write!(Escaped(writer), "{value:?}")?;
            writer.write_char('"')
        });
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, |writer| write_string(writer, value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put_number(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put_number(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put_number(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.put_number(field, value),
            Err(_) => self.put(field, |writer| write!(writer, "\"{value}\"")),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, |writer| {
            if value.is_finite() { write!(writer, "{value:?}") } else { writer.write_str("null") }
        });
    }
}

/// Writes a text as a JSON string.
fn write_string(writer: &mut impl Write, text: &str) -> fmt::Result {
    writer.write_char('"')?;
    write_escaped(writer, text)?;
    writer.write_char('"')
}

/// Writes a text as the content of a JSON string.
fn write_escaped(writer: &mut impl Write, text: &str) -> fmt::Result {
    let mut rest = text;
    let must_escape = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    while let Some(position) = rest.bytes().position(must_escape) {
        // The bytes that are escaped are characters of their own.
        let Some((plain, tail)) = rest.split_at_checked(position) else { break };
        writer.write_str(plain)?;
        let mut characters = tail.chars();
        match characters.next() {
            Some('\n') => writer.write_str("\\n")?,
            Some('\t') => writer.write_str("\\t")?,
            Some('\r') => writer.write_str("\\r")?,
            Some(quoted @ ('"' | '\\')) => write!(writer, "\\{quoted}")?,
            Some(control) => write!(writer, "\\u{:04x}", u32::from(control))?,
            None => {}
        }
        rest = characters.as_str();
    }
    writer.write_str(rest)
}

/// Writer that escapes texts for a JSON string.
struct Escaped<'a, W>(&'a mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_escaped(self.0, text)
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
            write_string(&mut written, text).unwrap();
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text, "{written}");
        }
    }
}
