//! One state of a graph in PostgreSQL: a transaction of the database that stays open. What a query needs is fetched in
//! batches and kept until the view ends.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use assay_database::postgres::READ;
use assay_engine::{
    evidence::Direction,
    reading::{
        ChainView, ENTRIES_PER_TRANSACTION, Entry, FeePayer, LookUp, OutputNumber, OwnHistory,
        OwnTransaction, OwnerNumber, ReadRequest, SideTotals, TransactionNumber, TransactionRead,
        ViewError, Waypoint,
    },
    trace::ReadLimits,
    utxo::{BlockRef, ResolvedBlock, ScriptOwner, TransactionKind, TransactionView, Txid},
};
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{PgConnection, Postgres, Row, Transaction};
use tokio::sync::Mutex;

use super::{
    PostgresGraph,
    cluster::{self, PostgresClusterRows},
    read, row, scan,
};
use crate::{
    Cluster, ClusterEvidence, ClusterRef, Graph, GraphError, GraphTip, GraphView, Membership,
    backend::{
        cluster::{Forest, RecordedLink},
        numbers::{output_number, transaction_and_index},
        rows::{self, TransactionRow},
    },
    read_outputs,
};

/// Most transfers of an owner that are read in each direction: each takes rows over the network, and memory.
const MOST_TRANSFERS: u32 = 20_000;

/// A view of a graph.
#[derive(Debug)]
pub(super) struct PostgresView {
    graph: Arc<PostgresGraph>,
    tip: GraphTip,
    state: Mutex<Transaction<'static, Postgres>>,
    gathered: RwLock<Gathered>,
}

/// What was fetched.
#[derive(Debug, Default)]
struct Gathered {
    transactions: HashMap<i64, GatheredTransaction>,
    /// The transactions that spend outputs.
    spenders: HashMap<OutputNumber, Option<i64>>,
    owners: HashMap<i64, ScriptOwner>,
    /// The smallest member of each owner's cluster.
    clusters: HashMap<i64, i64>,
}

#[derive(Debug)]
struct GatheredTransaction {
    row: TransactionRow,
    time: Timestamp,
    inputs: Option<GatheredSide>,
    outputs: Option<GatheredSide>,
    fee_payers: Vec<FeePayer>,
}

/// The largest entries of a side.
#[derive(Debug)]
struct GatheredSide {
    entries: Vec<Entry>,
    /// The number of entries that the fetch was limited to.
    most: u32,
}

impl GatheredTransaction {
    const fn side(&self, direction: Direction) -> Option<&GatheredSide> {
        match direction {
            Direction::Source => self.inputs.as_ref(),
            Direction::Destination => self.outputs.as_ref(),
        }
    }

    /// True if so many entries of a side were fetched, or all.
    fn has(&self, direction: Direction, most: u32) -> bool {
        self.side(direction).is_some_and(|side| side.most >= most)
    }
}

impl PostgresView {
    /// A view of the newest state; `None` without blocks.
    pub(super) async fn open(graph: Arc<PostgresGraph>) -> Result<Option<Self>, GraphError> {
        let mut read = graph.reads.begin(READ).await?;
        let Some(tip) = scan::state(&mut read, &graph.schema).await?.graph_tip() else {
            return Ok(None);
        };
        let (state, gathered) = (Mutex::new(read), RwLock::default());
        Ok(Some(Self { graph, tip, state, gathered }))
    }

    fn gathered(&self) -> RwLockReadGuard<'_, Gathered> {
        self.gathered.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn gather(&self, change: impl FnOnce(&mut Gathered)) {
        change(&mut self.gathered.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Fetches transactions with one side each, as far as they were not.
    async fn fetch_transactions(
        &self,
        state: &mut PgConnection,
        numbers: impl Iterator<Item = i64>,
        direction: Direction,
        most: u32,
    ) -> Result<(), GraphError> {
        let mut numbers: Vec<i64> = {
            let gathered = self.gathered();
            let is_known = |number: &i64| {
                let known = gathered.transactions.get(number);
                known.is_some_and(|known| known.has(direction, most))
            };
            numbers.filter(|number| !is_known(number)).collect()
        };
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Ok(());
        }
        let queries = &self.graph.queries;
        let heads = sqlx::query(queries.heads.clone()).bind(&numbers).fetch_all(&mut *state);
        let mut heads: Vec<(TransactionRow, Timestamp)> = heads
            .await?
            .iter()
            .map(|found| Ok((row::transaction(found)?, row::time(found, 9)?)))
            .collect::<Result<_, GraphError>>()?;
        let (mut entries, mut owners) = (HashMap::<i64, Vec<Entry>>::new(), HashMap::new());
        let statement = match direction {
            Direction::Source => &queries.inputs,
            Direction::Destination => &queries.outputs,
        };
        let statement = sqlx::query(statement.clone()).bind(&numbers).bind(i64::from(most));
        for found in statement.fetch_all(&mut *state).await? {
            let (transaction, index): (i64, _) = (found.try_get(0)?, row::index(found.try_get(1)?));
            let owner: i64 = found.try_get(3)?;
            let (leads_to, key) = match direction {
                Direction::Source => {
                    let made = found.try_get::<Option<i64>, _>(4)?.map(numbered);
                    (made.map(Waypoint::Transaction), found.try_get(5)?)
                }
                Direction::Destination => {
                    let output = output_number(transaction, index);
                    (Some(Waypoint::Output(output)), found.try_get(4)?)
                }
            };
            owners.insert(owner, rows::owner_from_key(key)?);
            let value = row::amount(found.try_get(2)?)?;
            let owner = OwnerNumber(owner.unsigned_abs());
            entries.entry(transaction).or_default().push(Entry { index, value, owner, leads_to });
        }
        let mut payers = HashMap::<i64, Vec<FeePayer>>::new();
        let coinbases = heads.iter().filter(|(row, _)| row.kind == TransactionKind::Coinbase);
        let coinbases: Vec<i64> = coinbases.map(|(row, _)| row.number).collect();
        if direction == Direction::Source && !coinbases.is_empty() {
            let query = sqlx::query(queries.fee_payers.clone()).bind(coinbases);
            for found in query.fetch_all(&mut *state).await? {
                let transaction = numbered(found.try_get(1)?);
                let fee = row::amount(found.try_get(2)?)?;
                payers.entry(found.try_get(0)?).or_default().push(FeePayer { transaction, fee });
            }
        }
        let clusters = self.clusters_of(state, owners.keys().copied()).await?;
        self.gather(|gathered| {
            gathered.owners.extend(owners);
            gathered.clusters.extend(clusters);
            for (row, time) in heads.drain(..) {
                let number = row.number;
                let known =
                    gathered.transactions.entry(number).or_insert_with(|| GatheredTransaction {
                        row,
                        time,
                        inputs: None,
                        outputs: None,
                        fee_payers: vec![],
                    });
                let mut entries = entries.remove(&number).unwrap_or_default();
                entries.sort_unstable_by_key(|entry| entry.index);
                let side = Some(GatheredSide { entries, most });
                match direction {
                    Direction::Source => {
                        known.inputs = side;
                        known.fee_payers = payers.remove(&number).unwrap_or_default();
                    }
                    Direction::Destination => known.outputs = side,
                }
            }
        });
        Ok(())
    }

    /// The smallest members of the clusters of owners that were not looked up before.
    async fn clusters_of(
        &self,
        state: &mut PgConnection,
        owners: impl Iterator<Item = i64>,
    ) -> Result<Vec<(i64, i64)>, GraphError> {
        let owners: Vec<i64> = {
            let gathered = self.gathered();
            owners.filter(|owner| !gathered.clusters.contains_key(owner)).collect()
        };
        let mut forest = Forest::default();
        let links: Vec<RecordedLink> = cluster::links(state, &self.graph.schema, &owners).await?;
        for link in links {
            forest.add(link);
        }
        let smallest = |owner: i64| (owner, forest.cluster(forest.path(owner).1).smallest);
        Ok(owners.into_iter().map(smallest).collect())
    }
}

fn numbered(number: i64) -> TransactionNumber {
    TransactionNumber(number.unsigned_abs())
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// What a query asks for that was not fetched: never so for one that keeps to [`ChainView`].
fn unread(what: &'static str, number: u64) -> ViewError {
    GraphError::unreadable(what, format!("{number} was not fetched")).into()
}

impl ChainView for PostgresView {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookUp, ViewError> {
        let gathered = self.gathered();
        let (number, is_read) = match waypoint {
            Waypoint::Transaction(number) => {
                let known = gathered.transactions.get(&stored(number.0));
                let most = ENTRIES_PER_TRANSACTION;
                (number, known.is_some_and(|known| known.has(Direction::Source, most)))
            }
            Waypoint::Output(output) => match gathered.spenders.get(&output) {
                None => return Ok(LookUp::Unread),
                Some(None) => return Ok(LookUp::Nothing),
                Some(Some(number)) => {
                    let known = gathered.transactions.get(number);
                    let (direction, most) = (Direction::Destination, ENTRIES_PER_TRANSACTION);
                    (numbered(*number), known.is_some_and(|known| known.has(direction, most)))
                }
            },
        };
        Ok(if is_read {
            LookUp::Transaction { number, position: number.0 }
        } else {
            LookUp::Unread
        })
    }

    fn read(
        &self,
        number: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        let gathered = self.gathered();
        let known = gathered.transactions.get(&stored(number.0));
        let known = known.ok_or_else(|| unread("transaction", number.0))?;
        let bare = known.row.bare(known.time);
        into.number = number;
        into.position = number.0;
        into.height = bare.height;
        into.time = bare.time;
        into.kind = bare.kind;
        for (into, side) in [(&mut into.inputs, &bare.inputs), (&mut into.outputs, &bare.outputs)] {
            *into = SideTotals { count: side.count, total: side.total, unknown: side.unknown };
        }
        into.entries.clear();
        into.fee_payers.clear();
        if direction == Direction::Source {
            into.fee_payers.extend_from_slice(&known.fee_payers);
        }
        match known.side(direction) {
            Some(side) => into.entries.extend_from_slice(&side.entries),
            None if most == 0 => {}
            None => return Err(unread("transaction", number.0)),
        }
        into.keep_largest(most);
        Ok(())
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        let found = self.gathered().clusters.get(&stored(owner.0)).copied();
        found.map(|owner| OwnerNumber(owner.unsigned_abs())).ok_or_else(|| unread("owner", owner.0))
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        let found = self.gathered().owners.get(&stored(number.0)).cloned();
        found.ok_or_else(|| unread("owner", number.0))
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        let found = self.gathered().transactions.get(&stored(number.0)).map(|known| known.row.txid);
        found.ok_or_else(|| unread("transaction", number.0))
    }
}

#[async_trait]
impl GraphView for PostgresView {
    fn lend(&self, read: &mut dyn FnMut(&dyn ChainView)) {
        read(self);
    }

    async fn owner_number(&self, owner: &ScriptOwner) -> Result<Option<OwnerNumber>, GraphError> {
        let query = self.graph.schema.sql("SELECT holder_id FROM chain.holder WHERE key = $1");
        let state = &mut **self.state.lock().await;
        let query = sqlx::query(query).bind(owner.to_bytes());
        let Some(found) = query.fetch_optional(&mut *state).await? else { return Ok(None) };
        let number: i64 = found.try_get(0)?;
        let clusters = self.clusters_of(state, std::iter::once(number)).await?;
        self.gather(|gathered| {
            gathered.owners.insert(number, owner.clone());
            gathered.clusters.extend(clusters);
        });
        Ok(Some(OwnerNumber(number.unsigned_abs())))
    }

    async fn transaction_number(
        &self,
        txid: &Txid,
    ) -> Result<Option<TransactionNumber>, GraphError> {
        let query = self.graph.schema.sql(
            "SELECT max(tx_id) FROM (SELECT tx_id FROM chain.tx WHERE txid = $1 OFFSET 0) AS same",
        );
        let query = sqlx::query(query).bind(&txid.as_bytes()[..]);
        let found = query.fetch_one(&mut **self.state.lock().await).await?;
        Ok(found.try_get::<Option<i64>, _>(0)?.map(numbered))
    }

    async fn history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<OwnHistory, GraphError> {
        let state = &mut **self.state.lock().await;
        let query = self
            .graph
            .schema
            .sql(&format!("SELECT {} FROM chain.holder AS h WHERE holder_id = $1", row::OWNER));
        let found = sqlx::query(query).bind(stored(owner.0)).fetch_one(&mut *state).await?;
        let statistics = row::owner(&found)?.statistics;
        let mut history = OwnHistory { statistics, incoming: vec![], outgoing: vec![] };
        let query = sqlx::query(self.graph.queries.history.clone());
        let most = limits.transfers.min(MOST_TRANSFERS);
        let query = query.bind(stored(owner.0)).bind(i64::from(most));
        let sum = |stored: Option<i64>| row::amount(stored.unwrap_or_default()).map(u128::from);
        for found in query.fetch_all(&mut *state).await? {
            let is_incoming: bool = found.try_get(0)?;
            let received = sum(found.try_get(2)?)?;
            let own = OwnTransaction {
                number: numbered(found.try_get(1)?),
                // Set when the transactions are read.
                time: Timestamp::UNIX_EPOCH,
                inputs: 0,
                received,
                sent: sum(found.try_get(3)?)?,
                unspent: if is_incoming { received - sum(found.try_get(4)?)? } else { 0 },
                is_passed_on: is_incoming && found.try_get(5)?,
            };
            let side = if is_incoming { &mut history.incoming } else { &mut history.outgoing };
            side.push(own);
        }
        for (side, direction) in [
            (&mut history.incoming, Direction::Source),
            (&mut history.outgoing, Direction::Destination),
        ] {
            side.sort_unstable_by_key(|own| own.number);
            let numbers = side.iter().map(|own| stored(own.number.0));
            let most = limits.entries_per_transaction(side.len());
            self.fetch_transactions(state, numbers, direction, most).await?;
            let mut read = TransactionRead::default();
            for own in side {
                self.read(own.number, direction, 0, &mut read)?;
                (own.time, own.inputs) = (read.time, read.inputs.total);
            }
        }
        Ok(history)
    }

    async fn outputs_of(&self, transaction: TransactionNumber) -> Result<Vec<Entry>, GraphError> {
        let state = &mut **self.state.lock().await;
        let (number, direction) = (stored(transaction.0), Direction::Destination);
        self.fetch_transactions(state, std::iter::once(number), direction, u32::MAX).await?;
        Ok(read_outputs(self, transaction)?)
    }

    async fn fetch(&self, request: &ReadRequest) -> Result<(), GraphError> {
        let state = &mut **self.state.lock().await;
        let numbers = request.transactions.iter().map(|number| stored(number.0));
        let most = ENTRIES_PER_TRANSACTION;
        self.fetch_transactions(state, numbers, Direction::Source, most).await?;
        let (numbers, indexes): (Vec<i64>, Vec<i32>) = request
            .outputs
            .iter()
            .map(|output| transaction_and_index(*output))
            .map(|(transaction, index)| (stored(transaction.0), index.cast_signed()))
            .unzip();
        if numbers.is_empty() {
            return Ok(());
        }
        let query = sqlx::query(self.graph.queries.spenders.clone());
        let mut spenders = Vec::with_capacity(numbers.len());
        for found in query.bind(numbers).bind(indexes).fetch_all(&mut *state).await? {
            let output = output_number(found.try_get(0)?, row::index(found.try_get(1)?));
            spenders.push((output, found.try_get::<Option<i64>, _>(2)?));
        }
        let numbers = spenders.iter().filter_map(|(_, spender)| *spender);
        self.fetch_transactions(state, numbers, Direction::Destination, most).await?;
        self.gather(|gathered| gathered.spenders.extend(spenders));
        Ok(())
    }
}

#[async_trait]
impl Graph for PostgresView {
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError> {
        Ok(Some(self))
    }

    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        Ok(Some(self.tip))
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        scan::blocks(&mut **self.state.lock().await, &self.graph.schema, (from, to)).await
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        let state = &mut **self.state.lock().await;
        read::transaction(state, &self.graph.queries, txid, largest).await
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        let state = &mut **self.state.lock().await;
        scan::touched_above(state, &self.graph.schema, height, most).await
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        self.graph.each_block(from, to, each).await
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        cluster::clusters(&mut **self.state.lock().await, &self.graph.schema, owners).await
    }

    async fn cluster(&self, owner: &ScriptOwner, most: u32) -> Result<Option<Cluster>, GraphError> {
        let connection = &mut **self.state.lock().await;
        let mut rows = PostgresClusterRows { connection, schema: &self.graph.schema };
        crate::backend::cluster::cluster(&mut rows, owner, most).await
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        let connection = &mut **self.state.lock().await;
        let mut rows = PostgresClusterRows { connection, schema: &self.graph.schema };
        crate::backend::cluster::connections(&mut rows, owner, others, most).await
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        let connection = &mut **self.state.lock().await;
        let mut rows = PostgresClusterRows { connection, schema: &self.graph.schema };
        crate::backend::cluster::changed_above(&mut rows, height, most).await
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        self.graph.each_member(each).await
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        self.graph.fingerprint().await
    }
}
