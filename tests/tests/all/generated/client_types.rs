//! Types of the clients in Python and TypeScript, printed from the API's description.
//!
//! A closed enumeration is a union of its values; an open one accepts any text.

use std::fmt::Write as _;

use assay_api::openapi;
use serde_json::{Map, Value};

use super::expect;

const PYTHON: &str = "clients/python/src/assay_risk/types.py";
const TYPESCRIPT: &str = "clients/typescript/src/types.ts";
const GENERATED: &str = "Types of the API. Generated from its description: run `just generate`.";

/// Language that types are printed in.
trait Language {
    /// Text, number, whole number, truth value, and null.
    const TEXT: &'static str;
    const NUMBER: &'static str;
    const INTEGER: &'static str;
    const BOOLEAN: &'static str;
    const NULL: &'static str;

    fn list(item: &str) -> String;
    fn map(value: &str) -> String;
    fn values(values: &[&str]) -> String;
}

struct Python;
struct TypeScript;

impl Language for Python {
    const TEXT: &'static str = "str";
    const NUMBER: &'static str = "float";
    const INTEGER: &'static str = "int";
    const BOOLEAN: &'static str = "bool";
    const NULL: &'static str = "None";

    fn list(item: &str) -> String {
        format!("list[{item}]")
    }

    fn map(value: &str) -> String {
        format!("dict[str, {value}]")
    }

    fn values(values: &[&str]) -> String {
        format!("Literal[\"{}\"]", values.join("\", \""))
    }
}

impl Language for TypeScript {
    const TEXT: &'static str = "string";
    const NUMBER: &'static str = "number";
    const INTEGER: &'static str = "number";
    const BOOLEAN: &'static str = "boolean";
    const NULL: &'static str = "null";

    fn list(item: &str) -> String {
        if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
    }

    fn map(value: &str) -> String {
        format!("Record<string, {value}>")
    }

    fn values(values: &[&str]) -> String {
        format!("\"{}\"", values.join("\" | \""))
    }
}

/// The expression of a schema that is no named object.
fn expression<L: Language>(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap().to_owned();
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choices: Vec<String> = choices.iter().map(expression::<L>).collect();
        return choices.join(" | ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let of_kind = |kind: &&str| match *kind {
        "string" => match schema["enum"].as_array() {
            Some(values) => L::values(&texts(values)),
            None => L::TEXT.to_owned(),
        },
        "number" => L::NUMBER.to_owned(),
        "integer" => L::INTEGER.to_owned(),
        "boolean" => L::BOOLEAN.to_owned(),
        "null" => L::NULL.to_owned(),
        "array" => L::list(&expression::<L>(&schema["items"])),
        "object" => L::map(&expression::<L>(&schema["additionalProperties"])),
        other => panic!("unknown type {other}"),
    };
    assert!(!kinds.is_empty(), "no type: {schema}");
    kinds.iter().map(of_kind).collect::<Vec<_>>().join(" | ")
}

fn texts(values: &[Value]) -> Vec<&str> {
    values.iter().filter_map(Value::as_str).collect()
}

/// A description without the breaks within its paragraphs.
fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let joined = |paragraph: &str| {
        // Lines of a table stay apart.
        if paragraph.starts_with('|') {
            paragraph.to_owned()
        } else {
            paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
        }
    };
    text.split("\n\n").map(joined).collect::<Vec<_>>().join("\n\n")
}

/// The properties of an object: name, schema, and true if it is always there.
fn properties(schema: &Value) -> Option<Vec<(&str, &Value, bool)>> {
    let required = schema["required"].as_array();
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object()?.iter();
    Some(properties.map(|(name, schema)| (&**name, schema, required.contains(&&**name))).collect())
}

fn schemas(document: &Value) -> &Map<String, Value> {
    document["components"]["schemas"].as_object().unwrap()
}

/// True if Python accepts a name as that of an attribute.
fn is_python_name(name: &str) -> bool {
    !["from", "class", "import", "in", "is", "not"].contains(&name) && !name.contains('-')
}

fn python(document: &Value) -> String {
    let mut text = format!(
        "\"\"\"{GENERATED}\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import Literal, NotRequired, TypeAlias, TypedDict\n"
    );
    let quote = |text: &str| text.replace('\\', "\\\\").replace("\"\"\"", "'''");
    for (name, schema) in schemas(document) {
        let about = quote(&description(schema));
        let field = |kind: &Value, is_required: bool| {
            let kind = expression::<Python>(kind);
            if is_required { kind } else { format!("NotRequired[{kind}]") }
        };
        text.push_str("\n\n");
        match properties(schema) {
            Some(all) if all.iter().all(|(name, ..)| is_python_name(name)) => {
                writeln!(text, "class {name}(TypedDict):\n    \"\"\"{about}\"\"\"\n").unwrap();
                for (name, schema, is_required) in all {
                    let about = quote(&description(schema));
                    let kind = field(schema, is_required);
                    writeln!(text, "    {name}: {kind}\n    \"\"\"{about}\"\"\"").unwrap();
                }
            }
            Some(all) => {
                // The values are no annotations: types that are defined further below are named by texts.
                writeln!(text, "{name} = TypedDict(\n    \"{name}\",\n    {{").unwrap();
                for (name, schema, is_required) in all {
                    let kind = field(schema, is_required).replace('"', "'");
                    writeln!(text, "        \"{name}\": \"{kind}\",").unwrap();
                }
                writeln!(text, "    }},\n)\n\"\"\"{about}\"\"\"").unwrap();
            }
            None => {
                let kind = expression::<Python>(schema);
                // A union may name types that are defined further below.
                let kind = if kind.contains(" | ") { format!("\"{kind}\"") } else { kind };
                writeln!(text, "{name}: TypeAlias = {kind}\n\"\"\"{about}\"\"\"").unwrap();
            }
        }
    }
    text
}

fn typescript(document: &Value) -> String {
    let mut text = format!("// {GENERATED}\n");
    let comment = |text: &str, indent: &str| {
        let text = text.replace("*/", "* /").replace('\n', &format!("\n{indent} * "));
        format!("{indent}/** {text} */\n").replace(" \n", "\n")
    };
    for (name, schema) in schemas(document) {
        text.push('\n');
        text.push_str(&comment(&description(schema), ""));
        if let Some(all) = properties(schema) {
            writeln!(text, "export interface {name} {{").unwrap();
            for (name, schema, is_required) in all {
                text.push_str(&comment(&description(schema), "    "));
                let name = if name.contains('-') { format!("\"{name}\"") } else { name.to_owned() };
                let optional = if is_required { "" } else { "?" };
                let kind = expression::<TypeScript>(schema);
                writeln!(text, "    {name}{optional}: {kind};").unwrap();
            }
            text.push_str("}\n");
        } else {
            let kind = match schema["x-extensible-enum"].as_array() {
                // An editor proposes the known values, and the compiler accepts any text.
                Some(values) => format!("{} | (string & {{}})", TypeScript::values(&texts(values))),
                None => expression::<TypeScript>(schema),
            };
            writeln!(text, "export type {name} = {kind};").unwrap();
        }
    }
    text
}

#[test]
fn the_types_of_clients() {
    let document = openapi::document();
    expect(PYTHON, &python(&document));
    expect(TYPESCRIPT, &typescript(&document));
}
