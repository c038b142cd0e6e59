//! Cookies of this server: that of a session, which no request of another site carries, and that of a sign-in at the issuer,
//! which the issuer's redirection back carries.

use assay_store::sessions::ABSOLUTE_END;
use axum::http::{HeaderMap, HeaderValue, header};
use jiff::SignedDuration;

use crate::session::SessionToken;

/// A cookie of the console. Its name over TLS has a prefix that browsers accept only with `Secure`, for one host and every
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cookie {
    /// Name without TLS, on loopback.
    plain_name: &'static str,
    /// Name over TLS.
    secure_name: &'static str,
    /// Value of `SameSite`.
    same_site: &'static str,
    lifetime: SignedDuration,
}

/// Cookie of a session.
const SESSION: Cookie = Cookie {
    plain_name: "assay-console",
    secure_name: "__Host-assay-console",
    same_site: "Strict",
    lifetime: ABSOLUTE_END,
};

/// Cookie of a sign-in that is not finished.
const SIGN_IN: Cookie = Cookie {
    plain_name: "assay-console-sign-in",
    secure_name: "__Host-assay-console-sign-in",
    same_site: "Lax",
    lifetime: SignedDuration::from_mins(10),
};

impl Cookie {
    const fn name(&self, is_secure: bool) -> &'static str {
        if is_secure { self.secure_name } else { self.plain_name }
    }

    /// Returns the value of `Set-Cookie` that sets the cookie; `None` if the value cannot be written.
    fn set(&self, value: &str, is_secure: bool) -> Option<HeaderValue> {
        self.written(value, self.lifetime.as_secs(), is_secure)
    }

    /// Returns the value of `Set-Cookie` that removes the cookie.
    fn remove(&self, is_secure: bool) -> Option<HeaderValue> {
        self.written("", 0, is_secure)
    }

    fn written(&self, value: &str, seconds: i64, is_secure: bool) -> Option<HeaderValue> {
        let secure = if is_secure { "; Secure" } else { "" };
        let (name, same_site) = (self.name(is_secure), self.same_site);
        let cookie = format!(
            "{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}"
        );
        HeaderValue::from_str(&cookie).ok()
    }

    /// Reads the value; `None` without one. Of two cookies with the name, neither counts.
    fn read<'a>(&self, headers: &'a HeaderMap, is_secure: bool) -> Option<&'a str> {
        let fields = headers.get_all(header::COOKIE).iter().filter_map(|field| field.to_str().ok());
        let pairs =
            fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(known, _)| known.trim() == self.name(is_secure));
        let (_, value) = found.next()?;
        let is_only = found.next().is_none();
        is_only.then(|| value.trim())
    }
}

/// Returns the value of `Set-Cookie` that begins a session.
pub(crate) fn begin(token: &SessionToken, is_secure: bool) -> Option<HeaderValue> {
    SESSION.set(&token.expose(), is_secure)
}

/// Returns the value of `Set-Cookie` that ends a session.
pub(crate) fn end(is_secure: bool) -> Option<HeaderValue> {
    SESSION.remove(is_secure)
}

/// Reads the token of a session.
pub(crate) fn read(headers: &HeaderMap, is_secure: bool) -> Option<SessionToken> {
    SessionToken::presented(SESSION.read(headers, is_secure)?)
}

/// Returns the value of `Set-Cookie` that remembers a sign-in until the issuer leads back.
pub(crate) fn begin_sign_in(value: &str, is_secure: bool) -> Option<HeaderValue> {
    SIGN_IN.set(value, is_secure)
}

/// Returns the value of `Set-Cookie` that forgets a sign-in.
pub(crate) fn end_sign_in(is_secure: bool) -> Option<HeaderValue> {
    SIGN_IN.remove(is_secure)
}

/// Reads the sign-in that is not finished.
pub(crate) fn read_sign_in(headers: &HeaderMap, is_secure: bool) -> Option<&str> {
    SIGN_IN.read(headers, is_secure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Token;

    fn headers(cookies: &[String]) -> HeaderMap {
        let field = |cookie: &String| (header::COOKIE, HeaderValue::from_str(cookie).unwrap());
        cookies.iter().map(field).collect()
    }

    fn session() -> SessionToken {
        SessionToken::new("acme".parse().unwrap(), Token::new(0, 1))
    }

    #[test]
    fn a_cookie_is_for_this_server_and_no_script() {
        let cookie = begin(&session(), true).unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("__Host-assay-console=acme.0000"), "{cookie}");
        for attribute in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/", "Max-Age=43200"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        let plain = begin(&session(), false).unwrap();
        assert!(!plain.to_str().unwrap().contains("Secure"), "loopback has no TLS");
        assert!(end(false).unwrap().to_str().unwrap().contains("Max-Age=0"));
        // The issuer's redirection back carries the cookie of the sign-in.
        let sign_in = begin_sign_in("ab.cd", true).unwrap();
        let sign_in = sign_in.to_str().unwrap();
        assert!(sign_in.starts_with("__Host-assay-console-sign-in=ab.cd"), "{sign_in}");
        assert!(sign_in.contains("SameSite=Lax") && sign_in.contains("Max-Age=600"), "{sign_in}");
    }

    #[test]
    fn a_token_is_read_from_one_cookie_only() {
        let one = session().expose();
        let read = |cookies: &[String]| read(&headers(cookies), false).map(|token| token.expose());
        assert_eq!(read(&[format!("a=b; assay-console={one}; c=d")]).as_ref(), Some(&one));
        assert!(read(&["a=b".into()]).is_none());
        let named = format!("assay-console={one}");
        assert!(read(&[format!("{named}; {named}")]).is_none());
        assert!(read(&[named.clone(), named]).is_none());
        assert!(read(&[format!("__Host-assay-console={one}")]).is_none(), "that of TLS");
        assert!(read(&[format!("assay-console-sign-in={one}")]).is_none(), "that of a sign-in");
    }
}
