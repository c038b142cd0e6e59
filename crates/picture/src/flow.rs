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
    text::{cut, percent, with_ends},
};

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
    let directions = [Direction::Source, Direction::Destination]
        .map(|direction| (direction, groups(answer, direction)));
    let layout = Layout::new(&layout::BOTH, &directions);
    let width = layout.columns.width;
    let mut elements = SvgElements::default();
    for (side, (_, found)) in layout.sides.iter().zip(&directions) {
        draw_side(&mut elements, answer, &layout, side, found);
    }
    draw_subject(&mut elements, answer, &layout);
    let hint = "Point at a flow, or reach it by the Tab key: its path is shown here.";
    if directions.iter().any(|(_, groups)| !groups.is_empty()) {
        let mut texts = SvgElements::default();
        let strip = layout.strip();
        texts.line("rule", (Tenths::px(16), strip), (Tenths::px(width - 16), strip));
        texts.text("soft", Tenths::px(16), Tenths(strip.0 + 220), hint);
        elements.group("hint", &texts);
    }
    // Details of a flow cover the hint, so that the flows are drawn after it.
    let mut flows = SvgElements::default();
    for (side, (_, found)) in layout.sides.iter().zip(&directions) {
        draw_flows(&mut flows, &layout, (side, link), found);
    }
    elements.group("flows", &flows);
    let [sources, destinations] = directions.each_ref().map(|(_, groups)| kinds(groups));
    let label = format!(
        "Flows of funds of {}: {sources} kinds of sources to the left, {destinations} kinds of destinations to the right",
        answer.address
    );
    Picture::new(width, layout.height() + layout::STRIP, label, elements.finish())
}

/// Draws the flows of each direction by themselves, for narrow windows; a direction without flows is left out. Details of a
/// flow are not drawn: pages list them beside the picture.
#[must_use]
pub fn narrow_flow_pictures(answer: &AnswerView, link: AddressLink<'_>) -> Vec<Picture> {
    let directions = [Direction::Source, Direction::Destination].into_iter();
    let found = directions.map(|direction| (direction, groups(answer, direction)));
    let found = found.filter(|(_, groups)| !groups.is_empty());
    found.map(|found| narrow_picture(answer, found, link)).collect()
}

fn narrow_picture(
    answer: &AnswerView,
    found: (Direction, Vec<FlowGroup<'_>>),
    link: AddressLink<'_>,
) -> Picture {
    let directions = [found];
    let layout = Layout::new(&layout::ONE, &directions);
    let mut elements = SvgElements::default();
    let mut kinds_of = 0;
    for (side, (_, found)) in layout.sides.iter().zip(&directions) {
        draw_side(&mut elements, answer, &layout, side, found);
        draw_narrow_flows(&mut elements, &layout, (side, link), found);
        kinds_of += kinds(found);
    }
    draw_score(&mut elements, answer, &layout);
    let [(direction, _)] = directions;
    let label = format!("{} of {}: {kinds_of} kinds", title(direction), answer.address);
    Picture::new(layout.columns.width, layout.height(), label, elements.finish())
}

/// Number of endpoints that are drawn by themselves.
fn kinds(groups: &[FlowGroup<'_>]) -> usize {
    groups.iter().map(|group| group.leaves.len()).sum()
}

const fn title(direction: Direction) -> &'static str {
    match direction {
        Direction::Source => "Source of funds",
        Direction::Destination => "Destination of funds",
    }
}

/// Says why an answer has no flows in a direction: a side that a check of a transfer leaves out is not one without money, and
/// nothing was sent only if all transfers are known.
#[must_use]
pub fn no_flows_in_words(answer: &AnswerView, direction: Direction) -> &'static str {
    let of_deposit = answer.transfer.as_ref().is_some_and(|it| it.direction == "deposit");
    let has_sent_nothing = answer.activity.counts.as_ref().is_some_and(|it| it.transfers_out == 0);
    match (direction, answer.coverage.exposure.status.as_str()) {
        (Direction::Destination, _) if of_deposit => "not part of this check",
        (Direction::Destination, "assessed") if has_sent_nothing => "nothing sent",
        (_, "assessed" | "partial") => "nothing found",
        _ => "not assessed",
    }
}

/// Draws the headings of a side, or the reason for which nothing is drawn there.
fn draw_side(
    elements: &mut SvgElements,
    answer: &AnswerView,
    layout: &Layout,
    side: &Side,
    groups: &[FlowGroup<'_>],
) {
    let (class, soft) = match side.direction {
        Direction::Source => ("head", "soft"),
        Direction::Destination => ("head end", "soft end"),
    };
    elements.text(class, side.heading, Tenths::px(26), title(side.direction));
    if groups.is_empty() {
        let why = no_flows_in_words(answer, side.direction);
        elements.text(soft, side.heading, layout.middle, why);
    }
    for (placed, group) in side.groups.iter().zip(groups) {
        elements.text(soft, side.heading, placed.head, &group.whole());
    }
}

/// Draws the box of the subject, and returns its horizontal center.
fn draw_box(elements: &mut SvgElements, layout: &Layout) -> Tenths {
    let (left, top) = (layout.subject_left(), layout.subject_top());
    let width = Tenths::px(layout.columns.subject_width);
    elements.rect("box", (left, top), (width, layout.subject_height()));
    Tenths(left.0 + width.0 / 2)
}

/// Draws the subject in few letters: its score.
fn draw_score(elements: &mut SvgElements, answer: &AnswerView, layout: &Layout) {
    let center = draw_box(elements, layout);
    elements.text("mid big", center, layout.middle, &answer.risk_score.to_string());
    elements.text("mid soft", center, Tenths(layout.middle.0 + 160), "of 100");
}

/// Draws the subject: its name, address and score.
fn draw_subject(elements: &mut SvgElements, answer: &AnswerView, layout: &Layout) {
    let center = draw_box(elements, layout);
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
            let facts = [vec![percent(leaf.share), group.unit.text(leaf.amount)], leaf.remarks()];
            draw_endpoint(&mut flow, layout, side, place, leaf, &[facts.concat()]);
            flow.group("tip", &details(layout, leaf, group));
            elements.focusable("flow", &leaf.sentence(group), &flow);
        }
        for node in &placed.nodes {
            draw_node(elements, layout, side, node, link);
        }
    }
}

/// Draws the bands of a side, each with its endpoint; the amount has a line of its own.
fn draw_narrow_flows(
    elements: &mut SvgElements,
    layout: &Layout,
    (side, link): (&Side, AddressLink<'_>),
    groups: &[FlowGroup<'_>],
) {
    for (placed, group) in side.groups.iter().zip(groups) {
        for (place, leaf) in placed.leaves.iter().zip(&group.leaves) {
            draw_band(elements, side, placed, place, leaf);
            let facts = [vec![percent(leaf.share)], leaf.remarks()].concat();
            let lines = [vec![group.unit.text(leaf.amount)], facts];
            draw_endpoint(elements, layout, side, place, leaf, &lines);
        }
        for node in &placed.nodes {
            draw_node(elements, layout, side, node, link);
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

/// Draws the bar of an endpoint with its name, and below it lines of facts.
fn draw_endpoint(
    flow: &mut SvgElements,
    layout: &Layout,
    side: &Side,
    place: &PlacedLeaf,
    leaf: &Leaf<'_>,
    lines: &[Vec<String>],
) {
    let extent = (Tenths::px(layout::BAR), place.height);
    flow.rect(leaf.tone.class(), (side.bar, place.top), extent);
    let (name, soft) = match side.direction {
        Direction::Source => ("name end", "soft end"),
        Direction::Destination => ("name", "soft"),
    };
    let middle = place.top.0 + place.height.0 / 2;
    let mut y = middle + 55 - 75 * i64::try_from(lines.len()).unwrap_or_default();
    flow.text(name, side.label, Tenths(y), &cut(&leaf.name, layout.columns.name));
    for facts in lines {
        y += 150;
        let facts = cut(&facts.join(" \u{b7} "), layout.columns.facts);
        flow.text(soft, side.label, Tenths(y), &facts);
    }
}

/// Draws an address next to the subject.
fn draw_node(
    elements: &mut SvgElements,
    layout: &Layout,
    side: &Side,
    node: &PlacedNode,
    link: AddressLink<'_>,
) {
    let mut drawn = SvgElements::default();
    let extent = (Tenths::px(layout::BAR), node.height);
    let left = side.node_outer.0.min(side.node_inner.0);
    drawn.rect("plain", (Tenths(left), node.top), extent);
    let center = Tenths(left + Tenths::px(layout::BAR / 2).0);
    let name = with_ends(&node.identifier, layout.columns.address_ends);
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
    let size = (Tenths::px(layout.columns.width), Tenths::px(layout::STRIP));
    texts.rect("paper", (Tenths(0), Tenths(strip.0 + 10)), size);
    for (index, line) in leaf.details(group).iter().enumerate() {
        let step = i64::try_from(index).unwrap_or_default() * 175;
        let class = if index == 0 { "head" } else { "soft" };
        texts.text(class, Tenths::px(16), Tenths(strip.0 + 220 + step), &cut(line, DETAIL));
    }
    texts
}
