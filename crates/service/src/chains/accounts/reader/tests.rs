use assay_address::CanonicalAddress;
use assay_engine::{
    account::{
        self, AccountLedger, AccountTransaction, AccountTransferSelector, AccountView, Asset,
        AssetNumber, Dealing, DealingKey, Payment,
    },
    ledger::TransactionNumber,
    policy::Policy,
    trace::TraceRules,
    transfer::{TransferQuery, TransferSelector},
};
use assay_graph::account::{AccountGraphView, RecordedBlock};
use jiff::Timestamp;

use super::*;
use crate::chains::accounts::named::NamedAccounts;

/// A view whose store fails at the first read.
struct Failed;

impl AccountView for Failed {
    fn chain(&self) -> ChainId {
        ChainId::ETH
    }

    fn time(&self, _: TransactionNumber) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn txid(&self, _: TransactionNumber) -> Txid {
        Txid::from_bytes([0; 32])
    }

    fn find(&self, _: &Txid) -> Option<TransactionNumber> {
        None
    }

    fn transaction(&self, _: TransactionNumber) -> Option<AccountTransaction> {
        None
    }

    fn owner(&self, _: AccountAddress) -> Option<OwnerNumber> {
        None
    }

    fn address(&self, _: OwnerNumber) -> Option<AccountAddress> {
        None
    }

    fn asset(&self, _: AssetNumber) -> Option<Asset> {
        None
    }

    fn payments(&self, _: OwnerNumber, _: usize) -> AccountPayments {
        AccountPayments::default()
    }

    fn history(&self, of: OwnerNumber, most: usize) -> AccountPayments {
        self.payments(of, most)
    }

    fn payment_count(&self, _: OwnerNumber) -> u64 {
        0
    }

    fn payments_before(
        &self,
        _: OwnerNumber,
        _: AssetNumber,
        _: TransactionNumber,
        _: usize,
    ) -> Vec<Payment> {
        Vec::new()
    }

    fn payments_from(
        &self,
        _: OwnerNumber,
        _: AssetNumber,
        _: TransactionNumber,
        _: usize,
    ) -> Vec<Payment> {
        Vec::new()
    }

    fn payments_of_transaction(&self, _: TransactionNumber) -> Vec<Payment> {
        Vec::new()
    }

    fn ledgers(&self, _: OwnerNumber) -> Vec<(AssetNumber, AccountLedger)> {
        Vec::new()
    }

    fn dealings(&self, _: OwnerNumber) -> Vec<(DealingKey, Dealing)> {
        Vec::new()
    }

    fn with_other_tokens(&self, _: OwnerNumber, _: usize) -> Vec<TransactionNumber> {
        Vec::new()
    }

    fn with_freezes(&self, _: OwnerNumber, _: usize) -> Vec<TransactionNumber> {
        Vec::new()
    }

    fn with_delegations(&self, _: OwnerNumber, _: usize) -> Vec<TransactionNumber> {
        Vec::new()
    }

    fn with_message(&self, _: OwnerNumber, _: usize) -> Vec<TransactionNumber> {
        Vec::new()
    }

    fn deployer(&self, _: OwnerNumber) -> Option<OwnerNumber> {
        None
    }

    fn deployed(&self, _: OwnerNumber, _: usize) -> Vec<OwnerNumber> {
        Vec::new()
    }

    fn state(&self, _: OwnerNumber) -> account::AccountState {
        account::AccountState::default()
    }

    fn knows_contracts(&self) -> bool {
        false
    }

    fn has_internal_transfers(&self) -> bool {
        true
    }

    fn has_initiators(&self) -> bool {
        true
    }
}

impl AccountGraphView for Failed {
    fn owners(&self) -> u64 {
        0
    }

    fn check(&self) -> Result<(), GraphError> {
        Err(GraphError::unreadable("payments", "a test"))
    }
}

fn failed() -> CheckState {
    let block = RecordedBlock { height: 7, time: Timestamp::UNIX_EPOCH };
    let recorded = RecordedState {
        first: block,
        tip: block,
        blocks: 1,
        transactions: 1,
        transfers: 1,
        without_initiator: 0,
        digest: [1; 32],
        sample: false,
    };
    CheckState {
        recorded,
        accounts: Arc::new(Failed),
        lookalikes: Arc::default(),
        named: Arc::new(NamedAccounts::default()),
        revision: "0".to_owned(),
        is_outdated: false,
    }
}

fn subject() -> CanonicalAddress {
    let address = "0x1111111111111111111111111111111111111111";
    CanonicalAddress::parse(ChainId::ETH, address).unwrap()
}

#[test]
fn a_subject_that_cannot_be_read_is_no_subject_without_payments() {
    let directory = tempfile::tempdir().unwrap();
    let graphs = Arc::new(EmbeddedGraphs::new(directory.path()));
    let chain = ChainId::ETH;
    let reader = AccountReader::new(chain, &graphs, &AccountStates::default());
    let (policy, intel, subject) = (Policy::default(), IntelSnapshot::default(), subject());
    let rules = TraceRules::new(&policy, chain.info());
    let now = Timestamp::UNIX_EPOCH;
    let request = TraceRequest { subject: &subject, rules, policy: &policy, intel: &intel, now };
    let read = reader.subject_data(request, &failed(), &OtherStates::default());
    assert!(matches!(read, Err(GraphError::Unreadable { .. })), "{read:?}");
}

#[test]
fn a_transaction_that_cannot_be_read_is_not_unknown() {
    let (state, txid) = (failed(), Txid::from_bytes([3; 32]));
    let found = transaction::find(&*state.accounts, &txid, usize::MAX);
    assert!(matches!(found, Err(GraphError::Unreadable { .. })), "{found:?}");
    let query = TransferQuery {
        chain: ChainId::ETH,
        txid,
        selector: TransferSelector::OfAccounts(AccountTransferSelector::default()),
        direction: TransferDirection::Deposit,
    };
    let intel = IntelSnapshot::default();
    let mut values = Valuation::new(intel.prices());
    let now = Timestamp::UNIX_EPOCH;
    let read = ReadTransfer::find(&*state.accounts, &state.recorded, &query, &mut values, now);
    assert!(matches!(read, Err(TransferError::Read(ReadError::Graph(_)))), "{read:?}");
}
