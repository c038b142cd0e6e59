//! Verdicts that rest on histories of which some were not read.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    assessment::Assessment,
    evidence::{
        ChainFacts, ChainState, DirectionFlows, FlowDistance, FlowEnd, FlowFacts, FlowPart,
        IngestMode, Ledger, ReadHistories, ReadingStop, Tier, Tip, UnresolvedReason,
    },
    facts::Facts,
    histories_suffice,
    policy::Policy,
    score::Verdict,
    taxonomy::Category,
};
use proptest::prelude::*;

use super::common::{nothing_known, now};

/// US cents in a dollar.
const DOLLAR: u128 = 100;

fn subject() -> CanonicalAddress {
    let text = "0x52908400098527886E0F7030069857D2E4169EE7";
    CanonicalAddress::parse(ChainId::ETH, text).unwrap()
}

/// An account that received clean, stolen and unread money, in dollars.
fn facts([clean, stolen, unread]: [u128; 3], read: ReadHistories) -> Facts {
    let ends = [
        (FlowEnd::Attributed(Category::Exchange), clean),
        (FlowEnd::Attributed(Category::StolenFunds), stolen),
        (FlowEnd::Unresolved(UnresolvedReason::TraceLimit), unread),
    ];
    let parts = ends.into_iter().filter(|(_, dollars)| *dollars > 0).map(|(end, dollars)| {
        let distance = FlowDistance::Hops(2);
        let part = FlowPart::plain(end, dollars * DOLLAR);
        FlowPart { is_direct: false, tier: Tier::Investigation, distance, ..part }
    });
    let ledger = Ledger {
        unit: "USD".to_owned(),
        decimals: 2,
        left_out_decimals: 0,
        source: DirectionFlows { parts: parts.collect(), transactions: 0 },
        destination: DirectionFlows::default(),
        held: DirectionFlows::default(),
        of_accounts: true,
    };
    let flows = FlowFacts {
        complete: read.is_subject_whole,
        ledgers: vec![ledger],
        histories: Some(Box::new(read)),
        ..FlowFacts::default()
    };
    let tip = Tip {
        height: 1,
        hash: "00".repeat(32),
        time: now(),
        reported_at: now(),
        start: 0,
        ingest_mode: IngestMode::OnDemand,
        sample: false,
    };
    let chain = ChainFacts { tip, flows, behavior: None, activity: None };
    Facts { chain: ChainState::Followed(Box::new(chain)), ..nothing_known() }
}

/// Histories of which one payer's share is the greatest that was not read, in percent.
fn read(requests: u32, largest_percent: u32) -> ReadHistories {
    ReadHistories {
        api: "Some API".to_owned(),
        requests,
        is_subject_whole: true,
        largest_unread: largest_percent * 10_000,
        of_payers: 1_000_000,
        ..ReadHistories::default()
    }
}

fn answer(dollars: [u128; 3], read: ReadHistories) -> Assessment {
    assess(&subject(), &facts(dollars, read), &Policy::default(), now())
}

fn codes(answer: &Assessment) -> Vec<&str> {
    answer.reasons.iter().map(|reason| reason.code).collect()
}

#[test]
fn an_allow_is_complete_if_it_holds_whatever_the_unread_money_is() {
    let whole = answer([100_000, 0, 0], read(3, 0));
    assert_eq!((whole.verdict, whole.complete), (Verdict::Allow, true), "{:?}", whole.reasons);
    let little = answer([100_000, 0, 100], read(3, 1));
    assert_eq!((little.verdict, little.complete), (Verdict::Allow, true), "{:?}", little.reasons);
}

#[test]
fn much_unread_money_withholds_an_allow_and_says_so() {
    let stopped = Some(ReadingStop::Limit);
    let answer = answer([40_000, 0, 60_000], ReadHistories { stopped, ..read(20, 5) });
    assert_eq!((answer.verdict, answer.complete), (Verdict::Indeterminate, false));
    assert!(codes(&answer).contains(&"histories_unread"));
    let message = &answer.reasons[0].message;
    assert!(message.contains("60.0 %") && message.contains("20 requests"), "{message}");
    assert!(message.contains("its limit of requests was reached"), "{message}");
}

#[test]
fn a_little_unread_money_of_many_payers_permits_an_allow_that_is_not_complete() {
    let answer = answer([82_000, 0, 18_000], read(20, 5));
    assert_eq!((answer.verdict, answer.complete), (Verdict::Allow, false), "{:?}", answer.reasons);
    assert!(codes(&answer).contains(&"histories_partly_read"), "{:?}", answer.reasons);
    assert!(!answer.coverage.exposure.detail.is_empty());
}

#[test]
fn it_permits_none_after_few_requests_of_one_payer_or_beside_stolen_money() {
    let indeterminate = [
        ("few requests", answer([82_000, 0, 18_000], read(9, 5))),
        ("one payer", answer([82_000, 0, 18_000], read(20, 11))),
        ("stolen money", answer([76_000, 4_000, 20_000], read(20, 5))),
        ("a severe payer's receiver", {
            let reached = ReadHistories { reached_unread: 30_000, ..read(20, 5) };
            answer([82_000, 0, 18_000], reached)
        }),
        ("money without a payer", {
            let nobody = ReadHistories { of_payers: 60_000, ..read(20, 5) };
            answer([82_000, 0, 18_000], nobody)
        }),
        ("a balance that the transfers do not explain", {
            let more = ReadHistories { lacks_receipts: true, ..read(20, 0) };
            answer([100_000, 0, 0], more)
        }),
        ("half of it", answer([70_000, 0, 30_000], read(20, 5))),
        ("a subject that was not read", {
            let part = ReadHistories { is_subject_whole: false, ..read(20, 0) };
            answer([100_000, 0, 0], part)
        }),
        // 2 % of ten million dollars is too much.
        ("much money", answer([9_000_000, 0, 1_100_000], read(20, 5))),
    ];
    for (case, answer) in indeterminate {
        assert_eq!(answer.verdict, Verdict::Indeterminate, "{case}: {:?}", answer.reasons);
    }
}

#[test]
fn a_review_needs_no_more_histories() {
    let accused = answer([10_000, 50_000, 40_000], read(3, 40));
    assert!(matches!(accused.verdict, Verdict::Review | Verdict::Block), "{:?}", accused.reasons);
}

proptest! {
    /// Every outcome of the unread money leaves a complete `allow` as it is.
    #[test]
    fn a_complete_allow_is_final(
        clean in 0..1_000_000_u128,
        stolen in 0..1_000_000_u128,
        unread in 0..1_000_000_u128,
        stolen_percent in 0..=100_u128,
        requests in 0..50_u32,
        largest in 0..100_u32,
    ) {
        let before = facts([clean, stolen, unread], read(requests, largest));
        let policy = Policy::default();
        let found = assess(&subject(), &before, &policy, now());
        if found.verdict == Verdict::Allow && found.complete {
            prop_assert!(histories_suffice(&subject(), &before, &policy, now()));
            let turned = unread * stolen_percent / 100;
            let later = answer([clean + unread - turned, stolen + turned, 0], read(50, 0));
            prop_assert_eq!(later.verdict, Verdict::Allow, "{:?}", later.reasons);
        }
    }

    /// More unread money never makes an answer better.
    #[test]
    fn unread_money_never_helps(
        clean in 1..1_000_000_u128,
        stolen in 0..100_000_u128,
        unread in 0..1_000_000_u128,
        more in 0..1_000_000_u128,
    ) {
        let few = answer([clean, stolen, unread], read(20, 5));
        let many = answer([clean, 0, unread + more + stolen], read(20, 5));
        if few.verdict != Verdict::Allow && stolen == 0 {
            prop_assert_ne!(many.verdict, Verdict::Allow);
        }
    }
}
