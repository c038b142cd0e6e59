//! A transaction before it is sent.

use assay_engine::account::{AccountAddress, ContractFact, ContractFactKind};

use crate::accounts::chain::Move;

/// A transaction before it is sent: its sender, what it moves and whom its logs name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a call moves nothing until a chain executes it"]
pub struct Call {
    /// The sender.
    pub sender: AccountAddress,
    /// Transfers in the order of the transaction.
    pub moves: Vec<Move>,
    /// Accounts that logs name as owners of money.
    pub named: Vec<ContractFact>,
}

impl Call {
    /// A transaction whose logs name nobody.
    pub fn new(sender: AccountAddress, moves: &[Move]) -> Self {
        Self { sender, moves: moves.to_vec(), named: Vec::new() }
    }

    /// The same with further transfers behind its own.
    pub fn with_moves(mut self, moves: &[Move]) -> Self {
        self.moves.extend_from_slice(moves);
        self
    }

    /// The same, sent by another account.
    pub fn sent_by(self, sender: AccountAddress) -> Self {
        Self { sender, ..self }
    }

    /// The same with a log that names an account.
    pub fn naming(mut self, event: ContractFact) -> Self {
        self.named.push(event);
        self
    }
}

/// A log by which a contract names the account for which it got money.
#[must_use]
pub const fn named_depositor(
    contract: AccountAddress,
    beneficiary: AccountAddress,
) -> ContractFact {
    ContractFact { contract, kind: ContractFactKind::Beneficiary, account: beneficiary }
}

/// A log by which a contract names the account whose money it pays out.
#[must_use]
pub const fn named_payee(contract: AccountAddress, owner: AccountAddress) -> ContractFact {
    ContractFact { contract, kind: ContractFactKind::Holder, account: owner }
}
