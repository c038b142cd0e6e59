//! Answers by histories that are read account by account, beside those by the whole chain.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use assay_chain::{
    SourceError,
    histories::accounts::{
        AccountHistorySource, AccountPage, ApiAbilities, ApiTip, FreezePage, FreezeSignature,
        PagePosition, PageRequest,
    },
};
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, AssetId, MoneyEnd, Transfer, TransferKind,
        TransferPlace, scored_asset,
    },
    assess,
    assessment::Assessment,
    facts::Environment,
    policy::Policy,
    score::Verdict,
    taxonomy::Category,
    trace::TraceRules,
    utxo::Txid,
};
use assay_service::chains::{accounts_on_demand::AccountsOnDemand, subject::TraceRequest};
use assay_store::SqliteStore;
use jiff::{SignedDuration, Timestamp};
use ruint::aliases::U256;
use tempfile::TempDir;

use super::AccountWorld;
use crate::account_api::MemoryHistories;

/// Time limit of a check, which no test reaches.
const BOUND: Duration = Duration::from_mins(5);

/// Time between two rounds of reading lists of severe parties, of which none does nothing.
const ROUND: SignedDuration = SignedDuration::from_mins(10);

/// A reader of a world's chain that knows only what an API of histories answers.
#[derive(Debug)]
pub struct OnDemandWorld<'w> {
    world: &'w AccountWorld,
    histories: Arc<MemoryHistories>,
    reader: AccountsOnDemand,
    policy: Policy,
    _directory: TempDir,
}

impl<'w> OnDemandWorld<'w> {
    /// A reader that has read nothing.
    pub async fn of(world: &'w AccountWorld) -> Self {
        let directory = tempfile::tempdir().expect("a folder");
        let path = directory.path().join("assay.db");
        let store = SqliteStore::open_or_create(&path, Environment::Production).await;
        let store = store.expect("a store");
        let transactions = world.accounts().transactions();
        let all = funded(world, transactions.transactions());
        let histories = Arc::new(MemoryHistories::new(Arc::new(all)));
        let source =
            Arc::new(UpToNow(Arc::clone(&histories), world.now())) as Arc<dyn AccountHistorySource>;
        let reader = AccountsOnDemand::new(transactions.chain(), Arc::new(store), source, BOUND);
        Self { world, histories, reader, policy: Policy::default(), _directory: directory }
    }

    /// Reads the freezes by issuers of tokens.
    pub async fn read_freezes(&self) {
        self.reader.refresh_freezes(BOUND, self.world.now()).await.expect("freezes");
    }

    /// Reads lists of severe parties and of their payees, in so many rounds.
    pub async fn read_reached(&self, rounds: u32) {
        let mut now = self.world.now();
        for _ in 0..rounds {
            now += ROUND;
            let refreshed = self.reader.refresh_reached(BOUND, self.world.intel(), now).await;
            refreshed.expect("lists");
        }
    }

    /// The answer about an account with a number of requests at most, and the number of requests that were made.
    pub async fn assess(&self, account: AccountAddress, most: u32) -> (Assessment, usize) {
        let before = self.histories.requests();
        let subject = self.world.address(account);
        let (intel, now) = (self.world.intel(), self.world.now());
        let rules = TraceRules::new(&self.policy, subject.chain().info());
        let request = TraceRequest { subject: &subject, rules, policy: &self.policy, intel, now };
        let data = self.reader.read_within(request, BOUND, most).await.expect("an answer");
        let facts = data.added_to(intel.facts(&subject));
        let answer = assess(&subject, &facts, &self.policy, now);
        (answer, self.histories.requests() - before)
    }
}

/// The transactions after one in which an exchange pays each account what it pays and never got: on a real chain all money comes
/// from somewhere.
fn funded(world: &AccountWorld, transactions: &[AccountTransaction]) -> Vec<AccountTransaction> {
    let chain = world.accounts().transactions().chain();
    let is_scored = |asset: Asset| scored_asset(AssetId { chain, asset }).is_some();
    let mut balances: BTreeMap<(AccountAddress, Asset), (U256, U256)> = BTreeMap::new();
    let moved = transactions.iter().flat_map(|transaction| &transaction.transfers);
    for Transfer { asset, from, to, amount, .. } in moved.filter(|it| is_scored(it.asset)) {
        let (balance, missing) = balances.entry((*from, *asset)).or_default();
        let lacks = amount.saturating_sub(*balance);
        *missing += lacks;
        *balance = balance.saturating_sub(*amount);
        balances.entry((*to, *asset)).or_default().0 += *amount;
    }
    let is_exchange = |end: &&(AccountAddress, MoneyEnd)| end.1.category == Category::Exchange;
    let Some((exchange, _)) = world.ends().iter().find(is_exchange) else {
        return transactions.to_vec();
    };
    let lacking = balances.into_iter().filter(|((account, _), (_, missing))| {
        !missing.is_zero() && account != exchange && *account != AccountAddress::ZERO
    });
    let transfers = lacking.zip(0..).map(|(((to, asset), (_, amount)), index)| Transfer {
        kind: TransferKind::Transfer,
        asset,
        from: *exchange,
        to,
        amount,
        place: TransferPlace { index, published: None },
    });
    let first = transactions.first().expect("a transaction");
    let funding = AccountTransaction {
        id: Txid::from_bytes([0xfd; 32]),
        block: 0,
        initiator: Some(*exchange),
        transfers: transfers.collect(),
        contract_facts: Vec::new(),
        freezes: Vec::new(),
        delegations: Vec::new(),
        messages: Vec::new(),
        ..first.clone()
    };
    std::iter::once(funding).chain(transactions.iter().cloned()).collect()
}

/// Histories whose newest block is of now.
#[derive(Debug)]
struct UpToNow(Arc<MemoryHistories>, Timestamp);

impl AccountHistorySource for UpToNow {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn abilities(&self) -> ApiAbilities {
        self.0.abilities()
    }

    fn tip(&self) -> Result<ApiTip, SourceError> {
        Ok(ApiTip { time: Some(self.1), ..self.0.tip()? })
    }

    fn page(&self, request: &PageRequest) -> Result<AccountPage, SourceError> {
        self.0.page(request)
    }

    fn balance(&self, account: AccountAddress, asset: Asset) -> Result<Option<U256>, SourceError> {
        self.0.balance(account, asset)
    }

    fn freezes(
        &self,
        token: AccountAddress,
        signature: &'static FreezeSignature,
        after: Option<&PagePosition>,
    ) -> Result<Option<FreezePage>, SourceError> {
        self.0.freezes(token, signature, after)
    }

    fn has_code(&self, account: AccountAddress) -> Result<Option<bool>, SourceError> {
        self.0.has_code(account)
    }
}

/// Comparison of the answers about accounts of one kind.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Number of accounts.
    pub count: usize,
    /// Accounts that the whole chain allows, and of these the complete, partial and indeterminate answers, and reviews.
    pub innocent: [usize; 5],
    /// Accounts that the whole chain reviews or blocks, and of these the found ones.
    pub risky: [usize; 2],
    /// Risky accounts with an `allow` that is complete, and with one that is not.
    pub wrong: [usize; 2],
    /// Number of all requests.
    pub requests: usize,
    /// One sentence for each wrong answer.
    pub errors: Vec<String>,
}

impl Comparison {
    /// Adds the answer about an account by the whole chain and the one on demand.
    pub fn add(&mut self, whole: &Assessment, on_demand: &Assessment, requests: usize) {
        self.count += 1;
        self.requests += requests;
        let is_accused = |it: &Assessment| matches!(it.verdict, Verdict::Review | Verdict::Block);
        let is_allowed = on_demand.verdict == Verdict::Allow;
        if is_accused(whole) {
            self.risky[0] += 1;
            self.risky[1] += usize::from(is_accused(on_demand));
            if is_allowed {
                self.wrong[usize::from(!on_demand.complete)] += 1;
                let reasons = |of: &Assessment| {
                    let messages = of.reasons.iter().map(|it| it.message.clone());
                    messages.collect::<Vec<_>>().join("; ")
                };
                self.errors.push(format!(
                    "{}: {} is {} by the whole chain",
                    on_demand.address,
                    reasons(on_demand),
                    reasons(whole)
                ));
            }
            return;
        }
        self.innocent[0] += 1;
        self.innocent[match (on_demand.verdict, on_demand.complete) {
            (Verdict::Allow, true) => 1,
            (Verdict::Allow, false) => 2,
            (Verdict::Indeterminate, _) => 3,
            (Verdict::Review | Verdict::Block, _) => 4,
        }] += 1;
    }

    /// Adds another comparison.
    pub fn add_all(&mut self, other: &Self) {
        self.count += other.count;
        self.requests += other.requests;
        for (own, other) in self.innocent.iter_mut().zip(other.innocent) {
            *own += other;
        }
        for (own, other) in self.risky.iter_mut().zip(other.risky) {
            *own += other;
        }
        for (own, other) in self.wrong.iter_mut().zip(other.wrong) {
            *own += other;
        }
        self.errors.extend(other.errors.iter().cloned());
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [innocent, complete, partial, indeterminate, accused] = self.innocent;
        let [risky, found] = self.risky;
        let [wrong_complete, wrong_partial] = self.wrong;
        let percent = |part: usize| part * 100 / innocent.max(1);
        write!(
            formatter,
            "{innocent} allowed: complete {} %, partial {} %, indeterminate {} %, accused {accused}; {risky} risky: found \
             {found}, wrong {wrong_complete} + {wrong_partial}; requests {}.{} a check",
            percent(complete),
            percent(partial),
            percent(indeterminate),
            self.requests / self.count.max(1),
            self.requests * 10 / self.count.max(1) % 10,
        )
    }
}
