//! Receipts from bridges that were joined to deposits on other chains, as an answer states them (`docs/model/accounts.md` B18).

use crate::{
    assessment::VerdictReason,
    evidence::{BridgeTransaction, BridgedReceipts, JoinedBy, JoinedReceipt},
};

impl BridgedReceipts {
    /// One reason for each joined receipt.
    pub(super) fn remarks(&self) -> impl Iterator<Item = VerdictReason> {
        self.joined.iter().map(|joined| {
            let JoinedReceipt { bridge, by, payout, deposit } = joined;
            let bridge = bridge.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
            let BridgeTransaction { blockchain, transaction, amount, asset, .. } = payout;
            let (given, ground) = match by {
                JoinedBy::Message => (
                    "that were deposited into a bridge",
                    "bridges logged the same message in both transactions",
                ),
                JoinedBy::Amount => (
                    "that the same address deposited into a bridge",
                    "the only deposit of that asset, amount and time, and this its only payout",
                ),
            };
            let message = format!(
                "{amount} {asset} from the bridge{bridge} on {blockchain} (transaction {transaction}) count as the origins of \
                 {} {} {given} on {} (transaction {}): {ground}",
                deposit.amount, deposit.asset, deposit.blockchain, deposit.transaction
            );
            VerdictReason { code: "bridged", message }
        })
    }

    /// The detail of the coverage of exposure; `None` without receipts from bridges.
    pub(super) fn detail(&self) -> Option<String> {
        let names = |chains: &mut dyn Iterator<Item = assay_address::ChainId>| {
            let mut names: Vec<String> = chains.map(|chain| chain.to_string()).collect();
            names.sort();
            names.dedup();
            names.join(", ")
        };
        let receipts = match self.receipts {
            0 => return None,
            1 => "1 receipt from a bridge".to_owned(),
            more => format!("{more} receipts from bridges"),
        };
        if self.searched.is_empty() {
            return Some(format!(
                "{receipts}: no other chain with recorded transfers could be searched for deposits"
            ));
        }
        let searched = names(&mut self.searched.iter().copied());
        let joined = self.joined.len();
        let on = names(&mut self.joined.iter().map(|joined| joined.deposit.blockchain));
        let on = if on.is_empty() { String::new() } else { format!(" on {on}") };
        Some(format!(
            "{joined} of {receipts} joined to deposits{on}; searched on {searched}, not on chains that are read on demand or \
             by other chain servers"
        ))
    }
}
