//! Index of the payments between listed parties and others, by the cluster of the other owner.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, VecDeque},
};

use assay_address::ChainId;
use assay_engine::{
    evidence::Direction,
    ledger::{BlockId, OwnerNumber, ReadLimits, TransactionNumber},
    reading::{ChainView, TransactionRead, ViewError},
    utxo::{ResolvedBlock, ScriptOwner, TransactionKind, Txid},
};
use assay_graph::{GraphError, GraphTip, GraphView};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;
use ruint::aliases::U256;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::chains::clusters::CHANGES;

/// Number of the newest blocks of the index that are remembered, for checks that began before the last one came.
const RECENT: usize = 8;

/// Payment between a listed party and another owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedPayment {
    pub(super) member: OwnerNumber,
    pub(super) party: OwnerNumber,
    /// Direction from the member's side.
    pub(super) direction: Direction,
    pub(super) transaction: TransactionNumber,
    pub(super) height: u64,
    pub(super) time: Timestamp,
    pub(super) amount: u128,
}

/// Index in one state of the lists and blocks.
#[derive(Debug)]
pub(super) struct Index {
    /// Generation of lists and labels that name these listed owners.
    generation: u64,
    listed: BTreeSet<ScriptOwner>,
    newest: GraphTip,
    /// The newest blocks at which the index was updated, the last one last.
    recent: VecDeque<BlockId>,
    /// The listed owners that the graph has.
    parties: FxHashSet<OwnerNumber>,
    /// Payments, the newest first, by the root of the cluster of the owner that is not listed.
    by_root: FxHashMap<OwnerNumber, Vec<ListedPayment>>,
}

impl Index {
    /// Updates an index to the lists of `intel` and the blocks up to `tip`.
    pub(super) async fn in_state(
        known: Option<Self>,
        (view, tip): (&dyn GraphView, &GraphTip),
        chain: ChainId,
        intel: &IntelSnapshot,
    ) -> Result<Self, GraphError> {
        let listed = || intel.listed_owners(chain).collect();
        let Some(mut known) = known else {
            return Self::build(listed(), (view, tip), intel).await;
        };
        if known.generation != intel.generation() {
            let present: BTreeSet<ScriptOwner> = listed();
            if present != known.listed {
                return Self::build(present, (view, tip), intel).await;
            }
            known.generation = intel.generation();
        }
        if known.recent.contains(&tip.block.id()) || known.listed.is_empty() {
            return Ok(known);
        }
        if known.follow(view, tip).await? {
            return Ok(known);
        }
        Self::build(known.listed, (view, tip), intel).await
    }

    /// Payments of a cluster with listed owners, the newest first.
    pub(super) fn of_root(&self, root: OwnerNumber) -> &[ListedPayment] {
        self.by_root.get(&root).map_or(&[], Vec::as_slice)
    }

    /// Reads the payments of all listed owners.
    async fn build(
        listed: BTreeSet<ScriptOwner>,
        (view, tip): (&dyn GraphView, &GraphTip),
        intel: &IntelSnapshot,
    ) -> Result<Self, GraphError> {
        let everything = ReadLimits { transfers: u32::MAX, entries: u32::MAX };
        let (mut parties, mut transactions) = (FxHashSet::default(), BTreeSet::new());
        for script in &listed {
            let Some(party) = view.owner_number(script).await? else { continue };
            let history = view.history(party, everything).await?;
            transactions.extend(history.incoming.iter().map(|own| own.number));
            transactions.extend(history.outgoing.iter().map(|own| own.number));
            parties.insert(party);
        }
        let mut index = Self {
            generation: intel.generation(),
            listed,
            newest: *tip,
            recent: VecDeque::from([tip.block.id()]),
            parties,
            by_root: FxHashMap::default(),
        };
        view.read(|view| {
            let payments = index.payments_in(view, transactions)?;
            index.add(view, payments)
        })?;
        Ok(index)
    }

    /// Adds the blocks after the newest one. Returns false if that block was rolled back, or if the blocks change too
    /// much.
    async fn follow(&mut self, view: &dyn GraphView, tip: &GraphTip) -> Result<bool, GraphError> {
        let height = self.newest.block.height;
        let is_of = (self.newest.start, self.newest.sample) == (tip.start, tip.sample);
        if !is_of || view.blocks(height, height).await?.first() != Some(&self.newest.block) {
            return Ok(false);
        }
        let Some(changed) = view.clusters_changed_above(height, CHANGES).await? else {
            return Ok(false);
        };
        let touched = view.owners_in_blocks_above(height, CHANGES).await?;
        if touched.len() >= usize::try_from(CHANGES).unwrap_or(usize::MAX) {
            return Ok(false);
        }
        let mut again = Vec::new();
        // An address that left a cluster of its own was spent, and thus is in `touched`.
        for script in changed.iter().chain(&touched) {
            if let Some(root) = view.owner_number(script).await? {
                again.extend(self.by_root.remove(&root).into_iter().flatten());
            }
        }
        let mut new = BTreeSet::new();
        let mut has_listed = false;
        for script in touched.iter().filter(|script| self.listed.contains(*script)) {
            self.parties.extend(view.owner_number(script).await?);
            has_listed = true;
        }
        if has_listed {
            for txid in self.listed_transactions(view, (height, tip.block.height)).await? {
                new.extend(view.transaction_number(&txid).await?);
            }
        }
        view.read(|view| {
            again.extend(self.payments_in(view, new)?);
            self.add(view, again)
        })?;
        self.newest = *tip;
        self.recent.push_back(tip.block.id());
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        Ok(true)
    }

    /// Returns the transactions of listed owners in the blocks above one height up to another.
    async fn listed_transactions(
        &self,
        view: &dyn GraphView,
        (above, to): (u64, u64),
    ) -> Result<Vec<Txid>, GraphError> {
        let mut found = Vec::new();
        let mut each = |block: ResolvedBlock| {
            for transaction in &block.transactions {
                let spent = transaction.inputs.iter().filter_map(|input| input.spent.as_ref());
                if spent.chain(&transaction.outputs).any(|it| self.listed.contains(&it.owner)) {
                    found.push(transaction.txid);
                }
            }
        };
        view.each_block(above.saturating_add(1), to, &mut each).await?;
        Ok(found)
    }

    /// Returns the payments between listed and other owners in transactions.
    fn payments_in(
        &self,
        view: &dyn ChainView,
        transactions: BTreeSet<TransactionNumber>,
    ) -> Result<Vec<ListedPayment>, ViewError> {
        let (mut inputs, mut outputs) = (TransactionRead::default(), TransactionRead::default());
        let mut payments = Vec::new();
        for number in transactions {
            view.read(number, Direction::Source, u32::MAX, &mut inputs)?;
            // The inputs of a joint transaction do not pay its outputs, and a coinbase has no payer.
            if inputs.kind != TransactionKind::Payment {
                continue;
            }
            view.read(number, Direction::Destination, u32::MAX, &mut outputs)?;
            let (paid_by, paid_to) = (by_owner(&inputs), by_owner(&outputs));
            let mut add = |(member, party): (OwnerNumber, OwnerNumber), direction, value, part| {
                let amount = share(value, part, inputs.inputs.total);
                if amount > 0 {
                    let (transaction, height, time) = (number, inputs.height, inputs.time);
                    payments.push(ListedPayment {
                        member,
                        party,
                        direction,
                        transaction,
                        height,
                        time,
                        amount,
                    });
                }
            };
            for (party, sent) in paid_by.iter().filter(|(it, _)| self.parties.contains(it)) {
                for (member, value) in paid_to.iter().filter(|(it, _)| !paid_by.contains_key(it)) {
                    add((*member, *party), Direction::Source, *value, *sent);
                }
            }
            let paid = |it: &OwnerNumber| self.parties.contains(it) && !paid_by.contains_key(it);
            for (party, value) in paid_to.iter().filter(|(it, _)| paid(it)) {
                for (member, sent) in &paid_by {
                    add((*member, *party), Direction::Destination, *value, *sent);
                }
            }
        }
        Ok(payments)
    }

    /// Adds payments to their clusters.
    fn add(&mut self, view: &dyn ChainView, payments: Vec<ListedPayment>) -> Result<(), ViewError> {
        let mut roots = BTreeSet::new();
        for payment in payments {
            let root = view.cluster_of(payment.member)?;
            self.by_root.entry(root).or_default().push(payment);
            roots.insert(root);
        }
        for root in roots {
            if let Some(all) = self.by_root.get_mut(&root) {
                let order = |it: &ListedPayment| (Reverse(it.transaction), it.member, it.party);
                all.sort_unstable_by_key(order);
                all.dedup_by_key(|it| (order(it), it.direction));
            }
        }
        Ok(())
    }
}

/// The sums of the entries of one side of a transaction, by owner.
fn by_owner(read: &TransactionRead) -> BTreeMap<OwnerNumber, u128> {
    let mut sums: BTreeMap<OwnerNumber, u128> = BTreeMap::new();
    for entry in &read.entries {
        let sum = sums.entry(entry.owner).or_default();
        *sum = sum.saturating_add(entry.value.into());
    }
    sums
}

/// The part of `value` that inputs of `part` in `whole` paid.
fn share(value: u128, part: u128, whole: u128) -> u128 {
    let product = U256::from(value) * U256::from(part);
    let share = product.checked_div(U256::from(whole)).unwrap_or_default();
    u128::try_from(share).unwrap_or(u128::MAX).min(value)
}
