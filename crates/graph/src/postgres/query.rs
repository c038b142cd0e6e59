//! The statements by which transactions and histories are read, for a batch of any size.
//!
//! They are written so that the server goes by index from the requested keys to the rows,
//! regardless of the table sizes that it estimates: a lookup for a row is a scalar subquery, or one
//! with `OFFSET 0`, neither of which becomes a join; and `+ 0` excludes an index from a condition:
//! by transaction there is little to read, by owner there may be millions.

use sqlx::SqlStr;

use super::{Schema, row};

/// The statements, with the graph's schema in them.
#[derive(Debug)]
pub(super) struct Queries {
    /// A transaction with both sides. `$1`: its identifier, `$2`: how many entries of each side.
    pub(super) transaction: SqlStr,
    /// The transactions of an owner's largest outputs and inputs, with what it moved by them. `$1`: the owner's number,
    /// `$2`: how many outputs and inputs.
    pub(super) history: SqlStr,
    /// The transactions in which some owners are on the other side of an owner, with what that moved by them. `$1`: the
    /// owner's number, `$2`: those of the others.
    pub(super) dealings: SqlStr,
    /// Transactions without their entries. `$1`: numbers.
    pub(super) heads: SqlStr,
    /// Inputs of transactions, the largest first. `$1`: numbers, `$2`: how many of each.
    pub(super) inputs: SqlStr,
    /// Outputs of transactions, the largest first. `$1`: numbers, `$2`: how many of each.
    pub(super) outputs: SqlStr,
    /// Inputs of transactions that spend outputs of some owners. `$1`: numbers, `$2`: those of the owners.
    pub(super) inputs_of_owners: SqlStr,
    /// Outputs of transactions to some owners. `$1`: numbers, `$2`: those of the owners.
    pub(super) outputs_of_owners: SqlStr,
    /// The transactions that spend outputs. `$1`, `$2`: numbers of transactions, and indexes.
    pub(super) spenders: SqlStr,
    /// Who paid coinbases. `$1`: numbers of coinbases.
    pub(super) fee_payers: SqlStr,
}

impl Queries {
    pub(super) fn of(schema: &Schema) -> Self {
        let transaction = row::TRANSACTION;
        Self {
            transaction: schema.sql(&format!(
                "SELECT {transaction}, {TIME}, {INPUT_COLUMNS}, {OUTPUT_COLUMNS}
                 FROM ({BY_TXID}) AS chosen {HEAD} {INPUTS} {OUTPUTS}"
            )),
            history: schema
                .sql(&format!("SELECT chosen.incoming, t.tx_id, {OWN_COLUMNS} FROM ({CHOSEN}) AS chosen {HEAD} {OWN}")),
            dealings: schema
                .sql(&format!("SELECT chosen.incoming, t.tx_id, {OWN_COLUMNS} FROM ({DEALINGS}) AS chosen {HEAD} {OWN}")),
            heads: schema.sql(&format!(
                "SELECT {transaction}, {TIME} FROM unnest($1::bigint[]) AS chosen (tx_id) {HEAD}"
            )),
            inputs: schema.sql(&format!("{INPUTS_OF} {LARGEST_INPUTS}")),
            outputs: schema.sql(&format!("{OUTPUTS_OF} {LARGEST_OUTPUTS}")),
            inputs_of_owners: schema.sql(&format!("{INPUTS_OF} {INPUTS_OF_OWNERS}")),
            outputs_of_owners: schema.sql(&format!("{OUTPUTS_OF} {OUTPUTS_OF_OWNERS}")),
            spenders: schema.sql(SPENDERS_OF),
            fee_payers: schema.sql(FEE_PAYERS_OF),
        }
    }
}

/// The newest transaction of an identifier.
const BY_TXID: &str = "SELECT max(tx_id) AS tx_id FROM
    (SELECT tx_id FROM chain.tx WHERE txid = $1 OFFSET 0) AS same";

/// The transactions of the owner's largest outputs and inputs.
const CHOSEN: &str = "SELECT DISTINCT true AS incoming, tx_id FROM
        (SELECT tx_id FROM chain.output WHERE holder_id = $1
         ORDER BY value DESC, tx_id, place LIMIT $2) AS largest_outputs
    UNION ALL
    SELECT DISTINCT false AS incoming, tx_id FROM
        (SELECT tx_id FROM chain.input WHERE holder_id = $1
         ORDER BY value DESC, tx_id, place LIMIT $2) AS largest_inputs";

/// The transactions by which others gave and the owner got something, and the reverse.
const DEALINGS: &str = "SELECT DISTINCT true AS incoming, tx_id FROM chain.input AS given
        WHERE holder_id = ANY ($2::bigint[]) AND EXISTS (SELECT 1 FROM chain.output AS got
            WHERE got.tx_id = given.tx_id AND got.holder_id + 0 = $1)
    UNION ALL
    SELECT DISTINCT false AS incoming, tx_id FROM chain.output AS got
        WHERE holder_id = ANY ($2::bigint[]) AND EXISTS (SELECT 1 FROM chain.input AS given
            WHERE given.tx_id = got.tx_id AND given.holder_id + 0 = $1)";

/// The chosen transaction.
const HEAD: &str = "CROSS JOIN LATERAL
    (SELECT * FROM chain.tx WHERE tx_id = chosen.tx_id OFFSET 0) AS t";

const TIME: &str = "(SELECT time FROM chain.block WHERE height = t.height)";

/// Its inputs, the largest first.
const INPUTS: &str = "LEFT JOIN LATERAL (SELECT
        array_agg(leg.place) AS places, array_agg(leg.value) AS values,
        array_agg((SELECT key FROM chain.holder WHERE holder_id = leg.holder_id)) AS keys,
        array_agg(leg.prev_index) AS indexes,
        array_agg(CASE WHEN leg.prev_tx_id IS NULL THEN leg.prev_txid ELSE
            (SELECT txid FROM chain.tx WHERE tx_id = leg.prev_tx_id) END) AS txids
    FROM (SELECT * FROM chain.input
          WHERE tx_id = t.tx_id AND holder_id IS NOT NULL
          ORDER BY value DESC, place LIMIT $2) AS leg) AS i ON true";
const INPUT_COLUMNS: &str = "i.places, i.values, i.keys, i.indexes, i.txids";

/// Its outputs, the largest first.
const OUTPUTS: &str = "LEFT JOIN LATERAL (SELECT
        array_agg(leg.place) AS places, array_agg(leg.value) AS values,
        array_agg((SELECT key FROM chain.holder WHERE holder_id = leg.holder_id)) AS keys
    FROM (SELECT * FROM chain.output WHERE tx_id = t.tx_id
          ORDER BY value DESC, place LIMIT $2) AS leg) AS o ON true";
const OUTPUT_COLUMNS: &str = "o.places, o.values, o.keys";

/// Amounts that the owner itself received and sent in the transaction, and what of it is spent.
const OWN: &str = "LEFT JOIN LATERAL (SELECT sum(leg.value)::bigint AS received,
        sum(leg.value) FILTER (WHERE leg.is_spent)::bigint AS spent,
        coalesce(bool_or(leg.is_spent), false) AS passed_on
    FROM (SELECT value, (SELECT count(*) FROM chain.input AS spending
              WHERE spending.prev_tx_id = own.tx_id AND spending.prev_index = own.place) > 0 AS is_spent
          FROM chain.output AS own
          WHERE tx_id = t.tx_id AND holder_id + 0 = $1 OFFSET 0) AS leg) AS own ON true";
const OWN_COLUMNS: &str = "own.received, (SELECT sum(value)::bigint FROM chain.input
         WHERE tx_id = t.tx_id AND holder_id + 0 = $1), own.spent, own.passed_on";

const INPUTS_OF: &str = "SELECT asked.number, leg.place, leg.value, leg.holder_id, leg.prev_tx_id,
        (SELECT key FROM chain.holder WHERE holder_id = leg.holder_id)
    FROM unnest($1::bigint[]) AS asked (number)";
const LARGEST_INPUTS: &str = "CROSS JOIN LATERAL
        (SELECT * FROM chain.input WHERE tx_id = asked.number AND holder_id IS NOT NULL
         ORDER BY value DESC, place LIMIT $2) AS leg";
const INPUTS_OF_OWNERS: &str = "CROSS JOIN LATERAL
        (SELECT * FROM chain.input WHERE tx_id = asked.number
         AND holder_id + 0 = ANY ($2::bigint[]) OFFSET 0) AS leg";

const OUTPUTS_OF: &str = "SELECT asked.number, leg.place, leg.value, leg.holder_id,
        (SELECT key FROM chain.holder WHERE holder_id = leg.holder_id)
    FROM unnest($1::bigint[]) AS asked (number)";
const LARGEST_OUTPUTS: &str = "CROSS JOIN LATERAL
        (SELECT * FROM chain.output WHERE tx_id = asked.number
         ORDER BY value DESC, place LIMIT $2) AS leg";
const OUTPUTS_OF_OWNERS: &str = "CROSS JOIN LATERAL
        (SELECT * FROM chain.output WHERE tx_id = asked.number
         AND holder_id + 0 = ANY ($2::bigint[]) OFFSET 0) AS leg";

const SPENDERS_OF: &str = "SELECT asked.number, asked.index,
        (SELECT min(tx_id) FROM (SELECT tx_id FROM chain.input
         WHERE prev_tx_id = asked.number AND prev_index = asked.index OFFSET 0) AS spending)
    FROM unnest($1::bigint[], $2::integer[]) AS asked (number, index)";

const FEE_PAYERS_OF: &str = "SELECT t.tx_id, payer.tx_id, payer.fee
    FROM unnest($1::bigint[]) AS asked (number)
    CROSS JOIN LATERAL (SELECT * FROM chain.tx WHERE tx_id = asked.number OFFSET 0) AS t
    CROSS JOIN LATERAL (SELECT tx_id, input_total - output_total AS fee FROM chain.tx
          WHERE input_total > output_total
            AND tx_id >= (SELECT first_tx FROM chain.block WHERE height = t.height)
            AND tx_id < coalesce((SELECT first_tx FROM chain.block WHERE height = t.height + 1),
                                 9223372036854775807)
        ) AS payer
    ORDER BY t.tx_id, payer.fee DESC, payer.tx_id";
