use jiff::civil::date;

use super::*;
use crate::{
    evidence::{DirectionFlows, FlowEnd, FlowFacts, Solicitation, UnresolvedReason},
    policy::Policy,
    taxonomy::Category,
    trace::{AttributedEnd, Attribution, Clusters, Trace, TraceRules},
    utxo::{SideEntry, TransactionSide, TxOut},
};

const LIMITS: ReadLimits = ReadLimits { transfers: 100, entries: 10_000 };

fn owner(number: u8) -> ScriptOwner {
    ScriptOwner::KeyHash([number; 20])
}

fn address(number: u8) -> CanonicalAddress {
    owner(number).address(ChainId::BTC).unwrap()
}

fn side(entries: &[(ScriptOwner, u64)], from: Txid) -> TransactionSide {
    let entry = |(index, (owner, value)): (u32, &(ScriptOwner, u64))| SideEntry {
        index,
        outpoint: OutPoint { txid: from, index },
        output: TxOut { owner: owner.clone(), value: *value },
    };
    let all: Vec<SideEntry> = (0..).zip(entries).map(entry).collect();
    TransactionSide {
        count: all.len() as u64,
        total: entries.iter().map(|(_, value)| u128::from(*value)).sum(),
        ..TransactionSide::largest_of(all.into_iter(), u32::MAX)
    }
}

/// A payment by owners to owners.
fn payment(
    number: u8,
    inputs: &[(ScriptOwner, u64)],
    outputs: &[(ScriptOwner, u64)],
) -> TransactionView {
    let txid = Txid::from_bytes([number; 32]);
    TransactionView {
        txid,
        height: u64::from(number),
        time: jiff::Timestamp::from_second(i64::from(number) * 600).unwrap(),
        kind: TransactionKind::Payment,
        inputs: side(inputs, Txid::from_bytes([number - 1; 32])),
        outputs: side(outputs, txid),
        fee_payers: vec![],
    }
}

fn select(
    transaction: &TransactionView,
    selector: &OutputSelector,
) -> Result<Transfer, InvalidTransfer> {
    Transfer::select(ChainId::BTC, transaction.clone(), selector, LIMITS)
}

fn trace(subject: &ScriptOwner, history: &History) -> FlowFacts {
    // Owner 9 is an exchange.
    let attribute = |owner: &ScriptOwner| Attribution {
        end: (*owner == ScriptOwner::KeyHash([9; 20])).then_some(AttributedEnd {
            category: Category::Exchange,
            entity: None,
            tier: crate::evidence::Tier::Investigation,
            confidence: crate::score::Confidence::CERTAIN,
            listed: false,
            listed_by: None,
            listed_on: None,
        }),
        carried: vec![],
    };
    let rules = TraceRules {
        unsolicited_below: 0,
        largest_dust: 0,
        ..TraceRules::new(&Policy::default(), ChainId::BTC.info())
    };
    let (clusters, today) = (Clusters::default(), date(2026, 1, 1));
    Trace::new(ChainId::BTC, subject, history, clusters, rules, today, &attribute).finish()
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
    let paying = payment(2, &[(owner(9), 100)], &[(owner(1), 30), (owner(2), 20), (owner(1), 40)]);
    let one = select(&paying, &OutputSelector::Index(2)).unwrap();
    assert_eq!((one.receiver.clone(), one.amount()), (address(1), 40));
    assert_eq!(one.outputs, [TransferOutput { index: 2, value: 40 }]);
    let all = select(&paying, &OutputSelector::Address(address(1))).unwrap();
    let indices: Vec<u32> = all.outputs.iter().map(|output| output.index).collect();
    assert_eq!((indices, all.amount()), (vec![0, 2], 70));
    assert_eq!(all.senders(), [(&owner(9), 100)]);
}

#[test]
fn outputs_that_are_no_transfer_are_refused_with_the_reason() {
    let script = ScriptOwner::Script([7; 32]);
    let paying = payment(2, &[(owner(9), 100)], &[(owner(1), 0), (script, 20)]);
    let refused = |selector: &OutputSelector| select(&paying, selector).unwrap_err();
    assert_eq!(
        refused(&OutputSelector::Index(2)),
        InvalidTransfer::NoSuchOutput { index: 2, count: 2 }
    );
    assert_eq!(refused(&OutputSelector::Address(address(5))), InvalidTransfer::NotPaid(address(5)));
    assert_eq!(refused(&OutputSelector::Index(1)), InvalidTransfer::NoAddress(1));
    assert_eq!(refused(&OutputSelector::Index(0)), InvalidTransfer::NoAmount);
    assert_eq!(refused(&OutputSelector::Address(address(1))), InvalidTransfer::NoAmount);
    let mined = TransactionView { kind: TransactionKind::Coinbase, ..paying };
    assert_eq!(select(&mined, &OutputSelector::Index(0)), Err(InvalidTransfer::Coinbase));
}

#[test]
fn only_as_many_inputs_are_kept_as_a_trace_reads_and_the_rest_is_counted() {
    let paying = payment(2, &[(owner(9), 60), (owner(8), 40)], &[(owner(1), 50)]);
    let limits = ReadLimits { transfers: 1, entries: 10_000 };
    let transfer =
        Transfer::select(ChainId::BTC, paying, &OutputSelector::Index(0), limits).unwrap();
    let flows = trace(&DEPOSIT_SUBJECT, &transfer.deposit());
    let rest = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
    assert_eq!(
        parts(&flows.ledgers[0].source),
        [(FlowEnd::Attributed(Category::Exchange), 30, true), (rest, 20, true)]
    );
}

/// The receiver pays 30 of the 100 that come in, and gets 50: none of it is change.
#[test]
fn a_deposit_by_the_receiver_itself_is_income_like_any_other() {
    let paying = payment(2, &[(owner(9), 70), (owner(1), 30)], &[(owner(1), 50), (owner(4), 49)]);
    let transfer = select(&paying, &OutputSelector::Index(0)).unwrap();
    let history = transfer.deposit();
    assert_eq!((history.statistics.received, history.statistics.sent), (50, 0));
    let flows = trace(&DEPOSIT_SUBJECT, &history);
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
    let paying = payment(2, &[(owner(9), 100)], &[(owner(1), 30), (owner(2), 20), (owner(1), 40)]);
    let transfer = select(&paying, &OutputSelector::Address(address(1))).unwrap();
    let spending = payment(3, &[(owner(1), 30), (owner(1), 10)], &[(owner(9), 16), (owner(1), 20)]);
    let [first, other] = transfer.outpoints()[..] else { panic!("two outputs") };
    assert_eq!((first.index, other.index), (0, 2));
    // An output of another transaction is left out.
    let stranger = OutPoint { txid: Txid::from_bytes([8; 32]), index: 0 };
    let history = transfer.withdrawal([(first, &spending), (stranger, &spending)]);
    assert_eq!((history.statistics.received, history.statistics.sent), (70, 15));
    let flows = trace(transfer.owner(), &history);
    assert_eq!(
        parts(&flows.ledgers[0].destination),
        [
            (FlowEnd::Attributed(Category::Exchange), 12, true),
            (FlowEnd::Unspent, 55, true),
            (FlowEnd::Fee, 3, true),
        ]
    );
}
