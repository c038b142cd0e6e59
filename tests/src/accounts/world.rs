//! An account chain with lists, labels and prices, and the engine's answers about its accounts.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use assay_address::CanonicalAddress;
use assay_engine::{
    account::{
        AccountAddress, AccountAttributions, AccountLedger, AccountSubject, AccountTransaction,
        AccountView, MOST_PAYMENTS, MoneyEnd, Prices, ends_money, lookalikes_of,
        unfollowed_transfers,
    },
    assess,
    assessment::Assessment,
    attribute,
    evidence::{BehaviorFacts, ChainFacts, ChainState, FlowFacts, IngestMode, Tip},
    ledger::OwnerNumber,
    patterns::{
        accounts::{AccountPatternSubject, account_behavior},
        rules::SHOWN,
    },
    policy::{PatternRules, Policy},
    trace::Attribution,
};
use assay_graph::account::{AccountTransactions, MemoryAccounts};
use assay_intel::IntelSnapshot;
use jiff::{Timestamp, tz::TimeZone};

use super::AccountChain;
use crate::world::claims::snapshot_with_prices;

/// The default policy, compiled once.
static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);

/// An account chain with lists, labels and prices, at a point in time.
#[derive(Debug)]
pub struct AccountWorld {
    accounts: MemoryAccounts,
    ends: Vec<(AccountAddress, MoneyEnd)>,
    intel: IntelSnapshot,
    prices: Prices,
    attributions: Attributed,
    now: Timestamp,
}

/// The attributions of all listed and labelled accounts, and their names by labels.
#[derive(Debug, Default)]
struct Attributed {
    attributions: HashMap<OwnerNumber, Arc<Attribution>>,
    names: HashMap<OwnerNumber, Arc<str>>,
}

impl AccountAttributions for Attributed {
    fn of_account(&self, owner: OwnerNumber) -> Option<Arc<Attribution>> {
        self.attributions.get(&owner).cloned()
    }

    fn name_of(&self, owner: OwnerNumber) -> Option<Arc<str>> {
        self.names.get(&owner).cloned()
    }
}

impl AccountWorld {
    /// The world after the last transaction of a chain.
    #[must_use]
    pub fn new(mut chain: AccountChain) -> Self {
        let transactions = chain.take_transactions();
        Self::with_transactions(&chain, transactions)
    }

    /// The world of a chain with other transactions.
    #[must_use]
    pub fn with_transactions(chain: &AccountChain, of: Vec<AccountTransaction>) -> Self {
        let (id, now) = (chain.id(), chain.now());
        let address = |account: &AccountAddress| account.on(id).expect("an account's address");
        let mut labels: Vec<_> =
            chain.labels.iter().map(|(account, claim)| (address(account), *claim)).collect();
        labels.sort_by(|(one, _), (other, _)| one.cmp(other));
        let listings = chain.listings.iter().cloned();
        let listings = listings.map(|(account, name, since)| (address(&account), name, since));
        let prices = Prices::new(chain.prices.iter().copied());
        let known_prices = Some(prices.clone());
        let intel = snapshot_with_prices(id, labels, listings.collect(), (known_prices, now));
        let mut known: Vec<AccountAddress> = chain.labels.iter().map(|(it, _)| *it).collect();
        known.extend(chain.listings.iter().map(|(account, ..)| *account));
        known.sort_unstable();
        known.dedup();
        let today = TimeZone::UTC.to_datetime(now).date();
        let attributed: Vec<_> = known
            .into_iter()
            .map(|account| (account, attribute(&intel.facts(&address(&account)), &POLICY, today)))
            .collect();
        let ends = attributed.iter().filter_map(|(account, attribution)| {
            let end = attribution.end.as_ref().filter(|end| ends_money(end))?;
            Some((*account, MoneyEnd { category: end.category, listed_on: end.listed_on }))
        });
        let ends: Vec<_> = ends.collect();
        let mut transactions = AccountTransactions::new(id);
        for transaction in of {
            transactions.push(transaction);
        }
        let accounts = MemoryAccounts::compute(transactions, ends.iter().copied(), &prices);
        let attributions = attributed.into_iter().filter_map(|(account, attribution)| {
            let owner = accounts.transactions().owner_number(account)?;
            (!attribution.is_nothing()).then(|| (owner, Arc::new(attribution)))
        });
        let names = chain.labels.iter().filter_map(|(account, claim)| {
            let owner = accounts.transactions().owner_number(*account)?;
            Some((owner, Arc::from(claim.entity)))
        });
        let attributions =
            Attributed { attributions: attributions.collect(), names: names.collect() };
        Self { accounts, ends, intel, prices, attributions, now }
    }

    /// The chain with its ledgers.
    #[must_use]
    pub const fn accounts(&self) -> &MemoryAccounts {
        &self.accounts
    }

    /// The accounts at which money ends.
    #[must_use]
    pub fn ends(&self) -> &[(AccountAddress, MoneyEnd)] {
        &self.ends
    }

    /// The prices.
    #[must_use]
    pub const fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Lists and labels.
    #[must_use]
    pub const fn intel(&self) -> &IntelSnapshot {
        &self.intel
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The address of an account.
    #[must_use]
    pub fn address(&self, account: AccountAddress) -> CanonicalAddress {
        account.on(self.accounts.chain()).expect("an account's address")
    }

    /// The ledger of an account in an asset; `None` if the account never had the asset.
    #[must_use]
    pub fn ledger(
        &self,
        account: AccountAddress,
        asset: assay_engine::account::Asset,
    ) -> Option<AccountLedger> {
        let owner = self.accounts.transactions().owner_number(account)?;
        let ledgers = AccountView::ledgers(&self.accounts, owner);
        let is_asset = |number| self.accounts.transactions().asset(number) == Some(asset);
        ledgers.into_iter().find(|(number, _)| is_asset(*number)).map(|(_, ledger)| ledger)
    }

    /// The flows of an account.
    #[must_use]
    pub fn flows(&self, account: AccountAddress) -> FlowFacts {
        self.flows_of_newest(account, MOST_PAYMENTS)
    }

    fn flows_of_newest(&self, account: AccountAddress, most: usize) -> FlowFacts {
        self.subject(account).map_or_else(
            || FlowFacts { complete: true, ..FlowFacts::default() },
            |subject| {
                let own = self.accounts.payments(subject.owner, most);
                let unfollowed = unfollowed_transfers(&self.accounts, subject.owner);
                let contracts = subject.contract_use(&own.payments, &unfollowed);
                FlowFacts { contracts: Some(Box::new(contracts)), ..subject.flows(&own) }
            },
        )
    }

    fn subject(&self, account: AccountAddress) -> Option<AccountSubject<'_>> {
        Some(AccountSubject {
            view: &self.accounts,
            owner: self.accounts.transactions().owner_number(account)?,
            attributions: &self.attributions,
            prices: &self.prices,
            today: TimeZone::UTC.to_datetime(self.now).date(),
        })
    }

    /// The engine's answer about an account.
    #[must_use]
    pub fn assess(&self, account: AccountAddress) -> Assessment {
        self.assess_newest(account, MOST_PAYMENTS)
    }

    /// The engine's answer about an account of which a check reads the newest payments only.
    #[must_use]
    pub fn assess_newest(&self, account: AccountAddress, most: usize) -> Assessment {
        self.assess_with(account, most, None)
    }

    /// The engine's answer about an account, with the behavior of the account.
    #[must_use]
    pub fn assess_with_behavior(&self, account: AccountAddress) -> Assessment {
        self.assess_with(account, MOST_PAYMENTS, Some(self.behavior(account)))
    }

    /// The behavior of an account, searched as the server does.
    #[must_use]
    pub fn behavior(&self, account: AccountAddress) -> BehaviorFacts {
        let Some(of) = self.subject(account) else { return BehaviorFacts::without_transactions() };
        let (view, owner) = (of.view, of.owner);
        let own = view.history(owner, MOST_PAYMENTS);
        let unfollowed = unfollowed_transfers(view, owner);
        let lookalikes = lookalikes_of(view, (owner, &own.payments), &unfollowed, of.prices);
        account_behavior(AccountPatternSubject {
            account: of,
            own: &own,
            unfollowed: &unfollowed,
            lookalikes: &lookalikes,
            is_contract: &|account| view.is_contract(account),
            rules: PatternRules::new(&POLICY, view.chain().info()),
            shown: SHOWN,
        })
    }

    fn assess_with(
        &self,
        account: AccountAddress,
        most: usize,
        behavior: Option<BehaviorFacts>,
    ) -> Assessment {
        let address = self.address(account);
        let mut facts = self.intel.facts(&address);
        let activity = self
            .subject(account)
            .and_then(|subject| subject.activity(&self.accounts.payments(subject.owner, most)));
        let height = self.accounts.transactions().transactions().len() as u64;
        facts.chain = ChainState::Followed(Box::new(ChainFacts {
            tip: Tip {
                height,
                hash: "00".repeat(32),
                time: self.now,
                reported_at: self.now,
                start: 0,
                ingest_mode: IngestMode::Ingested,
                sample: false,
            },
            flows: self.flows_of_newest(account, most),
            behavior,
            activity,
        }));
        assess(&address, &facts, &POLICY, self.now)
    }
}
