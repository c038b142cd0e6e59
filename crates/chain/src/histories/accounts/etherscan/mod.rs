//! Histories from Etherscan's API and from APIs of its form: Blockscout's and Routescan's.
//!
//! The lists are paged by blocks (`paging`). Withdrawals of validators, rewards and fees for the data on the chain below are
//! in no list.

mod answer;
mod logs;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_address::{AddressRules, ChainId};
use assay_engine::account::{AccountAddress, Asset};
use ruint::aliases::U256;

use self::{
    answer::{ListReader, amount, chain_number, has_code, height},
    logs::FreezeReader,
};
use super::{
    AccountHistorySource, AccountList, AccountPage, ApiAbilities, ApiTip, FreezePage,
    FreezeSignature, ListOrder, PagePosition, PageRequest,
    client::{AnswerError, ApiClient, ApiOptions},
    limits::RequestCounters,
    paging::{BlockPosition, RowMark},
    refusal::ApiRefusal,
};
use crate::{SourceError, http::Http};

/// Rows of a page, of which Etherscan returns no more.
const PAGE_ROWS: u32 = 1_000;
/// Most rows that page numbers reach from the begin of a request.
const WINDOW: u32 = 10_000;
/// Blocks that rows may be above the newest block, which was stated some time before.
const TIP_TOLERANCE: u64 = 20_000;
/// Time for which the statement of the newest block is used to check rows.
const TIP_AGE: Duration = Duration::from_hours(1);

/// The form of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EtherscanForm {
    /// Etherscan's second version: one host for many chains, by their numbers.
    Etherscan,
    /// Blockscout's API of the same form: one host a chain.
    Blockscout,
    /// Another API of the form without numbers of chains, such as Routescan's.
    Compatible,
}

impl EtherscanForm {
    const fn name(self) -> &'static str {
        match self {
            Self::Etherscan => "Etherscan",
            Self::Blockscout => "Blockscout",
            Self::Compatible => "Routescan",
        }
    }
}

/// Source of histories from an API in the form of Etherscan's.
#[derive(Debug)]
pub struct EtherscanHistories {
    chain: ChainId,
    client: ApiClient,
    form: EtherscanForm,
    /// Begin of the query: the number of the chain.
    query: String,
    page_rows: u32,
    tip: Mutex<Option<(u64, Instant)>>,
}

impl EtherscanHistories {
    /// Returns the histories of a chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain has no Ethereum accounts, or no number that the API needs.
    pub fn new(
        chain: ChainId,
        form: EtherscanForm,
        http: Arc<dyn Http>,
        counters: Arc<dyn RequestCounters>,
        options: ApiOptions,
    ) -> Result<Self, SourceError> {
        let how = "from Etherscan's API or one of its form";
        let instead =
            "use TronGrid for TRON, Esplora for chains like Bitcoin, or files of transfers";
        let unsupported = || SourceError::Unsupported { chain, how, instead };
        if !matches!(chain.info().rules, AddressRules::Evm) {
            return Err(unsupported());
        }
        let query = match form {
            EtherscanForm::Etherscan => {
                format!("?chainid={}&", chain_number(chain).ok_or_else(unsupported)?)
            }
            EtherscanForm::Blockscout | EtherscanForm::Compatible => "?".to_owned(),
        };
        let client = ApiClient::new(http, counters, options, ApiRefusal::InvalidKey);
        Ok(Self { chain, client, form, query, page_rows: PAGE_ROWS, tip: Mutex::new(None) })
    }

    /// Returns the source with pages of another number of rows.
    #[must_use]
    pub fn with_page_rows(self, page_rows: u32) -> Self {
        Self { page_rows: page_rows.clamp(1, WINDOW), ..self }
    }

    /// The newest block that rows may be of; `None` if the newest one was not stated for some time.
    fn newest(&self) -> Option<u64> {
        let tip = *self.tip.lock().unwrap_or_else(PoisonError::into_inner);
        let (height, at) = tip?;
        (at.elapsed() < TIP_AGE).then(|| height.saturating_add(TIP_TOLERANCE))
    }

    fn path(&self, request: &PageRequest, position: &BlockPosition) -> String {
        let (account, query, rows) = (request.account, &self.query, self.page_rows);
        let action = match request.list {
            AccountList::Native => "txlist",
            AccountList::Internal => "txlistinternal",
            AccountList::Tokens | AccountList::Token(_) => "tokentx",
        };
        let contract = match request.list {
            AccountList::Token(contract) => format!("&contractaddress={contract}"),
            _ => String::new(),
        };
        let (first, last, sort) = match request.order {
            ListOrder::OldestFirst => (position.block.unwrap_or(0), None, "asc"),
            ListOrder::NewestFirst => (0, position.block, "desc"),
        };
        let last = last.map(|last| format!("&endblock={last}")).unwrap_or_default();
        let page = position.page();
        format!(
            "{query}module=account&action={action}&address={account}{contract}&startblock={first}{last}\
             &page={page}&offset={rows}&sort={sort}"
        )
    }

    /// Reads the position after which a page begins. One beyond the rows that page numbers reach is refused.
    fn position(
        &self,
        after: Option<&PagePosition>,
        what: &str,
    ) -> Result<BlockPosition, SourceError> {
        let failed = |error| self.client.error(what, error);
        let position = match after {
            None => BlockPosition::start(),
            Some(PagePosition(text)) => BlockPosition::parse(text).ok_or_else(|| {
                failed(AnswerError::Invalid("the position is of another API".to_owned()))
            })?,
        };
        if position.page().saturating_mul(self.page_rows) > WINDOW {
            let block = position.block.unwrap_or(0);
            let message = format!("block {block} has more than {WINDOW} rows of the account");
            return Err(failed(AnswerError::Refused(ApiRefusal::WindowFull, message)));
        }
        Ok(position)
    }

    /// Finds the rows of a page that are new, and the position of the next page.
    fn after(
        &self,
        position: &BlockPosition,
        rows: &[RowMark],
        what: &str,
    ) -> Result<(Vec<bool>, Option<PagePosition>), SourceError> {
        let failed = |error| self.client.error(what, error);
        let full = usize::try_from(self.page_rows).unwrap_or(usize::MAX);
        if rows.len() > full {
            let reason = format!("there are {} rows instead of at most {full}", rows.len());
            return Err(failed(AnswerError::Invalid(reason)));
        }
        let (new, next) = position.after(rows, full).map_err(|error| failed(error.answer()))?;
        Ok((new, next.map(|next| PagePosition(next.text()))))
    }
}

impl AccountHistorySource for EtherscanHistories {
    fn name(&self) -> &'static str {
        self.form.name()
    }

    fn abilities(&self) -> ApiAbilities {
        ApiAbilities {
            internal_transfers: true,
            log_indexes: false,
            positions: true,
            orders: true,
            oldest_first: true,
            page_rows: usize::try_from(self.page_rows).unwrap_or(usize::MAX),
        }
    }

    fn tip(&self) -> Result<ApiTip, SourceError> {
        let query = &self.query;
        let path = match self.form {
            EtherscanForm::Blockscout => format!("{query}module=block&action=eth_block_number"),
            _ => format!("{query}module=proxy&action=eth_blockNumber"),
        };
        let height = self.client.ask(&path, "the newest block", height)?;
        *self.tip.lock().unwrap_or_else(PoisonError::into_inner) = Some((height, Instant::now()));
        Ok(ApiTip { height, time: None })
    }

    fn page(&self, request: &PageRequest) -> Result<AccountPage, SourceError> {
        let what = format!("a list of {}", request.account);
        let position = self.position(request.after.as_ref(), &what)?;
        let reader = ListReader {
            account: request.account,
            list: request.list,
            order: request.order,
            from: position.block,
            newest: self.newest(),
        };
        let path = self.path(request, &position);
        let rows = self.client.ask(&path, &what, |body| reader.read(body))?;
        let marks: Vec<_> = rows.iter().map(|row| row.mark).collect();
        let (new, next) = self.after(&position, &marks, &what)?;
        let new = rows.into_iter().zip(new).filter(|(_, is_new)| *is_new);
        let rows = new.filter_map(|(read, _)| read.row).collect();
        Ok(AccountPage { rows, next })
    }

    fn balance(&self, account: AccountAddress, asset: Asset) -> Result<Option<U256>, SourceError> {
        let query = &self.query;
        let path = match asset {
            Asset::Native => {
                format!("{query}module=account&action=balance&address={account}&tag=latest")
            }
            Asset::Token(contract) => format!(
                "{query}module=account&action=tokenbalance&contractaddress={contract}\
                 &address={account}&tag=latest"
            ),
            Asset::Numbered(_) => return Ok(None),
        };
        self.client.ask(&path, &format!("the balance of {account}"), amount).map(Some)
    }

    fn has_code(&self, account: AccountAddress) -> Result<Option<bool>, SourceError> {
        if self.form == EtherscanForm::Blockscout {
            return Ok(None);
        }
        let query = &self.query;
        let path = format!("{query}module=proxy&action=eth_getCode&address={account}&tag=latest");
        self.client.ask(&path, &format!("the code of {account}"), has_code).map(Some)
    }

    fn freezes(
        &self,
        token: AccountAddress,
        signature: &'static FreezeSignature,
        after: Option<&PagePosition>,
    ) -> Result<Option<FreezePage>, SourceError> {
        let what = format!("the events {} of {token}", signature.name);
        let position = self.position(after, &what)?;
        let (chain, from, newest) = (self.chain, position.block, self.newest());
        let reader = FreezeReader { chain, token, signature, from, newest };
        let (query, rows, page) = (&self.query, self.page_rows, position.page());
        let (topic, from) = (hex::encode(signature.topic), from.unwrap_or(0));
        let path = format!(
            "{query}module=logs&action=getLogs&address={token}&topic0=0x{topic}&fromBlock={from}&toBlock=latest\
             &page={page}&offset={rows}"
        );
        let rows = self.client.ask(&path, &what, |body| reader.read(body))?;
        let marks: Vec<_> = rows.iter().map(|(mark, _)| *mark).collect();
        let (new, next) = self.after(&position, &marks, &what)?;
        let new = rows.into_iter().zip(new).filter(|(_, is_new)| *is_new);
        Ok(Some(FreezePage { rows: new.map(|((_, row), _)| row).collect(), next }))
    }
}
