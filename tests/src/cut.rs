//! A network partition on demand: a proxy between a program and a server stops forwarding and resumes later.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

use assay_test_servers::Listener;

/// A TCP proxy to a server on this machine. While the proxy is cut, it forwards neither bytes, nor new connections, nor
/// closed ones.
#[derive(Debug)]
pub struct CuttableProxy {
    listener: Listener,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    is_cut: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, is_cut: bool) {
        *self.is_cut.lock().unwrap_or_else(PoisonError::into_inner) = is_cut;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let is_cut = self.is_cut.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = self.changed.wait_while(is_cut, |is_cut| *is_cut);
        drop(passed.unwrap_or_else(PoisonError::into_inner));
    }
}

impl CuttableProxy {
    /// Forwards to a port of this machine.
    ///
    /// # Panics
    ///
    /// Panics if the proxy cannot listen.
    #[must_use]
    pub fn start(port: u16) -> Self {
        let gate = Arc::<Gate>::default();
        let passed = Arc::clone(&gate);
        let listener = Listener::start(move |caller| {
            passed.pass();
            connect(caller, port, &passed);
            Ok(false)
        });
        Self { listener, gate }
    }

    /// The port of the proxy.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.listener.address().port()
    }

    /// Stops forwarding.
    pub fn cut(&self) {
        self.gate.set(true);
    }

    /// Resumes forwarding, also of bytes that waited.
    pub fn restore(&self) {
        self.gate.set(false);
    }
}

impl Drop for CuttableProxy {
    fn drop(&mut self) {
        // No connection waits forever.
        self.restore();
    }
}

fn connect(caller: &TcpStream, port: u16, gate: &Arc<Gate>) {
    // Without a server the caller's connection is closed.
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
    for (from, to) in [(caller, &server), (&server, caller)] {
        let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
        let gate = Arc::clone(gate);
        thread::spawn(move || forward(from, to, &gate));
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, gate: &Gate) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        gate.pass();
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() || to.write_all(bytes).is_err() {
            // The other direction ends by itself.
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
    }
}
