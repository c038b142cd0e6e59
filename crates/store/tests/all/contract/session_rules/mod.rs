//! Rules for sessions of people.

use std::sync::Arc;

use assay_store::{
    Store,
    sessions::{
        ConsoleSession, MOST_OF_ACTOR, MOST_SESSIONS, SessionActor, SessionRole, SessionsOver,
    },
};
use assay_tenancy::{Name, key::KeyId};

use super::at;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn actor(id: &str) -> SessionActor {
    SessionActor::Person(format!("{id:0>11}").parse::<KeyId>().unwrap())
}

fn session(tenant: &str, digest: &str, id: &str, minute: i64) -> ConsoleSession {
    ConsoleSession {
        tenant: name(tenant),
        digest: digest.into(),
        actor: actor(id),
        role: SessionRole::Analyst,
        person: "Ada <ada@example.com>".into(),
        authority: "of now".into(),
        began_at: at(minute),
        used_at: at(minute),
    }
}

/// Sessions are over that were last used before a minute, or began before another.
fn over(used: i64, begun: i64) -> SessionsOver {
    SessionsOver { used_before: at(used), begun_before: at(begun) }
}

pub(crate) async fn a_session_is_its_tenants_only_and_ends_for_all(store: Arc<dyn Store>) {
    let (a, b, open) = (name("a"), name("b"), over(0, 0));
    let first = session("a", "d1", "ada", 0);
    let of_a_key = ConsoleSession {
        digest: "d2".into(),
        actor: SessionActor::Key("0000000ada1".parse().unwrap()),
        role: SessionRole::Admin,
        person: String::new(),
        ..session("a", "d2", "ada", 1)
    };
    for begun in [&first, &of_a_key, &session("a", "d3", "bob", 2), &session("b", "d1", "ada", 3)] {
        store.begin_session(begun, open).await.unwrap();
    }
    assert_eq!(store.session(&a, "d1", open).await.unwrap().as_ref(), Some(&first));
    assert_eq!(store.session(&a, "d2", open).await.unwrap().as_ref(), Some(&of_a_key));
    assert_eq!(store.session(&b, "d2", open).await.unwrap(), None, "of another tenant");
    assert_eq!(store.session(&a, "d4", open).await.unwrap(), None);
    assert_eq!(store.count_sessions(&a, open).await.unwrap(), 3);

    // The names of people are known, the latest of each; keys have none.
    let renamed = ConsoleSession { person: "Ada B".into(), ..session("a", "d5", "ada", 4) };
    store.begin_session(&renamed, open).await.unwrap();
    let names = store.names_of_people(&a).await.unwrap();
    let names: Vec<(&str, &str)> = names.iter().map(|(id, it)| (id.as_str(), &**it)).collect();
    assert_eq!(names, [("00000000ada", "Ada B"), ("00000000bob", "Ada <ada@example.com>")]);
    store.end_session(&a, "d5").await.unwrap();

    // One session ends, then those of an actor, then those of a tenant.
    store.end_session(&b, "d3").await.unwrap();
    assert!(store.session(&a, "d3", open).await.unwrap().is_some(), "another tenant ends none");
    store.end_session(&a, "d3").await.unwrap();
    assert_eq!(store.session(&a, "d3", open).await.unwrap(), None);
    assert_eq!(store.end_sessions(&a, Some(&actor("ada"))).await.unwrap(), 1);
    assert!(store.session(&a, "d2", open).await.unwrap().is_some(), "a key is another actor");
    assert_eq!(store.end_sessions(&a, None).await.unwrap(), 1);
    assert_eq!(store.count_sessions(&a, open).await.unwrap(), 0);
    assert_eq!(store.count_sessions(&b, open).await.unwrap(), 1);
}

pub(crate) async fn a_session_is_over_by_its_times(store: Arc<dyn Store>) {
    let a = name("a");
    store.begin_session(&session("a", "d", "ada", 0), over(0, 0)).await.unwrap();
    assert_eq!(store.session(&a, "d", over(1, 0)).await.unwrap(), None, "idle");
    // When it is used, then it is idle no longer; an earlier use changes nothing.
    store.note_session_use(&name("b"), "d", at(9)).await.unwrap();
    assert_eq!(store.session(&a, "d", over(1, 0)).await.unwrap(), None, "of another tenant");
    store.note_session_use(&a, "d", at(5)).await.unwrap();
    store.note_session_use(&a, "d", at(3)).await.unwrap();
    let found = store.session(&a, "d", over(5, 0)).await.unwrap().unwrap();
    assert_eq!((found.began_at, found.used_at), (at(0), at(5)));
    assert_eq!(store.session(&a, "d", over(5, 1)).await.unwrap(), None, "too long ago");
    assert_eq!(store.count_sessions(&a, over(5, 1)).await.unwrap(), 0);
    // The next sign-in of its tenant forgets it, and so does a purge.
    store.begin_session(&session("b", "e", "ada", 6), over(0, 1)).await.unwrap();
    assert!(store.session(&a, "d", over(0, 0)).await.unwrap().is_some());
    store.begin_session(&session("a", "e", "ada", 6), over(0, 1)).await.unwrap();
    assert_eq!(store.session(&a, "d", over(0, 0)).await.unwrap(), None);
    assert_eq!(store.purge_sessions(&a, over(6, 6)).await.unwrap(), 0);
    assert_eq!(store.purge_sessions(&a, over(7, 0)).await.unwrap(), 1);
    assert_eq!(store.session(&a, "e", over(0, 0)).await.unwrap(), None);
}

pub(crate) async fn of_too_many_sessions_the_idlest_ends(store: Arc<dyn Store>) {
    let (a, open) = (name("a"), over(0, 0));
    let digests: Vec<String> = (0..=MOST_SESSIONS).map(|number| format!("{number:05}")).collect();
    for (minute, digest) in (0..).zip(&digests) {
        let person = (minute / 10).to_string();
        store.begin_session(&session("a", digest, &person, minute), open).await.unwrap();
    }
    assert_eq!(store.count_sessions(&a, open).await.unwrap(), u64::from(MOST_SESSIONS));
    assert_eq!(store.session(&a, &digests[0], open).await.unwrap(), None);
    for digest in &digests[1..] {
        assert!(store.session(&a, digest, open).await.unwrap().is_some(), "{digest}");
    }
    // One actor does not end the sessions of others.
    for number in 0..=i64::from(MOST_OF_ACTOR) {
        let digest = format!("eve{number}");
        store.begin_session(&session("b", &digest, "eve", number), open).await.unwrap();
    }
    assert_eq!(store.count_sessions(&name("b"), open).await.unwrap(), u64::from(MOST_OF_ACTOR));
    assert_eq!(store.session(&name("b"), "eve0", open).await.unwrap(), None);
}
