//! Transactions of a block from its rows, whichever file they come from.

use std::collections::{BTreeMap, btree_map::Entry};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, ContractFact, PublishedPlace, Transfer,
        TransferKind, TransferPlace,
    },
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;
use rustc_hash::FxHashMap;

use super::{
    counts::{LeftOut, TransferCounts},
    row::{
        BlockRow, Content, FactRow, Frame, FrameKind, Row, RowOrigin, TransactionRow, TransferRow,
    },
};
use crate::booking::{CallTree, Fee, path_text};

/// A block with its transactions.
#[derive(Clone, Debug)]
pub struct FileBlock {
    /// Height.
    pub height: u64,
    /// Time.
    pub time: Timestamp,
    /// Transactions in the order of the block.
    pub transactions: Vec<AccountTransaction>,
    /// Rows of the transfers of each transaction.
    pub origins: Vec<Vec<RowOrigin>>,
    /// Rows of the facts about contracts of each transaction.
    pub fact_origins: Vec<Vec<RowOrigin>>,
}

/// A row that is refused, and a row that it contradicts.
#[derive(Debug)]
pub(super) struct RefusedRow {
    pub(super) origin: RowOrigin,
    pub(super) other: Option<RowOrigin>,
    pub(super) reason: String,
}

impl RefusedRow {
    fn new(origin: RowOrigin, reason: impl Into<String>) -> Self {
        Self { origin, other: None, reason: reason.into() }
    }

    fn contradicting(self, other: RowOrigin) -> Self {
        Self { other: Some(other), ..self }
    }
}

/// Assembles a block; `None` if its rows hold no transfer and do not state its time.
pub(super) fn assemble(
    chain: ChainId,
    height: u64,
    rows: Vec<Row>,
    counts: &mut TransferCounts,
) -> Result<Option<FileBlock>, RefusedRow> {
    let time = time_of(&rows)?;
    let mut block = Block::default();
    for row in rows {
        block.add(height, row, counts)?;
    }
    block.number_records(height);
    block.add_withdrawals(height, counts);
    let Block { mut drafts, header, .. } = block;
    order(height, &mut drafts);
    let mut transactions = Vec::with_capacity(drafts.len());
    let mut origins: Vec<Vec<RowOrigin>> = Vec::with_capacity(drafts.len());
    let mut fact_origins: Vec<Vec<RowOrigin>> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let id = draft.id;
        let FinishedDraft { initiator, transfers, contract_facts } =
            draft.finish(chain, header.as_ref().map(|(header, _)| header), counts)?;
        if transfers.is_empty() {
            for _ in contract_facts {
                counts.leave_out(LeftOut::WithoutTransfer);
            }
            continue;
        }
        counts.contract_facts += u64::try_from(contract_facts.len()).unwrap_or(u64::MAX);
        let (transfers, rows): (Vec<_>, Vec<_>) = transfers.into_iter().unzip();
        let Some(time) = time else {
            let origin = rows.first().copied();
            return match origin {
                Some(origin) => Err(RefusedRow::new(origin, NO_TIME)),
                None => Ok(None),
            };
        };
        if initiator.is_none() && id != AccountTransaction::id_of_block(height) {
            counts.transactions_without_initiator += 1;
        }
        let (contract_facts, events): (Vec<_>, Vec<_>) = contract_facts.into_iter().unzip();
        transactions.push(AccountTransaction {
            block: height,
            time,
            id,
            initiator,
            transfers,
            contract_facts,
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        });
        origins.push(rows);
        fact_origins.push(events);
    }
    Ok(time.map(|time| FileBlock { height, time, transactions, origins, fact_origins }))
}

const NO_TIME: &str = "the time of the block is not known: give the file of its blocks (number, timestamp) or of its \
                       transactions (hash, block_number, block_timestamp) along";

/// The time of the block, which all rows that state it must agree about.
fn time_of(rows: &[Row]) -> Result<Option<Timestamp>, RefusedRow> {
    let mut stated: Option<(Timestamp, RowOrigin)> = None;
    for row in rows {
        let Some(time) = row.time else { continue };
        match stated {
            None => stated = Some((time, row.origin)),
            Some((first, origin)) if first != time => {
                let reason = format!("block {} has the time {time} here and {first}", row.block);
                return Err(RefusedRow::new(row.origin, reason).contradicting(origin));
            }
            Some(_) => {}
        }
    }
    Ok(stated.map(|(time, _)| time))
}

/// Rows of a block, by transaction.
#[derive(Default)]
struct Block {
    drafts: Vec<Draft>,
    by_txid: FxHashMap<Txid, usize>,
    header: Option<(BlockRow, RowOrigin)>,
    /// Records of the block without a place, which differ by their number among their like.
    ordinals: Vec<Move>,
}

/// A transaction that is being assembled.
struct Draft {
    id: Txid,
    /// The sender, with the row that states it.
    initiator: Option<(AccountAddress, RowOrigin)>,
    /// True if a row states the sender in a column of its own.
    is_initiator_stated: bool,
    index: Option<u32>,
    least_log: Option<u32>,
    moves: Vec<Move>,
    frames: Vec<(Frame, RowOrigin)>,
    stated: Option<(TransactionRow, RowOrigin)>,
    /// Facts about contracts with their rows, in no order: it says nothing.
    contract_facts: BTreeMap<ContractFact, RowOrigin>,
}

/// The sender of a transaction, its transfers in order with their rows, and facts about contracts.
struct FinishedDraft {
    initiator: Option<AccountAddress>,
    transfers: Vec<(Transfer, RowOrigin)>,
    contract_facts: Vec<(ContractFact, RowOrigin)>,
}

/// A transfer with its order in the transaction.
#[derive(Clone, Debug)]
struct Move {
    order: Order,
    transfer: Transfer,
    origin: RowOrigin,
}

/// Order of a transfer in its transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    class: OrderClass,
    number: u32,
    path: Box<[u32]>,
    published: Option<PublishedPlace>,
}

/// Transfers with a stated order stand first, then calls, events and fees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OrderClass {
    Stated,
    Call,
    Log,
    Fee,
}

impl Order {
    fn new(class: OrderClass, number: u32) -> Self {
        Self { class, number, path: Box::default(), published: None }
    }
}

impl Block {
    fn draft(&mut self, id: Txid) -> Option<&mut Draft> {
        let next = self.drafts.len();
        let at = *self.by_txid.entry(id).or_insert(next);
        if at == next {
            self.drafts.push(Draft {
                id,
                initiator: None,
                is_initiator_stated: false,
                index: None,
                least_log: None,
                moves: Vec::new(),
                frames: Vec::new(),
                stated: None,
                contract_facts: BTreeMap::new(),
            });
        }
        self.drafts.get_mut(at)
    }

    fn add(
        &mut self,
        height: u64,
        row: Row,
        counts: &mut TransferCounts,
    ) -> Result<(), RefusedRow> {
        let Row { origin, txid, transaction_index, content, .. } = row;
        match &content {
            Content::Transfer(transfer) => counts.state(transfer.asset, transfer.amount),
            Content::Frame(frame) => counts.state(Asset::Native, frame.amount),
            Content::Fact(_)
            | Content::Transaction(_)
            | Content::Block(_)
            | Content::LeftOut(_) => {}
        }
        let id = txid.unwrap_or_else(|| AccountTransaction::id_of_block(height));
        match content {
            Content::LeftOut(reason) => {
                counts.leave_out(reason);
                return Ok(());
            }
            Content::Block(header) => {
                match &self.header {
                    Some((known, other)) if *known != *header => {
                        let reason = format!("block {height} is stated twice, differently");
                        return Err(RefusedRow::new(origin, reason).contradicting(*other));
                    }
                    Some(_) => counts.duplicates += 1,
                    None => self.header = Some((*header, origin)),
                }
                return Ok(());
            }
            Content::Frame(frame) if txid.is_none() => {
                self.add_record(height, frame, origin, counts);
                return Ok(());
            }
            content => {
                let Some(draft) = self.draft(id) else { return Ok(()) };
                draft.set_index(transaction_index, origin)?;
                match content {
                    Content::Transfer(transfer) => draft.add_transfer(transfer, origin)?,
                    Content::Fact(row) => draft.add_fact(row, origin, counts)?,
                    Content::Frame(frame) => draft.frames.push((frame, origin)),
                    Content::Transaction(transaction) => {
                        draft.add_transaction(*transaction, origin, counts)?;
                    }
                    Content::Block(_) | Content::LeftOut(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Adds a reward, or another record of the block.
    fn add_record(
        &mut self,
        height: u64,
        frame: Frame,
        origin: RowOrigin,
        counts: &mut TransferCounts,
    ) {
        let Some(to) = frame.to else {
            counts.leave_out_stated(LeftOut::WithoutReceiver, Asset::Native, frame.amount);
            return;
        };
        if frame.amount.is_zero() {
            counts.leave_out_stated(LeftOut::WithoutValue, Asset::Native, frame.amount);
            return;
        }
        let is_fork = frame.kind == FrameKind::Fork;
        let published = frame.label.map(PublishedPlace::Trace);
        let transfer = Transfer {
            kind: if is_fork { TransferKind::Transfer } else { TransferKind::Reward },
            asset: Asset::Native,
            from: frame.from.filter(|_| is_fork).unwrap_or(AccountAddress::ZERO),
            to,
            amount: frame.amount,
            place: TransferPlace { index: 0, published: published.clone() },
        };
        let order = Order { published, ..Order::new(OrderClass::Call, 0) };
        let is_placed = order.published.is_some();
        let record = Move { order, transfer, origin };
        if !is_placed {
            self.ordinals.push(record);
        } else if let Some(draft) = self.draft(AccountTransaction::id_of_block(height)) {
            draft.moves.push(record);
        }
    }

    /// Numbers records without a place among their like in the same file, so that a file that is given twice counts
    /// once, and adds them to the records of the block.
    fn number_records(&mut self, height: u64) {
        let mut seen: FxHashMap<(usize, AccountAddress, U256), u32> = FxHashMap::default();
        for mut record in std::mem::take(&mut self.ordinals) {
            let key = (record.origin.file, record.transfer.to, record.transfer.amount);
            let number = seen.entry(key).or_default();
            record.order.number = *number;
            // Records of different receivers and amounts are told apart by them.
            record.order.path = record.transfer.to.0.iter().map(|byte| u32::from(*byte)).collect();
            *number += 1;
            if let Some(draft) = self.draft(AccountTransaction::id_of_block(height)) {
                draft.moves.push(record);
            }
        }
    }

    /// Adds the withdrawals that the block states.
    fn add_withdrawals(&mut self, height: u64, counts: &mut TransferCounts) {
        let Some((header, origin)) = &mut self.header else { return };
        let (withdrawals, origin) = (std::mem::take(&mut header.withdrawals), *origin);
        for withdrawal in withdrawals {
            let transfer = Transfer {
                kind: TransferKind::Withdrawal,
                asset: Asset::Native,
                from: AccountAddress::ZERO,
                to: withdrawal.to,
                amount: withdrawal.amount,
                place: TransferPlace::default(),
            };
            let order = Order::new(OrderClass::Log, withdrawal.index);
            if let Some(draft) = self.draft(AccountTransaction::id_of_block(height)) {
                counts.derive(Asset::Native, withdrawal.amount);
                draft.moves.push(Move { order, transfer, origin });
            }
        }
    }
}

/// Orders the transactions of a block: by their index if all have one, else by their first event if all have one, else
/// as the files name them. Records of the block stand last.
fn order(height: u64, drafts: &mut [Draft]) {
    let of_block = AccountTransaction::id_of_block(height);
    let mut transactions = drafts.iter().filter(|draft| draft.id != of_block);
    if transactions.clone().all(|draft| draft.index.is_some()) {
        drafts.sort_by_key(|draft| (draft.id == of_block, draft.index));
    } else if transactions.all(|draft| draft.least_log.is_some()) {
        drafts.sort_by_key(|draft| (draft.id == of_block, draft.least_log));
    } else {
        drafts.sort_by_key(|draft| draft.id == of_block);
    }
}

impl Draft {
    fn set_index(&mut self, index: Option<u32>, origin: RowOrigin) -> Result<(), RefusedRow> {
        match (self.index, index) {
            (Some(known), Some(index)) if known != index => {
                let reason = format!(
                    "transaction {} has the index {index} in its block here and {known} in an earlier row",
                    self.id
                );
                Err(RefusedRow::new(origin, reason))
            }
            _ => {
                self.index = self.index.or(index);
                Ok(())
            }
        }
    }

    /// Notes the sender. A sender in a column of its own counts before the one of the call of the transaction.
    fn set_initiator(
        &mut self,
        initiator: AccountAddress,
        is_stated: bool,
        origin: RowOrigin,
    ) -> Result<(), RefusedRow> {
        match self.initiator {
            Some((known, other)) if known != initiator && self.is_initiator_stated == is_stated => {
                let reason = format!(
                    "transaction {} has the initiator {initiator} here and {known}",
                    self.id
                );
                return Err(RefusedRow::new(origin, reason).contradicting(other));
            }
            Some(_) if self.is_initiator_stated || !is_stated => {}
            _ => {
                self.initiator = Some((initiator, origin));
                self.is_initiator_stated = is_stated;
            }
        }
        Ok(())
    }

    fn add_transfer(&mut self, row: TransferRow, origin: RowOrigin) -> Result<(), RefusedRow> {
        if let Some(initiator) = row.initiator {
            self.set_initiator(initiator, true, origin)?;
        }
        let log = match row.published {
            Some(PublishedPlace::Log(log)) => Some(log),
            _ => None,
        };
        self.least_log = match (self.least_log, log) {
            (Some(least), Some(log)) => Some(least.min(log)),
            (least, log) => least.or(log),
        };
        let order = match row.index {
            Some(index) => {
                let published = row.published.clone();
                Order { published, ..Order::new(OrderClass::Stated, index) }
            }
            None => Order::new(OrderClass::Log, log.unwrap_or_default()),
        };
        let transfer = Transfer {
            kind: row.kind,
            asset: row.asset,
            from: row.from,
            to: row.to,
            amount: row.amount,
            place: TransferPlace { index: order.number, published: row.published },
        };
        self.moves.push(Move { order, transfer, origin });
        Ok(())
    }

    fn add_fact(
        &mut self,
        row: FactRow,
        origin: RowOrigin,
        counts: &mut TransferCounts,
    ) -> Result<(), RefusedRow> {
        if let Some(initiator) = row.initiator {
            self.set_initiator(initiator, true, origin)?;
        }
        match self.contract_facts.entry(row.fact) {
            Entry::Vacant(new) => {
                new.insert(origin);
            }
            Entry::Occupied(_) => counts.duplicates += 1,
        }
        Ok(())
    }

    fn add_transaction(
        &mut self,
        row: TransactionRow,
        origin: RowOrigin,
        counts: &mut TransferCounts,
    ) -> Result<(), RefusedRow> {
        if let Some(from) = row.from {
            self.set_initiator(from, false, origin)?;
        }
        let Some((known, other)) = &mut self.stated else {
            self.stated = Some((row, origin));
            return Ok(());
        };
        if *known == row {
            counts.duplicates += 1;
            return Ok(());
        }
        if !known.merge(&row) {
            let reason = format!("transaction {} is stated twice, differently", self.id);
            return Err(RefusedRow::new(origin, reason).contradicting(*other));
        }
        Ok(())
    }

    /// The sender of the transaction, and its transfers in order with their rows.
    fn finish(
        mut self,
        chain: ChainId,
        header: Option<&BlockRow>,
        counts: &mut TransferCounts,
    ) -> Result<FinishedDraft, RefusedRow> {
        let has_call = self.frames.iter().any(|(frame, _)| frame.is_call_of_transaction());
        self.add_frames(counts)?;
        if let Some((stated, origin)) = self.stated.take() {
            if !has_call {
                self.add_value(&stated, origin, counts);
            }
            if chain != ChainId::TRX {
                self.add_fees(&stated, header, origin, counts);
            }
        }
        let Self { id, mut moves, initiator, contract_facts, .. } = self;
        moves.sort_by(|one, other| one.order.cmp(&other.order));
        let is_renumbered = moves.iter().any(|it| it.order.class != OrderClass::Stated);
        let mut kept: Vec<Move> = Vec::with_capacity(moves.len());
        for next in moves {
            if let Some(last) = kept.last()
                && last.order == next.order
            {
                if !is_same(&last.transfer, &next.transfer) {
                    let reason = format!(
                        "transaction {id} has two different transfers in one place: number the rows of a transaction \
                         through in `index`, over all files"
                    );
                    return Err(RefusedRow::new(next.origin, reason).contradicting(last.origin));
                }
                counts.leave_out_repeated(&next.transfer);
                continue;
            }
            kept.push(next);
        }
        let numbered = kept.into_iter().zip(0_u32..).map(|(mut kept, number)| {
            if is_renumbered {
                kept.transfer.place.index = number;
            }
            counts.add(&kept.transfer);
            (kept.transfer, kept.origin)
        });
        let initiator = initiator.map(|(initiator, _)| initiator);
        let transfers = numbered.collect();
        let contract_facts = contract_facts.into_iter().collect();
        Ok(FinishedDraft { initiator, transfers, contract_facts })
    }

    /// Adds what calls moved.
    fn add_frames(&mut self, counts: &mut TransferCounts) -> Result<(), RefusedRow> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.sort_by(|(one, _), (other, _)| one.order().cmp(&other.order()));
        let mut tree = CallTree::default();
        for (frame, origin) in frames {
            let mut is_failed = frame.is_failed;
            if let Some(path) = &frame.path {
                let call = tree.add(path, is_failed);
                is_failed = call.is_failed;
                if !frame.is_status_final && !call.has_above {
                    return Err(RefusedRow::new(
                        origin,
                        "the call above this one is missing, so that its failure would not be seen: export all calls, \
                         or those with a `status`",
                    ));
                }
                if path.is_empty()
                    && let Some(from) = frame.from
                {
                    self.set_initiator(from, false, origin)?;
                }
            } else if !frame.is_status_final {
                return Err(RefusedRow::new(
                    origin,
                    "neither trace_address nor status shows whether a call above this one failed: add one of them",
                ));
            }
            if is_failed {
                counts.leave_out_stated(LeftOut::Failed, Asset::Native, frame.amount);
                continue;
            }
            self.add_frame(&frame, origin, counts)?;
        }
        Ok(())
    }

    /// Adds what a successful call moved.
    fn add_frame(
        &mut self,
        frame: &Frame,
        origin: RowOrigin,
        counts: &mut TransferCounts,
    ) -> Result<(), RefusedRow> {
        let kind = match frame.kind {
            FrameKind::Delegate => {
                counts.leave_out_stated(LeftOut::Delegate, Asset::Native, frame.amount);
                return Ok(());
            }
            // Who created a contract is evidence without value too.
            FrameKind::Create => TransferKind::Create,
            _ if frame.amount.is_zero() => {
                counts.leave_out_stated(LeftOut::WithoutValue, Asset::Native, frame.amount);
                return Ok(());
            }
            FrameKind::Reward => TransferKind::Reward,
            FrameKind::Call | FrameKind::SelfDestruct | FrameKind::Fork => TransferKind::Transfer,
        };
        let (from, to) = match (frame.from, frame.to) {
            (Some(from), Some(to)) => (from, to),
            (None, _) => return Err(RefusedRow::new(origin, "the payer of the call is missing")),
            (_, None) => {
                return Err(RefusedRow::new(origin, "the receiver of the call is missing"));
            }
        };
        let text = match (&frame.path, &frame.label) {
            (Some(path), _) => path_text(path),
            (None, label) => label.clone().unwrap_or_default(),
        };
        let (path, number) = frame.order();
        let order = Order { path: path.into(), ..Order::new(OrderClass::Call, number) };
        let published = Some(PublishedPlace::Trace(text));
        let place = TransferPlace { index: 0, published };
        let transfer =
            Transfer { kind, asset: Asset::Native, from, to, amount: frame.amount, place };
        self.moves.push(Move { order, transfer, origin });
        Ok(())
    }

    /// Adds the value of a transaction without traces.
    fn add_value(
        &mut self,
        stated: &TransactionRow,
        origin: RowOrigin,
        counts: &mut TransferCounts,
    ) {
        let Some((from, value)) = stated.from.zip(stated.value) else { return };
        let is_creation = stated.to.is_none();
        match stated.is_successful {
            _ if value.is_zero() && (!is_creation || stated.created.is_none()) => {
                return counts.leave_out(LeftOut::WithoutValue);
            }
            Some(false) => return counts.leave_out(LeftOut::Failed),
            None => return counts.leave_out(LeftOut::UnknownStatus),
            Some(true) => {}
        }
        let Some(to) = stated.to.or(stated.created) else {
            return counts.leave_out(LeftOut::WithoutReceiver);
        };
        let kind = if is_creation { TransferKind::Create } else { TransferKind::Transfer };
        let published = Some(PublishedPlace::Trace("".into()));
        let place = TransferPlace { index: 0, published };
        let transfer = Transfer { kind, asset: Asset::Native, from, to, amount: value, place };
        counts.derive(Asset::Native, value);
        self.moves.push(Move { order: Order::new(OrderClass::Call, 0), transfer, origin });
    }

    /// Adds the fees of a transaction: the base fee is destroyed, the rest is paid to the producer of the block.
    fn add_fees(
        &mut self,
        stated: &TransactionRow,
        header: Option<&BlockRow>,
        origin: RowOrigin,
        counts: &mut TransferCounts,
    ) {
        let Some(BlockRow { miner: Some(miner), base_fee, .. }) = header else { return };
        let Some(((from, gas), price)) = stated.from.zip(stated.gas_used).zip(stated.gas_price)
        else {
            return;
        };
        let base_fee = base_fee.unwrap_or_default();
        let blob_fee = stated.blob_fee.unwrap_or_default();
        let Some(fee) = Fee::new(gas, price, base_fee, blob_fee) else { return };
        let parts = [(0, AccountAddress::ZERO, fee.base), (1, *miner, fee.tip)];
        for (number, to, amount) in parts.into_iter().filter(|(_, _, amount)| !amount.is_zero()) {
            let transfer = Transfer {
                kind: TransferKind::Fee,
                asset: Asset::Native,
                from,
                to,
                amount,
                place: TransferPlace::default(),
            };
            counts.derive(Asset::Native, amount);
            self.moves.push(Move { order: Order::new(OrderClass::Fee, number), transfer, origin });
        }
    }
}

/// True if two transfers in one place state the same.
fn is_same(one: &Transfer, other: &Transfer) -> bool {
    let content = |it: &Transfer| (it.kind, it.asset, it.from, it.to, it.amount);
    content(one) == content(other)
}

impl Frame {
    /// Order of the frame among those of its transaction.
    fn order(&self) -> (&[u32], u32) {
        match (&self.path, &self.label) {
            (Some(path), _) => (path, 0),
            (None, label) => {
                (&[], label.as_ref().and_then(|label| label.parse().ok()).unwrap_or(0))
            }
        }
    }

    /// True for the call of the transaction itself, whose value is the transaction's.
    fn is_call_of_transaction(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.is_empty())
    }
}

impl TransactionRow {
    /// Takes what another row states about the transaction; false if the rows contradict one another.
    fn merge(&mut self, other: &Self) -> bool {
        fn both<T: Copy + PartialEq>(known: &mut Option<T>, other: Option<T>) -> bool {
            let agrees = known.is_none() || other.is_none() || *known == other;
            *known = known.or(other);
            agrees
        }
        // A file of transactions may state the offered price of gas, a file of receipts the paid one.
        let (known_is_receipt, other_is_receipt) = (self.from.is_none(), other.from.is_none());
        let mut other_price = other.gas_price;
        if other_is_receipt && !known_is_receipt && other_price.is_some() {
            self.gas_price = None;
        }
        if known_is_receipt && !other_is_receipt && self.gas_price.is_some() {
            other_price = None;
        }
        [
            both(&mut self.from, other.from),
            both(&mut self.to, other.to),
            both(&mut self.value, other.value),
            both(&mut self.is_successful, other.is_successful),
            both(&mut self.gas_used, other.gas_used),
            both(&mut self.gas_price, other_price),
            both(&mut self.blob_fee, other.blob_fee),
            both(&mut self.created, other.created),
        ]
        .into_iter()
        .all(|agrees| agrees)
    }
}
