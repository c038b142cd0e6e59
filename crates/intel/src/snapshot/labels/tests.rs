//! An index answers as the labels themselves do, in memory and read again from its bytes.

use std::collections::{BTreeMap, BTreeSet};

use assay_address::AddressMark;
use assay_engine::{evidence::Tier, score::Confidence, taxonomy::Category};
use jiff::{Timestamp, civil::date};
use proptest::{prelude::*, sample::select};

use super::{super::look_alike::ends_hash, *};

/// Addresses of which some share a key, some their visible ends, and one is alone.
fn addresses() -> Vec<CanonicalAddress> {
    let account = "0x8589427373d6d84e98730d7795d8f6f8731fda16";
    [
        ("eth", account),
        ("polygon", account),
        ("eth", "0x8589000000000000000000000000000000000000"),
        ("eth", "0x8589aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaada16"),
        ("btc", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"),
        ("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
        ("btc", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
    ]
    .into_iter()
    .filter_map(|(chain, text)| CanonicalAddress::parse(chain.parse().unwrap(), text).ok())
    .collect()
}

fn text() -> impl Strategy<Value = Arc<str>> {
    select(vec!["", "a", "Žižkov", "https://example.com/1", "b\u{0}c"]).prop_map(Arc::from)
}

fn labels() -> impl Strategy<Value = Label> {
    let optional = || prop::option::of(text());
    let day = || prop::option::of((2009_i16..2030, 1_i8..=12).prop_map(|(y, m)| date(y, m, 1)));
    let head = (select(Category::ALL), select(Tier::ALL.to_vec()), 0_u8..=100);
    let source = (select(vec!["one", "two"]), prop::option::of(select(vec!["sdn", "eu"])));
    let texts = (text(), optional(), optional(), optional(), optional(), optional());
    (head, source, texts, day(), day()).prop_map(
        |((category, tier, percent), (source, list), texts, valid_from, valid_until)| {
            let (upstream, entity, author, term, reason, reference) = texts;
            Label {
                category,
                tier,
                confidence: Confidence::from_percent(percent),
                source: source.parse().unwrap(),
                cites_list: list.map(|list| list.parse().unwrap()),
                upstream,
                entity,
                author,
                term,
                reason,
                reference,
                valid_from,
                valid_until,
            }
        },
    )
}

fn claims() -> impl Strategy<Value = Vec<AddressLabel>> {
    let claim = (select(addresses()), labels());
    let claim = claim.prop_map(|(address, label)| AddressLabel { address, label });
    prop::collection::vec(claim, 0..40)
}

fn suppressions() -> impl Strategy<Value = Vec<Suppression>> {
    let category = prop::option::of(select(Category::ALL));
    let one = (select(addresses()), select(vec!["one", "two"]), category);
    let one = one.prop_map(|(address, source, category)| Suppression {
        source: source.parse().unwrap(),
        address,
        category,
        author: "Jane".into(),
        reason: "confused with another".into(),
        at: Timestamp::UNIX_EPOCH,
        lifted_at: None,
    });
    prop::collection::vec(one, 0..4)
}

fn index(claims: &[AddressLabel]) -> LabelIndex {
    let mut builder = LabelIndexBuilder::default();
    claims.iter().cloned().for_each(|claim| builder.add(claim));
    builder.finish([7; 32])
}

/// The index of the same bytes.
fn read_again(index: &LabelIndex) -> LabelIndex {
    let bytes = index.recorded.bytes().to_vec();
    LabelIndex::new(RecordedLabels::open(bytes).unwrap())
}

/// Fails if an index answers anything but what the claims say.
fn expect_answers(index: &LabelIndex, claims: &[&AddressLabel]) {
    let mut by_address: BTreeMap<CanonicalAddress, Vec<Label>> = BTreeMap::new();
    for claim in claims {
        by_address.entry(claim.address.clone()).or_default().push(claim.label.clone());
    }
    assert_eq!(index.len(), claims.len());
    assert_eq!(index.is_empty(), claims.is_empty());
    for address in addresses() {
        let expected = by_address.get(&address).cloned().unwrap_or_default();
        assert_eq!(index.has_labels(&address), !expected.is_empty());
        assert_eq!(index.labels_of(&address), AddressLabels::from(expected));
        for key in address.key_identities() {
            let controlled: BTreeSet<_> = index.controlled(&key).collect();
            let of_key = by_address.keys().filter(|other| other.key_identities().contains(&key));
            assert_eq!(controlled, of_key.cloned().collect());
        }
        let ends = |address: &CanonicalAddress| ends_hash(address.chain(), address.as_str());
        if let Some(hash) = ends(&address) {
            let alike: BTreeSet<_> = index.with_ends(hash).collect();
            let expected = by_address.keys().filter(|other| ends(other) == Some(hash));
            assert_eq!(alike, expected.cloned().collect());
        }
        let chain = address.chain();
        let labelled: BTreeSet<_> = index.labelled(chain).collect();
        let expected = by_address.keys().filter(|other| other.chain() == chain);
        assert_eq!(labelled, expected.cloned().collect());
    }
}

proptest! {
    #[test]
    fn an_index_answers_as_the_labels_do(claims in claims(), suppressions in suppressions()) {
        let built = index(&claims);
        let read = read_again(&built);
        prop_assert_eq!(read.revision(), &[7; 32]);
        let all: Vec<_> = claims.iter().collect();
        let counted = all.iter().filter(|claim| !suppressions.iter().any(|it| it.covers(claim)));
        let counted: Vec<&AddressLabel> = counted.copied().collect();
        for index in [built, read] {
            expect_answers(&index, &all);
            expect_answers(&index.with_suppressions(&suppressions), &counted);
        }
    }

    #[test]
    fn labels_in_the_order_of_addresses_make_one_entry_an_address(claims in claims()) {
        let mut sorted = claims;
        sorted.sort_by(|one, other| one.address.cmp(&other.address));
        let distinct: BTreeSet<_> = sorted.iter().map(|claim| &claim.address).collect();
        let index = read_again(&index(&sorted));
        prop_assert_eq!(index.addresses(), distinct.len());
        prop_assert_eq!(index.chains().count(), distinct.len());
    }
}

#[test]
fn a_crowd_of_labels_is_read_once() {
    let address = addresses().remove(0);
    let one = |number: i16| Label {
        category: Category::Scam,
        tier: Tier::Community,
        confidence: Confidence::CERTAIN,
        source: "one".parse().unwrap(),
        cites_list: None,
        upstream: number.to_string().into(),
        entity: None,
        author: None,
        term: None,
        reason: None,
        reference: None,
        valid_from: None,
        valid_until: None,
    };
    let labels: Vec<Label> = (0..100).map(one).collect();
    let claim = |label: &Label| AddressLabel { address: address.clone(), label: label.clone() };
    let index = index(&labels.iter().map(claim).collect::<Vec<_>>());
    let (first, again) = (index.labels_of(&address), index.labels_of(&address));
    assert_eq!(first, AddressLabels::from(labels));
    assert!(std::ptr::eq(first.as_ptr(), again.as_ptr()), "both share the labels");
}

#[test]
fn a_changed_layout_has_another_version() {
    // Given labels of addresses of every chain and form, and so of every kind of key and of ends
    let mark = AddressMark { text: "label index", number: 1 };
    let of_all_chains = ChainId::all().flat_map(|chain| mark.addresses(chain));
    let mut claims: Vec<AddressLabel> = Vec::new();
    for address in addresses().into_iter().chain(of_all_chains) {
        let label = Label {
            category: Category::Mixer,
            tier: Tier::Investigation,
            confidence: Confidence::from_percent(70),
            source: "one".parse().unwrap(),
            cites_list: Some("sdn".parse().unwrap()),
            upstream: "up".into(),
            entity: Some("Someone".into()),
            author: None,
            term: None,
            reason: None,
            reference: Some("https://example.com/1".into()),
            valid_from: Some(date(2020, 2, 3)),
            valid_until: None,
        };
        claims.push(AddressLabel { address, label });
    }
    // When the index is built
    let index = index(&claims);
    // Then its bytes are those that other programs of this version read: where this fails, raise the version
    let hash = xxhash_rust::xxh3::xxh3_64(index.recorded.bytes());
    assert_eq!(format!("{hash:016x}"), "6579dca5d957c141");
}
