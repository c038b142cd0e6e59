//! A trace as a graph for Graphviz.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use assay_address::CanonicalAddress;
use assay_engine::evidence::{Direction, FlowPart, FlowPath};

use super::{TracedParts, by_other_paths, end_type};
use crate::render::Unit;

/// An edge of the graph: a transfer with its sender, its receiver, its transaction and the unit of its amount.
type Edge<'a> = (String, String, &'a str, &'a str);

/// The paths as a graph: addresses and endpoints as nodes, transactions with their amounts as edges.
pub(super) fn graph(subject: &CanonicalAddress, directions: &[TracedParts<'_>]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = draw(&mut text, subject, directions);
    text
}

fn draw(
    text: &mut String,
    subject: &CanonicalAddress,
    directions: &[TracedParts<'_>],
) -> fmt::Result {
    let mut edges: BTreeMap<Edge<'_>, u128> = BTreeMap::new();
    for TracedParts { direction, unit, parts, .. } in directions {
        for (part, _) in parts {
            for path in &part.paths {
                add_path(&mut edges, (*direction, unit), subject, part, path);
            }
            let other = by_other_paths(part);
            if other > 0 {
                let from = subject.as_str().to_owned();
                add(&mut edges, *direction, (from, end_name(part), "other", unit), other);
            }
        }
    }
    writeln!(text, "digraph flows {{\n  rankdir=LR;\n  node [shape=box];")?;
    writeln!(text, "  {} [style=bold];", quoted(subject.as_str()))?;
    for ((from, to, transaction, unit), amount) in edges {
        let amount = Unit::new(subject.chain(), unit).text(amount);
        let label = format!("{amount}\\n{transaction}");
        writeln!(text, "  {} -> {} [label=\"{label}\"];", quoted(&from), quoted(&to))?;
    }
    writeln!(text, "}}")
}

fn add_path<'a>(
    edges: &mut BTreeMap<Edge<'a>, u128>,
    (direction, unit): (Direction, &'a str),
    subject: &CanonicalAddress,
    part: &FlowPart,
    path: &'a FlowPath,
) {
    let mut from = subject.as_str().to_owned();
    let last = path.steps.len().saturating_sub(1);
    for (index, step) in path.steps.iter().enumerate() {
        let address = step.address.clone().unwrap_or_default();
        let to = if index == last { format!("{} {address}", end_name(part)) } else { address };
        add(edges, direction, (from, to.clone(), step.transaction.as_str(), unit), path.amount);
        from = to;
    }
}

/// Adds a transfer that leads away from the subject; its arrow points the way the funds went.
fn add<'a>(
    edges: &mut BTreeMap<Edge<'a>, u128>,
    direction: Direction,
    (near, far, transaction, unit): Edge<'a>,
    amount: u128,
) {
    let edge = match direction {
        Direction::Source => (far, near, transaction, unit),
        Direction::Destination => (near, far, transaction, unit),
    };
    *edges.entry(edge).or_default() += amount;
}

/// The endpoint of a part of the funds, with the endpoint's entity.
fn end_name(part: &FlowPart) -> String {
    match &part.entity {
        Some(entity) => format!("{entity} ({})", part.end.as_str(part.distance)),
        None => end_type(part),
    }
}

/// A name in the language of Graphviz.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.trim().replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_a_drawing() {
        assert_eq!(quoted("a\"b\\c "), "\"a\\\"b\\\\c\"");
    }
}
