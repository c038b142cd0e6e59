//! The publisher of a label, found in the URL of its reference.

/// Hosts with pages of many publishers. The first segment of the path names the publisher.
const SHARED_HOSTS: [&str; 5] =
    ["github.com", "raw.githubusercontent.com", "gist.github.com", "gitlab.com", "twitter.com"];

/// The publisher of an `http` or `https` URL: the host, lowercase, without `www.`; on a shared host with
/// the owner of the page.
pub(crate) fn publisher(url: &str) -> Option<String> {
    let host = host(url)?;
    if !SHARED_HOSTS.contains(&host.as_str()) {
        return Some(host);
    }
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let owner = path.and_then(|(_, path)| path.split(['/', '?', '#']).next()).unwrap_or_default();
    if owner.is_empty() {
        Some(host)
    } else {
        Some(format!("{host}/{}", owner.to_ascii_lowercase()))
    }
}

/// The host of an `http` or `https` URL, lowercase, without `www.`.
pub(crate) fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let with_port = authority.rsplit('@').next()?;
    let host = with_port.split(':').next()?.trim_end_matches('.').to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_names_the_publisher() {
        for (url, expected) in [
            ("https://www.Interpol.int", Some("interpol.int")),
            ("http://user:pass@Example.org:8080/x?y#z", Some("example.org")),
            ("https://etherscan.io/labelcloud", Some("etherscan.io")),
            ("https://", None),
            ("ftp://example.org", None),
            ("a talk at a conference", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
            assert_eq!(publisher(url).as_deref(), expected, "{url}");
        }
        let page = "https://github.com/3xp0rt/LockBit-Tattoo";
        assert_eq!(publisher(page).as_deref(), Some("github.com/3xp0rt"), "not its neighbours");
    }
}
