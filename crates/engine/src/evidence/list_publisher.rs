//! The hosts on which publishers of sanctions lists announce listings.

/// A publisher: its list, and its hosts.
struct Publisher {
    list: &'static str,
    hosts: &'static [&'static str],
}

static PUBLISHERS: [Publisher; 5] = [
    Publisher { list: "ofac-sdn", hosts: &["treasury.gov", "treas.gov"] },
    Publisher { list: "uk", hosts: &["gov.uk"] },
    Publisher { list: "eu", hosts: &["europa.eu"] },
    Publisher { list: "un", hosts: &["un.org"] },
    Publisher { list: "il-nbctf", hosts: &["nbctf.mod.gov.il"] },
];

/// The list whose publisher has a host or a host above it; `None` for all other hosts.
#[must_use]
pub fn list_published_on(host: &str) -> Option<&'static str> {
    let is_part = |known: &str| {
        host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let publisher = PUBLISHERS.iter().find(|it| it.hosts.iter().any(|known| is_part(known)));
    publisher.map(|publisher| publisher.list)
}
