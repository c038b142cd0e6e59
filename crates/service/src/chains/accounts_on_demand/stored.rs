//! Answers of an API as they are stored, and the time for which they may be used.

use assay_address::ChainId;
use assay_chain::histories::accounts::{
    AccountList, AccountPage, AccountRow, FreezePage, FreezeRow, ListOrder, PagePosition,
    PageRequest,
};
use assay_engine::{
    account::{AccountAddress, Asset, FreezeChange, FreezeEvent, Transfer, TransferPlace},
    utxo::Txid,
};
use assay_store::{
    FetchedStore, StoreError,
    fetched::{FetchedKind, FetchedRecord},
};
use jiff::{SignedDuration, Timestamp};
use ruint::aliases::U256;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fetch::{Answer, Question};

/// A page with the newest block that the API knew before it answered.
#[derive(Clone, Debug)]
pub(super) struct KnownPage {
    pub(super) page: AccountPage,
    pub(super) tip: u64,
}

/// Stored form of a page.
#[derive(Debug, Serialize, Deserialize)]
struct StoredPage {
    tip: u64,
    rows: Vec<StoredRow>,
    next: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRow {
    id: String,
    block: u64,
    time: Timestamp,
    position: Option<u32>,
    initiator: Option<String>,
    transfers: Vec<StoredTransfer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    freezes: Vec<StoredFreeze>,
}

/// Kind, asset, payer, receiver, amount and index.
#[derive(Debug, Serialize, Deserialize)]
struct StoredTransfer(String, String, String, String, String, u32);

/// Asset, account, index of the change among all kinds, and index of the log.
#[derive(Debug, Serialize, Deserialize)]
struct StoredFreeze(String, String, usize, u32);

/// Stored form of a page of freezes.
#[derive(Debug, Serialize, Deserialize)]
struct StoredFreezes {
    /// Transaction, block and time of each event.
    rows: Vec<(String, u64, Timestamp, StoredFreeze)>,
    next: Option<String>,
}

impl StoredFreezes {
    fn of(chain: ChainId, page: &FreezePage) -> Self {
        let rows = page.rows.iter().map(|row| {
            let FreezeRow { id, block, time, event } = row;
            (id.to_string(), *block, *time, StoredFreeze::of(chain, event))
        });
        Self { rows: rows.collect(), next: page.next.clone().map(|position| position.0) }
    }

    /// Reads the page; `None` if it is malformed.
    fn read(self, chain: ChainId) -> Option<FreezePage> {
        let rows = self.rows.into_iter().map(|(id, block, time, event)| {
            let (id, event) = (id.parse().ok()?, event.read(chain)?);
            Some(FreezeRow { id, block, time, event })
        });
        let next = self.next.map(PagePosition);
        Some(FreezePage { rows: rows.collect::<Option<_>>()?, next })
    }
}

impl StoredFreeze {
    fn of(chain: ChainId, event: &FreezeEvent) -> Self {
        let change = FreezeChange::ALL.iter().position(|it| *it == event.change);
        Self(
            event.asset.text(chain),
            hex::encode(event.account.0),
            change.unwrap_or_default(),
            event.log,
        )
    }

    fn read(self, chain: ChainId) -> Option<FreezeEvent> {
        let Self(asset, frozen, change, log) = self;
        Some(FreezeEvent {
            asset: Asset::parse(chain, &asset).ok()?,
            account: account(&frozen)?,
            change: *FreezeChange::ALL.get(change)?,
            log,
        })
    }
}

/// Stored answers of one chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredPages<'a> {
    pub(super) store: &'a dyn FetchedStore,
    pub(super) chain: ChainId,
    /// The API that answers.
    pub(super) api: &'static str,
    pub(super) now: Timestamp,
    /// Longest age of a page that new blocks can change.
    pub(super) longest_age: SignedDuration,
    /// Longest age of the newest rows of a list.
    pub(super) newest_age: SignedDuration,
}

impl StoredPages<'_> {
    /// Returns the stored answer to each question that has one which may be used.
    pub(super) async fn find(
        &self,
        questions: &[Question],
    ) -> Result<Vec<Option<Answer>>, StoreError> {
        let keys = questions.iter().map(|question| self.key(question));
        let keys: Vec<String> = keys.collect();
        let found = self.store.fetched(self.chain, FetchedKind::History, &keys).await?;
        let answers = questions.iter().zip(&keys).map(|(question, key)| {
            let record = found.iter().find(|record| record.key == *key)?;
            self.read(question, record)
        });
        Ok(answers.collect())
    }

    /// Reads a stored answer; `None` if it may not be used.
    fn read(&self, question: &Question, record: &FetchedRecord) -> Option<Answer> {
        let oldest = self.now.saturating_sub(self.longest_age).unwrap_or(Timestamp::MIN);
        let is_fresh = record.fetched_at >= oldest;
        match question {
            Question::Page(request) => {
                let stored: StoredPage = serde_json::from_str(&record.content).ok()?;
                // New blocks add rows after the last page only.
                let is_settled = request.order == ListOrder::OldestFirst && stored.next.is_some();
                // New rows are on the first page of the newest ones.
                let is_first = request.order == ListOrder::NewestFirst && request.after.is_none();
                let newest = self.now.saturating_sub(self.newest_age).unwrap_or(Timestamp::MIN);
                let is_usable = is_settled || is_fresh && !is_first || record.fetched_at >= newest;
                let page = stored.read(self.chain).filter(|_| is_usable)?;
                Some(Answer::Page(request.clone(), page))
            }
            Question::Code(account) => {
                let has_code: Option<bool> = serde_json::from_str(&record.content).ok()?;
                // Code stays; an account without code can get some.
                let is_usable = has_code == Some(true) || is_fresh;
                is_usable.then_some(Answer::Code(*account, has_code))
            }
            Question::Balance(account, asset) => {
                let balance: Option<String> = serde_json::from_str(&record.content).ok()?;
                let balance = match balance {
                    Some(text) => Some(text.parse().ok()?),
                    None => None,
                };
                is_fresh.then_some(Answer::Balance(*account, *asset, balance))
            }
            Question::Freezes(token, signature, after) => {
                let stored: Option<StoredFreezes> = serde_json::from_str(&record.content).ok()?;
                let is_settled = stored.as_ref().is_some_and(|page| page.next.is_some());
                let page = match stored {
                    Some(stored) => Some(stored.read(self.chain)?),
                    None => None,
                };
                let is_usable = is_settled || is_fresh;
                is_usable.then(|| Answer::Freezes(*token, signature, after.clone(), page))
            }
        }
    }

    /// Stores answers that came now.
    pub(super) async fn put(&self, answers: &[Answer]) -> Result<(), StoreError> {
        let records = answers.iter().filter_map(|answer| {
            let (question, content) = match answer {
                Answer::Page(request, page) => {
                    let stored = StoredPage::of(self.chain, page);
                    (Question::Page(request.clone()), serde_json::to_string(&stored))
                }
                Answer::Code(account, has_code) => {
                    (Question::Code(*account), serde_json::to_string(has_code))
                }
                Answer::Balance(account, asset, balance) => {
                    let text = balance.map(|balance| balance.to_string());
                    (Question::Balance(*account, *asset), serde_json::to_string(&text))
                }
                Answer::Freezes(token, signature, after, page) => {
                    let stored = page.as_ref().map(|page| StoredFreezes::of(self.chain, page));
                    let question = Question::Freezes(*token, signature, after.clone());
                    (question, serde_json::to_string(&stored))
                }
            };
            Some(FetchedRecord {
                chain: self.chain,
                kind: FetchedKind::History,
                key: self.key(&question),
                content: content.ok()?,
                fetched_at: self.now,
            })
        });
        let records: Vec<FetchedRecord> = records.collect();
        if records.is_empty() { Ok(()) } else { self.store.put_fetched(&records).await }
    }

    /// The key of an answer. Positions and rows of one API mean nothing to another.
    fn key(&self, question: &Question) -> String {
        format!("{}/{}", self.api, key(self.chain, question))
    }
}

/// The part of an answer's key that names the question: a page of another order or position has another one.
fn key(chain: ChainId, question: &Question) -> String {
    let PageRequest { account, list, order, after } = match question {
        Question::Page(request) => request,
        Question::Code(account) => return format!("{account}/code"),
        Question::Balance(account, asset) => {
            return format!("{account}/balance/{}", asset.text(chain));
        }
        Question::Freezes(token, signature, after) => {
            let after = after.as_ref().map_or_else(String::new, |position| digest(&position.0));
            return format!("{token}/{}/{after}", signature.name);
        }
    };
    let list = match list {
        AccountList::Native => "native".to_owned(),
        AccountList::Internal => "internal".to_owned(),
        AccountList::Tokens => "tokens".to_owned(),
        AccountList::Token(contract) => contract.to_string(),
    };
    let order = match order {
        ListOrder::OldestFirst => "oldest",
        ListOrder::NewestFirst => "newest",
    };
    // Positions can be longer than a key may be.
    let after = after.as_ref().map_or_else(String::new, |position| digest(&position.0));
    format!("{account}/{list}/{order}/{after}")
}

/// The begin of a text's digest.
fn digest(text: &str) -> String {
    let digest = hex::encode(Sha256::digest(text));
    digest.get(..32).unwrap_or_default().to_owned()
}

impl StoredPage {
    fn of(chain: ChainId, known: &KnownPage) -> Self {
        let rows = known.page.rows.iter().map(|row| StoredRow::of(chain, row)).collect();
        Self { tip: known.tip, rows, next: known.page.next.clone().map(|position| position.0) }
    }

    /// Reads the page; `None` if it is malformed, and must be fetched again.
    fn read(self, chain: ChainId) -> Option<KnownPage> {
        let rows = self.rows.into_iter().map(|row| row.read(chain)).collect::<Option<_>>()?;
        let page = AccountPage { rows, next: self.next.map(PagePosition) };
        Some(KnownPage { page, tip: self.tip })
    }
}

impl StoredRow {
    fn of(chain: ChainId, row: &AccountRow) -> Self {
        let transfer = |transfer: &Transfer| {
            let Transfer { kind, asset, from, to, amount, place } = transfer;
            StoredTransfer(
                kind.as_str().to_owned(),
                asset.text(chain),
                hex::encode(from.0),
                hex::encode(to.0),
                amount.to_string(),
                place.index,
            )
        };
        Self {
            id: row.id.to_string(),
            block: row.block,
            time: row.time,
            position: row.position,
            initiator: row.initiator.map(|account| hex::encode(account.0)),
            transfers: row.transfers.iter().map(transfer).collect(),
            freezes: row.freezes.iter().map(|event| StoredFreeze::of(chain, event)).collect(),
        }
    }

    fn read(self, chain: ChainId) -> Option<AccountRow> {
        let transfers = self.transfers.into_iter().map(|stored| {
            let StoredTransfer(kind, asset, from, to, amount, index) = stored;
            Some(Transfer {
                kind: kind.parse().ok()?,
                asset: Asset::parse(chain, &asset).ok()?,
                from: account(&from)?,
                to: account(&to)?,
                amount: amount.parse::<U256>().ok()?,
                place: TransferPlace { index, published: None },
            })
        });
        let freezes = self.freezes.into_iter().map(|stored| stored.read(chain));
        let initiator = match self.initiator {
            Some(text) => Some(account(&text)?),
            None => None,
        };
        Some(AccountRow {
            id: self.id.parse::<Txid>().ok()?,
            block: self.block,
            time: self.time,
            position: self.position,
            initiator,
            transfers: transfers.collect::<Option<_>>()?,
            freezes: freezes.collect::<Option<_>>()?,
        })
    }
}

fn account(text: &str) -> Option<AccountAddress> {
    let mut bytes = [0; 20];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(AccountAddress(bytes))
}
