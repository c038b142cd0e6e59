//! Tests of addresses that nobody controls (`docs/model/evidence.md` E10).

use assay_address::CanonicalAddress;
use assay_engine::{
    assess,
    assessment::{Assessment, LabelStatus},
    evidence::{ListingStatus, Tier},
    facts::{AccountControl, Facts},
    policy::Policy,
    taxonomy::Category,
};

use super::common::*;

/// Addresses that nobody controls, on four chains, each with its description.
const UNOWNED: [(&str, &str, &str); 5] = [
    ("eth", "0x0000000000000000000000000000000000000000", "a null address"),
    ("bsc", "0x0000000000000000000000000000000000000001", "a precompiled contract"),
    ("eth", "0x000000000000000000000000000000000000dEaD", "a burn address"),
    ("trx", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "a null address"),
    ("btc", "1BitcoinEaterAddressDontSendf59kuE", "a burn address"),
];

fn assess_address(chain: &str, text: &str, facts: &Facts) -> Assessment {
    let subject = CanonicalAddress::parse(chain.parse().unwrap(), text).unwrap();
    assess(&subject, facts, &Policy::default(), now())
}

#[test]
fn labels_and_listings_of_nobody_are_shown_and_decide_nothing() {
    // Given frozen accounts by two public label sets, a blocking listing and a stronger key.
    let labels = vec![
        label(Category::IssuerFrozen, Tier::OnChainProof, 100, "ikna.io"),
        label(Category::IssuerFrozen, Tier::Investigation, 90, "etherscan.io"),
        label(Category::Defi, Tier::Investigation, 85, "arxiv.org"),
    ];
    let others = vec![same_key(AccountControl::Key, vec![listing("ofac-sdn")], labels.clone())];
    let facts = Facts {
        labels: labels.into(),
        listings: vec![listing("ofac-sdn")],
        same_key: others,
        chain: flows(vec![listed_part(1_000)], vec![]),
        ..nothing_known()
    };
    for (chain, text, kind) in UNOWNED {
        // When
        let answer = assess_address(chain, text, &facts);
        // Then
        assert_eq!((tenths(&answer), verdict(&answer)), (0, "allow"), "{text}: {answer:#?}");
        assert!(answer.labels.iter().all(|label| label.status == LabelStatus::Unowned));
        assert_eq!((answer.labels.len(), answer.sanctions.len()), (3, 1), "all are shown");
        assert_eq!(answer.sanctions[0].status, ListingStatus::Active);
        assert!(!answer.exposure.is_empty(), "flows are shown");
        let warning = answer.warnings.iter().find(|it| it.code == "unowned_address").unwrap();
        assert!(warning.message.contains(kind), "{}", warning.message);
        assert!(answer.entity.is_none() && answer.associated_wallets.is_empty());
    }
    // The same facts about somebody block.
    let somebody = assess_address("eth", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", &facts);
    assert_eq!(verdict(&somebody), "block");
}
