//! The questions of `docs/chain-protocol.md`, and a JSON Schema of each, from the types of the messages.

use std::fmt::Write as _;

use assay_chain_protocol::message::{
    AccountTransactionQuestion, AccountTransferQuestion, BranchBlocksQuestion, ChangesQuestion,
    ClusterQuestion, CopyFingerprintQuestion, CopyPartQuestion, CopyQuestion, FlowsAtMostQuestion,
    HistoryQuestion, Question, RefusedQuestion, RequestEnvelope, ServerState, TimelineQuestion,
    TraceQuestion, TransactionQuestion, TransferQuestion,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::{expect, section};

/// A part of a message by its name.
type Part = (&'static str, fn(&mut SchemaGenerator) -> Schema);

/// Removes rustdoc links from a description.
fn without_links(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" => {
                        *text = text.replace('\n', " ").replace("[`", "`").replace("`]", "`");
                    }
                    field => without_links(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_links),
        _ => {}
    }
}

/// Compares the schema of a question with its file. Returns the question's row in the table of all.
fn row(path: &str, description: &str, parts: &[Part]) -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let properties: serde_json::Map<String, Value> = parts
        .iter()
        .map(|(name, part)| ((*name).to_owned(), part(&mut generator).to_value()))
        .collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": path,
        "description": description,
        "properties": properties,
        "$defs": generator.take_definitions(true),
    });
    without_links(&mut schema);
    let file = format!("chain-protocol/{path}.json");
    let text = serde_json::to_string_pretty(&schema).unwrap();
    expect(&format!("docs/{file}"), &format!("{text}\n"));
    format!("| [`{path}`]({file}) | {description} |\n")
}

/// The description of a type.
fn description<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T).to_value();
    let text = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    text.split_once("`: ").map_or(text.clone(), |(_, what)| what.to_owned())
}

fn question<Q: Question + JsonSchema>() -> String
where
    Q::Answer: JsonSchema,
{
    let parts: [Part; 2] = [
        ("question", |generator| generator.subschema_for::<RequestEnvelope<Q>>()),
        ("answer", |generator| generator.subschema_for::<Q::Answer>()),
    ];
    row(Q::PATH, &description::<Q>(), &parts)
}

#[test]
fn the_questions_of_the_chain_protocol() {
    let copy_part: [Part; 1] =
        [("question", |generator| generator.subschema_for::<RequestEnvelope<CopyPartQuestion>>())];
    let state: [Part; 1] = [("answer", |generator| generator.subschema_for::<ServerState>())];
    let refusal: [Part; 1] = [("answer", |generator| generator.subschema_for::<RefusedQuestion>())];
    let rows = [
        question::<TraceQuestion>(),
        question::<FlowsAtMostQuestion>(),
        question::<TransferQuestion>(),
        question::<TransactionQuestion>(),
        question::<AccountTransferQuestion>(),
        question::<AccountTransactionQuestion>(),
        question::<HistoryQuestion>(),
        question::<TimelineQuestion>(),
        question::<ClusterQuestion>(),
        question::<ChangesQuestion>(),
        question::<BranchBlocksQuestion>(),
        row("state", "the state of one chain on a server (a `GET`)", &state),
        question::<CopyQuestion>(),
        row(CopyPartQuestion::PATH, &description::<CopyPartQuestion>(), &copy_part),
        question::<CopyFingerprintQuestion>(),
        row("refusal", "an answer that is no result, to any question", &refusal),
    ];
    let mut text = String::from("| question | answer |\n|---|---|\n");
    for row in rows {
        let _ = write!(text, "{row}");
    }
    section("docs/chain-protocol.md", "questions", text.trim_end());
}
