//! The function inside the database, and how its answers are compared with ours.

use std::collections::BTreeMap;

use assay_engine::{
    evidence::{DirectionFlows, FlowEnd, FlowFacts},
    trace::TraceRules,
    utxo::ScriptOwner,
};
use assay_tests::Postgres;
use sqlx::{Connection, PgConnection, Row};

use super::load::Known;

const FUNCTION: &str = include_str!("function.sql");
const CALLS: [&str; 2] = [
    "SELECT what, floor(mass / 4294967296)::bigint
     FROM bench.source($1, ROW($2, $3, $4, $5)::bench.bounds)",
    "SELECT what, floor(mass / 4294967296)::bigint
     FROM bench.destination($1, ROW($2, $3, $4, $5)::bench.bounds)",
];

/// Amounts that reached each endpoint, in both directions.
pub(super) type Reached = [BTreeMap<String, u128>; 2];

/// The function, over a connection of its own.
pub(super) struct Function(PgConnection);

impl Function {
    pub(super) async fn make(database: &Postgres, known: &Known) -> Self {
        database.script(FUNCTION);
        let mut connection = PgConnection::connect(&database.url()).await.expect("a connection");
        let (keys, categories): (Vec<_>, Vec<_>) = known
            .ends()
            .map(|(owner, category)| (owner.to_bytes(), category.as_str().to_owned()))
            .unzip();
        sqlx::query(
            "INSERT INTO bench.label
             SELECT p.holder_id, l.category FROM unnest($1::bytea[], $2::text[]) AS l (key, category)
             JOIN chain_btc.holder AS p ON p.key = l.key",
        )
        .bind(keys)
        .bind(categories)
        .execute(&mut connection)
        .await
        .expect("labels");
        sqlx::query("ANALYZE bench.label").execute(&mut connection).await.expect("statistics");
        sqlx::query("SELECT bench.begin()").execute(&mut connection).await.expect("its tables");
        Self(connection)
    }

    pub(super) async fn call(&mut self, owner: &ScriptOwner, rules: TraceRules) -> Reached {
        let cut = (1_000_000 / rules.stop_below_share_millionths.max(1)).max(1).ilog2();
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let mut reached = Reached::default();
        for (call, reached) in CALLS.iter().zip(&mut reached) {
            let rows = sqlx::query(*call)
                .bind(owner.to_bytes())
                .bind(number(cut))
                .bind(i64::try_from(rules.stop_trace_below).unwrap_or(i64::MAX))
                .bind(i64::from(rules.entries))
                .bind(number(rules.transfers_per_address))
                .fetch_all(&mut self.0)
                .await
                .expect("an answer");
            for row in rows {
                let end: String = row.get(0);
                let amount: Option<i64> = row.get(1);
                let amount = amount.and_then(|amount| u128::try_from(amount).ok());
                let amount = amount.unwrap_or_else(|| panic!("an amount at {end}"));
                reached.insert(end, amount);
            }
        }
        reached
    }
}

/// Base units by which amounts of one endpoint may differ: the function rounds its total, and the engine
/// each of its parts, so that all of them sum to the whole.
const MOST_APART: u128 = 4;

/// Checks that both results are equal.
pub(super) fn expect_same(subject: &str, ours: &FlowFacts, theirs: &Reached) {
    let [ledger] = &*ours.ledgers else { panic!("{subject}: one asset") };
    for (flows, theirs) in [&ledger.source, &ledger.destination].into_iter().zip(theirs) {
        let ours = reached(flows);
        for key in ours.keys().chain(theirs.keys()) {
            let amount = |side: &BTreeMap<_, u128>| side.get(key).copied().unwrap_or(0);
            let apart = amount(&ours).abs_diff(amount(theirs));
            assert!(apart <= MOST_APART, "{subject}, {key:?}:\n{ours:?}\n{theirs:?}");
        }
    }
}

fn reached(flows: &DirectionFlows) -> BTreeMap<String, u128> {
    let mut reached = BTreeMap::new();
    for part in &flows.parts {
        let end = match part.end {
            FlowEnd::Unresolved(reason) => serde_json::to_value(reason).expect("a word"),
            other => other.as_str(part.hops).into(),
        };
        let end = end.as_str().expect("a word").to_owned();
        *reached.entry(end).or_default() += part.amount;
    }
    reached
}
