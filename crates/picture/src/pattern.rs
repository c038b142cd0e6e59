//! Behavior patterns as small pictures of their form: the owner is the filled circle, other parties are rings.

use crate::{
    PatternView,
    svg::{Picture, SvgElements, Tenths},
    text::words,
};

const WIDTH: i64 = 96;
const HEIGHT: i64 = 56;
/// Heights of the parties on one side.
const PARTIES: [i64; 5] = [8, 18, 28, 38, 48];

/// Draws the form of a pattern; a pattern without a form of its own is a circle with a line on both sides.
#[must_use]
pub fn pattern_picture(pattern: &PatternView) -> Picture {
    let mut elements = SvgElements::default();
    match pattern.pattern.as_str() {
        "fan_in" | "consolidation" => fan(&mut elements, 14, 82),
        "fan_out" | "dusting" | "address_poisoning" | "batch_payout" => fan(&mut elements, 82, 14),
        "gather_scatter" => {
            fan(&mut elements, 12, 48);
            fan(&mut elements, 84, 48);
        }
        "scatter_gather" => scatter_gather(&mut elements),
        "cycle" | "self_transfer" => cycle(&mut elements),
        "peel_chain" | "peel_step" => peel_chain(&mut elements),
        "layering" | "rapid_pass_through" | "deposit_forwarding" => row(&mut elements),
        "structuring" => structuring(&mut elements),
        "mixer_use" | "mixer_funding" | "coinjoin_use" | "joint_transaction" => {
            mixed(&mut elements);
        }
        "dormant_reactivation" => dormant(&mut elements),
        "dust" => dust(&mut elements),
        "op_return" => note(&mut elements),
        _ => {
            line(&mut elements, (10, 28), (86, 28));
            owner(&mut elements, 48, 28);
        }
    }
    let label = format!("form of the pattern {}", words(&pattern.pattern));
    Picture::new(WIDTH, HEIGHT, label, elements.finish())
}

fn line(elements: &mut SvgElements, from: (i64, i64), to: (i64, i64)) {
    let place = |(x, y)| (Tenths::px(x), Tenths::px(y));
    elements.line("stroke", place(from), place(to));
}

fn owner(elements: &mut SvgElements, x: i64, y: i64) {
    elements.circle("me", (Tenths::px(x), Tenths::px(y)), Tenths::px(5));
}

fn party(elements: &mut SvgElements, x: i64, y: i64) {
    elements.circle("dot", (Tenths::px(x), Tenths::px(y)), Tenths::px(3));
}

/// Draws parties at one place and the owner at another, with a line between each and the owner.
fn fan(elements: &mut SvgElements, parties: i64, own: i64) {
    for y in PARTIES {
        line(elements, (parties, y), (own, 28));
        party(elements, parties, y);
    }
    owner(elements, own, 28);
}

fn scatter_gather(elements: &mut SvgElements) {
    for y in PARTIES {
        line(elements, (12, 28), (48, y));
        line(elements, (48, y), (84, 28));
        party(elements, 48, y);
    }
    owner(elements, 12, 28);
    party(elements, 84, 28);
}

fn cycle(elements: &mut SvgElements) {
    let corners = [(48, 8), (74, 28), (48, 48), (22, 28)];
    for (from, to) in corners.iter().zip(corners.iter().cycle().skip(1)) {
        line(elements, *from, *to);
    }
    for (x, y) in corners.into_iter().skip(1) {
        party(elements, x, y);
    }
    owner(elements, 48, 8);
}

fn peel_chain(elements: &mut SvgElements) {
    line(elements, (10, 18), (88, 18));
    for x in [30, 50, 70] {
        line(elements, (x, 18), (x + 6, 44));
        party(elements, x + 6, 44);
        party(elements, x, 18);
    }
    owner(elements, 10, 18);
}

fn row(elements: &mut SvgElements) {
    line(elements, (10, 28), (88, 28));
    for x in [10, 36, 62, 88] {
        party(elements, x, 28);
    }
    owner(elements, 36, 28);
}

/// Draws equal payments below a threshold.
fn structuring(elements: &mut SvgElements) {
    elements.line("dash", (Tenths::px(8), Tenths::px(12)), (Tenths::px(88), Tenths::px(12)));
    for x in [14, 28, 42, 56, 70] {
        elements.rect("me", (Tenths::px(x), Tenths::px(16)), (Tenths::px(8), Tenths::px(34)));
    }
}

fn mixed(elements: &mut SvgElements) {
    for (from, to) in [(8, 48), (28, 8), (48, 28)] {
        line(elements, (12, from), (84, to));
        party(elements, 12, from);
        party(elements, 84, to);
    }
    owner(elements, 12, 28);
}

/// Draws a payment beside one that is worth next to nothing.
fn dust(elements: &mut SvgElements) {
    line(elements, (20, 28), (78, 18));
    party(elements, 78, 18);
    elements.line("dash", (Tenths::px(20), Tenths::px(28)), (Tenths::px(78), Tenths::px(42)));
    elements.circle("dot", (Tenths::px(78), Tenths::px(42)), Tenths(12));
    owner(elements, 20, 28);
}

/// Draws a transaction with lines of text.
fn note(elements: &mut SvgElements) {
    line(elements, (20, 28), (56, 28));
    elements.rect("box", (Tenths::px(56), Tenths::px(12)), (Tenths::px(30), Tenths::px(32)));
    for y in [20, 28, 36] {
        elements.line("stroke", (Tenths::px(61), Tenths::px(y)), (Tenths::px(81), Tenths::px(y)));
    }
    owner(elements, 20, 28);
}

/// Draws activity, a pause and activity.
fn dormant(elements: &mut SvgElements) {
    line(elements, (6, 46), (90, 46));
    for (x, height) in [(10, 14), (18, 22), (70, 34), (80, 18)] {
        let top = Tenths::px(46 - height);
        elements.rect("me", (Tenths::px(x), top), (Tenths::px(6), Tenths::px(height)));
    }
    elements.line("dash", (Tenths::px(28), Tenths::px(40)), (Tenths::px(66), Tenths::px(40)));
}
