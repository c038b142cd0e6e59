//! The engine's traces equal the oracle's to the last unit.
//!
//! `ASSAY_CHAINS=100000 cargo test -p assay-tests --test all flows` tests more chains, and `ASSAY_FIRST_CHAIN=4711
//! ASSAY_CHAINS=1` only the chain 4711.

use std::{
    collections::BTreeMap,
    env,
    num::NonZero,
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use assay_engine::{
    evidence::{
        Direction, FlowDistance, FlowEnd, FlowFacts, FlowPart, ListingPeriod, Solicitation,
    },
    taxonomy::Category,
};
use assay_graph::{EmbeddedGraphs, GraphView, WriterOptions};
use assay_tests::{
    append,
    oracle::{Case, Deviation, UnreadTransactions, concatenated_chains},
};
use futures_util::FutureExt;
use jiff::Timestamp;

/// The seeds of the generated chains, `usual` by default.
fn seeds(usual: u64) -> Range<u64> {
    let number = |name| env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let first = number("ASSAY_FIRST_CHAIN").unwrap_or(0);
    first..first + number("ASSAY_CHAINS").unwrap_or(usual)
}

/// Results of `look` for each generated chain.
fn chains<T: Send>(usual: u64, look: impl Fn(Case) -> T + Sync) -> Vec<T> {
    let Range { start, end } = seeds(usual);
    let (next, told) = (AtomicU64::new(start), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let one = look(Case::generate(seed));
            told.lock().unwrap().push(one);
        }
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    told.into_inner().unwrap()
}

fn traced(case: &Case, view: &dyn GraphView, batch: Option<usize>) -> FlowFacts {
    // A read from memory never waits.
    let traced = case.trace(view, batch).now_or_never().unwrap();
    traced.unwrap().unwrap_or_else(|| panic!("seed {}: nobody knows the subject", case.seed))
}

fn parts(facts: &FlowFacts) -> impl Iterator<Item = (Direction, &FlowPart)> {
    [Direction::Source, Direction::Destination].into_iter().flat_map(move |direction| {
        let ledgers = facts.ledgers.iter();
        let parts = ledgers.flat_map(move |ledger| &ledger.direction(direction).parts);
        parts.map(move |part| (direction, part))
    })
}

fn assert_same(case: &Case, found: &FlowFacts, expected: &FlowFacts) {
    if let Some(difference) = case.difference(found, expected) {
        panic!("{difference}");
    }
}

/// Features of answers that must occur in both directions.
const BOTH_WAYS: [&str; 27] = [
    "went round",
    "Unresolved(TraceLimit)",
    "Unresolved(BelowThreshold)",
    "Unresolved(DepthLimit)",
    "a party, OfficialList",
    "a party, OnChainProof",
    "a party, Investigation",
    "a party, Community",
    "a pool",
    "listed on no known day",
    "moved before the listing",
    "moved since the listing",
    "carries all that it can",
    "carries something met on the way",
    "passed a Generic",
    "passed a Wasabi1",
    "passed a Wasabi2",
    "passed a Whirlpool",
    "passed a JoinMarket",
    "passed a PrivateSend",
    "six hops",
    "more transactions than hops",
    "decayed to nothing",
    "all recent",
    "recent and earlier",
    "many paths",
    "a fortune",
];

/// Features of answers that must occur in one direction.
const ONE_WAY: [&str; 8] = [
    "Source: dust",
    "Source: untouched",
    "Source: paid back",
    "Source: Mining",
    "Source: Unresolved(UnknownOrigin)",
    "Source: unasked for",
    "Destination: Unspent",
    "Destination: Fee",
];

/// Features of an answer.
fn features(facts: &FlowFacts) -> Vec<String> {
    let mut seen = Vec::new();
    for (direction, part) in parts(facts) {
        let end = match part.end {
            FlowEnd::Attributed(Category::PrivacyProtocol) => "a pool".to_owned(),
            FlowEnd::Attributed(_) => format!("a party, {:?}", part.tier),
            end => format!("{end:?}"),
        };
        seen.push(format!("{direction:?}: {end}"));
        let marks = [
            (part.solicitation == Solicitation::Dust, "dust"),
            (part.solicitation == Solicitation::Unsolicited, "unasked for"),
            (part.solicitation == Solicitation::Untouched, "untouched"),
            (part.solicitation == Solicitation::PaidBack, "paid back"),
            (part.outstanding.is_some(), "went round"),
            (part.listed && part.listing_period.is_none(), "listed on no known day"),
            (part.listing_period == Some(ListingPeriod::Before), "moved before the listing"),
            (part.listing_period == Some(ListingPeriod::Since), "moved since the listing"),
            (part.carried.len() == 12, "carries all that it can"),
            (
                part.carried.iter().any(|carried| carried.distance.hops > 1),
                "carries something met on the way",
            ),
            (part.distance >= FlowDistance::Hops(6), "six hops"),
            (
                part.paths
                    .iter()
                    .any(|path| path.steps.len() > part.distance.hops().unwrap_or(0).max(1).into()),
                "more transactions than hops",
            ),
            (part.decayed.is_zero(), "decayed to nothing"),
            (part.recent == part.amount, "all recent"),
            (part.recent > 0 && part.recent < part.amount, "recent and earlier"),
            (part.paths.len() > 3, "many paths"),
            (part.amount > 1_000_000_000_000_000_000, "a fortune"),
        ];
        let kinds = part.carried.iter().filter_map(|carried| carried.label.coinjoin);
        seen.extend(kinds.map(|kind| format!("{direction:?}: passed a {kind:?}")));
        let marks = marks.iter().filter(|(is, _)| *is);
        seen.extend(marks.map(|(_, mark)| format!("{direction:?}: {mark}")));
    }
    seen
}

#[test]
fn engine_and_oracle_agree() {
    let told = chains(10_000, |case| {
        let memory = case.in_memory();
        let found = traced(&case, &memory, None);
        assert_same(&case, &found, &case.expected());
        for batch in [1, 7] {
            assert_eq!(
                traced(&case, &memory, Some(batch)),
                found,
                "seed {}, by {batch}",
                case.seed
            );
        }
        features(&found)
    });
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for sight in told.iter().flatten() {
        *seen.entry(sight.clone()).or_default() += 1;
    }
    eprintln!("{} chains", told.len());
    for (sight, times) in &seen {
        eprintln!("{times:>8}  {sight}");
    }
    if told.len() >= 10_000 {
        let both = [Direction::Source, Direction::Destination].into_iter().flat_map(|direction| {
            BOTH_WAYS.iter().map(move |sight| format!("{direction:?}: {sight}"))
        });
        for sight in both.chain(ONE_WAY.map(str::to_owned)) {
            assert!(seen.contains_key(&sight), "never seen: {sight}");
        }
    }
}

#[tokio::test]
async fn the_embedded_store_answers_as_expected() {
    let directory = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(directory.path());
    let cases: Vec<Case> = seeds(300).map(Case::generate).collect();
    for (chain, blocks) in concatenated_chains(&cases) {
        let options = WriterOptions { start: 0, sample: false, backfill: false };
        let mut writer = graphs.writer(chain, options).unwrap();
        for blocks in blocks.chunks(100) {
            append(&mut writer, blocks, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
        }
        writer.build_indexes().unwrap();
    }
    for case in cases {
        let graph = graphs.graph(case.chain).unwrap().unwrap();
        let expected = case.expected();
        let view = graph.view().await.unwrap().unwrap();
        for batch in [None, Some(1), Some(256)] {
            let found = case.trace(&*view, batch).await.unwrap().unwrap();
            assert_same(&case, &found, &expected);
        }
    }
}

#[test]
fn reads_past_the_deadline_are_unresolved() {
    let incomplete = chains(1_000, |case| {
        let (unread, memory) = (UnreadTransactions(60), case.in_memory());
        let found =
            case.trace_with_unread(unread, &memory).now_or_never().unwrap().unwrap().unwrap();
        assert_same(&case, &found, &case.expected_with_unread(unread));
        !found.complete
    });
    assert!(incomplete.iter().filter(|incomplete| **incomplete).count() * 10 > incomplete.len());
}

#[test]
fn parts_sum_to_what_the_subject_received() {
    let _ = chains(1_000, |case| {
        let memory = case.in_memory();
        let subject = memory.owner_number(&case.subject).now_or_never().unwrap();
        let subject = subject.unwrap().unwrap();
        let history = memory.history(subject, case.rules.read_limits()).now_or_never();
        let history = history.unwrap().unwrap();
        let whole = history.statistics.received.max(history.statistics.sent);
        let found = traced(&case, &memory, None);
        for wanted in [Direction::Source, Direction::Destination] {
            let amounts = parts(&found).filter(|(direction, _)| *direction == wanted);
            let sum: u128 = amounts.map(|(_, part)| part.amount).sum();
            assert_eq!(sum, whole, "seed {}, {wanted:?}", case.seed);
        }
        for (_, part) in parts(&found) {
            assert!(part.amount > 0 && part.recent <= part.amount, "seed {}: {part:?}", case.seed);
            assert!(part.paths.iter().all(|path| path.amount <= part.amount), "{part:?}");
            let is_before = part.listing_period == Some(ListingPeriod::Before);
            assert_eq!(part.days_before_listing.is_some(), is_before, "{part:?}");
        }
    });
}

#[test]
fn integer_amounts_are_within_the_documented_bound_of_fractions() {
    let told = chains(1_000, |case| case.deviation());
    let worst = told.into_iter().fold(Deviation::default(), Deviation::max);
    let Deviation { base_units, of_allowed, decayed_of_allowed, shares } = worst;
    eprintln!(
        "whole units and fractions: at most {}.{:06} base units apart; before rounding to base units \
         {of_allowed} millionths of what is allowed, decayed {decayed_of_allowed}; at most {shares} \
         shares in one direction",
        base_units / 1_000_000,
        base_units % 1_000_000,
    );
}
