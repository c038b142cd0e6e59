//! A sign-in at the issuer that is not finished. The browser alone keeps it, in a cookie, so that any server of an installation
//! can finish it: a random token, from which everything follows that the issuer is told, and the path to go on at.

use assay_oidc::SignInRequest;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{MOUNT, session::Token};

/// Longest path to go on at, in bytes.
const LONGEST_PATH: usize = 1_000;

/// A sign-in that is not finished.
pub(crate) struct PendingSignIn {
    token: Token,
    /// Path of the console, [`MOUNT`] included, at which the person goes on.
    pub(crate) then: String,
}

impl PendingSignIn {
    /// Begins a sign-in. `next` is a path below [`MOUNT`]; another text leads to the first page.
    pub(crate) fn new(token: Token, next: &str) -> Self {
        let is_other = next != "/" && is_path(next);
        let then = if is_other { format!("{MOUNT}{next}") } else { MOUNT.to_owned() };
        Self { token, then }
    }

    /// Reads what [`PendingSignIn::cookie`] wrote.
    pub(crate) fn read(cookie: &str) -> Option<Self> {
        let (token, next) = cookie.split_once('.')?;
        let next = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(next).ok()?).ok()?;
        (!token.is_empty()).then(|| Self::new(Token::presented(token), &next))
    }

    /// Returns the value of the cookie.
    pub(crate) fn cookie(&self) -> String {
        let next = self.then.strip_prefix(MOUNT).unwrap_or_default();
        format!("{}.{}", self.token.expose(), BASE64_URL_SAFE_NO_PAD.encode(next))
    }

    /// Returns what the issuer is told. None of it tells another part, or the token.
    pub(crate) fn request(&self) -> SignInRequest {
        SignInRequest {
            state: self.token.derive("state"),
            nonce: self.token.derive("nonce"),
            verifier: self.token.derive("verifier"),
        }
    }
}

/// True for a path below [`MOUNT`] that leads nowhere else.
fn is_path(next: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>');
    next.len() <= LONGEST_PATH
        && next.starts_with('/')
        && !next.starts_with("//")
        && !next.replace("%2e", ".").replace("%2E", ".").contains("..")
        && next.bytes().all(is_safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_is_read_as_it_was_begun() {
        let pending = PendingSignIn::new(Token::new(1, 2), "/checks/abc");
        let read = PendingSignIn::read(&pending.cookie()).unwrap();
        assert_eq!(read.then, "/console/checks/abc");
        assert_eq!(read.request(), pending.request());
        let SignInRequest { state, nonce, verifier } = read.request();
        assert!(state != nonce && nonce != verifier && verifier.len() >= 43, "{verifier}");
        let other = PendingSignIn::new(Token::new(1, 3), "/checks/abc");
        assert_ne!(other.request(), pending.request());
        for wrong in ["", ".", "ab", "ab.%", ".L2NoZWNrcw"] {
            assert!(PendingSignIn::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_person_goes_on_in_the_console_only() {
        let then = |next: &str| PendingSignIn::new(Token::new(1, 2), next).then;
        assert_eq!(then("/search?q=a"), "/console/search?q=a");
        for foreign in [
            "",
            "/",
            "//evil.example",
            "https://evil.example",
            "/\\evil",
            "/a b",
            "/../docs",
            "/.%2E/docs",
            "/\r\nx: y",
            "/\u{e9}",
        ] {
            assert_eq!(then(foreign), "/console", "{foreign}");
        }
        assert_eq!(then(&format!("/{}", "a".repeat(LONGEST_PATH))), "/console");
    }
}
