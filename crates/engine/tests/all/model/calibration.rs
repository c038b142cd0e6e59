//! Tests of scores in clear situations against the expectations of practitioners.

use super::common::*;
use assay_engine::{
    assessment::{ActivityStatus, Assessment, ConflictResolution, LabelStatus, Relation},
    evidence::{
        CarriedLabel, CarriedPart, ChainState, FlowDistance, FlowEnd, FlowPart, Label,
        LabelDistance, Listing, Pattern, PatternFact, PatternRole, Solicitation, Tier, Unavailable,
    },
    facts::{
        AccountControl, Cluster, ClusterMember, Counterparties, Counterparty, DifferingBranches,
        Environment, Facts,
    },
    policy::{Policy, PolicySpec},
    score::Confidence,
    taxonomy::Category,
    utxo::coinjoin::CoinjoinKind,
};
use jiff::civil::date;

fn codes(assessment: &Assessment) -> Vec<&'static str> {
    assessment.reasons.iter().map(|reason| reason.code).collect()
}

#[test]
fn an_unknown_address_is_allowed_and_names_the_sources_checked() {
    let answer = assess_facts(&nothing_known());
    assert_eq!((tenths(&answer), level(&answer), verdict(&answer)), (0, "low", "allow"));
    assert!(answer.complete);
    assert_eq!(codes(&answer), ["no_findings"]);
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["scope"], "lists_and_labels");
    assert_eq!(json["coverage"]["sanctions"]["status"], "assessed");
    assert_eq!(json["coverage"]["exposure"]["status"], "not_assessed");
    assert_eq!(json["activity"]["status"], "not_assessed");
}

#[test]
fn a_listed_address_scores_one_hundred_with_any_other_evidence() {
    let benign = label(Category::Exchange, Tier::OnChainProof, 100, "explorer");
    let facts = Facts {
        listings: vec![listing("ofac-sdn")],
        labels: vec![benign].into(),
        chain: flows(vec![part(Category::Exchange, 1_000_000)], vec![]),
        ..nothing_known()
    };
    let answer = assess_facts(&facts);
    assert_eq!((tenths(&answer), level(&answer), verdict(&answer)), (1000, "severe", "block"));
    assert_eq!(answer.scoring_components[0].contribution.tenths(), 1000);
    assert_eq!(answer.conflicts, [], "a listing is no matter of opinion");
    assert_eq!(answer.entity.unwrap().name, "DOE, Jane");
}

#[test]
fn an_advisory_list_leads_to_review() {
    let answer = assess_facts(&Facts { listings: vec![listing("il-nbctf")], ..nothing_known() });
    assert_eq!((tenths(&answer), verdict(&answer)), (500, "review"));
}

#[test]
fn a_delisted_address_is_shown_and_scores_nothing() {
    let mut ended = listing("ofac-sdn");
    ended.delisted_on = Some(date(2025, 3, 21));
    let facts = Facts { listings: vec![ended], ..nothing_known() };
    let answer = assess_facts(&facts);
    assert_eq!((tenths(&answer), verdict(&answer)), (0, "allow"));
    assert_eq!(codes(&answer), ["delisted"]);
    assert_eq!(serde_json::to_value(&answer).unwrap()["sanctions"][0]["ended_reason"], "delisted");

    let before = "2025-03-20T00:00:00Z".parse().unwrap();
    let as_of = assay_engine::assess(&subject(), &facts.as_of(before), &Policy::default(), before);
    assert_eq!(verdict(&as_of), "block", "as of the day before, it was in force");
}

#[test]
fn an_expired_order_leads_to_review_for_ninety_days() {
    let mut expired = listing("uk");
    expired.entry.expires_on = Some(date(2026, 9, 1));
    let answer = assess_facts(&Facts { listings: vec![expired.clone()], ..nothing_known() });
    assert_eq!((tenths(&answer), verdict(&answer)), (500, "review"));
    expired.entry.expires_on = Some(date(2026, 8, 1));
    let answer = assess_facts(&Facts { listings: vec![expired], ..nothing_known() });
    assert_eq!((tenths(&answer), verdict(&answer)), (0, "allow"));
}

#[test]
fn the_key_of_a_listed_account_is_blocked_on_every_chain() {
    for (control, tier, expected) in [
        (AccountControl::Key, Tier::OnChainProof, (900, "block")),
        (AccountControl::Unknown, Tier::OnChainProof, (900, "block")),
        (AccountControl::Contract, Tier::Heuristic, (500, "review")),
    ] {
        let benign = label(Category::Exchange, Tier::OnChainProof, 100, "explorer");
        let other = same_key(control, vec![listing("ofac-sdn")], vec![]);
        let facts = Facts { same_key: vec![other], labels: vec![benign].into(), ..nothing_known() };
        let answer = assess_facts(&facts);
        assert!((tenths(&answer), verdict(&answer)) >= expected, "{control:?}");
        assert_eq!(verdict(&answer), expected.1);
        assert_eq!(answer.scoring_components[0].tier, Some(tier));
        assert_eq!(answer.associated_wallets[0].relation, Relation::SameKey);
        assert!(answer.associated_wallets[0].listed);
        assert!(answer.sanctions.is_empty(), "a listing is of the address itself");
        assert_eq!(answer.warnings.len(), usize::from(control == AccountControl::Unknown));
    }
}

#[test]
fn a_claim_repeated_from_one_upstream_counts_once() {
    let facts = |labels: Vec<Label>| Facts { labels: labels.into(), ..nothing_known() };
    let weak = label(Category::Scam, Tier::Community, 40, "reports");
    let strong = label(Category::Scam, Tier::Community, 60, "reports");
    let other = label(Category::Scam, Tier::Community, 60, "victims");
    let once = assess_facts(&facts(vec![strong.clone()]));
    assert_eq!(tenths(&once), 480);
    let repeated = assess_facts(&facts(vec![weak, strong.clone()]));
    assert_eq!(tenths(&repeated), 480);
    assert_eq!(repeated.labels[1].status, LabelStatus::Duplicate);
    let independent = assess_facts(&facts(vec![strong, other]));
    assert_eq!(tenths(&independent), 699, "capped by its tier");
}

#[test]
fn a_label_that_cites_a_list_follows_the_list() {
    let mut cites = label(Category::Sanctions, Tier::Investigation, 100, "tagpack");
    cites.cites_list = Some("ofac-sdn".parse().unwrap());
    let facts = |list: &str| {
        let mut label = cites.clone();
        label.cites_list = Some(list.parse().unwrap());
        Facts { labels: vec![label].into(), ..nothing_known() }
    };
    let dropped = assess_facts(&facts("ofac-sdn"));
    assert_eq!((tenths(&dropped), dropped.labels[0].status), (0, LabelStatus::ContradictedByList));
    let not_at_hand = assess_facts(&facts("eu"));
    assert_eq!((tenths(&not_at_hand), verdict(&not_at_hand)), (950, "block"));
    assert!(not_at_hand.sanctions.is_empty(), "a label is never a listing");
    let listed = assess_facts(&Facts { listings: vec![listing("ofac-sdn")], ..facts("ofac-sdn") });
    assert_eq!(listed.labels[0].status, LabelStatus::Duplicate);
}

/// A smart contract of the mixer Tornado Cash: listed until March 2025, with the labels that public sets give it.
fn delisted_contract() -> Facts {
    let mut ended = listing("ofac-sdn");
    ended.delisted_on = Some(date(2025, 3, 21));
    let labelled = |category, tier, percent, upstream: &str, entity: &str| Label {
        entity: Some(entity.into()),
        ..label(category, tier, percent, upstream)
    };
    let donate = "Tornado.Cash: Donate";
    let mut cites = labelled(Category::Sanctions, Tier::Investigation, 90, "etherscan.io", donate);
    cites.cites_list = Some("ofac-sdn".parse().unwrap());
    Facts {
        listings: vec![ended],
        labels: vec![
            labelled(Category::Mixer, Tier::Investigation, 95, "home.treasury.gov", "tornado"),
            labelled(Category::Mixer, Tier::Investigation, 90, "etherscan.io", donate),
            labelled(Category::Uncategorized, Tier::Community, 65, "etherscan.io", donate),
            cites,
        ]
        .into(),
        ..nothing_known()
    }
}

#[test]
fn a_label_whose_listing_has_ended_ends_too() {
    let status_of = |answer: &Assessment, upstream: &str, category| {
        let mut labels = answer.labels.iter();
        let found = labels.find(|it| &*it.upstream == upstream && it.category == category);
        found.unwrap().status
    };
    // Given labels from the time of the listing, of which one is an explorer's own finding
    let facts = delisted_contract();
    let answer = assess_facts(&facts);
    // Then that one counts: 90 % of a mixer.
    assert_eq!((tenths(&answer), verdict(&answer)), (675, "review"), "{answer:#?}");
    let of_treasury = |answer: &Assessment| status_of(answer, "home.treasury.gov", Category::Mixer);
    assert_eq!(of_treasury(&answer), LabelStatus::ListingEnded);
    let unspecific = status_of(&answer, "etherscan.io", Category::Uncategorized);
    assert_eq!(unspecific, LabelStatus::Duplicate);

    // A sanctions label that names no list ends, too, and so does a plain label of the same text.
    let mut rumor = label(Category::Sanctions, Tier::Community, 60, "someone");
    let mut plain = label(Category::Uncategorized, Tier::Community, 60, "someone");
    (rumor.entity, plain.entity) = (Some("listed".into()), Some("Listed".into()));
    let about = |labels: Vec<Label>| Facts { labels: labels.into(), ..delisted_contract() };
    let rumored = assess_facts(&about(vec![rumor.clone(), plain]));
    assert_eq!((tenths(&rumored), verdict(&rumored)), (0, "allow"), "{rumored:#?}");
    assert!(rumored.labels.iter().all(|label| label.status == LabelStatus::ListingEnded));

    // What somebody states only since the end counts, as do labels while any listing is in force.
    let treasury = facts.labels.iter().find(|label| &*label.upstream == "home.treasury.gov");
    let later = Label { valid_from: Some(date(2025, 3, 21)), ..treasury.unwrap().clone() };
    assert_eq!(of_treasury(&assess_facts(&about(vec![later]))), LabelStatus::InForce);
    let mut renewed = delisted_contract();
    renewed.listings.push(listing("uk"));
    let renewed = assess_facts(&renewed);
    assert_eq!((of_treasury(&renewed), verdict(&renewed)), (LabelStatus::InForce, "block"));
    // A listing that never was ends nothing, and neither does the end of another publisher's listing.
    let never = Facts { listings: vec![], ..delisted_contract() };
    assert_eq!(of_treasury(&assess_facts(&never)), LabelStatus::InForce);
    let mut british = delisted_contract();
    british.listings[0] = Listing { delisted_on: Some(date(2025, 3, 21)), ..listing("uk") };
    assert_eq!(of_treasury(&assess_facts(&british)), LabelStatus::InForce);
}

#[test]
fn a_balance_frozen_on_a_contract_blocks_nobody() {
    let frozen = label(Category::IssuerFrozen, Tier::OnChainProof, 100, "ikna.io");
    let tagged = label(Category::IssuerFrozen, Tier::Investigation, 90, "etherscan.io");
    for benign in [Category::TokenContract, Category::Dex] {
        let token = label(benign, Tier::Investigation, 90, "etherscan.io");
        let labels = vec![frozen.clone(), tagged.clone(), token.clone()];
        let answer = assess_facts(&Facts { labels: labels.into(), ..nothing_known() });
        assert_eq!((tenths(&answer), verdict(&answer)), (749, "review"), "{answer:#?}");
        // A report makes no contract, and a theft is no mistake of users.
        let reported = Label { tier: Tier::Community, ..token.clone() };
        let labels = vec![frozen.clone(), tagged.clone(), reported];
        assert_eq!(
            verdict(&assess_facts(&Facts { labels: labels.into(), ..nothing_known() })),
            "block"
        );
        let stolen = label(Category::StolenFunds, Tier::OnChainProof, 100, "court");
        let labels = vec![stolen, frozen.clone(), token];
        assert_eq!(
            verdict(&assess_facts(&Facts { labels: labels.into(), ..nothing_known() })),
            "block"
        );
    }
}

#[test]
fn between_contradicting_labels_the_stronger_evidence_wins() {
    let facts = |risky, benign| Facts {
        labels: vec![
            label(Category::Scam, risky, 100, "a"),
            label(Category::Exchange, benign, 100, "b"),
        ]
        .into(),
        ..nothing_known()
    };
    let risky_wins = assess_facts(&facts(Tier::Investigation, Tier::Community));
    assert_eq!((tenths(&risky_wins), verdict(&risky_wins)), (810, "block"));
    assert_eq!(risky_wins.conflicts[0].resolution, ConflictResolution::RiskyCounts);
    let equal = assess_facts(&facts(Tier::Investigation, Tier::Investigation));
    assert_eq!((tenths(&equal), verdict(&equal)), (749, "review"));
    assert_eq!(equal.conflicts[0].resolution, ConflictResolution::RiskyCountsWithoutBlock);
    let benign_wins = assess_facts(&facts(Tier::Community, Tier::Investigation));
    assert_eq!((tenths(&benign_wins), verdict(&benign_wins)), (50, "allow"));
    assert_eq!(benign_wins.conflicts[0].resolution, ConflictResolution::RiskyOverruled);
}

#[test]
fn flows_meet_the_calibration_points() {
    let of_a_hundred = |mut parts: Vec<FlowPart>| {
        let used: u128 = parts.iter().map(|part| part.amount).sum();
        parts.push(part(Category::Exchange, 1000 - used));
        assess_flows(flows(parts, vec![]))
    };
    let scam = of_a_hundred(vec![part(Category::Scam, 70)]);
    assert!(tenths(&scam) >= 250, "7 % direct scam is at least medium: {}", scam.risk_score);
    let sanctioned = of_a_hundred(vec![listed_part(490)]);
    assert_eq!(level(&sanctioned), "severe", "49 % direct from a sanctioned party");
    let distant = FlowPart { distance: FlowDistance::Hops(3), ..listed_part(27) };
    let distant = of_a_hundred(vec![distant]);
    assert_eq!((level(&distant), verdict(&distant)), ("low", "allow"), "2.7 % at three hops");
    let whole = of_a_hundred(vec![listed_part(1000)]);
    assert_eq!(
        (tenths(&whole), verdict(&whole)),
        (1000, "block"),
        "100 % direct from a sanctioned party"
    );
}

#[test]
fn ordinary_use_stays_low() {
    let exchanges = || (0..40).map(|_| part(Category::Exchange, 25)).collect::<Vec<_>>();
    let answer = assess_flows(flows(exchanges(), exchanges()));
    assert_eq!((level(&answer), verdict(&answer)), ("low", "allow"), "40 exchanges both ways");
    let answer = assess_flows(flows(vec![unresolved(5)], vec![unresolved(7)]));
    assert_eq!((level(&answer), verdict(&answer)), ("low", "allow"), "nothing resolved either way");
}

#[test]
fn nine_clean_categories_do_not_dilute_one_bad_one() {
    let clean = [
        Category::Exchange,
        Category::HostedWallet,
        Category::PaymentProcessor,
        Category::Merchant,
        Category::Miner,
        Category::MiningPool,
        Category::Custodian,
        Category::Staking,
        Category::Nft,
    ];
    let alone = assess_flows(flows(vec![listed_part(100), part(Category::Exchange, 900)], vec![]));
    let mut parts: Vec<_> = clean.map(|category| part(category, 100)).to_vec();
    parts.push(listed_part(100));
    let among_clean = assess_flows(flows(parts, vec![]));
    assert!(tenths(&among_clean) >= 500, "{}", among_clean.risk_score);
    assert!(tenths(&among_clean) >= tenths(&alone));
}

#[test]
fn a_direct_transfer_with_a_listed_party_leads_to_review_at_any_share() {
    let dust = listed_part(1);
    let answer =
        assess_flows(flows(vec![dust.clone(), part(Category::Exchange, 1_000_000_000)], vec![]));
    assert_eq!((tenths(&answer), verdict(&answer)), (500, "review"));
    assert!(codes(&answer).contains(&"direct_listed_counterparty"));
    let unasked = |solicitation| {
        let little = FlowPart { solicitation, ..dust.clone() };
        let clean = part(Category::Exchange, 1_000_000_000);
        assess_flows(flows_in("USD", 2, vec![little, clean], vec![]))
    };
    let answer = unasked(Solicitation::Unsolicited);
    assert_eq!(verdict(&answer), "review", "of a listed party, all but dust counts");
    let answer = unasked(Solicitation::Dust);
    assert_eq!(verdict(&answer), "allow", "nobody is reviewed for dust that a stranger sent");
    let shown = &answer.exposure[1];
    assert_eq!((shown.solicited, shown.dust, shown.scored), (false, true, false));
    let warning = answer.warnings.iter().find(|warning| warning.code == "dust").unwrap();
    assert_eq!(warning.message, "0.01 USD of dust received from some sanctions: it is not scored");
}

#[test]
fn unasked_for_money_above_the_policys_amount_or_one_percent_counts() {
    let scored = |cents, clean| {
        let solicitation = Solicitation::Unsolicited;
        let unasked = FlowPart { solicitation, ..part(Category::Scam, cents) };
        let chain = flows_in("USD", 2, vec![unasked, part(Category::Exchange, clean)], vec![]);
        let answer = assess_flows(chain);
        answer.exposure.iter().find(|line| !line.solicited).unwrap().scored
    };
    let much = 1_000_000_000;
    assert!(!scored(100_000, much), "a thousand dollars");
    assert!(scored(100_001, much));
    assert!(!scored(99, 9_901), "less than a hundredth of all money");
    assert!(scored(100, 9_900));
}

#[test]
fn a_tenth_from_severe_crime_by_a_label_that_rules_hear_leads_to_review() {
    let weak = |amount, percent| FlowPart {
        tier: Tier::Heuristic,
        confidence: Confidence::from_percent(percent),
        distance: FlowDistance::Hops(5),
        ..part(Category::StolenFunds, amount)
    };
    let share = |amount, percent| {
        let clean = part(Category::Exchange, 1000 - amount);
        assess_flows(flows(vec![weak(amount, percent), clean], vec![]))
    };
    assert_eq!(verdict(&share(100, 56)), "review");
    assert_eq!(verdict(&share(99, 56)), "allow");
    let unheard = share(1000, 55);
    assert_eq!(verdict(&unheard), "allow", "the label's own address would be let pass");
    assert_eq!(tenths(&unheard), 495, "and it counts for the score all the same");
}

#[test]
fn a_large_amount_counts_at_any_share() {
    // One million dollars from a sanctioned party among a hundred thousand millions.
    let big = flows_in(
        "USD",
        2,
        vec![listed_part(100_000_000), part(Category::Exchange, 10_000_000_000_000)],
        vec![],
    );
    let answer = assess_flows(big);
    assert_eq!((tenths(&answer), verdict(&answer)), (750, "block"));
}

#[test]
fn recent_money_counts_by_its_recent_share() {
    let with_old = |old| {
        let recent = FlowPart { recent: 100, ..part(Category::Scam, 100) };
        assess_flows(flows(vec![part(Category::Exchange, old), recent], vec![]))
    };
    assert_eq!(tenths(&with_old(900)), 800, "all of the last 90 days came from a scam");
    let swept_dust = with_old(1_000_000);
    assert_eq!(level(&swept_dust), "low", "next to nothing of all money is recent");
}

#[test]
fn distance_alone_never_makes_severe_money_harmless() {
    let at = |hops, category| {
        let answer = assess_flows(flows(
            vec![FlowPart { distance: FlowDistance::Hops(hops), ..part(category, 1_000) }],
            vec![],
        ));
        (tenths(&answer), verdict(&answer))
    };
    assert_eq!(at(1, Category::StolenFunds), (900, "block"));
    for hops in [2, 7, 40, 600] {
        let (score, verdict) = at(hops, Category::StolenFunds);
        assert!(score >= 599 && verdict != "allow", "{hops} hops: {score} {verdict}");
    }
    assert_eq!(at(40, Category::StolenFunds), (599, "review"));
    assert_eq!(at(40, Category::Scam), (599, "review"));
    assert_eq!(at(40, Category::Mixer).1, "allow", "less severe money decays");
}

#[test]
fn a_service_is_judged_by_its_category() {
    let dirty = || flows(vec![listed_part(1000)], vec![]);
    let exchange = label(Category::Exchange, Tier::Investigation, 90, "explorer");
    let answer =
        assess_facts(&Facts { labels: vec![exchange].into(), chain: dirty(), ..nothing_known() });
    assert_eq!((tenths(&answer), verdict(&answer)), (45, "allow"));
    assert_eq!(answer.exposure.len(), 1, "its flows are shown");
    let rumour = label(Category::Exchange, Tier::Community, 90, "forum");
    let answer = assess_facts(&Facts {
        labels: vec![rumour.clone()].into(),
        chain: dirty(),
        ..nothing_known()
    });
    assert_eq!(verdict(&answer), "block", "one community source does not make a service");
    let second = label(Category::Exchange, Tier::Community, 90, "another forum");
    let answer = assess_facts(&Facts {
        labels: vec![rumour, second].into(),
        chain: dirty(),
        ..nothing_known()
    });
    assert_eq!(verdict(&answer), "block", "nor do two: a report costs nothing");
    let contradicted = vec![
        label(Category::Exchange, Tier::Investigation, 90, "explorer"),
        label(Category::Scam, Tier::Investigation, 50, "police"),
    ];
    let answer =
        assess_facts(&Facts { labels: contradicted.into(), chain: dirty(), ..nothing_known() });
    assert!(tenths(&answer) >= 500, "a contradicted attribution excuses nothing");
}

#[test]
fn a_cluster_with_a_listed_member_leads_to_review_and_passes_labels_on() {
    let cluster = |labels, listings| cluster_with(80, labels, listings);
    let benign = label(Category::Exchange, Tier::OnChainProof, 100, "explorer");
    let listed = cluster(vec![], vec![listing("ofac-sdn")]);
    let answer = assess_facts(&Facts {
        cluster: Some(listed),
        labels: vec![benign].into(),
        ..nothing_known()
    });
    assert_eq!((tenths(&answer), verdict(&answer)), (500, "review"));

    let ransom = label(Category::Ransomware, Tier::OnChainProof, 100, "police");
    let answer =
        assess_facts(&Facts { cluster: Some(cluster(vec![ransom], vec![])), ..nothing_known() });
    assert_eq!((tenths(&answer), verdict(&answer)), (599, "review"), "95 x 80 %, capped");
    assert_eq!(answer.scoring_components[0].tier, Some(Tier::Heuristic));

    let services = vec![
        label(Category::Exchange, Tier::Investigation, 100, "one"),
        label(Category::Mixer, Tier::Investigation, 100, "another"),
    ];
    let answer =
        assess_facts(&Facts { cluster: Some(cluster(services, vec![])), ..nothing_known() });
    assert_eq!(tenths(&answer), 0, "a cluster of different services passes nothing on");
    assert_eq!(answer.warnings[0].code, "cluster_conflict");
}

#[test]
fn an_inherited_label_is_heuristic_and_less_sure_if_one_possible_payjoin_connects() {
    let stolen = || vec![label(Category::StolenFunds, Tier::Investigation, 95, "police")];
    let by = |member| {
        let cluster = Some(cluster_of(90, vec![member]));
        assess_facts(&Facts { cluster, ..nothing_known() })
    };
    let certain = by(member(stolen(), vec![], true));
    assert_eq!((tenths(&certain), verdict(&certain)), (599, "review"), "90 x 90 %, capped");
    assert_eq!(certain.scoring_components[0].standalone_score.tenths(), 810);
    let doubtful = by(member(stolen(), vec![], false));
    assert_eq!((tenths(&doubtful), verdict(&doubtful)), (540, "review"), "90 x 60 %");
    assert_eq!(doubtful.scoring_components[0].tier, Some(Tier::Heuristic));
    assert_eq!(codes(&doubtful), ["cluster_labeled"]);
    // A second co-spend confirms it; connections that were not followed to the end do not.
    let mut repeated = member(stolen(), vec![], false);
    repeated.co_spends.as_mut().unwrap()[0].confirmed_by = Some("cd".repeat(32));
    assert_eq!(by(repeated).scoring_components[0].standalone_score.tenths(), 810);
    let not_followed = ClusterMember { co_spends: None, ..member(stolen(), vec![], true) };
    assert_eq!(tenths(&by(not_followed)), 540);
    // A listing leads to review either way.
    let listed = by(member(vec![], vec![listing("ofac-sdn")], false));
    assert_eq!((tenths(&listed), codes(&listed)), (500, vec!["cluster_listed"]));
    assert!(listed.reasons[0].message.contains("may have two parties"));
}

#[test]
fn a_cluster_with_several_labels_passes_on_the_riskiest_of_no_service() {
    let named = |category, name: &str| Label {
        entity: Some(name.into()),
        ..label(category, Tier::Investigation, 100, name)
    };
    let by = |labels, own: Vec<Label>| {
        let cluster = Some(cluster_with(90, labels, vec![]));
        assess_facts(&Facts { cluster, labels: own.into(), ..nothing_known() })
    };
    let stolen = || named(Category::StolenFunds, "Thief");
    // Stolen funds are the riskiest; the mixer is a service.
    let several = vec![stolen(), named(Category::Mixer, "Mixer"), named(Category::Scam, "Shop")];
    let answer = by(several, vec![]);
    assert_eq!((tenths(&answer), verdict(&answer)), (599, "review"));
    assert_eq!(codes(&answer), ["cluster_labeled"]);
    assert_eq!(answer.warnings[0].code, "cluster_conflict");
    assert!(
        answer.warnings[0].message.contains("Mixer (mixer), Shop (scam), Thief (stolen_funds)")
    );
    // The subject's own label counts as one of the cluster.
    let answer = by(vec![stolen()], vec![named(Category::Donation, "Charity")]);
    assert_eq!(answer.warnings[0].code, "cluster_conflict");
    assert!(verdict(&answer) != "block");
    // Several claims about one owner are no conflict.
    let agreeing = vec![stolen(), named(Category::Scam, "Thief")];
    let answer = by(agreeing, vec![]);
    assert_eq!((answer.warnings.len(), verdict(&answer)), (0, "review"));
    assert_eq!(codes(&answer), ["cluster_labeled", "cluster_labeled"]);
    let unnamed = Label { entity: None, ..stolen() };
    assert_eq!(by(vec![stolen(), unnamed], vec![]).warnings, vec![]);
}

#[test]
fn an_inherited_label_makes_no_service_and_contradicts_nothing() {
    let stolen = || label(Category::StolenFunds, Tier::Investigation, 95, "police");
    let shop = || label(Category::Merchant, Tier::OnChainProof, 100, "tags");
    let dirty = || flows(vec![part(Category::Sanctions, 100)], vec![]);
    let with = |own: Vec<Label>, inherited, chain| {
        let cluster = Some(cluster_with(90, inherited, vec![]));
        assess_facts(&Facts { labels: own.into(), cluster, chain, ..nothing_known() })
    };
    // A thief who is connected with a shop remains one: by his flows, and by his own label.
    assert_eq!(verdict(&with(vec![], vec![shop()], dirty())), "block");
    let alone = assess_facts(&Facts { labels: vec![stolen()].into(), ..nothing_known() });
    let answer = with(vec![stolen()], vec![shop()], nothing_known().chain);
    assert!(tenths(&answer) >= tenths(&alone));
    assert_eq!((verdict(&answer), answer.conflicts.len()), ("block", 0));
    // A shop by its own label remains one, and what it inherits is overruled.
    let answer = with(vec![shop()], vec![stolen()], dirty());
    assert_eq!(verdict(&answer), "allow");
    assert_eq!(answer.conflicts.len(), 1);
    // A report that costs nothing does not overrule it.
    let reported = label(Category::Merchant, Tier::Community, 100, "users");
    let answer = with(vec![reported], vec![stolen()], nothing_known().chain);
    assert_eq!((verdict(&answer), answer.conflicts.len()), ("review", 0));
}

/// Funds that returned to the subject and passed a label on their way.
fn returned(amount: u128, recent: u128, label: Option<(Category, Tier, u8)>) -> FlowPart {
    let part = FlowPart {
        recent,
        tier: Tier::OnChainProof,
        distance: FlowDistance::Hops(2),
        ..FlowPart::plain(FlowEnd::Returned, amount)
    };
    let carried = label.map(|(category, tier, percent)| CarriedPart {
        label: CarriedLabel {
            tier,
            category,
            confidence: Confidence::from_percent(percent),
            severity: category.info().severity,
            entity: None,
            coinjoin: None,
        },
        distance: LabelDistance { hops: 1, decayed: part.mass },
    });
    FlowPart { carried: carried.into_iter().collect(), ..part }
}

#[test]
fn money_that_returned_is_shown_and_in_no_share() {
    let others = |direct: u128| {
        let stolen = FlowPart { recent: direct, ..part(Category::StolenFunds, direct) };
        vec![stolen, part(Category::Exchange, 1_000)]
    };
    let with = |mut parts: Vec<FlowPart>, returned| {
        parts.push(returned);
        assess_flows(flows(parts.clone(), parts))
    };
    let plain = assess_flows(flows(others(150), others(150)));
    // However much of it there is, and however recent it is, the score and the shares stay.
    for recent in [0, 100_000] {
        let circled = with(others(150), returned(100_000, recent, None));
        assert_eq!(circled.risk_score, plain.risk_score);
        assert_eq!(circled.reasons, plain.reasons);
        let shares = |answer: &Assessment| -> Vec<String> {
            let lines = answer.exposure.iter().filter(|line| line.endpoint_type != "returned");
            lines.map(|line| line.share.clone()).collect()
        };
        assert_eq!(shares(&circled), shares(&plain));
        let line = circled.exposure.iter().find(|line| line.endpoint_type == "returned").unwrap();
        assert_eq!((&*line.share, &*line.amount.value, line.scored), ("0.000000", "100000", false));
    }
    // Where nothing else is known to have come, nothing is said of what was traced.
    let alone = assess_flows(flows(vec![returned(100, 0, None)], vec![]));
    assert_eq!((tenths(&alone), codes(&alone)), (0, vec!["no_findings"]));
}

#[test]
fn money_that_returned_counts_by_a_severe_label_that_it_passed() {
    let with = |label| {
        let parts = vec![returned(500, 0, Some(label)), part(Category::Exchange, 500)];
        assess_flows(flows(parts, vec![]))
    };
    let stolen = with((Category::StolenFunds, Tier::Community, 80));
    assert_eq!(verdict(&stolen), "review");
    assert_eq!(stolen.exposure[0].share, "0.500000");
    // A label whose own address would be let pass, a less severe one, and a joint transaction do not count.
    for label in [
        (Category::StolenFunds, Tier::Community, 50),
        (Category::StolenFunds, Tier::Behavior, 80),
        (Category::Mixer, Tier::Community, 80),
    ] {
        let answer = with(label);
        assert_eq!(answer.exposure.iter().filter(|line| line.scored).count(), 1, "{label:?}");
        assert_eq!(tenths(&answer), 50, "all of it is an exchange's: {label:?}");
    }
    let mut joint = returned(500, 0, Some((Category::StolenFunds, Tier::Heuristic, 80)));
    joint.carried[0].label.coinjoin = Some(CoinjoinKind::Wasabi1);
    let answer = assess_flows(flows(vec![joint, part(Category::Exchange, 500)], vec![]));
    assert_eq!(tenths(&answer), 50);
}

#[test]
fn associated_wallets_show_members_and_counterparties_with_their_evidence() {
    let listed = member(vec![], vec![listing("ofac-sdn")], true);
    let cluster = Cluster {
        size: 1_000_000,
        attributed: 900,
        examined: 200,
        ..cluster_of(90, vec![listed; 30])
    };
    let time = "2020-01-02T03:04:05Z".parse().unwrap();
    let counterparty = Counterparty {
        address: subject(),
        is_funder: true,
        by_asset: vec![],
        role: None,
        labels: vec![label(Category::Exchange, Tier::Investigation, 100, "explorer")].into(),
        listings: vec![],
        freezes: Vec::new(),
        received: 7,
        sent: 5,
        transactions: vec!["cd".repeat(32)],
        first_seen: time,
        last_seen: time,
    };
    let counterparties = Counterparties { strongest: vec![counterparty], found: 40 };
    let facts = Facts {
        cluster: Some(cluster),
        counterparties,
        chain: flows(vec![part(Category::Exchange, 100)], vec![]),
        ..nothing_known()
    };
    let answer = assess_facts(&facts);
    let wallets = &answer.associated_wallets;
    assert_eq!(wallets.len(), 21, "20 members are shown");
    assert_eq!((wallets[0].relation, wallets[0].listed), (Relation::SameOwner, true));
    assert_eq!(
        (&*wallets[0].transactions, wallets[0].first_seen),
        (&["ab".repeat(32)][..], Some(time))
    );
    let funder = &wallets[20];
    assert_eq!((funder.relation, &*funder.amounts[0].value), (Relation::Funder, "12"));
    assert_eq!((&*funder.received[0].value, &*funder.sent[0].value), ("7", "5"));
    let association = &answer.coverage.association;
    assert_eq!(association.status, assay_engine::assessment::CoverageStatus::Partial);
    assert_eq!(
        association.detail,
        "the same key on other chains; a co-spend cluster of 1000000 addresses (listed or labelled \
         others: 200 of 900 examined, shown: 20 of 999999); counterparties shown: 1 of 40"
    );
}

#[test]
fn behaviour_alone_never_reaches_review_and_a_victim_is_not_scored() {
    let fact = |pattern, role| PatternFact::plain(pattern, role, Confidence::CERTAIN);
    let all = Pattern::ALL.iter().map(|pattern| fact(*pattern, PatternRole::Actor)).collect();
    let answer = assess_facts(&Facts { chain: followed(vec![], all), ..nothing_known() });
    assert_eq!((tenths(&answer), verdict(&answer)), (499, "allow"));
    let victim = vec![fact(Pattern::AddressPoisoning, PatternRole::Victim)];
    let answer = assess_facts(&Facts { chain: followed(vec![], victim), ..nothing_known() });
    assert_eq!(tenths(&answer), 0);
    assert!(!answer.transaction_patterns[0].scored);
}

#[test]
fn a_block_needs_strong_evidence() {
    // Scam by community evidence and a little of everything else: high, but nothing strong enough.
    let facts = Facts {
        labels: vec![label(Category::Scam, Tier::Community, 100, "reports")].into(),
        chain: flows(vec![part(Category::Scam, 100), part(Category::Exchange, 900)], vec![]),
        ..nothing_known()
    };
    let answer = assess_facts(&facts);
    assert_eq!((tenths(&answer), verdict(&answer)), (749, "review"));
}

#[test]
fn missing_data_is_not_clean() {
    let never = assess_facts(&Facts { sources: vec![], ..nothing_known() });
    assert_eq!((tenths(&never), level(&never), verdict(&never)), (500, "unknown", "indeterminate"));
    assert!(!never.complete);
    assert_eq!(codes(&never), ["source_missing"]);

    let mut stale = nothing_known();
    stale.sources[0].fetched_at = "2026-11-18T11:59:59Z".parse().unwrap();
    let answer = assess_facts(&stale);
    assert_eq!((codes(&answer), verdict(&answer)), (vec!["source_stale"], "indeterminate"));
    assert!(answer.sources[0].stale);

    stale.listings = vec![listing("ofac-sdn")];
    let answer = assess_facts(&stale);
    assert_eq!((tenths(&answer), level(&answer), verdict(&answer)), (1000, "severe", "block"));
    assert!(!answer.complete, "a block stands, and says that more may come");
}

#[test]
fn demo_sources_satisfy_nothing_outside_the_sample() {
    let mut facts = nothing_known();
    facts.sources[0].sample = true;
    assert_eq!(verdict(&assess_facts(&facts)), "indeterminate");
    facts.environment = Environment::Sample;
    assert_eq!(verdict(&assess_facts(&facts)), "allow");
}

#[test]
fn flows_are_mandatory_by_policy_or_chain_source() {
    let demanding =
        Policy::compile(PolicySpec { flows_required: true, ..PolicySpec::default() }).unwrap();
    let answer = assess_by(&nothing_known(), &demanding);
    assert_eq!((codes(&answer), verdict(&answer)), (vec!["flows_missing"], "indeterminate"));
    for why in [
        Unavailable::Unreadable,
        Unavailable::NotYetRead,
        Unavailable::PastDay,
        Unavailable::BranchesDiffer,
    ] {
        let chain = ChainState::Unavailable(why);
        let answer = assess_facts(&Facts { chain, ..nothing_known() });
        assert_eq!((codes(&answer), verdict(&answer)), (vec!["flows_missing"], "indeterminate"));
    }

    let ChainState::Followed(mut chain) = flows(vec![part(Category::Exchange, 1)], vec![]) else {
        panic!("followed")
    };
    chain.flows.complete = false;
    let answer = assess_facts(&Facts { chain: ChainState::Followed(chain), ..nothing_known() });
    assert_eq!((codes(&answer), verdict(&answer)), (vec!["flows_incomplete"], "indeterminate"));
    assert!(!answer.complete && answer.activity.status == ActivityStatus::NotAssessed);

    let late = "2026-11-20T14:00:00Z".parse().unwrap();
    let facts =
        Facts { chain: flows(vec![part(Category::Exchange, 1)], vec![]), ..nothing_known() };
    let answer = assay_engine::assess(&subject(), &facts, &Policy::default(), late);
    assert_eq!((codes(&answer), verdict(&answer)), (vec!["flows_stale"], "indeterminate"));
}

#[test]
fn servers_on_different_branches_are_told_and_without_a_majority_nothing_is_allowed() {
    let differing = |is_decided, last_common| {
        let chain = flows(vec![part(Category::Exchange, 1)], vec![]);
        let differing = DifferingBranches { last_common, is_decided };
        assess_facts(&Facts { chain, differing_branches: Some(differing), ..nothing_known() })
    };
    // Given a majority, its branch is assessed, with a warning that names the fork.
    let answer = differing(true, Some(90));
    assert_eq!((verdict(&answer), answer.complete), ("allow", true));
    let [warning] = &answer.warnings[..] else { panic!("{:?}", answer.warnings) };
    assert_eq!(warning.code, "chain_branches_differ");
    assert_eq!(
        warning.message,
        "chain servers have different blocks above block 90: the answer rests on those of the majority"
    );
    // Given none, flows that were read nevertheless allow nothing.
    let answer = differing(false, None);
    assert_eq!((codes(&answer), verdict(&answer)), (vec!["flows_missing"], "indeterminate"));
    assert!(answer.warnings[0].message.ends_with("so that none is relied on"));
}

#[test]
fn a_demo_chain_is_fresh_only_in_the_sample() {
    // Given a made-up chain whose newest block is of nine months ago and was read a month ago.
    let ChainState::Followed(mut chain) = flows(vec![part(Category::Exchange, 1)], vec![]) else {
        panic!("followed")
    };
    chain.tip.sample = true;
    chain.tip.time = "2026-02-23T12:00:00Z".parse().unwrap();
    chain.tip.reported_at = "2026-10-20T12:00:00Z".parse().unwrap();
    let mut facts = Facts { chain: ChainState::Followed(chain), ..nothing_known() };
    let answer = assess_facts(&facts);
    assert_eq!((codes(&answer), verdict(&answer)), (vec!["flows_stale"], "indeterminate"));
    assert!(answer.sources.last().unwrap().stale);

    facts.environment = Environment::Sample;
    let answer = assess_facts(&facts);
    assert_eq!((codes(&answer), verdict(&answer)), (vec!["no_findings"], "allow"));
    assert!(!answer.sources.last().unwrap().stale);
}

#[test]
fn the_answer_has_an_expiry() {
    let policy = Policy::default();
    let holds = |facts: &Facts| {
        assay_engine::assess(&subject(), facts, &policy, now()).valid_until.unwrap()
    };
    let facts = nothing_known();
    assert_eq!(
        holds(&facts),
        "2026-11-22T06:00:00Z".parse().unwrap(),
        "48 hours after the last fetch"
    );
    let mut order = listing("il-nbctf");
    order.entry.expires_on = Some(date(2026, 11, 21));
    let facts = Facts { listings: vec![order], ..facts };
    assert_eq!(holds(&facts), "2026-11-21T00:00:00Z".parse().unwrap(), "the order expires first");
    let same =
        |at: &str| assay_engine::assess(&subject(), &facts, &policy, at.parse().unwrap()).digest();
    assert_eq!(same("2026-11-20T12:00:00Z"), same("2026-11-20T23:59:59Z"));
    assert_ne!(same("2026-11-20T12:00:00Z"), same("2026-11-21T00:00:00Z"));
}
