//! The questions of `docs/chain-protocol.md`, from the types of the messages.

use std::fmt::Write as _;

use assay_chain_protocol::message::{
    BranchBlocks, BranchBlocksQuestion, ChangesAnswer, ChangesQuestion, ClusterAnswer,
    ClusterQuestion, CopyAnswer, CopyFingerprintAnswer, CopyFingerprintQuestion, CopyPartQuestion,
    CopyQuestion, FlowsAtMostQuestion, HistoryAnswer, HistoryQuestion, Question, ServerState,
    TraceAnswer, TraceQuestion, TransactionQuestion, TransferAnswer, TransferQuestion,
};
use assay_engine::utxo::TransactionView;
use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Map, Value};

use super::section;

/// A message: its title, and its schema.
fn message<T: JsonSchema>(title: &str) -> (String, Schema) {
    (title.to_owned(), schema_for!(T))
}

/// The type of a field in words.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let list = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[key].as_array());
    if let Some(list) = list {
        let kinds: Vec<String> = list.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    if let Some(constant) = schema["const"].as_str() {
        return format!("`{constant}`");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("`{}`", value.as_str().unwrap_or_default()))
            .collect();
        return values.join(" or ");
    }
    let name = |name: &str| match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" if schema["properties"].is_object() => {
            let fields = schema["properties"].as_object().unwrap();
            let fields: Vec<String> =
                fields.iter().map(|(name, field)| format!("`{name}`: {}", kind(field))).collect();
            format!("object of {}", fields.join(", "))
        }
        "object" if schema["additionalProperties"].is_object() => {
            format!("map to {}", kind(&schema["additionalProperties"]))
        }
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(one) => name(one),
        Value::Array(several) => {
            let names: Vec<String> =
                several.iter().filter_map(|it| Some(name(it.as_str()?))).collect();
            names.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.replace('\n', " ").replace('|', "\\|");
    // Links of the code's own documentation lead nowhere here.
    text.replace("[`", "`").replace("`]", "`")
}

/// The fields of a type, or its values.
fn shape(schema: &Value) -> String {
    let mut text = String::new();
    if let Some(fields) = schema["properties"].as_object() {
        text.push_str("| field | type | meaning |\n|---|---|---|\n");
        for (name, field) in fields {
            let _ = writeln!(text, "| `{name}` | {} | {} |", kind(field), description(field));
        }
    } else if let Some(values) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        text.push_str("| value | meaning |\n|---|---|\n");
        for value in values {
            let _ = writeln!(text, "| {} | {} |", kind(value), description(value));
        }
    } else {
        let _ = writeln!(text, "{}", kind(schema));
    }
    text
}

#[test]
fn the_questions_of_the_chain_protocol() {
    let question = |path: &str| format!("Question `{path}`");
    let answer = |path: &str| format!("Answer to `{path}`");
    let messages = [
        message::<TraceQuestion>(&question(TraceQuestion::PATH)),
        message::<TraceAnswer>(&answer(TraceQuestion::PATH)),
        message::<FlowsAtMostQuestion>(&question(FlowsAtMostQuestion::PATH)),
        message::<Option<TraceAnswer>>(&answer(FlowsAtMostQuestion::PATH)),
        message::<TransferQuestion>(&question(TransferQuestion::PATH)),
        message::<TransferAnswer>(&answer(TransferQuestion::PATH)),
        message::<TransactionQuestion>(&question(TransactionQuestion::PATH)),
        message::<Option<TransactionView>>(&answer(TransactionQuestion::PATH)),
        message::<HistoryQuestion>(&question(HistoryQuestion::PATH)),
        message::<Option<HistoryAnswer>>(&answer(HistoryQuestion::PATH)),
        message::<ClusterQuestion>(&question(ClusterQuestion::PATH)),
        message::<ClusterAnswer>(&answer(ClusterQuestion::PATH)),
        message::<ChangesQuestion>(&question(ChangesQuestion::PATH)),
        message::<ChangesAnswer>(&answer(ChangesQuestion::PATH)),
        message::<BranchBlocksQuestion>(&question(BranchBlocksQuestion::PATH)),
        message::<Option<BranchBlocks>>(&answer(BranchBlocksQuestion::PATH)),
        message::<ServerState>(&answer("state")),
        message::<CopyQuestion>(&question(CopyQuestion::PATH)),
        message::<CopyAnswer>(&answer(CopyQuestion::PATH)),
        message::<CopyPartQuestion>(&question(CopyPartQuestion::PATH)),
        message::<CopyFingerprintQuestion>(&question(CopyFingerprintQuestion::PATH)),
        message::<CopyFingerprintAnswer>(&answer(CopyFingerprintQuestion::PATH)),
    ];
    let (mut text, mut shared) = (String::new(), Map::new());
    for (title, schema) in messages {
        let mut schema = schema.to_value();
        if let Some(definitions) = schema["$defs"].as_object() {
            shared.extend(definitions.clone());
        }
        schema.as_object_mut().unwrap().remove("$defs");
        let _ = writeln!(text, "### {title}\n\n{}\n\n{}", description(&schema), shape(&schema));
    }
    let mut names: Vec<&String> = shared.keys().collect();
    names.sort();
    text.push_str("## Types\n");
    for name in names {
        let schema = &shared[name];
        let _ = write!(text, "\n### {name}\n\n{}\n\n{}", description(schema), shape(schema));
    }
    section("docs/chain-protocol.md", "questions", text.trim_end());
}
