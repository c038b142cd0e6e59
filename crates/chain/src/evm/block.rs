//! A node's answers about a block, as transactions with their transfers.

use std::{
    cell::Cell,
    collections::{BTreeSet, HashMap, HashSet},
};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, AssetId, FreezeEvent, PublishedPlace, Transfer,
        TransferKind, TransferPlace, scored_asset,
    },
    ledger::BlockRef,
    utxo::Txid,
};
use assay_graph::account::InternalTransfers;
use jiff::Timestamp;
use ruint::aliases::U256;
use serde::de::IgnoredAny;

use super::{
    answer::{BlockAnswer, LogAnswer, ReceiptAnswer, TransactionAnswer},
    balance_changes::BalanceChanges,
    beneficiaries, bridge_messages,
    contracts::{BookedBlock, BookedTransaction},
    events::Event,
    params::{BELOW, CoinLogs, EvmParams},
    reward,
    trace::{Call, CallKind, PlacedLog, TransactionTrace},
    verify,
};
use crate::booking::{Fee, withdrawn};

/// A node's answers about a block, of which the header and the transactions were compared with the block's hash.
pub(super) struct BlockAnswers {
    pub(super) block: BlockAnswer<TransactionAnswer>,
    /// The senders of the transactions.
    pub(super) senders: Vec<AccountAddress>,
    pub(super) receipts: Vec<ReceiptAnswer>,
    /// Calls of transactions; `None` if the node states none.
    pub(super) traces: Option<Vec<TransactionTrace>>,
    /// Transactions that the node has a tracer for and could not trace.
    pub(super) untraced: Vec<Untraced>,
    /// Headers of the uncles of a block with rewards.
    pub(super) uncles: Vec<BlockAnswer<IgnoredAny>>,
    /// Transfers that the rules of the chain made without a transaction, beside rewards and withdrawals.
    pub(super) by_rule: Vec<Transfer>,
}

/// A transaction of which the node could not state the calls.
pub(super) struct Untraced {
    pub(super) hash: [u8; 32],
    /// Balances before and after it; `None` if the node could not state these either.
    pub(super) changes: Option<BalanceChanges>,
}

impl BlockAnswers {
    /// Compares a block with its hash, and returns it without the answers to come. `json` is the node's answer.
    ///
    /// # Errors
    ///
    /// Returns a description of what differs.
    pub(super) fn of_block(
        params: &EvmParams,
        block: BlockAnswer<TransactionAnswer>,
        json: &str,
    ) -> Result<Self, String> {
        let senders = verify::check_block(params, &block, json)?;
        let (receipts, untraced) = (Vec::new(), Vec::new());
        let (uncles, by_rule) = (Vec::new(), Vec::new());
        Ok(Self { block, senders, receipts, traces: None, untraced, uncles, by_rule })
    }

    /// Compares the answers with one another, and makes the block of them.
    ///
    /// # Errors
    ///
    /// Returns a description of what differs or lacks.
    pub(super) fn into_block(
        self,
        chain: ChainId,
        params: &EvmParams,
    ) -> Result<BookedBlock, String> {
        let Self { block, senders, receipts, traces, untraced, uncles, .. } = &self;
        verify::check_receipts(params, block, receipts)?;
        let traces = match traces {
            Some(traces) => {
                let stated = (&**traces, &**untraced);
                verify::check_traces(params, block, senders, receipts, stated)?
            }
            None => vec![None; block.transactions.len()],
        };
        verify::check_uncles(params, block, uncles)?;
        let (path_bytes, internal) = (Cell::new(0), Cell::new(InternalTransfers::Stated));
        Booking { chain, params, answers: &self, traces: &traces, path_bytes, internal }.book()
    }
}

/// Verified answers about a block that are being booked.
struct Booking<'a> {
    chain: ChainId,
    params: &'a EvmParams,
    answers: &'a BlockAnswers,
    /// The trace of each transaction.
    traces: &'a [Option<&'a TransactionTrace>],
    /// Number of bytes of the paths of calls so far.
    path_bytes: Cell<usize>,
    /// Knowledge of the transfers inside of the transactions so far.
    internal: Cell<InternalTransfers>,
}

/// A transfer with its order in the transaction: behind how many calls it stands, whether it is a call, a log or a fee, and
/// its number among its like.
struct Move {
    order: (usize, MoveClass, usize),
    transfer: Transfer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MoveClass {
    Deposit,
    Log,
    Call,
    Fee,
}

impl Booking<'_> {
    fn book(&self) -> Result<BookedBlock, String> {
        let BlockAnswers { block, senders, receipts, .. } = self.answers;
        let seconds = i64::try_from(block.timestamp.0).ok();
        let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        let time = time.ok_or_else(|| format!("its time {} is in no year", block.timestamp.0))?;
        let reference = BlockRef {
            height: block.number.0,
            hash: block.hash.0,
            parent: block.parent_hash.0,
            time,
        };
        let mut transactions = Vec::new();
        let all = block.transactions.iter().zip(senders).zip(receipts).zip(self.traces);
        for (((transaction, sender), receipt), trace) in all {
            let draft =
                Draft { booking: self, transaction, receipt, sender: *sender, trace: *trace };
            let named =
                |reason| format!("transaction {}: {reason}", verify::text(&transaction.hash.0));
            let booked = draft.finish(&reference).map_err(named)?;
            let AccountTransaction { transfers, freezes, .. } = &booked.transaction;
            if !transfers.is_empty() || !freezes.is_empty() {
                transactions.push(booked);
            }
        }
        transactions.extend(self.records(&reference).map(BookedTransaction::from));
        Ok(BookedBlock { reference, transactions, internal: self.internal.get() })
    }

    /// Counts the path of a call that moves coins. Real calls that do are too dear for many long paths.
    fn counted(&self, path: Box<str>) -> Result<Box<str>, String> {
        const MOST: usize = 64 * 1024 * 1024;
        self.path_bytes.set(self.path_bytes.get() + path.len());
        if self.path_bytes.get() > MOST {
            return Err(
                "more of its calls move coins deep inside of others than gas allows".to_owned()
            );
        }
        Ok(path)
    }

    /// Rewards, withdrawals and what else is in no transaction.
    fn records(&self, reference: &BlockRef) -> Option<AccountTransaction> {
        let BlockAnswers { block, uncles, by_rule, .. } = self.answers;
        let new = |kind, to, amount| native(kind, AccountAddress::ZERO, to, amount, None);
        let rewards = reward::rewards(self.params.rewards, block, uncles);
        let rewards = rewards.into_iter().map(|(to, amount)| new(TransferKind::Reward, to, amount));
        let withdrawals = block.withdrawals.iter().filter(|_| self.params.pays_withdrawals);
        let withdrawals = withdrawals.map(|withdrawal| {
            let amount = withdrawn(withdrawal.amount.0);
            new(TransferKind::Withdrawal, withdrawal.address.0, amount)
        });
        let records = by_rule.iter().cloned().chain(rewards).chain(withdrawals);
        let mut transfers: Vec<_> = records.filter(|it| !it.amount.is_zero()).collect();
        for (transfer, index) in transfers.iter_mut().zip(0..) {
            transfer.place.index = index;
        }
        (!transfers.is_empty()).then(|| AccountTransaction {
            block: reference.height,
            time: reference.time,
            id: AccountTransaction::id_of_block(reference.height),
            initiator: None,
            transfers,
            contract_facts: Vec::new(),
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        })
    }
}

/// A transaction that is being booked.
struct Draft<'a> {
    booking: &'a Booking<'a>,
    transaction: &'a TransactionAnswer,
    receipt: &'a ReceiptAnswer,
    sender: AccountAddress,
    trace: Option<&'a TransactionTrace>,
}

impl Draft<'_> {
    fn finish(&self, reference: &BlockRef) -> Result<BookedTransaction, String> {
        let id = Txid::from_bytes(self.transaction.hash.0);
        let mut moves = Vec::new();
        self.add_deposit(&mut moves);
        self.add_calls(&mut moves)?;
        let events = self.events();
        self.add_tokens(&events, &mut moves);
        self.add_fees(&mut moves)?;
        self.add_balance_changes(&mut moves);
        moves.retain(|it| it.transfer.to != BELOW);
        moves.sort_by_key(|it| it.order);
        let initiator = self.initiator(&events, &moves);
        let numbered = (0..).zip(moves).map(|(index, Move { mut transfer, .. })| {
            transfer.place.index = index;
            transfer
        });
        let transfers: Vec<_> = numbered.collect();
        let succeeded = events.iter().filter(|_| !self.is_failed());
        let freezes = succeeded.filter_map(|(_, log, event)| {
            let (account, change) = event.freeze_change()?;
            let index = u32::try_from(log.log_index.0).unwrap_or(u32::MAX);
            Some(FreezeEvent { asset: Asset::Token(log.address.0), account, change, log: index })
        });
        let freezes = freezes.collect();
        let chain = self.booking.chain;
        let (contract_facts, named) = beneficiaries::named(chain, self.logs(), &transfers);
        let messages = bridge_messages::of_logs(chain, self.logs()).collect();
        let transaction = AccountTransaction {
            block: reference.height,
            time: reference.time,
            id,
            initiator,
            transfers,
            contract_facts,
            freezes,
            delegations: Vec::new(),
            messages,
        };
        Ok(BookedTransaction { transaction, ran: self.accounts_with_code(), named })
    }

    /// The logs of the transaction; none if it failed, of which some nodes keep them.
    fn logs(&self) -> &[LogAnswer] {
        if self.is_failed() { &[] } else { &self.receipt.logs }
    }

    /// The accounts that ran code: those that logged, and those that called others.
    fn accounts_with_code(&self) -> BTreeSet<AccountAddress> {
        let logged = self.logs().iter().map(|log| log.address.0);
        logged.chain(self.trace.into_iter().flat_map(TransactionTrace::callers)).collect()
    }

    /// The account that sent the transaction. A bundle was sent for the account that its entry point names, and one for several
    /// accounts names none, if its signer pays nothing but fees: otherwise anybody could have another account answer for his own
    /// payments.
    fn initiator(
        &self,
        events: &[(usize, &LogAnswer, Event)],
        moves: &[Move],
    ) -> Option<AccountAddress> {
        let chain = self.booking.chain;
        let pays = |transfer: &Transfer| {
            let is_payment = transfer.kind != TransferKind::Fee && !transfer.amount.is_zero();
            // Any contract logs transfers of tokens of its own.
            let is_known = scored_asset(AssetId { chain, asset: transfer.asset }).is_some();
            is_payment && is_known && transfer.from == self.sender
        };
        if moves.iter().any(|it| pays(&it.transfer)) {
            return Some(self.sender);
        }
        let senders: HashSet<_> = events
            .iter()
            .filter_map(|(_, _, event)| match event {
                Event::UserOperation { sender } => Some(*sender),
                _ => None,
            })
            .collect();
        match senders.len() {
            0 => Some(self.sender),
            1 => senders.into_iter().next(),
            _ => None,
        }
    }

    /// True if the transaction succeeded.
    fn is_successful(&self) -> Result<bool, String> {
        match (self.receipt.status, self.trace.and_then(|trace| trace.calls.first())) {
            (Some(status), _) => Ok(status.0 == 1),
            (None, Some(call)) => Ok(!call.is_failed),
            (None, None) => Err(
                "its receipt states no status, as before Byzantium, and only a trace says whether it failed: use a \
                 node with a tracer"
                    .to_owned(),
            ),
        }
    }

    /// Adds the coins that the transaction brings from the chain below, whether it succeeds or not.
    fn add_deposit(&self, moves: &mut Vec<Move>) {
        let kind = self.transaction.kind();
        if self.booking.params.deposits != Some(kind) {
            return;
        }
        let amount = match self.transaction.mint {
            Some(mint) => mint.0,
            None if kind == super::envelope::OP_DEPOSIT => U256::ZERO,
            None => self.transaction.value.0,
        };
        if !amount.is_zero() {
            let transfer = native(TransferKind::Transfer, BELOW, self.sender, amount, None);
            moves.push(Move { order: (0, MoveClass::Deposit, 0), transfer });
        }
    }

    /// Adds what calls moved.
    fn add_calls(&self, moves: &mut Vec<Move>) -> Result<(), String> {
        let is_successful = self.is_successful()?;
        if self.coin_logs() == Some(CoinLogs::Complete) {
            return Ok(());
        }
        let Some(trace) = self.trace else {
            if is_successful {
                self.add_value(moves);
            }
            return Ok(());
        };
        let mut created = HashSet::new();
        for (index, call) in trace.calls.iter().enumerate() {
            if call.is_failed {
                continue;
            }
            let Some(to) = call.to else { continue };
            // Nodes built on revm state an earlier movement in the place of a self-destruction that moved nothing.
            if call.kind == CallKind::SelfDestruct && trace.is_of_other(call) {
                continue;
            }
            if call.kind == CallKind::Create {
                created.insert(to);
            }
            let Some((kind, to)) = self.moved_by(call, to, &created) else { continue };
            let published = Some(PublishedPlace::Trace(self.booking.counted(trace.path(call))?));
            let transfer = native(kind, call.from, to, call.amount, published);
            moves.push(Move { order: (index, MoveClass::Call, 0), transfer });
        }
        Ok(())
    }

    /// The kind and the receiver of what a successful call moved; `None` if it moved nothing.
    fn moved_by(
        &self,
        call: &Call,
        to: AccountAddress,
        created: &HashSet<AccountAddress>,
    ) -> Option<(TransferKind, AccountAddress)> {
        match call.kind {
            CallKind::Delegate | CallKind::Static => None,
            // Who created a contract is evidence without value too.
            CallKind::Create => Some((TransferKind::Create, to)),
            _ if call.amount.is_zero() => None,
            CallKind::Call => Some((TransferKind::Transfer, to)),
            CallKind::SelfDestruct if call.from != to => Some((TransferKind::Transfer, to)),
            // A contract that leaves its coins to itself destroys them: until Cancun, then if the transaction created it
            // (EIP-6780), and since Amsterdam never (EIP-8246).
            CallKind::SelfDestruct => {
                let block = &self.booking.answers.block;
                let destroys = block.block_access_list_hash.is_none()
                    && (block.parent_beacon_block_root.is_none() || created.contains(&call.from));
                destroys.then_some((TransferKind::Burn, AccountAddress::ZERO))
            }
        }
    }

    /// Adds the value of a transaction without a trace.
    fn add_value(&self, moves: &mut Vec<Move>) {
        let amount = self.transaction.value.0;
        let (kind, to) = if let Some(to) = self.transaction.to {
            (TransferKind::Transfer, to.0)
        } else {
            let to = verify::created_by(self.transaction, self.sender, self.receipt);
            (TransferKind::Create, to)
        };
        if !amount.is_zero() || kind == TransferKind::Create {
            let published = Some(PublishedPlace::Trace("".into()));
            let transfer = native(kind, self.sender, to, amount, published);
            moves.push(Move { order: (0, MoveClass::Call, 0), transfer });
        }
    }

    /// True if the transaction failed. Receipts of early blocks do not state it.
    fn is_failed(&self) -> bool {
        self.receipt.status.is_some_and(|status| status.0 == 0)
    }

    /// The events of the transaction, with the number of each log in the receipt. Some nodes keep logs of failed transactions, which
    /// state nothing but fees where the coin logs these.
    fn events(&self) -> Vec<(usize, &LogAnswer, Event)> {
        if self.is_failed() && self.coin_logs() != Some(CoinLogs::Complete) {
            return Vec::new();
        }
        let logs = self.receipt.logs.iter().enumerate();
        let read = |log| Event::read(self.booking.chain, log);
        logs.filter_map(|(number, log)| Some((number, log, read(log)?))).collect()
    }

    /// Adds transfers of tokens. Units that a token logs both as a transfer and as new or destroyed ones count once.
    fn add_tokens(&self, events: &[(usize, &LogAnswer, Event)], moves: &mut Vec<Move>) {
        let places = self.placed_logs();
        let of = |(number, log, event): &(usize, &LogAnswer, Event)| {
            let place = places.and_then(|places| places.get(*number));
            // The search for the caller reads all calls, and only events without an account need it.
            let caller = match event {
                Event::Issued { .. } => self.caller_of(log.address.0, place),
                _ => None,
            };
            let change = event.moved(caller);
            change.map(|change| (*number, log.address.0, change, place))
        };
        let is_transfer = |event: &Event| matches!(event, Event::Transfer { .. });
        let mut logged_as_transfer: HashMap<_, usize> = HashMap::new();
        let has_others = !events.iter().all(|(_, _, event)| is_transfer(event));
        for event in events.iter().filter(|(_, _, event)| has_others && is_transfer(event)) {
            if let Some((_, contract, change, _)) = of(event) {
                *logged_as_transfer.entry((contract, change)).or_default() += 1;
            }
        }
        for event in events {
            let Some((number, contract, change, place)) = of(event) else { continue };
            if !is_transfer(&event.2)
                && let Some(count) = logged_as_transfer.get_mut(&(contract, change))
                && *count > 0
            {
                *count -= 1;
                continue;
            }
            let asset = match self.coin_logs_of(contract) {
                None => Asset::Token(contract),
                Some(CoinLogs::Duplicate) => continue,
                Some(CoinLogs::Additional | CoinLogs::Complete) => Asset::Native,
            };
            let (kind, from, to, amount) = change;
            let index = u32::try_from(event.1.log_index.0).unwrap_or(u32::MAX);
            let published = Some(PublishedPlace::Log(index));
            let place_index = TransferPlace { index: 0, published };
            let transfer = Transfer { kind, asset, from, to, amount, place: place_index };
            // Without places, logs stand behind the calls.
            let after = place.map_or(usize::MAX, |place| place.after);
            moves.push(Move { order: (after, MoveClass::Log, number), transfer });
        }
    }

    /// The places of the receipt's logs among the calls, if the trace has the same logs.
    fn placed_logs(&self) -> Option<&[PlacedLog]> {
        let places = self.trace?.logs.as_deref()?;
        let is_same = places.len() == self.receipt.logs.len()
            && places.iter().zip(&self.receipt.logs).all(|(place, log)| {
                place.address == log.address.0
                    && place.topics == log.topics
                    && place.data == log.data
            });
        is_same.then_some(places)
    }

    /// The account that called a contract: at a log's place, else in the first such call, else the one that the transaction
    /// shows.
    fn caller_of(
        &self,
        contract: AccountAddress,
        place: Option<&PlacedLog>,
    ) -> Option<AccountAddress> {
        if let Some(trace) = self.trace {
            let at_place = place.and_then(|place| trace.calls.get(place.call));
            let mut calls = at_place.into_iter().chain(&trace.calls);
            let caller = calls.find(|call| {
                !call.is_failed && call.kind == CallKind::Call && call.to == Some(contract)
            });
            return caller.map(|call| call.from);
        }
        match self.transaction.to {
            Some(to) if to.0 == contract => Some(self.sender),
            // The contract between them, such as a wallet of several keys.
            to => to.map(|to| to.0),
        }
    }

    /// Adds what changes of balances show of a transaction that could not be traced.
    fn add_balance_changes(&self, moves: &mut Vec<Move>) {
        let hash = self.transaction.hash.0;
        let untraced = self.booking.answers.untraced.iter().find(|it| it.hash == hash);
        let Some(Untraced { changes, .. }) = untraced else { return };
        let known: Vec<&Transfer> = moves.iter().map(|it| &it.transfer).collect();
        // Nodes may not state the receiver of coins that move by logs alone.
        let is_stated = self.coin_logs() != Some(CoinLogs::Additional);
        let changes = changes.as_ref().filter(|_| is_stated);
        let found = changes.and_then(|changes| changes.unexplained(&known));
        let known = match found {
            Some(_) => InternalTransfers::OfBalances,
            None => InternalTransfers::Lacking,
        };
        self.booking.internal.set(self.booking.internal.get().max(known));
        for (number, transfer) in (1..).zip(found.unwrap_or_default()) {
            moves.push(Move { order: (0, MoveClass::Call, number), transfer });
        }
    }

    fn coin_logs(&self) -> Option<CoinLogs> {
        self.booking.params.coin_contract.map(|coin| coin.logs)
    }

    fn coin_logs_of(&self, contract: AccountAddress) -> Option<CoinLogs> {
        let coin = self.booking.params.coin_contract?;
        (coin.contract == contract).then_some(coin.logs)
    }

    /// Adds the fee: its base and what blobs cost are destroyed, the rest is paid to the producer of the block. Failed
    /// transactions pay it too.
    fn add_fees(&self, moves: &mut Vec<Move>) -> Result<(), String> {
        // Logs state the fee: those of the coin, or those of the token that it is paid in.
        if self.coin_logs() == Some(CoinLogs::Complete) || self.transaction.fee_currency.is_some() {
            return Ok(());
        }
        let (params, block) = (self.booking.params, &self.booking.answers.block);
        let base_fee = block.base_fee_per_gas.unwrap_or_default().0;
        let price = verify::gas_price(params, base_fee, self.transaction, self.receipt)?;
        let gas = U256::from(self.receipt.gas_used.0);
        let blob_fee = self.blob_fee()?;
        // A deposit pays no base fee.
        let base_fee = base_fee.min(price);
        let fee = Fee::new(gas, price, base_fee, blob_fee).ok_or("its fee is above 256 bits")?;
        let base_to = params.base_fee_to.unwrap_or(AccountAddress::ZERO);
        let data_fee = params.data_fee_to.zip(self.data_fee()?);
        let parts = [(base_to, fee.base), (block.miner.0, fee.tip)].into_iter().chain(data_fee);
        for (number, (to, amount)) in parts.enumerate().filter(|(_, (_, part))| !part.is_zero()) {
            let transfer = native(TransferKind::Fee, self.sender, to, amount, None);
            moves.push(Move { order: (usize::MAX, MoveClass::Fee, number), transfer });
        }
        Ok(())
    }

    /// The payment for data on the chain below, which no root commits to.
    fn data_fee(&self) -> Result<Option<U256>, String> {
        // Thousands of times the usual price; 500 bytes are those of a transaction without data.
        const MOST_A_BYTE: u64 = 10_000_000_000_000_000;
        let Some(fee) = self.receipt.l1_fee.map(|fee| fee.0) else { return Ok(None) };
        let most = U256::from(MOST_A_BYTE) * U256::from(self.transaction.input.0.len() + 500);
        if fee > most {
            return Err(format!(
                "its receipt states l1Fee {fee}, and its data costs at most {most}"
            ));
        }
        Ok(Some(fee))
    }

    /// The payment for blobs, whose price no root commits to: the transaction's limit bounds it.
    fn blob_fee(&self) -> Result<U256, String> {
        const GAS_A_BLOB: u64 = 1 << 17;
        let blobs = self.transaction.blob_versioned_hashes.as_ref().map_or(0, Vec::len);
        if blobs == 0 {
            return Ok(U256::ZERO);
        }
        let price = self.receipt.blob_gas_price.ok_or("its receipt has no blobGasPrice")?.0;
        let most = self.transaction.max_fee_per_blob_gas.unwrap_or_default().0;
        if price > most {
            return Err(format!("its blobs cost {price} a unit of gas, above its limit of {most}"));
        }
        let gas = U256::from(blobs) * U256::from(GAS_A_BLOB);
        if self.receipt.blob_gas_used.is_some_and(|stated| U256::from(stated.0) != gas) {
            return Err(format!("its receipt states other blob gas than the {gas} of its blobs"));
        }
        gas.checked_mul(price).ok_or_else(|| "its blobs cost more than 256 bits".to_owned())
    }
}

/// A transfer of the chain's coin.
pub(super) fn native(
    kind: TransferKind,
    from: AccountAddress,
    to: AccountAddress,
    amount: U256,
    published: Option<PublishedPlace>,
) -> Transfer {
    let place = TransferPlace { index: 0, published };
    Transfer { kind, asset: Asset::Native, from, to, amount, place }
}
