//! Which sanctions list a claim rests on, as far as it says so.

use assay_engine::names::ListId;

use super::web;

/// How a list is named: by the host it is published on, or in words.
struct Cited {
    list: &'static str,
    hosts: &'static [&'static str],
    words: &'static [&'static str],
}

static LISTS: [Cited; 5] = [
    Cited { list: "ofac-sdn", hosts: &["treasury.gov", "treas.gov"], words: &["ofac"] },
    Cited { list: "uk", hosts: &["gov.uk"], words: &["ofsi", "uk sanctions"] },
    Cited { list: "eu", hosts: &["europa.eu"], words: &["eu fsf", "eu sanctions"] },
    Cited {
        list: "un",
        hosts: &["un.org"],
        words: &["unsc", "un sanctions", "un security council"],
    },
    Cited { list: "il-nbctf", hosts: &["nbctf.mod.gov.il"], words: &["nbctf"] },
];

/// The list that a claim's reference or words name. An authority's press release is no list, whoever
/// wrote it, unless it comes from where the list is published.
pub(super) fn list(reference: Option<&str>, words: Option<&str>) -> Option<ListId> {
    let host = reference.and_then(web::host);
    let published_on = |cited: &&Cited| {
        host.as_deref().is_some_and(|host| {
            cited.hosts.iter().any(|known| {
                host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        })
    };
    LISTS
        .iter()
        .find(published_on)
        .and_then(|cited| cited.list.parse().ok())
        .or_else(|| [words, reference].into_iter().flatten().find_map(named))
}

/// The list that `text` names in words.
pub(super) fn named(text: &str) -> Option<ListId> {
    let lower = text.to_ascii_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let spaced = format!(" {} ", words.join(" "));
    let names =
        |cited: &&Cited| cited.words.iter().any(|phrase| spaced.contains(&format!(" {phrase} ")));
    LISTS.iter().find(names)?.list.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cited_by_its_host_or_by_name() {
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
            let found = list(Some(reference), Some(words)).unwrap();
            assert_eq!(found.as_str(), cited, "{reference} {words}");
        }
    }

    #[test]
    fn a_press_release_or_a_likeness_is_no_list() {
        for (reference, words) in [
            ("https://www.fbi.gov/news/press-releases/x", "Lazarus group"),
            ("https://nottreasury.gov.example.org/x", "profaction"),
            ("https://mytreasury.gov/x", ""),
        ] {
            assert_eq!(list(Some(reference), Some(words)), None, "{reference} {words}");
        }
    }
}
