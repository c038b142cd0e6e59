//! The accounts of a chain at which money ends, with the revision that names them.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::account::{AccountAddress, MoneyEnd, Prices};
use sha2::{Digest, Sha256};

/// Accounts at which money ends under one state of lists and labels, also those that the chain does not have yet; and the prices
/// that value exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountEnds {
    parties: BTreeMap<AccountAddress, MoneyEnd>,
    prices: Arc<Prices>,
}

impl AccountEnds {
    /// The party of an account; `None` if money passes it.
    #[must_use]
    pub fn get(&self, account: AccountAddress) -> Option<MoneyEnd> {
        self.parties.get(&account).copied()
    }

    /// All parties in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (AccountAddress, MoneyEnd)> {
        self.parties.iter().map(|(account, end)| (*account, *end))
    }

    /// The same ends, with prices that value exchanges. They are no part of the revision: a graph keeps those of a day from the
    /// day's first block on.
    #[must_use]
    pub fn with_prices(self, prices: Arc<Prices>) -> Self {
        Self { prices, ..self }
    }

    /// The prices that value exchanges.
    #[must_use]
    pub const fn prices(&self) -> &Arc<Prices> {
        &self.prices
    }

    /// The revision: the first digits of a digest over all parties.
    #[must_use]
    pub fn revision(&self) -> String {
        let mut digest = Sha256::new();
        for (account, MoneyEnd { category, listed_on }) in &self.parties {
            digest.update(account.0);
            digest.update(category.as_str());
            digest.update(listed_on.map(|day| day.to_string()).unwrap_or_default());
            digest.update([0]);
        }
        let digest = hex::encode(digest.finalize());
        digest.get(..12).unwrap_or_default().to_owned()
    }
}

impl FromIterator<(AccountAddress, MoneyEnd)> for AccountEnds {
    fn from_iter<I: IntoIterator<Item = (AccountAddress, MoneyEnd)>>(parties: I) -> Self {
        Self { parties: parties.into_iter().collect(), prices: Arc::default() }
    }
}
