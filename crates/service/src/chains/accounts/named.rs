//! The accounts of a chain that lists and labels name, and those of them at which money ends, under the default policy.

use std::{collections::BTreeSet, sync::Arc};

use assay_address::ChainId;
use assay_engine::account::AccountAddress;
use assay_graph::account::AccountEnds;
use assay_intel::IntelSnapshot;
use jiff::civil::Date;

/// The accounts that lists and labels name on a day.
#[derive(Debug, Default)]
pub(in crate::chains) struct NamedAccounts {
    /// Generation of lists and labels.
    pub(in crate::chains) generation: u64,
    /// The day.
    pub(in crate::chains) today: Date,
    /// All of them.
    pub(in crate::chains) accounts: BTreeSet<AccountAddress>,
    /// Those at which money ends.
    pub(in crate::chains) ends: AccountEnds,
    /// Revision of the ends.
    pub(in crate::chains) revision: String,
}

impl NamedAccounts {
    /// Returns the accounts that lists and labels name.
    pub(in crate::chains) fn of(chain: ChainId, intel: &IntelSnapshot, today: Date) -> Self {
        let accounts = intel.named_accounts(chain).collect();
        let ends: AccountEnds = intel.account_ends(chain, today).collect();
        let ends = ends.with_prices(Arc::clone(intel.prices()));
        let revision = ends.revision();
        Self { generation: intel.generation(), today, accounts, ends, revision }
    }
}
