//! The worked example of `docs/model/score.md` S9, computed twice: in ordinary floating-point arithmetic from
//! the page's formulas, and by the engine.

use std::fmt::Write;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    assessment::Assessment,
    evidence::{
        BehaviorFacts, ChainFacts, ChainState, DirectionFlows, FlowDistance, FlowEnd, FlowFacts,
        FlowPart, Ledger, Pattern, PatternFact, PatternRole, SearchExtent, Tier, UnresolvedReason,
    },
    facts::Facts,
    policy::Policy,
    score::Confidence,
    taxonomy::Category,
    utxo::ScriptOwner,
};
use assay_tests::world::{Claim, Claims, tip};
use jiff::Timestamp;

use crate::generated::section;

const HALF_LIFE: f64 = 2.4;

/// A part of the example: endpoint, dollars received, hops, confidence in percent.
type ReceivedPart = (FlowEnd, u32, u16, u8);

const RECEIVED: [ReceivedPart; 4] = [
    (FlowEnd::Attributed(Category::Exchange), 80_000, 1, 95),
    (FlowEnd::Attributed(Category::Mixer), 12_000, 1, 90),
    (FlowEnd::Attributed(Category::StolenFunds), 3_000, 3, 80),
    (FlowEnd::Unresolved(UnresolvedReason::BelowThreshold), 5_000, 1, 100),
];
const REPORT_PERCENT: u8 = 50;
const PATTERN_PERCENT: u8 = 80;

fn facts() -> Facts {
    let decay = Policy::default().decay_of_a_hop();
    let part = |(end, dollars, hops, percent): ReceivedPart| {
        let plain = FlowPart::plain(end, u128::from(dollars) * 100);
        FlowPart {
            distance: FlowDistance::Hops(hops),
            is_direct: hops == 1,
            decayed: (1..hops).fold(plain.mass, |mass, _| mass.times(decay)),
            tier: Tier::Investigation,
            confidence: Confidence::from_percent(percent),
            ..plain
        }
    };
    let ledger = Ledger {
        unit: "USD".into(),
        decimals: 2,
        left_out_decimals: 0,
        source: DirectionFlows { parts: RECEIVED.map(part).to_vec(), transactions: 0 },
        destination: DirectionFlows::default(),
        held: DirectionFlows::default(),
        of_accounts: false,
    };
    let mut claims = Claims::default();
    let owner = ScriptOwner::from_address(&subject()).unwrap();
    claims.label(&owner, Claim::reported(Category::Scam, REPORT_PERCENT, "reports"));
    let mut facts = claims.snapshot(ChainId::BTC, now()).facts(&subject());
    let (pattern, percent) = (Pattern::RapidPassThrough, Confidence::from_percent(PATTERN_PERCENT));
    facts.chain = ChainState::Followed(Box::new(ChainFacts {
        tip: tip(900_000, "00".repeat(32), now()),
        flows: FlowFacts {
            complete: true,
            ledgers: vec![ledger],
            compositions: None,
            account: None,
            contracts: None,
            histories: None,
        },
        behavior: Some(BehaviorFacts {
            patterns: vec![PatternFact::plain(pattern, PatternRole::Actor, percent)],
            searched: SearchExtent::default(),
        }),
        activity: None,
    }));
    facts
}

fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn subject() -> CanonicalAddress {
    CanonicalAddress::parse(ChainId::BTC, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").unwrap()
}

fn assessed() -> Assessment {
    assess(&subject(), &facts(), &Policy::default(), now())
}

fn severity(end: FlowEnd) -> f64 {
    match end.category() {
        Some(category) => f64::from(category.info().severity) / 100.0,
        None => f64::from(assay_engine::policy::UNRESOLVED_SEVERITY) / 100.0,
    }
}

fn risk((end, _, _, percent): ReceivedPart) -> f64 {
    severity(end) * f64::from(percent) / 100.0
}

/// The factor by which hops reduce a share.
fn decay((_, _, hops, _): ReceivedPart) -> f64 {
    (-2.5 * f64::from(hops - 1) / HALF_LIFE).exp2()
}

/// `worth^2.5` on the default curve for dollars.
fn curve(dollars: f64) -> f64 {
    let points = [(0.0, 0.0_f64), (1e4, 0.25), (1e5, 0.5), (1e6, 0.75), (1e7, 1.0)];
    let height = |worth: f64| worth.powf(2.5);
    points.windows(2).find(|pair| dollars <= pair[1].0).map_or(1.0, |pair| {
        let share = (dollars - pair[0].0) / (pair[1].0 - pair[0].0);
        height(pair[0].1) + share * (height(pair[1].1) - height(pair[0].1))
    })
}

fn share(part: ReceivedPart) -> f64 {
    let total: u32 = RECEIVED.iter().map(|part| part.1).sum();
    f64::from(part.1) / f64::from(total)
}

fn weigh(part: ReceivedPart) -> f64 {
    share(part) * decay(part) * risk(part).powf(2.5)
}

fn given() -> String {
    let mut text = String::from(
        "Given:\n\n\
         - users report it as a scam (community), with a confidence of 50 %;\n\
         - it forwards nearly all it receives within minutes (`rapid_pass_through`), with a confidence of 80 %;\n\
         - it received 100,000 dollars, none of it in the last 90 days:\n\n\
         | received from | dollars | share | hops | e | severity | confidence | r | e × r^2.5 |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for part in RECEIVED {
        let (end, dollars, hops, percent) = part;
        writeln!(
            text,
            "| {} | {dollars} | {:.2} | {hops} | {:.4} | {:.2} | {:.2} | {:.4} | {:.5} |",
            end.as_str(FlowDistance::Hops(hops)),
            share(part),
            share(part) * decay(part),
            severity(end),
            f64::from(percent) / 100.0,
            risk(part),
            weigh(part),
        )
        .unwrap();
    }
    text
}

#[test]
fn the_example_sums_exactly_by_hand_and_by_the_engine() {
    let mut text = given();
    let [_, mixer, stolen, _] = RECEIVED;
    let all = RECEIVED.into_iter().map(weigh).sum::<f64>().powf(0.4);
    let risky_sum = weigh(mixer) + weigh(stolen);
    let risky = risky_sum.powf(0.4);
    // Only the mixer is direct.
    let reached = curve(f64::from(mixer.1));
    let by_amount = reached * risk(mixer).powf(2.5);
    assert!(by_amount < risky_sum, "shares weigh more than amounts");
    // Stolen funds count with their whole share in the second reading.
    let distant_sum = weigh(mixer) + share(stolen) * risk(stolen).powf(2.5);
    let distant = distant_sum.powf(0.4);

    let report = 0.80 * f64::from(REPORT_PERCENT) / 100.0;
    let pattern = 0.35 * f64::from(PATTERN_PERCENT) / 100.0;
    let other = |worths: &[f64]| 1.0 - worths.iter().map(|worth| 1.0 - worth).product::<f64>();
    let everything = other(&[risky, report, pattern]);
    let without_pattern = other(&[risky, report]);
    let capped = [
        other(&[0.499, without_pattern]),
        other(&[0.599, without_pattern]),
        other(&[0.699, risky]),
        other(&[0.95]),
    ];
    assert!(capped.iter().all(|cap| *cap > everything), "no cap binds: {capped:?}");
    let undecayed = other(&[distant, report, pattern]);
    // Without the pattern, the second reading is the larger.
    let undecayed_without = other(&[distant, report]);
    assert!(undecayed_without > without_pattern && undecayed_without < 0.599);
    let base = (undecayed_without * 1000.0).floor() / 10.0;
    assert!(undecayed > 0.599 && everything > 0.599, "the first reading is the larger");
    assert!(all < everything, "the second form of F is the larger");
    write!(
        text,
        "\nThe risky parts, mixer and stolen funds, sum to {risky_sum:.5}. On the amount curve the direct \
         one of them is worth {by_amount:.5} (12,000 dollars reach {reached:.5}), and in the last 90 days \
         both are worth nothing, so that the basis of shares counts:\n\n\
         ```\n\
         flows(risky parts) = {risky_sum:.5}^0.4       = {risky:.4}\n\
         flows(all parts)                       = {all:.4}\n\
         report             = 0.80 × 0.50       = {report:.4}\n\
         pattern            = 0.35 × 0.80       = {pattern:.4}\n\
         F = max({all:.4}, {risky:.4} ⊕ {report:.4} ⊕ {pattern:.4})  = {everything:.4}\n\
         ```\n\n\
         In the second reading, stolen funds count with their whole share: the risky parts sum to \
         {distant_sum:.5}, so that F would be {undecayed:.4}. It reaches 0.599 at most: the first \
         is the larger.\n\n\
         No cap applies: behavior could raise the score of stronger evidence to {:.4}, community evidence \
         to {:.4}, investigations to 0.95. ",
        capped[0], capped[2],
    )
    .unwrap();

    let answer = assessed();
    let score = f64::from(answer.risk_score.tenths()) / 10.0;
    assert!((score - (everything * 1000.0).floor() / 10.0).abs() < 0.001, "{score} {everything}");
    let mixer_share = weigh(mixer) / distant_sum;
    let stolen_share = 1.0 - mixer_share;
    let weight = |worth: f64| -(1.0 - worth).ln();
    let by_hand = [
        ("labelled scam", weight(report)),
        ("received directly from an address labelled mixer", weight(distant) * mixer_share),
        ("received from an address labelled stolen funds", weight(distant) * stolen_share),
        ("received directly from an address labelled exchange", 0.0),
        ("received, origin not known", 0.0),
    ];
    let sum: f64 = by_hand.iter().map(|(_, weight)| weight).sum();
    write!(
        text,
        "The score is {score}, the band `{}`, the verdict `{}`. Its components are:\n\n\
         | component | weight | contribution |\n|---|---|---|\n",
        answer.risk_level.as_str(),
        answer.verdict.as_str(),
    )
    .unwrap();
    for (detail, weight) in by_hand {
        let component = answer
            .scoring_components
            .iter()
            .find(|component| component.detail.starts_with(detail))
            .unwrap_or_else(|| panic!("no {detail}: {:?}", answer.scoring_components));
        let contribution = f64::from(component.contribution.tenths()) / 10.0;
        assert!((contribution - base * weight / sum).abs() < 0.1, "{detail}: {contribution}");
        writeln!(text, "| {} | {weight:.4} | {contribution:.1} |", component.detail).unwrap();
    }
    let is_pattern = |pattern: Option<Pattern>| pattern == Some(Pattern::RapidPassThrough);
    let added = answer.scoring_components.iter().find(|it| is_pattern(it.pattern)).unwrap();
    let contribution = f64::from(added.contribution.tenths()) / 10.0;
    assert!((contribution - (score - base)).abs() < 0.001, "{contribution}");
    writeln!(
        text,
        "| pattern rapid pass through | | {contribution:.1} |\n\n\
         Without the pattern, the second reading is the larger: {distant:.4} ⊕ {report:.4} = \
         {undecayed_without:.4}, a review, too. The other evidence contributes these {base} points, by its weights in \
         that reading, and the pattern the difference."
    )
    .unwrap();
    let total: u16 = answer.scoring_components.iter().map(|c| c.contribution.tenths()).sum();
    assert_eq!(total, answer.risk_score.tenths());
    section("docs/model/score.md", "example", &text);
}
