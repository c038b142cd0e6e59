//! The accounts of a chain at which money ends, with the revision that names them.

use std::collections::BTreeMap;

use assay_engine::account::{AccountAddress, MoneyEnd};
use sha2::{Digest, Sha256};

/// Accounts at which money ends under one state of lists and labels, also those that the chain does not have yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountEnds(BTreeMap<AccountAddress, MoneyEnd>);

impl AccountEnds {
    /// The party of an account; `None` if money passes it.
    #[must_use]
    pub fn get(&self, account: AccountAddress) -> Option<MoneyEnd> {
        self.0.get(&account).copied()
    }

    /// All parties in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (AccountAddress, MoneyEnd)> {
        self.0.iter().map(|(account, end)| (*account, *end))
    }

    /// The revision: the first digits of a digest over all parties.
    #[must_use]
    pub fn revision(&self) -> String {
        let mut digest = Sha256::new();
        for (account, MoneyEnd { category, listed_on }) in &self.0 {
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
        Self(parties.into_iter().collect())
    }
}
