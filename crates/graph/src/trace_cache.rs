//! What traces read, kept in memory for the next ones: most money comes from and goes to the same few places.
//!
//! Everything is kept as of one block, because the next block may spend an output, join clusters or replace a
//! transaction; what nothing spends is kept as well. A trace hands over what it read once it knows that the
//! newest block was the same all the time.

use std::{
    collections::HashMap,
    mem::size_of,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use assay_engine::{
    chain::ChainId,
    trace::{Destinations, Origins, ReadRequest, ReadResponse},
    utxo::{FeePayer, OutPoint, ScriptOwner, SideEntry, TransactionView, Txid},
};
use quick_cache::{Weighter, sync::Cache};

use crate::GraphTip;

/// Size of the cache, over all chains.
const BYTES: u64 = 64 << 20;
/// About the size of a transaction of two entries.
const TYPICAL_BYTES: u64 = 512;
/// What an entry of the cache takes beyond its key and value.
const OVERHEAD: usize = 64;

/// Number of a state of a graph, among those in which traces read.
type State = u64;

/// What tells the states of a chain's graph apart: its first and its newest block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    start: u64,
    newest: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Origin(State, Txid),
    Destination(State, OutPoint),
    Cluster(State, ScriptOwner),
}

#[derive(Clone, Debug)]
enum Value {
    /// `None` for a transaction that the chain does not have, and for an unspent output.
    Transaction(Option<Arc<TransactionView>>),
    /// The identifier of an owner's cluster.
    Cluster(ScriptOwner),
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Key, Value> for ByBytes {
    fn weight(&self, _key: &Key, value: &Value) -> u64 {
        let entries = match value {
            // A transaction of several outputs is counted for each of them.
            Value::Transaction(Some(read)) => {
                let entries = read.inputs.largest.len() + read.outputs.largest.len();
                let fees = read.fee_payers.len() * size_of::<FeePayer>();
                size_of::<TransactionView>() + fees + entries * (size_of::<SideEntry>() + OVERHEAD)
            }
            Value::Transaction(None) | Value::Cluster(_) => 0,
        };
        let bytes = size_of::<Key>() + size_of::<Value>() + OVERHEAD + entries;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// The cache of a server, for all chains.
#[derive(Debug)]
pub struct TraceCache {
    known: Cache<Key, Value, ByBytes>,
    states: Mutex<States>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Default)]
struct States {
    /// The latest one of each chain. What was kept in earlier ones is never asked for again.
    latest: HashMap<ChainId, (Extent, State)>,
    count: State,
}

impl Default for TraceCache {
    fn default() -> Self {
        let items = usize::try_from(BYTES / TYPICAL_BYTES).unwrap_or(usize::MAX);
        Self {
            known: Cache::with_weighter(items, BYTES, ByBytes),
            states: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }
}

impl TraceCache {
    /// What is known of a chain whose graph ends with this block.
    #[must_use]
    pub fn at(&self, chain: ChainId, tip: &GraphTip) -> KnownReads<'_> {
        let extent = Extent { start: tip.start, newest: tip.block.hash };
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match states.latest.get(&chain) {
            Some((latest, state)) if *latest == extent => *state,
            _ => {
                states.count += 1;
                let state = states.count;
                states.latest.insert(chain, (extent, state));
                state
            }
        };
        drop(states);
        KnownReads { cache: Some(self), state, read: ReadResponse::default() }
    }

    /// Numbers of transactions, outputs and owners that traces found here, and of those that they did not.
    pub fn hits_and_misses(&self) -> [u64; 2] {
        [&self.hits, &self.misses].map(|count| count.load(Ordering::Relaxed))
    }
}

/// What is known before a trace, and what it has read itself.
#[derive(Debug)]
pub struct KnownReads<'c> {
    cache: Option<&'c TraceCache>,
    state: State,
    /// What was read, to be kept.
    read: ReadResponse,
}

impl KnownReads<'_> {
    /// Nothing is known, and nothing is kept.
    #[must_use]
    pub fn nothing() -> Self {
        Self { cache: None, state: 0, read: ReadResponse::default() }
    }

    /// Moves what is known from a request to a response.
    pub(crate) fn answer(&self, request: &mut ReadRequest, response: &mut ReadResponse) {
        let Some(cache) = self.cache else { return };
        let asked = request.origins.len() + request.destinations.len();
        request.origins.retain(|txid| {
            let Some(Value::Transaction(known)) = cache.known.get(&Key::Origin(self.state, *txid))
            else {
                return true;
            };
            response.origins.insert(*txid, known);
            false
        });
        request.destinations.retain(|output| {
            let Some(Value::Transaction(known)) =
                cache.known.get(&Key::Destination(self.state, *output))
            else {
                return true;
            };
            response.destinations.insert(*output, known);
            false
        });
        self.count(asked, request.origins.len() + request.destinations.len());
    }

    /// Splits owners into those whose clusters are known, with these, and the others.
    pub(crate) fn clusters(
        &self,
        owners: Vec<ScriptOwner>,
    ) -> (Vec<(ScriptOwner, ScriptOwner)>, Vec<ScriptOwner>) {
        let Some(cache) = self.cache else { return (Vec::new(), owners) };
        let (asked, mut known) = (owners.len(), Vec::new());
        let mut others = Vec::new();
        for owner in owners {
            match cache.known.get(&Key::Cluster(self.state, owner.clone())) {
                Some(Value::Cluster(cluster)) => known.push((owner, cluster)),
                _ => others.push(owner),
            }
        }
        self.count(asked, others.len());
        (known, others)
    }

    fn count(&self, asked: usize, missed: usize) {
        let Some(cache) = self.cache else { return };
        cache.hits.fetch_add((asked - missed) as u64, Ordering::Relaxed);
        cache.misses.fetch_add(missed as u64, Ordering::Relaxed);
    }

    /// Notes transactions that were read.
    pub(crate) fn note(&mut self, origins: &Origins, destinations: &Destinations) {
        if self.cache.is_some() {
            self.read.origins.extend(origins.iter().map(|(txid, read)| (*txid, read.clone())));
            let spent = destinations.iter().map(|(output, read)| (*output, read.clone()));
            self.read.destinations.extend(spent);
        }
    }

    /// Notes clusters that were looked up.
    pub(crate) fn note_clusters(&mut self, clusters: &[(ScriptOwner, ScriptOwner)]) {
        if self.cache.is_some() {
            self.read.clusters.extend_from_slice(clusters);
        }
    }

    /// Keeps what was read: the newest block was the same all the time.
    pub fn keep(self) {
        let Self { cache: Some(cache), state, read } = self else { return };
        for (txid, read) in read.origins {
            cache.known.insert(Key::Origin(state, txid), Value::Transaction(read));
        }
        for (output, read) in read.destinations {
            cache.known.insert(Key::Destination(state, output), Value::Transaction(read));
        }
        for (owner, cluster) in read.clusters {
            cache.known.insert(Key::Cluster(state, owner), Value::Cluster(cluster));
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_engine::utxo::BlockRef;
    use jiff::Timestamp;

    use super::*;

    fn tip(start: u64, hash: u8) -> GraphTip {
        let time = Timestamp::UNIX_EPOCH;
        let block = BlockRef { height: 9, hash: [hash; 32], parent: [0; 32], time };
        GraphTip { start, block, verified_at: time, sample: false }
    }

    fn request() -> ReadRequest {
        let txids = [1, 2].map(|byte| Txid::from_bytes([byte; 32]));
        ReadRequest {
            origins: txids.to_vec(),
            destinations: txids.map(|txid| OutPoint { txid, index: 0 }).to_vec(),
            ..ReadRequest::default()
        }
    }

    /// What is left of the request.
    fn left(known: &KnownReads<'_>) -> (ReadRequest, ReadResponse) {
        let (mut request, mut response) = (request(), ReadResponse::default());
        known.answer(&mut request, &mut response);
        (request, response)
    }

    #[test]
    fn what_was_kept_is_known_in_the_same_state_of_the_same_chain_alone() {
        let (cache, [btc, ltc]) =
            (TraceCache::default(), ["btc", "ltc"].map(|id| id.parse().unwrap()));
        let all = request();
        let origins = Origins::from([(all.origins[0], None)]);
        let destinations = Destinations::from([(all.destinations[0], None)]);
        let [alone, other] = [1, 2].map(|byte| ScriptOwner::KeyHash([byte; 20]));

        let mut torn = cache.at(btc, &tip(0, 1));
        torn.note(&origins, &destinations);
        drop(torn);
        assert_eq!(left(&cache.at(btc, &tip(0, 1))).0, all, "nothing was kept");

        let mut read = cache.at(btc, &tip(0, 1));
        read.note(&origins, &destinations);
        read.note_clusters(&[(alone.clone(), alone.clone())]);
        read.keep();
        let known = cache.at(btc, &tip(0, 1));
        let (request, response) = left(&known);
        assert_eq!(
            (request.origins, request.destinations),
            (vec![all.origins[1]], vec![all.destinations[1]])
        );
        assert_eq!((response.origins, response.destinations), (origins, destinations));
        let (clusters, others) = known.clusters(vec![alone.clone(), other.clone()]);
        assert_eq!((clusters, others), (vec![(alone.clone(), alone)], vec![other]));
        assert_eq!(cache.hits_and_misses(), [3, 7]);

        for (chain, tip) in [(ltc, tip(0, 1)), (btc, tip(5, 1)), (btc, tip(0, 2)), (btc, tip(0, 1))]
        {
            assert_eq!(
                left(&cache.at(chain, &tip)).0,
                all,
                "another state, or one that came again"
            );
        }
    }
}
