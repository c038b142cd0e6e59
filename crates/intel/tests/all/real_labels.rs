//! The public label sets as published, counted: the labels must equal those of a second program
//! with its own checks of addresses.

#![expect(clippy::expect_used, reason = "a test stops where its data cannot be read")]

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
};

use assay_engine::evidence::AddressLabel;
use assay_intel::{
    formats::{
        explorer::{self, Explorer},
        tagpack,
    },
    labels::LabelSet,
};

type Counts = BTreeMap<String, usize>;

/// The folder of label sets in the test data.
fn labels() -> PathBuf {
    let data =
        env::var_os("ASSAY_TEST_DATA").expect("ASSAY_TEST_DATA names the folder of test data");
    PathBuf::from(data).join("labels")
}

/// The files of a folder with an ending, by name.
fn files(folder: &Path, ending: &str) -> Vec<(String, BufReader<File>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, BufReader::new(File::open(&path).expect("the file can be read")))
        })
        .collect();
    files.sort_by(|one, other| one.0.cmp(&other.0));
    files
}

fn count(set: &LabelSet, of: impl Fn(&AddressLabel) -> String) -> Counts {
    let mut counts = Counts::new();
    for entry in &set.labels {
        *counts.entry(of(entry)).or_default() += 1;
    }
    counts
}

fn expected(counts: &[(&str, usize)]) -> Counts {
    counts.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()
}

fn category(entry: &AddressLabel) -> String {
    entry.label.category.to_string()
}

fn chain(entry: &AddressLabel) -> String {
    entry.address.chain().to_string()
}

fn strength(entry: &AddressLabel) -> String {
    format!("{} {}", entry.label.tier.as_str(), entry.label.confidence.percent())
}

fn cited(entry: &AddressLabel) -> String {
    entry.label.cites_list.as_ref().map_or_else(String::new, ToString::to_string)
}

#[test]
#[ignore = "needs test data"]
fn all_tag_packs_of_graphsense() {
    let labels = labels();
    let source = "graphsense".parse().expect("a name");
    let files = files(&labels.join("graphsense-tagpacks"), "yaml");
    assert_eq!(files.len(), 62);

    let set: LabelSet = files
        .into_iter()
        .map(|(name, file)| tagpack::read(file, &name, &source).expect("a TagPack"))
        .collect();

    // Of 235,269 tags 28 are rejected, 61 are of chains that are not read, 58 are there twice.
    let unsupported: u64 = set.unsupported.values().sum();
    assert_eq!(
        (set.labels.len(), set.rejected.len(), set.unsupported.len(), unsupported),
        (235_122, 28, 44, 61),
        "{:?} {:?}",
        set.unsupported,
        set.rejected
    );
    assert_eq!(set.unknown_terms, BTreeMap::new());
    assert_eq!(set.published_on, Some(jiff::civil::date(2024, 2, 26)));
    let categories = [
        ("coinjoin", 36_550),
        ("darknet_market", 133),
        ("defi", 1_165),
        ("dex", 242),
        ("exchange", 51_621),
        ("extortion_sextortion", 71_121),
        ("gambling", 208),
        ("hosted_wallet", 261),
        ("illicit_actor_org", 519),
        ("issuer_frozen", 774),
        ("miner", 37_895),
        ("mixer", 258),
        ("phishing_drainer", 5_886),
        ("ransomware", 14_635),
        ("sanctions", 595),
        ("scam", 2_825),
        ("stolen_funds", 1_209),
        ("terrorism_financing", 155),
        ("uncategorized", 8_936),
        ("unnamed_service", 134),
    ];
    assert_eq!(count(&set, category), expected(&categories));
    let chains = [
        ("ada", 3),
        ("algo", 4),
        ("apt", 1),
        ("avalanche", 4),
        ("bch", 17),
        ("bep2", 25),
        ("bsc", 18),
        ("bsv", 3),
        ("btc", 213_113),
        ("btg", 1),
        ("cosmos", 3),
        ("dash", 5),
        ("doge", 5),
        ("dot", 5),
        ("eos", 10),
        ("etc", 2),
        ("eth", 21_737),
        ("fantom", 1),
        ("fil", 3),
        ("icp", 1),
        ("ksm", 3),
        ("ltc", 56),
        ("near", 1),
        ("neo", 2),
        ("polygon", 4),
        ("sol", 7),
        ("terra", 2),
        ("trx", 33),
        ("xlm", 2),
        ("xmr", 33),
        ("xrp", 5),
        ("xtz", 3),
        ("xvg", 2),
        ("zec", 8),
    ];
    assert_eq!(count(&set, chain), expected(&chains));
    let strengths = [
        ("community 30", 3_918),
        ("community 60", 11),
        ("community 65", 17_077),
        ("on_chain_proof 100", 774),
        ("investigation 85", 161_798),
        ("investigation 90", 51_146),
        ("investigation 95", 398),
    ];
    assert_eq!(count(&set, strength), expected(&strengths));
    // The addresses that the FBI published are sanctioned by that pack's word, but on no list.
    assert_eq!(count(&set, cited), expected(&[("", 234_533), ("ofac-sdn", 589)]));
}

#[test]
#[ignore = "needs test data"]
fn all_labels_of_block_explorers() {
    let labels = labels();
    let source = "explorers".parse().expect("a name");
    let files = files(&labels.join("etherscan"), "json");
    assert_eq!(files.len(), 5);

    let set: LabelSet = files
        .into_iter()
        .map(|(name, file)| {
            let of = Explorer::of_file(&name).expect("a known explorer");
            explorer::read(file, &name, &source, &of).expect("labels")
        })
        .collect();

    assert_eq!(set.labels.len(), 42_655);
    // Keys such as `genesis` and `No matching records found`.
    assert_eq!(set.rejected.len(), 8);
    assert_eq!(set.unknown_terms.len(), 368);
    assert_eq!(set.unknown_terms.values().sum::<u64>(), 12_793);
    assert_eq!(set.published_on, None);
    let categories = [
        ("blacklist_doubt", 3),
        ("bridge", 949),
        ("defi", 4_236),
        ("dex", 10_112),
        ("donation", 309),
        ("enforcement_action", 2),
        ("exchange", 726),
        ("gambling", 253),
        ("high_risk_exchange", 3),
        ("issuer_frozen", 463),
        ("mining_pool", 233),
        ("mixer", 122),
        ("nft", 547),
        ("phishing_drainer", 96),
        ("sanctions", 72),
        ("scam", 18),
        ("staking", 1_518),
        ("stolen_funds", 118),
        ("token_contract", 8_722),
        ("uncategorized", 14_153),
    ];
    assert_eq!(count(&set, category), expected(&categories));
    let chains =
        [("arbitrum", 814), ("bsc", 6_705), ("eth", 29_858), ("optimism", 543), ("polygon", 4_735)];
    assert_eq!(count(&set, chain), expected(&chains));
    let strengths = [("investigation 85", 232), ("investigation 90", 42_423)];
    assert_eq!(count(&set, strength), expected(&strengths));
    assert_eq!(count(&set, cited), expected(&[("", 42_583), ("ofac-sdn", 72)]));
}
