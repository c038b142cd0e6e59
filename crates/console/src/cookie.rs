//! The cookie of a session: sent to this server alone, not to scripts, and not with requests that other sites cause.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::session::{ABSOLUTE_END, Token};

/// Name of the cookie over TLS. Browsers accept this prefix only with `Secure`, for one host and every path.
const SECURE_NAME: &str = "__Host-assay-console";
/// Name of the cookie on loopback without TLS.
const PLAIN_NAME: &str = "assay-console";

const fn name(is_secure: bool) -> &'static str {
    if is_secure { SECURE_NAME } else { PLAIN_NAME }
}

/// Returns the value of `Set-Cookie` that begins a session; `None` never happens, since tokens are hexadecimal.
pub(crate) fn begin(token: &Token, is_secure: bool) -> Option<HeaderValue> {
    written(token.expose(), ABSOLUTE_END.as_secs(), is_secure)
}

/// Returns the value of `Set-Cookie` that ends a session.
pub(crate) fn end(is_secure: bool) -> Option<HeaderValue> {
    written("", 0, is_secure)
}

fn written(value: &str, seconds: i64, is_secure: bool) -> Option<HeaderValue> {
    let secure = if is_secure { "; Secure" } else { "" };
    let name = name(is_secure);
    let cookie =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&cookie).ok()
}

/// Reads the token of a session; `None` without one. Of two cookies with the name, neither counts.
pub(crate) fn read(headers: &HeaderMap, is_secure: bool) -> Option<Token> {
    let fields = headers.get_all(header::COOKIE).iter().filter_map(|field| field.to_str().ok());
    let pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.split_once('='));
    let mut found = pairs.filter(|(known, _)| known.trim() == name(is_secure));
    let (_, value) = found.next()?;
    let is_only = found.next().is_none();
    is_only.then(|| Token::presented(value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookies: &[&'static str]) -> HeaderMap {
        cookies.iter().map(|cookie| (header::COOKIE, HeaderValue::from_static(cookie))).collect()
    }

    #[test]
    fn a_cookie_is_for_this_server_and_no_script() {
        let cookie = begin(&Token::new(0, 1), true).unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("__Host-assay-console=0000"), "{cookie}");
        for attribute in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/", "Max-Age=43200"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        let plain = begin(&Token::new(0, 1), false).unwrap();
        assert!(!plain.to_str().unwrap().contains("Secure"), "loopback has no TLS");
        assert!(end(false).unwrap().to_str().unwrap().contains("Max-Age=0"));
    }

    #[test]
    fn a_token_is_read_from_one_cookie_only() {
        let read = |cookies: &[&'static str]| read(&headers(cookies), false);
        assert_eq!(read(&["a=b; assay-console=x1; c=d"]).unwrap().expose(), "x1");
        assert!(read(&["a=b"]).is_none());
        assert!(read(&["assay-console=x1; assay-console=x2"]).is_none());
        assert!(read(&["assay-console=x1", "assay-console=x2"]).is_none());
        assert!(read(&["__Host-assay-console=x1"]).is_none(), "that of TLS");
    }
}
