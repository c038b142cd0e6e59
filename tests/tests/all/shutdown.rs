//! A server that is stopped loses no request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use assay_tests::{Caller, Server, sample};

use crate::support::wait_until;

#[test]
fn a_signal_to_stop_under_load_loses_no_request() {
    let (mut server, _, enterprise) = sample();
    let answered = Arc::new(AtomicUsize::new(0));
    let body = r#"{"blockchain":"btc","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}"#;
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let caller = server.caller(&enterprise.key);
            let answered = Arc::clone(&answered);
            thread::spawn(move || {
                let headers = [
                    ("x-api-key", caller.key.clone()),
                    ("content-type", "application/json".into()),
                ];
                loop {
                    let fields = headers.iter().map(|(name, value)| (*name, value.as_str()));
                    match caller.try_send("POST", "/api/v1/check/address", body, fields) {
                        // Limits are not the point here.
                        Ok(answer) if matches!(answer.status, 200 | 429) => {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(answer) => return Err(format!("{}: {}", answer.status, answer.text)),
                        // No connection: nothing was sent, nothing is lost.
                        Err(ureq::Error::ConnectionFailed) => return Ok(()),
                        Err(ureq::Error::Io(error))
                            if error.kind() == std::io::ErrorKind::ConnectionRefused =>
                        {
                            return Ok(());
                        }
                        Err(error) => return Err(format!("{error:?}")),
                    }
                }
            })
        })
        .collect();
    wait_until("there is load", || answered.load(Ordering::Relaxed) > 200);
    server.signal("TERM");
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Ok(()), "a request was lost");
    }
    assert_eq!(server.wait(), Some(0));
    assert!(server.log().contains("stopped"), "{}", server.log());
}

#[test]
fn while_stopping_the_server_is_not_ready() {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let mut server = Server::start(directory, &["--sample", "--drain-delay", "2s"]);
    let caller = server.caller("");
    let admin = Caller::new(server.admin, "");
    assert_eq!(admin.send("GET", "/readyz", "", []).status, 200);
    server.signal("TERM");
    wait_until("it is not ready", || {
        let ready = admin.try_send("GET", "/readyz", "", []);
        ready.is_ok_and(|answer| answer.status == 503 && answer.problem().1 == "unavailable")
    });
    let answer = caller.send("GET", "/healthz", "", []);
    assert_eq!((answer.status, answer.header("connection")), (200, "close"));
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn two_servers_do_not_share_a_data_directory() {
    let (server, ..) = sample();
    let second = server.assay(&[
        "serve",
        "--sample",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
    ]);
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("another server uses"), "{}", second.stderr);
}
