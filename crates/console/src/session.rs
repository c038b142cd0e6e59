//! Sign-in links and sessions, in memory: both are found by the SHA-256 of a random token, and the token itself is kept
//! nowhere.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

/// Time without a request after which a session ends.
pub(crate) const IDLE_END: SignedDuration = SignedDuration::from_mins(30);
/// Time after which a session ends in any case.
pub(crate) const ABSOLUTE_END: SignedDuration = SignedDuration::from_hours(12);
/// Largest number of sessions; for a further one, the one that was idle the longest ends.
const MOST_SESSIONS: usize = 1_000;
/// Largest number of links.
const MOST_LINKS: usize = 1_000;

/// Random token of 256 bits.
pub(crate) struct Token(String);

impl Token {
    /// Makes a token of random bits.
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

    /// Returns the token of forms in a session with this token.
    pub(crate) fn form_token(&self) -> String {
        hex::encode(Sha256::digest(format!("assay console form\n{}", self.0)))
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
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

/// Sessions of people who signed in.
#[derive(Debug)]
pub(crate) struct Sessions<P>(Mutex<HashMap<[u8; 32], Session<P>>>);

#[derive(Debug)]
struct Session<P> {
    person: P,
    began: Timestamp,
    used: Timestamp,
}

impl<P> Default for Sessions<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P> Session<P> {
    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.used) > IDLE_END || now.duration_since(self.began) > ABSOLUTE_END
    }
}

impl<P: Clone> Sessions<P> {
    /// Begins a session with a new token.
    pub(crate) fn begin(&self, token: &Token, person: P, now: Timestamp) {
        let mut sessions = locked(&self.0);
        sessions.retain(|_, session| !session.is_over(now));
        if sessions.len() >= MOST_SESSIONS {
            let idle = sessions.iter().min_by_key(|(_, session)| session.used);
            if let Some(digest) = idle.map(|(digest, _)| *digest) {
                sessions.remove(&digest);
            }
        }
        sessions.insert(token.digest(), Session { person, began: now, used: now });
    }

    /// Returns the person of a session, and notes its use; `None` if there is no such session or it is over.
    pub(crate) fn find(&self, token: &Token, now: Timestamp) -> Option<P> {
        let mut sessions = locked(&self.0);
        let digest = token.digest();
        let session = sessions.get_mut(&digest)?;
        if session.is_over(now) {
            sessions.remove(&digest);
            return None;
        }
        session.used = now;
        Some(session.person.clone())
    }

    /// Returns the number of sessions of the people whom `is_meant` names.
    pub(crate) fn count_of(&self, is_meant: impl Fn(&P) -> bool, now: Timestamp) -> usize {
        let sessions = locked(&self.0);
        sessions
            .values()
            .filter(|session| !session.is_over(now) && is_meant(&session.person))
            .count()
    }

    /// Ends the sessions of the people whom `is_meant` names.
    pub(crate) fn end_all_of(&self, is_meant: impl Fn(&P) -> bool) {
        locked(&self.0).retain(|_, session| !is_meant(&session.person));
    }

    /// Ends a session, if there is one.
    pub(crate) fn end(&self, token: &Token) {
        locked(&self.0).remove(&token.digest());
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single step, so that the state after a panic is consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + minutes * 60).unwrap()
    }

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
    fn a_session_ends_when_it_is_idle_and_after_twelve_hours() {
        let (sessions, token) = (Sessions::default(), Token::new(1, 2));
        sessions.begin(&token, "ada", at(0));
        assert!(sessions.find(&token, at(30)).is_some());
        assert!(sessions.find(&token, at(61)).is_none(), "idle for 31 minutes");
        assert!(sessions.find(&token, at(61)).is_none(), "and stays over");

        sessions.begin(&token, "ada", at(0));
        for minutes in (20..=720).step_by(20) {
            assert!(sessions.find(&token, at(minutes)).is_some(), "{minutes}");
        }
        assert!(sessions.find(&token, at(721)).is_none());
    }

    #[test]
    fn a_session_that_was_signed_out_is_over() {
        let (sessions, token) = (Sessions::default(), Token::new(1, 2));
        sessions.begin(&token, "ada", at(0));
        sessions.end(&token);
        assert!(sessions.find(&token, at(0)).is_none());
    }

    #[test]
    fn all_sessions_of_a_person_end_together() {
        let sessions = Sessions::default();
        let token = |number: u128| Token::new(9, number);
        for (number, person) in [(1, "ada"), (2, "ada"), (3, "bob")] {
            sessions.begin(&token(number), person, at(0));
        }
        assert_eq!(sessions.count_of(|person| *person == "ada", at(1)), 2);
        assert_eq!(
            sessions.count_of(|person| *person == "ada", at(31)),
            0,
            "over, and not counted"
        );
        sessions.end_all_of(|person| *person == "ada");
        assert!(sessions.find(&token(1), at(1)).is_none());
        assert!(sessions.find(&token(2), at(1)).is_none());
        assert!(sessions.find(&token(3), at(1)).is_some());
    }

    #[test]
    fn of_too_many_sessions_the_idlest_ends() {
        let sessions = Sessions::default();
        let token = |number: usize| Token::new(7, u128::try_from(number).unwrap());
        for number in 0..MOST_SESSIONS {
            sessions.begin(&token(number), "ada", at(0));
        }
        for number in 1..MOST_SESSIONS {
            assert!(sessions.find(&token(number), at(1)).is_some());
        }
        sessions.begin(&token(MOST_SESSIONS), "ada", at(2));
        assert!(sessions.find(&token(0), at(2)).is_none());
        assert!(sessions.find(&token(1), at(2)).is_some());
    }
}
