//! This release reads messages of an earlier release, and of a later release, whose unknown fields it ignores.
//!
//! `messages/` holds messages as the first release with chain servers wrote them. The files are never changed; a field
//! that is added to a message has a default for older messages.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::{fs, path::PathBuf};

use assay_chain_protocol::message::{
    ChangesAnswer, ChangesQuestion, CopyAnswer, CopyFingerprintAnswer, CopyFingerprintQuestion,
    CopyPartQuestion, CopyQuestion, FlowsAtMostQuestion, RefusedQuestion, RequestEnvelope,
    ServerState, TraceAnswer, TraceQuestion, TransferAnswer, TransferQuestion,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/messages")
}

/// True if `value` has all fields of `said` with equal values.
fn says(value: &Value, said: &Value) -> bool {
    match (value, said) {
        (Value::Object(fields), Value::Object(said)) => {
            said.iter().all(|(name, said)| fields.get(name).is_some_and(|value| says(value, said)))
        }
        (Value::Array(values), Value::Array(said)) => {
            values.len() == said.len() && values.iter().zip(said).all(|(a, b)| says(a, b))
        }
        (value, said) => value == said,
    }
}

/// Depth of a line of a message, and its text.
fn indented(line: &str) -> (usize, &str) {
    let text = line.trim_start();
    (line.len() - text.len(), text)
}

/// A message with a further field in every object that has fixed fields. The message is changed as text: amounts are
/// larger than what a value in memory holds.
fn of_a_later_release(message: &str) -> String {
    let lines: Vec<&str> = message.lines().collect();
    let mut changed = String::new();
    for (nth, line) in lines.iter().enumerate() {
        changed.push_str(line);
        let (depth, text) = indented(line);
        let is_map = text.contains("\"severities\"") || text.contains("\"lists\"");
        if !text.ends_with('{') || is_map {
            continue;
        }
        let inside = lines.iter().skip(nth + 1).take_while(|line| indented(line).0 > depth);
        let fields = inside.filter(|line| {
            let (own, text) = indented(line);
            own == depth + 1 && text.starts_with('"')
        });
        // A value of an enum is an object of one field.
        if fields.count() > 1 {
            changed.push_str("\"of a later release\": {\"a\": [1, null]},");
        }
    }
    changed
}

fn read<T: Serialize + DeserializeOwned>(name: &str) {
    let path = folder().join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let read = |text: &str| {
        let read = serde_json::from_str::<T>(text);
        let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::to_string(&read).unwrap()
    };
    let today = read(&text);
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert!(says(&value(&today), &value(&text)), "{name}: {today}\nis not\n{text}");
    assert_eq!(read(&of_a_later_release(&text)), today, "{name}");
}

/// The name of a message, and the function that parses it.
type Reader = (&'static str, fn(&str));

#[test]
fn messages_of_the_releases_beside_this_one_are_understood() {
    let readers: [Reader; 17] = [
        ("trace.question", read::<RequestEnvelope<TraceQuestion>>),
        ("trace.answer", read::<TraceAnswer>),
        ("trace-with-cluster.answer", read::<TraceAnswer>),
        ("flows-at-most.question", read::<RequestEnvelope<FlowsAtMostQuestion>>),
        ("flows-at-most.answer", read::<Option<TraceAnswer>>),
        ("transfer.question", read::<RequestEnvelope<TransferQuestion>>),
        ("transfer.answer", read::<TransferAnswer>),
        ("transfer-unknown.answer", read::<TransferAnswer>),
        ("state.answer", read::<ServerState>),
        ("changes.question", read::<RequestEnvelope<ChangesQuestion>>),
        ("changes.answer", read::<ChangesAnswer>),
        ("copy.question", read::<RequestEnvelope<CopyQuestion>>),
        ("copy.answer", read::<CopyAnswer>),
        ("copy-part.question", read::<RequestEnvelope<CopyPartQuestion>>),
        ("copy-fingerprint.question", read::<RequestEnvelope<CopyFingerprintQuestion>>),
        ("copy-fingerprint.answer", read::<CopyFingerprintAnswer>),
        ("refusal.answer", read::<RefusedQuestion>),
    ];
    let mut known: Vec<String> = Vec::new();
    for (name, read) in readers {
        read(name);
        known.push(format!("{name}.json"));
    }
    known.sort();
    let files = fs::read_dir(folder()).unwrap();
    let mut files: Vec<String> =
        files.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, known, "every message is read");
}
