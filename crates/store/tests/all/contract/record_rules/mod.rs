//! Rules for usage and kept answers that every backend must keep.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

pub(crate) fn charged(tenant: &str, day: i8, verdict: &str) -> ChargeKey {
    ChargeKey {
        tenant: tenant.parse().unwrap(),
        day: date(2026, 1, day),
        key: key(1).id,
        plan: "business".parse().unwrap(),
        operation: Operation::Check,
        verdict: verdict.to_owned().into(),
    }
}

/// A batch of counts of a new writer.
pub(crate) fn batch(counts: &[UsageCount]) -> UsageBatch {
    static WRITERS: AtomicU64 = AtomicU64::new(1_000);
    let writer = WRITERS.fetch_add(1, Ordering::Relaxed).into();
    UsageBatch { writer, number: 1, made_at: at(0), counts: counts.to_vec() }
}

pub(crate) async fn usage_adds_up(store: Arc<dyn Store>) {
    let count = |charged: ChargeKey, count| UsageCount { charged, count };
    let (a, b) = (charged("a", 1, "allow"), charged("b", 1, "allow"));
    store.add_usage(&batch(&[count(a.clone(), 2), count(b.clone(), 1)])).await.unwrap();
    store.add_usage(&batch(&[count(a.clone(), 3)])).await.unwrap();
    let later = charged("a", 3, "block");
    store.add_usage(&batch(&[count(later.clone(), 1)])).await.unwrap();
    let of = |tenant: Option<&str>, from: i8, to: i8| {
        let (store, tenant) = (Arc::clone(&store), tenant.map(|tenant| tenant.parse().unwrap()));
        async move {
            store.usage(tenant.as_ref(), date(2026, 1, from), date(2026, 1, to)).await.unwrap()
        }
    };
    assert_eq!(of(Some("a"), 1, 3).await, [count(a.clone(), 5), count(later.clone(), 1)]);
    assert_eq!(of(Some("a"), 1, 2).await, [count(a, 5)]);
    assert_eq!(of(None, 1, 1).await.len(), 2);
    let purge = Purge {
        tenant: "a".parse().unwrap(),
        checks_before: at(0),
        usage_before: date(2026, 1, 3),
    };
    assert_eq!(store.purge_tenant(&purge).await.unwrap(), PurgeCounts { checks: 0, usage: 1 });
    assert_eq!(of(None, 1, 9).await, [count(later, 1), count(b, 1)]);
}

pub(crate) async fn usage_that_is_sent_again_counts_once(store: Arc<dyn Store>) {
    let send = async |writer, number: u32, count| {
        let counts = vec![UsageCount { charged: charged("a", 1, "allow"), count }];
        let made_at = at(number.into());
        let batch = UsageBatch { writer, number: number.into(), made_at, counts };
        store.add_usage(&batch).await.unwrap();
    };
    let sum = async || {
        let counts = store.usage(None, date(2026, 1, 1), date(2026, 1, 1)).await.unwrap();
        counts.iter().map(|count| count.count).sum::<u64>()
    };
    send(1, 1, 10).await;
    send(1, 1, 10).await;
    assert_eq!(sum().await, 10, "its answer was lost");
    send(2, 1, 100).await;
    send(1, 2, 1_000).await;
    send(1, 1, 10).await;
    send(1, 2, 1_000).await;
    assert_eq!(sum().await, 1_110, "each writer has numbers of its own");
    // Writers are forgotten by age: the first one wrote last at minute 2, the second one at minute 1.
    store.purge_usage_writers(at(2)).await.unwrap();
    send(1, 2, 1_000).await;
    assert_eq!(sum().await, 1_110, "the first one is remembered");
    send(2, 1, 100).await;
    assert_eq!(sum().await, 1_210, "the second one is not");
}

pub(crate) async fn a_kept_answer_is_its_tenants_only(store: Arc<dyn Store>) {
    let (ours, theirs): (Name, Name) = ("a".parse().unwrap(), "b".parse().unwrap());
    let check = KeptCheck::new("1".into(), ours.clone(), at(5), r#"{"risk_score":0}"#.into());
    store.keep_checks(std::slice::from_ref(&check)).await.unwrap();
    assert_eq!(store.kept_check(&ours, "1").await.unwrap(), Some(check));
    assert_eq!(store.kept_check(&theirs, "1").await.unwrap(), None);
    assert_eq!(store.kept_check(&ours, "2").await.unwrap(), None);
    assert_eq!(store.kept_check(&ours, "1\0").await.unwrap(), None, "no text can be refused");
    let purge = |minute| Purge {
        tenant: ours.clone(),
        checks_before: at(minute),
        usage_before: date(2026, 1, 1),
    };
    assert_eq!(store.purge_tenant(&purge(5)).await.unwrap().checks, 0);
    assert_eq!(store.purge_tenant(&purge(6)).await.unwrap().checks, 1);
    assert_eq!(store.kept_check(&ours, "1").await.unwrap(), None);
}

pub(crate) async fn what_was_fetched_is_kept_by_chain_kind_and_key(store: Arc<dyn Store>) {
    let fetched = |chain: &str, kind, key: &str, content: &str, minute| FetchedRecord {
        chain: chain.parse().unwrap(),
        kind,
        key: key.into(),
        content: content.into(),
        fetched_at: at(minute),
    };
    let keys: Vec<String> = (0..1_200).map(|number| format!("{number:04}")).collect();
    let (btc, kind) = (ChainId::BTC, FetchedKind::Transaction);
    assert_eq!(store.fetched(btc, kind, &keys).await.unwrap(), []);
    let many: Vec<_> = keys.iter().map(|key| fetched("btc", kind, key, "{}", 1)).collect();
    store.put_fetched(&many).await.unwrap();
    store
        .put_fetched(&[
            fetched("ltc", kind, "0000", "[1]", 2),
            fetched("btc", FetchedKind::Spends, "0000", "[2]", 3),
            fetched("btc", kind, "0000", "[3]", 4),
            fetched("btc", kind, "0000", "[4]", 5),
        ])
        .await
        .unwrap();
    let mut found = store.fetched(btc, kind, &keys).await.unwrap();
    found.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(found.len(), keys.len());
    assert_eq!(found[0], fetched("btc", kind, "0000", "[4]", 5), "the last one counts");
    assert_eq!(found[1], fetched("btc", kind, "0001", "{}", 1));
    assert_eq!(store.fetched(btc, FetchedKind::History, &keys).await.unwrap(), []);
    // Data older than its retention is deleted.
    assert_eq!(store.purge_fetched(at(1)).await.unwrap(), 0);
    assert_eq!(store.purge_fetched(at(3)).await.unwrap(), 1_200, "of minute 1 and of minute 2");
    let left = store.fetched(btc, kind, &keys).await.unwrap();
    assert_eq!(left, [fetched("btc", kind, "0000", "[4]", 5)]);
    assert_eq!(store.fetched(btc, FetchedKind::Spends, &keys).await.unwrap().len(), 1);
}
