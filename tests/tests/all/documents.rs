//! Links of the documents have existing targets, and cited numbers of the specification exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

mod commands;
mod fields;

const MODEL: &str = "docs/model/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Texts of the repository's files with one of these extensions, by their paths below its root.
fn texts(extensions: &[&str]) -> BTreeMap<PathBuf, String> {
    let root = root();
    let mut folders = vec![root.clone()];
    let mut texts = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_dir() {
                // Hidden folders and build outputs are no part of the repository.
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
            } else if extensions.iter().any(|extension| name.ends_with(extension)) {
                let text = fs::read_to_string(&path).unwrap();
                texts.insert(path.strip_prefix(&root).unwrap().to_owned(), text);
            }
        }
    }
    texts
}

/// Lines of a document outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchor of a heading, as code hosts form it: letters, digits, hyphens and underscores.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in prose(text) {
        if line.starts_with('#') {
            let plain = anchor(line.trim_start_matches('#'));
            let numbered = (1..).map(|number| format!("{plain}-{number}"));
            let mut names = std::iter::once(plain.clone()).chain(numbered);
            found.insert(names.find(|name| !found.contains(name)).unwrap());
        }
        if let Some((_, rest)) = line.split_once("<a id=\"") {
            found.insert(rest.split('"').next().unwrap().to_owned());
        }
    }
    found
}

/// Targets of the links of a document, without links to other sites.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // What stands between backticks is no link.
        let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = outside.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(targets.map(|(target, _)| target.to_owned()));
    }
    found.retain(|target| !target.contains("://") && !target.starts_with("mailto:"));
    found
}

#[test]
fn links_between_documents_lead_somewhere() {
    let documents = texts(&[".md"]);
    let root = root();
    let mut dead = Vec::new();
    let mut followed = 0;
    for (document, text) in &documents {
        for link in links(text) {
            let (file, fragment) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let folder = root.join(document.parent().unwrap());
            let target = if file.is_empty() { root.join(document) } else { folder.join(file) };
            let Ok(target) = target.canonicalize() else {
                dead.push(format!("{}: {link}", document.display()));
                continue;
            };
            let known = documents.get(target.strip_prefix(&root).unwrap_or(&target));
            let is_there = |text: &String| anchors(text).contains(fragment);
            if !fragment.is_empty() && !known.is_some_and(is_there) {
                dead.push(format!("{}: {link}", document.display()));
            }
            followed += 1;
        }
    }
    assert!(followed > 100, "only {followed} links were found");
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// Numbers such as `T6` and `T6.2` in a text.
fn numbers(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches('.'));
    let is_number = |word: &&str| {
        let Some(digits) = word.strip_prefix(['E', 'T', 'S', 'R']) else { return false };
        let mut parts = digits.split('.');
        let is_whole = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        parts.clone().count() <= 2 && parts.all(is_whole)
    };
    words.filter(is_number).map(str::to_owned).collect()
}

/// The numbers that a page of the specification defines, in its order: of sections and of paragraphs.
fn defined(text: &str) -> Vec<String> {
    let first_word = |rest: &str| rest.split(' ').next().unwrap_or_default().to_owned();
    let number = |line: &str| {
        let section = line.strip_prefix("## ").map(first_word);
        let paragraph = line.strip_prefix("**").and_then(|rest| Some(rest.split_once("**")?.0));
        section.or_else(|| paragraph.map(str::to_owned))
    };
    prose(text).filter_map(number).filter(|word| numbers(word).contains(word)).collect()
}

#[test]
fn paragraphs_of_the_specification_are_numbered_in_order() {
    let pages = texts(&[".md"]);
    for (page, text) in pages.iter().filter(|(page, _)| page.starts_with(MODEL)) {
        let (mut section, mut paragraph) = (0, 0);
        for number in defined(text) {
            let letter = &number[..1];
            if number.contains('.') {
                paragraph += 1;
            } else {
                (section, paragraph) = (section + 1, 0);
            }
            let expected = match paragraph {
                0 => format!("{letter}{section}"),
                _ => format!("{letter}{section}.{paragraph}"),
            };
            assert_eq!(number, expected, "{}", page.display());
        }
    }
}

#[test]
fn cited_numbers_of_the_specification_exist() {
    let all = texts(&[".md", ".rs", ".yaml", ".json"]);
    let pages = || all.iter().filter(|(page, _)| page.starts_with(MODEL));
    let defined: BTreeSet<String> = pages().flat_map(|(_, text)| defined(text)).collect();
    assert!(defined.contains("T6.2") && defined.contains("S4"), "{defined:?}");
    let mut missing = Vec::new();
    for (file, text) in &all {
        // Elsewhere, a number stands on the line that names the page.
        let is_page = file.starts_with(MODEL) || file.starts_with("docs/decisions.md");
        for line in text.lines().filter(|line| is_page || line.contains(MODEL)) {
            let unknown = numbers(line).into_iter().filter(|number| !defined.contains(number));
            missing.extend(unknown.map(|number| format!("{}: {number}", file.display())));
        }
    }
    assert!(missing.is_empty(), "numbers that no page defines:\n{}", missing.join("\n"));
}
