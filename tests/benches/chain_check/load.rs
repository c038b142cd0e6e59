//! The chain in PostgreSQL, and labels of its addresses.

use std::{collections::HashMap, time::Instant};

use assay_database::postgres::PostgresDatabase;
use assay_engine::{
    evidence::Tier,
    score::Confidence,
    taxonomy::Category,
    trace::{AttributedEnd, Attribution},
    utxo::ScriptOwner,
};
use assay_graph::{GraphStore, PostgresGraphs, WriterOptions};
use assay_tests::{
    Postgres,
    big_chain::{BigChain, Shape},
};
use jiff::Timestamp;

use super::CHAIN;

/// Transactions recorded at once.
const AT_ONCE: usize = 10_000;

/// Labels by owner.
pub(super) struct Known(HashMap<ScriptOwner, AttributedEnd>);

impl Known {
    fn of(chain: &BigChain) -> Self {
        let ends = chain.labelled().map(|(person, label)| {
            (person.owner(), end(label.category.parse().expect("a category")))
        });
        Self(ends.collect())
    }

    /// The label of one owner.
    pub(super) fn one(owner: ScriptOwner, category: Category) -> Self {
        Self(HashMap::from([(owner, end(category))]))
    }

    pub(super) fn attribution(&self, owner: &ScriptOwner) -> Option<Attribution> {
        let end = self.0.get(owner)?.clone();
        Some(Attribution { end: Some(end), carried: Vec::new() })
    }

    pub(super) fn ends(&self) -> impl Iterator<Item = (&ScriptOwner, Category)> {
        self.0.iter().map(|(owner, end)| (owner, end.category))
    }
}

const fn end(category: Category) -> AttributedEnd {
    AttributedEnd {
        category,
        entity: None,
        tier: Tier::Investigation,
        confidence: Confidence::CERTAIN,
        listed: false,
        listed_by: None,
        listed_on: None,
    }
}

pub(super) async fn load(database: &Postgres, shape: Shape) -> (BigChain, Known) {
    let begun = Instant::now();
    let url = database.url();
    let database = PostgresDatabase::connect((&url).into()).await.expect("a database");
    let graphs = PostgresGraphs::new(database);
    let options = WriterOptions { start: 0, sample: false, backfill: true };
    let mut writer = graphs.writer(CHAIN, options).await.expect("a writer");
    let at = Timestamp::from_second(1_800_000_000).expect("a time");
    let (mut chain, mut count) = (BigChain::new(shape), 0);
    let (mut blocks, mut held) = (Vec::new(), 0);
    loop {
        let block = chain.next();
        let last = block.is_none();
        held += block.as_ref().map_or(0, |block| block.transactions.len());
        blocks.extend(block);
        if held >= AT_ONCE || last {
            writer.append(&blocks, u64::MAX, at).await.expect("blocks that follow");
            count += held;
            held = 0;
            blocks.clear();
        }
        if last {
            break;
        }
    }
    writer.build_indexes().await.expect("indexes");
    println!(
        "{} blocks with {count} transactions in PostgreSQL after {:.0} s",
        shape.blocks,
        begun.elapsed().as_secs_f64()
    );
    let known = Known::of(&chain);
    (chain, known)
}
