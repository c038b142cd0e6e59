//! A graph in PostgreSQL as a whole: its tip, its blocks, everything in it.

use std::{ops::ControlFlow, sync::Arc};

use assay_database::{postgres::READ, value};
use assay_engine::utxo::{
    BlockRef, OutPoint, ResolvedBlock, ScriptOwner, TransactionView, TxInput, TxOut, Txid,
};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use sqlx::{PgConnection, Row, SqlStr, postgres::PgRow};

use super::{
    PostgresGraph, Schema,
    cluster::{PostgresClusterRows, clusters},
    read, row,
    view::PostgresView,
};
use crate::{
    Cluster, ClusterEvidence, ClusterRef, Graph, GraphError, GraphTip, GraphView, Membership,
    backend::{
        Fingerprint, GraphState, TOUCHED_PAGE, TouchedOwners,
        blocks::{self, BlockEntries, BlockSpan},
        cluster,
        rows::{self, TransactionRow},
    },
};

/// Blocks whose places are read at once.
const SPANS: i64 = 4096;

/// State of a graph.
pub(super) async fn state(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<GraphState, GraphError> {
    let row = sqlx::query(schema.sql(
        "SELECT b.height, b.hash, b.parent, b.time, g.verified_at, g.chain, g.start, g.sample,
                g.next_tx, g.next_holder, g.reorganisable_from, g.indexed
         FROM chain.graph AS g LEFT JOIN chain.block AS b ON b.height = g.tip",
    ))
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
impl Graph for PostgresGraph {
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError> {
        Ok(PostgresView::open(self).await?.map(|view| Arc::new(view) as Arc<dyn GraphView>))
    }

    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        let asking = async {
            let mut read = self.control.acquire().await?;
            Ok(state(&mut read, &self.schema).await?.graph_tip())
        };
        self.control.with_timeout(asking).await
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        let asking = async {
            let mut connection = self.control.acquire().await?;
            blocks(&mut connection, &self.schema, (from, to)).await
        };
        self.control.with_timeout(asking).await
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        let mut connection = self.reads.acquire().await?;
        read::transaction(&mut connection, &self.queries, txid, largest).await
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        let asking = async {
            let mut read = self.control.begin(READ).await?;
            touched_above(&mut read, &self.schema, height, most).await
        };
        self.control.with_timeout(asking).await
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        let working = async {
            let mut read = self.reads.begin(READ).await?;
            let mut from = from;
            loop {
                let spans = spans(&mut read, &self.schema, from, to).await?;
                let Some(last) = spans.last() else { return Ok(()) };
                from = last.row.block.height + 1;
                for part in blocks::parts(&spans) {
                    let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
                    let numbers = (first.row.first_transaction, last.end);
                    let transactions = transactions(&mut read, &self.schema, numbers).await?;
                    let sides = sides(&mut read, &self.schema, numbers).await?;
                    blocks::assemble(part, transactions, sides, each);
                }
            }
        };
        self.reads.with_liveness_probe(working).await
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        let mut connection = self.reads.acquire().await?;
        clusters(&mut connection, &self.schema, owners).await
    }

    async fn cluster(&self, owner: &ScriptOwner, most: u32) -> Result<Option<Cluster>, GraphError> {
        let mut read = self.reads.begin(READ).await?;
        let mut rows = PostgresClusterRows { connection: &mut read, schema: &self.schema };
        cluster::cluster(&mut rows, owner, most).await
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        let mut read = self.reads.begin(READ).await?;
        let mut rows = PostgresClusterRows { connection: &mut read, schema: &self.schema };
        cluster::connections(&mut rows, owner, others, most).await
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        let mut read = self.reads.begin(READ).await?;
        let mut rows = PostgresClusterRows { connection: &mut read, schema: &self.schema };
        cluster::changed_above(&mut rows, height, most).await
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        let working = async {
            let mut read = self.reads.begin(READ).await?;
            let mut rows = PostgresClusterRows { connection: &mut read, schema: &self.schema };
            cluster::each_member(&mut rows, each).await
        };
        self.reads.with_liveness_probe(working).await
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let working = async {
            let mut read = self.reads.begin(READ).await?;
            let GraphState { start, sample, .. } = state(&mut read, &self.schema).await?;
            let mut print = Fingerprint::default();
            let all = |columns, table, order| {
                self.schema.sql(&format!("SELECT {columns} FROM chain.{table} ORDER BY {order}"))
            };
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
        };
        self.reads.with_liveness_probe(working).await
    }
}

/// The blocks of these heights.
pub(super) async fn blocks(
    read: &mut PgConnection,
    schema: &Schema,
    (from, to): (u64, u64),
) -> Result<Vec<BlockRef>, GraphError> {
    let query = format!(
        "SELECT {} FROM chain.block WHERE height BETWEEN $1 AND $2 ORDER BY height",
        row::BLOCK
    );
    let query = sqlx::query(schema.sql(&query));
    let rows = query.bind(value::signed(from)).bind(value::signed(to)).fetch_all(read).await?;
    rows.iter().map(row::block_ref).collect()
}

/// Owners that the blocks above a height touched.
pub(super) async fn touched_above(
    read: &mut PgConnection,
    schema: &Schema,
    height: u64,
    most: u32,
) -> Result<Vec<ScriptOwner>, GraphError> {
    let row = sqlx::query(schema.sql(
        "SELECT (SELECT first_tx FROM chain.block WHERE height > $1 ORDER BY height LIMIT 1),
                next_tx
         FROM chain.graph",
    ))
    .bind(value::signed(height))
    .fetch_one(&mut *read)
    .await?;
    let (Some(mut from), end) = (row.try_get::<Option<i64>, _>(0)?, row.try_get::<i64, _>(1)?)
    else {
        return Ok(Vec::new());
    };
    let mut touched = TouchedOwners::new(most);
    while from < end && touched.wants_more() {
        let rows = sqlx::query(schema.sql(
            "SELECT holder_id, tx_id, 0 AS side, place FROM chain.input
             WHERE tx_id >= $1 AND tx_id < $2 AND holder_id IS NOT NULL
             UNION ALL
             SELECT holder_id, tx_id, 1 AS side, place FROM chain.output
             WHERE tx_id >= $1 AND tx_id < $2
             ORDER BY 2, 3, 4",
        ))
        .bind(from)
        .bind(from + TOUCHED_PAGE)
        .fetch_all(&mut *read)
        .await?;
        for row in rows {
            touched.add(row.try_get(0)?);
        }
        from += TOUCHED_PAGE;
    }
    let rows = sqlx::query(schema.sql(
        "SELECT (SELECT key FROM chain.holder WHERE holder_id = asked.number)
         FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (number, place)
         ORDER BY asked.place",
    ))
    .bind(touched.numbers())
    .fetch_all(&mut *read)
    .await?;
    rows.iter().map(|row| rows::owner_from_key(row.try_get(0)?)).collect()
}

/// Reads rows one by one.
async fn each_row<T>(
    read: &mut PgConnection,
    query: SqlStr,
    row: impl Fn(&PgRow) -> Result<T, GraphError>,
    mut each: impl FnMut(T),
) -> Result<(), GraphError> {
    let mut rows = sqlx::query(query).fetch(read);
    while let Some(found) = rows.try_next().await? {
        each(row(&found)?);
    }
    Ok(())
}

/// Blocks from one height to another, with the numbers of their transactions: the first of them.
async fn spans(
    read: &mut PgConnection,
    schema: &Schema,
    from: u64,
    to: u64,
) -> Result<Vec<BlockSpan>, GraphError> {
    let query = format!(
        "SELECT {}, coalesce((SELECT first_tx FROM chain.block AS next
                              WHERE next.height = b.height + 1),
                             (SELECT next_tx FROM chain.graph))
         FROM chain.block AS b WHERE height BETWEEN $1 AND $2 ORDER BY height LIMIT $3",
        row::BLOCK
    );
    let rows = sqlx::query(schema.sql(&query))
        .bind(value::signed(from))
        .bind(value::signed(to))
        .bind(SPANS)
        .fetch_all(read)
        .await?;
    rows.iter().map(|row| Ok(BlockSpan { row: row::block(row)?, end: row.try_get(6)? })).collect()
}

/// Transactions from one number to before another.
async fn transactions(
    read: &mut PgConnection,
    schema: &Schema,
    (from, end): (i64, i64),
) -> Result<Vec<TransactionRow>, GraphError> {
    let query = format!(
        "SELECT {} FROM chain.tx AS t WHERE tx_id >= $1 AND tx_id < $2 ORDER BY tx_id",
        row::TRANSACTION
    );
    let rows = sqlx::query(schema.sql(&query)).bind(from).bind(end).fetch_all(read).await?;
    rows.iter().map(row::transaction).collect()
}

/// The legs of transactions from one number to before another.
async fn sides(
    read: &mut PgConnection,
    schema: &Schema,
    (from, end): (i64, i64),
) -> Result<BlockEntries, GraphError> {
    let mut sides = BlockEntries { inputs: Vec::new(), outputs: Vec::new() };
    let query = schema.sql(
        "SELECT tx_id, prev_index, value,
                (SELECT key FROM chain.holder AS h WHERE h.holder_id = i.holder_id),
                (SELECT txid FROM chain.tx AS t WHERE t.tx_id = i.tx_id),
                CASE WHEN prev_tx_id IS NULL THEN prev_txid
                     ELSE (SELECT txid FROM chain.tx AS p WHERE p.tx_id = i.prev_tx_id) END
         FROM chain.input AS i WHERE tx_id >= $1 AND tx_id < $2 ORDER BY tx_id, place",
    );
    let mut rows = sqlx::query(query).bind(from).bind(end).fetch(&mut *read);
    while let Some(row) = rows.try_next().await? {
        let spent = match row.try_get::<Option<&[u8]>, _>(3)? {
            Some(key) => Some(TxOut {
                owner: rows::owner_from_key(key)?,
                value: row::amount(row.try_get(2)?)?,
            }),
            None => None,
        };
        let input = match row.try_get::<Option<&[u8]>, _>(5)? {
            Some(txid) => {
                let index = row::index(row.try_get(1)?);
                TxInput::new(OutPoint { txid: rows::txid_from_bytes(txid)?, index }, spent)
            }
            None => TxInput::from_pool(rows::txid_from_bytes(row.try_get(4)?)?, spent),
        };
        sides.inputs.push((row.try_get(0)?, input));
    }
    drop(rows);
    let query = schema.sql(
        "SELECT tx_id, value, (SELECT key FROM chain.holder AS h WHERE h.holder_id = o.holder_id)
         FROM chain.output AS o WHERE tx_id >= $1 AND tx_id < $2 ORDER BY tx_id, place",
    );
    let mut rows = sqlx::query(query).bind(from).bind(end).fetch(read);
    while let Some(row) = rows.try_next().await? {
        let (owner, value) =
            (rows::owner_from_key(row.try_get(2)?)?, row::amount(row.try_get(1)?)?);
        sides.outputs.push((row.try_get(0)?, TxOut { owner, value }));
    }
    Ok(sides)
}
