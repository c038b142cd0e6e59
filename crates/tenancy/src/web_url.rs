//! The form of http and https URLs: what a client would refuse later is refused when it is written.

use std::net::Ipv6Addr;

/// Advice about the form of a URL.
pub const WEB_URL_FORM: &str = "write it with a host, and a port that exists, as https://lists.example:8443/list.csv; an IPv6 address \
                                is in brackets";

/// True if a text is an http or https URL with a host, and a port that exists.
#[must_use]
pub fn is_web_url(text: &str) -> bool {
    let Some(rest) = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme))
    else {
        return false;
    };
    if text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return false;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    let (host, port) = match server.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() => (address, port),
            _ => return false,
        },
        None => server.split_at(server.find(':').unwrap_or(server.len())),
    };
    let is_port = |text: &str| text.parse::<u16>().is_ok();
    !host.is_empty()
        && !host.contains(['[', ']'])
        && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_a_port_that_exists() {
        for right in [
            "https://lists.example",
            "http://lists.example:8080/a?b=c#d",
            "http://[::1]:8332/wallet",
            "https://[2001:db8::7]",
            "https://user:word@lists.example/",
            "http://10.0.0.1:1/x?mail=a@b:c",
        ] {
            assert!(is_web_url(right), "{right}");
        }
        for wrong in [
            "",
            "lists.example",
            "ftp://lists.example",
            "https://",
            "https:///list.csv",
            "https://:443/",
            "https://lists.example:99999/",
            "https://lists.example:port/",
            "http://[::1",
            "http://[::1]x",
            "http://[localhost]:80",
            "http://::1:80/",
            "https://a b/",
        ] {
            assert!(!is_web_url(wrong), "{wrong}");
        }
    }
}
