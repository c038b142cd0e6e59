//! Several sources of one account chain that are compared with one another.
//!
//! The sources that agree on the newest block that two of them have form a group. The larger group is read, from its source
//! with the newest block; the other sources are named. Each block is read from two sources of the group: no header proves
//! transfers inside of transactions, so that only a second source shows an invented one.

use std::{cmp::Reverse, collections::BTreeMap, fmt};

use assay_engine::{
    account::{AccountAddress, AccountTransaction, Asset, Transfer, TransferKind},
    utxo::Txid,
};
use assay_graph::account::{AccountBlock, InternalTransfers};
use ruint::aliases::U256;

use super::{
    BlockSource, SourceError, TipRef,
    account_source::{AccountBlockSource, NodeAbilities, ProvenParts},
};
use crate::hash::hash_text;

/// Several sources of one account chain.
pub struct ComparedSources {
    sources: Vec<NamedSource>,
    /// The source that is read.
    chosen: usize,
    /// The last state of each source.
    states: Vec<SourceState>,
}

/// A source with its URL, for messages.
struct NamedSource {
    url: String,
    source: Box<dyn AccountBlockSource>,
    tip: Option<TipRef>,
}

/// Relation of a source to the group that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SourceState {
    /// Its blocks are those of the group.
    Agrees,
    /// It has another block at a height.
    Differs(u64),
    /// It does not answer, for a reason.
    Fails(String),
}

impl fmt::Debug for ComparedSources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<&str> = self.sources.iter().map(|source| &*source.url).collect();
        formatter.debug_struct("ComparedSources").field("urls", &urls).finish_non_exhaustive()
    }
}

impl ComparedSources {
    /// Compares sources, each with its URL.
    #[must_use]
    pub fn new(sources: Vec<(String, Box<dyn AccountBlockSource>)>) -> Self {
        let named = |(url, source)| NamedSource { url, source, tip: None };
        let sources: Vec<NamedSource> = sources.into_iter().map(named).collect();
        let states = vec![SourceState::Agrees; sources.len()];
        Self { sources, chosen: 0, states }
    }

    fn chosen(&mut self) -> Result<&mut NamedSource, SourceError> {
        self.sources.get_mut(self.chosen).ok_or(SourceError::Stopped)
    }

    /// Asks all sources for their newest blocks, and chooses the group that is read. Returns the newest block.
    fn choose(&mut self) -> Result<TipRef, SourceError> {
        let mut states = Vec::with_capacity(self.sources.len());
        let mut failure = None;
        for named in &mut self.sources {
            let tip = named.source.tip();
            named.tip = tip.as_ref().ok().copied();
            states.push(match tip {
                Ok(_) => SourceState::Agrees,
                Err(error) => {
                    let state = SourceState::Fails(error.to_string());
                    failure.get_or_insert(error);
                    state
                }
            });
        }
        let groups = self.groups();
        let group = groups.iter().enumerate().max_by_key(|(at, group)| {
            // Among groups of one size the one that was read stays, or else the first one counts.
            (group.len(), group.contains(&self.chosen), Reverse(*at))
        });
        let Some((group, first)) = group.and_then(|(_, group)| Some((group, *group.first()?)))
        else {
            return Err(failure.unwrap_or(SourceError::Stopped));
        };
        for other in groups.iter().flatten().filter(|at| !group.contains(at)) {
            if let (Some(state), Ok(Some(height))) =
                (states.get_mut(*other), self.differing_height(*other, first))
            {
                *state = SourceState::Differs(height);
            }
        }
        let tip_of = |at: usize| self.sources.get(at).and_then(|named| named.tip);
        let newest = group.iter().filter_map(|at| tip_of(*at).map(|tip| (tip, *at)));
        let newest = newest.max_by_key(|(tip, at)| (tip.height, Reverse(*at)));
        let (tip, at) = newest.ok_or(SourceError::Stopped)?;
        // The source that is read stays as long as it has the newest block.
        if tip_of(self.chosen) != Some(tip) {
            self.chosen = at;
        }
        self.log_changes(states, group.len());
        Ok(tip)
    }

    /// Groups the sources that answer by their branches.
    fn groups(&mut self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for at in 0..self.sources.len() {
            if self.sources.get(at).is_none_or(|named| named.tip.is_none()) {
                continue;
            }
            let joined = groups.iter().position(|group| {
                let first = group.first().copied().unwrap_or(at);
                // A source that fails now is compared next time.
                matches!(self.differing_height(at, first), Ok(None))
            });
            match joined.and_then(|place| groups.get_mut(place)) {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        groups
    }

    /// Compares two sources at the newest height that both have. Returns the height if their blocks differ.
    fn differing_height(&mut self, one: usize, other: usize) -> Result<Option<u64>, SourceError> {
        let heights = [one, other].map(|at| self.sources.get(at).and_then(|named| named.tip));
        let [Some(first), Some(second)] = heights else { return Ok(None) };
        let height = first.height.min(second.height);
        let mut hash = |at: usize, height: u64| match self.sources.get_mut(at) {
            Some(named) => match named.tip.filter(|tip| tip.height == height) {
                Some(tip) => Ok(Some(tip.hash)),
                None => named.source.hash_at(height),
            },
            None => Ok(None),
        };
        let is_equal = hash(one, height)? == hash(other, height)?;
        Ok((!is_equal).then_some(height))
    }

    /// Logs what changed.
    fn log_changes(&mut self, states: Vec<SourceState>, agreeing: usize) {
        let of = self.sources.len();
        for ((named, state), before) in self.sources.iter().zip(&states).zip(&self.states) {
            let url = &named.url;
            let is_same = match (state, before) {
                (SourceState::Differs(_), SourceState::Differs(_)) => true,
                (state, before) => state == before,
            };
            if is_same {
                continue;
            }
            match state {
                SourceState::Agrees => tracing::info!(url, "the source agrees with the others"),
                SourceState::Differs(height) => tracing::warn!(
                    url,
                    height,
                    agreeing,
                    of,
                    "the source has another block than those that are read"
                ),
                SourceState::Fails(reason) => {
                    tracing::warn!(url, reason, "the source is left out");
                }
            }
        }
        self.states = states;
    }

    /// Reads a block from the chosen source and compares it with that of another one of its group.
    fn compared(&mut self, block: AccountBlock) -> Result<AccountBlock, SourceError> {
        let hash = block.reference.hash;
        let chosen = self.chosen;
        let reads_internal =
            |named: &NamedSource| named.source.abilities().reads_internal_transfers();
        let is_traced = self.sources.get(chosen).is_some_and(reads_internal);
        for at in (0..self.sources.len()).filter(|at| *at != chosen) {
            let agrees = self.states.get(at) == Some(&SourceState::Agrees);
            let Some(named) = self.sources.get_mut(at).filter(|_| agrees) else { continue };
            // A source that lags does not have the block yet, and one that fails is told when the sources are compared.
            let Ok(other) = named.source.block(&hash) else { continue };
            if reads_internal(named) != is_traced || other.internal == InternalTransfers::Lacking {
                continue;
            }
            if block.internal == InternalTransfers::Lacking {
                return Ok(other);
            }
            let are_stated = block.internal.max(other.internal) == InternalTransfers::Stated;
            if other == block || (!are_stated && NetChanges::of(&other) == NetChanges::of(&block)) {
                return Ok(if other.internal < block.internal { other } else { block });
            }
            let reason = difference(&block, &other);
            let url = named.url.clone();
            let chosen = self.chosen()?.url.clone();
            let what = format!("block {} {}", block.reference.height, hash_text(&hash));
            let reason = format!("{url} states other transfers of it: {reason}");
            return Err(SourceError::InvalidData { url: chosen, what, reason });
        }
        Ok(block)
    }
}

/// Changes that a block makes in all: sources state the same ones, whatever they can trace.
#[derive(PartialEq, Eq)]
struct NetChanges {
    /// Coins received less those sent, modulo 2^256, by transaction and account.
    coins: BTreeMap<(Txid, AccountAddress), U256>,
    /// Payments of tokens: asset, payer, receiver and amount. Who made new units may show in calls alone.
    tokens: Vec<(Txid, Asset, [AccountAddress; 2], U256)>,
}

impl NetChanges {
    fn of(block: &AccountBlock) -> Self {
        let all = block.transactions.iter();
        let all = all.flat_map(|it| it.transfers.iter().map(|transfer| (it.id, transfer)));
        let (mut coins, mut tokens) = (BTreeMap::<_, U256>::new(), Vec::new());
        for (id, transfer) in all {
            let Transfer { kind, asset, from, to, amount, .. } = *transfer;
            if asset != Asset::Native {
                if kind == TransferKind::Transfer {
                    tokens.push((id, asset, [from, to], amount));
                }
                continue;
            }
            let mut change = |account: AccountAddress, by: U256| {
                let sum = coins.entry((id, account)).or_default();
                *sum = sum.wrapping_add(by);
            };
            change(to, amount);
            change(from, amount.wrapping_neg());
        }
        coins.retain(|_, sum| !sum.is_zero());
        Self { coins, tokens }
    }
}

/// Describes how two statements of one block differ.
fn difference(one: &AccountBlock, other: &AccountBlock) -> String {
    let pairs = one.transactions.iter().zip(&other.transactions);
    let different = pairs.into_iter().find(|(one, other)| one != other);
    let Some((first, second)) = different else {
        let (here, there) = (one.transactions.len(), other.transactions.len());
        return format!("{here} transactions with transfers here, {there} there");
    };
    let transfers = |it: &AccountTransaction| {
        let all = it.transfers.iter();
        let all = all.map(|it| format!("{} {} from {} to {}", it.kind, it.amount, it.from, it.to));
        all.collect::<Vec<_>>()
    };
    let (here, there) = (transfers(first), transfers(second));
    let only = |of: &[String], others: &[String]| {
        of.iter().find(|it| !others.contains(it)).cloned().unwrap_or_else(|| "none".to_owned())
    };
    format!(
        "transaction {}: only here {}, only there {}",
        first.id,
        only(&here, &there),
        only(&there, &here)
    )
}

impl BlockSource<AccountBlock> for ComparedSources {
    fn first(&mut self) -> Result<u64, SourceError> {
        self.chosen()?.source.first()
    }

    fn tip(&mut self) -> Result<TipRef, SourceError> {
        self.choose()
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        self.chosen()?.source.hash_at(height)
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<AccountBlock, SourceError> {
        let block = self.chosen()?.source.block(hash)?;
        self.compared(block)
    }

    fn blocks(
        &mut self,
        from: u64,
        limit: super::BatchLimit,
    ) -> Result<Vec<AccountBlock>, SourceError> {
        let blocks = self.chosen()?.source.blocks(from, limit)?;
        blocks.into_iter().map(|block| self.compared(block)).collect()
    }
}

impl AccountBlockSource for ComparedSources {
    fn check_chain(&mut self) -> Result<(), SourceError> {
        self.sources.iter_mut().try_for_each(|named| named.source.check_chain())
    }

    fn finalized(&mut self) -> Result<Option<TipRef>, SourceError> {
        self.chosen()?.source.finalized()
    }

    fn abilities(&self) -> NodeAbilities {
        let unknown = NodeAbilities { tracer: None, proven: ProvenParts::NONE };
        self.sources.get(self.chosen).map_or(unknown, |named| named.source.abilities())
    }
}
#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use assay_engine::{
        account::{AccountAddress, Asset, Transfer, TransferKind, TransferPlace},
        ledger::BlockRef,
        utxo::Txid,
    };
    use jiff::Timestamp;
    use ruint::aliases::U256;

    use super::*;
    use crate::account_source::Tracer;

    /// Source with given blocks, which a test can change.
    #[derive(Clone)]
    struct Given {
        blocks: Arc<Mutex<Vec<AccountBlock>>>,
        tracer: Tracer,
    }

    impl BlockSource<AccountBlock> for Given {
        fn tip(&mut self) -> Result<TipRef, SourceError> {
            let blocks = self.blocks.lock().unwrap();
            let newest = blocks.last().ok_or_else(|| SourceError::Unreachable {
                url: "http://node".to_owned(),
                reason: "connection refused".to_owned(),
            })?;
            Ok(TipRef { height: newest.reference.height, hash: newest.reference.hash })
        }

        fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
            let blocks = self.blocks.lock().unwrap();
            let found = blocks.iter().find(|block| block.reference.height == height);
            Ok(found.map(|block| block.reference.hash))
        }

        fn block(&mut self, hash: &[u8; 32]) -> Result<AccountBlock, SourceError> {
            let blocks = self.blocks.lock().unwrap();
            let found = blocks.iter().find(|block| block.reference.hash == *hash);
            found.cloned().ok_or(SourceError::NotOnChain { hash: *hash })
        }
    }

    impl AccountBlockSource for Given {
        fn check_chain(&mut self) -> Result<(), SourceError> {
            Ok(())
        }

        fn finalized(&mut self) -> Result<Option<TipRef>, SourceError> {
            Ok(None)
        }

        fn abilities(&self) -> NodeAbilities {
            NodeAbilities { tracer: Some(self.tracer), proven: ProvenParts::ALL }
        }
    }

    /// A block of a branch, with payments of these amounts.
    fn block(own: u8, height: u8, amounts: &[u64]) -> AccountBlock {
        let hash = |height: u8| [own, height].repeat(16).try_into().unwrap();
        let time = Timestamp::from_second(1_700_000_000).unwrap();
        let payment = |amount: &u64| Transfer {
            kind: TransferKind::Transfer,
            asset: Asset::Native,
            from: AccountAddress([1; 20]),
            to: AccountAddress([2; 20]),
            amount: U256::from(*amount),
            place: TransferPlace::default(),
        };
        AccountBlock {
            reference: BlockRef {
                height: height.into(),
                hash: hash(height),
                parent: hash(height.saturating_sub(1)),
                time,
            },
            transactions: vec![AccountTransaction {
                block: height.into(),
                time,
                id: Txid::from_bytes(hash(height)),
                initiator: None,
                transfers: amounts.iter().map(payment).collect(),
                contract_facts: Vec::new(),
                freezes: Vec::new(),
                delegations: Vec::new(),
                messages: Vec::new(),
            }],
            internal: InternalTransfers::Stated,
        }
    }

    fn given(blocks: Vec<AccountBlock>) -> Given {
        Given { blocks: Arc::new(Mutex::new(blocks)), tracer: Tracer::Calls }
    }

    fn compared(sources: &[&Given]) -> ComparedSources {
        let named = sources.iter().zip('a'..).map(|(source, name)| {
            let source: Box<dyn AccountBlockSource> = Box::new(Given::clone(source));
            (format!("http://{name}"), source)
        });
        ComparedSources::new(named.collect())
    }

    /// Blocks 0 to `height` of a branch.
    fn branch(own: u8, height: u8) -> Vec<AccountBlock> {
        (0..=height).map(|height| block(own, height, &[5])).collect()
    }

    #[test]
    fn the_majority_is_read_by_its_newest_block() {
        // Given two sources that agree, one behind the other, and a longer chain of a third...
        let [one, two, other] = [branch(1, 5), branch(1, 7), branch(9, 20)].map(given);
        let mut sources = compared(&[&other, &one, &two]);
        // ...then the two are read, from the one with more blocks...
        assert_eq!(sources.tip().unwrap().height, 7);
        assert_eq!(sources.states[0], SourceState::Differs(5));
        assert_eq!(sources.states[1..], [SourceState::Agrees, SourceState::Agrees]);
        // ...and a source that stops answering is left out.
        two.blocks.lock().unwrap().clear();
        one.blocks.lock().unwrap().clear();
        assert_eq!(sources.tip().unwrap().height, 20);
        assert!(
            matches!(&sources.states[1], SourceState::Fails(reason) if reason.contains("refused"))
        );
        other.blocks.lock().unwrap().clear();
        assert!(matches!(sources.tip(), Err(SourceError::Unreachable { .. })));
    }

    #[test]
    fn a_source_that_could_trace_less_never_stops_another_and_shows_what_is_invented() {
        // Given a block that one source traced, and of which another one read the balances only...
        let through = |amounts: [u64; 2]| {
            let mut blocks = branch(1, 3);
            let transfers = &mut blocks[2].transactions[0].transfers;
            let one = transfers[0].clone();
            let by = |from: u8, to: u8, amount: u64| Transfer {
                from: AccountAddress([from; 20]),
                to: AccountAddress([to; 20]),
                amount: U256::from(amount),
                ..one.clone()
            };
            *transfers = vec![by(1, 2, amounts[0]), by(2, 3, amounts[1])];
            blocks
        };
        let mut of_balances = branch(1, 3);
        let payment = &mut of_balances[2].transactions[0].transfers[0];
        (payment.from, payment.to) = (AccountAddress([1; 20]), AccountAddress([3; 20]));
        payment.amount = U256::from(7_u64);
        of_balances[2].internal = InternalTransfers::OfBalances;
        let [traced, by_balances] = [through([7, 7]), of_balances].map(given);
        let expected = traced.blocks.lock().unwrap()[2].clone();
        // ...then the traced one is taken, whichever of them is read.
        for order in [[&traced, &by_balances], [&by_balances, &traced]] {
            let mut sources = compared(&order);
            sources.tip().unwrap();
            assert_eq!(sources.block(&expected.reference.hash).unwrap(), expected);
        }
        // One that states more than the balances changed is refused.
        let invented = given(through([7, 6]));
        let mut sources = compared(&[&invented, &by_balances]);
        sources.tip().unwrap();
        let said = sources.block(&expected.reference.hash).unwrap_err();
        assert!(matches!(said, SourceError::InvalidData { .. }), "{said}");
    }

    #[test]
    fn one_against_one_the_source_that_was_read_stays() {
        let [one, other] = [branch(1, 5), branch(1, 7)].map(given);
        let mut sources = compared(&[&one, &other]);
        assert_eq!(sources.tip().unwrap().height, 7);
        // Given a source that was read for its newest block, and changes its branch...
        *one.blocks.lock().unwrap() = branch(9, 30);
        // ...then it is told, and not followed.
        assert_eq!(sources.tip().unwrap().height, 7);
        assert_eq!(sources.states[0], SourceState::Differs(7));
    }

    #[test]
    fn a_transfer_that_only_one_source_states_is_refused() {
        // Given two sources of one chain, one of which states a transfer more in a block...
        let honest = given(branch(1, 3));
        let mut forged = branch(1, 3);
        forged[2] = block(1, 2, &[5, 700]);
        let forged = given(forged);
        for sources in [[&honest, &forged], [&forged, &honest]] {
            let mut sources = compared(&sources);
            sources.tip().unwrap();
            // ...then no block from there on is read, and both are named with the difference.
            let limit = super::super::BatchLimit::of_blocks(2);
            assert_eq!(sources.blocks(0, limit).unwrap().len(), 2);
            let error = sources.blocks(2, limit).unwrap_err().to_string();
            assert!(error.contains("http://a") && error.contains("http://b"), "{error}");
            assert!(error.contains("transfer 700 from"), "{error}");
        }
        // A source that cannot trace transactions is no witness of transfers inside of them.
        let blind = Given { tracer: Tracer::None, ..forged };
        let mut sources = compared(&[&honest, &blind]);
        sources.tip().unwrap();
        assert_eq!(sources.block_at(2).unwrap().transactions[0].transfers.len(), 1);
    }
}
