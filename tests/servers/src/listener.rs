//! A TCP server with a thread for each connection and sequential requests.

use std::{
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// A TCP server. Dropping the server closes all connections.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: AtomicBool,
    open: Mutex<Vec<Weak<TcpStream>>>,
}

impl Listener {
    /// Listens on a free port. `serve` reads one request from a connection, answers it, and returns true if another
    /// request may follow. An error ends the connection: callers may hang up.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot listen.
    #[must_use]
    pub fn start(serve: impl Fn(&TcpStream) -> io::Result<bool> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (serve, shared) = (Arc::new(serve), Arc::<Shared>::default());
        let kept = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(stream) = kept.take(stream) else { break };
                let serve = Arc::clone(&serve);
                thread::spawn(move || while matches!(serve(&stream), Ok(true)) {});
            }
        });
        Self { address, shared }
    }

    /// Address at which the server listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Shared {
    /// Registers a connection. `None` if the server was stopped.
    fn take(&self, stream: TcpStream) -> Option<Arc<TcpStream>> {
        let mut open = self.open();
        if self.stopping.load(Ordering::Relaxed) {
            return None;
        }
        let stream = Arc::new(stream);
        open.retain(|stream| stream.strong_count() > 0);
        open.push(Arc::downgrade(&stream));
        Some(stream)
    }

    fn open(&self) -> MutexGuard<'_, Vec<Weak<TcpStream>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let open = {
            let mut open = self.shared.open();
            self.shared.stopping.store(true, Ordering::Relaxed);
            std::mem::take(&mut *open)
        };
        for stream in open.iter().filter_map(Weak::upgrade) {
            // The caller may be gone already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}
