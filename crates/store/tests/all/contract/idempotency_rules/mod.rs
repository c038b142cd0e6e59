//! Rules for idempotency keys.

use std::{collections::BTreeMap, sync::Arc};

use assay_store::{
    Store,
    idempotency::{KeyClaim, KeyState, KeyedRequest},
};

use super::at;

fn request(tenant: &str, operation: &'static str, key: &str, body: &str) -> KeyedRequest {
    KeyedRequest {
        tenant: tenant.parse().unwrap(),
        operation,
        key: key.into(),
        body_digest: body.into(),
    }
}

fn claim(holder: &str, until: i64) -> KeyClaim {
    KeyClaim { holder: holder.into(), until: at(until) }
}

pub(crate) async fn a_key_has_the_answer_of_its_first_request(store: Arc<dyn Store>) {
    let one = request("a", "check", "k", "body");
    let ask = async |request: &KeyedRequest, holder: &str, minute: i64| {
        store.claim_key(request, &claim(holder, minute + 1), at(minute)).await.unwrap()
    };
    // Given a request that claimed a key.
    assert_eq!(ask(&one, "x", 0).await, KeyState::Claimed);
    // When it is repeated before it is answered, then the key is in use; with another body, it is refused.
    assert_eq!(ask(&one, "y", 0).await, KeyState::InUse);
    let other_body = request("a", "check", "k", "other");
    assert_eq!(ask(&other_body, "y", 0).await, KeyState::OtherBody);
    // Another tenant, operation or key is another request.
    for other in [("b", "check", "k"), ("a", "batch", "k"), ("a", "check", "K")] {
        let (tenant, operation, key) = other;
        assert_eq!(ask(&request(tenant, operation, key, "z"), "z", 0).await, KeyState::Claimed);
    }
    // Only its holder keeps an answer, once, and then it is repeated until its time is over.
    assert!(!store.keep_answer(&one, "y", "no", at(9)).await.unwrap());
    assert!(store.keep_answer(&one, "x", "{\"a\":1}", at(9)).await.unwrap());
    assert!(!store.keep_answer(&one, "x", "again", at(9)).await.unwrap());
    let answered = KeyState::Answered("{\"a\":1}".into());
    assert_eq!(ask(&one, "y", 8).await, answered);
    assert_eq!(ask(&other_body, "y", 8).await, KeyState::OtherBody);
    store.free_key(&one, "x").await.unwrap();
    assert_eq!(ask(&one, "y", 8).await, answered, "an answer is not freed");
    assert_eq!(ask(&other_body, "y", 9).await, KeyState::Claimed);
    assert_eq!(ask(&one, "z", 9).await, KeyState::OtherBody);
}

pub(crate) async fn a_key_without_an_answer_is_free_again(store: Arc<dyn Store>) {
    let one = request("a", "check", "k", "body");
    let ask = async |holder: &str, minute: i64| {
        store.claim_key(&one, &claim(holder, minute + 2), at(minute)).await.unwrap()
    };
    // Given a request that failed, then its key is free, and nobody else frees it.
    assert_eq!(ask("x", 0).await, KeyState::Claimed);
    store.free_key(&one, "y").await.unwrap();
    assert_eq!(ask("y", 0).await, KeyState::InUse);
    store.free_key(&one, "x").await.unwrap();
    // When a program dies with a claim, then the claim ends, and what it does later changes nothing.
    assert_eq!(ask("y", 0).await, KeyState::Claimed);
    assert_eq!(ask("z", 1).await, KeyState::InUse);
    assert_eq!(ask("z", 2).await, KeyState::Claimed);
    assert!(!store.keep_answer(&one, "y", "late", at(9)).await.unwrap());
    store.free_key(&one, "y").await.unwrap();
    assert!(store.keep_answer(&one, "z", "{}", at(9)).await.unwrap());
    assert_eq!(ask("x", 3).await, KeyState::Answered("{}".into()));
    // Keys are deleted once their time is over.
    let a = "a".parse().unwrap();
    assert_eq!(store.purge_keys(&"b".parse().unwrap(), at(99)).await.unwrap(), 0);
    assert_eq!(store.purge_keys(&a, at(8)).await.unwrap(), 0);
    assert_eq!(store.purge_keys(&a, at(9)).await.unwrap(), 1);
}

pub(crate) async fn of_many_claims_at_once_one_has_the_key(store: Arc<dyn Store>) {
    for round in 0..20 {
        let key = round.to_string();
        let claims = (0..8).map(|holder: u32| {
            let (store, key) = (Arc::clone(&store), key.clone());
            tokio::spawn(async move {
                let body = if holder.is_multiple_of(2) { "even" } else { "odd" };
                let request = request("a", "check", &key, body);
                let claim = claim(&holder.to_string(), 1);
                store.claim_key(&request, &claim, at(0)).await.unwrap()
            })
        });
        let mut states: BTreeMap<&str, u32> = BTreeMap::new();
        for state in claims.collect::<Vec<_>>() {
            let state = match state.await.unwrap() {
                KeyState::Claimed => "claimed",
                KeyState::InUse => "in use",
                KeyState::OtherBody => "other body",
                KeyState::Answered(answer) => panic!("{answer}"),
            };
            *states.entry(state).or_default() += 1;
        }
        let expected = [("claimed", 1), ("in use", 3), ("other body", 4)];
        assert_eq!(states, expected.into());
    }
}
