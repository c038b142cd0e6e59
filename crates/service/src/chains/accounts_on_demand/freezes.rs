//! Freezes of accounts by the issuers of tokens, which an API states by token and kind of event: they are read beside the checks, each
//! list from its last page on.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use assay_chain::histories::accounts::{FreezeRow, freezable_tokens, freeze_signatures};
use assay_engine::account::{AccountAddress, AccountTransaction};
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
    /// Reads the freezes of all tokens of a chain whose issuers can freeze accounts, as far as the API answers.
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
        for token in freezable_tokens(chain) {
            for signature in freeze_signatures(chain, token) {
                let mut after = None;
                loop {
                    let question = Question::Freezes(token, signature, after);
                    let answers = fetcher.answers(vec![question]).await?;
                    let Some(Answer::Freezes(.., Some(page))) = answers.into_iter().next() else {
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
        }
        // Each kind of event has a list of its own.
        for rows in by_account.values_mut() {
            rows.sort_by_key(|row| (row.block, row.event.log));
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
            delegations: Vec::new(),
            messages: Vec::new(),
        })
    }
}
