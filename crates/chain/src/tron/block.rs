//! A verified block and a node's statements about it, as transactions with their transfers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use alloy_primitives::keccak256;
use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, FreezeEvent, PublishedPlace, ResourceDelegation,
        Transfer, TransferKind, TransferPlace,
    },
    ledger::BlockRef,
    utxo::Txid,
};
use assay_graph::account::{AccountBlock, InternalTransfers};
use jiff::Timestamp;
use ruint::aliases::U256;

use super::{
    answer::{InfoAnswer, InternalAnswer},
    contract::{Effect, address, numbered},
    logs::{read_log, tokens},
    verify::{VerifiedBlock, VerifiedTransaction},
};
use crate::{
    evm::{
        answer::LogAnswer, beneficiaries, bridge_messages, contracts::with_contract_facts,
        events::Event,
    },
    hash::hash_text,
};

const CHAIN: ChainId = ChainId::TRX;
/// Calls inside of a transaction that move what they state, by their notes; those of stakes and votes move nothing to others.
const MOVING_NOTES: [&[u8]; 3] = [b"call", CREATION, b"suicide"];
const CREATION: &[u8] = b"create";
/// The note of a contract's own reward.
const REWARD: &[u8] = b"withdrawReward";

/// The pairs of exchanges, by their numbers. `None` is a token that has a name only.
pub(super) type ExchangePairs = BTreeMap<i64, [Option<Asset>; 2]>;

/// The account of an exchange of the chain: its pool has none of its own. No key leads to it.
pub(super) fn exchange_account(number: i64) -> AccountAddress {
    let mut account = *b"trx-exchange\0\0\0\0\0\0\0\0";
    if let Some(last) = account.last_chunk_mut::<8>() {
        *last = number.to_be_bytes();
    }
    AccountAddress(account)
}

impl VerifiedBlock {
    /// The exchanges of which a reader must know the pair.
    pub(super) fn exchanges(&self) -> BTreeSet<i64> {
        let numbers = self.transactions.iter().filter_map(|it| match it.contract.effect {
            Effect::Inject { exchange, .. }
            | Effect::Withdraw { exchange, .. }
            | Effect::Trade { exchange, .. } => Some(exchange),
            _ => None,
        });
        numbers.collect()
    }

    /// Compares a node's statements with the block, and makes the block of them.
    ///
    /// # Errors
    ///
    /// Returns a description of what differs or lacks.
    pub(super) fn book(
        &self,
        infos: &[InfoAnswer],
        pairs: &ExchangePairs,
    ) -> Result<AccountBlock, String> {
        let time = Timestamp::from_millisecond(self.timestamp);
        let time = time.map_err(|_| format!("its time {} is in no year", self.timestamp))?;
        let (height, hash, parent) = (self.height, self.id, self.parent);
        let reference = BlockRef { height, hash, parent, time };
        let infos = self.matched(infos)?;
        let (mut transactions, mut first_log) = (Vec::new(), 0);
        let mut internal = InternalTransfers::Stated;
        for transaction in &self.transactions {
            let info = infos.get(&transaction.id).copied();
            let draft = Draft::new(transaction, info, first_log, pairs).map_err(|reason| {
                format!("transaction {}: {reason}", hash_text(&transaction.id))
            })?;
            first_log += draft.logs.len();
            if draft.lacks_transfers() {
                internal = InternalTransfers::Lacking;
            }
            let booked = draft.finish(&reference);
            let AccountTransaction { transfers, freezes, delegations, .. } = &booked;
            if !(transfers.is_empty() && freezes.is_empty() && delegations.is_empty()) {
                transactions.push(booked);
            }
        }
        Ok(AccountBlock { reference, transactions, internal })
    }

    /// The statements by the transactions' identifiers: one about each transaction. Of blocks before smart contracts, nodes have
    /// none; their roots commit to results without a word about contracts.
    fn matched<'i>(
        &self,
        infos: &'i [InfoAnswer],
    ) -> Result<HashMap<[u8; 32], &'i InfoAnswer>, String> {
        let is_early = self.transactions.iter().all(|it| it.succeeded.is_none());
        if infos.is_empty() && is_early {
            return Ok(HashMap::new());
        }
        let wanted = self.transactions.len();
        if infos.len() != wanted {
            let found = infos.len();
            return Err(format!("there are {found} transaction infos of {wanted} transactions"));
        }
        let mut matched = HashMap::with_capacity(wanted);
        for info in infos {
            let id = hash_text(&info.id.0);
            let is_of_block = u64::try_from(info.block_number) == Ok(self.height)
                && info.block_timestamp == self.timestamp;
            if !is_of_block {
                return Err(format!("the transaction info of {id} is of another block"));
            }
            if matched.insert(info.id.0, info).is_some() {
                return Err(format!("there are two transaction infos of {id}"));
            }
        }
        match self.transactions.iter().find(|it| !matched.contains_key(&it.id)) {
            Some(missing) => {
                Err(format!("there is no transaction info of {}", hash_text(&missing.id)))
            }
            None => Ok(matched),
        }
    }
}

/// A transaction that is being booked.
struct Draft<'a> {
    transaction: &'a VerifiedTransaction,
    info: Option<&'a InfoAnswer>,
    logs: Vec<LogAnswer>,
    pairs: &'a ExchangePairs,
    transfers: Vec<Transfer>,
    /// Accounts that ran code.
    ran: BTreeSet<AccountAddress>,
}

impl<'a> Draft<'a> {
    fn new(
        transaction: &'a VerifiedTransaction,
        info: Option<&'a InfoAnswer>,
        first_log: usize,
        pairs: &'a ExchangePairs,
    ) -> Result<Self, String> {
        let (transfers, ran) = (Vec::new(), BTreeSet::new());
        let mut draft = Self { transaction, info, logs: Vec::new(), pairs, transfers, ran };
        if let Some(info) = info.filter(|_| draft.has_logs()) {
            let numbered = (first_log..).zip(&info.log);
            let logs = numbered.map(|(number, log)| read_log(transaction.id, number, log));
            draft.logs = logs.collect::<Result<_, _>>()?;
        }
        Ok(draft)
    }

    fn is_failed_by_info(&self) -> bool {
        self.info.is_some_and(|info| info.result.as_deref() == Some("FAILED"))
    }

    /// True if the transaction moved what it was to move: by the block, or else by the node.
    fn is_successful(&self) -> bool {
        self.transaction.succeeded.unwrap_or(!self.is_failed_by_info())
    }

    /// True if event logs and calls of the transaction count.
    fn has_logs(&self) -> bool {
        self.is_successful() && !self.is_failed_by_info()
    }

    /// True if the transaction moved something that nobody states.
    fn lacks_transfers(&self) -> bool {
        self.is_successful() && self.transaction.contract.effect == Effect::Unstated
    }

    fn finish(mut self, reference: &BlockRef) -> AccountTransaction {
        if self.is_successful() {
            self.add_effect();
        }
        if self.has_logs() {
            self.add_internal();
        }
        let events: Vec<_> =
            self.logs.iter().filter_map(|log| Some((log, Event::read(CHAIN, log)?))).collect();
        let of_tokens = tokens(&events, self.transaction.contract.owner);
        let freezes = events.iter().filter_map(|(log, event)| {
            let (account, change) = event.freeze_change()?;
            let asset = Asset::Token(log.contract());
            Some(FreezeEvent { asset, account, change, log: log.index() })
        });
        let freezes = freezes.collect();
        let delegations = self.delegation().into_iter().collect();
        self.transfers.extend(of_tokens);
        self.ran.extend(self.logs.iter().map(LogAnswer::contract));
        self.add_fee();
        for (index, transfer) in (0..).zip(&mut self.transfers) {
            transfer.place.index = index;
        }
        let (contract_facts, named) = beneficiaries::named(CHAIN, &self.logs, &self.transfers);
        let messages = bridge_messages::of_logs(CHAIN, &self.logs).collect();
        let transaction = AccountTransaction {
            block: reference.height,
            time: reference.time,
            id: Txid::from_bytes(self.transaction.id),
            initiator: self.transaction.contract.owner,
            transfers: self.transfers,
            contract_facts,
            freezes,
            delegations,
            messages,
        };
        // Only contracts have code: a key delegates to none.
        with_contract_facts(transaction, self.ran, named)
    }

    /// Adds a transfer of an amount above zero of a known asset.
    fn add(
        &mut self,
        kind: TransferKind,
        asset: Option<Asset>,
        [from, to]: [AccountAddress; 2],
        amount: i64,
        published: Option<PublishedPlace>,
    ) {
        let amount = u64::try_from(amount).ok().filter(|amount| *amount > 0);
        let (Some(amount), Some(asset)) = (amount, asset) else { return };
        self.push(kind, asset, [from, to], amount, published);
    }

    fn push(
        &mut self,
        kind: TransferKind,
        asset: Asset,
        [from, to]: [AccountAddress; 2],
        amount: u64,
        published: Option<PublishedPlace>,
    ) {
        let place = TransferPlace { index: 0, published };
        self.transfers.push(Transfer { kind, asset, from, to, amount: U256::from(amount), place });
    }

    /// Adds what the transaction itself moves.
    fn add_effect(&mut self) {
        use TransferKind::Transfer as Payment;
        let contract = &self.transaction.contract;
        let place = || Some(PublishedPlace::Trace("".into()));
        let Some(owner) = contract.owner else {
            // The first block: its coins come from nobody.
            if let Effect::Payment { to, asset, amount } = contract.effect {
                let parties = [AccountAddress::ZERO, to];
                self.add(TransferKind::Reward, asset, parties, amount, None);
            }
            return;
        };
        match contract.effect.clone() {
            Effect::Payment { to, asset, amount } => {
                self.add(Payment, asset, [owner, to], amount, place());
            }
            Effect::Call { contract, amount, token } => {
                self.ran.insert(contract);
                self.add(Payment, Some(Asset::Native), [owner, contract], amount, place());
                if let Some((asset, amount)) = token {
                    self.add(Payment, Some(asset), [owner, contract], amount, place());
                }
            }
            Effect::Create { amount, token } => {
                let created = self.created();
                // Who created a contract is evidence without value too.
                let amount = u64::try_from(amount).unwrap_or_default();
                let kind = TransferKind::Create;
                self.push(kind, Asset::Native, [owner, created], amount, place());
                if let Some((asset, amount)) = token {
                    self.add(Payment, Some(asset), [owner, created], amount, place());
                }
            }
            Effect::Reward => {
                let amount = self.info.map_or(0, |info| info.withdraw_amount);
                let parties = [AccountAddress::ZERO, owner];
                self.add(TransferKind::Reward, Some(Asset::Native), parties, amount, None);
            }
            Effect::OpenExchange { .. }
            | Effect::Inject { .. }
            | Effect::Withdraw { .. }
            | Effect::Trade { .. } => self.add_exchange(owner),
            Effect::Delegation { .. } | Effect::Unstated | Effect::Nothing => {}
        }
    }

    /// The loan of resources that the transaction begins or ends.
    fn delegation(&self) -> Option<ResourceDelegation> {
        let contract = &self.transaction.contract;
        let Effect::Delegation { borrower, resource, change } = contract.effect else {
            return None;
        };
        let lender = contract.owner.filter(|_| self.is_successful())?;
        Some(ResourceDelegation { lender, borrower, resource, change })
    }

    /// The contract that the transaction creates: its address follows from the transaction and its sender.
    fn created(&self) -> AccountAddress {
        let owner = &self.transaction.contract.owner_bytes;
        let hash = keccak256([&self.transaction.id[..], owner].concat());
        AccountAddress(hash.last_chunk().copied().unwrap_or_default())
    }

    /// Adds what an exchange of the chain gets and gives.
    fn add_exchange(&mut self, owner: AccountAddress) {
        let Some(info) = self.info else { return };
        let effect = self.transaction.contract.effect.clone();
        let (number, given, taken) = match effect {
            Effect::OpenExchange { parts } => (info.exchange_id, parts.to_vec(), Vec::new()),
            Effect::Inject { exchange, token, amount } => {
                let other = self.other_of(exchange, token);
                let other = (other, info.exchange_inject_another_amount);
                (exchange, vec![(token, amount), other], Vec::new())
            }
            Effect::Withdraw { exchange, token, amount } => {
                let other = self.other_of(exchange, token);
                let other = (other, info.exchange_withdraw_another_amount);
                (exchange, Vec::new(), vec![(token, amount), other])
            }
            Effect::Trade { exchange, token, amount } => {
                let other = self.other_of(exchange, token);
                let taken = vec![(other, info.exchange_received_amount)];
                (exchange, vec![(token, amount)], taken)
            }
            _ => return,
        };
        let pool = exchange_account(number);
        // Money of all who deal with it mixes in it, as in a contract.
        self.ran.insert(pool);
        for (asset, amount) in given {
            self.add(TransferKind::Transfer, asset, [owner, pool], amount, None);
        }
        for (asset, amount) in taken {
            self.add(TransferKind::Transfer, asset, [pool, owner], amount, None);
        }
    }

    /// The other token of an exchange; `None` for one that has a name only.
    fn other_of(&self, exchange: i64, token: Option<Asset>) -> Option<Asset> {
        let [first, second] = *self.pairs.get(&exchange)?;
        if token == first { second } else { first }
    }

    /// Adds what calls inside of the transaction move.
    fn add_internal(&mut self) {
        let calls = self.info.map(|info| &*info.internal_transactions).unwrap_or_default();
        for (index, call) in calls.iter().enumerate().filter(|(_, call)| !call.rejected) {
            self.add_call(index, call);
        }
    }

    fn add_call(&mut self, index: usize, call: &InternalAnswer) {
        let parties = [&call.caller_address, &call.transfer_to_address].map(|it| address(&it.0));
        let [Some(from), Some(to)] = parties else { return };
        let note = &*call.note.0;
        let place = || Some(PublishedPlace::Trace(index.to_string().into()));
        self.ran.insert(from);
        if note == REWARD {
            let amount = call.call_value_info.first().map_or(0, |value| value.call_value);
            let parties = [AccountAddress::ZERO, from];
            self.add(TransferKind::Reward, Some(Asset::Native), parties, amount, place());
            return;
        }
        // Code that runs in its caller's own name states the caller twice.
        if !MOVING_NOTES.contains(&note) || from == to {
            return;
        }
        let is_creation = note == CREATION;
        if is_creation {
            let coins = call.call_value_info.iter().filter(|value| value.token_id.is_empty());
            let coins = coins.map(|value| u64::try_from(value.call_value).unwrap_or_default());
            let amount = coins.fold(0, u64::saturating_add);
            self.push(TransferKind::Create, Asset::Native, [from, to], amount, place());
        }
        for value in &call.call_value_info {
            let is_coin = value.token_id.is_empty();
            let asset = if is_coin { Some(Asset::Native) } else { numbered(&value.token_id) };
            if !(is_coin && is_creation) {
                self.add(TransferKind::Transfer, asset, [from, to], value.call_value, place());
            }
        }
    }

    /// Adds the fee, which is destroyed. Failed transactions pay it too.
    fn add_fee(&mut self) {
        let Some((owner, info)) = self.transaction.contract.owner.zip(self.info) else { return };
        let parties = [owner, AccountAddress::ZERO];
        self.add(TransferKind::Fee, Some(Asset::Native), parties, info.fee, None);
    }
}
