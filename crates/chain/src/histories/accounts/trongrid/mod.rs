//! Histories of TRON from TronGrid's API.
//!
//! A list continues by the fingerprint that each page states. TronGrid has no list of transfers within transactions: those
//! that a transaction of the account itself states are in its row. Stakes are not read.

mod answer;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::account::{AccountAddress, Asset};
use jiff::{SignedDuration, Timestamp};
use ruint::aliases::U256;

use self::answer::{ListReader, balance, has_code, tip};
use super::{
    AccountHistorySource, AccountList, AccountPage, ApiAbilities, ApiTip, ListOrder, PagePosition,
    PageRequest,
    client::{AnswerError, ApiClient, ApiOptions},
    limits::RequestCounters,
    paging::digest_of_page,
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
}

/// A position in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Position {
    /// Fingerprint of the page.
    fingerprint: String,
    /// Time of the last row of the page before.
    last: Timestamp,
    /// Digest of the page before.
    digest: u64,
}

impl Position {
    fn text(&self) -> String {
        let Self { fingerprint, last, digest } = self;
        format!("{};{digest:x};{fingerprint}", last.as_millisecond())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ';');
        let (last, digest, fingerprint) = (parts.next()?, parts.next()?, parts.next()?);
        let last = Timestamp::from_millisecond(last.parse().ok()?).ok()?;
        let digest = u64::from_str_radix(digest, 16).ok()?;
        Some(Self { fingerprint: fingerprint.to_owned(), last, digest })
    }
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
        Ok(Self { client, page_rows: PAGE_ROWS, tip: Mutex::new(None) })
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
            AccountList::Native | AccountList::Internal => ("", String::new()),
            AccountList::Tokens => ("/trc20", String::new()),
            AccountList::Token(contract) => {
                ("/trc20", format!("&contract_address={}", text(contract)))
            }
        };
        let order = match request.order {
            ListOrder::OldestFirst => "asc",
            ListOrder::NewestFirst => "desc",
        };
        let fingerprint = position
            .map(|position| format!("&fingerprint={}", percent_encoded(&position.fingerprint)))
            .unwrap_or_default();
        let rows = self.page_rows;
        format!(
            "/v1/accounts/{account}/transactions{list}?only_confirmed=true&limit={rows}\
             &order_by=block_timestamp,{order}{contract}{fingerprint}"
        )
    }
}

impl AccountHistorySource for TronGridHistories {
    fn name(&self) -> &'static str {
        "TronGrid"
    }

    fn abilities(&self) -> ApiAbilities {
        ApiAbilities {
            internal_transfers: false,
            log_indexes: false,
            positions: false,
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
        if request.list == AccountList::Internal {
            return Ok(AccountPage { rows: Vec::new(), next: None });
        }
        let what = format!("a list of {}", text(request.account));
        let failed =
            |reason: &str| self.client.error(&what, AnswerError::Invalid(reason.to_owned()));
        let position = match &request.after {
            None => None,
            Some(PagePosition(text)) => Some(
                Position::parse(text).ok_or_else(|| failed("the position is of another API"))?,
            ),
        };
        let reader = ListReader {
            account: request.account,
            list: request.list,
            order: request.order,
            from: position.as_ref().map(|position| position.last),
            newest: self.newest(),
        };
        let path = self.path(request, position.as_ref());
        let page = self.client.ask(&path, &what, |body| reader.read(body))?;
        let digest = digest_of_page(page.marks.iter().copied());
        let next = match (page.next, page.times) {
            (Some(fingerprint), Some((_, last))) => Some(Position { fingerprint, last, digest }),
            _ => None,
        };
        let repeats = position.as_ref().is_some_and(|before| {
            let is_same = next.as_ref().is_some_and(|it| it.fingerprint == before.fingerprint);
            is_same || !page.marks.is_empty() && before.digest == digest
        });
        if repeats {
            return Err(failed("the page repeats the page before"));
        }
        Ok(AccountPage {
            rows: page.rows,
            next: next.map(|position| PagePosition(position.text())),
        })
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
