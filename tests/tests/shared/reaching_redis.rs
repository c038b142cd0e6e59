//! Redis in its usual forms (one server, Sentinel, Cluster, TLS, changing passwords), and the effect of its loss on
//! callers.

use std::{fs, time::Duration};

use assay_redis::{RedisClient, RedisClientError, RedisSettings, Subscription, SubscriptionEvent};
use assay_tests::{
    Authority,
    redis::{Cluster, Redis, SentinelRedis},
};
use redis::{Cmd, Script, cmd};
use tokio::time::timeout;

fn settings(url: &str) -> RedisSettings {
    RedisSettings::new(url.parse().unwrap())
}

fn link(url: &str) -> RedisClient {
    RedisClient::new(settings(url))
}

fn set(key: &str, value: &str) -> Cmd {
    let mut set = cmd("SET");
    set.arg(key).arg(value);
    set
}

fn get(key: &str) -> Cmd {
    let mut get = cmd("GET");
    get.arg(key);
    get
}

/// Retries until success, because the recovery of Redis may take several attempts.
async fn eventually<T, E: std::fmt::Debug>(mut attempt: impl AsyncFnMut() -> Result<T, E>) -> T {
    let mut done = None;
    assay_tests::eventually("the recovery of Redis", async || {
        done = attempt().await.ok();
        done.is_some()
    })
    .await;
    done.unwrap()
}

#[tokio::test]
async fn commands_and_scripts_reach_one_server() {
    let server = Redis::start();
    let link = link(&server.url());
    assert!(!link.is_connected(), "nothing is done before it is needed");
    link.run::<()>(&set("a", "1")).await.unwrap();
    let add = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    let sum: i64 = link.script(&add, &["a".into()], &[b"41".to_vec()]).await.unwrap();
    assert_eq!((sum, link.commands()), (42, 2));
    // Given a server that loses its scripts, the client loads them again.
    let _ = server.cli(&["script", "flush"]);
    let sum: i64 = link.script(&add, &["a".into()], &[b"1".to_vec()]).await.unwrap();
    assert_eq!(sum, 43);
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for_once_and_is_found_again() {
    let mut server = Redis::start();
    let link = link(&server.url());
    link.run::<()>(&set("a", "1")).await.unwrap();
    server.kill();
    let _ = link.run::<String>(&get("a")).await.unwrap_err();
    // While it is known to be unavailable no request waits for it.
    let mut away = 0;
    for _ in 0..1_000 {
        if let Err(RedisClientError::Unavailable(_)) = link.run::<String>(&get("a")).await {
            away += 1;
        }
    }
    assert!(away > 900, "{away} of 1,000 asked nobody");
    server.start_again();
    eventually(async || link.run::<()>(&set("a", "2")).await).await;
    assert!(link.is_connected());
}

#[tokio::test]
async fn a_server_that_pauses_is_not_lost() {
    let server = Redis::start();
    let mut settings = settings(&server.url());
    settings.response_timeout = Duration::from_millis(100);
    let link = RedisClient::new(settings);
    link.run::<()>(&set("a", "1")).await.unwrap();
    server.pause();
    let error = link.run::<String>(&get("a")).await.unwrap_err();
    assert!(error.to_string().contains("timed out"), "{error}");
    server.resume();
    let value: String = eventually(async || link.run(&get("a")).await).await;
    assert_eq!(value, "1");
}

#[tokio::test]
async fn a_password_from_a_file_may_change() {
    let server = Redis::start_with(&["--requirepass", "first"]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("password");
    fs::write(&file, "first\n").unwrap();
    let mut settings = settings(&server.url());
    settings.password_file = Some(file.clone());
    let link = RedisClient::new(settings);
    link.run::<()>(&set("a", "1")).await.unwrap();
    // Given a new password, and a server that ends the old connections.
    let _ = server.cli(&["-a", "first", "config", "set", "requirepass", "second"]);
    fs::write(&file, "second\n").unwrap();
    let _ = server.cli(&["-a", "second", "client", "kill", "type", "normal"]);
    let value: String = eventually(async || link.run(&get("a")).await).await;
    assert_eq!(value, "1");
    // Given a wrong password, the error says so and does not show it.
    fs::write(&file, "third-and-wrong\n").unwrap();
    let mut settings = link.settings().clone();
    settings.url.user = None;
    let error = RedisClient::new(settings).run::<String>(&get("a")).await.unwrap_err().to_string();
    assert!(error.contains("WRONGPASS") || error.to_lowercase().contains("password"), "{error}");
    assert!(!error.contains("third"), "{error}");
}

#[tokio::test]
async fn connections_are_encrypted_and_the_server_is_authenticated() {
    let server = Redis::start_with_tls(&Authority::new());
    let mut settings = settings(&format!("rediss://localhost:{}", server.port()));
    settings.tls.ca_bundle = Some(server.file("ca.pem"));
    RedisClient::new(settings.clone()).run::<()>(&set("a", "1")).await.unwrap();
    // Given an authority that did not sign its certificate.
    let others = server.file("others.pem");
    fs::write(&others, Authority::new().pem()).unwrap();
    settings.tls.ca_bundle = Some(others);
    let error = RedisClient::new(settings.clone()).run::<()>(&set("a", "1")).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    settings.tls.ca_bundle = Some("/nowhere/ca.pem".into());
    let error = RedisClient::new(settings).run::<()>(&set("a", "1")).await.unwrap_err().to_string();
    assert!(error.contains("/nowhere/ca.pem"), "{error}");
}

#[tokio::test]
async fn behind_sentinels_the_new_master_is_found() {
    let mut watched = SentinelRedis::start();
    let link = link(&watched.url());
    link.run::<()>(&set("a", "1")).await.unwrap();
    assert_eq!(watched.master.cli(&["get", "a"]), "1");
    watched.fail_over();
    eventually(async || link.run::<()>(&set("a", "2")).await).await;
    assert_eq!(watched.replica.cli(&["get", "a"]), "2");
}

#[tokio::test]
async fn in_a_cluster_each_key_reaches_its_node() {
    let cluster = Cluster::start();
    let link = link(&cluster.url());
    let add = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    for number in 0..50 {
        link.run::<()>(&set(&format!("{{{number}}}:a"), "1")).await.unwrap();
        let key = format!("{{{number}}}:a");
        let sum: i64 = link.script(&add, &[key], &[b"2".to_vec()]).await.unwrap();
        assert_eq!(sum, 3);
    }
    let sizes: Vec<String> = cluster.nodes().iter().map(|node| node.cli(&["dbsize"])).collect();
    assert!(sizes.iter().all(|size| size != "0"), "{sizes:?}");
}

#[tokio::test]
async fn published_messages_arrive_and_a_gap_is_reported() {
    let mut server = Redis::start();
    let mut messages = Subscription::new(settings(&server.url()), vec!["keys".into()]);
    let patience = Duration::from_secs(30);
    assert_eq!(timeout(patience, messages.next()).await.unwrap(), SubscriptionEvent::Subscribed);
    let _ = server.cli(&["publish", "keys", "one"]);
    let heard = SubscriptionEvent::Message { channel: "keys".into(), payload: b"one".to_vec() };
    assert_eq!(timeout(patience, messages.next()).await.unwrap(), heard);
    server.kill();
    server.start_again();
    assert_eq!(timeout(patience, messages.next()).await.unwrap(), SubscriptionEvent::Subscribed);
    let cluster = Cluster::start();
    let mut messages = Subscription::new(settings(&cluster.url()), vec!["keys".into()]);
    assert_eq!(timeout(patience, messages.next()).await.unwrap(), SubscriptionEvent::Subscribed);
    let _ = cluster.nodes()[2].cli(&["publish", "keys", "two"]);
    let heard = SubscriptionEvent::Message { channel: "keys".into(), payload: b"two".to_vec() };
    assert_eq!(timeout(patience, messages.next()).await.unwrap(), heard);
}
