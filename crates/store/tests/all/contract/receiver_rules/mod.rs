//! Rules for receivers that tenants checked.

use std::sync::Arc;

use assay_address::CanonicalAddress;
use assay_store::{
    Store,
    receivers::{CheckedReceiver, KnownReceiver, MOST_FOUND},
};

use super::at;

fn address(chain: &str, text: &str) -> CanonicalAddress {
    CanonicalAddress::parse(chain.parse().unwrap(), text).unwrap()
}

fn checked(tenant: &str, chain: &str, text: &str, minute: i64) -> CheckedReceiver {
    CheckedReceiver {
        tenant: tenant.parse().unwrap(),
        address: address(chain, text),
        first_checked_at: at(minute),
        last_checked_at: at(minute),
    }
}

const ONE: &str = "0x189f40034be7a199f1fa9891668ee3ab6049f82d";

async fn like(store: &Arc<dyn Store>, tenant: &str, chain: &str, text: &str) -> Vec<KnownReceiver> {
    let keys = address(chain, text).resemblance_keys().unwrap();
    store.receivers_like(&tenant.parse().unwrap(), &keys).await.unwrap()
}

pub(crate) async fn receivers_that_look_alike_are_found_of_one_tenant(store: Arc<dyn Store>) {
    // Given receivers of two tenants, and one on a chain without forms of addresses.
    let receivers = [
        checked("a", "eth", ONE, 2),
        checked("a", "polygon", "0x189f00000000000000000000000000000000f82d", 1),
        checked("b", "eth", "0x189f00000000000000000000000000000001f82d", 1),
        checked("a", "other", "some-text-that-is-long-enough", 1),
    ];
    store.record_receivers(&receivers).await.unwrap();
    // When another one with the same ends is looked for, then those of its tenant are found, of any EVM chain.
    let found = like(&store, "a", "bsc", "0x189f00000000000000000000000000000002f82d").await;
    let times: Vec<_> = found.iter().map(|found| found.first_checked_at).collect();
    assert_eq!(times, [at(1), at(2)], "the first checked first");
    assert_eq!(found[1].address, address("eth", ONE));
    // One with another digit is found by the rest.
    for edited in [
        "0x089f40034be7a199f1fa9891668ee3ab6049f82d",
        "0x189f40034be7a199f1fa9891668ee3ab6049f820",
        "0x189f40034be7a199f1fa0891668ee3ab6049f82d",
    ] {
        let found = like(&store, "a", "eth", edited).await;
        assert!(found.iter().any(|found| found.address == address("eth", ONE)), "{edited}");
    }
    assert_eq!(like(&store, "a", "eth", "0x52908400098527886e0f7030069857d2e4169ee7").await, []);
    assert_eq!(like(&store, "c", "eth", ONE).await, []);
    // A search returns a bounded number.
    let many: Vec<CheckedReceiver> = (0..MOST_FOUND + 9)
        .map(|number| checked("c", "eth", &format!("0x189f{number:032x}f82d"), 0))
        .collect();
    store.record_receivers(&many).await.unwrap();
    assert_eq!(like(&store, "c", "eth", ONE).await.len(), MOST_FOUND);
    // Those that share their first half crowd out none that shares the ends.
    let crowd = (0..MOST_FOUND + 9)
        .map(|number| checked("d", "eth", &format!("0x189f4003{number:032x}"), 0));
    let original = checked("d", "eth", "0x189f00000000000000000000000000000000f82d", 1);
    store.record_receivers(&crowd.chain([original.clone()]).collect::<Vec<_>>()).await.unwrap();
    let found = like(&store, "d", "eth", ONE).await;
    assert!(found.iter().any(|found| found.address == original.address));
}

pub(crate) async fn a_receiver_keeps_its_first_check_until_it_is_purged(store: Arc<dyn Store>) {
    let (a, b) = ("a".parse().unwrap(), "b".parse().unwrap());
    // Given a receiver that was checked several times, in any order.
    for minute in [5, 3, 9] {
        store.record_receivers(&[checked("a", "eth", ONE, minute)]).await.unwrap();
    }
    // On several chains and in one batch, too.
    let batch =
        [checked("a", "bsc", ONE, 4), checked("a", "eth", ONE, 2), checked("a", "bsc", ONE, 7)];
    store.record_receivers(&batch).await.unwrap();
    store.record_receivers(&[checked("b", "eth", ONE, 1)]).await.unwrap();
    assert_eq!(like(&store, "a", "eth", ONE).await[0].first_checked_at, at(2));
    // When receivers are purged, then the last check decides.
    assert_eq!(store.purge_receivers(&a, at(9)).await.unwrap(), 0);
    assert_eq!(store.purge_receivers(&a, at(10)).await.unwrap(), 1);
    assert_eq!(like(&store, "a", "eth", ONE).await, []);
    assert_eq!(like(&store, "b", "eth", ONE).await.len(), 1);
    assert_eq!(store.purge_receivers(&b, at(2)).await.unwrap(), 1);
}
