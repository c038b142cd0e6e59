//! The sanctions list that a label cites, found by the host of its reference or by a name in its text.

use assay_engine::{evidence::list_published_on, names::ListId};

use super::web;

/// Phrases by which labels cite a list.
struct Citation {
    list: &'static str,
    phrases: &'static [&'static str],
}

static CITATIONS: [Citation; 5] = [
    Citation { list: "ofac-sdn", phrases: &["ofac"] },
    Citation { list: "uk", phrases: &["ofsi", "uk sanctions"] },
    Citation { list: "eu", phrases: &["eu fsf", "eu sanctions"] },
    Citation { list: "un", phrases: &["unsc", "un sanctions", "un security council"] },
    Citation { list: "il-nbctf", phrases: &["nbctf"] },
];

/// The list that a label cites by its reference or its text. A press release of another authority cites no
/// list.
pub(crate) fn find(reference: Option<&str>, text: Option<&str>) -> Option<ListId> {
    let host = reference.and_then(web::host);
    host.as_deref()
        .and_then(list_published_on)
        .and_then(|list| list.parse().ok())
        .or_else(|| [text, reference].into_iter().flatten().find_map(named))
}

/// The list that a text names.
pub(crate) fn named(text: &str) -> Option<ListId> {
    let lower = text.to_ascii_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let spaced = format!(" {} ", words.join(" "));
    let names = |citation: &&Citation| {
        citation.phrases.iter().any(|phrase| spaced.contains(&format!(" {phrase} ")))
    };
    CITATIONS.iter().find(names)?.list.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cited_by_its_publisher_or_by_name() {
        for (reference, words, cited) in [
            ("https://home.treasury.gov/x", "", "ofac-sdn"),
            ("https://ofac.treasury.gov/x", "", "ofac-sdn"),
            ("https://example.org/x", "Listed under US Treasury OFAC List", "ofac-sdn"),
            ("https://github.com/someone/ofac-addresses", "", "ofac-sdn"),
            ("https://www.gov.uk/x", "", "uk"),
            ("https://eur-lex.europa.eu/x", "", "eu"),
            ("", "UN Security Council", "un"),
            ("https://nbctf.mod.gov.il/x", "", "il-nbctf"),
        ] {
            let found = find(Some(reference), Some(words)).unwrap();
            assert_eq!(found.as_str(), cited, "{reference} {words}");
        }
    }

    #[test]
    fn press_releases_and_similar_hosts_cite_no_list() {
        for (reference, words) in [
            ("https://www.fbi.gov/news/press-releases/x", "Lazarus group"),
            ("https://nottreasury.gov.example.org/x", "profaction"),
            ("https://mytreasury.gov/x", ""),
        ] {
            assert_eq!(find(Some(reference), Some(words)), None, "{reference} {words}");
        }
    }
}
