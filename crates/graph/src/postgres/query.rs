//! The statements by which flows of money are read: one statement a request, for a batch of any
//! size, and one row a transaction, with its inputs and outputs in arrays.
//!
//! They are written so that the server goes by index from the requested keys to the rows,
//! regardless of the table sizes that it estimates: a lookup for a row is a scalar subquery, or one
//! with `OFFSET 0`, neither of which becomes a join; and `+ 0` excludes an index from a condition:
//! by transaction there is little to read, by owner there may be millions.

use sqlx::SqlStr;

use super::{Schema, row};

/// The statements, with the graph's schema in them. `$2` is how many legs are wanted.
#[derive(Debug)]
pub(super) struct Queries {
    /// `$1`: the owner's key, `$3`: how many legs all transactions may have together.
    pub(super) history: SqlStr,
    /// `$1`: identifiers, `$3`: how many transactions beyond these.
    pub(super) origins: SqlStr,
    /// `$1`, `$4`: identifiers and places, `$3`: how many outputs beyond these.
    pub(super) destinations: SqlStr,
    /// `$1`: identifiers.
    pub(super) transaction: SqlStr,
}

impl Queries {
    pub(super) fn of(schema: &Schema) -> Self {
        let read = |from: &str, columns: &[&str], joins: &[&str]| {
            let (columns, joins) = (columns.join(", "), joins.join(" "));
            let transaction = row::TRANSACTION;
            schema.sql(&format!("SELECT {transaction}, {TIME}, {columns} FROM {from} {joins}"))
        };
        let asked = |choice: &str| format!("({choice}) AS chosen");
        let (inputs, outputs) = (legs_of(INPUTS, "true", "$2"), legs_of(OUTPUTS, "true", "$2"));
        let incoming = legs_of(INPUTS, "chosen.incoming", "(chosen.legs)");
        let outgoing = legs_of(OUTPUTS, "NOT chosen.incoming", "(chosen.legs)");
        Self {
            history: read(
                &format!("{WHO} LEFT JOIN ({CHOSEN}) AS chosen ON true"),
                &[
                    "chosen.incoming",
                    INPUT_COLUMNS,
                    FEE_COLUMNS,
                    OUTPUT_COLUMNS,
                    OWN_COLUMNS,
                    WHO_COLUMNS,
                ],
                &[HEAD, &incoming, FEES, &outgoing, OWN],
            ),
            origins: read(
                &asked(AHEAD_OF_TXID),
                &[INPUT_COLUMNS, FEE_COLUMNS],
                &[HEAD, &inputs, FEES],
            ),
            destinations: read(
                &asked(AHEAD_OF_OUTPUT),
                &["chosen.txids, chosen.indexes", OUTPUT_COLUMNS],
                &[HEAD, &outputs],
            ),
            transaction: read(
                &asked(BY_TXID),
                &["chosen.places", INPUT_COLUMNS, FEE_COLUMNS, OUTPUT_COLUMNS],
                &[HEAD, &inputs, FEES, &outputs],
            ),
        }
    }
}

/// The legs of one side, under a condition, and so many of them.
fn legs_of(side: &str, condition: &str, most: &str) -> String {
    side.replace("WANTED", condition).replace("MOST", most)
}

/// The newest transactions of identifiers, and at which places they were asked for.
const BY_TXID: &str = "SELECT found.tx_id, array_agg(asked.place) AS places
    FROM unnest($1::bytea[]) WITH ORDINALITY AS asked (txid, place)
    CROSS JOIN LATERAL (SELECT max(tx_id) AS tx_id FROM
        (SELECT tx_id FROM chain.tx WHERE txid = asked.txid OFFSET 0) AS same) AS found
    WHERE found.tx_id IS NOT NULL GROUP BY found.tx_id";

/// The newest transactions of identifiers, and those that created their largest inputs: a recursive query goes
/// on generation by generation, until there are enough. Large transactions are only read when asked for.
const AHEAD_OF_TXID: &str = "WITH RECURSIVE asked AS MATERIALIZED (
        SELECT DISTINCT found.tx_id FROM unnest($1::bytea[]) AS asked (txid)
        CROSS JOIN LATERAL (SELECT max(tx_id) AS tx_id FROM
            (SELECT tx_id FROM chain.tx WHERE txid = asked.txid OFFSET 0) AS same) AS found
        WHERE found.tx_id IS NOT NULL),
    up (tx_id) AS (
        SELECT tx_id FROM asked
    UNION
        SELECT made.tx_id FROM up
        CROSS JOIN LATERAL (SELECT prev_tx_id FROM chain.input
            WHERE tx_id = up.tx_id AND prev_tx_id IS NOT NULL
            ORDER BY value DESC, place LIMIT 4) AS spent
        CROSS JOIN LATERAL (SELECT tx_id FROM chain.tx WHERE inputs <= 64 AND tx_id =
            (SELECT max(tx_id) FROM (SELECT tx_id FROM chain.tx WHERE txid =
                (SELECT txid FROM chain.tx WHERE tx_id = spent.prev_tx_id) OFFSET 0) AS same)
            OFFSET 0) AS made)
    SELECT tx_id FROM up LIMIT (SELECT count(*) FROM asked) + $3";

/// Outputs, and the largest ones of the transactions that spend them, in the same way, by the transactions that
/// spend them; one row without a transaction has those that nothing spends.
const AHEAD_OF_OUTPUT: &str = "WITH RECURSIVE asked AS MATERIALIZED (
        SELECT DISTINCT asked.txid, asked.index,
            (SELECT min(tx_id) FROM (SELECT tx_id FROM chain.input
             WHERE prev_index = asked.index AND prev_tx_id = (SELECT max(tx_id) FROM
                 (SELECT tx_id FROM chain.tx WHERE txid = asked.txid OFFSET 0) AS same)
             OFFSET 0) AS all_spending) AS tx_id
        FROM unnest($1::bytea[], $4::integer[]) AS asked (txid, index)),
    down (txid, index, tx_id) AS (
        SELECT txid, index, tx_id FROM asked
    UNION
        SELECT made.txid, made.place, spending.tx_id FROM down
        CROSS JOIN LATERAL (SELECT t.txid, o.place,
                (SELECT max(tx_id) FROM
                    (SELECT tx_id FROM chain.tx WHERE txid = t.txid OFFSET 0) AS same) AS tx_id
            FROM (SELECT txid FROM chain.tx WHERE tx_id = down.tx_id OFFSET 0) AS t
            CROSS JOIN (SELECT place FROM chain.output WHERE tx_id = down.tx_id
                        ORDER BY value DESC, place LIMIT 4) AS o) AS made
        CROSS JOIN LATERAL (SELECT min(tx_id) AS tx_id FROM (SELECT tx_id FROM chain.input
            WHERE prev_index = made.place AND prev_tx_id = made.tx_id OFFSET 0) AS all_spending
            ) AS spending
        WHERE spending.tx_id IS NULL
           OR (SELECT outputs FROM chain.tx WHERE tx_id = spending.tx_id) <= 64)
    SELECT tx_id, array_agg(txid) AS txids, array_agg(index) AS indexes
    FROM (SELECT * FROM down LIMIT (SELECT count(*) FROM asked) + $3) AS enough GROUP BY tx_id";

/// The owner.
const WHO: &str = "(SELECT * FROM chain.holder WHERE key = $1 OFFSET 0) AS who";

/// The transactions of the owner's largest outputs and inputs. There may be none of them, and the
/// owner all the same.
const CHOSEN: &str = "SELECT incoming, tx_id,
        greatest(least($3 / count(*) OVER (PARTITION BY incoming), $2), 1) AS legs FROM
        (SELECT DISTINCT true AS incoming, tx_id FROM
        (SELECT tx_id FROM chain.output
         WHERE holder_id = (SELECT holder_id FROM chain.holder WHERE key = $1)
         ORDER BY value DESC, tx_id, place LIMIT $2) AS largest_outputs
    UNION ALL
    SELECT DISTINCT false AS incoming, tx_id FROM
        (SELECT tx_id FROM chain.input
         WHERE holder_id = (SELECT holder_id FROM chain.holder WHERE key = $1)
         ORDER BY value DESC, tx_id, place LIMIT $2) AS largest_inputs) AS either";

/// The chosen transaction.
const HEAD: &str = "LEFT JOIN LATERAL
    (SELECT * FROM chain.tx WHERE tx_id = chosen.tx_id OFFSET 0) AS t ON true";

const TIME: &str = "(SELECT time FROM chain.block WHERE height = t.height)";

/// Its inputs, the largest first.
const INPUTS: &str = "LEFT JOIN LATERAL (SELECT
        array_agg(leg.place) AS places, array_agg(leg.value) AS values,
        array_agg((SELECT key FROM chain.holder WHERE holder_id = leg.holder_id)) AS keys,
        array_agg(leg.prev_index) AS indexes,
        array_agg(CASE WHEN leg.prev_tx_id IS NULL THEN leg.prev_txid ELSE
            (SELECT txid FROM chain.tx WHERE tx_id = leg.prev_tx_id) END) AS txids
    FROM (SELECT * FROM chain.input
          WHERE tx_id = t.tx_id AND holder_id IS NOT NULL AND WANTED
          ORDER BY value DESC, place LIMIT MOST) AS leg) AS i ON true";
const INPUT_COLUMNS: &str = "i.places, i.values, i.keys, i.indexes, i.txids";

/// The transactions that paid a coinbase the largest fees.
const FEES: &str = "LEFT JOIN LATERAL (SELECT
        array_agg(payer.txid) AS payers, array_agg(payer.fee) AS fees
    FROM (SELECT txid, input_total - output_total AS fee FROM chain.tx
          WHERE t.kind = 1 AND input_total > output_total
            AND tx_id >= (SELECT first_tx FROM chain.block WHERE height = t.height)
            AND tx_id < coalesce((SELECT first_tx FROM chain.block WHERE height = t.height + 1),
                                 9223372036854775807)
          ORDER BY fee DESC, tx_id LIMIT 100) AS payer) AS f ON true";
const FEE_COLUMNS: &str = "f.payers, f.fees";

/// Its outputs, the largest first.
const OUTPUTS: &str = "LEFT JOIN LATERAL (SELECT
        array_agg(leg.place) AS places, array_agg(leg.value) AS values,
        array_agg((SELECT key FROM chain.holder WHERE holder_id = leg.holder_id)) AS keys
    FROM (SELECT * FROM chain.output WHERE tx_id = t.tx_id AND WANTED
          ORDER BY value DESC, place LIMIT MOST) AS leg) AS o ON true";
const OUTPUT_COLUMNS: &str = "o.places, o.values, o.keys";

/// Amounts that the owner itself received and sent in the transaction; its outputs for an incoming
/// one.
const OWN: &str = "LEFT JOIN LATERAL (SELECT sum(leg.value)::bigint AS received,
        array_agg(leg.place ORDER BY leg.place) FILTER (WHERE chosen.incoming) AS places,
        array_agg(leg.value ORDER BY leg.place) FILTER (WHERE chosen.incoming) AS values,
        array_agg((SELECT count(*) FROM chain.input AS spending
                   WHERE spending.prev_tx_id = leg.tx_id AND spending.prev_index = leg.place) > 0
                  ORDER BY leg.place) FILTER (WHERE chosen.incoming) AS spent
    FROM (SELECT * FROM chain.output
          WHERE tx_id = t.tx_id AND holder_id + 0 = who.holder_id OFFSET 0) AS leg) AS own ON true";
const OWN_COLUMNS: &str = "own.received, (SELECT sum(value)::bigint FROM chain.input
         WHERE tx_id = t.tx_id AND holder_id + 0 = who.holder_id) AS sent,
    own.places, own.values, own.spent";

const WHO_COLUMNS: &str = "who.first_seen, who.last_seen, who.transactions_in,
    who.transactions_out, who.received::text, who.sent::text";
