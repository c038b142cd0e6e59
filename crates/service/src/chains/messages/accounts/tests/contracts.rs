//! Random dealings with contracts.

use std::collections::BTreeMap;

use assay_engine::{
    evidence::{
        BackingMoney, ContractHolding, ContractUse, Direction, ExcessMoney, KeptMoney, KeptWay,
        NamedContract, TokenDealing,
    },
    taxonomy::Category,
};
use proptest::{collection::btree_map, collection::vec, option, prelude::*, sample::select};

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(any::<String>(), 0..3)
}

fn sums() -> impl Strategy<Value = BTreeMap<String, u128>> {
    btree_map(any::<String>(), any::<u128>(), 0..3)
}

fn contract() -> impl Strategy<Value = NamedContract> {
    (any::<String>(), option::of(any::<String>()))
        .prop_map(|(address, name)| NamedContract { address, name: name.map(Into::into) })
}

fn kept_money() -> impl Strategy<Value = KeptMoney> {
    let way = select(vec![KeptWay::Exchanged, KeptWay::Returned]);
    (way, contract(), any::<bool>(), sums(), sums(), any::<u64>(), texts()).prop_map(
        |(way, via, is_contract, gave, got, payments, transactions)| KeptMoney {
            way,
            via,
            is_contract,
            gave,
            got,
            payments,
            transactions,
        },
    )
}

fn holding() -> impl Strategy<Value = ContractHolding> {
    let backing =
        any::<(String, u128, u32, bool)>().prop_map(|(asset, amount, severe, is_of_others)| {
            BackingMoney { asset, amount, severe, is_of_others }
        });
    (option::of(any::<String>()), option::of(contract()), vec(backing, 0..3))
        .prop_map(|(token, contract, backing)| ContractHolding { token, contract, backing })
}

fn token_dealing() -> impl Strategy<Value = TokenDealing> {
    let party = (any::<String>(), option::of(any::<String>()), select(Category::ALL.to_vec()));
    let direction = select(vec![Direction::Source, Direction::Destination]);
    (party, direction, any::<bool>(), texts(), texts()).prop_map(
        |((party, entity, category), direction, is_initiated, tokens, transactions)| TokenDealing {
            party,
            entity: entity.map(Into::into),
            category,
            direction,
            is_initiated,
            tokens,
            transactions,
        },
    )
}

/// Dealings of a subject with contracts.
pub(super) fn contract_use() -> impl Strategy<Value = ContractUse> {
    let lists = (vec(kept_money(), 0..3), vec(holding(), 0..3), vec(token_dealing(), 0..3));
    (lists, any::<[u64; 2]>()).prop_map(
        |((kept, holdings, token_dealings), [further_kept, further_holdings])| ContractUse {
            kept,
            further_kept,
            holdings,
            further_holdings,
            token_dealings,
        },
    )
}

/// Money that contracts paid beyond what was put in.
pub(super) fn excess() -> impl Strategy<Value = ExcessMoney> {
    (any::<(String, u8, u128, u128)>(), texts()).prop_map(
        |((unit, decimals, amount, received), transactions)| ExcessMoney {
            unit,
            decimals,
            amount,
            received,
            transactions,
        },
    )
}
