//! Rolling replacement of servers under load, without an effect on callers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use assay_tests::{Caller, platform::Platform, repeat, wait_until};

use crate::support::{ADDRESSES, is_ready, plan_with_high_limits};

/// Pause of a caller between two requests.
const PAUSE: Duration = Duration::from_millis(2);

/// A load balancer's targets. A server is removed only after it was asked to stop.
#[derive(Debug, Default)]
pub(crate) struct Balancer {
    servers: Mutex<Vec<Caller>>,
    next: AtomicUsize,
}

impl Balancer {
    /// Adds a server, by its caller.
    pub(crate) fn add(&self, caller: &Caller) {
        self.servers.lock().unwrap().push(caller.clone());
    }

    /// Removes a server.
    pub(crate) fn remove(&self, caller: &Caller) {
        self.servers.lock().unwrap().retain(|known| !known.has_same_server(caller));
    }

    /// The caller of the next server.
    pub(crate) fn pick(&self) -> Caller {
        let servers = self.servers.lock().unwrap();
        let nth = self.next.fetch_add(1, Ordering::Relaxed);
        servers.iter().cycle().nth(nth % servers.len()).unwrap().clone()
    }
}

#[test]
fn a_rolling_restart_loses_no_request() {
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let key = platform.key();
    let mut servers = platform.servers(3, &key, &[]);
    let balancer = Arc::new(Balancer::default());
    for (_, caller) in &servers {
        balancer.add(caller);
    }
    let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..6)
        .map(|_| {
            let (balancer, over, answered) =
                (Arc::clone(&balancer), Arc::clone(&over), Arc::clone(&answered));
            thread::spawn(move || {
                let mut lost = Vec::new();
                // A load that keeps no server from its limits, however few cores there are.
                repeat(
                    PAUSE,
                    || over.load(Ordering::Relaxed),
                    || match balancer.pick().try_check("btc", ADDRESSES[0]) {
                        Ok(answer) if answer.status == 200 => {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(answer) => lost.push(format!("{}: {}", answer.status, answer.text)),
                        Err(error) => lost.push(format!("{error:?}")),
                    },
                );
                lost
            })
        })
        .collect();
    for _ in 0..servers.len() {
        let before = answered.load(Ordering::Relaxed);
        wait_until("there is load", || answered.load(Ordering::Relaxed) > before + 200);
        let (mut old, old_caller) = servers.remove(0);
        let new = platform.server(&[]);
        wait_until("the new one is ready", || is_ready(&new));
        let caller = new.caller(&key);
        balancer.add(&caller);
        servers.push((new, caller));
        old.signal("TERM");
        let before = answered.load(Ordering::Relaxed);
        wait_until("the balancer learns late of it", || {
            answered.load(Ordering::Relaxed) > before + 100
        });
        balancer.remove(&old_caller);
        assert_eq!(old.wait(), Some(0), "{}", old.log());
    }
    over.store(true, Ordering::Relaxed);
    let lost: Vec<String> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
    eprintln!("three servers replaced: {} answers", answered.load(Ordering::Relaxed));
    assert!(lost.is_empty(), "{} lost, such as {}", lost.len(), lost[0]);
}
