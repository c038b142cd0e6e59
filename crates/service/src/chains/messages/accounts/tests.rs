//! Data of account chains is the same after it was a message, and text.

mod contracts;

use assay_engine::{
    account::{
        AccountAddress, Asset, Choices, FreezeMoment, PublishedPlace, TransferPlace, scored_assets,
    },
    evidence::{
        ActivityFacts, AssetActivity, BridgeTransaction, BridgedReceipts, ChainFacts, ChainState,
        FlowFacts, IngestMode, JoinedBy, JoinedReceipt, TakenFunds, Tier, Tip, UsedCompositions,
    },
    score::Confidence,
    taxonomy::Category,
    transfer::TransferDirection,
    utxo::Txid,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde::{Serialize, de::DeserializeOwned};

use self::contracts::{contract_use, excess};
use super::*;
use crate::chains::subject::SubjectData;

const CHAINS: [ChainId; 3] = [ChainId::ETH, ChainId::TRX, ChainId::BSC];

/// The message as another program reads it from text.
fn sent<M: Serialize + DeserializeOwned>(message: &M) -> M {
    serde_json::from_str(&serde_json::to_string(message).unwrap()).unwrap()
}

fn account() -> impl Strategy<Value = AccountAddress> {
    // Addresses that nobody controls too.
    prop_oneof![any::<[u8; 20]>().prop_map(AccountAddress), Just(AccountAddress::ZERO)]
}

fn address(chain: ChainId) -> impl Strategy<Value = CanonicalAddress> {
    any::<[u8; 20]>().prop_map(move |bytes| AccountAddress(bytes).on(chain).unwrap())
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000).prop_map(|second| Timestamp::from_second(second).unwrap())
}

fn txid() -> impl Strategy<Value = Txid> {
    any::<[u8; 32]>().prop_map(Txid::from_bytes)
}

fn published() -> impl Strategy<Value = PublishedPlace> {
    prop_oneof![
        any::<u32>().prop_map(PublishedPlace::Log),
        "[0-9,]{0,12}".prop_map(|text| PublishedPlace::Trace(text.into())),
    ]
}

fn transfer_place() -> impl Strategy<Value = TransferPlace> {
    (any::<u32>(), option::of(published()))
        .prop_map(|(index, published)| TransferPlace { index, published })
}

fn asset() -> impl Strategy<Value = Asset> {
    prop_oneof![
        Just(Asset::Native),
        account().prop_map(Asset::Token),
        any::<u32>().prop_map(Asset::Numbered),
    ]
}

fn scored(chain: ChainId) -> impl Strategy<Value = &'static ScoredAsset> {
    select(scored_assets(chain).collect::<Vec<_>>())
}

fn choices() -> impl Strategy<Value = Choices> {
    (vec(any::<String>(), 0..4), any::<u64>()).prop_map(|(listed, more)| Choices { listed, more })
}

fn taken() -> impl Strategy<Value = TakenFunds> {
    let party = (select(Category::ALL.to_vec()), option::of(any::<String>()), 0_u8..=100);
    (party, any::<(u128, String, u8)>(), vec(any::<String>(), 0..3)).prop_map(
        |((category, entity, percent), (amount, unit, decimals), transactions)| TakenFunds {
            category,
            entity: entity.map(Into::into),
            tier: Tier::Investigation,
            confidence: Confidence::from_percent(percent),
            amount,
            unit,
            decimals,
            transactions,
        },
    )
}

fn lookalike(chain: ChainId) -> impl Strategy<Value = LookalikeAccount> {
    (address(chain), address(chain), any::<bool>(), vec(any::<String>(), 0..3)).prop_map(
        |(address, of, is_paid, transactions)| LookalikeAccount {
            address,
            of,
            is_paid,
            transactions,
        },
    )
}

fn bridge_transaction() -> impl Strategy<Value = BridgeTransaction> {
    (select(CHAINS.to_vec()), any::<[String; 3]>(), time()).prop_map(
        |(blockchain, [transaction, amount, asset], time)| BridgeTransaction {
            blockchain,
            transaction,
            time,
            amount,
            asset,
        },
    )
}

fn bridged() -> impl Strategy<Value = BridgedReceipts> {
    let bridge = (option::of(any::<String>()), select(JoinedBy::ALL.to_vec()));
    let pair = (bridge, bridge_transaction(), bridge_transaction());
    let joined = pair.prop_map(|((bridge, by), payout, deposit)| JoinedReceipt {
        bridge,
        by,
        payout,
        deposit,
    });
    (any::<u64>(), vec(select(CHAINS.to_vec()), 0..3), vec(joined, 0..3))
        .prop_map(|(receipts, searched, joined)| BridgedReceipts { receipts, searched, joined })
}

fn limits(chain: ChainId) -> impl Strategy<Value = AccountLimits> {
    let texts = || vec(any::<String>(), 0..3);
    let prices = vec(any::<(String, u8)>(), 0..3);
    let lists = (
        texts(),
        texts(),
        prices,
        vec(excess(), 0..3),
        vec(taken(), 0..3),
        texts(),
        vec(lookalike(chain), 0..3),
        bridged(),
    );
    (any::<[bool; 4]>(), any::<[u64; 3]>(), lists).prop_map(
        |([unrecorded, internal, netted, initiators], [summed, unread, other], lists)| {
            let (
                exceeding_ledgers,
                unpriced,
                carried_prices,
                excess,
                taken,
                lookalike_tokens,
                lookalike_accounts,
                bridged,
            ) = lists;
            AccountLimits {
                has_unrecorded_money: unrecorded,
                may_lack_internal_transfers: internal,
                exceeding_ledgers,
                unpriced,
                carried_prices,
                is_whole_not_netted: netted,
                has_initiators: initiators,
                excess,
                taken,
                summed_payments: summed,
                unread_payments: unread,
                lookalike_tokens,
                lookalike_accounts,
                other_tokens: other,
                bridged,
            }
        },
    )
}

fn freeze(chain: ChainId) -> impl Strategy<Value = IssuerFreeze> {
    let moment =
        || (txid(), time()).prop_map(|(transaction, time)| FreezeMoment { transaction, time });
    let changes = (moment(), option::of(moment()), option::of(moment()));
    (asset(), changes).prop_map(move |(asset, (frozen, destroyed, lifted))| {
        let asset = AssetId { chain, asset };
        IssuerFreeze { asset, frozen, destroyed, lifted }
    })
}

fn subject_data(chain: ChainId) -> impl Strategy<Value = SubjectData> {
    let use_of_contracts = option::of(contract_use());
    (limits(chain), use_of_contracts, time(), any::<(u64, u128, bool)>(), vec(freeze(chain), 0..3))
        .prop_map(move |(limits, contracts, time, (height, amount, is_outdated), freezes)| {
            let tip = Tip {
                height,
                hash: "00".repeat(32),
                time,
                reported_at: time,
                start: 0,
                ingest_mode: IngestMode::Ingested,
                sample: false,
            };
            let revision = "ends".to_owned();
            let flows = FlowFacts {
                complete: true,
                ledgers: Vec::new(),
                compositions: Some(UsedCompositions { revision, is_outdated }),
                account: Some(Box::new(limits)),
                contracts: contracts.map(Box::new),
                histories: None,
            };
            let amounts = vec![AssetActivity {
                asset: "ETH".to_owned(),
                received: amount,
                sent: 0,
                balance: amount,
            }];
            let activity = Some(ActivityFacts {
                first_seen: time,
                last_seen: time,
                transfers_in: 1,
                transfers_out: 0,
                amounts,
            });
            let facts = ChainFacts { tip, flows, behavior: None, activity };
            SubjectData { freezes, ..SubjectData::facts(facts, format!("{chain}@{height}")) }
        })
}

fn found(chain: ChainId) -> impl Strategy<Value = FoundAccountTransfer> {
    let parties = (option::of(address(chain)), option::of(address(chain)), address(chain));
    let transfer =
        (txid(), any::<u64>(), time(), scored(chain), any::<u128>(), parties, transfer_place());
    let senders = vec((option::of(account()), any::<u128>()), 0..4);
    let unit = prop_oneof![Just(MoneyUnit::Dollars), scored(chain).prop_map(MoneyUnit::Asset),];
    (transfer, senders, unit).prop_map(|(transfer, senders, unit)| {
        let (id, block, time, asset, amount, (initiator, payer, receiver), place) = transfer;
        let transfer =
            AccountTransfer { id, block, time, initiator, asset, amount, payer, receiver, place };
        FoundAccountTransfer { transfer, senders, unit }
    })
}

fn invalid(
    chain: ChainId,
) -> impl Strategy<Value = (InvalidAccountTransfer, AccountTransferSelector)> {
    let named = (published(), address(chain), choices(), any::<String>());
    (named, 0..9_usize).prop_map(|((place, receiver, choices, text), kind)| {
        use InvalidAccountTransfer as Invalid;
        let selector = AccountTransferSelector {
            place: Some(place.clone()),
            receiver: Some(receiver.clone()),
        };
        let invalid = match kind {
            0 => Invalid::Several(choices),
            1 => Invalid::NoSuchPlace { place, choices },
            2 => Invalid::NotPaid(receiver),
            3 => Invalid::NoTransfer,
            4 => Invalid::MovesNothing,
            5 => Invalid::NotFollowed(text),
            6 => Invalid::TooLarge,
            7 => Invalid::Destroyed,
            _ => Invalid::GivenBack,
        };
        (invalid, selector)
    })
}

fn query(chain: ChainId, selector: AccountTransferSelector) -> TransferQuery {
    TransferQuery {
        chain,
        txid: Txid::from_bytes([7; 32]),
        selector: TransferSelector::OfAccounts(selector),
        direction: TransferDirection::Deposit,
    }
}

fn booked(chain: ChainId) -> impl Strategy<Value = BookedTransaction> {
    let kind = select(TransferKind::ALL.to_vec());
    let transfer = (kind, asset(), account(), account(), any::<[u64; 4]>(), transfer_place())
        .prop_map(|(kind, asset, from, to, limbs, place)| Transfer {
            kind,
            asset,
            from,
            to,
            amount: amount_of(limbs),
            place,
        });
    let payment = (option::of(account()), option::of(account()), scored(chain), any::<u128>())
        .prop_map(|(from, to, asset, amount)| BookedPayment { from, to, asset, amount });
    let head = (any::<u64>(), time(), txid(), option::of(account()), any::<u64>());
    (head, vec(transfer, 0..4), vec(payment, 0..4)).prop_map(|(head, transfers, payments)| {
        let (block, time, id, initiator, transfers_count) = head;
        let (contract_facts, freezes) = (Vec::new(), Vec::new());
        let (delegations, messages) = (Vec::new(), Vec::new());
        let transaction = AccountTransaction {
            block,
            time,
            id,
            initiator,
            transfers,
            contract_facts,
            freezes,
            delegations,
            messages,
        };
        BookedTransaction { transaction, transfers_count, payments }
    })
}

/// An amount of 256 bits.
fn amount_of<T: std::str::FromStr<Err: std::fmt::Debug>>(limbs: [u64; 4]) -> T {
    let [a, b, c, d] = limbs;
    format!("0x{a:016x}{b:016x}{c:016x}{d:016x}").parse().unwrap()
}

/// A value for one of the chains.
fn on_chain<T: std::fmt::Debug, S: Strategy<Value = T>>(
    of: impl Fn(ChainId) -> S,
) -> impl Strategy<Value = (ChainId, T)> {
    let [first, second, third] = CHAINS.map(|chain| of(chain).prop_map(move |it| (chain, it)));
    prop_oneof![first, second, third]
}

proptest! {
    #[test]
    fn data_of_an_account_is_read_as_it_was_written((chain, data) in on_chain(subject_data)) {
        let intel = IntelSnapshot::default();
        let reader = AnswerReader { chain, intel: &intel };
        let read = reader.traced(sent(&trace_answer(data.clone(), &intel))).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{data:?}"));
        let ChainState::Followed(facts) = read.state else { panic!("{:?}", read.state) };
        prop_assert!(facts.flows.account.is_some());
    }

    #[test]
    fn a_transfer_is_read_as_it_was_written(
        (chain, (found, traced)) in on_chain(|chain| (found(chain), subject_data(chain))),
        tip_height: u64,
    ) {
        let (intel, now) = (IntelSnapshot::default(), Timestamp::UNIX_EPOCH);
        let transfer = FoundTransfer::OfAccounts(Box::new(found));
        let read = TransferRead { transfer, traced, destinations: None, tip_height };
        let message = account_transfer_answer(Ok(read.clone()), &intel, now).unwrap();
        let reader = AnswerReader { chain, intel: &intel };
        let query = query(chain, AccountTransferSelector::default());
        let back = reader.account_transfer(&query, sent(&message), now).unwrap().unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{read:?}"));
    }

    #[test]
    fn a_transfer_that_cannot_be_assessed_has_the_same_words(
        (chain, (invalid, selector)) in on_chain(invalid),
    ) {
        let (intel, now) = (IntelSnapshot::default(), Timestamp::UNIX_EPOCH);
        let message = account_transfer_answer(Err(invalid.clone().into()), &intel, now).unwrap();
        let reader = AnswerReader { chain, intel: &intel };
        let back = reader.account_transfer(&query(chain, selector), sent(&message), now);
        let back = back.unwrap().unwrap_err();
        prop_assert_eq!(back.to_string(), invalid.to_string());
    }

    #[test]
    fn a_transaction_is_read_as_it_was_written((chain, booked) in on_chain(booked)) {
        let intel = IntelSnapshot::default();
        let message = sent(&account_transaction_answer(booked.clone()));
        let read = AnswerReader { chain, intel: &intel }.account_transaction(message).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{booked:?}"));
    }

    #[test]
    fn no_answer_of_another_program_stops_the_reader(text in "\\PC{0,40}", number: u64) {
        // An asset that is not followed, a kind and an address that are none.
        let intel = IntelSnapshot::default();
        let reader = AnswerReader { chain: ChainId::ETH, intel: &intel };
        let message = serde_json::json!({
            "transaction": "00".repeat(32), "block": number, "time": "2026-01-01T00:00:00Z",
            "initiator": null, "transfers_count": number, "payments": [],
            "transfers": [{
                "kind": text, "asset": "native", "from": "00".repeat(20), "to": "00".repeat(20),
                "amount": text, "place": {"index": 0, "published": null},
            }],
        });
        let answer = serde_json::from_value(message).unwrap();
        prop_assert!(reader.account_transaction(answer).is_err());
        let limits = AccountLimitsMessage {
            lookalike_accounts: vec![LookalikeAccountMessage {
                address: text.clone(), of: text, is_paid: true, transactions: Vec::new(),
            }],
            ..AccountLimitsMessage::default()
        };
        prop_assert!(reader.account_limits(limits).is_err());
    }
}
