//! A graph in `SQLite` as a whole: its tip, its blocks, everything in it.

use std::ops::ControlFlow;

use assay_database::value;
use assay_engine::utxo::{
    BlockRef, OutPoint, ResolvedBlock, ScriptOwner, TransactionView, TxInput, TxOut, Txid,
};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Row, SqliteConnection, sqlite::SqliteRow};

use super::{SqliteGraph, cluster::SqliteClusterRows, read, row};
use crate::{
    Cluster, ClusterEvidence, ClusterRef, Graph, GraphError, GraphTip, Membership,
    backend::{
        Fingerprint, GraphState, TOUCHED_PAGE, TouchedOwners,
        blocks::{self, BlockEntries, BlockSpan},
        cluster,
        rows::{self, TransactionRow},
    },
};

/// Blocks whose places are read at once.
const SPANS: u32 = 1024;

/// State of a graph.
pub(super) async fn state(connection: &mut SqliteConnection) -> Result<GraphState, GraphError> {
    let row = sqlx::query(
        "SELECT b.height, b.hash, b.parent, b.time, g.verified_at, g.chain, g.start, g.sample,
                g.next_tx, g.next_holder, g.reorganisable_from, g.indexed
         FROM graph AS g LEFT JOIN block AS b ON b.height = g.tip",
    )
    .fetch_one(connection)
    .await?;
    let tip = match value::optional_time("graph.verified_at", row.try_get(4)?)? {
        Some(verified_at) if row.try_get::<Option<i64>, _>(0)?.is_some() => {
            Some((row::block_ref(&row)?, verified_at))
        }
        _ => None,
    };
    Ok(GraphState {
        chain: value::parsed("graph.chain", row.try_get(5)?)?,
        start: value::unsigned("graph.start", row.try_get(6)?)?,
        sample: row.try_get(7)?,
        tip,
        next_transaction: row.try_get(8)?,
        next_owner: row.try_get(9)?,
        reorganisable_from: value::unsigned("graph.reorganisable_from", row.try_get(10)?)?,
        indexed: row.try_get(11)?,
    })
}

#[async_trait]
impl Graph for SqliteGraph {
    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        let mut read = self.pool.acquire().await?;
        Ok(state(&mut read).await?.graph_tip())
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        let query = format!(
            "SELECT {} FROM block WHERE height BETWEEN ? AND ? ORDER BY height",
            row::BLOCK
        );
        let mut rows = sqlx::query(AssertSqlSafe(query))
            .bind(value::signed(from))
            .bind(value::signed(to))
            .fetch(&self.pool);
        let mut blocks = Vec::new();
        while let Some(row) = rows.try_next().await? {
            blocks.push(row::block_ref(&row)?);
        }
        Ok(blocks)
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        read::transaction(self, txid, largest).await
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        let mut read = self.pool.begin().await?;
        let row = sqlx::query(
            "SELECT (SELECT min(first_tx) FROM block WHERE height > ?), next_tx FROM graph",
        )
        .bind(value::signed(height))
        .fetch_one(&mut *read)
        .await?;
        let mut touched = TouchedOwners::new(most);
        let (Some(mut from), end) = (row.try_get::<Option<i64>, _>(0)?, row.try_get::<i64, _>(1)?)
        else {
            return Ok(Vec::new());
        };
        while from < end && touched.wants_more() {
            let rows = sqlx::query(
                "SELECT tx_id, 0 AS side, place, holder_id FROM input
                 WHERE tx_id >= ?1 AND tx_id < ?2 AND holder_id IS NOT NULL
                 UNION ALL
                 SELECT tx_id, 1 AS side, place, holder_id FROM output
                 WHERE tx_id >= ?1 AND tx_id < ?2
                 ORDER BY 1, 2, 3",
            )
            .bind(from)
            .bind(from + TOUCHED_PAGE)
            .fetch_all(&mut *read)
            .await?;
            for row in rows {
                touched.add(row.try_get(3)?);
            }
            from += TOUCHED_PAGE;
        }
        let numbers = touched.numbers();
        let rows = sqlx::query(
            "SELECT h.key FROM json_each(?) AS asked
             CROSS JOIN holder AS h ON h.holder_id = asked.value ORDER BY asked.key",
        )
        .bind(read::json(numbers.iter().map(i64::to_string)))
        .fetch_all(&mut *read)
        .await?;
        rows.iter().map(|row| rows::owner_from_key(row.try_get(0)?)).collect()
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        let mut read = self.pool.begin().await?;
        let mut from = from;
        loop {
            let spans = spans(&mut read, from, to).await?;
            let Some(last) = spans.last() else { return Ok(()) };
            from = last.row.block.height + 1;
            for part in blocks::parts(&spans) {
                let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
                let numbers = (first.row.first_transaction, last.end);
                let transactions = transactions(&mut read, numbers).await?;
                let sides = sides(&mut read, numbers).await?;
                blocks::assemble(part, transactions, sides, each);
            }
        }
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        let mut read = self.pool.begin().await?;
        cluster::clusters(&mut SqliteClusterRows(&mut read), owners).await
    }

    async fn cluster(&self, owner: &ScriptOwner, most: u32) -> Result<Option<Cluster>, GraphError> {
        let mut read = self.pool.begin().await?;
        cluster::cluster(&mut SqliteClusterRows(&mut read), owner, most).await
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        let mut read = self.pool.begin().await?;
        cluster::connections(&mut SqliteClusterRows(&mut read), owner, others, most).await
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        let mut read = self.pool.begin().await?;
        cluster::changed_above(&mut SqliteClusterRows(&mut read), height, most).await
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        let mut read = self.pool.begin().await?;
        cluster::each_member(&mut SqliteClusterRows(&mut read), each).await
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let mut read = self.pool.begin().await?;
        let GraphState { start, sample, .. } = state(&mut read).await?;
        let mut print = Fingerprint::default();
        let all = |columns, table, order| format!("SELECT {columns} FROM {table} ORDER BY {order}");
        let query = all(row::BLOCK, "block", "height");
        each_row(&mut read, query, row::block, |row| print.block(&row)).await?;
        let query = all(row::TRANSACTION, "tx AS t", "tx_id");
        each_row(&mut read, query, row::transaction, |row| print.transaction(&row)).await?;
        let query = all(row::INPUT, "input", "tx_id, place");
        each_row(&mut read, query, row::input, |row| print.input(&row)).await?;
        let query = all(row::OUTPUT, "output", "tx_id, place");
        each_row(&mut read, query, row::output, |row| print.output(&row)).await?;
        let query = all(row::OWNER, "holder AS h", "holder_id");
        each_row(&mut read, query, row::owner, |row| print.owner(&row)).await?;
        let query =
            all(row::LINK, &format!("cluster_link AS l {}", row::CONFIRMATION), "l.child_id");
        each_row(&mut read, query, row::link, |row| print.link(&row)).await?;
        Ok(print.finish(self.chain, start, sample))
    }
}

/// Reads rows one by one.
async fn each_row<T>(
    read: &mut SqliteConnection,
    query: String,
    row: impl Fn(&SqliteRow) -> Result<T, GraphError>,
    mut each: impl FnMut(T),
) -> Result<(), GraphError> {
    let mut rows = sqlx::query(AssertSqlSafe(query)).fetch(read);
    while let Some(found) = rows.try_next().await? {
        each(row(&found)?);
    }
    Ok(())
}

/// Blocks from one height to another, with the numbers of their transactions: the first of them.
async fn spans(
    read: &mut SqliteConnection,
    from: u64,
    to: u64,
) -> Result<Vec<BlockSpan>, GraphError> {
    let query = format!(
        "SELECT {}, coalesce((SELECT first_tx FROM block AS next WHERE next.height = b.height + 1),
                             (SELECT next_tx FROM graph))
         FROM block AS b WHERE height BETWEEN ? AND ? ORDER BY height LIMIT ?",
        row::BLOCK
    );
    let rows = sqlx::query(AssertSqlSafe(query))
        .bind(value::signed(from))
        .bind(value::signed(to))
        .bind(SPANS)
        .fetch_all(read)
        .await?;
    rows.iter().map(|row| Ok(BlockSpan { row: row::block(row)?, end: row.try_get(6)? })).collect()
}

/// Transactions from one number to before another.
async fn transactions(
    read: &mut SqliteConnection,
    (from, end): (i64, i64),
) -> Result<Vec<TransactionRow>, GraphError> {
    let query = format!(
        "SELECT {} FROM tx AS t WHERE tx_id >= {from} AND tx_id < {end} ORDER BY tx_id",
        row::TRANSACTION
    );
    let mut transactions = Vec::new();
    each_row(read, query, row::transaction, |row| transactions.push(row)).await?;
    Ok(transactions)
}

/// The legs of transactions from one number to before another.
async fn sides(
    read: &mut SqliteConnection,
    (from, end): (i64, i64),
) -> Result<BlockEntries, GraphError> {
    let mut sides = BlockEntries { inputs: Vec::new(), outputs: Vec::new() };
    let rows = sqlx::query(
        "SELECT i.tx_id, i.prev_index, i.value, h.key, t.txid,
                CASE WHEN i.prev_tx_id IS NULL THEN i.prev_txid
                     ELSE (SELECT txid FROM tx WHERE tx_id = i.prev_tx_id) END
         FROM tx AS t CROSS JOIN input AS i ON i.tx_id = t.tx_id
         LEFT JOIN holder AS h ON h.holder_id = i.holder_id
         WHERE t.tx_id >= ? AND t.tx_id < ? ORDER BY i.tx_id, i.place",
    );
    let mut rows = rows.bind(from).bind(end).fetch(&mut *read);
    while let Some(row) = rows.try_next().await? {
        let spent = match row.try_get::<Option<&[u8]>, _>(3)? {
            Some(key) => {
                Some(TxOut { owner: rows::owner_from_key(key)?, value: row::amount(&row, 2)? })
            }
            None => None,
        };
        let input = match row.try_get::<Option<&[u8]>, _>(5)? {
            Some(txid) => {
                let outpoint =
                    OutPoint { txid: rows::txid_from_bytes(txid)?, index: row::index(&row, 1)? };
                TxInput { outpoint, spent }
            }
            None => TxInput::from_pool(rows::txid_from_bytes(row.try_get(4)?)?, spent),
        };
        sides.inputs.push((row.try_get(0)?, input));
    }
    drop(rows);
    let rows = sqlx::query(
        "SELECT o.tx_id, o.value, h.key FROM output AS o
         CROSS JOIN holder AS h ON h.holder_id = o.holder_id
         WHERE o.tx_id >= ? AND o.tx_id < ? ORDER BY o.tx_id, o.place",
    );
    let mut rows = rows.bind(from).bind(end).fetch(read);
    while let Some(row) = rows.try_next().await? {
        let output =
            TxOut { owner: rows::owner_from_key(row.try_get(2)?)?, value: row::amount(&row, 1)? };
        sides.outputs.push((row.try_get(0)?, output));
    }
    Ok(sides)
}
