//! Histories of TRON from TronGrid's API.
//!
//! - `answer`: rows of lists
//! - `account`: balances, code, the newest block
//! - `events`: events that change freezes
//! - `page`, `position`: pages, and the ways in which they continue

mod account;
mod answer;
mod events;
mod page;
mod position;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::account::{AccountAddress, Asset};
use jiff::{SignedDuration, Timestamp};
use ruint::aliases::U256;

use self::{
    account::{balance, has_code, tip},
    answer::ListReader,
    events::FreezeReader,
    page::ReadPage,
    position::Position,
};
use super::{
    AccountHistorySource, AccountList, AccountPage, ApiAbilities, ApiTip, FreezePage,
    FreezeSignature, ListOrder, PagePosition, PageRequest,
    client::{AnswerError, ApiClient, ApiOptions},
    limits::RequestCounters,
    refusal::ApiRefusal,
};
use crate::{SourceError, http::Http};

/// Most rows of a page.
const PAGE_ROWS: u32 = 200;
/// Time by which rows may be newer than the newest block, which was stated up to [`TIP_AGE`] before.
const TIP_TOLERANCE: SignedDuration = SignedDuration::from_hours(2);
/// Time for which the statement of the newest block is used to check rows.
const TIP_AGE: Duration = Duration::from_hours(1);

/// Source of histories from TronGrid's API.
#[derive(Debug)]
pub struct TronGridHistories {
    client: ApiClient,
    page_rows: u32,
    tip: Mutex<Option<(Timestamp, Instant)>>,
    /// True if the API has no list of transfers within transactions.
    lacks_internal: AtomicBool,
}

impl TronGridHistories {
    /// Returns the histories of TRON.
    ///
    /// # Errors
    ///
    /// Returns an error for another chain.
    pub fn new(
        chain: ChainId,
        http: Arc<dyn Http>,
        counters: Arc<dyn RequestCounters>,
        options: ApiOptions,
    ) -> Result<Self, SourceError> {
        if chain != ChainId::TRX {
            let (how, instead) = ("from TronGrid's API", "TronGrid has TRON only");
            return Err(SourceError::Unsupported { chain, how, instead });
        }
        // An address that asks too often is banned for some seconds by status 403.
        let client = ApiClient::new(http, counters, options, ApiRefusal::TooManyRequests);
        let (tip, lacks_internal) = (Mutex::new(None), AtomicBool::new(false));
        Ok(Self { client, page_rows: PAGE_ROWS, tip, lacks_internal })
    }

    /// Returns the source with pages of another number of rows, at most 200.
    #[must_use]
    pub fn with_page_rows(self, page_rows: u32) -> Self {
        Self { page_rows: page_rows.clamp(1, PAGE_ROWS), ..self }
    }

    fn newest(&self) -> Option<Timestamp> {
        let tip = *self.tip.lock().unwrap_or_else(PoisonError::into_inner);
        let (time, at) = tip?;
        if at.elapsed() >= TIP_AGE {
            return None;
        }
        time.checked_add(TIP_TOLERANCE).ok()
    }

    fn path(&self, request: &PageRequest, position: Option<&Position>) -> String {
        let account = text(request.account);
        let (list, contract) = match request.list {
            AccountList::Native => ("transactions", String::new()),
            AccountList::Internal => ("internal-transactions", String::new()),
            AccountList::Tokens => ("transactions/trc20", String::new()),
            AccountList::Token(contract) => {
                ("transactions/trc20", format!("&contract_address={}", text(contract)))
            }
        };
        let order = match request.order {
            ListOrder::OldestFirst => "asc",
            ListOrder::NewestFirst => "desc",
        };
        let (rows, bounds) = (self.page_rows, bounds("timestamp", request.order, position));
        format!(
            "/v1/accounts/{account}/{list}?only_confirmed=true&limit={rows}\
             &order_by=block_timestamp,{order}{contract}{bounds}"
        )
    }

    /// Reads the position after which a page begins.
    fn position(
        &self,
        after: Option<&PagePosition>,
        what: &str,
    ) -> Result<Option<Position>, SourceError> {
        let Some(PagePosition(text)) = after else { return Ok(None) };
        let position = Position::parse(text).ok_or_else(|| {
            let reason = "the position is of another API".to_owned();
            self.client.error(what, AnswerError::Invalid(reason))
        })?;
        Ok(Some(position))
    }

    /// The new rows of a page, and the position of the next one.
    fn after<T>(
        &self,
        position: Option<&Position>,
        page: ReadPage<T>,
        what: &str,
    ) -> Result<(Vec<T>, Option<PagePosition>), SourceError> {
        let marks: Vec<_> = page.rows.iter().map(|(mark, _)| *mark).collect();
        let full = usize::try_from(self.page_rows).unwrap_or(usize::MAX);
        let (new, next) = Position::after(position, &marks, page.next, full)
            .map_err(|error| self.client.error(what, error.answer()))?;
        let new = page.rows.into_iter().zip(new).filter(|(_, is_new)| *is_new);
        let rows = new.filter_map(|((_, row), _)| row).collect();
        Ok((rows, next.map(|next| PagePosition(next.text()))))
    }
}

/// The part of a query that continues a list: its fingerprint, and the time from which it is continued. `of` names that time.
fn bounds(of: &str, order: ListOrder, position: Option<&Position>) -> String {
    let Some(position) = position else { return String::new() };
    let side = match order {
        ListOrder::OldestFirst => "min",
        ListOrder::NewestFirst => "max",
    };
    let begin = position.begin().map(|begin| format!("&{side}_{of}={begin}"));
    let fingerprint = percent_encoded(&position.fingerprint);
    let fingerprint = match &*fingerprint {
        "" => String::new(),
        fingerprint => format!("&fingerprint={fingerprint}"),
    };
    format!("{}{fingerprint}", begin.unwrap_or_default())
}

/// Time of the last row before a position.
fn last_time(position: Option<&Position>) -> Option<Timestamp> {
    let milliseconds = i64::try_from(position?.last).ok()?;
    Timestamp::from_millisecond(milliseconds).ok()
}

impl AccountHistorySource for TronGridHistories {
    fn name(&self) -> &'static str {
        "TronGrid"
    }

    fn abilities(&self) -> ApiAbilities {
        ApiAbilities {
            internal_transfers: !self.lacks_internal.load(Ordering::Relaxed),
            log_indexes: false,
            positions: false,
            orders: false,
            oldest_first: true,
            page_rows: usize::try_from(self.page_rows).unwrap_or(usize::MAX),
        }
    }

    fn tip(&self) -> Result<ApiTip, SourceError> {
        // Lists have rows of solidified blocks only.
        let path = "/walletsolidity/getnowblock";
        let tip = self.client.ask(path, "the newest solidified block", tip)?;
        if let Some(time) = tip.time {
            let known = Some((time, Instant::now()));
            *self.tip.lock().unwrap_or_else(PoisonError::into_inner) = known;
        }
        Ok(tip)
    }

    fn page(&self, request: &PageRequest) -> Result<AccountPage, SourceError> {
        let is_internal = request.list == AccountList::Internal;
        if is_internal && self.lacks_internal.load(Ordering::Relaxed) {
            return Ok(AccountPage { rows: Vec::new(), next: None });
        }
        let what = format!("a list of {}", text(request.account));
        let position = self.position(request.after.as_ref(), &what)?;
        let position = position.as_ref();
        let (account, list, order) = (request.account, request.list, request.order);
        let (from, newest) = (last_time(position), self.newest());
        let reader = ListReader { account, list, order, from, newest };
        let path = self.path(request, position);
        let page = match self.client.ask(&path, &what, |body| reader.read(body)) {
            Err(SourceError::Api { refusal: ApiRefusal::NotOffered, .. }) if is_internal => {
                self.lacks_internal.store(true, Ordering::Relaxed);
                return Ok(AccountPage { rows: Vec::new(), next: None });
            }
            page => page?,
        };
        let (rows, next) = self.after(position, page, &what)?;
        Ok(AccountPage { rows, next })
    }

    fn balance(&self, account: AccountAddress, asset: Asset) -> Result<Option<U256>, SourceError> {
        let account = text(account);
        let path = format!("/v1/accounts/{account}");
        let what = format!("the balance of {account}");
        self.client.ask(&path, &what, |body| balance(body, asset))
    }

    fn has_code(&self, account: AccountAddress) -> Result<Option<bool>, SourceError> {
        let path = format!("/wallet/getcontract?value=41{}", hex::encode(account.0));
        let what = format!("the contract {}", text(account));
        self.client.ask(&path, &what, has_code).map(Some)
    }

    fn freezes(
        &self,
        token: AccountAddress,
        signature: &'static FreezeSignature,
        after: Option<&PagePosition>,
    ) -> Result<Option<FreezePage>, SourceError> {
        let (contract, name, rows) = (text(token), signature.name, self.page_rows);
        let what = format!("the events {name} of {contract}");
        let position = self.position(after, &what)?;
        let position = position.as_ref();
        let (from, newest) = (last_time(position), self.newest());
        let reader = FreezeReader { token, signature, from, newest };
        let bounds = bounds("block_timestamp", ListOrder::OldestFirst, position);
        let path = format!(
            "/v1/contracts/{contract}/events?event_name={name}&only_confirmed=true&limit={rows}\
             &order_by=block_timestamp,asc{bounds}"
        );
        let page = self.client.ask(&path, &what, |body| reader.read(body))?;
        let (rows, next) = self.after(position, page, &what)?;
        Ok(Some(FreezePage { rows, next }))
    }
}

/// The address as TRON writes it.
fn text(account: AccountAddress) -> String {
    let address = account.on(ChainId::TRX);
    address.map_or_else(|| account.to_string(), |address| address.as_str().to_owned())
}

/// A text for a query, in which all but letters, digits, hyphens, dots and underscores are encoded.
fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;

    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
