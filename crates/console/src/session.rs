//! Sign-in links, in memory, and the tokens of links and sessions: both are found by the SHA-256 of a random token, and the
//! token itself is kept nowhere.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use assay_tenancy::Name;
use sha2::{Digest, Sha256};

/// Largest number of links.
const MOST_LINKS: usize = 1_000;

/// Digits of a token.
const TOKEN_DIGITS: usize = 64;

/// Random token of 256 bits.
pub(crate) struct Token(String);

impl Token {
    /// Makes a token of random bits.
    pub(crate) fn random() -> Self {
        Self::new(assay_system::random_u128(), assay_system::random_u128())
    }

    /// Makes a token of bits.
    pub(crate) fn new(high: u128, low: u128) -> Self {
        Self(format!("{high:032x}{low:032x}"))
    }

    /// Reads a token that somebody presents. Any text is one.
    pub(crate) fn presented(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text, for the link or the cookie.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns a text that follows from the token and does not tell it, for a purpose.
    pub(crate) fn derive(&self, purpose: &str) -> String {
        hex::encode(Sha256::digest(format!("assay console {purpose}\n{}", self.0)))
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

/// Token of a session, with the tenant whose sessions it is looked up in.
pub(crate) struct SessionToken {
    pub(crate) tenant: Name,
    token: Token,
}

impl SessionToken {
    /// Makes the token of a new session of a tenant.
    pub(crate) const fn new(tenant: Name, token: Token) -> Self {
        Self { tenant, token }
    }

    /// Reads the token that a cookie presents, as [`SessionToken::expose`] writes it.
    pub(crate) fn presented(text: &str) -> Option<Self> {
        let (tenant, token) = text.split_once('.')?;
        let is_token =
            token.len() == TOKEN_DIGITS && token.bytes().all(|it| it.is_ascii_hexdigit());
        is_token.then_some(())?;
        Some(Self { tenant: tenant.parse().ok()?, token: Token::presented(token) })
    }

    /// Returns the text, for the cookie.
    pub(crate) fn expose(&self) -> String {
        format!("{}.{}", self.tenant, self.token.expose())
    }

    /// Returns the digest by which the store finds the session.
    pub(crate) fn digest(&self) -> String {
        hex::encode(self.token.digest())
    }

    /// Returns the token of forms in the session.
    pub(crate) fn form_token(&self) -> String {
        self.token.derive("form")
    }
}

/// Sign-in links that were not used yet, each with the person whom it signs in.
#[derive(Debug)]
pub(crate) struct SignInLinks<P>(Mutex<HashMap<[u8; 32], P>>);

impl<P> Default for SignInLinks<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P> SignInLinks<P> {
    /// Adds a link. If there are too many, it is not added.
    pub(crate) fn add(&self, token: &Token, person: P) {
        let mut links = locked(&self.0);
        if links.len() < MOST_LINKS {
            links.insert(token.digest(), person);
        }
    }

    /// Takes the person of a link, which is not good any longer.
    pub(crate) fn take(&self, token: &Token) -> Option<P> {
        locked(&self.0).remove(&token.digest())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single step, so that the state after a panic is consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_once() {
        let links = SignInLinks::default();
        let token = Token::new(1, 2);
        links.add(&token, "ada");
        assert!(links.take(&Token::new(1, 3)).is_none());
        assert!(links.take(&Token::presented(token.expose())).is_some());
        assert!(links.take(&token).is_none());
    }

    #[test]
    fn the_token_of_a_session_names_its_tenant() {
        let session = SessionToken::new("acme".parse().unwrap(), Token::new(1, 2));
        let read = SessionToken::presented(&session.expose()).unwrap();
        assert_eq!(read.tenant.as_str(), "acme");
        assert_eq!(read.digest(), session.digest());
        assert_eq!(read.form_token(), session.form_token());
        assert!(!session.form_token().contains(Token::new(1, 2).expose()));
        let other = SessionToken::new("acme".parse().unwrap(), Token::new(1, 3));
        assert_ne!(other.form_token(), session.form_token());
        let digits = "12".repeat(32);
        for wrong in
            ["", "acme", "acme.12", "acme.", &format!("Acme.{digits}"), &format!(".{digits}")]
        {
            assert!(SessionToken::presented(wrong).is_none(), "{wrong}");
        }
    }
}
