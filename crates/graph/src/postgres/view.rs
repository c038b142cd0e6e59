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
        ViewError, Waypoint, entries_of_each,
    },
    trace::ReadLimits,
    utxo::{BlockRef, ResolvedBlock, ScriptOwner, TransactionKind, TransactionView, Txid},
};
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{PgConnection, Postgres, Row, SqlStr, Transaction, postgres::PgRow};
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

/// Entries that were fetched, by the number of their transaction, and their owners.
#[derive(Debug, Default)]
struct GatheredEntries {
    entries: HashMap<i64, Vec<Entry>>,
    owners: HashMap<i64, ScriptOwner>,
}

impl GatheredEntries {
    fn of(rows: &[PgRow], direction: Direction) -> Result<Self, GraphError> {
        let mut gathered = Self::default();
        for found in rows {
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
            gathered.owners.insert(owner, rows::owner_from_key(key)?);
            let value = row::amount(found.try_get(2)?)?;
            let owner = OwnerNumber(owner.unsigned_abs());
            let entry = Entry { index, value, owner, leads_to };
            gathered.entries.entry(transaction).or_default().push(entry);
        }
        Ok(gathered)
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
        let statement = match direction {
            Direction::Source => &queries.inputs,
            Direction::Destination => &queries.outputs,
        };
        let statement = sqlx::query(statement.clone()).bind(&numbers).bind(i64::from(most));
        let found = statement.fetch_all(&mut *state).await?;
        let GatheredEntries { mut entries, owners } = GatheredEntries::of(&found, direction)?;
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

    /// Fetches the transactions of a history with the entries that are read of them, and sets their times and totals.
    async fn fetch_own(
        &self,
        state: &mut PgConnection,
        history: &mut OwnHistory,
        limits: ReadLimits,
    ) -> Result<(), GraphError> {
        for (own, direction) in [
            (&mut history.incoming, Direction::Source),
            (&mut history.outgoing, Direction::Destination),
        ] {
            // How many entries a transaction has decides how many are read of the others.
            let heads: Vec<i64> = own.iter().map(|own| stored(own.number.0)).collect();
            self.fetch_transactions(state, heads.into_iter(), direction, 0).await?;
            let most = entries_of_each(self, own, direction, limits)?;
            let (mut with_entries, mut read) = (Vec::new(), TransactionRead::default());
            for (own, most) in own.iter_mut().zip(most) {
                self.read(own.number, direction, 0, &mut read)?;
                (own.time, own.inputs) = (read.time, read.inputs.total);
                if most > 0 && read.side(direction).count > 0 {
                    with_entries.push(stored(own.number.0));
                }
            }
            let most = limits.entries_of_one();
            self.fetch_transactions(state, with_entries.into_iter(), direction, most).await?;
        }
        Ok(())
    }

    /// Fetches those entries of transactions that are of some owners, besides the largest ones.
    async fn fetch_entries_of(
        &self,
        state: &mut PgConnection,
        own: &[OwnTransaction],
        direction: Direction,
        owners: &[i64],
    ) -> Result<(), GraphError> {
        let numbers: Vec<i64> = own.iter().map(|own| stored(own.number.0)).collect();
        let queries = &self.graph.queries;
        let statement: &SqlStr = match direction {
            Direction::Source => &queries.inputs_of_owners,
            Direction::Destination => &queries.outputs_of_owners,
        };
        let statement = sqlx::query(statement.clone()).bind(numbers).bind(owners);
        let found = statement.fetch_all(&mut *state).await?;
        let GatheredEntries { entries, owners } = GatheredEntries::of(&found, direction)?;
        let clusters = self.clusters_of(state, owners.keys().copied()).await?;
        self.gather(|gathered| {
            gathered.owners.extend(owners);
            gathered.clusters.extend(clusters);
            for (number, more) in entries {
                let known = gathered.transactions.get_mut(&number);
                let side = known.and_then(|known| match direction {
                    Direction::Source => known.inputs.as_mut(),
                    Direction::Destination => known.outputs.as_mut(),
                });
                if let Some(side) = side {
                    side.entries.extend(more);
                    side.entries.sort_unstable_by_key(|entry| entry.index);
                    side.entries.dedup_by_key(|entry| entry.index);
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

/// Adds transactions of an owner to its history, each once, in the order of the chain. Their times and totals are set
/// when they are fetched.
fn add_own(history: &mut OwnHistory, rows: &[PgRow]) -> Result<(), GraphError> {
    let sum = |stored: Option<i64>| row::amount(stored.unwrap_or_default()).map(u128::from);
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    for found in rows {
        let is_incoming: bool = found.try_get(0)?;
        let received = sum(found.try_get(2)?)?;
        let own = OwnTransaction {
            number: numbered(found.try_get(1)?),
            time: Timestamp::UNIX_EPOCH,
            inputs: 0,
            received,
            sent: sum(found.try_get(3)?)?,
            unspent: if is_incoming { received - sum(found.try_get(4)?)? } else { 0 },
            is_passed_on: is_incoming && found.try_get(5)?,
        };
        if is_incoming { incoming.push(own) } else { outgoing.push(own) }
    }
    history.add(Direction::Source, incoming);
    history.add(Direction::Destination, outgoing);
    Ok(())
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
        add_own(&mut history, &query.fetch_all(&mut *state).await?)?;
        self.fetch_own(state, &mut history, limits).await?;
        Ok(history)
    }

    async fn add_dealings(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
        others: &[ScriptOwner],
        history: &mut OwnHistory,
    ) -> Result<(), GraphError> {
        let state = &mut **self.state.lock().await;
        let query =
            self.graph.schema.sql("SELECT holder_id FROM chain.holder WHERE key = ANY ($1)");
        let keys: Vec<Vec<u8>> = others.iter().map(ScriptOwner::to_bytes).collect();
        let found = sqlx::query(query).bind(keys).fetch_all(&mut *state).await?;
        let others: Vec<i64> =
            found.iter().map(|found| found.try_get(0)).collect::<Result<_, sqlx::Error>>()?;
        let query = sqlx::query(self.graph.queries.dealings.clone());
        let query = query.bind(stored(owner.0)).bind(&others);
        add_own(history, &query.fetch_all(&mut *state).await?)?;
        self.fetch_own(state, history, limits).await?;
        self.fetch_entries_of(state, &history.incoming, Direction::Source, &others).await?;
        self.fetch_entries_of(state, &history.outgoing, Direction::Destination, &others).await
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
