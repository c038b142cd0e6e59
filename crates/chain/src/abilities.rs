//! Abilities of nodes of account chains.

/// Parts of the blocks of an account chain that a node states, and those that their headers prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAbilities {
    /// The way in which the node states transfers inside of transactions; `None` until it was asked.
    pub tracer: Option<Tracer>,
    /// The statements that are recomputed from a block's hash.
    pub proven: ProvenParts,
}

impl NodeAbilities {
    /// True if transfers inside of transactions are read. False until the node was asked.
    #[must_use]
    pub const fn reads_internal_transfers(&self) -> bool {
        matches!(
            self.tracer,
            Some(Tracer::Calls | Tracer::Parity | Tracer::Logs | Tracer::TransactionInfo)
        )
    }
}

/// A node's way to state transfers inside of transactions. No header proves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// `debug_traceBlockByHash` with the call tracer.
    Calls,
    /// `trace_block`, in the form that Parity introduced.
    Parity,
    /// None is needed: event logs of the chain state every transfer of its coin.
    Logs,
    /// Transaction infos state them, on nodes of TRON that keep internal transactions (`vm.saveInternalTx`). A node is taken for one
    /// if its newest blocks have some.
    TransactionInfo,
    /// The node has none of these: transfers inside of transactions are not assessed.
    None,
}

/// Parts of a block that are recomputed and compared with its hash.
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenParts {
    /// The header.
    pub header: bool,
    /// Transactions, with the sender of each.
    pub transactions: bool,
    /// Receipts: success, gas and event logs.
    pub receipts: bool,
    /// Withdrawals of validators.
    pub withdrawals: bool,
}

impl ProvenParts {
    /// Every part is proven, as on Ethereum.
    pub const ALL: Self =
        Self { header: true, transactions: true, receipts: true, withdrawals: true };
    /// No part is proven.
    pub const NONE: Self =
        Self { header: false, transactions: false, receipts: false, withdrawals: false };
}
