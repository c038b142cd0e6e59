//! Rules for labels that every backend must keep.

use super::*;

pub(crate) async fn labels_are_replaced_by_source(store: Arc<dyn Store>) {
    let address = "0x931546D9e66836AbF687d2bc64B30407bAc8C568";
    let address = CanonicalAddress::parse(ChainId::ETH, address).unwrap();
    let (mixer, scam) = (label(&address, Category::Mixer), label(&address, Category::Scam));
    let first = store.record_labels(&labels("one", vec![mixer.clone()], 0)).await.unwrap();
    assert_eq!(first, Some(LabelChange { added: 1, removed: 0, unchanged: 0 }));
    assert_eq!(labels_of(&*store).await, std::slice::from_ref(&mixer));
    assert!(read(&*store).await.sources[0].sample);
    let same = store.record_labels(&labels("one", vec![], 5)).await.unwrap();
    assert_eq!(same, None, "known by its digest");
    assert_eq!(read(&*store).await.sources[0].fetched_at, at(5));
    let both = labels("two", vec![mixer.clone(), scam.clone()], 9);
    let second = store.record_labels(&both).await.unwrap();
    assert_eq!(second, Some(LabelChange { added: 1, removed: 0, unchanged: 1 }));
    let third = store.record_labels(&labels("three", vec![scam.clone()], 12)).await.unwrap();
    assert_eq!(third, Some(LabelChange { added: 0, removed: 1, unchanged: 1 }));
    assert_eq!(labels_of(&*store).await, std::slice::from_ref(&scam));
    // A return to the previous labels is an import like any other.
    let back = store.record_labels(&labels("one", vec![mixer.clone()], 15)).await.unwrap();
    assert_eq!(back, Some(LabelChange { added: 1, removed: 1, unchanged: 0 }));

    let mut recorded = Vec::new();
    let filter = LabelFilter { history: true, ..LabelFilter::default() };
    store.labels(&filter, &mut |row| recorded.push(row)).await.unwrap();
    let mut lives: Vec<_> = recorded
        .iter()
        .map(|row| (row.label.label.category, row.recorded_from, row.recorded_to))
        .collect();
    lives.sort_by_key(|(_, from, _)| *from);
    assert_eq!(
        lives,
        [
            (Category::Mixer, at(0), Some(at(12))),
            (Category::Scam, at(9), Some(at(15))),
            (Category::Mixer, at(15), None),
        ]
    );
}

pub(crate) async fn many_labels_read_back_as_they_were_recorded(store: Arc<dyn Store>) {
    let all: Vec<AddressLabel> = (0..1203_u32)
        .map(|number| {
            let mut account = [0; 20];
            account[..4].copy_from_slice(&number.to_be_bytes());
            let payload = Payload::Account(account);
            let chain = if number % 2 == 0 { ChainId::ETH } else { ChainId::TRX };
            let address = CanonicalAddress::from_payload(chain, payload).unwrap();
            let mut label = label(&address, Category::Exchange);
            if number % 3 == 0 {
                (label.label.author, label.label.term) = (None, None);
                (label.label.reason, label.label.reference) = (None, None);
                (label.label.entity, label.label.cites_list) = (None, None);
            }
            label
        })
        .collect();
    store.record_labels(&labels("many", all.clone(), 0)).await.unwrap();
    let mut found = labels_of(&*store).await;
    let order = |label: &AddressLabel| label.address.clone();
    found.sort_by_key(order);
    let mut expected = all.clone();
    expected.sort_by_key(order);
    assert_eq!(found, expected);

    let snapshot = IntelSnapshot::load(&*store, None).await.unwrap();
    assert_eq!((snapshot.labels().len(), snapshot.labels().addresses()), (1203, 1203));
    for label in &all {
        assert_eq!(
            *snapshot.labels().labels_of(&label.address),
            *std::slice::from_ref(&label.label)
        );
    }
    // The account of a TRON label is found under the same key on Ethereum.
    let elsewhere = CanonicalAddress::from_payload(
        ChainId::ETH,
        match all[1].address.key_identities().swap_remove(0) {
            KeyIdentity::Account(account) => Payload::Account(account),
            other => panic!("{other:?}"),
        },
    );
    let facts = snapshot.facts(&elsewhere.unwrap());
    assert_eq!((facts.labels.len(), facts.same_key.len()), (0, 1));
    assert_eq!(facts.same_key[0].address, all[1].address);
}

pub(crate) async fn labels_are_read_anew_only_where_they_changed(store: Arc<dyn Store>) {
    let address = "0x931546D9e66836AbF687d2bc64B30407bAc8C568";
    let address = CanonicalAddress::parse(ChainId::ETH, address).unwrap();
    store.record_labels(&labels("one", vec![label(&address, Category::Mixer)], 0)).await.unwrap();
    let before = IntelSnapshot::load(&*store, None).await.unwrap();
    import_first(&*store).await;
    let known = *before.labels().revision();
    store
        .intel(
            Some(LabelRequest {
                is_known: &mut |revision| *revision == known,
                each: &mut |_| panic!("labels did not change"),
            }),
            None,
        )
        .await
        .unwrap();
    let after = IntelSnapshot::load(&*store, Some(&before)).await.unwrap();
    let facts = after.facts(&address);
    assert_eq!((facts.labels.len(), facts.listings.len()), (1, 1));
}

pub(crate) async fn a_withdrawn_label_stays_withdrawn(store: Arc<dyn Store>) {
    let address = "0x931546D9e66836AbF687d2bc64B30407bAc8C568";
    let address = CanonicalAddress::parse(ChainId::ETH, address).unwrap();
    let (mixer, scam) = (label(&address, Category::Mixer), label(&address, Category::Scam));
    store.record_labels(&labels("one", vec![mixer.clone(), scam.clone()], 0)).await.unwrap();
    let before = read(&*store).await;
    let snapshot = IntelSnapshot::load(&*store, None).await.unwrap();
    let source: SourceId = "labels".parse().unwrap();
    let suppression = Suppression {
        source: source.clone(),
        address: address.clone(),
        category: Some(Category::Scam),
        author: "Jane".into(),
        reason: "confused with another".into(),
        at: at(1),
        lifted_at: None,
    };
    assert_eq!(store.suppress_labels(&suppression).await.unwrap(), 1);
    assert_eq!(labels_of(&*store).await, std::slice::from_ref(&mixer));
    let after = read(&*store).await;
    assert_ne!(before.data_revision, after.data_revision);
    // It holds without reading all labels again.
    let known = before.label_revision;
    store
        .intel(
            Some(LabelRequest {
                is_known: &mut |revision| *revision == known,
                each: &mut |_| panic!("labels did not change"),
            }),
            None,
        )
        .await
        .unwrap();
    let snapshot = IntelSnapshot::load(&*store, Some(&snapshot)).await.unwrap();
    assert_eq!(*snapshot.facts(&address).labels, *std::slice::from_ref(&mixer.label));
    assert_eq!((snapshot.labels().len(), snapshot.labels().addresses()), (1, 1));
    let all = Suppression { category: None, at: at(1), ..suppression.clone() };
    let none = snapshot.labels().with_suppressions(&[all]);
    assert_eq!((none.len(), none.addresses(), none.has_labels(&address)), (0, 0, false));
    assert_eq!(none.labelled(ChainId::ETH).count() + none.chains().count(), 0);
    // A later import of the same label does not bring it back.
    store.record_labels(&labels("two", vec![scam.clone()], 2)).await.unwrap();
    assert_eq!(labels_of(&*store).await, []);
    assert_eq!(store.suppressions().await.unwrap(), std::slice::from_ref(&suppression));

    assert_eq!(store.lift_suppressions(&source, &address, at(3)).await.unwrap(), 1);
    assert_eq!(store.lift_suppressions(&source, &address, at(4)).await.unwrap(), 0);
    assert_eq!(labels_of(&*store).await, [scam]);
    let lifted = Suppression { lifted_at: Some(at(3)), ..suppression };
    assert_eq!(store.suppressions().await.unwrap(), [lifted], "and is kept in the history");
}

pub(crate) async fn a_past_moment_has_the_labels_of_then(store: Arc<dyn Store>) {
    let address = "0x931546D9e66836AbF687d2bc64B30407bAc8C568";
    let address = CanonicalAddress::parse(ChainId::ETH, address).unwrap();
    let (mut mixer, mut scam) = (label(&address, Category::Mixer), label(&address, Category::Scam));
    (mixer.label.valid_from, scam.label.valid_from) = (None, None);
    // Given a source that was imported at minute 10 without, and at minute 20 with another label,
    store.record_labels(&labels("one", vec![mixer.clone()], 10)).await.unwrap();
    store.record_labels(&labels("two", vec![scam.clone()], 20)).await.unwrap();
    // of which one was withdrawn from minute 12 to minute 15,
    let source: SourceId = "labels".parse().unwrap();
    let suppression = Suppression {
        source: source.clone(),
        address: address.clone(),
        category: None,
        author: "Jane".into(),
        reason: "confused with another".into(),
        at: at(12),
        lifted_at: None,
    };
    let _withdrawn = store.suppress_labels(&suppression).await.unwrap();
    let _lifted = store.lift_suppressions(&source, &address, at(15)).await.unwrap();
    // then each moment has the labels of then; before the first import, those of its publication of the first of January.
    for (minute, expected) in [
        (9, vec![mixer.label.clone()]),
        (11, vec![mixer.label.clone()]),
        (13, vec![]),
        (16, vec![mixer.label.clone()]),
        (21, vec![scam.label.clone()]),
    ] {
        let then = IntelSnapshot::load_as_of(&*store, at(minute)).await.unwrap();
        assert_eq!(*then.facts(&address).labels, expected, "minute {minute}");
    }
    // Before any publication, a label counts that states since when it is valid.
    let long_ago: jiff::Timestamp = "2025-06-01T12:00:00Z".parse().unwrap();
    let then = IntelSnapshot::load_as_of(&*store, long_ago).await.unwrap();
    assert_eq!(*then.facts(&address).labels, []);
    let mut old = label(&address, Category::Mixer);
    old.label.source = "later".parse().unwrap();
    let source = old.label.source.clone();
    let later = LabelImport { source, ..labels("three", vec![old.clone()], 30) };
    store.record_labels(&later).await.unwrap();
    let then = IntelSnapshot::load_as_of(&*store, long_ago).await.unwrap();
    assert_eq!(*then.facts(&address).labels, [old.label]);
    let before: jiff::Timestamp = "2019-12-31T12:00:00Z".parse().unwrap();
    let then = IntelSnapshot::load_as_of(&*store, before).await.unwrap();
    assert_eq!(*then.facts(&address).labels, []);
}
