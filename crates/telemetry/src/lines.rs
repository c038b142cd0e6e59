//! Log lines as JSON: one flat object a line. A line contains the fields of the surrounding spans (the request's
//! identifiers) and of the line itself.

use std::fmt::{self, Debug};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::{JsonFields, Writer},
    },
    registry::LookupSpan,
};

use crate::TimeSource;

/// Formats one event as one line, with the time.
pub(super) struct JsonLines(pub(super) TimeSource);

impl<S> FormatEvent<S, JsonFields> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    JsonFields: for<'a> FormatFields<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let metadata = event.metadata();
        let mut line = head((self.0)(), metadata.level().as_str(), metadata.target());
        for span in context.event_scope().into_iter().flatten() {
            if let Some(known) = span.extensions().get::<FormattedFields<JsonFields>>()
                && let Ok(Value::Object(known)) = serde_json::from_str(&known.fields)
            {
                line.extend(known);
            }
        }
        line.extend(fields.0);
        writeln!(writer, "{}", Value::Object(line))
    }
}

/// Returns the first fields of every line.
fn head(now: Timestamp, level: &str, target: &str) -> Map<String, Value> {
    let pairs =
        [("timestamp", now.to_string()), ("level", level.into()), ("target", target.into())];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

/// An event's fields as JSON.
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.put(
            field,
            u64::try_from(value).map_or_else(|_| value.to_string().into(), Value::from),
        );
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }
}
