//! Flows of money, read from a graph in `SQLite`. Every call reads one state of the file.
//!
//! `CROSS JOIN` keeps the order in which tables are written here: from the requested keys, by
//! index, to the rows. A transaction may have as many inputs and outputs as a block has room for:
//! one with more than are requested is read on its own, so that the database leaves out the rest. A
//! plus before a column excludes its index: by transaction there is little to read, by owner there
//! may be millions.

use std::collections::HashMap;

use assay_engine::{
    trace::ReadLimits,
    utxo::{
        FeePayer, History, OutPoint, OwnOutput, ScriptOwner, SideEntry, TransactionKind,
        TransactionView, TxInput, TxOut, Txid,
    },
};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Row, SqliteConnection, sqlite::SqliteRow};

use super::{SqliteGraph, row};
use crate::{
    FlowSource, GraphError,
    backend::{
        answer::{HistoryRows, Inputs, OwnEntries, SideEntries, TransactionHead, keep_largest},
        rows::{self, OwnerRow},
    },
};

/// Columns of a leg among the inputs.
const INPUT_LEG: &str = "SELECT i.tx_id, i.place, i.value, h.key, i.prev_index,
            CASE WHEN i.prev_tx_id IS NOT NULL
                 THEN (SELECT txid FROM tx WHERE tx_id = i.prev_tx_id) ELSE i.prev_txid END";
/// Columns of a leg among the outputs.
const OUTPUT_LEG: &str = "SELECT o.tx_id, o.place, o.value, h.key";

/// A list in JSON of items that are JSON already.
pub(super) fn json(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// A list of outputs, each as `[transaction, place]`.
pub(super) fn outpoints(outputs: &[OutPoint]) -> String {
    json(outputs.iter().map(|output| format!("[\"{}\",{}]", output.txid, output.index)))
}

fn numbers<'a>(heads: impl Iterator<Item = &'a TransactionHead>) -> String {
    json(heads.map(|head| head.row.number.to_string()))
}

#[derive(Clone, Copy)]
pub(super) enum Direction {
    Inputs,
    Outputs,
}

#[async_trait]
impl FlowSource for SqliteGraph {
    async fn history(
        &self,
        owner: &ScriptOwner,
        limits: ReadLimits,
    ) -> Result<Option<History>, GraphError> {
        let mut read = self.pool.begin().await?;
        let query = format!("SELECT {} FROM holder AS h WHERE key = ?", row::OWNER);
        let found = sqlx::query(AssertSqlSafe(query))
            .bind(owner.to_bytes())
            .fetch_optional(&mut *read)
            .await?;
        let Some(found) = found else { return Ok(None) };
        let OwnerRow { number, statistics, .. } = row::owner(&found)?;

        let incoming = moving(&mut read, Direction::Outputs, number, limits.transfers).await?;
        let outgoing = moving(&mut read, Direction::Inputs, number, limits.transfers).await?;
        let [of_incoming, of_outgoing] =
            [&incoming, &outgoing].map(|moved| limits.entries_per_transaction(moved.len()));
        let inputs = inputs(&mut read, &incoming, of_incoming).await?;
        let outputs = entries(&mut read, Direction::Outputs, &outgoing, of_outgoing).await?;
        let own = own(&mut read, number, numbers(incoming.iter().chain(&outgoing))).await?;
        Ok(Some(HistoryRows { statistics, incoming, outgoing, inputs, outputs, own }.history()))
    }

    async fn origins(
        &self,
        transactions: &[Txid],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        let mut read = self.pool.begin().await?;
        let found = by_txid(&mut read, transactions).await?;
        let (places, heads): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let inputs = inputs(&mut read, &heads, largest).await?;
        let found = heads.iter().map(|head| head.with(Some(&inputs), None));
        Ok(answers(transactions.len(), places.into_iter().zip(found)))
    }

    async fn destinations(
        &self,
        outputs: &[OutPoint],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        let mut read = self.pool.begin().await?;
        let query = format!(
            "SELECT {}, b.time, asked.key FROM json_each(?) AS asked
             CROSS JOIN input AS i
               ON i.prev_tx_id = (SELECT max(tx_id) FROM tx WHERE txid = unhex(asked.value ->> 0))
              AND i.prev_index = asked.value ->> 1
             CROSS JOIN tx AS t ON t.tx_id = i.tx_id
             CROSS JOIN block AS b ON b.height = t.height",
            row::TRANSACTION
        );
        let found = heads(&mut read, query, self::outpoints(outputs)).await?;
        let (places, heads): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let side = entries(&mut read, Direction::Outputs, &heads, largest).await?;
        let found = heads.iter().map(|head| head.with(None, Some(&side)));
        Ok(answers(outputs.len(), places.into_iter().zip(found)))
    }
}

/// A transaction, with both sides.
pub(super) async fn transaction(
    graph: &SqliteGraph,
    txid: &Txid,
    largest: u32,
) -> Result<Option<TransactionView>, GraphError> {
    let mut read = graph.pool.begin().await?;
    let found = by_txid(&mut read, &[*txid]).await?;
    let Some((_, head)) = found.into_iter().next() else { return Ok(None) };
    let head = [head];
    let inputs = inputs(&mut read, &head, largest).await?;
    let outputs = entries(&mut read, Direction::Outputs, &head, largest).await?;
    Ok(head.first().map(|head| head.with(Some(&inputs), Some(&outputs))))
}

/// The newest transactions of identifiers, each with the place at which it was asked for.
async fn by_txid(
    read: &mut SqliteConnection,
    transactions: &[Txid],
) -> Result<Vec<(usize, TransactionHead)>, GraphError> {
    let query = format!(
        "SELECT {}, b.time, asked.key FROM json_each(?) AS asked
         CROSS JOIN tx AS t
           ON t.tx_id = (SELECT max(tx_id) FROM tx WHERE txid = unhex(asked.value))
         CROSS JOIN block AS b ON b.height = t.height",
        row::TRANSACTION
    );
    let asked = json(transactions.iter().map(|txid| format!("\"{txid}\"")));
    heads(read, query, asked).await
}

async fn heads(
    read: &mut SqliteConnection,
    query: String,
    asked: String,
) -> Result<Vec<(usize, TransactionHead)>, GraphError> {
    let mut rows = sqlx::query(AssertSqlSafe(query)).bind(asked).fetch(read);
    let mut found = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let place: i64 = row.try_get(10)?;
        found.push((usize::try_from(place).unwrap_or(usize::MAX), head(&row)?));
    }
    Ok(found)
}

fn head(row: &SqliteRow) -> Result<TransactionHead, GraphError> {
    Ok(TransactionHead { row: row::transaction(row)?, time: row::time(row, 9)? })
}

/// The transactions that were found, in the order of the request.
fn answers(
    asked: usize,
    found: impl Iterator<Item = (usize, TransactionView)>,
) -> Vec<Option<TransactionView>> {
    let mut answers = vec![None; asked];
    for (place, transaction) in found {
        if let Some(answer) = answers.get_mut(place) {
            *answer = Some(transaction);
        }
    }
    answers
}

/// The largest inputs of transactions, and who paid coinbases.
async fn inputs(
    read: &mut SqliteConnection,
    heads: &[TransactionHead],
    largest: u32,
) -> Result<Inputs, GraphError> {
    let entries = entries(read, Direction::Inputs, heads, largest).await?;
    let coinbases = heads.iter().filter(|head| head.row.kind == TransactionKind::Coinbase);
    let mut fee_payers: HashMap<i64, Vec<FeePayer>> = HashMap::new();
    for head in coinbases {
        if fee_payers.contains_key(&head.row.number) {
            continue;
        }
        let rows = sqlx::query(
            "SELECT txid, input_total - output_total AS fee FROM tx
             WHERE tx_id >= (SELECT first_tx FROM block WHERE height = ?1)
               AND tx_id < coalesce((SELECT first_tx FROM block WHERE height = ?1 + 1),
                                    9223372036854775807)
               AND input_total > output_total
             ORDER BY fee DESC, tx_id LIMIT 100",
        )
        .bind(i64::try_from(head.row.height).unwrap_or(i64::MAX))
        .fetch_all(&mut *read)
        .await?;
        let payer = |row: &SqliteRow| {
            let txid = rows::txid_from_bytes(row.try_get(0)?)?;
            Ok::<_, GraphError>(FeePayer { txid, fee: row::amount(row, 1)? })
        };
        let payers = rows.iter().map(payer).collect::<Result<_, _>>()?;
        fee_payers.insert(head.row.number, payers);
    }
    Ok(Inputs { entries, fee_payers })
}

/// The transactions of an owner's largest inputs or outputs, in the order of the chain.
async fn moving(
    read: &mut SqliteConnection,
    direction: Direction,
    owner: i64,
    largest: u32,
) -> Result<Vec<TransactionHead>, GraphError> {
    let table = match direction {
        Direction::Inputs => "input",
        Direction::Outputs => "output",
    };
    let query = format!(
        "SELECT {}, b.time FROM
             (SELECT DISTINCT tx_id FROM (SELECT tx_id FROM {table} WHERE holder_id = ?
                                          ORDER BY value DESC, tx_id, place LIMIT ?)) AS chosen
         CROSS JOIN tx AS t ON t.tx_id = chosen.tx_id
         CROSS JOIN block AS b ON b.height = t.height",
        row::TRANSACTION
    );
    let mut rows = sqlx::query(AssertSqlSafe(query)).bind(owner).bind(largest).fetch(read);
    let mut heads = Vec::new();
    while let Some(row) = rows.try_next().await? {
        heads.push(head(&row)?);
    }
    heads.sort_unstable_by_key(|head| head.row.number);
    Ok(heads)
}

/// The largest legs of one side of transactions.
async fn entries(
    read: &mut SqliteConnection,
    direction: Direction,
    heads: &[TransactionHead],
    largest: u32,
) -> Result<SideEntries, GraphError> {
    let count = |head: &TransactionHead| match direction {
        Direction::Inputs => head.row.inputs,
        Direction::Outputs => head.row.outputs,
    };
    let (small, large): (Vec<_>, Vec<_>) =
        heads.iter().partition(|head| count(head) <= i64::from(largest));
    let mut side = SideEntries::new();
    let whole = match direction {
        Direction::Inputs => format!(
            "{INPUT_LEG} FROM json_each(?) AS asked
             CROSS JOIN input AS i ON i.tx_id = asked.value
             CROSS JOIN holder AS h ON h.holder_id = i.holder_id"
        ),
        Direction::Outputs => format!(
            "{OUTPUT_LEG} FROM json_each(?) AS asked
             CROSS JOIN output AS o ON o.tx_id = asked.value
             CROSS JOIN holder AS h ON h.holder_id = o.holder_id"
        ),
    };
    let mut seen = std::collections::HashSet::new();
    let small = small.into_iter().filter(|head| seen.insert(head.row.number));
    let asked = sqlx::query(AssertSqlSafe(whole)).bind(numbers(small));
    collect(asked.fetch(&mut *read), direction, heads, &mut side).await?;

    let largest_only = match direction {
        Direction::Inputs => format!(
            "{INPUT_LEG} FROM (SELECT * FROM input WHERE tx_id = ? AND holder_id IS NOT NULL
                               ORDER BY value DESC, place LIMIT ?) AS i
             CROSS JOIN holder AS h ON h.holder_id = i.holder_id"
        ),
        Direction::Outputs => format!(
            "{OUTPUT_LEG} FROM (SELECT * FROM output WHERE tx_id = ?
                                ORDER BY value DESC, place LIMIT ?) AS o
             CROSS JOIN holder AS h ON h.holder_id = o.holder_id"
        ),
    };
    let large = large.into_iter().filter(|head| seen.insert(head.row.number));
    for head in large {
        let asked = sqlx::query(AssertSqlSafe(largest_only.clone()));
        let asked = asked.bind(head.row.number).bind(largest);
        collect(asked.fetch(&mut *read), direction, heads, &mut side).await?;
    }
    keep_largest(&mut side, largest);
    Ok(side)
}

async fn collect(
    mut rows: impl futures_util::Stream<Item = Result<SqliteRow, sqlx::Error>> + Unpin,
    direction: Direction,
    heads: &[TransactionHead],
    side: &mut SideEntries,
) -> Result<(), GraphError> {
    let txids: HashMap<i64, Txid> =
        heads.iter().map(|head| (head.row.number, head.row.txid)).collect();
    while let Some(row) = rows.try_next().await? {
        let number: i64 = row.try_get(0)?;
        let Some(&itself) = txids.get(&number) else { continue };
        let index = row::index(&row, 1)?;
        let outpoint = match direction {
            Direction::Outputs => OutPoint { txid: itself, index },
            Direction::Inputs => match row.try_get::<Option<&[u8]>, _>(5)? {
                Some(txid) => {
                    OutPoint { txid: rows::txid_from_bytes(txid)?, index: row::index(&row, 4)? }
                }
                None => TxInput::from_pool(itself, None).outpoint,
            },
        };
        let (value, owner) = (row::amount(&row, 2)?, rows::owner_from_key(row.try_get(3)?)?);
        let output = TxOut { owner, value };
        side.entry(number).or_default().push(SideEntry { index, outpoint, output });
    }
    Ok(())
}

/// Amounts that an owner itself moved by transactions.
async fn own(
    read: &mut SqliteConnection,
    owner: i64,
    transactions: String,
) -> Result<HashMap<i64, OwnEntries>, GraphError> {
    let mut own: HashMap<i64, OwnEntries> = HashMap::new();
    let mut rows = sqlx::query(
        "SELECT o.tx_id, o.place, o.value,
                EXISTS (SELECT 1 FROM input AS i
                        WHERE i.prev_tx_id = o.tx_id AND i.prev_index = o.place)
         FROM (SELECT DISTINCT value AS tx_id FROM json_each(?)) AS asked
         CROSS JOIN output AS o ON o.tx_id = asked.tx_id
         WHERE +o.holder_id = ?",
    )
    .bind(&transactions)
    .bind(owner)
    .fetch(&mut *read);
    while let Some(row) = rows.try_next().await? {
        let output = OwnOutput {
            index: row::index(&row, 1)?,
            value: row::amount(&row, 2)?,
            spent: row.try_get(3)?,
        };
        own.entry(row.try_get(0)?).or_default().outputs.push(output);
    }
    drop(rows);
    for OwnEntries { outputs, .. } in own.values_mut() {
        outputs.sort_unstable_by_key(|output| output.index);
    }
    let mut rows = sqlx::query(
        "SELECT i.tx_id, sum(i.value)
         FROM (SELECT DISTINCT value AS tx_id FROM json_each(?)) AS asked
         CROSS JOIN input AS i ON i.tx_id = asked.tx_id
         WHERE +i.holder_id = ? GROUP BY i.tx_id",
    )
    .bind(&transactions)
    .bind(owner)
    .fetch(read);
    while let Some(row) = rows.try_next().await? {
        own.entry(row.try_get(0)?).or_default().sent = row::amount(&row, 1)?.into();
    }
    Ok(own)
}
