//! Open connections of a listener, and the choice of the connection to evict if there are too many.
//!
//! Opening connections costs a caller next to nothing. Therefore connections without a request with a valid key are
//! limited for each peer: a new connection evicts the peer's oldest one. If all connections are in use, the oldest
//! unauthenticated connection of the peer with the most unauthenticated connections is evicted. A caller with a key
//! thus connects at once and stays connected, however many connections others open.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

/// Bounds of the connections of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionBounds {
    /// Largest number of connections.
    pub all: usize,
    /// Largest number of unauthenticated connections of one peer.
    pub per_peer: usize,
}

/// Open connections.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    bounds: ConnectionBounds,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    next: u64,
    /// Unauthenticated connections of each peer by number, oldest first. `None` stands for all callers of a trusted
    /// proxy that names no callers.
    unauthenticated: HashMap<Option<IpAddr>, BTreeMap<u64, Arc<Entry>>>,
}

/// A peer as a key of the unauthenticated connections.
struct Peer(Option<IpAddr>);

/// A connection.
#[derive(Debug)]
struct Entry {
    number: u64,
    /// True once a request on the connection had a valid key.
    is_keyed: AtomicBool,
    evicted: Notify,
}

/// An open connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    table: Arc<ConnectionTable>,
    entry: Arc<Entry>,
    peer: Option<IpAddr>,
}

/// Mark on the requests of a connection: their handlers record a valid key in it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionMark {
    table: Arc<ConnectionTable>,
    entry: Arc<Entry>,
    peer: Option<IpAddr>,
}

impl ConnectionTable {
    pub(crate) fn new(bounds: ConnectionBounds) -> Arc<Self> {
        Arc::new(Self { bounds, state: Mutex::default(), freed: Notify::new() })
    }

    /// Waits until a connection can be admitted.
    pub(crate) async fn wait_for_capacity(&self) {
        loop {
            let freed = self.freed.notified();
            let has_room = {
                let state = self.lock();
                state.open < self.bounds.all || !state.unauthenticated.is_empty()
            };
            if has_room {
                return;
            }
            freed.await;
        }
    }

    /// Admits a connection of a peer, and evicts another connection if necessary; `None` if no other connection may be
    /// evicted.
    pub(crate) fn admit(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<OpenConnection> {
        let mut state = self.lock();
        state.limit_peer(peer, self.bounds.per_peer);
        if state.open >= self.bounds.all {
            let fullest = state.fullest_peer()?;
            state.evict_oldest(fullest.0);
        }
        state.open += 1;
        state.next += 1;
        let number = state.next;
        let entry =
            Arc::new(Entry { number, is_keyed: AtomicBool::new(false), evicted: Notify::new() });
        state.unauthenticated.entry(peer).or_default().insert(number, Arc::clone(&entry));
        Some(OpenConnection { table: Arc::clone(self), entry, peer })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Evicts unauthenticated connections of a peer until one more connection is within the peer's limit.
    fn limit_peer(&mut self, peer: Option<IpAddr>, most: usize) {
        let count = self.unauthenticated.get(&peer).map_or(0, BTreeMap::len);
        if peer.is_some() && count >= most {
            self.evict_oldest(peer);
        }
    }

    /// Returns the peer with most unauthenticated connections; of several such peers, the peer with the oldest
    /// connection.
    fn fullest_peer(&self) -> Option<Peer> {
        let by_count = |(_, unauthenticated): &(&Option<IpAddr>, &BTreeMap<u64, Arc<Entry>>)| {
            let oldest = unauthenticated.first_key_value().map_or(u64::MAX, |(number, _)| *number);
            (unauthenticated.len(), std::cmp::Reverse(oldest))
        };
        self.unauthenticated.iter().max_by_key(by_count).map(|(peer, _)| Peer(*peer))
    }

    fn evict_oldest(&mut self, peer: Option<IpAddr>) {
        let oldest = self.unauthenticated.get(&peer).and_then(BTreeMap::first_key_value);
        if let Some(number) = oldest.map(|(number, _)| *number)
            && let Some(entry) = self.remove_unauthenticated(peer, number)
        {
            self.open -= 1;
            entry.evicted.notify_one();
        }
    }

    fn remove_unauthenticated(&mut self, peer: Option<IpAddr>, number: u64) -> Option<Arc<Entry>> {
        let unauthenticated = self.unauthenticated.get_mut(&peer)?;
        let entry = unauthenticated.remove(&number);
        if unauthenticated.is_empty() {
            self.unauthenticated.remove(&peer);
        }
        entry
    }
}

impl OpenConnection {
    /// Completes when the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.entry.evicted.notified().await;
    }

    /// Sets the peer that a proxy named.
    pub(crate) fn set_peer(&mut self, peer: IpAddr) {
        let mut state = self.table.lock();
        if let Some(entry) = state.remove_unauthenticated(self.peer, self.entry.number) {
            self.peer = Some(peer);
            state.limit_peer(self.peer, self.table.bounds.per_peer);
            state.unauthenticated.entry(self.peer).or_default().insert(entry.number, entry);
        }
    }

    /// Returns the mark of the connection's requests.
    pub(crate) fn mark(&self) -> ConnectionMark {
        let (table, entry) = (Arc::clone(&self.table), Arc::clone(&self.entry));
        ConnectionMark { table, entry, peer: self.peer }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut state = self.table.lock();
        let was_stranger = state.remove_unauthenticated(self.peer, self.entry.number).is_some();
        // An evicted connection is no longer counted.
        if was_stranger || self.entry.is_keyed.load(Ordering::Relaxed) {
            state.open -= 1;
        }
        drop(state);
        self.table.freed.notify_one();
    }
}

impl ConnectionMark {
    /// Returns the peer of the connection; `None` for a caller of a trusted proxy that does not name its callers.
    pub(crate) const fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// Records that a request on the connection had a valid key. The listener no longer evicts the connection.
    pub(crate) fn record_key(&self) {
        if self.entry.is_keyed.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.table.lock();
        // A connection that was evicted in the meantime ends nevertheless.
        if state.remove_unauthenticated(self.peer, self.entry.number).is_some() {
            self.entry.is_keyed.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const NONE: [usize; 0] = [];

    fn table(all: usize, per_peer: usize) -> Arc<ConnectionTable> {
        ConnectionTable::new(ConnectionBounds { all, per_peer })
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the table takes it")]
    fn peer(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    /// Returns the indexes of connections that were evicted since the last call.
    fn evicted(connections: &[OpenConnection]) -> Vec<usize> {
        let of = |(index, connection): (usize, &OpenConnection)| {
            connection.evicted().now_or_never().map(|()| index)
        };
        connections.iter().enumerate().filter_map(of).collect()
    }

    #[test]
    fn the_oldest_stranger_of_the_fullest_peer_ends_for_a_new_connection() {
        let table = table(4, 4);
        let peers = [1, 2, 2, 2];
        let open: Vec<_> = peers.map(|last| table.admit(peer(last)).unwrap()).into();
        let _fifth = table.admit(peer(3)).unwrap();
        assert_eq!(evicted(&open), [1]);
        let _sixth = table.admit(peer(3)).unwrap();
        assert_eq!(evicted(&open), [2], "of peers with two each, the older one's");
    }

    #[test]
    fn a_connection_that_showed_a_key_stays() {
        let table = table(2, 2);
        let mut open = vec![table.admit(peer(1)).unwrap()];
        open[0].mark().record_key();
        for _ in 0..10 {
            open.push(table.admit(peer(2)).unwrap());
        }
        assert_eq!(evicted(&open), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        open[10].mark().record_key();
        assert!(table.admit(peer(3)).is_none(), "nobody may end");
        assert!(table.wait_for_capacity().now_or_never().is_none());
        open.truncate(10);
        assert!(table.wait_for_capacity().now_or_never().is_some());
        open.truncate(1);
        let last = [table.admit(peer(3)).unwrap()];
        assert_eq!(evicted(&last), NONE);
        assert_eq!(table.lock().open, 2);
    }

    #[test]
    fn a_peer_has_at_most_so_many_strangers_and_any_number_with_keys() {
        let table = table(100, 3);
        let open: Vec<_> = (0..5).map(|_| table.admit(peer(1)).unwrap()).collect();
        assert_eq!(evicted(&open), [0, 1]);
        open[2].mark().record_key();
        let _more = table.admit(peer(1)).unwrap();
        assert_eq!(evicted(&open), NONE);
        let other = [table.admit(peer(2)).unwrap()];
        assert_eq!(evicted(&other), NONE);
    }

    #[test]
    fn callers_of_a_proxy_are_bounded_once_they_are_known() {
        let table = table(100, 2);
        let mut open: Vec<_> = (0..6).map(|_| table.admit(None).unwrap()).collect();
        assert_eq!(evicted(&open), NONE);
        for connection in &mut open[..3] {
            connection.set_peer(peer(1).unwrap());
        }
        assert_eq!(evicted(&open), [0]);
        assert_eq!(table.lock().open, 5);
        drop(open);
        let state = table.lock();
        assert_eq!((state.open, state.unauthenticated.len()), (0, 0));
    }
}
