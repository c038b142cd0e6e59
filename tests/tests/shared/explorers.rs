//! APIs of explorers, of which several servers together keep the limits of a key.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, AccountTransaction, Asset, Transfer, TransferKind, TransferPlace},
    utxo::Txid,
};
use assay_tests::{account_api::AccountApi, platform::Platform};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

/// Requests a second of a free plan of Etherscan.
const A_SECOND: u64 = 3;
/// Time during which servers are asked.
const ASKED_FOR: Duration = Duration::from_secs(6);
/// Number of people whom nobody was asked about.
const PEOPLE: u8 = 200;

fn person(number: u8) -> AccountAddress {
    let mut bytes = [0x70; 20];
    bytes[0] = number;
    AccountAddress(bytes)
}

/// Payments of ether from each person to the next one.
fn payments() -> Arc<Vec<AccountTransaction>> {
    let begin = assay_system::now() - SignedDuration::from_hours(24);
    let payment = |number: u8| AccountTransaction {
        block: 1_000 + u64::from(number),
        time: Timestamp::from_second(begin.as_second() + i64::from(number)).unwrap(),
        id: Txid::from_bytes([number; 32]),
        initiator: Some(person(number)),
        transfers: vec![Transfer {
            kind: TransferKind::Transfer,
            asset: Asset::Native,
            from: person(number),
            to: person(number + 1),
            amount: 1_000_000_000_000_000_000_u64.try_into().unwrap(),
            place: TransferPlace { index: 0, published: None },
        }],
        contract_facts: Vec::new(),
        freezes: Vec::new(),
        delegations: Vec::new(),
        messages: Vec::new(),
    };
    Arc::new((0..PEOPLE).map(payment).collect())
}

#[test]
fn three_servers_exceed_no_limit_of_an_api_together() {
    // Given three servers that share a database, and an API with a key of a free plan,
    let api = AccountApi::of(payments());
    api.set_behavior(|behavior| behavior.key = Some("a-free-key".to_owned()));
    let platform = Platform::start();
    std::fs::create_dir_all(platform.file("sources")).unwrap();
    platform.write("sources/key", "a-free-key");
    platform.apply(&format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: explorer}}\nspec:\n  chain: eth\n  \
         mode: on_demand\n  protocol: etherscan\n  endpoint: '{}'\n  credentialsFile: '{}'\n",
        api.etherscan(),
        platform.file("sources/key").display()
    ));
    let begin = Instant::now();
    let servers = platform.servers(3, &platform.key(), &[]);
    // when each of them is asked about one person after the other,
    let end = Instant::now() + ASKED_FOR;
    thread::scope(|scope| {
        for ((_, caller), first) in servers.iter().zip(0_u8..) {
            scope.spawn(move || {
                for number in (first..PEOPLE).step_by(3).take_while(|_| Instant::now() < end) {
                    let address = person(number).on(ChainId::ETH).unwrap();
                    let body = json!({ "blockchain": "eth", "address": address.as_str() });
                    let reply = caller.post("/api/v1/check/address", &body.to_string(), &[]);
                    assert_eq!(reply.status, 200, "{}", reply.json());
                }
            });
        }
    });
    let asked = u64::try_from(api.requests().len()).unwrap();
    // then they make no more requests together than the plan allows: windows of a second are those of the database's clock, so
    // that the first and the last one are cut. A machine that pauses delays requests and adds none.
    let windows = begin.elapsed().as_secs() + 2;
    eprintln!("{asked} requests in {windows} windows of a second");
    assert!(asked <= A_SECOND * windows, "{asked} requests in {windows} windows of a second");
    // Each server alone would have made as many as this.
    assert!(asked > A_SECOND, "{asked}");
}
