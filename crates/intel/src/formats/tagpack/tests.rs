use assay_engine::{
    evidence::{Label, Tier},
    taxonomy::Category,
};

use super::*;

const ADDRESS: &str = "1NDyJtNTjmwk5xPNhjgAMu4HDHigtobu1s";
const OTHER: &str = "3CTPRyUbCKkByGmAVvDV6ReZXT1WfV3UPd";

fn read_pack(text: &str) -> Result<LabelSet, String> {
    read(text.as_bytes(), "p.yaml", &"packs".parse().unwrap()).map_err(|error| error.to_string())
}

/// Label that is read from one tag with `header` lines before it and `tag` lines after its address.
fn label(header: &str, tag: &str) -> Label {
    let tag = tag.replace('\n', "\n  ");
    let set = read_pack(&format!("{header}\ntags:\n- address: {ADDRESS}\n  {tag}\n")).unwrap();
    assert_eq!(set.rejected, []);
    set.labels.first().unwrap().label.clone()
}

fn category(header: &str, tag: &str) -> (Category, Option<String>) {
    let label = label(&format!("currency: BTC\n{header}"), tag);
    (label.category, label.term.map(|term| term.to_string()))
}

const HEADER: &str = "title: A pack
creator: Someone
description: What they are
lastmod: 2021-11-12
source: https://www.Example.org/list
label: Exchange X
actor: x
confidence: service_data
category: exchange
currency: BTC";

#[test]
fn a_tag_inherits_missing_fields() {
    let inherited = label(HEADER, "");
    assert_eq!(inherited.category, Category::Exchange);
    assert_eq!(inherited.term.as_deref(), Some("exchange"));
    assert_eq!(inherited.entity.as_deref(), Some("x"), "the actor, not the label");
    assert_eq!(inherited.author.as_deref(), Some("Someone"));
    assert_eq!(&*inherited.upstream, "example.org");
    assert_eq!(inherited.reference.as_deref(), Some("https://www.Example.org/list"));
    assert_eq!(inherited.reason.as_deref(), Some("What they are"));
    assert_eq!((inherited.tier, inherited.confidence.percent()), (Tier::Investigation, 90));
    assert_eq!((inherited.valid_from, inherited.valid_until), (None, None));

    let own = label(
        HEADER,
        "abuse: ransomware\nactor: y\nsource: a talk\ncontext: seen there\nconfidence: heuristic",
    );
    assert_eq!(own.category, Category::Ransomware);
    assert_eq!(own.entity.as_deref(), Some("y"));
    assert_eq!(&*own.upstream, "Someone", "a source without a host is no upstream");
    assert_eq!(own.reason.as_deref(), Some("seen there"));
    assert_eq!((own.tier, own.confidence.percent()), (Tier::Heuristic, 40));
}

#[test]
fn a_header_may_follow_its_tags() {
    let text = format!("tags:\n- address: {ADDRESS}\n{HEADER}\n");
    let set = read_pack(&text).unwrap();
    assert_eq!(set.labels.len(), 1);
    assert_eq!(set.labels[0].label, label(HEADER, ""));
    assert_eq!(set.rejected, []);
}

#[test]
fn the_newest_day_on_which_anything_was_written_down_is_the_sets() {
    let tag = |day| format!("- address: {ADDRESS}\n  lastmod: {day}\n");
    let late = tag("2023-08-16 12:18:52.619444");
    let text = format!("{HEADER}\ntags:\n{}{late}{}", tag("2019-01-01"), tag("soon"));
    let set = read_pack(&text).unwrap();
    assert_eq!(set.published_on, Some(jiff::civil::date(2023, 8, 16)));
    assert_eq!(set.rejected[0].position, "p.yaml, tag 3, line 16");
    assert_eq!(set.rejected[0].reason, "`lastmod` is not a date: write it as 2024-01-31");
}

#[test]
fn abuse_decides_before_concepts_and_concepts_before_category() {
    use Category::{Exchange, Mixer, Scam, Uncategorized};
    let term = |word: &str| Some(word.to_owned());
    for (tag, expected) in [
        ("category: exchange\nconcepts: [mixing]\nabuse: scam", (Scam, term("scam"))),
        ("category: exchange\nconcepts: [gambling, mixing]", (Mixer, term("mixing"))),
        ("category: exchange\nconcepts: mixing", (Mixer, term("mixing"))),
        ("category: exchange\nconcepts: [hot_wallet]", (Exchange, term("exchange"))),
        ("concepts: [hot_wallet]", (Uncategorized, term("hot_wallet"))),
        ("label: nothing is said", (Uncategorized, None)),
        // A harmless term does not hide an unknown one.
        ("category: exchange\nabuse: odd", (Uncategorized, term("odd"))),
        ("category: mixing_service\nabuse: odd", (Mixer, term("mixing_service"))),
        ("category: Odd Thing", (Uncategorized, term("Odd Thing"))),
    ] {
        assert_eq!(category("", tag), expected, "{tag}");
    }
}

#[test]
fn unknown_terms_are_kept_and_counted() {
    let tag = |word| format!("- address: {word}\n  abuse: odd\n  confidence: sure\n");
    let set = read_pack(&format!("{HEADER}\ntags:\n{}{}", tag(ADDRESS), tag(OTHER))).unwrap();
    let label = &set.labels[0].label;
    assert_eq!((label.category, label.term.as_deref()), (Category::Uncategorized, Some("odd")));
    assert_eq!((label.tier, label.confidence.percent()), (Tier::Community, 30));
    let counted: Vec<_> = set.unknown_terms.iter().map(|(word, n)| (word.as_str(), *n)).collect();
    assert_eq!(counted, [("confidence: sure", 2), ("odd", 2)]);
}

#[test]
fn only_sanctions_cite_a_list() {
    let ofac = "source: https://home.treasury.gov/recent-actions/20220506";
    let cites = |tag: &str| {
        let label = label("currency: BTC", tag);
        (label.category, label.cites_list.map(|list| list.to_string()))
    };
    let list = Some("ofac-sdn".to_owned());
    assert_eq!(cites(&format!("abuse: sanction\n{ofac}")), (Category::Sanctions, list.clone()));
    assert_eq!(cites(&format!("category: mixing_service\n{ofac}")), (Category::Mixer, None));
    let fbi = "abuse: sanction\nsource: https://www.fbi.gov/x";
    assert_eq!(cites(fbi), (Category::Sanctions, None));
    // The pack of OFAC's list calls everyone on it a user; its label says more.
    let copied = "category: user\nlabel: Asset listed under US Treasury OFAC Sanctions List";
    assert_eq!(cites(copied), (Category::Sanctions, list));
    assert_eq!(cites(&format!("category: user\n{ofac}")), (Category::Uncategorized, None));
}

#[test]
fn invalid_addresses_are_rejected_and_other_chains_counted() {
    let text = format!(
        "label: l\ntags:\n- address: {ADDRESS}\n- currency: BTC\n- address: nonsense\n  currency: \
         BTC\n- address: addr1\n  currency: KDA\n- address: {ADDRESS}\n  currency: BTC\n- address: \
         ' {ADDRESS} '\n  currency: XBT\n"
    );
    let set = read_pack(&text).unwrap();
    let rejected: Vec<_> = set.rejected.iter().map(|r| (&*r.position, &*r.reason)).collect();
    assert_eq!(rejected[0].0, "p.yaml, tag 1, line 3");
    assert_eq!(rejected[0].1, "neither `currency` nor `network` names the chain");
    assert_eq!(rejected[1], ("p.yaml, tag 2, line 4", "the tag has no `address`"));
    assert!(rejected[2].1.starts_with("no address of btc: "), "{}", rejected[2].1);
    assert_eq!(set.unsupported, [("KDA".to_owned(), 1)].into());
    assert_eq!(set.labels.len(), 1, "the same label twice is one");
    assert_eq!(&*set.labels[0].label.upstream, "packs", "nobody else is named");
}

#[test]
fn a_text_that_is_too_long_is_rejected() {
    let text = format!("{HEADER}\ntags:\n- address: {ADDRESS}\n  actor: {}\n", "x".repeat(301));
    let set = read_pack(&text).unwrap();
    assert_eq!(set.labels, []);
    assert_eq!(set.rejected[0].reason, "`entity` has 301 characters: at most 300 are allowed");
}

#[test]
fn repeated_texts_are_held_once() {
    let text = format!("{HEADER}\ntags:\n- address: {ADDRESS}\n- address: {OTHER}\n");
    let set = read_pack(&text).unwrap();
    let [one, other] = [&set.labels[0].label, &set.labels[1].label];
    assert!(std::sync::Arc::ptr_eq(&one.upstream, &other.upstream));
    assert!(std::sync::Arc::ptr_eq(one.reason.as_ref().unwrap(), other.reason.as_ref().unwrap()));
}

#[test]
fn a_broken_pack_is_refused_with_the_line() {
    for (text, expected) in [
        ("", "line 1 cannot be read as a TagPack: "),
        ("title: x", "line 1 cannot be read as a TagPack: it has no list of `tags`"),
        ("- a", "line 1 cannot be read as a TagPack: "),
        ("title: x\ntags: 5", "line 2 cannot be read as a TagPack: "),
        ("title: x\ntags:\n- just text", "line 3 cannot be read as a TagPack: "),
        ("title: x\ntags:\n- address: [a]", "line 3 cannot be read as a TagPack: "),
        ("title: x\ntitle: y\ntags: []", "line 2 cannot be read as a TagPack: duplicate"),
        ("title: 'x\ntags: []", "cannot be read as a TagPack: "),
        ("tags: []\n---\ntags: []", "cannot be read as a TagPack: "),
        ("tags: [{{{{{{{{{{{{{{{{{{{{", "cannot be read as a TagPack: "),
    ] {
        let error = read_pack(text).unwrap_err();
        assert!(error.starts_with("line ") && error.contains(expected), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let list_as_label = format!("label: [a]\ntags:\n- address: {ADDRESS}");
    assert!(read_pack(&list_as_label).unwrap_err().starts_with("line 1 cannot"));
}

#[test]
fn other_encodings_and_endless_lines_are_refused() {
    assert!(read_pack("\u{feff}tags: []").is_ok(), "a byte order mark is allowed");
    let long = format!("tags: []\nlabel: {}", "x".repeat(LONGEST_LINE));
    assert!(read_pack(&long).unwrap_err().starts_with("line 2 is longer than"));
}

#[test]
fn an_alias_repeats_a_text_but_is_no_bomb() {
    let repeated =
        format!("label: &name X\nactor: *name\ncurrency: BTC\ntags:\n- address: {ADDRESS}");
    assert_eq!(read_pack(&repeated).unwrap().labels[0].label.entity.as_deref(), Some("X"));

    let levels = (1..12).map(|level| {
        let before = format!("*a{}", level - 1);
        format!("a{level}: &a{level} [{}]", [before.as_str(); 10].join(", "))
    });
    let levels = levels.collect::<Vec<_>>().join("\n");
    let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{levels}\ntags: []\n");
    let error = read_pack(&bomb).unwrap_err();
    assert!(error.contains("cannot be read as a TagPack: ") && error.contains("alias"), "{error}");
}
