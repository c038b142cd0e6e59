//! Tests of traces over small handmade chains, by the rules of `docs/model/trace.md`.

use jiff::civil::date;

use super::*;
use crate::{
    composition::{Composition, Mixture, Origin, PassedLabel},
    evidence::{
        Direction, FlowDistance, FlowEnd, FlowPart, LabelDistance, Solicitation, Tier,
        UnresolvedReason,
    },
    fixed::Fraction,
    ledger::{Mass, Statistics, TransactionNumber},
    policy::PatternRules,
    reading::{BlockPosition, FeePayer, GatheredChain, LookupResult, TransactionRead, Waypoint},
    score::Confidence,
    taxonomy::Category,
    utxo::{
        OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
        coinjoin::CoinjoinKind,
    },
};

/// One coin in base units.
const COIN: u64 = 100_000_000;
const SUBJECT: u16 = 1;
/// An exchange, at which traces end.
const EXCHANGE: u16 = 2;
const RULES: TraceRules = TraceRules {
    source_transactions: 2_000,
    hops: None,
    stop_below_share_millionths: 0,
    stop_trace_below: 0,
    transactions: 100_000,
    entries: 1_000_000,
    transfers_per_address: 1_000_000,
    entries_of_history: 1_000_000,
    decay: Fraction::from_billionths(485_968_117),
    coinjoin_severity: 40,
    unsolicited_below: 0,
    largest_dust: 0,
    held_from: 0,
    paths_per_part: 3,
    patterns: PatternRules::NONE,
};

fn owner(number: u16) -> ScriptOwner {
    let mut bytes = [0; 20];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    ScriptOwner::KeyHash(bytes)
}

/// A chain with one transaction in each block, and coinbases with their fee payers.
#[derive(Default)]
struct HandMade(Vec<Transaction>, Vec<(Txid, Txid, u64)>);

impl HandMade {
    fn add(&mut self, kind: TransactionKind, inputs: &[OutPoint], outputs: &[(u16, u64)]) -> Txid {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(self.0.len() as u64 + 1).to_be_bytes());
        let txid = Txid::from_bytes(bytes);
        let spent = |outpoint: &OutPoint| {
            let made = self.0.iter().find(|transaction| transaction.txid == outpoint.txid).unwrap();
            Some(made.outputs[outpoint.index as usize].clone())
        };
        let inputs = inputs.iter().map(|outpoint| TxInput::new(*outpoint, spent(outpoint)));
        let inputs = inputs.collect();
        let output = |(number, value): &(u16, u64)| TxOut { owner: owner(*number), value: *value };
        let outputs = outputs.iter().map(output).collect();
        self.0.push(Transaction { txid, kind, inputs, outputs });
        txid
    }

    fn mine(&mut self, outputs: &[(u16, u64)]) -> Txid {
        self.add(TransactionKind::Coinbase, &[], outputs)
    }

    fn pay(&mut self, inputs: &[(Txid, u32)], outputs: &[(u16, u64)]) -> Txid {
        self.add(TransactionKind::Payment, &outpoints(inputs), outputs)
    }

    fn spender(&self, output: &OutPoint) -> Option<&Transaction> {
        let spends = |transaction: &&Transaction| {
            transaction.inputs.iter().any(|input| input.outpoint == *output)
        };
        self.0.iter().find(spends)
    }

    /// The whole chain, one transaction in each block.
    fn gathered(&self) -> GatheredChain {
        let mut gathered = GatheredChain::default();
        let time = date(2020, 1, 1).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
        for (transaction, height) in self.0.iter().zip(0..) {
            gathered.add(transaction, BlockPosition { height, time, index: 0 });
            for index in 0..u32::try_from(transaction.outputs.len()).unwrap() {
                let outpoint = OutPoint { txid: transaction.txid, index };
                let output = gathered.output_number(outpoint);
                gathered.set_spender(output, self.spender(&outpoint).map(|spender| spender.txid));
            }
        }
        for transaction in &self.0 {
            let paid = self.1.iter().filter(|(coinbase, ..)| *coinbase == transaction.txid);
            let paid: Vec<_> = paid
                .map(|(_, payer, fee)| FeePayer { transaction: gathered.number(*payer), fee: *fee })
                .collect();
            let coinbase = gathered.number(transaction.txid);
            gathered.set_fee_payers(coinbase, paid);
        }
        gathered
    }

    fn statistics(&self) -> Statistics {
        let subject = owner(SUBJECT);
        let time = date(2020, 1, 1).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
        let mut statistics = Statistics::new(time);
        for transaction in &self.0 {
            let consumed = transaction.inputs.iter().flat_map(|input| &input.spent);
            let sum = |outputs: &mut dyn Iterator<Item = &TxOut>| -> u128 {
                let own = outputs.filter(|output| output.owner == subject);
                own.map(|output| u128::from(output.value)).sum()
            };
            let (sent, received) =
                (sum(&mut consumed.clone()), sum(&mut transaction.outputs.iter()));
            if sent + received > 0 {
                statistics.count(time, sent, received, transaction.input_total());
            }
        }
        statistics
    }

    /// Traces one direction and returns its parts. `clusters` states the clusters of owners.
    fn trace(
        &self,
        direction: Direction,
        rules: TraceRules,
        clusters: &[(u16, u16)],
    ) -> Vec<FlowPart> {
        self.trace_over(direction, rules, clusters, None)
    }

    /// Traces one direction over a view that returns the same composition for every transaction.
    fn trace_over(
        &self,
        direction: Direction,
        rules: TraceRules,
        clusters: &[(u16, u16)],
        made_of: Option<Composition>,
    ) -> Vec<FlowPart> {
        let attribute = |of: &ScriptOwner| {
            let end = AttributedEnd {
                category: Category::Exchange,
                entity: None,
                tier: Tier::Investigation,
                confidence: Confidence::CERTAIN,
                listed: false,
                listed_by: None,
                listed_on: None,
            };
            Attribution { end: (*of == owner(EXCHANGE)).then_some(end), ..Attribution::default() }
        };
        let mut gathered = self.gathered();
        let subject = gathered.owner_number(&owner(SUBJECT));
        let clusters = clusters
            .iter()
            .map(|(of, is)| {
                (gathered.owner_number(&owner(*of)), gathered.owner_number(&owner(*is)))
            })
            .collect();
        let history = gathered.history(subject, self.statistics());
        let view = Clustered(gathered, clusters, made_of);
        let flows = flows(&view, subject, &history, rules, &AttributionsByScript::new(attribute));
        assert!(flows.complete);
        flows.ledgers[0].direction(direction).parts.clone()
    }
}

fn flows(
    view: &dyn ChainView,
    owner: OwnerNumber,
    history: &OwnHistory,
    rules: TraceRules,
    attributions: &dyn Attributions,
) -> FlowFacts {
    let (chain, today) = (ChainId::BTC, date(2026, 1, 1));
    let subject = TraceSubject { chain, owner, history, rules, today };
    let mut trace = Trace::begin(view, subject, attributions).unwrap();
    loop {
        match trace.advance(view).unwrap() {
            QueryProgress::Complete => return trace.finish(view).unwrap(),
            QueryProgress::Paused => {}
            QueryProgress::Reads(request) => panic!("everything was gathered: {request:?}"),
        }
    }
}

/// A gathered chain with clusters of owners, and the composition of every transaction.
struct Clustered(GatheredChain, Vec<(OwnerNumber, OwnerNumber)>, Option<Composition>);

impl ChainView for Clustered {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError> {
        self.0.look_up(waypoint)
    }

    fn read(
        &self,
        transaction: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        self.0.read(transaction, direction, most, into)
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        let found = self.1.iter().find(|(of, _)| *of == owner);
        Ok(found.map_or(owner, |(_, cluster)| *cluster))
    }

    fn composition(&self, _of: TransactionNumber) -> Result<Option<Composition>, ViewError> {
        Ok(self.2.clone())
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        self.0.owner(number)
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        self.0.txid(number)
    }
}

fn outpoints(of: &[(Txid, u32)]) -> Vec<OutPoint> {
    of.iter().map(|(txid, index)| OutPoint { txid: *txid, index: *index }).collect()
}

fn decayed(mass: Mass, hops: u32) -> Mass {
    (0..hops).fold(mass, |mass, _| mass.times(RULES.decay))
}

#[test]
fn payments_to_oneself_are_no_hops() {
    let mut chain = HandMade::default();
    let mined = chain.mine(&[(EXCHANGE, COIN)]);
    let mut last = chain.pay(&[(mined, 0)], &[(10, COIN)]);
    for _ in 0..5 {
        last = chain.pay(&[(last, 0)], &[(10, COIN)]);
    }
    chain.pay(&[(last, 0)], &[(SUBJECT, COIN)]);
    let parts = chain.trace(Direction::Source, RULES, &[]);
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!(part.end, FlowEnd::Attributed(Category::Exchange));
    assert_eq!((part.distance.hops(), part.is_direct, part.amount), (Some(2), false, COIN.into()));
    assert_eq!(part.mass, Mass::from_base_units(COIN.into(), false));
    assert_eq!(part.decayed, decayed(part.mass, 1));
    assert_eq!(part.paths[0].steps.len(), 7);
}

#[test]
fn a_peel_chain_decays_by_each_hop_but_the_first() {
    let mut chain = HandMade::default();
    let mut last = chain.mine(&[(EXCHANGE, 8 * COIN)]);
    for hop in 0..7 {
        let index = u32::from(hop > 0);
        last = chain
            .pay(&[(last, index)], &[(100 + hop, COIN), (10 + hop, (7 - u64::from(hop)) * COIN)]);
    }
    chain.pay(&[(last, 1)], &[(SUBJECT, COIN)]);
    let parts = chain.trace(Direction::Source, RULES, &[]);
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!((part.distance.hops(), part.amount), (Some(8), COIN.into()));
    assert_eq!(part.mass, Mass::from_base_units(COIN.into(), false));
    assert_eq!(part.decayed, decayed(part.mass, 7));
}

#[test]
fn money_that_is_fanned_out_and_merged_arrives_whole() {
    let mut chain = HandMade::default();
    let many: u16 = 1_001;
    let sum = 9 * COIN;
    let value =
        |index: u16| sum / u64::from(many) + u64::from(u64::from(index) < sum % u64::from(many));
    let mined = chain.mine(&[(EXCHANGE, sum)]);
    // Behind the fan, a chain of payments: it must not be followed once for each few of the fan's shares.
    let behind: u16 = 8;
    let first =
        (0..behind).fold(mined, |last, index| chain.pay(&[(last, 0)], &[(10 + index, sum)]));
    let fan: Vec<_> = (0..many).map(|index| (1_000 + index, value(index))).collect();
    let fan = chain.pay(&[(first, 0)], &fan);
    let moved: Vec<_> = (0..many)
        .map(|index| (chain.pay(&[(fan, index.into())], &[(3_000 + index, value(index))]), 0))
        .collect();
    let merged = chain.pay(&moved, &[(30, sum)]);
    chain.pay(&[(merged, 0)], &[(SUBJECT, sum)]);
    // Each input counts once: the merge, each single payment, the fan and those behind it.
    let entries = 1_001 + 1_001 + 1 + u32::from(behind);
    let parts = chain.trace(Direction::Source, TraceRules { entries, ..RULES }, &[]);
    let [part] = &*parts else { panic!("{} parts", parts.len()) };
    assert_eq!(part.end, FlowEnd::Attributed(Category::Exchange));
    assert_eq!((part.distance.hops(), part.amount), (Some(4 + behind), sum.into()));
    let least = entries - 1;
    let parts = chain.trace(Direction::Source, TraceRules { entries: least, ..RULES }, &[]);
    let limit = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
    assert!(parts.iter().any(|part| part.end == limit));
}

#[test]
fn a_joint_transaction_is_passed_in_proportion_and_carried() {
    let mut chain = HandMade::default();
    let exchange = chain.mine(&[(EXCHANGE, 3 * COIN)]);
    let other = chain.mine(&[(10, COIN)]);
    let inputs = outpoints(&[(exchange, 0), (other, 0)]);
    let kind = TransactionKind::Coinjoin(CoinjoinKind::Wasabi1);
    chain.add(kind, &inputs, &[(SUBJECT, 2 * COIN), (11, 2 * COIN)]);
    let parts = chain.trace(Direction::Source, RULES, &[]);
    let [exchange, mined] = &*parts else { panic!("{parts:?}") };
    assert_eq!((exchange.amount, exchange.distance.hops()), (u128::from(COIN) * 3 / 2, Some(1)));
    assert_eq!((mined.end, mined.distance.hops()), (FlowEnd::Mining, Some(2)));
    assert_eq!(mined.amount, u128::from(COIN) / 2);
    for part in &parts {
        let [carried] = &*part.carried else { panic!("{part:?}") };
        assert_eq!(carried.label.coinjoin, Some(CoinjoinKind::Wasabi1));
        assert_eq!(
            (carried.label.tier, carried.label.category),
            (Tier::Heuristic, Category::Coinjoin)
        );
        assert_eq!((carried.label.confidence.percent(), carried.label.severity), (90, 40));
        // Others made it: the subject did not use it directly.
        let decayed = part.mass.times(RULES.decay);
        assert_eq!(carried.distance, LabelDistance { hops: 2, decayed });
    }
}

#[test]
fn a_joint_transaction_with_an_input_of_the_subject_is_used_directly() {
    let mut chain = HandMade::default();
    let exchange = chain.mine(&[(EXCHANGE, 3 * COIN)]);
    let own = chain.mine(&[(SUBJECT, COIN)]);
    let inputs = outpoints(&[(exchange, 0), (own, 0)]);
    let kind = TransactionKind::Coinjoin(CoinjoinKind::Wasabi1);
    chain.add(kind, &inputs, &[(SUBJECT, 2 * COIN), (11, 2 * COIN)]);
    let parts = chain.trace(Direction::Source, RULES, &[]);
    let joint = parts.iter().flat_map(|part| part.carried.iter().map(move |it| (part, it)));
    let hops: Vec<_> =
        joint.map(|(part, it)| (it.distance.hops, it.distance.decayed == part.mass)).collect();
    assert_eq!(hops, [(1, true)]);
}

#[test]
fn money_ends_at_newly_mined_coins() {
    let mut chain = HandMade::default();
    let mined = chain.mine(&[(10, COIN), (11, COIN)]);
    chain.pay(&[(mined, 0), (mined, 1)], &[(SUBJECT, 2 * COIN)]);
    let parts = chain.trace(Direction::Source, RULES, &[]);
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!((part.end, part.distance.hops(), part.is_direct), (FlowEnd::Mining, Some(2), false));
    assert_eq!(part.decayed, decayed(part.mass, 1));
    // Both miners' money is one flow there, with the path of one.
    assert_eq!(part.paths.len(), 1);
}

#[test]
fn money_beyond_the_budget_is_unresolved() {
    let mut chain = HandMade::default();
    let first = chain.mine(&[(EXCHANGE, COIN)]);
    let second = chain.mine(&[(EXCHANGE, COIN)]);
    let wide = chain.pay(&[(first, 0), (second, 0)], &[(10, 2 * COIN)]);
    let narrow = chain.mine(&[(11, COIN)]);
    let paid = chain.pay(&[(wide, 0), (narrow, 0)], &[(SUBJECT, 3 * COIN)]);
    assert!(chain.spender(&OutPoint { txid: paid, index: 0 }).is_none());
    let parts = chain.trace(Direction::Source, TraceRules { entries: 1, ..RULES }, &[]);
    let [mined, unresolved] = &*parts else { panic!("{parts:?}") };
    assert_eq!((mined.end, mined.amount), (FlowEnd::Mining, COIN.into()));
    assert_eq!(unresolved.end, FlowEnd::Unresolved(UnresolvedReason::TraceLimit));
    assert_eq!(
        (unresolved.amount, unresolved.distance.hops(), unresolved.is_direct),
        (2 * u128::from(COIN), Some(1), true)
    );
    let parts = chain.trace(Direction::Source, TraceRules { entries: 2, ..RULES }, &[]);
    assert_eq!(parts[0].end, FlowEnd::Attributed(Category::Exchange));
}

#[test]
fn little_money_is_not_followed() {
    let mut chain = HandMade::default();
    let little = chain.mine(&[(10, COIN)]);
    let exchange = chain.mine(&[(EXCHANGE, 99 * COIN)]);
    chain.pay(&[(exchange, 0), (little, 0)], &[(SUBJECT, 100 * COIN)]);
    let end = |stop_trace_below, stop_below_share_millionths| {
        let rules = TraceRules { stop_below_share_millionths, stop_trace_below, ..RULES };
        let parts = chain.trace(Direction::Source, rules, &[]);
        let [_, little] = &*parts else { panic!("{parts:?}") };
        assert_eq!(little.amount, COIN.into());
        (little.end, little.distance.hops())
    };
    let cut = (FlowEnd::Unresolved(UnresolvedReason::BelowThreshold), Some(1));
    // One in a hundred has the magnitude 6: floor(log2(100)).
    assert_eq!(end(u128::from(COIN) + 1, 15_625), cut);
    assert_eq!(end(u128::from(COIN), 15_625), (FlowEnd::Mining, Some(2)));
    assert_eq!(end(u128::from(COIN) + 1, 7_812), (FlowEnd::Mining, Some(2)));
}

#[test]
fn the_balance_is_apart_from_money_in_the_same_cluster() {
    let mut chain = HandMade::default();
    let mined = chain.mine(&[(SUBJECT, 3 * COIN)]);
    chain.pay(&[(mined, 0)], &[(10, COIN), (SUBJECT, 2 * COIN)]);
    let clusters = [(SUBJECT, SUBJECT), (10, SUBJECT)];
    let parts = chain.trace(Direction::Destination, RULES, &clusters);
    let [balance, moved] = &*parts else { panic!("{parts:?}") };
    assert_eq!(
        (balance.end, balance.distance.hops(), balance.amount),
        (FlowEnd::Unspent, Some(0), 2 * u128::from(COIN))
    );
    assert_eq!(
        (moved.end, moved.distance.hops(), moved.amount),
        (FlowEnd::Unspent, Some(1), COIN.into())
    );
    assert!(balance.is_direct && moved.is_direct && balance.paths.is_empty());
}

/// A chain on which the subject receives a coin from an exchange and sends it in a circle over two other addresses
/// `times` times.
fn circles(times: u16) -> HandMade {
    let mut chain = HandMade::default();
    let mined = chain.mine(&[(EXCHANGE, COIN)]);
    let mut last = chain.pay(&[(mined, 0)], &[(SUBJECT, COIN)]);
    for _ in 0..times {
        for to in [10, 11, SUBJECT] {
            last = chain.pay(&[(last, 0)], &[(to, COIN)]);
        }
    }
    chain
}

#[test]
fn money_that_comes_back_to_the_subject_has_returned() {
    let chain = circles(2);
    let parts = chain.trace(Direction::Source, RULES, &[]);
    let [exchange, held, moved] = &*parts else { panic!("{parts:?}") };
    assert_eq!(
        (exchange.end, exchange.amount),
        (FlowEnd::Attributed(Category::Exchange), COIN.into())
    );
    let circled = 2 * u128::from(COIN);
    // The subject never paid the last address of the circle, and holds what came from it last.
    for (returned, solicitation) in
        [(held, Solicitation::Untouched), (moved, Solicitation::Solicited)]
    {
        assert_eq!((returned.end, returned.amount), (FlowEnd::Returned, COIN.into()));
        assert_eq!((returned.distance.hops(), returned.is_direct), (Some(3), false));
        assert_eq!(returned.solicitation, solicitation);
    }
    // The coin that is back again is the balance.
    let parts = chain.trace(Direction::Destination, RULES, &[]);
    let [balance, returned] = &*parts else { panic!("{parts:?}") };
    assert_eq!((balance.end, balance.distance.hops()), (FlowEnd::Unspent, Some(0)));
    assert_eq!((returned.end, returned.amount), (FlowEnd::Returned, circled));
}

#[test]
fn another_address_of_the_subjects_cluster_is_no_end() {
    // Stolen coins, sent to a second address of one's own and fetched over a stranger.
    let mut chain = HandMade::default();
    let stolen = chain.mine(&[(EXCHANGE, COIN)]);
    let second = chain.pay(&[(stolen, 0)], &[(10, COIN)]);
    let stranger = chain.pay(&[(second, 0)], &[(11, COIN)]);
    chain.pay(&[(stranger, 0)], &[(SUBJECT, COIN)]);
    let parts = chain.trace(Direction::Source, RULES, &[(SUBJECT, SUBJECT), (10, SUBJECT)]);
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!(part.end, FlowEnd::Attributed(Category::Exchange));
}

#[test]
fn what_transactions_are_made_of_does_not_stop_a_trace_of_which_much_returned() {
    let chain = circles(10);
    let rules = TraceRules { source_transactions: 6, ..RULES };
    let ends = |rules| {
        let parts = chain.trace_over(Direction::Source, rules, &[], Some(mined()));
        parts.iter().map(|part| (part.end, part.amount / u128::from(COIN))).collect::<Vec<_>>()
    };
    let exchange = (FlowEnd::Attributed(Category::Exchange), 1);
    // Nobody could tell the coins that were sent round from newly mined ones.
    let (held, moved) = ((FlowEnd::Returned, 1), (FlowEnd::Returned, 9));
    assert_eq!(ends(rules), [exchange, held, moved]);
    // At its limits a trace has nothing better.
    let rules = TraceRules { transactions: 8, ..rules };
    assert_eq!(ends(rules), [exchange, (FlowEnd::Mining, 6), held, (FlowEnd::Returned, 3)]);
    // Where nothing returned, the trace stops soon.
    let mut chain = HandMade::default();
    let mut last = chain.mine(&[(EXCHANGE, COIN)]);
    for to in [10, 11, 12, SUBJECT] {
        last = chain.pay(&[(last, 0)], &[(to, COIN)]);
    }
    let rules = TraceRules { source_transactions: 2, ..RULES };
    let parts = chain.trace_over(Direction::Source, rules, &[], Some(mined()));
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!((part.end, part.distance), (FlowEnd::Mining, FlowDistance::Further(2)));
}

#[test]
fn where_a_trace_stops_money_carries_the_severe_labels_of_the_composition() {
    let mut chain = HandMade::default();
    let mut last = chain.mine(&[(EXCHANGE, 8 * COIN)]);
    for to in [10, 11, 12, SUBJECT] {
        last = chain.pay(&[(last, 0)], &[(to, 8 * COIN)]);
    }
    // Half newly mined, half unknown; a quarter passed a reported thief, an eighth a joint transaction.
    let (tier, confidence) = (Tier::Community, Confidence::from_percent(80));
    let thief = PassedLabel { category: Category::StolenFunds, tier, confidence };
    let mut mixture = Mixture::default();
    mixture.add_labelled(2, &[thief], None);
    let joint = mixture.finish(2, true);
    mixture.add_composition(&joint, 1);
    mixture.add_origin(Origin::Mining, 4);
    mixture.add_labelled(1, &[thief], None);
    let made_of = mixture.finish(8, false);

    let rules = TraceRules { source_transactions: 2, ..RULES };
    let parts = chain.trace_over(Direction::Source, rules, &[], Some(made_of));

    let told = |part: &FlowPart| {
        let labels = part.carried.iter().map(|it| (it.label.category, it.distance.is_beyond()));
        (part.end, part.amount / u128::from(COIN), labels.collect::<Vec<_>>())
    };
    let unknown = FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin);
    assert_eq!(
        parts.iter().map(told).collect::<Vec<_>>(),
        [
            (FlowEnd::Mining, 4, vec![]),
            (unknown, 1, vec![]),
            (unknown, 2, vec![(Category::StolenFunds, true)]),
            (unknown, 1, vec![(Category::Coinjoin, true)]),
        ]
    );
}

#[test]
fn steps_inside_the_subjects_cluster_do_not_stop_a_trace() {
    let mut chain = HandMade::default();
    let mut last = chain.mine(&[(EXCHANGE, COIN)]);
    for _ in 0..6 {
        last = chain.pay(&[(last, 0)], &[(10, COIN)]);
    }
    chain.pay(&[(last, 0)], &[(SUBJECT, COIN)]);
    let rules = TraceRules { source_transactions: 2, ..RULES };
    let clusters = [(SUBJECT, SUBJECT), (10, SUBJECT)];
    let parts = chain.trace_over(Direction::Source, rules, &clusters, Some(mined()));
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!(part.end, FlowEnd::Attributed(Category::Exchange));
    assert!(part.is_direct);
}

#[test]
fn many_owners_in_one_transaction_cost_no_more_than_one() {
    let mut chain = HandMade::default();
    let exchange = chain.mine(&[(EXCHANGE, 300 * COIN)]);
    let owners: Vec<u16> = (100..400).collect();
    let each: Vec<(u16, u64)> = owners.iter().map(|number| (*number, COIN)).collect();
    let mut last = chain.pay(&[(exchange, 0)], &each);
    let inputs = |txid: Txid| (0..300).map(|index| (txid, index)).collect::<Vec<_>>();
    for _ in 0..2 {
        last = chain.pay(&inputs(last), &each);
    }
    chain.pay(&inputs(last), &[(SUBJECT, 300 * COIN)]);
    // Three transactions of at most 300 entries, for each of which four shares are computed at most.
    let rules = TraceRules { entries: 700, ..RULES };
    let parts = chain.trace(Direction::Source, rules, &[]);
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!(part.end, FlowEnd::Attributed(Category::Exchange));
    // Each owner pays itself in the first, and the others two hops further in the second.
    assert_eq!(part.distance.hops(), Some(2));
}

/// A composition of newly mined coins alone.
fn mined() -> Composition {
    let mut mixture = Mixture::default();
    mixture.add_origin(Origin::Mining, COIN);
    mixture.finish(COIN.into(), false)
}

/// A chain on which an exchange's coins are paid as a fee, and the miner pays the subject or is the subject.
fn mined_with_a_fee(fee: u64, mined: u64, by: u16) -> HandMade {
    let mut chain = HandMade::default();
    let coins = chain.mine(&[(EXCHANGE, fee + COIN)]);
    let txid = chain.pay(&[(coins, 0)], &[(EXCHANGE, COIN)]);
    let coinbase = chain.mine(&[(by, mined + fee)]);
    chain.1.push((coinbase, txid, fee));
    if by != SUBJECT {
        chain.pay(&[(coinbase, 0)], &[(SUBJECT, mined + fee)]);
    }
    chain
}

#[test]
fn fees_come_from_those_who_paid_them_two_hops_behind_the_miner() {
    for (miner, hops) in [(SUBJECT, 2), (7, 3)] {
        let chain = mined_with_a_fee(3 * COIN, COIN, miner);
        let parts = chain.trace(Direction::Source, RULES, &[]);
        let [payer, mined] = &*parts else { panic!("{parts:?}") };
        assert_eq!(payer.end, FlowEnd::Attributed(Category::Exchange));
        assert_eq!(
            (payer.amount, payer.distance.hops(), payer.is_direct),
            ((3 * COIN).into(), Some(hops), false)
        );
        assert_eq!(payer.decayed, decayed(payer.mass, u32::from(hops) - 1));
        let steps = |part: &FlowPart| part.paths[0].steps.len();
        assert_eq!((mined.end, mined.distance.hops()), (FlowEnd::Mining, Some(hops - 1)));
        assert_eq!((steps(payer), steps(mined)), (usize::from(hops), usize::from(hops) - 1));
    }
}

#[test]
fn a_fee_that_is_too_little_to_be_followed_is_below_the_threshold() {
    let rules = TraceRules { stop_below_share_millionths: 250_000, ..RULES };
    let ends = |fee, mined| {
        let parts = mined_with_a_fee(fee, mined, SUBJECT).trace(Direction::Source, rules, &[]);
        parts.iter().map(|part| (part.end, part.amount)).collect::<Vec<_>>()
    };
    let below = FlowEnd::Unresolved(UnresolvedReason::BelowThreshold);
    // A quarter may be cut, more may not.
    assert_eq!(ends(10, 30), [(FlowEnd::Mining, 30), (below, 10)]);
    assert_eq!(
        ends(11, 30),
        [(FlowEnd::Attributed(Category::Exchange), 11), (FlowEnd::Mining, 30)]
    );
}

#[test]
fn a_coinbase_that_is_worth_less_than_its_fees_is_fees_alone() {
    let mut chain = mined_with_a_fee(4 * COIN, 0, SUBJECT);
    chain.1[0].2 = 9 * COIN;
    let parts = chain.trace(Direction::Source, RULES, &[]);
    let [part] = &*parts else { panic!("{parts:?}") };
    assert_eq!(
        (part.end, part.amount),
        (FlowEnd::Attributed(Category::Exchange), (4 * COIN).into())
    );
}

#[test]
fn money_sent_to_nobody_is_destroyed() {
    // Owner 0 is a key hash of zeros, which nobody can spend.
    const NOBODY: u16 = 0;
    let mut chain = HandMade::default();
    let mined = chain.mine(&[(SUBJECT, 10 * COIN)]);
    let burnt = chain.pay(&[(mined, 0)], &[(NOBODY, 3 * COIN), (3, 7 * COIN)]);
    chain.pay(&[(burnt, 1)], &[(NOBODY, 2 * COIN), (EXCHANGE, 5 * COIN)]);
    let parts = chain.trace(Direction::Destination, RULES, &[]);
    let destroyed: Vec<_> = parts
        .iter()
        .filter(|part| part.end == FlowEnd::Destroyed)
        .map(|part| (part.amount, part.distance, part.is_direct, part.tier))
        .collect();
    let coins = |coins: u64| u128::from(coins * COIN);
    assert_eq!(
        destroyed,
        [
            (coins(3), FlowDistance::Hops(1), true, Tier::OnChainProof),
            (coins(2), FlowDistance::Hops(2), false, Tier::OnChainProof),
        ]
    );
    assert!(parts.iter().all(|part| part.end != FlowEnd::Unspent), "{parts:?}");
}
