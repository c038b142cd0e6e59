//! Properties of verdicts over random schemes: nothing that anybody can add lowers a score, and compositions weaken no
//! verdict.

use std::{
    num::NonZero,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use assay_engine::{
    policy::{Policy, PolicySpec},
    score::Verdict,
    taxonomy::Category,
    utxo::ScriptOwner,
};
use assay_test_random::Random;

use super::scheme::{Scene, Scheme};
use crate::world::{Claim, World};

/// The results of these seeds that `find` returns, on all processors, in the order of the seeds.
pub(super) fn of_seeds<T: Send>(
    seeds: Range<u64>,
    find: impl Fn(u64) -> Option<T> + Sync,
) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    let look = || {
        let own = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let own = own.take_while(|seed| *seed < seeds.end);
        own.filter_map(|seed| find(seed).map(|found| (seed, found))).collect::<Vec<_>>()
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let mut found: Vec<(u64, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(look)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    found.sort_by_key(|(seed, _)| *seed);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The schemes of these seeds whose score falls when one to three community labels are added, of any category and
/// confidence, to any addresses.
#[must_use]
pub fn lowered_by_labels(seeds: Range<u64>) -> Vec<String> {
    of_seeds(seeds, |seed| {
        let scheme = Scheme::generate(seed);
        let before = scheme.scene();
        let mut after = before.clone();
        let mut dice = Random::new(seed);
        let owners = owners(&before);
        let count = 1 + dice.below(3);
        let labels: Vec<(ScriptOwner, Claim)> = ["reports", "more-reports", "hearsay"]
            .iter()
            .take(usize::try_from(count).expect("few labels"))
            .map(|source| {
                let category = *dice.pick(Category::ALL);
                let percent = u8::try_from(1 + dice.below(100)).expect("a percentage");
                (dice.pick(&owners).clone(), Claim::reported(category, percent, source))
            })
            .collect();
        for (owner, claim) in &labels {
            after.claims.label(owner, *claim);
        }
        let subject = before.subject.clone();
        let score =
            |scene: Scene| World::new(scene.builder, scene.claims).assess(&subject).risk_score;
        let (before, after) = (score(before), score(after));
        (after < before).then(|| format!("{scheme}: {before}, {after} with {labels:?}"))
    })
}

/// Owners of a chain with an address.
fn owners(scene: &Scene) -> Vec<ScriptOwner> {
    let transactions = scene.builder.blocks().iter().flat_map(|block| &block.transactions);
    let owners = transactions.flat_map(|it| it.outputs.iter().map(|output| &output.owner));
    owners.filter(|owner| owner.address(scene.builder.id()).is_some()).cloned().collect()
}

/// The schemes of these seeds whose verdict is weaker by a short trace with compositions than by a trace of up to 100,000
/// transactions.
#[must_use]
pub fn weakened_by_compositions(seeds: Range<u64>) -> Vec<String> {
    of_seeds(seeds, |seed| {
        let scheme = Scheme::generate(seed);
        let transactions = u32::try_from(1 + Random::new(seed).rather_small(300)).expect("few");
        let weakened = weakened_by(scheme.scene(), transactions)?;
        Some(format!("{scheme}, {transactions} transactions: {weakened}"))
    })
}

/// The verdicts and scores without and with compositions, if the latter is weaker: with compositions, a trace towards
/// sources stops after this number of transactions.
#[must_use]
pub fn weakened_by(scene: Scene, transactions: u32) -> Option<String> {
    let subject = scene.subject.clone();
    let Scene { builder, claims, .. } = scene.clone();
    let traced = World::new(builder, claims).assess_without_behavior(&subject);
    let composed = World::recorded(scene.builder, scene.claims);
    let composed = composed.under(stopping_after(transactions)).assess_without_behavior(&subject);
    (severity(composed.verdict) < severity(traced.verdict)).then(|| {
        format!(
            "{} {}, with compositions {} {}",
            traced.verdict.as_str(),
            traced.risk_score,
            composed.verdict.as_str(),
            composed.risk_score
        )
    })
}

/// The default policy with traces towards sources that stop after few transactions.
fn stopping_after(transactions: u32) -> Arc<Policy> {
    let mut spec = PolicySpec::default();
    spec.trace.source_transactions = transactions;
    Arc::new(Policy::compile(spec).expect("a valid policy"))
}

const fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Indeterminate => 1,
        Verdict::Review => 2,
        Verdict::Block => 3,
    }
}
