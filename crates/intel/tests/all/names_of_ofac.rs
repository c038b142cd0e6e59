//! The lookup by name over OFAC's real list: names misspelt, transliterated and reordered by rule.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the figures are the answer")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
};

use assay_engine::{evidence::Listing, facts::Environment};
use assay_input::{Files, InputLimits};
use assay_intel::{
    FoundEntity, IntelSnapshot, LabelIndex,
    formats::{FormatInput, FormatReader, ReadContext, ofac_advanced},
    names::NameMatch,
};
use assay_store::intel::Intel;
use jiff::civil::date;

/// Number of names that are changed.
const NAMES: usize = 500;

/// OFAC's newest list of the test data; `None` without test data.
fn snapshot() -> Option<IntelSnapshot> {
    let folder = env::var_os("ASSAY_TEST_DATA")?;
    let folder = Path::new(&folder).join("sanctions/ofac-sdn-advanced");
    let path = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("2025-05-29"))?;
    let format = &ofac_advanced::FORMAT;
    let files = Files::from_path(&path, format.files, InputLimits::default()).unwrap();
    let source = "ofac-sdn".parse().unwrap();
    let published_on = date(2025, 5, 29);
    let context = ReadContext { source: &source, published_on, blockchain: None };
    let FormatReader::Listings(read) = format.reader else { return None };
    let publication = read(&mut FormatInput::new(files, &|| {}), &context).unwrap();
    let listings = publication
        .entries
        .into_iter()
        .map(|entry| Listing { source: source.clone(), entry, listed_on: None, delisted_on: None })
        .collect();
    Some(IntelSnapshot::new(
        Intel {
            environment: Environment::Production,
            generation: 1,
            data_revision: "1-x".into(),
            sources: vec![],
            listings,
            label_generation: 0,
            label_revision: [0; 32],
            suppressions: Vec::new(),
            price_sources: Vec::new(),
            price_generation: 0,
            prices: None,
        },
        &LabelIndex::default(),
    ))
}

/// Latin letters as Cyrillic ones.
fn cyrillic(name: &str) -> String {
    const LETTERS: [(char, char); 21] = [
        ('a', 'а'),
        ('b', 'б'),
        ('v', 'в'),
        ('g', 'г'),
        ('d', 'д'),
        ('e', 'е'),
        ('z', 'з'),
        ('i', 'и'),
        ('k', 'к'),
        ('l', 'л'),
        ('m', 'м'),
        ('n', 'н'),
        ('o', 'о'),
        ('p', 'п'),
        ('r', 'р'),
        ('s', 'с'),
        ('t', 'т'),
        ('u', 'у'),
        ('f', 'ф'),
        ('y', 'ы'),
        ('h', 'һ'),
    ];
    name.to_lowercase()
        .chars()
        .map(|letter| {
            LETTERS.iter().find(|(from, _)| *from == letter).map_or(letter, |(_, to)| *to)
        })
        .collect()
}

/// A name with an error in the middle of its longest word.
fn misspelt(name: &str, rule: usize) -> String {
    let longest = name
        .split(|letter: char| !letter.is_alphabetic())
        .max_by_key(|word| word.chars().count())
        .unwrap();
    let mut letters: Vec<char> = longest.chars().collect();
    let middle = letters.len() / 2;
    match rule {
        0 => letters.swap(middle - 1, middle),
        1 => {
            letters.remove(middle);
        }
        2 => letters.insert(middle, letters[middle]),
        _ => letters[middle] = if letters[middle] == 'e' { 'a' } else { 'e' },
    }
    name.replacen(longest, &letters.iter().collect::<String>(), 1)
}

fn reordered(name: &str) -> String {
    let mut words: Vec<&str> = name.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    words.reverse();
    words.join(" ")
}

#[test]
fn changed_names_of_ofacs_list_are_found() {
    let Some(snapshot) = snapshot() else {
        eprintln!("skipped: ASSAY_TEST_DATA names no folder of test data");
        return;
    };
    let mut names: BTreeMap<String, (String, String)> = BTreeMap::new();
    for listing in snapshot.listings() {
        let (list, party) = (&listing.entry.list, &listing.entry.entity);
        let aliases = party.aliases.iter().filter(|alias| !alias.weak).map(|alias| &alias.name);
        for name in std::iter::once(&party.name).chain(aliases) {
            let letters = name.chars().filter(|letter| letter.is_alphabetic()).count();
            if letters >= 6 {
                names.insert(name.clone(), (list.to_string(), party.id.clone()));
            }
        }
    }
    let today = date(2025, 6, 1);
    let found = |query: &str, owner: &(String, String)| {
        let found = snapshot.entities_named(query, today, 20);
        let is_owner = |list: &str, id: &str| (list, id) == (owner.0.as_str(), owner.1.as_str());
        let recalled = found.iter().any(|one| is_owner(one.list.as_str(), &one.entity_id));
        let first = found.first().is_some_and(|one| is_owner(one.list.as_str(), &one.entity_id));
        (recalled, first, found.len())
    };

    // Every name as it is printed is found exactly.
    for (name, owner) in &names {
        let found = snapshot.entities_named(name, today, 20);
        let own =
            found.iter().find(|one| one.entity_id == owner.1).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(own.score, 100, "{name}");
    }

    let mut totals: BTreeMap<&str, (usize, usize, usize, usize)> = BTreeMap::new();
    for (number, (name, owner)) in names.iter().cycle().take(NAMES).enumerate() {
        let (rule, query) = match number % 6 {
            rule @ 0..=3 => ("misspelt", misspelt(name, rule)),
            4 => ("transliterated", cyrillic(name)),
            _ => ("reordered", reordered(name)),
        };
        let (recalled, first, count) = found(&query, owner);
        let total = totals.entry(rule).or_default();
        total.0 += 1;
        total.1 += usize::from(recalled);
        total.2 += usize::from(first);
        total.3 += count;
    }
    println!("{} names, {} exact: 1.0", names.len(), names.len());
    let (mut all, mut recalled) = (0, 0);
    for (rule, (queries, hits, firsts, results)) in &totals {
        println!(
            "{rule}: {queries} queries, recall {hits}/{queries}, first result right {firsts}/{queries}, \
             {results} results in all"
        );
        all += queries;
        recalled += hits;
    }
    assert!(recalled * 100 >= all * 95, "{recalled} of {all} were found");
}

/// Results of queries of one kind.
#[derive(Default)]
struct WordQueries {
    all: usize,
    /// The party is among the first hundred.
    found: usize,
    /// The party is found by names that are alike as a whole.
    found_as_a_whole: usize,
    /// Parties without the word that stand before the right one.
    wrong_before: usize,
}

/// Given one word of a listed name, as it is printed or with a letter changed, then the party is found, and few others stand before
/// it.
#[test]
fn one_word_of_a_name_finds_the_party() {
    let Some(snapshot) = snapshot() else {
        eprintln!("skipped: ASSAY_TEST_DATA names no folder of test data");
        return;
    };
    let today = date(2025, 6, 1);
    // The parties that have a word in a name.
    let mut words: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for listing in snapshot.listings() {
        let party = &listing.entry.entity;
        let names = std::iter::once(&party.name).chain(party.aliases.iter().map(|it| &it.name));
        for word in names.flat_map(|name| name.split(|letter: char| !letter.is_alphanumeric())) {
            if word.chars().count() >= 5 && word.chars().all(char::is_alphabetic) {
                words.entry(word.to_lowercase()).or_default().insert(party.id.clone());
            }
        }
    }
    let mut queries = [WordQueries::default(), WordQueries::default()];
    for (number, (word, owners)) in words.iter().enumerate() {
        for (kind, query) in [word.clone(), misspelt(word, number % 4)].into_iter().enumerate() {
            // A changed word that is another listed one is no error of spelling.
            if kind == 1 && words.contains_key(&query) {
                continue;
            }
            let found = snapshot.entities_named(&query, today, 100);
            let is_owner = |one: &&FoundEntity| owners.contains(&one.entity_id);
            let queries = &mut queries[kind];
            queries.all += 1;
            queries.found += usize::from(found.iter().any(|one| is_owner(&one)));
            let whole = found.iter().filter(|one| one.kind != NameMatch::Words).find(is_owner);
            queries.found_as_a_whole += usize::from(whole.is_some());
            queries.wrong_before += found.iter().take_while(|one| !is_owner(one)).count();
        }
    }
    for (kind, queries) in ["as printed", "a letter changed"].iter().zip(&queries) {
        let WordQueries { all, found, found_as_a_whole, wrong_before } = queries;
        println!(
            "words {kind}: {all} queries, recall {found}/{all}, by whole names {found_as_a_whole}/{all}, {wrong_before} wrong \\
             parties before the right one in all"
        );
    }
    let [printed, changed] = &queries;
    assert_eq!(printed.found, printed.all);
    assert!(printed.wrong_before * 100 <= printed.all, "{}", printed.wrong_before);
    assert!(changed.found * 100 >= changed.all * 97, "{} of {}", changed.found, changed.all);
    for (word, party) in [("lazarus", "LAZARUS"), ("semenov", "SEMENOV"), ("suex", "SUEX")] {
        let found = snapshot.entities_named(word, today, 20);
        assert!(found[0].matched_name.to_uppercase().contains(party), "{word}: {found:?}");
    }
}
