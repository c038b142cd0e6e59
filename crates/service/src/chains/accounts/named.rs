//! The accounts of a chain that lists and labels name, and those of them at which money ends, under the default policy.

use std::collections::{BTreeMap, BTreeSet};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, AccountView, MoneyEnd, ends_money},
    policy::Policy,
};
use assay_intel::IntelSnapshot;
use jiff::civil::Date;
use sha2::{Digest, Sha256};

/// The accounts that lists and labels name on a day, as far as a chain has them.
#[derive(Debug, Default)]
pub(super) struct NamedAccounts {
    /// Generation of lists and labels.
    pub(super) generation: u64,
    /// The day.
    pub(super) today: Date,
    /// All of them.
    pub(super) accounts: BTreeSet<AccountAddress>,
    /// Those at which money ends.
    pub(super) ends: BTreeMap<AccountAddress, MoneyEnd>,
    /// Revision of the ends: the first digits of a digest.
    pub(super) revision: String,
}

impl NamedAccounts {
    /// Returns the accounts that lists and labels name.
    pub(super) fn of(
        chain: ChainId,
        view: &dyn AccountView,
        intel: &IntelSnapshot,
        today: Date,
    ) -> Self {
        let policy = Policy::default();
        let accounts = intel.named_accounts(chain);
        let accounts: BTreeSet<AccountAddress> =
            accounts.filter(|account| view.owner(*account).is_some()).collect();
        let ends = accounts.iter().filter_map(|account| {
            let end = intel.account_attribution(chain, *account, &policy, today).end?;
            let money_end = MoneyEnd { category: end.category, listed_on: end.listed_on };
            ends_money(&end).then_some((*account, money_end))
        });
        let ends: BTreeMap<AccountAddress, MoneyEnd> = ends.collect();
        let revision = revision(&ends);
        Self { generation: intel.generation(), today, accounts, ends, revision }
    }
}

fn revision(ends: &BTreeMap<AccountAddress, MoneyEnd>) -> String {
    let mut digest = Sha256::new();
    for (account, MoneyEnd { category, listed_on }) in ends {
        digest.update(account.0);
        digest.update(category.as_str());
        digest.update(listed_on.map(|day| day.to_string()).unwrap_or_default());
        digest.update([0]);
    }
    let digest = hex::encode(digest.finalize());
    digest.get(..12).unwrap_or_default().to_owned()
}
