//! Observation of the connection that carries a response: its end, and bytes beyond the response.
//!
//! The HTTP client reads as many bytes as the response states and calls that the whole body. The connection tells two
//! more things: that the server sent more than it stated, and that a body without a stated length ended because the
//! connection broke.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ureq::{
    Error, Timeout,
    http::Uri,
    unversioned::transport::{
        Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
        time::Duration,
    },
};

/// Time for which a connection is read after the response, until the server closes it.
const CLOSING_SECONDS: u64 = 1;

/// Facts about the connection of one response, known once its body was read.
#[derive(Debug, Default)]
pub(crate) struct ConnectionFacts {
    is_body_read: AtomicBool,
    ended: AtomicBool,
    broken: AtomicBool,
    surplus: AtomicBool,
    encrypted: AtomicBool,
}

impl ConnectionFacts {
    /// Notes that the body of a file is read from now on.
    pub(crate) fn begin_body(&self) {
        self.is_body_read.store(true, Ordering::Relaxed);
    }

    /// True if the end of the connection ended the body, and nobody vouches that it is the body's end. TLS does, unless
    /// the connection broke.
    pub(crate) fn has_doubtful_end(&self) -> bool {
        let is_told =
            self.encrypted.load(Ordering::Relaxed) && !self.broken.load(Ordering::Relaxed);
        self.ended.load(Ordering::Relaxed) && !is_told
    }

    /// True if the server sent bytes after the body.
    pub(crate) fn has_surplus(&self) -> bool {
        self.surplus.load(Ordering::Relaxed)
    }
}

/// Connector that notes facts about the connection to one server, and not about that to its proxy.
#[derive(Debug)]
pub(crate) struct ObservedConnector {
    inner: DefaultConnector,
    server: Uri,
    facts: Arc<ConnectionFacts>,
}

impl ObservedConnector {
    /// Connects to the server of a URL.
    pub(crate) fn new(server: Uri, facts: Arc<ConnectionFacts>) -> Self {
        Self { inner: DefaultConnector::default(), server, facts }
    }
}

impl Connector<()> for ObservedConnector {
    type Out = ObservedTransport;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        let facts = (*details.uri == self.server).then(|| Arc::clone(&self.facts));
        let inner = self.inner.connect(details, chained)?;
        Ok(inner.map(|inner| ObservedTransport { inner, facts }))
    }
}

/// Transport that notes facts about its connection.
#[derive(Debug)]
pub(crate) struct ObservedTransport {
    inner: Box<dyn Transport>,
    facts: Option<Arc<ConnectionFacts>>,
}

impl Transport for ObservedTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let received = self.inner.await_input(timeout);
        if let Some(facts) = self.facts.as_ref().filter(|_| !matches!(received, Ok(true))) {
            facts.encrypted.store(self.inner.is_tls(), Ordering::Relaxed);
            facts.broken.store(received.is_err(), Ordering::Relaxed);
            facts.ended.store(true, Ordering::Relaxed);
        }
        received
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

impl Drop for ObservedTransport {
    /// Reads on after a body, until the server closes the connection as it was asked to.
    fn drop(&mut self) {
        let Some(facts) = self.facts.take() else { return };
        if !facts.is_body_read.load(Ordering::Relaxed) {
            return;
        }
        let timeout = NextTimeout {
            after: Duration::from_secs(CLOSING_SECONDS),
            reason: Timeout::RecvBody,
            ..NextTimeout::default()
        };
        let has_more = |inner: &mut Box<dyn Transport>| !inner.buffers().input().is_empty();
        if !has_more(&mut self.inner) && !facts.ended.load(Ordering::Relaxed) {
            // An error is an end of the connection, too.
            let _ = self.inner.await_input(timeout);
        }
        facts.surplus.store(has_more(&mut self.inner), Ordering::Relaxed);
    }
}
