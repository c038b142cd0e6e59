//! Detection of a silent server, by the time of the last byte from the server and the time of its first unanswered
//! question.
//!
//! A server is silent if it sent no byte for a second while a question was unanswered. A server that works on a slow
//! question is not silent, because it answers questions for its state meanwhile. A silent server stays silent until it
//! answers a question for its state.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    net::TcpStream,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::io::InspectReader;

/// Time without a byte after which a server is silent; together with [`GRACE`] one second.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(950);
/// Time for which a question must have been unanswered before its server is silent. It is shorter than
/// [`SILENCE_TIMEOUT`] by the interval of questions for the state, so that the second never begins with a caller's
/// question.
const UNANSWERED_TIMEOUT: Duration = Duration::from_millis(450);
/// Time in which this program, if it was delayed, reads bytes that have already arrived.
const GRACE: Duration = Duration::from_millis(50);
/// Delay of a timer above which this program itself was delayed, so that its questions may not have been sent.
const STALL_THRESHOLD: Duration = Duration::from_millis(200);

/// The times of contact with one server.
#[derive(Debug)]
pub(super) struct ServerContact(Mutex<ContactTimes>);

#[derive(Clone, Copy, Debug)]
struct ContactTimes {
    heard_at: Instant,
    /// Time of the first question after the last byte from the server.
    asked_at: Option<Instant>,
    is_silent: bool,
}

impl ContactTimes {
    /// The time at which the server becomes silent if it sends no byte before.
    fn silent_at(self, now: Instant) -> Instant {
        (self.heard_at + SILENCE_TIMEOUT).max(self.asked_at.unwrap_or(now) + UNANSWERED_TIMEOUT)
    }
}

impl ServerContact {
    pub(super) fn new() -> Self {
        let times = ContactTimes { heard_at: Instant::now(), asked_at: None, is_silent: false };
        Self(Mutex::new(times))
    }

    /// Records that a question is sent.
    pub(super) fn note_question(&self) {
        self.times().asked_at.get_or_insert_with(Instant::now);
    }

    /// Records that bytes came from the server.
    pub(super) fn note_response(&self) {
        let mut times = self.times();
        times.heard_at = Instant::now();
        times.asked_at = None;
    }

    /// Completes once the server has been silent for a second.
    pub(super) async fn wait_for_silence(&self) {
        let silent_at = || self.times().silent_at(Instant::now());
        loop {
            let due = silent_at();
            sleep_until(due).await;
            let begun = Instant::now();
            sleep(GRACE).await;
            if due.elapsed() >= GRACE + STALL_THRESHOLD
                || begun.elapsed() >= GRACE + STALL_THRESHOLD
            {
                self.restart_open_questions();
            }
            if silent_at() <= Instant::now() {
                return;
            }
        }
    }

    /// Sets the time of open questions to now, because this program was delayed.
    fn restart_open_questions(&self) {
        let mut times = self.times();
        times.asked_at = times.asked_at.map(|_| Instant::now());
    }

    /// True if the server was found silent.
    pub(super) fn is_silent(&self) -> bool {
        self.times().is_silent
    }

    /// Sets whether the server is silent. Returns true if the value changed.
    pub(super) fn set_silent(&self, is_silent: bool) -> bool {
        std::mem::replace(&mut self.times().is_silent, is_silent) != is_silent
    }

    fn times(&self) -> MutexGuard<'_, ContactTimes> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wraps the stream of a connection to a server, so that arriving bytes are recorded in `contact`.
pub(super) fn with_contact(
    stream: TcpStream,
    contact: Arc<ServerContact>,
) -> InspectReader<TcpStream, impl FnMut(&[u8])> {
    InspectReader::new(stream, move |bytes| {
        if !bytes.is_empty() {
            contact.note_response();
        }
    })
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    /// Time until the server is silent, from now on.
    async fn until_silent(contact: &ServerContact) -> Duration {
        let begun = Instant::now();
        contact.wait_for_silence().await;
        begun.elapsed()
    }

    fn is_about(duration: Duration, milliseconds: u64) -> bool {
        duration.abs_diff(Duration::from_millis(milliseconds)) <= 5 * MOMENT
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_owes_an_answer_is_silent_after_a_second() {
        // Given a server that was heard half a second before the first question,
        let contact = ServerContact::new();
        contact.note_response();
        advance(Duration::from_millis(500)).await;
        contact.note_question();
        // then further questions do not begin the second anew.
        advance(Duration::from_millis(300)).await;
        contact.note_question();
        assert!(is_about(until_silent(&contact).await, 200));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_was_not_asked_for_long_has_time_to_answer() {
        let contact = ServerContact::new();
        advance(Duration::from_mins(1)).await;
        contact.note_question();
        assert!(is_about(until_silent(&contact).await, 500));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_heard_or_is_not_asked_is_never_silent() {
        let contact = ServerContact::new();
        let never = async {
            contact.wait_for_silence().await;
            panic!("it is not silent");
        };
        let heard = async {
            sleep(Duration::from_secs(10)).await;
            contact.note_response();
            for _ in 0..20 {
                contact.note_question();
                sleep(Duration::from_millis(900)).await;
                contact.note_response();
            }
        };
        tokio::select! {
            () = never => {}
            () = heard => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn questions_that_this_program_was_too_busy_to_send_have_time_to_be_answered() {
        let contact = ServerContact::new();
        let held_up = async {
            contact.note_question();
            advance(Duration::from_secs(30)).await;
        };
        let (silent_after, ()) = tokio::join!(until_silent(&contact), held_up);
        assert!(is_about(silent_after, 30_000 + 550), "{silent_after:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_arrived_while_this_program_was_held_up_is_read_first() {
        // Given a program that was stopped for long after it asked,
        let contact = ServerContact::new();
        contact.note_question();
        advance(Duration::from_secs(30)).await;
        // when the answer, which is there, is read a moment after the time has passed,
        let read = async {
            sleep(20 * MOMENT).await;
            contact.note_response();
            sleep(Duration::from_secs(1)).await;
        };
        // then the server is not silent.
        tokio::select! {
            () = contact.wait_for_silence() => panic!("it is not silent"),
            () = read => {}
        }
    }
}
