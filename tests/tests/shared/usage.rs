//! Charges of several servers agree with the counts of their callers.

use std::{
    thread,
    time::{Duration, Instant},
};

use assay_tests::platform::Platform;

use crate::support::{ADDRESSES, charged, checked, plan_with_high_limits};

#[test]
fn servers_that_stop_lose_nothing_and_one_that_is_killed_less_than_a_second() {
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let mut servers = platform.servers(3, &platform.key(), &[]);
    thread::scope(|scope| {
        for (_, caller) in &servers {
            scope.spawn(move || {
                for _ in 0..400 {
                    let _ = checked(caller, "btc", ADDRESSES[0]);
                }
            });
        }
    });
    let answered = 3 * 400;
    for (server, _) in &mut servers {
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0));
    }
    assert_eq!(charged(&platform), answered, "stopped: to the last one");

    // Given a server that is killed amid its answers.
    let (mut server, caller) = platform.servers(1, &platform.key(), &[]).remove(0);
    let mut times = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        let _ = checked(&caller, "btc", ADDRESSES[0]);
        times.push(Instant::now());
    }
    let killed = Instant::now();
    server.signal("KILL");
    let _ = server.wait();
    let written = charged(&platform) - answered;
    let lost = times.len() as u64 - written;
    let of_last_second =
        times.iter().filter(|at| killed.duration_since(**at) < Duration::from_secs(1)).count();
    eprintln!("killed: {lost} of {} lost; {of_last_second} were of the last second", times.len());
    assert!(lost <= of_last_second as u64, "{lost} lost");
}
