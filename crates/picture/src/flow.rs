//! The flow picture: sources of funds to the left, the subject in the middle, destinations to the right.
//!
//! Every endpoint has a row, and its funds are a band as wide as its share. Addresses next to the subject stand between,
//! so that funds that took one way are seen to have done so. Risky endpoints are drawn first, then the largest; others
//! are summed into one row.

mod layout;
mod pieces;

use assay_engine::evidence::Direction;
use layout::{Layout, PlacedGroup, PlacedLeaf, PlacedNode, Side};
use pieces::{FlowGroup, Leaf, groups};
pub use pieces::{endpoint_in_words, is_risky};

use crate::{
    AnswerView,
    svg::{Picture, SvgElements, Tenths},
    text::{cut, percent, short},
};

/// Largest number of characters in a name beside a band.
const NAME: usize = 33;
/// Largest number of characters in a line of the details.
const DETAIL: usize = 170;

/// Path of a page about an address; unset if it has none.
pub type AddressLink<'l> = &'l dyn Fn(&str) -> Option<String>;

/// Draws where funds came from and where they went.
#[must_use]
pub fn flow_picture(answer: &AnswerView) -> Picture {
    linked_flow_picture(answer, &|_| None)
}

/// Draws the flow picture with links: each address between leads to a page that follows its own funds.
#[must_use]
pub fn linked_flow_picture(answer: &AnswerView, link: AddressLink<'_>) -> Picture {
    let sides = [Direction::Source, Direction::Destination];
    let [sources, destinations] = sides.map(|direction| groups(answer, direction));
    let layout = Layout::new(&sources, &destinations);
    let mut elements = SvgElements::default();
    for (side, found) in [(&layout.left, &sources), (&layout.right, &destinations)] {
        draw_side(&mut elements, answer, &layout, side, found);
    }
    draw_subject(&mut elements, answer, &layout);
    let hint = "Point at a flow, or reach it by the Tab key: its path is shown here.";
    if !(sources.is_empty() && destinations.is_empty()) {
        let mut texts = SvgElements::default();
        texts.line(
            "rule",
            (Tenths::px(16), layout.strip()),
            (Tenths::px(layout::WIDTH - 16), layout.strip()),
        );
        texts.text("soft", Tenths::px(16), Tenths(layout.strip().0 + 220), hint);
        elements.group("hint", &texts);
    }
    // Details of a flow cover the hint, so that the flows are drawn after it.
    let mut flows = SvgElements::default();
    for (side, found) in [(&layout.left, &sources), (&layout.right, &destinations)] {
        draw_flows(&mut flows, &layout, (side, link), found);
    }
    elements.group("flows", &flows);
    let counts = [&sources, &destinations]
        .map(|groups| groups.iter().map(|group| group.leaves.len()).sum::<usize>());
    let label = format!(
        "Flows of funds of {}: {} kinds of sources to the left, {} kinds of destinations to the right",
        answer.address, counts[0], counts[1]
    );
    Picture::new(layout::WIDTH, layout.height(), label, elements.finish())
}

/// Draws the headings of a side, or the reason for which nothing is drawn there.
fn draw_side(
    elements: &mut SvgElements,
    answer: &AnswerView,
    layout: &Layout,
    side: &Side,
    groups: &[FlowGroup<'_>],
) {
    let (title, class) = match side.direction {
        Direction::Source => ("Source of funds", "head"),
        Direction::Destination => ("Destination of funds", "head end"),
    };
    elements.text(class, side.heading, Tenths::px(26), title);
    let soft = if side.direction == Direction::Source { "soft" } else { "soft end" };
    if groups.is_empty() {
        let why = match answer.coverage.exposure.status.as_str() {
            "assessed" | "partial" => "nothing found",
            _ => "not assessed",
        };
        elements.text(soft, side.heading, layout.middle, why);
    }
    for (placed, group) in side.groups.iter().zip(groups) {
        elements.text(soft, side.heading, placed.head, &group.whole());
    }
}

/// Draws the subject: its name, address and score.
fn draw_subject(elements: &mut SvgElements, answer: &AnswerView, layout: &Layout) {
    let (left, top) = (layout.subject_left(), layout.subject_top());
    let size = (Tenths::px(layout::SUBJECT), layout.subject_height());
    elements.rect("box", (left, top), size);
    let center = Tenths(left.0 + Tenths::px(layout::SUBJECT / 2).0);
    elements.text("mid mono", center, Tenths::px(26), &cut(&answer.address, 90));
    let mut y = layout.middle.0 - 180;
    let mut line = |class: &str, text: &str, step: i64| {
        elements.text(class, center, Tenths(y), text);
        y += step;
    };
    let name = answer.entity.as_ref().map_or("this address", |entity| entity.name.as_str());
    line("mid head", &cut(name, 22), 170);
    line("mid soft", &cut(answer.blockchain.info().name, 24), 250);
    line("mid big", &format!("{} of 100", answer.risk_score), 170);
    line("mid soft", answer.verdict.as_str(), 0);
}

/// Draws the bands of a side, each with its endpoint and details.
fn draw_flows(
    elements: &mut SvgElements,
    layout: &Layout,
    (side, link): (&Side, AddressLink<'_>),
    groups: &[FlowGroup<'_>],
) {
    for (placed, group) in side.groups.iter().zip(groups) {
        for (place, leaf) in placed.leaves.iter().zip(&group.leaves) {
            let mut flow = SvgElements::default();
            draw_band(&mut flow, side, placed, place, leaf);
            draw_endpoint(&mut flow, side, place, leaf, group);
            flow.group("tip", &details(layout, leaf, group));
            elements.focusable("flow", &leaf.sentence(group), &flow);
        }
        for node in &placed.nodes {
            draw_node(elements, side, node, link);
        }
    }
}

/// Draws the band from the endpoint to the subject, over the address next to the subject if one is known.
fn draw_band(
    flow: &mut SvgElements,
    side: &Side,
    group: &PlacedGroup,
    place: &PlacedLeaf,
    leaf: &Leaf<'_>,
) {
    let class = leaf.tone.class();
    let end = (side.end_inner, place.top);
    let subject = (side.subject, place.at_subject);
    match place.node.and_then(|index| group.nodes.get(index)) {
        Some(_) => {
            flow.ribbon(class, end, (side.node_outer, place.at_node), place.height);
            flow.ribbon(class, (side.node_inner, place.at_node), subject, place.height);
        }
        None => flow.ribbon(class, end, subject, place.height),
    }
}

/// Draws the bar of an endpoint with its name, share and amount.
fn draw_endpoint(
    flow: &mut SvgElements,
    side: &Side,
    place: &PlacedLeaf,
    leaf: &Leaf<'_>,
    group: &FlowGroup<'_>,
) {
    let extent = (Tenths::px(layout::BAR), place.height);
    flow.rect(leaf.tone.class(), (side.bar, place.top), extent);
    let (name, soft) = match side.direction {
        Direction::Source => ("name end", "soft end"),
        Direction::Destination => ("name", "soft"),
    };
    let middle = place.top.0 + place.height.0 / 2;
    flow.text(name, side.label, Tenths(middle - 20), &cut(&leaf.name, NAME));
    let mut facts = vec![percent(leaf.share), group.unit.text(leaf.amount)];
    facts.extend(leaf.remarks());
    flow.text(soft, side.label, Tenths(middle + 130), &cut(&facts.join(" \u{b7} "), NAME + 6));
}

/// Draws an address next to the subject.
fn draw_node(elements: &mut SvgElements, side: &Side, node: &PlacedNode, link: AddressLink<'_>) {
    let mut drawn = SvgElements::default();
    let extent = (Tenths::px(layout::BAR), node.height);
    let left = side.node_outer.0.min(side.node_inner.0);
    drawn.rect("plain", (Tenths(left), node.top), extent);
    let center = Tenths(left + Tenths::px(layout::BAR / 2).0);
    let name = short(Some(&node.identifier));
    drawn.text("mid mono halo", center, Tenths(node.top.0 - 50), &name);
    match link(&node.identifier) {
        Some(path) => {
            let title = format!("Follow the funds of {}", node.identifier);
            let label = format!("{name}: follow the funds of this address");
            elements.link(&path, (&title, &label), &drawn);
        }
        None => elements.append(&drawn),
    }
}

/// The details of a flow, in the strip below the picture.
fn details(layout: &Layout, leaf: &Leaf<'_>, group: &FlowGroup<'_>) -> SvgElements {
    let mut texts = SvgElements::default();
    let strip = layout.strip();
    let size = (Tenths::px(layout::WIDTH), Tenths::px(layout::STRIP));
    texts.rect("paper", (Tenths(0), Tenths(strip.0 + 10)), size);
    for (index, line) in leaf.details(group).iter().enumerate() {
        let step = i64::try_from(index).unwrap_or_default() * 175;
        let class = if index == 0 { "head" } else { "soft" };
        texts.text(class, Tenths::px(16), Tenths(strip.0 + 220 + step), &cut(line, DETAIL));
    }
    texts
}
