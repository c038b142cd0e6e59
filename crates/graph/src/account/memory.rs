//! Account graphs in memory: the transfers of a chain by number, and the ledgers that follow from them. This graph is the
//! reference for graphs in a store.

use std::{collections::HashMap, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountLedger, AccountPayments, AccountState, AccountStates,
        AccountTransaction, AccountView, Asset, AssetNumber, DayPrices, DayValues, Dealing,
        DealingKey, Dealings, LedgerBook, MoneyEnd, MoneyEnds, NumberedTransaction, PageOfSums,
        Payment, PaymentSum, PaymentSums, Prices, ScoredAsset, Transfer, book, ends_group,
        ends_page, summed_until,
    },
    ledger::{OwnerNumber, TransactionNumber},
    utxo::Txid,
};
use jiff::{Timestamp, civil::Date};
use rustc_hash::FxHashMap;

use super::{
    AccountGraphView, RecordCounts,
    numbering::{ScoredAssets, contracts_of, is_creation, named_of},
};
use crate::GraphError;

/// The transactions of an account chain by numbers, in the order of the chain.
#[derive(Debug)]
pub struct AccountTransactions {
    chain: ChainId,
    scored: ScoredAssets,
    transactions: Vec<AccountTransaction>,
    /// Numbers of transactions by identifier.
    by_id: HashMap<Txid, TransactionNumber>,
    owners: Vec<AccountAddress>,
    numbers: FxHashMap<AccountAddress, OwnerNumber>,
    /// Assets outside the table, from [`AssetNumber::FIRST_OTHER`] on.
    other_assets: Vec<Asset>,
    /// Numbers of all scored assets of the chain, and of the other ones that it had.
    asset_numbers: HashMap<Asset, AssetNumber>,
    /// Transactions that transfer a token outside the table, or nothing, by owner.
    other_tokens: FxHashMap<OwnerNumber, Vec<TransactionNumber>>,
    /// Transactions that froze an account or ended a freeze, by owner.
    freezes: FxHashMap<OwnerNumber, Vec<TransactionNumber>>,
    /// Transactions with loans of resources, by owner.
    delegations: FxHashMap<OwnerNumber, Vec<TransactionNumber>>,
    messages: FxHashMap<OwnerNumber, Vec<TransactionNumber>>,
    /// The account that created each contract.
    deployers: FxHashMap<OwnerNumber, OwnerNumber>,
    /// The contracts that each account created.
    deployed: FxHashMap<OwnerNumber, Vec<OwnerNumber>>,
    counts: RecordCounts,
}

impl AccountTransactions {
    /// A chain without transactions.
    #[must_use]
    pub fn new(chain: ChainId) -> Self {
        let scored = AssetNumber::all_scored(chain);
        let scored = scored.filter_map(|number| Some((number.scored(chain)?.id.asset, number)));
        Self {
            chain,
            scored: ScoredAssets::of(chain),
            transactions: Vec::new(),
            by_id: HashMap::new(),
            owners: Vec::new(),
            numbers: FxHashMap::default(),
            other_assets: Vec::new(),
            asset_numbers: scored.collect(),
            other_tokens: FxHashMap::default(),
            freezes: FxHashMap::default(),
            delegations: FxHashMap::default(),
            messages: FxHashMap::default(),
            deployers: FxHashMap::default(),
            deployed: FxHashMap::default(),
            counts: RecordCounts::default(),
        }
    }

    /// Adds the next transaction of the chain.
    pub fn push(&mut self, transaction: AccountTransaction) {
        let number = TransactionNumber(self.transactions.len() as u64);
        let is_of_known_block =
            self.transactions.last().is_some_and(|it| it.block == transaction.block);
        self.counts.blocks += u64::from(!is_of_known_block);
        let scored = self.scored.clone();
        scored.accounts_of(&transaction, |account| {
            self.number(account);
        });
        for transfer in &transaction.transfers {
            self.add(transfer, number);
        }
        let frozen = transaction.freezes.iter();
        for event in frozen.filter(|event| event.account != AccountAddress::ZERO) {
            let owner = self.number(event.account);
            let known = self.freezes.entry(owner).or_default();
            if known.last() != Some(&number) {
                known.push(number);
            }
        }
        let parties = transaction.delegations.iter().flat_map(|it| [it.lender, it.borrower]);
        for account in parties.filter(|account| *account != AccountAddress::ZERO) {
            let owner = self.number(account);
            let known = self.delegations.entry(owner).or_default();
            if known.last() != Some(&number) {
                known.push(number);
            }
        }
        let messages = transaction.messages.iter().map(|message| message.id);
        for id in messages.filter(|id| *id != AccountAddress::ZERO) {
            let owner = self.number(id);
            let known = self.messages.entry(owner).or_default();
            if known.last() != Some(&number) {
                known.push(number);
            }
        }
        self.counts.add(&self.scored, &transaction);
        self.by_id.insert(transaction.id, number);
        self.transactions.push(transaction);
    }

    fn add(&mut self, transfer: &Transfer, number: TransactionNumber) {
        if !self.asset_number(transfer.asset).is_scored() || transfer.amount.is_zero() {
            for account in [transfer.from, transfer.to] {
                if account != AccountAddress::ZERO {
                    let owner = self.number(account);
                    let known = self.other_tokens.entry(owner).or_default();
                    if known.last() != Some(&number) {
                        known.push(number);
                    }
                }
            }
        }
        if is_creation(transfer) {
            let (deployer, contract) = (self.number(transfer.from), self.number(transfer.to));
            self.deployers.insert(contract, deployer);
            self.deployed.entry(deployer).or_default().push(contract);
        }
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.chain
    }

    /// The transactions, in the order of their numbers.
    #[must_use]
    pub fn transactions(&self) -> &[AccountTransaction] {
        &self.transactions
    }

    /// The counts of recorded transfers.
    #[must_use]
    pub const fn counts(&self) -> &RecordCounts {
        &self.counts
    }

    /// The number of an account; `None` if it never appeared.
    #[must_use]
    pub fn owner_number(&self, account: AccountAddress) -> Option<OwnerNumber> {
        self.numbers.get(&account).copied()
    }

    /// The account with a number.
    #[must_use]
    pub fn account(&self, owner: OwnerNumber) -> Option<AccountAddress> {
        self.owners.get(usize::try_from(owner.0).ok()?).copied()
    }

    /// Number of accounts.
    #[must_use]
    pub fn owners(&self) -> usize {
        self.owners.len()
    }

    /// The transaction with an identifier.
    #[must_use]
    pub fn find(&self, id: &Txid) -> Option<(TransactionNumber, &AccountTransaction)> {
        let number = *self.by_id.get(id)?;
        Some((number, self.transaction(number)?))
    }

    /// The transaction with a number.
    #[must_use]
    pub fn transaction(&self, number: TransactionNumber) -> Option<&AccountTransaction> {
        self.transactions.get(usize::try_from(number.0).ok()?)
    }

    /// The transactions of an account that transfer tokens outside the table, or nothing.
    #[must_use]
    pub fn with_other_tokens(&self, owner: OwnerNumber) -> &[TransactionNumber] {
        self.other_tokens.get(&owner).map(Vec::as_slice).unwrap_or_default()
    }

    /// The transactions with loans of resources of an account.
    #[must_use]
    pub fn with_delegations(&self, owner: OwnerNumber) -> &[TransactionNumber] {
        self.delegations.get(&owner).map(Vec::as_slice).unwrap_or_default()
    }

    /// The transactions with a message between chains, by the number of its identifier.
    #[must_use]
    pub fn with_message(&self, id: OwnerNumber) -> &[TransactionNumber] {
        self.messages.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The transactions that froze an account or ended a freeze.
    #[must_use]
    pub fn with_freezes(&self, owner: OwnerNumber) -> &[TransactionNumber] {
        self.freezes.get(&owner).map(Vec::as_slice).unwrap_or_default()
    }

    /// The account that created a contract.
    #[must_use]
    pub fn deployer(&self, contract: OwnerNumber) -> Option<OwnerNumber> {
        self.deployers.get(&contract).copied()
    }

    /// The contracts that an account created, in the order of the chain.
    #[must_use]
    pub fn deployed(&self, by: OwnerNumber) -> &[OwnerNumber] {
        self.deployed.get(&by).map(Vec::as_slice).unwrap_or_default()
    }

    /// The asset with a number.
    #[must_use]
    pub fn asset(&self, number: AssetNumber) -> Option<Asset> {
        if let Some(scored) = self.scored(number) {
            return Some(scored.id.asset);
        }
        let index = number.0.checked_sub(AssetNumber::FIRST_OTHER.0)?;
        self.other_assets.get(usize::try_from(index).ok()?).copied()
    }

    fn scored(&self, number: AssetNumber) -> Option<&'static ScoredAsset> {
        number.scored(self.chain)
    }

    fn number(&mut self, account: AccountAddress) -> OwnerNumber {
        let owners = &mut self.owners;
        *self.numbers.entry(account).or_insert_with(|| {
            owners.push(account);
            OwnerNumber(owners.len() as u64 - 1)
        })
    }

    fn asset_number(&mut self, asset: Asset) -> AssetNumber {
        let others = &mut self.other_assets;
        *self.asset_numbers.entry(asset).or_insert_with(|| {
            let index = u32::try_from(others.len()).unwrap_or(u32::MAX);
            others.push(asset);
            AssetNumber(AssetNumber::FIRST_OTHER.0.saturating_add(index))
        })
    }
}

/// The ledgers of a chain, for the parties at which money ends.
#[derive(Debug)]
pub struct AccountLedgers {
    ends: MoneyEnds,
    prices: Prices,
    /// The values of the last day.
    values: Option<(Date, DayValues)>,
    states: AccountStates,
    ledgers: FxHashMap<(OwnerNumber, AssetNumber), AccountLedger>,
    assets_of: FxHashMap<OwnerNumber, Vec<AssetNumber>>,
    payments: Vec<Payment>,
    /// Positions of payments.
    payments_of: FxHashMap<(OwnerNumber, AssetNumber), Vec<u32>>,
    dealings: Dealings,
    /// The ledgers that are known; `None` if all are.
    known: Option<KnownAt>,
    /// Number of transactions that are booked.
    booked: usize,
}

/// The ledgers that are known, where not all payments were read: those of accounts in assets of which every payment is read
/// up to a block. The origin of what any other account pays is unknown.
#[derive(Clone, Debug, Default)]
pub struct KnownLedgers(FxHashMap<(AccountAddress, Asset), u64>);

impl KnownLedgers {
    /// Adds the ledger of an account in an asset, whose payments are read in all blocks below `until`.
    pub fn add(&mut self, account: AccountAddress, asset: Asset, until: u64) {
        self.0.insert((account, asset), until);
    }

    /// True if the ledger of an account in an asset is known in a block.
    #[must_use]
    pub fn has(&self, account: AccountAddress, asset: Asset, block: u64) -> bool {
        self.0.get(&(account, asset)).is_some_and(|until| block < *until)
    }
}

/// Known ledgers by numbers, at a block.
#[derive(Debug)]
struct KnownAt {
    until: FxHashMap<(OwnerNumber, AssetNumber), u64>,
    block: u64,
}

impl KnownAt {
    fn has(&self, owner: OwnerNumber, asset: AssetNumber) -> bool {
        self.until.get(&(owner, asset)).is_some_and(|until| self.block < *until)
    }
}

impl AccountLedgers {
    /// Ledgers without transactions, for some ends, and with prices for exchanges.
    #[must_use]
    pub fn new(ends: MoneyEnds, prices: Prices) -> Self {
        Self {
            ends,
            prices,
            values: None,
            states: AccountStates::default(),
            ledgers: FxHashMap::default(),
            assets_of: FxHashMap::default(),
            payments: Vec::new(),
            payments_of: FxHashMap::default(),
            dealings: Dealings::default(),
            known: None,
            booked: 0,
        }
    }

    /// Books the transactions that are not booked yet.
    pub fn advance(&mut self, chain: &AccountTransactions) {
        self.advance_to(chain, chain.transactions.len());
    }

    /// Books the transactions that are not booked yet, up to a number of transactions.
    pub fn advance_to(&mut self, chain: &AccountTransactions, transactions: usize) {
        let mut movements = Vec::new();
        let booked = chain.transactions.iter().enumerate().take(transactions).skip(self.booked);
        for (index, transaction) in booked {
            if let Some(known) = &mut self.known {
                known.block = transaction.block;
            }
            let owner = |account| chain.owner_number(account).unwrap_or(OwnerNumber::NOBODY);
            let token = |asset| {
                chain.asset_numbers.get(&asset).copied().unwrap_or(AssetNumber::FIRST_OTHER)
            };
            chain.scored.movements(transaction, owner, token, &mut movements);
            contracts_of(transaction, owner, |contract| self.states.mark_contract(contract));
            let named = named_of(transaction, owner);
            let numbered = NumberedTransaction {
                number: TransactionNumber(index as u64),
                time: transaction.time,
                initiator: transaction.initiator.and_then(|it| chain.owner_number(it)),
                movements: &movements,
                named: &named,
            };
            let day = numbered.day();
            let kept = self.values.take().filter(|(known, _)| *known == day);
            let (_, values) = kept.unwrap_or_else(|| {
                (day, {
                    let prices = DayPrices::before(chain.chain, &self.prices, day);
                    DayValues::of(chain.chain, &prices)
                })
            });
            let ends = std::mem::take(&mut self.ends);
            book(&numbered, (&ends, &values), self);
            self.ends = ends;
            self.values = Some((day, values));
        }
        self.booked = self.booked.max(transactions.min(chain.transactions.len()));
    }

    /// The parties at which money ends.
    #[must_use]
    pub const fn ends(&self) -> &MoneyEnds {
        &self.ends
    }

    /// All ledgers with their accounts and assets, in the order of their numbers.
    #[must_use]
    pub fn all(&self) -> Vec<(OwnerNumber, AssetNumber, &AccountLedger)> {
        let mut all: Vec<_> =
            self.ledgers.iter().map(|((owner, asset), ledger)| (*owner, *asset, ledger)).collect();
        all.sort_by_key(|(owner, asset, _)| (*owner, *asset));
        all
    }

    /// The states of accounts beside their ledgers.
    #[must_use]
    pub const fn states(&self) -> &AccountStates {
        &self.states
    }

    /// All payments, in the order of the chain.
    #[must_use]
    pub fn payments(&self) -> &[Payment] {
        &self.payments
    }

    /// Positions of the payments of an account in one asset, in the order of the chain.
    fn positions(&self, of: OwnerNumber, asset: AssetNumber) -> &[u32] {
        self.payments_of.get(&(of, asset)).map(Vec::as_slice).unwrap_or_default()
    }

    fn at(&self, position: u32) -> Option<&Payment> {
        self.payments.get(usize::try_from(position).ok()?)
    }

    /// Positions of the payments of an account in one asset, before a transaction and from it on.
    fn positions_around(
        &self,
        of: OwnerNumber,
        asset: AssetNumber,
        transaction: TransactionNumber,
    ) -> (&[u32], &[u32]) {
        let positions = self.positions(of, asset);
        let is_before =
            |position: &u32| self.at(*position).is_some_and(|it| it.transaction < transaction);
        let before = positions.partition_point(is_before);
        positions.split_at_checked(before).unwrap_or_default()
    }
}

impl LedgerBook for AccountLedgers {
    fn ledger(&self, owner: OwnerNumber, asset: AssetNumber) -> Option<&AccountLedger> {
        let is_known = self.known.as_ref().is_none_or(|known| known.has(owner, asset));
        self.ledgers.get(&(owner, asset)).filter(|_| is_known)
    }

    fn ledger_mut(&mut self, owner: OwnerNumber, asset: AssetNumber) -> &mut AccountLedger {
        let assets_of = &mut self.assets_of;
        self.ledgers.entry((owner, asset)).or_insert_with(|| {
            assets_of.entry(owner).or_default().push(asset);
            AccountLedger::default()
        })
    }

    fn paid(&mut self, payment: Payment, _is_late: bool) {
        // The number of records in memory is limited far below.
        let index = u32::try_from(self.payments.len()).unwrap_or(u32::MAX);
        let payee = (payment.to != payment.from).then_some(payment.to);
        for owner in [payment.from].into_iter().chain(payee) {
            if owner != OwnerNumber::NOBODY {
                self.payments_of.entry((owner, payment.asset)).or_default().push(index);
            }
        }
        self.payments.push(payment);
    }

    fn dealt(&mut self, account: OwnerNumber, dealing: DealingKey, time: Timestamp, amount: u128) {
        self.dealings.add(account, dealing, time, amount);
    }

    fn states(&self) -> &AccountStates {
        &self.states
    }

    fn states_mut(&mut self) -> &mut AccountStates {
        &mut self.states
    }
}

/// One state of an account graph in memory: transactions, and the ledgers for one state of lists and labels.
#[derive(Clone, Debug)]
pub struct MemoryAccounts {
    transactions: Arc<AccountTransactions>,
    ledgers: Arc<AccountLedgers>,
}

impl MemoryAccounts {
    /// Books all transactions for the accounts at which money ends, and with prices for exchanges.
    #[must_use]
    pub fn compute(
        transactions: impl Into<Arc<AccountTransactions>>,
        ends: impl IntoIterator<Item = (AccountAddress, MoneyEnd)>,
        prices: &Prices,
    ) -> Self {
        Self::booked(transactions.into(), ends, prices, None)
    }

    /// Books transactions of which not all payments of all accounts were read: of what an account pays whose ledger is not known,
    /// the origin is unknown.
    #[must_use]
    pub fn compute_known(
        transactions: impl Into<Arc<AccountTransactions>>,
        ends: impl IntoIterator<Item = (AccountAddress, MoneyEnd)>,
        prices: &Prices,
        known: &KnownLedgers,
    ) -> Self {
        Self::booked(transactions.into(), ends, prices, Some(known))
    }

    fn booked(
        transactions: Arc<AccountTransactions>,
        ends: impl IntoIterator<Item = (AccountAddress, MoneyEnd)>,
        prices: &Prices,
        known: Option<&KnownLedgers>,
    ) -> Self {
        let numbered = ends
            .into_iter()
            .filter_map(|(account, end)| Some((transactions.owner_number(account)?, end)));
        let mut ledgers = AccountLedgers::new(numbered.collect(), prices.clone());
        ledgers.known = known.map(|known| {
            let until = known.0.iter().filter_map(|((account, asset), until)| {
                let owner = transactions.owner_number(*account)?;
                Some(((owner, *transactions.asset_numbers.get(asset)?), *until))
            });
            KnownAt { until: until.collect(), block: 0 }
        });
        ledgers.advance(&transactions);
        Self { transactions, ledgers: Arc::new(ledgers) }
    }

    /// The transactions without ledgers, as before they are booked.
    #[must_use]
    pub fn unbooked(transactions: Arc<AccountTransactions>) -> Self {
        let ledgers = AccountLedgers::new(MoneyEnds::default(), Prices::default());
        Self { transactions, ledgers: Arc::new(ledgers) }
    }

    /// The transactions.
    #[must_use]
    pub fn transactions(&self) -> &AccountTransactions {
        &self.transactions
    }

    /// The ledgers.
    #[must_use]
    pub fn ledgers(&self) -> &AccountLedgers {
        &self.ledgers
    }
}

impl MemoryAccounts {
    /// The pages of an account's payments in an asset, with their sums.
    fn pages(&self, of: OwnerNumber, asset: AssetNumber) -> Vec<(PageOfSums, PaymentSums)> {
        let positions = self.ledgers.positions(of, asset).iter();
        let payments: Vec<&Payment> = positions.filter_map(|it| self.ledgers.at(*it)).collect();
        let (mut pages, mut payments_before) = (Vec::new(), 0);
        let (mut sums, mut count) = (PaymentSums::new(of, asset), 0);
        for own in payments.chunk_by(|one, next| one.transaction == next.transaction) {
            for payment in own {
                let end = |owner| self.ledgers.ends.get(owner);
                sums.add(payment, self.time(payment.transaction), end);
                count += 1;
            }
            let all = payments_before + count;
            if let Some(last) = own.last().filter(|_| ends_page(payments_before, all)) {
                let page = PageOfSums { asset, last: last.transaction, payments: count };
                let full = std::mem::replace(&mut sums, PaymentSums::new(of, asset));
                pages.push((page, full));
                (payments_before, count) = (all, 0);
            }
        }
        pages
    }
}

/// The sums of an account's first pages in an asset, as groups as far as these are complete.
fn grouped(
    of: OwnerNumber,
    asset: AssetNumber,
    pages: impl Iterator<Item = (PageOfSums, PaymentSums)>,
) -> Vec<PaymentSum> {
    let (mut all, mut single, mut payments) = (Vec::new(), Vec::new(), 0);
    for (page, sums) in pages {
        single.extend(sums.finish());
        let before = payments;
        payments += page.payments;
        if ends_group(before, payments) {
            let mut group = PaymentSums::new(of, asset);
            single.drain(..).for_each(|sum| group.add_sum(&sum));
            all.extend(group.finish());
        }
    }
    all.extend(single);
    all
}

impl AccountView for MemoryAccounts {
    fn chain(&self) -> ChainId {
        self.transactions.chain
    }

    fn time(&self, transaction: TransactionNumber) -> Timestamp {
        self.transactions.transaction(transaction).map_or(Timestamp::UNIX_EPOCH, |it| it.time)
    }

    fn txid(&self, transaction: TransactionNumber) -> Txid {
        let found = self.transactions.transaction(transaction);
        found.map_or(Txid::from_bytes([0; 32]), |it| it.id)
    }

    fn find(&self, id: &Txid) -> Option<TransactionNumber> {
        self.transactions.find(id).map(|(number, _)| number)
    }

    fn transaction(&self, number: TransactionNumber) -> Option<AccountTransaction> {
        self.transactions.transaction(number).cloned()
    }

    fn owner(&self, account: AccountAddress) -> Option<OwnerNumber> {
        self.transactions.owner_number(account)
    }

    fn address(&self, owner: OwnerNumber) -> Option<AccountAddress> {
        self.transactions.account(owner)
    }

    fn asset(&self, asset: AssetNumber) -> Option<Asset> {
        self.transactions.asset(asset)
    }

    fn payments(&self, of: OwnerNumber, most: usize) -> AccountPayments {
        let ledgers = &self.ledgers;
        let (mut newest, mut all) = (Vec::new(), 0);
        for asset in AssetNumber::all_scored(self.transactions.chain) {
            let positions = ledgers.positions(of, asset);
            all += positions.len();
            newest.extend(positions.iter().rev().take(most));
        }
        newest.sort_unstable();
        let more = newest.len().saturating_sub(most);
        let payments = newest.into_iter().skip(more).filter_map(|it| ledgers.at(it).cloned());
        let payments: Vec<Payment> = payments.collect();
        let left_out = u64::try_from(all.saturating_sub(payments.len())).unwrap_or(u64::MAX);
        AccountPayments { payments, left_out, ..AccountPayments::default() }
    }

    fn history(&self, of: OwnerNumber, most: usize) -> AccountPayments {
        let assets = AssetNumber::all_scored(self.transactions.chain);
        let all = assets.flat_map(|asset| self.pages(of, asset)).map(|(page, _)| page);
        let until = summed_until(all.collect(), self.payment_count(of), most);
        let mut found = AccountPayments::default();
        for asset in AssetNumber::all_scored(self.transactions.chain) {
            let last = until.get(&asset).copied();
            let pages = self.pages(of, asset).into_iter();
            let summed = pages.filter(|(page, _)| last.is_some_and(|last| page.last <= last));
            found.sums.extend(grouped(of, asset, summed));
            let positions = self.ledgers.positions(of, asset).iter();
            let payments = positions.filter_map(|it| self.ledgers.at(*it));
            let single = payments.filter(|it| last.is_none_or(|last| it.transaction > last));
            found.payments.extend(single.cloned());
        }
        found.payments.sort_by_key(|payment| (payment.transaction, payment.sequence));
        found
    }

    fn payment_count(&self, of: OwnerNumber) -> u64 {
        let assets = AssetNumber::all_scored(self.transactions.chain);
        let counts = assets.map(|asset| self.ledgers.positions(of, asset).len());
        u64::try_from(counts.sum::<usize>()).unwrap_or(u64::MAX)
    }

    fn payments_before(
        &self,
        of: OwnerNumber,
        asset: AssetNumber,
        before: TransactionNumber,
        most: usize,
    ) -> Vec<Payment> {
        let (earlier, _) = self.ledgers.positions_around(of, asset, before);
        earlier.iter().rev().take(most).filter_map(|it| self.ledgers.at(*it).cloned()).collect()
    }

    fn payments_from(
        &self,
        of: OwnerNumber,
        asset: AssetNumber,
        from: TransactionNumber,
        most: usize,
    ) -> Vec<Payment> {
        let (_, later) = self.ledgers.positions_around(of, asset, from);
        later.iter().take(most).filter_map(|it| self.ledgers.at(*it).cloned()).collect()
    }

    fn payments_of_transaction(&self, transaction: TransactionNumber) -> Vec<Payment> {
        let all = &self.ledgers.payments;
        let first = all.partition_point(|payment| payment.transaction < transaction);
        let own = all.iter().skip(first).take_while(|it| it.transaction == transaction);
        own.cloned().collect()
    }

    fn ledgers(&self, of: OwnerNumber) -> Vec<(AssetNumber, AccountLedger)> {
        let assets = self.ledgers.assets_of.get(&of).map(Vec::as_slice).unwrap_or_default();
        let known = assets
            .iter()
            .filter_map(|asset| Some((*asset, self.ledgers.ledgers.get(&(of, *asset))?.clone())));
        let mut known: Vec<(AssetNumber, AccountLedger)> = known.collect();
        known.sort_unstable_by_key(|(asset, _)| *asset);
        known
    }

    fn dealings(&self, of: OwnerNumber) -> Vec<(DealingKey, Dealing)> {
        self.ledgers.dealings.of(of).collect()
    }

    fn with_other_tokens(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.transactions.with_other_tokens(of).iter().rev().take(most).copied().collect()
    }

    fn with_freezes(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.transactions.with_freezes(of).iter().rev().take(most).copied().collect()
    }

    fn with_delegations(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.transactions.with_delegations(of).iter().rev().take(most).copied().collect()
    }

    fn with_message(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.transactions.with_message(of).iter().rev().take(most).copied().collect()
    }

    fn deployer(&self, contract: OwnerNumber) -> Option<OwnerNumber> {
        self.transactions.deployer(contract)
    }

    fn deployed(&self, by: OwnerNumber, most: usize) -> Vec<OwnerNumber> {
        self.transactions.deployed(by).iter().take(most).copied().collect()
    }

    fn state(&self, of: OwnerNumber) -> AccountState {
        self.ledgers.states.of(of).cloned().unwrap_or_default()
    }

    fn knows_contracts(&self) -> bool {
        self.ledgers.states.knows_contracts()
    }

    fn has_internal_transfers(&self) -> bool {
        self.transactions.counts.internal > 0
    }

    fn has_initiators(&self) -> bool {
        self.transactions.counts.without_initiator == 0
    }
}

impl AccountGraphView for MemoryAccounts {
    fn owners(&self) -> u64 {
        u64::try_from(self.transactions.owners()).unwrap_or(u64::MAX)
    }

    fn check(&self) -> Result<(), GraphError> {
        Ok(())
    }
}
