//! Tests of the scripts against the ledger, on a real Redis.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ::redis::aio::MultiplexedConnection;
use assay_tenancy::manifest::Per;
use assay_test_random::Random;
use assay_test_servers::{eventually, redis::Redis};

use super::*;
use crate::{SECOND, ServerClock, TokenLedger, token_store::ReturnedTokens};

const MARGIN: u64 = 300_000;

#[derive(Clone, Debug)]
pub(crate) struct Connection(MultiplexedConnection);

impl Connection {
    pub(crate) async fn to(server: &Redis) -> Self {
        Self::try_new(&server.url()).await.unwrap()
    }

    pub(crate) async fn try_new(url: &str) -> Result<Self, BoxError> {
        let client = ::redis::Client::open(url)?;
        // On a busy machine a processed command must not look lost.
        let long_timeout_settings = ::redis::AsyncConnectionConfig::new()
            .set_response_timeout(Some(Duration::from_secs(30)))
            .set_connection_timeout(Some(Duration::from_secs(30)));
        Ok(Self(client.get_multiplexed_async_connection_with_config(&long_timeout_settings).await?))
    }

    pub(crate) async fn command(&self, words: &[&str]) -> ::redis::Value {
        let (name, arguments) = words.split_first().unwrap();
        let mut connection = self.0.clone();
        ::redis::cmd(name).arg(arguments).query_async(&mut connection).await.unwrap()
    }
}

#[async_trait::async_trait]
impl ScriptRunner for Connection {
    async fn run(
        &self,
        script: Script,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Vec<i64>, BoxError> {
        let script = ::redis::Script::new(script.text);
        let mut call = script.prepare_invoke();
        for key in keys {
            call.key(key);
        }
        for argument in arguments {
            call.arg(argument);
        }
        Ok(call.invoke_async(&mut self.0.clone()).await?)
    }
}

/// Registry in which no epoch is recorded yet.
#[derive(Default)]
pub(crate) struct NewEpochRegistry(AtomicU64);

#[async_trait::async_trait]
impl EpochRegistry for NewEpochRegistry {
    async fn is_first(&self, _: &str) -> Result<bool, BoxError> {
        Ok(self.0.fetch_add(1, Ordering::Relaxed) < u64::from(BUCKETS))
    }
}

fn subject() -> LimitSubject {
    LimitSubject { per: Per::Tenant, name: "acme".into() }
}

fn window(name: &str, window_seconds: u64, allowed: u64, requested: u64) -> WindowRequest {
    WindowRequest {
        limit: name.parse().unwrap(),
        window_seconds,
        allowed,
        requested,
        newest_window: 0,
        returned: None,
    }
}

/// Returns the server's time from its grant for a window.
fn time_of(grant: &WindowGrant, window_seconds: u64) -> u64 {
    (grant.window + 1) * window_seconds * SECOND - grant.ends_in
}

#[tokio::test]
async fn the_script_agrees_with_the_ledger() {
    let mut server = Redis::start();
    let mut connection = Connection::to(&server).await;
    let (mut ledger, mut run) = (TokenLedger::new(MARGIN), 0);
    let mut random = Random::new(2026);
    let mut sequences = [0_u64; 3];
    let mut granted_before: Vec<(usize, WindowRequest, ReturnedTokens)> = Vec::new();
    let (mut granted, mut recovering, mut returns) = (0, 0, 0);
    for step in 0..3_000 {
        // Given random requests of three replicas, some of them repeated,
        let replica = random.index(3);
        let again = random.per_mille(50);
        sequences[replica] += u64::from(!again);
        let mut windows = vec![
            window("burst", 1, random.number(0..60), random.number(0..30)),
            window("minute", 60, random.number(0..3000), random.number(0..9)),
        ];
        if random.per_mille(30) {
            if granted_before.is_empty() {
                let returned = ReturnedTokens { window: 1, epoch: 1, tokens: 1 };
                granted_before.push((replica, window("burst", 1, 1, 1), returned));
            }
            let (_, before, tokens) = random.pick(&granted_before).clone();
            for window in windows.iter_mut().filter(|window| window.limit == before.limit) {
                window.returned = Some(tokens);
                returns += 1;
            }
        }
        let request = LeaseRequest { sequence: sequences[replica], windows };
        let (keys, arguments) = script_call(replica as u64, MARGIN, &subject(), &request);
        let answer = connection.run(LEASE, &keys, &arguments).await.unwrap();
        let real = parse_grant(&answer, request.windows.len()).unwrap();

        // when both decide at the same time, then they agree,
        let now = time_of(&real.windows[0], 1);
        let at = ServerClock { run: run.to_string(), now };
        let expected = ledger.lease(&at, replica as u64, &subject(), &request);
        assert_eq!(real, expected, "step {step}: {request:?}");
        granted += real.windows[0].granted;
        recovering += u64::from(real.windows[0].recovering);
        for (window, grant) in request.windows.iter().zip(&real.windows) {
            let returned =
                ReturnedTokens { window: grant.window, epoch: real.epoch, tokens: grant.granted };
            granted_before.push((replica, window.clone(), returned));
        }
        granted_before.truncate(20);

        // even after the memory is lost or the clock is set back.
        match random.number(0..400) {
            0 => {
                connection.command(&["FLUSHALL"]).await;
                ledger = TokenLedger::new(MARGIN);
            }
            1 => {
                server.kill();
                server.start_again();
                connection = Connection::to(&server).await;
                (run, ledger) = (run + 1, TokenLedger::new(MARGIN));
            }
            2 => {
                // A restart with a snapshot: the record exists, but is of another run.
                connection.command(&["HSET", &keys[0], "run", "0"]).await;
                ledger.set_run("of another server");
            }
            3 => {
                let ahead = now + random.number(0..2 * SECOND);
                connection.command(&["HSET", &keys[0], "latest", &ahead.to_string()]).await;
                ledger.set_latest(ahead);
            }
            4 => {
                let ahead = now + MAX_CLOCK_STEP + 600 * SECOND;
                connection.command(&["HSET", &keys[0], "latest", &ahead.to_string()]).await;
                ledger.set_latest(ahead);
            }
            5 if !is_recovering(&real) => {
                let id = [real.epoch.to_string()];
                connection.run(FIRST, &keys[..1], &id).await.unwrap();
                ledger.confirm_first_epoch(real.epoch);
            }
            _ => {}
        }
        if random.per_mille(20) {
            // Windows are those of the server's clock.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert!(granted > 100 && recovering > 10 && returns > 10, "{granted} {recovering} {returns}");
}

fn is_recovering(grant: &LeaseGrant) -> bool {
    grant.windows.iter().any(|window| window.recovering)
}

#[tokio::test]
async fn the_first_epoch_grants_at_once_and_a_later_one_from_its_next_window() {
    let server = Redis::start();
    let connection = Connection::to(&server).await;
    let store = RedisTokenStore::new(Arc::new(connection.clone()), 7, MARGIN);
    let epochs = NewEpochRegistry::default();
    store.open(&epochs).await.unwrap();
    let request = |sequence| LeaseRequest { sequence, windows: vec![window("hour", 3000, 10, 3)] };
    let first = store.lease(&subject(), &request(1)).await.unwrap().windows[0];
    assert_eq!((first.granted, first.remaining, first.recovering), (3, 7, false));

    connection.command(&["FLUSHALL"]).await;
    store.open(&epochs).await.unwrap();
    let after = store.lease(&subject(), &request(2)).await.unwrap().windows[0];
    assert_eq!(
        (after.granted, after.recovering),
        (0, true),
        "the tokens granted before are unknown"
    );
}

#[tokio::test]
async fn malformed_script_responses_are_rejected() {
    for answer in
        [&[][..], &[1], &[1, 0, 5], &[-1, 0], &[1, 0, -1, 2, 3, 4, 0], &[1, 0, 1, 2, 3, 4]]
    {
        assert!(parse_grant(answer, 1).is_none(), "{answer:?}");
    }
    assert!(parse_grant(&[1, 0, 1, 2, 3, 4, 0], 1).is_some());
}

#[test]
fn all_keys_of_a_request_lie_in_one_slot_and_buckets_never_move() {
    let request =
        LeaseRequest { sequence: 1, windows: vec![window("a", 1, 1, 1), window("b", 60, 1, 1)] };
    let (keys, arguments) = script_call(3, MARGIN, &subject(), &request);
    assert_eq!((keys.len(), arguments.len()), (3, 4 + 2 * 7));
    let tag = |key: &str| key.split(['{', '}']).nth(1).unwrap().to_owned();
    assert!(keys.iter().all(|key| tag(key) == tag(&keys[0])), "{keys:?}");
    assert_eq!(keys[1], "assay:{limits-32}:tenant/acme:a:1");
}

async fn epochs(connection: &Connection) -> usize {
    match connection.command(&["KEYS", "assay:*:epoch"]).await {
        ::redis::Value::Array(keys) => keys.len(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_bucket_of_a_server_that_forgot_is_opened_though_nobody_uses_it() {
    let server = Redis::start();
    let connection = Connection::to(&server).await;
    let store = RedisTokenStore::new(Arc::new(connection.clone()), 1, 0);
    let registry = Arc::new(NewEpochRegistry::default());
    store.open(&*registry).await.unwrap();
    let watching = store.clone();
    let watch = tokio::spawn(async move { watching.watch(&*registry).await });
    // When the server forgets everything, and no tenant sends a request.
    connection.command(&["FLUSHALL"]).await;
    eventually("every bucket is opened", async || {
        epochs(&connection).await >= usize::try_from(BUCKETS).unwrap()
    })
    .await;
    // Then a window that begins after that is a usual one.
    let request = |sequence| LeaseRequest { sequence, windows: vec![window("burst", 1, 60, 9)] };
    let first = store.lease(&subject(), &request(1)).await.unwrap().windows[0];
    let mut sequence = 1;
    let next = loop {
        sequence += 1;
        let grant = store.lease(&subject(), &request(sequence)).await.unwrap().windows[0];
        if grant.window > first.window {
            break grant;
        }
    };
    assert_eq!((next.granted, next.recovering), (9, false));
    watch.abort();
}
