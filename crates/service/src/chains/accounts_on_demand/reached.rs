//! Accounts that severe money reached. The lists of severe parties are read beside the checks, then those of their heaviest payees: a
//! check reads payers who are among these first, and their unread money counts against an `allow`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_address::ChainId;
use assay_chain::histories::accounts::{AccountRow, ListOrder, PageRequest};
use assay_engine::{
    account::{
        AccountAddress, Asset, AssetId, MoneyEnd, MoneyUnit, ScoredAsset, Transfer, TransferKind,
        Valuation, scored_asset,
    },
    evidence::SevereParties,
};
use assay_graph::account::AccountEnds;
use assay_store::StoreError;
use jiff::Timestamp;

use super::{
    fetch::{Answer, PageFetcher, Question},
    lists::{ReadLists, lists_of},
    masses::{WHOLE, part},
    plan,
};

/// Most severe parties whose lists are read.
const MOST_PARTIES: usize = 200;
/// Most payees whose lists are read.
const MOST_PAYEES: usize = 200;
/// Most pages of a payee's list.
const MOST_PAGES: u32 = 3;
/// Most pages of a severe party's list: those of spam hide whom it paid.
const MOST_PAGES_OF_PARTY: u32 = 3;
/// Sum of payments in one asset, in dust payments, from which on a page tells whom a party paid.
const TELLING_SUM: u128 = 20;
/// Least part of the money that an account paid for a payee to count, 0.1 %: dust reaches nobody.
const LEAST_PART: u64 = WHOLE / 1_000;
/// Lowest severity of severe parties.
const SEVERE_FROM: u8 = 80;

/// The accounts that severe money reached, as far as lists tell.
#[derive(Clone, Debug, Default)]
pub(super) struct ReachedAccounts {
    accounts: Arc<BTreeSet<AccountAddress>>,
    /// The severe parties of the chain, and those whose lists were read.
    pub(super) parties: SevereParties,
    /// Time at which lists were read.
    pub(super) read_at: Option<Timestamp>,
}

/// A payee of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Payee {
    /// Its part of what the account paid, of the [`WHOLE`].
    part: u64,
    /// The first block in which it was paid.
    since: u64,
    /// The assets in which it was paid.
    assets: BTreeSet<Asset>,
}

impl Default for Payee {
    fn default() -> Self {
        Self { part: 0, since: u64::MAX, assets: BTreeSet::new() }
    }
}

impl Payee {
    fn add(&mut self, other: Self) {
        self.part = self.part.saturating_add(other.part);
        self.since = self.since.min(other.since);
        self.assets.extend(other.assets);
    }
}

impl ReachedAccounts {
    /// Reads the lists of severe parties and of their heaviest payees, as far as the requests of the fetcher suffice.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(super) async fn read(
        (chain, internal): (ChainId, bool),
        ends: &AccountEnds,
        fetcher: &mut PageFetcher<'_>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut values = Valuation::new(ends.prices());
        let (severe, all) = severe_parties(ends);
        let mut parties = SevereParties { all, read: 0 };
        let mut payees: BTreeMap<AccountAddress, Payee> = BTreeMap::new();
        for party in severe {
            let (rows, is_read) = rows_of_party((chain, internal), party, fetcher).await?;
            parties.read += u32::from(is_read);
            for (account, paid) in payees_of((chain, party), &rows, 0, &mut values) {
                payees.entry(account).or_default().add(paid);
            }
        }
        payees.retain(|account, _| ends.get(*account).is_none());
        let mut accounts: BTreeSet<AccountAddress> = payees.keys().copied().collect();
        let mut heaviest: Vec<(AccountAddress, Payee)> = payees.into_iter().collect();
        heaviest.sort_by_key(|(account, payee)| (Reverse(payee.part), *account));
        for (account, payee) in heaviest.into_iter().take(MOST_PAYEES) {
            let rows = rows_of_payee(internal, (account, &payee), fetcher).await?;
            let paid = payees_of((chain, account), &rows, payee.since, &mut values);
            accounts.extend(paid.into_keys().filter(|account| ends.get(*account).is_none()));
        }
        Ok(Self { accounts: Arc::new(accounts), parties, read_at: Some(now) })
    }

    /// Replaces the accounts by those that were found later. While not all lists could be read, those that are known stay: a
    /// list that is asked for in vain takes nothing back.
    pub(super) fn replace_by(&mut self, mut found: Self) {
        let SevereParties { all, read } = found.parties;
        let wanted = all.min(u32::try_from(MOST_PARTIES).unwrap_or(u32::MAX));
        if read < wanted {
            let known = self.accounts.iter().chain(&*found.accounts).copied();
            found.accounts = Arc::new(known.collect());
        }
        *self = found;
    }

    /// The same accounts, with the severe parties that ends name if none were counted yet.
    pub(super) fn with_parties_of(self, ends: &AccountEnds) -> Self {
        if self.read_at.is_some() {
            return self;
        }
        let (_, all) = severe_parties(ends);
        Self { parties: SevereParties { all, read: 0 }, ..self }
    }

    /// These accounts, for tests.
    #[cfg(test)]
    pub(super) fn of(accounts: impl IntoIterator<Item = AccountAddress>) -> Self {
        Self { accounts: Arc::new(accounts.into_iter().collect()), ..Self::default() }
    }

    /// True if severe money reached an account.
    pub(super) fn contains(&self, account: AccountAddress) -> bool {
        self.accounts.contains(&account)
    }
}

/// The severe parties whose lists are read, and the number of all: listed ones first, those that were listed last before others.
fn severe_parties(ends: &AccountEnds) -> (Vec<AccountAddress>, u32) {
    let severity = |end: MoneyEnd| end.category.info().severity;
    let is_severe = |end: MoneyEnd| end.listed_on.is_some() || severity(end) >= SEVERE_FROM;
    let mut severe: Vec<_> = ends.iter().filter(|(_, end)| is_severe(*end)).collect();
    let all = u32::try_from(severe.len()).unwrap_or(u32::MAX);
    severe
        .sort_by_key(|(account, end)| (Reverse(end.listed_on), Reverse(severity(*end)), *account));
    (severe.into_iter().take(MOST_PARTIES).map(|(account, _)| account).collect(), all)
}

/// The newest rows of each list of a severe party, from the newest page on to one that tells whom it paid, and true if all of these
/// pages were read.
async fn rows_of_party(
    (chain, internal): (ChainId, bool),
    party: AccountAddress,
    fetcher: &mut PageFetcher<'_>,
) -> Result<(Vec<AccountRow>, bool), StoreError> {
    let mut lists = ReadLists::default();
    loop {
        // Tokens that are asked for by themselves come after the first page.
        let pages = plan::of_subject(party, &lists, (chain, internal)).into_iter();
        let pages = pages.filter(|request| {
            lists.get(party, request.list).is_none_or(|read| {
                read.pages < MOST_PAGES_OF_PARTY && !tells_payees((chain, party), &read.rows)
            })
        });
        let questions: Vec<Question> = pages.map(Question::Page).collect();
        let asked = questions.len();
        let answers = fetcher.answers(questions).await?;
        let answered = add_pages(&mut lists, answers);
        if asked == 0 || answered < asked {
            return Ok((lists.into_rows(), asked == 0));
        }
    }
}

/// The oldest rows of a payee's lists in the assets in which it was paid, up to those in which it was. A later check finds them if the
/// payee paid its subject.
async fn rows_of_payee(
    internal: bool,
    (account, payee): (AccountAddress, &Payee),
    fetcher: &mut PageFetcher<'_>,
) -> Result<Vec<AccountRow>, StoreError> {
    let code = fetcher.answers(vec![Question::Code(account)]).await?;
    if matches!(code.first(), Some(Answer::Code(_, Some(true)))) {
        // The money of all who use a contract passes it.
        return Ok(Vec::new());
    }
    let mut lists = ReadLists::default();
    for list in payee.assets.iter().flat_map(|asset| lists_of(*asset, internal)) {
        for _ in 0..MOST_PAGES {
            let request: Option<PageRequest> = lists.next(account, list, ListOrder::OldestFirst);
            let request = request.filter(|_| lists.list_until(account, list) <= payee.since);
            let Some(request) = request else { break };
            let answers = fetcher.answers(vec![Question::Page(request)]).await?;
            if add_pages(&mut lists, answers) == 0 {
                break;
            }
        }
    }
    Ok(lists.into_rows())
}

/// Adds the pages among answers, and returns their number.
fn add_pages(lists: &mut ReadLists, answers: Vec<Answer>) -> usize {
    let mut added = 0;
    for answer in answers {
        if let Answer::Page(request, known) = answer {
            lists.add(&request, known.page, known.tip);
            added += 1;
        }
    }
    added
}

/// True if rows have payments of an account to others that are more than dust together.
fn tells_payees(of: (ChainId, AccountAddress), rows: &[AccountRow]) -> bool {
    let mut sums: BTreeMap<Asset, u128> = BTreeMap::new();
    rows.iter().flat_map(|row| pays_of(of, row)).any(|(transfer, scored, amount)| {
        let sum = sums.entry(transfer.asset).or_default();
        *sum = sum.saturating_add(amount);
        *sum > scored.largest_dust().saturating_mul(TELLING_SUM)
    })
}

/// The payments of an account to others in a row, in scored assets, with their amounts. Anybody can make a token log a payment of
/// nothing.
fn pays_of(
    (chain, account): (ChainId, AccountAddress),
    row: &AccountRow,
) -> impl Iterator<Item = (&Transfer, &'static ScoredAsset, u128)> {
    let to_others = row.transfers.iter().filter(move |it| {
        let is_to_other = it.to != account && it.to != AccountAddress::ZERO;
        it.from == account && is_to_other && it.kind != TransferKind::Fee
    });
    to_others.filter_map(move |transfer| {
        let scored = scored_asset(AssetId { chain, asset: transfer.asset })?;
        let amount = u128::try_from(transfer.amount).ok().filter(|amount| *amount > 0)?;
        Some((transfer, scored, amount))
    })
}

/// The payees of an account from a block on that got a part of what it paid in any unit, each with the greatest of these parts.
fn payees_of(
    (chain, account): (ChainId, AccountAddress),
    rows: &[AccountRow],
    since: u64,
    values: &mut Valuation<'_>,
) -> BTreeMap<AccountAddress, Payee> {
    let mut totals: BTreeMap<MoneyUnit, u128> = BTreeMap::new();
    let mut paid: BTreeMap<(AccountAddress, MoneyUnit), (u128, Payee)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.block >= since) {
        for (transfer, scored, amount) in pays_of((chain, account), row) {
            let (unit, worth) = values.value(scored, amount, row.time);
            let total = totals.entry(unit).or_default();
            *total = total.saturating_add(worth);
            let (sum, payee) = paid.entry((transfer.to, unit)).or_default();
            *sum = sum.saturating_add(worth);
            payee.since = payee.since.min(row.block);
            payee.assets.insert(transfer.asset);
        }
    }
    let mut payees: BTreeMap<AccountAddress, Payee> = BTreeMap::new();
    for ((account, unit), (worth, payee)) in paid {
        let of_unit = part(WHOLE, worth, totals.get(&unit).copied().unwrap_or_default());
        if of_unit >= LEAST_PART {
            let known = payees.entry(account).or_default();
            let greatest = known.part.max(of_unit);
            known.add(payee);
            known.part = greatest;
        }
    }
    payees
}

#[cfg(test)]
mod tests {
    use assay_engine::{
        account::{Prices, TransferPlace},
        taxonomy::Category,
        utxo::Txid,
    };
    use ruint::aliases::U256;

    use super::*;

    const THIEF: AccountAddress = AccountAddress([9; 20]);

    fn usdt() -> Asset {
        Asset::parse(ChainId::ETH, "0xdAC17F958D2ee523a2206206994597C13D831ec7").unwrap()
    }

    fn row(block: u64, from: AccountAddress, to: AccountAddress, dollars: u64) -> AccountRow {
        AccountRow {
            id: Txid::from_bytes([1; 32]),
            block,
            time: Timestamp::from_second(1_700_000_000).unwrap(),
            position: None,
            initiator: None,
            transfers: vec![Transfer {
                kind: TransferKind::Transfer,
                asset: usdt(),
                from,
                to,
                amount: U256::from(dollars * 1_000_000),
                place: TransferPlace::default(),
            }],
            freezes: Vec::new(),
        }
    }

    /// Given payments of a thief and dust, then his payees have their parts, and dust reaches nobody.
    #[test]
    fn payees_have_their_parts_and_dust_reaches_nobody() {
        let [one, other, dusted, payer] = [1, 2, 3, 4].map(|number| AccountAddress([number; 20]));
        let rows = [
            row(5, THIEF, one, 7_500),
            row(7, THIEF, other, 2_000),
            row(8, THIEF, other, 499),
            row(9, THIEF, dusted, 1),
            row(9, payer, THIEF, 10_000),
        ];
        let prices = Prices::default();
        let payees = |since| {
            let of = (ChainId::ETH, THIEF);
            payees_of(of, &rows, since, &mut Valuation::new(&prices))
        };
        let found: Vec<_> =
            payees(0).into_iter().map(|(account, it)| (account, it.since)).collect();
        assert_eq!(found, [(one, 5), (other, 7)]);
        let first = payees(0).remove(&one).unwrap();
        assert_eq!((first.part, first.assets), (WHOLE / 4 * 3, BTreeSet::from([usdt()])));
        assert!(
            !payees(6).contains_key(&one),
            "what it paid before the severe money is none of it"
        );
    }

    #[test]
    fn listed_parties_come_first_and_exchanges_never() {
        let end = |number: u8, category, listed_on: Option<&str>| {
            let listed_on = listed_on.map(|day| day.parse().unwrap());
            (AccountAddress([number; 20]), MoneyEnd { category, listed_on })
        };
        let ends: AccountEnds = [
            end(1, Category::StolenFunds, None),
            end(2, Category::Exchange, None),
            end(3, Category::Sanctions, Some("2025-01-01")),
            end(4, Category::Sanctions, Some("2026-01-01")),
        ]
        .into_iter()
        .collect();
        let expected = [4, 3, 1].map(|number| AccountAddress([number; 20]));
        assert_eq!(severe_parties(&ends), (expected.to_vec(), 3));
    }
}
