//! Receipts as the root of receipts commits to them.

use alloy_primitives::{Bloom, BloomInput};

use super::{
    answer::{LogAnswer, ReceiptAnswer},
    rlp::List,
};

impl ReceiptAnswer {
    /// Encodes the receipt. Its filter is computed from its logs.
    ///
    /// # Errors
    ///
    /// Returns a description of what the receipt lacks.
    pub(super) fn encoded(&self) -> Result<Vec<u8>, String> {
        let kind = self.kind.map_or(0, |kind| kind.0);
        let kind = u8::try_from(kind).map_err(|_| "its type is too large")?;
        let mut list = List::new();
        match (self.status, &self.root) {
            (Some(status), _) => list.number(status.0),
            (None, Some(root)) => list.bytes(&root.0),
            (None, None) => return Err("it has neither `status` nor `root`".to_owned()),
        };
        list.number(self.cumulative_gas_used.0).bytes(bloom(&self.logs).as_slice());
        let mut logs = List::new();
        for log in &self.logs {
            let mut entry = List::new();
            entry.account(Some(log.address.0));
            entry.hashes(log.topics.iter().map(|topic| &topic.0)).bytes(&log.data.0);
            logs.list(&entry);
        }
        list.list(&logs);
        // Deposits of the OP Stack have a version since Canyon, and their number is committed to since then.
        if let (Some(nonce), Some(version)) = (self.deposit_nonce, self.deposit_receipt_version) {
            list.number(nonce.0).number(version.0);
        }
        Ok(list.typed(kind))
    }
}

/// The filter of the accounts and topics of logs.
fn bloom(logs: &[LogAnswer]) -> Bloom {
    let mut bloom = Bloom::ZERO;
    for log in logs {
        bloom.accrue(BloomInput::Raw(&log.address.0.0));
        for topic in &log.topics {
            bloom.accrue(BloomInput::Raw(&topic.0));
        }
    }
    bloom
}
