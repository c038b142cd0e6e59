use jiff::civil::date;

use super::*;
use crate::{
    evidence::{DirectionFlows, FlowEnd, FlowFacts, Solicitation, UnresolvedReason},
    ledger::OwnerNumber,
    policy::Policy,
    reading::{BlockPosition, GatheredChain, Query, QueryProgress},
    taxonomy::Category,
    trace::{AttributedEnd, Attribution, AttributionsByScript, Trace, TraceRules, TraceSubject},
    utxo::{
        SideLimits, Transaction,
        testing::{key, payment},
    },
};

const LIMITS: ReadLimits = ReadLimits { transfers: 100, entries: 10_000 };

fn address(number: u8) -> CanonicalAddress {
    key(number).address(ChainId::BTC).unwrap()
}

fn in_block(transaction: &Transaction) -> BlockPosition {
    let height = u64::from(transaction.txid.as_bytes()[0]);
    let time = Timestamp::from_second(i64::try_from(height).unwrap() * 600).unwrap();
    BlockPosition { height, time, index: 0 }
}

fn view(transaction: &Transaction) -> TransactionView {
    let BlockPosition { height, time, .. } = in_block(transaction);
    transaction.view(height, time, SideLimits { inputs: u32::MAX, outputs: u32::MAX })
}

/// The number of a transaction that is all of a chain that was read.
fn gathered(transaction: &Transaction) -> (GatheredChain, TransactionNumber) {
    let mut gathered = GatheredChain::default();
    let number = gathered.add(transaction, in_block(transaction));
    for index in 0..u32::try_from(transaction.outputs.len()).unwrap() {
        let output = gathered.output_number(OutPoint { txid: transaction.txid, index });
        gathered.set_spender(output, None);
    }
    (gathered, number)
}

fn select(
    transaction: &Transaction,
    selector: &OutputSelector,
) -> Result<Transfer, InvalidTransfer> {
    Transfer::select(ChainId::BTC, view(transaction), selector, LIMITS)
}

fn trace(view: &mut GatheredChain, owner: OwnerNumber, history: &OwnHistory) -> FlowFacts {
    // Owner 9 is an exchange.
    let attributions = AttributionsByScript::new(|owner: &ScriptOwner| Attribution {
        end: (*owner == ScriptOwner::KeyHash([9; 20])).then_some(AttributedEnd {
            category: Category::Exchange,
            entity: None,
            tier: crate::evidence::Tier::Investigation,
            confidence: crate::score::Confidence::CERTAIN,
            listed: false,
            listed_by: None,
            listed_on: None,
        }),
        ..Attribution::default()
    });
    let rules = TraceRules {
        unsolicited_below: 0,
        largest_dust: 0,
        ..TraceRules::new(&Policy::default(), ChainId::BTC.info())
    };
    let (chain, today) = (ChainId::BTC, date(2026, 1, 1));
    let subject = TraceSubject { chain, owner, history, rules, today };
    let mut trace = Trace::begin(view, subject, &attributions).unwrap();
    // What was not gathered cannot be read.
    while let QueryProgress::Reads(request) = trace.advance(view).unwrap() {
        request.transactions.iter().for_each(|number| view.fail(*number));
        request.outputs.iter().for_each(|number| view.fail_output(*number));
    }
    trace.finish(view).unwrap()
}

fn parts(flows: &DirectionFlows) -> Vec<(FlowEnd, u128, bool)> {
    flows
        .parts
        .iter()
        .map(|part| (part.end, part.amount, part.solicitation == Solicitation::Solicited))
        .collect()
}

#[test]
fn an_output_is_selected_by_index_and_all_outputs_by_address() {
    let paying = payment(2, &[(key(9), 100)], &[(key(1), 30), (key(2), 20), (key(1), 40)]);
    let one = select(&paying, &OutputSelector::Index(2)).unwrap();
    assert_eq!((one.receiver.clone(), one.amount()), (address(1), 40));
    assert_eq!(one.outputs, [TransferOutput { index: 2, value: 40 }]);
    let all = select(&paying, &OutputSelector::Address(address(1))).unwrap();
    let indices: Vec<u32> = all.outputs.iter().map(|output| output.index).collect();
    assert_eq!((indices, all.amount()), (vec![0, 2], 70));
    assert_eq!(all.senders(), [(&key(9), 100)]);
}

#[test]
fn outputs_that_are_no_transfer_are_refused_with_the_reason() {
    let script = ScriptOwner::Script([7; 32]);
    let paying = payment(2, &[(key(9), 100)], &[(key(1), 0), (script, 20)]);
    let refused = |selector: &OutputSelector| select(&paying, selector).unwrap_err();
    assert_eq!(
        refused(&OutputSelector::Index(2)),
        InvalidTransfer::NoSuchOutput { index: 2, count: 2 }
    );
    assert_eq!(refused(&OutputSelector::Address(address(5))), InvalidTransfer::NotPaid(address(5)));
    assert_eq!(refused(&OutputSelector::Index(1)), InvalidTransfer::NoAddress(1));
    assert_eq!(refused(&OutputSelector::Index(0)), InvalidTransfer::NoAmount);
    assert_eq!(refused(&OutputSelector::Address(address(1))), InvalidTransfer::NoAmount);
    let mined = Transaction { kind: TransactionKind::Coinbase, ..paying };
    assert_eq!(select(&mined, &OutputSelector::Index(0)), Err(InvalidTransfer::Coinbase));
}

#[test]
fn only_as_many_inputs_are_kept_as_a_trace_reads_and_the_rest_is_counted() {
    let paying = payment(2, &[(key(9), 60), (key(8), 40)], &[(key(1), 50)]);
    let limits = ReadLimits { transfers: 10_000, entries: 1 };
    let transfer =
        Transfer::select(ChainId::BTC, view(&paying), &OutputSelector::Index(0), limits).unwrap();
    assert_eq!(transfer.transaction.inputs.largest.len(), 1);
    let (mut chain, number) = gathered(&paying);
    let flows = trace(&mut chain, OwnerNumber::NOBODY, &transfer.deposit(number));
    let rest = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
    assert_eq!(
        parts(&flows.ledgers[0].source),
        [(FlowEnd::Attributed(Category::Exchange), 30, true), (rest, 20, true)]
    );
}

/// The receiver pays 30 of the 100 that come in, and gets 50: none of it is change.
#[test]
fn a_deposit_by_the_receiver_itself_is_income_like_any_other() {
    let paying = payment(2, &[(key(9), 70), (key(1), 30)], &[(key(1), 50), (key(4), 49)]);
    let transfer = select(&paying, &OutputSelector::Index(0)).unwrap();
    let (mut chain, number) = gathered(&paying);
    let history = transfer.deposit(number);
    assert_eq!((history.statistics.received, history.statistics.sent), (50, 0));
    let flows = trace(&mut chain, OwnerNumber::NOBODY, &history);
    // 70 of 100 are the exchange's; the receiver's own 30 are followed further, and not read here.
    let own = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
    assert_eq!(
        parts(&flows.ledgers[0].source),
        [(FlowEnd::Attributed(Category::Exchange), 35, true), (own, 15, true)]
    );
}

/// The receiver spends output 0 (30) together with 10 other coins: 16 to the exchange, 20 back to itself, 4
/// as the fee. Of the 30 the change is 30 x 20 / 40 = 15; of the other 15 the exchange gets 12 and the fee 3.
/// Output 2 (40) is not spent.
#[test]
fn a_withdrawal_is_followed_through_what_spends_its_outputs_alone() {
    let paying = payment(2, &[(key(9), 100)], &[(key(1), 30), (key(2), 20), (key(1), 40)]);
    let transfer = select(&paying, &OutputSelector::Address(address(1))).unwrap();
    let spending = payment(3, &[(key(1), 30), (key(1), 10)], &[(key(9), 16), (key(1), 20)]);
    let [first, other] = transfer.outpoints()[..] else { panic!("two outputs") };
    assert_eq!((first.index, other.index), (0, 2));
    let (mut chain, number) = gathered(&spending);
    let found = Spending {
        output: first.index,
        number,
        position: 3,
        time: in_block(&spending).time,
        inputs: 40,
        received: 20,
    };
    // An output that is none of the transfer is left out.
    let history = transfer.withdrawal([found, Spending { output: 7, ..found }]);
    assert_eq!((history.statistics.received, history.statistics.sent), (70, 15));
    let owner = chain.owner_number(transfer.owner());
    let flows = trace(&mut chain, owner, &history);
    assert_eq!(
        parts(&flows.ledgers[0].destination),
        [
            (FlowEnd::Attributed(Category::Exchange), 12, true),
            (FlowEnd::Unspent, 55, true),
            (FlowEnd::Fee, 3, true),
        ]
    );
}
