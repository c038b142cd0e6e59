//! Properties of all pictures, and one picture as a whole.

use assay_engine::{evidence::Direction, score::Score};
use proptest::prelude::*;
use quick_xml::{Reader, events::Event};
use serde_json::{Value, json};

use crate::{
    ActivityCountsView, AnswerView, flow_picture, linked_flow_picture, narrow_flow_pictures,
    no_flows_in_words, pattern_picture, waterfall,
};

/// An answer about a Bitcoin address with components and exposures.
fn answer(score: Score, components: &[Value], exposure: &[Value]) -> AnswerView {
    let block = json!({"status": "assessed", "detail": "all of it"});
    let answer = json!({
        "check_id": "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b",
        "blockchain": "btc",
        "address": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        "risk_score": score,
        "risk_level": "high",
        "verdict": "review",
        "complete": true,
        "entity": {"name": "Ada <script>alert(1)</script>", "category": "merchant"},
        "scoring_components": components,
        "exposure": exposure,
        "activity": {"status": "seen"},
        "coverage": {
            "sanctions": block, "labels": block, "association": block, "exposure": block, "behavior": block,
        },
        "environment": "sample",
        "data_revision": "1",
        "model_version": "1",
        "policy_revision": "1",
    });
    AnswerView::read(&answer.to_string()).unwrap()
}

fn component(points: Score, detail: &str) -> Value {
    json!({"kind": "exposure", "contribution": points, "detail": detail})
}

struct Line<'a> {
    direction: &'a str,
    entity: &'a str,
    share: &'a str,
    amount: u64,
    between: usize,
}

fn exposure(line: &Line<'_>) -> Value {
    let amount = json!({"value": line.amount.to_string(), "asset": "BTC", "usd": null});
    let step = |number: usize| {
        json!({
            "transaction": format!("{number:064x}"),
            "address": format!("address-{number}"),
            "time": "2026-02-03T04:05:06Z",
            "amount": "5",
            "label": null,
        })
    };
    let steps: Vec<Value> = (0..=line.between).map(step).collect();
    json!({
        "direction": line.direction,
        "endpoint_type": "ransomware",
        "category": "ransomware",
        "entity": line.entity,
        "amount": amount,
        "share": line.share,
        "hops": line.between + 1,
        "direct": line.between == 0,
        "listed": false,
        "solicited": true,
        "scored": true,
        "transactions": [format!("{:064x}", 1)],
        "paths": [{"amount": amount, "steps": steps}],
    })
}

/// Names of all elements of a well-formed document, and the values of an attribute of rectangles.
fn parsed(svg: &str) -> (Vec<String>, Vec<(String, String)>) {
    let mut reader = Reader::from_str(svg);
    let (mut names, mut widths) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {svg}")) {
            Event::Eof => return (names, widths),
            Event::Start(element) | Event::Empty(element) => {
                let name = element.name().as_ref().to_owned();
                let mut found = [String::new(), String::new()];
                for attribute in element.attributes() {
                    let attribute = attribute.unwrap();
                    let value = attribute.value.to_string();
                    match attribute.key.as_ref() {
                        "class" => found[0] = value,
                        "width" => found[1] = value,
                        _ => {}
                    }
                }
                if name == "rect" {
                    let [class, width] = found;
                    widths.push((class, width));
                }
                names.push(name);
            }
            _ => {}
        }
    }
}

const ELEMENTS: [&str; 9] =
    ["svg", "style", "g", "title", "text", "rect", "line", "circle", "path"];

fn assert_harmless(svg: &str) -> Vec<(String, String)> {
    let (names, rectangles) = parsed(svg);
    let foreign: Vec<&String> =
        names.iter().filter(|name| !ELEMENTS.contains(&name.as_str())).collect();
    assert!(foreign.is_empty(), "{foreign:?} in {svg}");
    assert!(!svg.contains('\u{202e}') && !svg.contains('\u{0}'));
    rectangles
}

fn tenths(width: &str) -> i64 {
    let (whole, tenth) = width.split_once('.').unwrap_or((width, "0"));
    whole.parse::<i64>().unwrap() * 10 + tenth.parse::<i64>().unwrap()
}

/// Texts with all that a label may hold.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,60}",
        any::<String>(),
        Just("<script>alert('x')</script>".to_owned()),
        Just("\" onload=\"alert(1)".to_owned()),
        Just("]]><svg/>&amp;&#0;".to_owned()),
        Just("\u{202e}drawkcab\u{2066}\u{0}".to_owned()),
    ]
}

proptest! {
    #[test]
    fn the_bars_of_a_waterfall_sum_to_the_score(
        parts in prop::collection::vec((0_u16..400, text()), 0..40),
    ) {
        let mut left = 1000;
        let mut components = Vec::new();
        for (tenths, detail) in &parts {
            let points = (*tenths).min(left);
            left -= points;
            components.push(component(Score::from_tenths(points), detail));
        }
        let score = Score::from_tenths(1000 - left);
        let picture = waterfall(&answer(score, &components, &[]));
        let rectangles = assert_harmless(&picture.file());
        // The first one is the paper, the last one the score.
        let widths: Vec<i64> = rectangles[1..].iter().map(|(_, width)| tenths(width)).collect();
        let (whole, bars) = widths.split_last().unwrap();
        prop_assert_eq!(*whole, i64::from(score.tenths()) * 3);
        prop_assert_eq!(bars.iter().sum::<i64>(), *whole);
        prop_assert!(bars.len() <= 12);
    }

    #[test]
    fn a_flow_picture_is_well_formed_whatever_names_hold(
        lines in prop::collection::vec((any::<bool>(), text(), 0_u64..1_000_000, any::<u64>(), 0_usize..14), 0..60),
    ) {
        let exposures: Vec<Value> = lines
            .iter()
            .map(|(is_source, entity, share, amount, between)| {
                exposure(&Line {
                    direction: if *is_source { "source" } else { "destination" },
                    entity,
                    share: &format!("0.{share:06}"),
                    amount: *amount,
                    between: *between,
                })
            })
            .collect();
        let answer = answer(Score::ZERO, &[], &exposures);
        let picture = flow_picture(&answer);
        assert_harmless(&picture.file());
        prop_assert_eq!(picture.file(), flow_picture(&answer).file());
        prop_assert!(!picture.inline().contains("<style"));
        for narrow in narrow_flow_pictures(&answer, &|_| None) {
            assert_harmless(&narrow.file());
        }
    }
}

#[test]
fn every_pattern_has_a_form_of_its_own() {
    let form = |name: &str| {
        let pattern = json!({
            "pattern": name, "role": "actor", "description": "", "scored": true, "contribution": 1.5,
            "confidence": 90, "count": 1, "first_seen": "2026-02-03T04:05:06Z", "last_seen": "2026-02-03T04:05:06Z",
        });
        let picture = pattern_picture(&serde_json::from_value(pattern).unwrap());
        assert_harmless(&picture.file());
        picture.inline().replace(&name.replace('_', " "), "")
    };
    let unknown = form("of_a_later_release");
    for pattern in assay_engine::evidence::Pattern::ALL {
        assert_ne!(form(pattern.as_str()), unknown, "{}", pattern.as_str());
    }
}

#[test]
fn addresses_between_lead_to_their_own_pages() {
    let line = Line { direction: "source", entity: "A", share: "1", amount: 5, between: 2 };
    let answer = answer(Score::ZERO, &[], &[exposure(&line)]);
    let target = |address: &str| (address == "address-0").then(|| "/x?a=\"&b".to_owned());
    let linked = linked_flow_picture(&answer, &target).inline();
    assert!(linked.contains(
        "<a href=\"/x?a=&quot;&amp;b\" aria-label=\"address-0: follow the funds of this address\">"
    ));
    assert!(!flow_picture(&answer).file().contains("<a "));
    let none = linked_flow_picture(&answer, &|_| None);
    assert_eq!(none, flow_picture(&answer));
}

#[test]
fn narrow_windows_have_a_picture_of_each_direction_with_flows() {
    let line = |direction, entity| {
        exposure(&Line { direction, entity, share: "1", amount: 5, between: 1 })
    };
    let both = [line("source", "Harbor Lane"), line("destination", "Quiet River")];
    let drawn = narrow_flow_pictures(&answer(Score::from_tenths(614), &[], &both), &|_| None);
    let [sources, destinations] = &*drawn else { panic!("{drawn:?}") };
    let (sources, destinations) = (sources.inline(), destinations.inline());
    assert!(sources.contains("Harbor Lane") && !sources.contains("Quiet River"), "{sources}");
    assert!(destinations.contains("Quiet River"), "{destinations}");
    for picture in [&sources, &destinations] {
        assert!(picture.contains("width=\"352\"") && picture.contains(">61.4</text>"), "{picture}");
        assert!(picture.contains(">0.00000005 BTC</text>"), "the amount whole: {picture}");
    }
    let received = [line("source", "Harbor Lane")];
    let drawn = narrow_flow_pictures(&answer(Score::ZERO, &[], &received), &|_| None);
    assert_eq!(drawn.len(), 1);
}

#[test]
fn nothing_was_sent_only_where_all_transfers_are_known() {
    // Given an answer without flows, whose transfers are not counted...
    let mut answer = answer(Score::ZERO, &[], &[]);
    let of = |answer: &AnswerView| no_flows_in_words(answer, Direction::Destination);
    assert_eq!(of(&answer), "nothing found");
    // ...it says more once they are, and less where a part of them is unknown.
    answer.activity.counts = Some(ActivityCountsView { transfers_in: 0, transfers_out: 0 });
    assert_eq!(of(&answer), "nothing sent");
    assert_eq!(no_flows_in_words(&answer, Direction::Source), "nothing found");
    answer.coverage.exposure.status = "partial".to_owned();
    assert_eq!(of(&answer), "nothing found");
    answer.coverage.exposure.status = "unavailable".to_owned();
    assert_eq!(of(&answer), "not assessed");
}

#[test]
fn a_flow_picture_as_a_whole() {
    let line = |direction, entity, share, amount, between| {
        exposure(&Line { direction, entity, share, amount, between })
    };
    let exposures = [
        line("source", "Blackfrost <b>", "0.250000", 25_000_000, 2),
        line("source", "Harbor Lane Exchange", "0.750000", 75_000_000, 0),
        line("destination", "Quiet River", "1.000000", 100_000_000, 1),
    ];
    let answer = answer(Score::from_tenths(614), &[], &exposures);
    insta::assert_snapshot!("flow_picture", flow_picture(&answer).file());
}
