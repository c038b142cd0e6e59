//! Everything that a backend of chain graphs implements, and the parts that are the same in each.
//!
//! A backend keeps the rows of [`rows`] in any store that has transactions and ordered keys. The embedded
//! store is one backend; another one is written outside this crate from public items alone:
//!
//! 1. **Writing.** Implement [`Recorder`] and hand it to [`Writer`]. The writer decides: it looks rows up
//!    through the recorder, checks that blocks follow one another, numbers transactions and owners, keeps
//!    statistics and the undo log, and passes a [`WritePlan`] whose rows the recorder writes in one
//!    transaction. [`GraphState`] is the graph's own row; [`GraphState::new`] makes the first one.
//! 2. **Reading.** Implement [`Graph`](crate::Graph) and [`GraphView`](crate::GraphView). Each call reads
//!    one state of the store, and all calls of a view the same one. [`numbers`] has numbers of outputs,
//!    [`TransactionHead`] assembles a transaction, [`blocks`] whole blocks, [`TouchedOwners`] the owners in a range of blocks, [`WorkSum`] its work,
//!    [`cluster`] clusters, and [`Fingerprint`] hashes all rows.
//! 3. **Opening.** Implement [`GraphStore`](crate::GraphStore): one writer for each chain at a time
//!    ([`GraphError::Busy`](crate::GraphError::Busy)), and any number of readers.
//! 4. **Errors.** Failures of the store are
//!    [`GraphError::Backend`](crate::GraphError::Backend); an output that is spent twice is
//!    [`GraphError::SpentTwice`](crate::GraphError::SpentTwice), which the writer explains.
//! 5. **Proof.** Run [`conformance`](crate::conformance) (feature `conformance`) against the backend.
//!
//! `tests/ordered_maps` of this crate is such a backend in full, over ordered maps.

pub mod answer;
pub mod blocks;
pub(crate) mod cache;
pub mod cluster;
mod fingerprint;
pub mod numbers;
mod plan;
pub mod rows;
mod state;
mod touched;
mod work;
mod writer;

pub use answer::{SideEntries, TransactionHead};
pub use fingerprint::Fingerprint;
pub use plan::WritePlan;
pub use state::GraphState;
pub use touched::TouchedOwners;
pub use work::WorkSum;
pub use writer::{RecordedOutput, Recorder, Writer};
