use std::sync::Mutex;

use super::*;

/// HTTP client that returns given answers in order, for any requests.
#[derive(Debug)]
pub(crate) struct Script {
    url: String,
    answers: Mutex<Vec<Result<Response, ExchangeError>>>,
}

impl Script {
    pub(crate) fn new(
        answers: impl IntoIterator<Item = Result<Response, ExchangeError>>,
    ) -> Arc<Self> {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        Arc::new(Self { url: "http://node".to_owned(), answers: Mutex::new(answers) })
    }
}

impl Http for Script {
    fn url(&self) -> &str {
        &self.url
    }

    fn exchange(&self, _: Request<'_>) -> Result<Response, ExchangeError> {
        let refused = ExchangeError::Transient("connection refused".to_owned());
        self.answers.lock().unwrap().pop().unwrap_or(Err(refused))
    }
}

/// Timer that records pauses without waiting, and stops after `most` of them.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) pauses: Mutex<Vec<(Duration, String)>>,
    pub(crate) most: usize,
    pub(crate) random: u64,
}

impl Noted {
    pub(crate) fn new(most: usize, random: u64) -> Arc<Self> {
        Arc::new(Self { pauses: Mutex::default(), most, random })
    }
}

impl RetryTimer for Noted {
    fn wait(&self, pause: &RetryDelay<'_>) -> bool {
        let mut pauses = self.pauses.lock().unwrap();
        pauses.push((pause.time, pause.reason.to_owned()));
        pauses.len() < self.most
    }

    fn random(&self) -> u64 {
        self.random
    }
}

pub(crate) fn answer(status: u16, body: &str) -> Response {
    Response { status, retry_after: None, body: body.as_bytes().to_vec() }
}

fn ask(script: Arc<Script>, timer: &Arc<Noted>, backoff: Backoff) -> Result<String, SourceError> {
    let server = Server::new(script, timer.clone(), backoff);
    let request = Request::get("/");
    server.ask(request, |answer| Ok(String::from_utf8_lossy(&answer.body).into_owned()))
}

fn pauses(timer: &Noted) -> Vec<u128> {
    timer.pauses.lock().unwrap().iter().map(|(time, _)| time.as_millis()).collect()
}

#[test]
fn transient_errors_are_retried_after_growing_pauses() {
    let timer = Noted::new(100, 0);
    let broken = ExchangeError::Transient("connection reset".to_owned());
    let script = Script::new([
        Err(broken),
        Ok(answer(503, "")),
        Ok(answer(502, "")),
        Ok(answer(200, "here")),
    ]);
    assert_eq!(ask(script, &timer, Backoff::default()).unwrap(), "here");
    assert_eq!(pauses(&timer), [250, 500, 1000]);
    // Randomness spreads them up to twice as long.
    let timer = Noted::new(100, 250);
    let script = Script::new([Ok(answer(503, "")), Ok(answer(200, "here"))]);
    ask(script, &timer, Backoff::default()).unwrap();
    assert_eq!(pauses(&timer), [500]);
}

#[test]
fn retry_after_is_honored() {
    let timer = Noted::new(100, 0);
    let busy = Response { status: 429, retry_after: Some(Duration::from_secs(7)), body: vec![] };
    let script = Script::new([Ok(busy), Ok(answer(200, "here"))]);
    assert!(ask(script, &timer, Backoff::default()).is_ok());
    assert_eq!(pauses(&timer), [7000]);
    assert_eq!(timer.pauses.lock().unwrap()[0].1, "it is asked too often (429)");
}

#[test]
fn patience_ends() {
    let timer = Noted::new(1000, 0);
    let error = ask(Script::new([]), &timer, Backoff::default()).unwrap_err();
    assert_eq!(error.to_string(), "http://node does not answer: connection refused");
    assert!(error.is_transient());
    let all: u128 = pauses(&timer).iter().sum();
    assert!((500_000..=600_000).contains(&all), "{all} ms");
    // The caller may stop it earlier.
    let timer = Noted::new(2, 0);
    let stopped = ask(Script::new([]), &timer, Backoff::default()).unwrap_err();
    assert!(matches!(stopped, SourceError::Stopped));
}

#[test]
fn permanent_errors_are_reported_at_once() {
    let timer = Noted::new(100, 0);
    let denied = ask(Script::new([Ok(answer(401, ""))]), &timer, Backoff::default()).unwrap_err();
    assert_eq!(
        denied.to_string(),
        "http://node refuses access (401): check the cookie file, or user and password"
    );
    let broken = ExchangeError::Permanent("bad certificate".to_owned());
    assert!(ask(Script::new([Err(broken)]), &timer, Backoff::default()).is_err());
    assert!(pauses(&timer).is_empty());
}
