//! Freezes of accounts by the issuers of tokens, which an API states by token: they are read beside the checks.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use assay_chain::histories::accounts::FreezeRow;
use assay_engine::account::{AccountAddress, AccountTransaction, Asset, scored_assets};
use assay_store::StoreError;
use jiff::Timestamp;

use super::fetch::{Answer, PageFetcher, Question};

/// The freezes of a chain's tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownFreezes {
    by_account: Arc<BTreeMap<AccountAddress, Vec<FreezeRow>>>,
    /// Time at which they were read.
    pub(super) read_at: Option<Timestamp>,
    /// True if the API states freezes, and all were read.
    pub(super) are_known: bool,
}

impl KnownFreezes {
    /// Reads the freezes of all tokens of a chain, as far as the API answers.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(super) async fn read(
        chain: ChainId,
        fetcher: &mut PageFetcher<'_>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut by_account: BTreeMap<AccountAddress, Vec<FreezeRow>> = BTreeMap::new();
        let mut are_known = true;
        let tokens = scored_assets(chain).filter_map(|scored| match scored.id.asset {
            Asset::Token(contract) => Some(contract),
            Asset::Native | Asset::Numbered(_) => None,
        });
        for token in tokens {
            let mut after = None;
            loop {
                let answers = fetcher.answers(vec![Question::Freezes(token, after)]).await?;
                let Some(Answer::Freezes(_, _, Some(page))) = answers.into_iter().next() else {
                    are_known = false;
                    break;
                };
                for row in page.rows {
                    by_account.entry(row.event.account).or_default().push(row);
                }
                match page.next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
        }
        Ok(Self { by_account: Arc::new(by_account), read_at: Some(now), are_known })
    }

    /// The transactions that froze an account or ended a freeze.
    pub(super) fn transactions_of(
        &self,
        account: AccountAddress,
    ) -> impl Iterator<Item = AccountTransaction> {
        let rows = self.by_account.get(&account).into_iter().flatten();
        rows.map(|row| AccountTransaction {
            block: row.block,
            time: row.time,
            id: row.id,
            initiator: None,
            transfers: Vec::new(),
            contract_facts: Vec::new(),
            freezes: vec![row.event],
        })
    }
}
