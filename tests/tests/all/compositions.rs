//! Compositions (breakdowns of a transaction's funds by origin) equal those of an independent calculation, whatever the
//! order of computation.
#![expect(clippy::cast_precision_loss, reason = "fractions are compared within a millionth")]

use std::collections::{BTreeMap, HashMap};

use assay_address::ChainId;
use assay_engine::{
    composition::{Composition, Origin, PassedLabel},
    evidence::{FlowEnd, FlowFacts, FlowPart, ListingPeriod, UnresolvedReason},
    ledger::{CoinShare, TransactionNumber},
    taxonomy::Category,
    trace::TraceRules,
    utxo::{Pool, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, Txid},
};
use assay_graph::{
    EmbeddedGraphs, GraphWriter, WriterOptions,
    compositions::{
        CompositionReader, CompositionWriter, OwnerAttribution, SliceProgress, TraceEnd, TraceEnds,
    },
};
use assay_test_random::Random;
use assay_tests::{
    is_full,
    oracle::{Case, concatenated_chains},
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// Parties at which traces end, or whose labels traces carry, by script.
pub(crate) type Parties = BTreeMap<ScriptOwner, OwnerAttribution>;

/// Permitted difference between a share and the calculated fraction.
const TOLERANCE: f64 = 1.0 / (1 << 20) as f64;
/// Most categories of severe labels that a composition names.
const MOST_PASSED: usize = 4;
/// Largest number of fee payers that a coinbase's composition names.
const PAYERS: usize = 100;

pub(crate) fn parties(cases: &[Case]) -> Parties {
    let attributed = cases.iter().flat_map(|case| &case.attributions);
    let named = attributed.filter_map(|(owner, attribution)| {
        let end = attribution.end.as_ref();
        let end = end.map(|end| TraceEnd { category: end.category, listed_on: end.listed_on });
        let is_labelled = !attribution.carried.is_empty();
        let passed = PassedLabel::of(&attribution.carried);
        (end.is_some() || is_labelled)
            .then(|| (owner.clone(), OwnerAttribution { end, is_labelled, passed }))
    });
    let pools = [Pool::Mweb, Pool::ZcashShielded].map(|pool| {
        let category = "privacy_protocol".parse().unwrap();
        (ScriptOwner::Pool(pool), OwnerAttribution::from(TraceEnd { category, listed_on: None }))
    });
    named.chain(pools).collect()
}

/// Fractions of a transaction's money by origin, and the fractions that are mixed, or that passed a label.
#[derive(Clone, Debug, Default)]
struct Fractions {
    origins: BTreeMap<Origin, f64>,
    mixed: f64,
    labelled: f64,
    /// By category of the severe labels, with the highest confidence in percent.
    passed: BTreeMap<Category, f64>,
    /// True if the money or its origins passed more categories than compositions name.
    passed_more: bool,
}

impl Fractions {
    fn add(&mut self, of: &Self, part: f64) {
        for (origin, fraction) in &of.origins {
            *self.origins.entry(*origin).or_default() += fraction * part;
        }
        self.mixed += of.mixed * part;
        self.labelled += of.labelled * part;
        for (category, fraction) in &of.passed {
            *self.passed.entry(*category).or_default() += fraction * part;
        }
        self.passed_more |= of.passed_more;
    }
}

/// The independent calculation, transaction by transaction, by the rules of the document.
fn calculated(blocks: &[ResolvedBlock], parties: &Parties) -> HashMap<Txid, Fractions> {
    let mut known: HashMap<Txid, Fractions> = HashMap::new();
    for block in blocks {
        let day = block.reference.time.to_zoned(TimeZone::UTC).date();
        let is_coinbase = |it: &&Transaction| it.kind == TransactionKind::Coinbase;
        for payment in block.transactions.iter().filter(|it| !is_coinbase(it)) {
            let fractions = of_payment(payment, day, parties, &known);
            known.insert(payment.txid, fractions);
        }
        let mut fees: Vec<(u128, Txid)> = Vec::new();
        for payment in block.transactions.iter().filter(|it| !is_coinbase(it)) {
            let fee = payment.input_total().saturating_sub(payment.output_total());
            fees.push((fee, payment.txid));
        }
        fees.retain(|(fee, _)| *fee > 0);
        fees.sort_by(|(a, _), (b, _)| b.cmp(a));
        fees.truncate(PAYERS);
        let paid: u128 = fees.iter().map(|(fee, _)| fee).sum();
        for coinbase in block.transactions.iter().filter(is_coinbase) {
            let mined = coinbase.output_total().saturating_sub(paid);
            let mined = if mined == 0 && paid == 0 { 1 } else { mined };
            let whole = (mined + paid) as f64;
            let mut fractions = Fractions::default();
            if mined > 0 {
                fractions.origins.insert(Origin::Mining, mined as f64 / whole);
            }
            for (fee, payer) in &fees {
                fractions.add(&known[payer], *fee as f64 / whole);
            }
            fractions.passed_more |= fractions.passed.len() > MOST_PASSED;
            known.insert(coinbase.txid, fractions);
        }
    }
    known
}

fn of_payment(
    payment: &Transaction,
    day: Date,
    parties: &Parties,
    known: &HashMap<Txid, Fractions>,
) -> Fractions {
    let whole = payment.input_total() as f64;
    let mut fractions = Fractions::default();
    for input in &payment.inputs {
        let Some(spent) = input.spent.as_ref().filter(|spent| spent.value > 0) else {
            continue;
        };
        let part = spent.value as f64 / whole;
        let OwnerAttribution { end, is_labelled, passed } =
            parties.get(&spent.owner).cloned().unwrap_or_default();
        let labelled = fractions.labelled + part;
        let before = fractions.passed.clone();
        if let Some(end) = end {
            let period = end.listed_on.map(|listed| {
                if day < listed { ListingPeriod::Before } else { ListingPeriod::Since }
            });
            *fractions.origins.entry(Origin::Party(end.category, period)).or_default() += part;
        } else if let Some(source) = known.get(&input.outpoint.txid) {
            fractions.add(source, part);
        }
        if is_labelled {
            fractions.labelled = labelled;
        }
        for label in passed {
            let passed = before.get(&label.category).copied().unwrap_or_default() + part;
            fractions.passed.insert(label.category, passed);
        }
    }
    fractions.passed_more |= fractions.passed.len() > MOST_PASSED;
    if matches!(payment.kind, TransactionKind::Coinjoin(_)) {
        fractions.mixed = 1.0;
    }
    fractions
}

fn units(share: CoinShare) -> f64 {
    share.units() as f64 / CoinShare::WHOLE.units() as f64
}

fn assert_same(txid: Txid, found: &Composition, expected: &Fractions) {
    for (origin, fraction) in &expected.origins {
        let difference = fraction - units(found.share(*origin));
        assert!(
            (-1e-9..TOLERANCE).contains(&difference),
            "{txid}: {origin:?} is {fraction}, not {:?}",
            found.share(*origin)
        );
    }
    for (origin, _) in found.origins() {
        assert!(expected.origins.contains_key(&origin), "{txid}: no {origin:?}");
    }
    for (what, expected, found) in [
        ("mixed", expected.mixed, found.mixed()),
        ("labelled", expected.labelled, found.labelled()),
    ] {
        let difference = expected - units(found);
        assert!((-1e-9..TOLERANCE).contains(&difference), "{txid}: {what} {expected}");
    }
    // Of more categories the largest are named, nearly equal ones in place of each other.
    assert!(found.passed().len() <= MOST_PASSED, "{txid}");
    for (category, expected) in expected.passed.iter().filter(|_| !expected.passed_more) {
        let difference = expected - units(found.share_passed(*category));
        assert!((-1e-9..TOLERANCE).contains(&difference), "{txid}: {category:?} {expected}");
    }
    let sum: u64 = found.origins().map(|(_, share)| share.units()).sum();
    assert!(sum <= CoinShare::WHOLE.units(), "{txid}");
}

/// A graph with its compositions.
pub(crate) struct GraphWithCompositions {
    pub(crate) graphs: EmbeddedGraphs,
    chain: ChainId,
    compositions: Option<CompositionWriter>,
    directory: tempfile::TempDir,
}

impl GraphWithCompositions {
    pub(crate) fn new(chain: ChainId) -> (Self, GraphWriter) {
        let directory = tempfile::tempdir().unwrap();
        let graphs = EmbeddedGraphs::new(directory.path());
        let options = WriterOptions { start: 0, sample: false, backfill: false };
        let writer = graphs.writer(chain, options).unwrap();
        let compositions = Some(graphs.composition_writer(chain).unwrap());
        (Self { graphs, chain, compositions, directory }, writer)
    }

    /// Drops the writer, like a kill, and opens another one.
    fn reopen(&mut self) {
        self.compositions = None;
        self.compositions = Some(self.graphs.composition_writer(self.chain).unwrap());
    }

    /// Removes all compositions.
    fn remove_compositions(&mut self) {
        self.compositions = None;
        let folder = format!("{}.compositions", self.chain);
        std::fs::remove_dir_all(self.directory.path().join("chains").join(folder)).unwrap();
        self.reopen();
    }

    /// Computes one slice of about `most` transactions.
    async fn slice(&self, parties: &Parties, most: u64) -> SliceProgress {
        self.slice_of(&self.ends(parties).await, most)
    }

    fn slice_of(&self, ends: &TraceEnds, most: u64) -> SliceProgress {
        let graph = self.graphs.open(self.chain).unwrap().unwrap();
        let snapshot = graph.snapshot().unwrap();
        self.compositions.as_ref().unwrap().advance(&snapshot, ends, most).unwrap()
    }

    /// The parties by their numbers in the current graph.
    async fn ends(&self, parties: &Parties) -> TraceEnds {
        let graph = self.graphs.graph(self.chain).unwrap().unwrap();
        let view = graph.view().await.unwrap().unwrap();
        let mut ends = TraceEnds::default();
        for (owner, end) in parties {
            if let Some(owner) = view.owner_number(owner).await.unwrap() {
                ends.add(owner, end.clone());
            }
        }
        ends
    }

    /// Computes up to the newest block, in slices of `slice` transactions.
    pub(crate) async fn complete(&self, parties: &Parties, slice: u64) -> u64 {
        let (ends, mut computed) = (self.ends(parties).await, 0);
        loop {
            let advanced = self.slice_of(&ends, slice);
            computed += advanced.computed;
            if advanced.is_complete {
                return computed;
            }
        }
    }

    fn reader(&self) -> CompositionReader {
        self.graphs.compositions(self.chain).unwrap().unwrap().reader().unwrap().unwrap()
    }

    /// All compositions, as bytes.
    fn bytes(&self) -> Vec<Vec<u8>> {
        let reader = self.reader();
        let all = (0..).map_while(|number| reader.composition(TransactionNumber(number)).unwrap());
        let bytes = all.map(|composition| {
            let mut bytes = Vec::new();
            composition.put_bytes(&mut bytes);
            bytes
        });
        bytes.collect()
    }
}

pub(crate) fn append(writer: &mut GraphWriter, blocks: &[ResolvedBlock], reorganizable_from: u64) {
    assay_tests::append(writer, blocks, reorganizable_from, Timestamp::UNIX_EPOCH).unwrap();
}

#[tokio::test]
async fn compositions_are_as_calculated_whatever_the_slices() {
    let cases: Vec<Case> = (0..if is_full() { 2_000 } else { 600 }).map(Case::generate).collect();
    let parties = parties(&cases);
    let (mut transactions, mut joint, mut labelled) = (0, 0, 0);
    for (chain, blocks) in concatenated_chains(&cases) {
        // Given a chain of random histories with listed parties, joint transactions, fees and pools,
        let (straight, mut writer) = GraphWithCompositions::new(chain);
        append(&mut writer, &blocks, u64::MAX);
        // when its compositions are computed at once,
        let computed = straight.complete(&parties, u64::MAX).await;
        let reader = straight.reader();
        let expected = calculated(&blocks, &parties);
        // then each is as calculated,
        let all = blocks.iter().flat_map(|block| &block.transactions);
        for (transaction, number) in all.zip(0..) {
            let found = reader.composition(TransactionNumber(number)).unwrap().unwrap();
            assert_same(transaction.txid, &found, &expected[&transaction.txid]);
            joint += u64::from(!found.mixed().is_nothing());
            labelled += u64::from(!found.labelled().is_nothing());
        }
        transactions += computed;
        // and the same is computed block after block.
        let (followed, mut writer) = GraphWithCompositions::new(chain);
        for blocks in blocks.chunks(97) {
            let above = blocks.last().unwrap().reference.height.saturating_sub(5);
            append(&mut writer, blocks, above);
            let _ = followed.complete(&parties, 13).await;
        }
        assert!(followed.bytes() == straight.bytes(), "{chain}");
    }
    eprintln!("{transactions} transactions, {joint} with mixed money, {labelled} past labels");
    assert!(joint > 100 && labelled > 100);
}

#[tokio::test]
async fn a_graph_restored_with_fewer_blocks_gets_compositions_of_its_own() {
    let cases: Vec<Case> = (0..40).map(Case::generate).collect();
    let parties = parties(&cases);
    for (chain, blocks) in concatenated_chains(&cases) {
        // Given compositions of a whole chain, without parties, beside a graph of half of it,
        let (whole, mut writer) = GraphWithCompositions::new(chain);
        append(&mut writer, &blocks, u64::MAX);
        let _ = whole.complete(&Parties::new(), u64::MAX).await;
        let (mut restored, mut writer) = GraphWithCompositions::new(chain);
        let (first, rest) = blocks.split_at(blocks.len() / 2);
        append(&mut writer, first, u64::MAX);
        restored.compositions = None;
        let file = format!("chains/{chain}.compositions/data.mdb");
        let [from, to] = [&whole, &restored].map(|of| of.directory.path().join(&file));
        std::fs::copy(from, to).unwrap();
        restored.reopen();
        // when lists name parties, and the rest of the blocks follows,
        let _ = restored.complete(&parties, 7).await;
        append(&mut writer, rest, u64::MAX);
        let _ = restored.complete(&parties, 7).await;
        // then everything is as if computed once.
        let _ = whole.complete(&parties, u64::MAX).await;
        assert!(restored.bytes() == whole.bytes(), "{chain}");
    }
}

#[tokio::test]
async fn changed_lists_and_replaced_blocks_leave_nothing_behind() {
    let cases: Vec<Case> = (0..60).map(Case::generate).collect();
    let all = parties(&cases);
    let mut dice = Random::new(3);
    for (chain, blocks) in concatenated_chains(&cases) {
        let (changed, mut writer) = GraphWithCompositions::new(chain);
        let (mut recorded, mut settled) = (0, 0);
        for round in 0..40 {
            // Given random parties, some of which lists and labels name,
            let named: Parties = all
                .iter()
                .filter(|_| round % 3 == 0 || dice.below(4) > 0)
                .map(|(owner, end)| (owner.clone(), end.clone()))
                .collect();
            // when blocks are replaced and follow,
            let from = recorded - dice.index(6).min(recorded);
            let from = from.max(settled);
            if from > 0 && from < recorded {
                writer.roll_back(blocks[from - 1].reference.height).unwrap();
            }
            let from = if from == 0 { recorded } else { from };
            let to = (from + 1 + dice.index(12)).min(blocks.len());
            if to == from {
                break;
            }
            let above = blocks[to - 1].reference.height.saturating_sub(6);
            append(&mut writer, &blocks[from..to], above);
            recorded = to;
            settled = settled.max(to.saturating_sub(6));
            // and only a part is computed before the next change now and then,
            if dice.below(3) == 0 {
                let _ = changed.slice(&named, 5).await;
                continue;
            }
            let _ = changed.complete(&named, 17).await;
            // then everything is as if computed once.
            let (straight, mut other) = GraphWithCompositions::new(chain);
            append(&mut other, &blocks[..recorded], u64::MAX);
            let _ = straight.complete(&named, u64::MAX).await;
            assert!(changed.bytes() == straight.bytes(), "{chain}, round {round}");
        }
    }
}

fn source_parts(flows: &FlowFacts) -> impl Iterator<Item = &FlowPart> {
    flows.ledgers.iter().flat_map(|ledger| &ledger.source.parts)
}

/// The received amounts by origin in units of a trace; `None` for an unknown origin.
fn by_origin(flows: &FlowFacts) -> BTreeMap<Option<Origin>, u128> {
    let mut sums = BTreeMap::new();
    for part in source_parts(flows) {
        let origin = match part.end {
            FlowEnd::Attributed(category) => Some(Origin::Party(category, part.listing_period)),
            FlowEnd::Mining => Some(Origin::Mining),
            _ => None,
        };
        *sums.entry(origin).or_default() += part.mass.total();
    }
    sums
}

#[tokio::test]
async fn a_trace_that_stops_finds_as_much_of_each_origin_as_one_without_end() {
    let (mut compared, mut further, mut with_paths) = (0, 0, 0);
    for seed in 0..400 {
        let mut case = Case::generate(seed);
        // The subject is no party to its own trace.
        if case.attribution(&case.subject).end.is_some() {
            continue;
        }
        let chains = concatenated_chains(std::slice::from_ref(&case));
        let (chain, blocks) = chains.into_iter().next().unwrap();
        // Given a history with its compositions,
        let (computed, mut writer) = GraphWithCompositions::new(chain);
        append(&mut writer, &blocks, u64::MAX);
        let _ = computed.complete(&parties(std::slice::from_ref(&case)), u64::MAX).await;
        let graph = computed.graphs.graph(chain).unwrap().unwrap();
        let view = graph.view().await.unwrap().unwrap();
        assert!(view.compositions().is_some());
        case.rules = TraceRules {
            hops: None,
            stop_below_share_millionths: 0,
            transactions: 100_000,
            source_transactions: 100_000,
            entries: 1_000_000,
            transfers_per_address: 1_000_000,
            entries_of_history: 1_000_000,
            ..case.rules
        };
        // when a subject is traced without end, and with a trace that stops soon, or is cut, or has few hops,
        let Some(whole) = case.trace(&*view, None).await.unwrap() else { continue };
        // What transactions are made of knows nothing of money that returned to the subject.
        if source_parts(&whole).any(|part| part.end == FlowEnd::Returned) {
            continue;
        }
        let whole = by_origin(&whole);
        let stops = [
            TraceRules { source_transactions: 0, ..case.rules },
            TraceRules { source_transactions: 3, ..case.rules },
            TraceRules { transactions: 2, ..case.rules },
            TraceRules { entries: 4, ..case.rules },
            TraceRules { hops: Some(1), ..case.rules },
            TraceRules {
                stop_below_share_millionths: 200_000,
                stop_trace_below: u128::from(u64::MAX),
                ..case.rules
            },
        ];
        for rules in stops {
            case.rules = rules;
            let stopped = case.trace(&*view, None).await.unwrap().unwrap();
            // then each origin has the same amount, but for what is rounded.
            let sums = by_origin(&stopped);
            let all: u128 = sums.values().sum();
            // Parts of less than one base unit are left out, of which there are a few.
            // Of a coinbase that is little itself, fees are not followed.
            let little: u128 = source_parts(&stopped)
                .filter(|part| part.end == FlowEnd::Unresolved(UnresolvedReason::BelowThreshold))
                .map(|part| part.mass.total())
                .sum();
            let left_out = (8 << 32) + little;
            for origin in whole.keys().chain(sums.keys()) {
                let of = |sums: &BTreeMap<_, u128>| sums.get(origin).copied().unwrap_or_default();
                let difference = of(&whole).abs_diff(of(&sums));
                assert!(
                    difference <= (all >> 20) + left_out,
                    "case {seed}, {rules:?}: {origin:?} has {}, not {}",
                    of(&sums),
                    of(&whole)
                );
            }
            for part in source_parts(&stopped).filter(|part| part.distance.further_than().is_some())
            {
                further += 1;
                // And a path that is shown carries no more than the part.
                with_paths += u64::from(!part.paths.is_empty());
                assert!(part.paths.iter().all(|path| path.amount <= part.amount));
            }
            compared += 1;
        }
    }
    eprintln!("{compared} traces, {further} parts further away, {with_paths} with a path");
    assert!(further > 100 && with_paths > 50);
}

/// Adds, removes or replaces a random named party.
fn change_one(named: &mut Parties, all: &Parties, dice: &mut Random) {
    let nth = dice.index(all.len());
    let (owner, end) = all.iter().nth(nth).unwrap();
    let mixer = OwnerAttribution::from(TraceEnd { category: Category::Mixer, listed_on: None });
    let other = OwnerAttribution { is_labelled: dice.below(2) == 0, ..mixer.clone() };
    match named.get(owner) {
        None => named.insert(owner.clone(), end.clone()),
        Some(known) if *known != other && dice.below(2) == 0 => named.insert(owner.clone(), other),
        Some(_) => named.remove(owner),
    };
}

#[tokio::test]
async fn changed_parties_change_what_follows_from_them() {
    let cases: Vec<Case> = (0..60).map(Case::generate).collect();
    let all = parties(&cases);
    let mut dice = Random::new(11);
    let (mut rounds, mut in_part) = (0, 0);
    for (chain, blocks) in concatenated_chains(&cases) {
        // Given the compositions of a chain, without its newest blocks,
        let (mut changed, mut writer) = GraphWithCompositions::new(chain);
        let (mut straight, mut other) = GraphWithCompositions::new(chain);
        let mut recorded = blocks.len() * 9 / 10;
        let above = blocks[recorded - 1].reference.height.saturating_sub(6);
        append(&mut writer, &blocks[..recorded], above);
        append(&mut other, &blocks[..recorded], above);
        let mut named = all.clone();
        let _ = changed.complete(&named, u64::MAX).await;
        let mut before = changed.bytes();
        for round in 0..70 {
            // when a few parties change, or many,
            for _ in 0..(if round % 20 == 19 { all.len() / 2 } else { 1 + round % 3 }) {
                change_one(&mut named, &all, &mut dice);
            }
            // and blocks are replaced and follow now and then,
            let from = recorded - dice.index(6);
            let to = (recorded + dice.index(4)).min(blocks.len());
            if dice.below(3) == 0 && from < to {
                for writer in [&mut writer, &mut other] {
                    if from < recorded {
                        writer.roll_back(blocks[from - 1].reference.height).unwrap();
                    }
                    let above = blocks[to - 1].reference.height.saturating_sub(6);
                    append(writer, &blocks[from..to], above);
                }
                recorded = to;
            }
            straight.remove_compositions();
            let whole = straight.complete(&named, u64::MAX).await;
            let expected = straight.bytes();
            // and the computation is killed between slices, some of which come after the next change,
            let most = *dice.pick(&[5, 40, 300, u64::MAX]);
            let (mut computed, mut is_complete) = (0, false);
            while !is_complete && dice.below(40) > 0 {
                let advanced = changed.slice(&named, most).await;
                computed += advanced.computed;
                is_complete = advanced.is_complete;
                // then what answers is of one state at any time,
                let found = changed.bytes();
                assert!(
                    before.starts_with(&found) || expected.starts_with(&found),
                    "{chain}, round {round}"
                );
                before = found;
                if dice.below(4) == 0 {
                    changed.reopen();
                }
            }
            // and in the end all is as if computed once.
            if is_complete {
                assert!(before == expected, "{chain}, round {round}");
                rounds += 1;
                in_part += u64::from(computed < whole / 2);
            }
        }
    }
    eprintln!("{rounds} rounds, {in_part} of them computed less than half");
    assert!(rounds > 100 && in_part > rounds / 2);
}

#[tokio::test]
async fn a_small_change_computes_few_compositions() {
    // Given the compositions of many histories that have nothing to do with each other,
    let cases: Vec<Case> = (0..300).map(Case::generate).collect();
    let all = parties(&cases);
    for (chain, blocks) in concatenated_chains(&cases) {
        let (changed, mut writer) = GraphWithCompositions::new(chain);
        append(&mut writer, &blocks, u64::MAX);
        let whole = changed.complete(&all, u64::MAX).await;
        // when nothing changes, then nothing is computed;
        assert_eq!(changed.complete(&all, u64::MAX).await, 0, "{chain}");
        // when one party is named no more, then only what follows from it is computed,
        let mut named = all.clone();
        named.pop_first();
        let computed = changed.complete(&named, u64::MAX).await;
        assert!(computed < whole / 8, "{chain}: {computed} of {whole}");
        // and again when it is named as before.
        assert_eq!(changed.complete(&all, u64::MAX).await, computed, "{chain}");
    }
}
