//! Tests of the changes that follow from an object, its Secret and the records of its keys.

use assay_crds::{ApiKey, ApiKeySpec, status::ApiKeyStatus};
use assay_tenancy::key::{KeyEnvironment, KeyHash, RequestedEnvironment};
use kube::ResourceExt;
use serde_json::json;

use super::*;
use crate::{
    api_key::{fetch::Inputs, tenant::TenantState, validate::validate},
    golden::assert_objects,
    reason::ConditionReason,
};

const NUMBERS: (u64, [u128; 2]) = (9, [9, 9]);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn text(id: u64) -> KeyText {
    KeyText::generate(KeyEnvironment::Live, id, [id.into(), 7])
}

/// The inputs for a key whose Secret holds `held`, and whose records are `records`.
fn inputs(held: Option<&KeyText>, records: Vec<KeyRecord>) -> Inputs {
    let spec: ApiKeySpec = serde_json::from_value(json!({
        "tenant": "acme", "rotation": {"every": "100h", "overlap": "1h"},
    }))
    .unwrap();
    let mut object = ApiKey::new("backend", spec);
    object.metadata.namespace = Some("team".into());
    object.metadata.uid = Some("me".into());
    let key_id = Some("issued before".to_owned());
    object.status = Some(ApiKeyStatus { key_id, ..ApiKeyStatus::default() });
    let mut inputs = Inputs {
        instance: "one".parse().unwrap(),
        object,
        namespace: "team".into(),
        tenant: TenantState::InForce(vec!["team".parse().unwrap()]),
        secret: None,
        records,
        environment: KeyEnvironment::Live,
    };
    inputs.secret = held.map(|key| {
        let mut secret = secret(&key_of(&inputs), key);
        secret.metadata.resource_version = Some("5".into());
        secret
    });
    inputs
}

fn key_of(inputs: &Inputs) -> ValidatedKey {
    match validate(inputs, at(0)) {
        PermittedChanges::Active(key) => key,
        _ => panic!("the key may be issued"),
    }
}

fn record(key: &KeyText, created: i64) -> KeyRecord {
    key_of(&inputs(None, vec![])).grant.record(key, at(created))
}

fn plan(inputs: &Inputs, now: i64) -> KeyPlan {
    build(validate(inputs, at(now)), at(now), || NUMBERS)
}

fn updates(inputs: &Inputs, now: i64) -> Vec<GrantUpdate> {
    plan(inputs, now).updates
}

/// An action without the Secret.
#[derive(Debug, PartialEq)]
enum ActionSummary {
    Keep(KeyId),
    Adopt(Option<KeyId>),
    Issue(Option<KeyId>),
    Refuse(ConditionReason),
}

fn action(inputs: &Inputs, now: i64) -> ActionSummary {
    match plan(inputs, now).action {
        Action::Keep { id, .. } => ActionSummary::Keep(id),
        Action::Store(key) => {
            let replaced = key.replaced.map(|(id, _)| id);
            if key.is_new { ActionSummary::Issue(replaced) } else { ActionSummary::Adopt(replaced) }
        }
        Action::Refuse(state) => ActionSummary::Refuse(state.reason()),
    }
}

#[test]
fn a_key_is_issued_once_and_kept_while_it_is_active() {
    let key = text(1);
    assert_eq!(action(&inputs(None, vec![]), 0), ActionSummary::Issue(None));
    let stored = inputs(Some(&key), vec![record(&key, 0)]);
    assert_eq!(action(&stored, 10), ActionSummary::Keep(key.id().clone()));
    assert_eq!(
        action(&stored, 100 * 3600),
        ActionSummary::Issue(Some(key.id().clone())),
        "its time came"
    );
}

#[test]
fn a_key_of_another_environment_is_replaced_and_never_taken_over() {
    let live = text(1);
    let mut of_sandbox = inputs(Some(&live), vec![record(&live, 0)]);
    of_sandbox.object.spec.environment = RequestedEnvironment::Sandbox;
    assert_eq!(action(&of_sandbox, 10), ActionSummary::Issue(Some(live.id().clone())));
    of_sandbox.records.clear();
    assert_eq!(action(&of_sandbox, 10), ActionSummary::Issue(None));
    let Action::Store(stored) = plan(&of_sandbox, 10).action else { panic!("a key is issued") };
    assert_eq!(stored.record.environment, KeyEnvironment::Sandbox);
}

#[test]
fn a_key_that_only_the_secret_has_is_stored() {
    let (old, new) = (text(1), text(2));
    assert_eq!(action(&inputs(Some(&new), vec![]), 0), ActionSummary::Adopt(None));
    let interrupted = inputs(Some(&new), vec![record(&old, 0)]);
    assert_eq!(action(&interrupted, 0), ActionSummary::Adopt(Some(old.id().clone())));
}

#[test]
fn a_key_that_is_revoked_or_lost_is_replaced() {
    let key = text(1);
    let mut revoked = record(&key, 0);
    revoked.revoked_at = Some(at(1));
    assert_eq!(action(&inputs(Some(&key), vec![revoked]), 2), ActionSummary::Issue(None));
    let lost = inputs(None, vec![record(&key, 0)]);
    assert_eq!(action(&lost, 2), ActionSummary::Issue(Some(key.id().clone())), "both overlap");
    let mut other = record(&key, 0);
    other.hash = KeyHash::from_bytes([1; 32]);
    assert_eq!(action(&inputs(Some(&key), vec![other]), 2), ActionSummary::Issue(None));
}

#[test]
fn keys_of_an_earlier_object_of_the_name_are_revoked_but_the_one_in_the_secret() {
    let (former, held) = (text(1), text(2));
    let records = || vec![record(&former, 0), record(&held, 0)];
    let new = |mut inputs: Inputs| {
        inputs.object.status = None;
        inputs
    };
    let recreated = new(inputs(None, vec![record(&former, 0)]));
    assert_eq!(plan(&recreated, 2).revocations, [former.id().clone()]);
    assert_eq!(action(&recreated, 2), ActionSummary::Issue(None), "none overlaps");
    let restored = new(inputs(Some(&held), records()));
    assert_eq!(plan(&restored, 2).revocations, [former.id().clone()]);
    assert_eq!(action(&restored, 2), ActionSummary::Keep(held.id().clone()));
    assert!(plan(&inputs(Some(&held), records()), 2).revocations.is_empty());
}

#[test]
fn the_key_that_is_active_for_longest_is_replaced() {
    let (first, second) = (text(2), text(1));
    let mut replaced = record(&first, 5);
    replaced.expires_at = Some(at(3600));
    let lost = inputs(None, vec![record(&second, 5), replaced]);
    assert_eq!(action(&lost, 6), ActionSummary::Issue(Some(second.id().clone())));
}

#[test]
fn a_request_for_a_new_key_is_handled_once() {
    let key = text(1);
    let mut requested = inputs(Some(&key), vec![record(&key, 0)]);
    requested.object.annotations_mut().insert(ROTATE.into(), "monday".into());
    let Action::Store(stored) = plan(&requested, 1).action else { panic!("a key is issued") };
    let new = KeyText::generate(KeyEnvironment::Live, NUMBERS.0, NUMBERS.1);
    assert_eq!(stored.record.id, *new.id());
    let (written, replaced) = (stored.secret.unwrap(), stored.replaced);
    let overlap = Some((key.id().clone(), at(1 + 3600)));
    assert_eq!((&written.annotations()[ROTATE], replaced), (&"monday".to_owned(), overlap));
    let secret = requested.secret.as_mut().unwrap();
    secret.annotations_mut().insert(ROTATE.into(), "monday".into());
    assert_eq!(action(&requested, 1), ActionSummary::Keep(key.id().clone()));
}

#[test]
fn the_secret_equals_the_file() {
    let created = inputs(None, vec![]);
    let document = |inputs: &Inputs| {
        let key = KeyText::generate(KeyEnvironment::Live, 1, [2, 3]);
        json!(secret(&key_of(inputs), &key))
    };
    assert_objects("key-created", [document(&created)]);
    let mut rotated = inputs(Some(&text(1)), vec![]);
    rotated.object.annotations_mut().insert(ROTATE.into(), "monday".into());
    rotated.object.spec.secret_name = Some("elsewhere".parse().unwrap());
    assert_objects("key-rotated", [document(&rotated)]);
}

#[test]
fn a_secret_without_its_owner_gets_it() {
    let key = text(1);
    let mut restored = inputs(Some(&key), vec![record(&key, 0)]);
    let written = |inputs: &Inputs| match plan(inputs, 1).action {
        Action::Keep { secret, .. } => {
            secret.map(|secret| secret.owner_references()[0].uid.clone())
        }
        _ => panic!("the key is kept"),
    };
    assert_eq!(written(&restored), None);
    restored.secret.as_mut().unwrap().metadata.owner_references = None;
    assert_eq!(written(&restored).as_deref(), Some("me"));
}

#[test]
fn active_keys_get_the_scopes_and_expiry_of_the_spec() {
    let (current, replaced, expired) = (text(1), text(2), text(3));
    let until =
        |key: &KeyText, expires: i64| KeyRecord { expires_at: Some(at(expires)), ..record(key, 0) };
    let records = vec![record(&current, 0), until(&replaced, 50), until(&expired, 5)];
    let mut inputs = inputs(Some(&current), records);
    assert_eq!(updates(&inputs, 10), [], "nothing is written while nothing changes");

    let update = |key: &KeyText, expires: i64| GrantUpdate {
        id: key.id().clone(),
        scopes: vec![Scope::Check],
        expires_at: Some(at(expires)),
    };
    inputs.object.spec.scopes = vec![Scope::Check];
    inputs.object.spec.expires_at = Some(at(100));
    assert_eq!(updates(&inputs, 10), [update(&current, 100), update(&replaced, 50)]);
    assert_eq!(action(&inputs, 10), ActionSummary::Keep(current.id().clone()));
    inputs.object.spec.expires_at = Some(at(10));
    let ended = [update(&current, 10), update(&replaced, 10)];
    assert_eq!(updates(&inputs, 10), ended, "a time in the past ends them");
    assert_eq!(action(&inputs, 10), ActionSummary::Refuse(ConditionReason::Expired));

    // The store rounds to the millisecond.
    inputs.object.spec.expires_at = Some("1970-01-01T00:01:40.000000001Z".parse().unwrap());
    inputs.records = vec![KeyRecord { scopes: vec![Scope::Check], ..until(&current, 100) }];
    assert_eq!(updates(&inputs, 10), []);
}

#[test]
fn a_suspended_key_is_reactivated_but_not_the_key_before_it() {
    let (replaced, current) = (text(1), text(2));
    let overlapping = KeyRecord { expires_at: Some(at(100)), ..record(&replaced, 0) };
    let mut inputs = inputs(Some(&current), vec![overlapping, record(&current, 5)]);
    let listed = inputs.tenant.clone();
    inputs.tenant = TenantState::InForce(vec![]);
    let suspended = updates(&inputs, 10);
    let ends: Vec<_> = suspended.iter().map(|key| (key.id.clone(), key.expires_at)).collect();
    let both = [&replaced, &current].map(|key| (key.id().clone(), Some(at(10))));
    assert_eq!(ends, both);
    assert_eq!(action(&inputs, 10), ActionSummary::Refuse(ConditionReason::NamespaceNotAllowed));

    for record in &mut inputs.records {
        record.expires_at = Some(at(10));
    }
    assert_eq!(updates(&inputs, 11), [], "nothing is written while nothing changes");
    inputs.tenant = listed;
    let again = GrantUpdate {
        id: current.id().clone(),
        scopes: inputs.object.spec.scopes.clone(),
        expires_at: None,
    };
    assert_eq!(updates(&inputs, 11), [again]);
    assert_eq!(
        action(&inputs, 11),
        ActionSummary::Keep(current.id().clone()),
        "it is not replaced"
    );
    inputs.records[1].revoked_at = Some(at(11));
    assert_eq!(updates(&inputs, 12), [], "a revoked key stays revoked");
    inputs.records[1].revoked_at = None;
    inputs.object.spec.expires_at = Some(at(12));
    assert_eq!(updates(&inputs, 12), [], "it has expired");
}

#[test]
fn without_a_tenant_or_with_a_foreign_secret_nothing_changes() {
    let key = text(1);
    let mut inputs = inputs(Some(&key), vec![record(&key, 0)]);
    inputs.object.spec.scopes = vec![Scope::Check];
    let listed = inputs.tenant.clone();
    for tenant in [
        TenantState::Missing,
        TenantState::Deleted { restorable_until: at(5) },
        TenantState::Deleted { restorable_until: at(20) },
    ] {
        inputs.tenant = tenant;
        assert_eq!(action(&inputs, 10), ActionSummary::Refuse(ConditionReason::TenantNotFound));
        assert_eq!(updates(&inputs, 10), []);
    }
    inputs.tenant = listed;
    inputs.secret.as_mut().unwrap().metadata.annotations = None;
    assert_eq!(action(&inputs, 10), ActionSummary::Refuse(ConditionReason::SecretNotManaged));
    assert_eq!(updates(&inputs, 10), []);
    let message = |inputs: &Inputs| match plan(inputs, 10).action {
        Action::Refuse(state) => state.message().to_owned(),
        _ => String::new(),
    };
    assert!(message(&inputs).contains("was not created for this ApiKey: delete it, or choose"));
    // Nobody is told to delete the Secret of another key.
    let annotations = [(OWNER.to_owned(), "other".to_owned())];
    inputs.secret.as_mut().unwrap().metadata.annotations = Some(annotations.into());
    let told = message(&inputs);
    assert!(told.contains("holds the key of ApiKey `other`: choose another"), "{told}");
}
