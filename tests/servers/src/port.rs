//! Ports for servers that do not choose one themselves.

use std::{
    net::TcpListener,
    process,
    sync::atomic::{AtomicU16, Ordering},
};

/// Number of ports of one process, and number of processes that have ports of their own. All ports are below 32,768,
/// from which the system assigns ports to connections of other tests.
const OF_A_PROCESS: u16 = 200;
const PROCESSES: u16 = 110;
const FIRST: u16 = 10_000;

/// A free port of this machine that was not given to another test.
///
/// # Panics
///
/// Panics if no port is free.
#[must_use]
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let process = u16::try_from(process::id() % u32::from(PROCESSES)).expect("a small number");
    let mut ports = (0..OF_A_PROCESS * 2).map(|_| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed) % OF_A_PROCESS;
        FIRST + process * OF_A_PROCESS + next
    });
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
