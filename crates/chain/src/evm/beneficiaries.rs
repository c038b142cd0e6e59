//! Accounts that event logs name as those whose money it is: for whom a contract received something, and out of whose funds it pays.
//!
//! Events of protocols that are used much are rows of a table, which says where the account stands and where the money lies. Of
//! all other logs, an indexed argument that is an account names it: a contract that receives something and logs another account
//! than its payer says for whom. Anybody can have a contract of his own name anybody: it is no proof, and the model of the
//! money says what follows.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use alloy_primitives::hex;
use assay_address::ChainId;
use assay_engine::account::{
    AccountAddress, Asset, AssetId, ContractFact, ContractFactKind, PublishedPlace, Transfer,
    TransferKind, scored_asset,
};
use ruint::aliases::U256;

use self::{
    Argument::{Credentials, Topic, Word},
    ContractFactKind::{Beneficiary, Holder},
};
use super::{
    answer::LogAnswer,
    events::{Event, account},
    hex::Hash,
    rlp::keccak,
};

/// An argument of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// An indexed one: its number among the topics, of which the first is the signature.
    Topic(usize),
    /// One that is not indexed: its number among the words of data.
    Word(usize),
    /// The account of a validator's withdrawal credentials, which stand in the data behind its public key.
    Credentials,
}

/// The token that moves and its amount, of an event that another contract logs than the one that holds the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    asset: Argument,
    amount: Argument,
}

/// An event that names an account.
#[derive(Clone, Copy, Debug)]
struct Row {
    signature: &'static str,
    account: Argument,
    kind: ContractFactKind,
    /// `None` if the contract that logs holds the money.
    held: Option<Held>,
}

const fn row(signature: &'static str, kind: ContractFactKind, account: Argument) -> Row {
    Row { signature, account, kind, held: None }
}

impl Row {
    /// The event of a pool whose receipts hold the token: its first indexed argument, and the amount as a word of data.
    const fn of_reserve(self, amount: usize) -> Self {
        let held = Held { asset: Argument::Topic(1), amount: Argument::Word(amount) };
        Self { held: Some(held), ..self }
    }
}

/// The events.
const TABLE: [Row; 29] = [
    // Entry points (ERC-4337, StakeManager): deposits and stakes of accounts and paymasters.
    row("Deposited(address,uint256)", Beneficiary, Topic(1)),
    row("Withdrawn(address,address,uint256)", Holder, Topic(1)),
    row("StakeLocked(address,uint256,uint256)", Beneficiary, Topic(1)),
    row("StakeWithdrawn(address,address,uint256)", Holder, Topic(1)),
    // Aave's second version (LendingPool), whose `Withdraw` the third has too.
    row("Deposit(address,address,address,uint256,uint16)", Beneficiary, Topic(2)).of_reserve(1),
    row("Withdraw(address,address,address,uint256)", Holder, Topic(2)).of_reserve(0),
    row("Borrow(address,address,address,uint256,uint256,uint256,uint16)", Holder, Topic(2))
        .of_reserve(1),
    row("Repay(address,address,address,uint256)", Beneficiary, Topic(2)).of_reserve(0),
    // Aave's third version (Pool), and Spark, which is made of it.
    row("Supply(address,address,address,uint256,uint16)", Beneficiary, Topic(2)).of_reserve(1),
    row("Borrow(address,address,address,uint256,uint8,uint256,uint16)", Holder, Topic(2))
        .of_reserve(1),
    row("Repay(address,address,address,uint256,bool)", Beneficiary, Topic(2)).of_reserve(0),
    // Compound's second version (CToken): the debtor of a repayment. Its other events name who calls.
    row("RepayBorrow(address,address,uint256,uint256,uint256)", Beneficiary, Word(1)),
    // Compound's third version (Comet).
    row("Supply(address,address,uint256)", Beneficiary, Topic(2)),
    row("Withdraw(address,address,uint256)", Holder, Topic(1)),
    row("SupplyCollateral(address,address,address,uint256)", Beneficiary, Topic(2)),
    row("WithdrawCollateral(address,address,address,uint256)", Holder, Topic(1)),
    // Morpho (EventsLib).
    row("Supply(bytes32,address,address,uint256,uint256)", Beneficiary, Topic(3)),
    row("Withdraw(bytes32,address,address,address,uint256,uint256)", Holder, Topic(2)),
    row("Borrow(bytes32,address,address,address,uint256,uint256)", Holder, Topic(2)),
    row("Repay(bytes32,address,address,uint256,uint256)", Beneficiary, Topic(3)),
    row("SupplyCollateral(bytes32,address,address,uint256)", Beneficiary, Topic(3)),
    row("WithdrawCollateral(bytes32,address,address,address,uint256)", Holder, Topic(2)),
    // Vaults (ERC-4626).
    row("Deposit(address,address,uint256,uint256)", Beneficiary, Topic(2)),
    row("Withdraw(address,address,address,uint256,uint256)", Holder, Topic(3)),
    // The deposit contract of validators.
    row("DepositEvent(bytes,bytes,bytes,bytes,bytes)", Beneficiary, Credentials),
    // Lido's queue of withdrawals.
    row("WithdrawalRequested(uint256,address,address,uint256,uint256)", Beneficiary, Topic(3)),
    row("WithdrawalClaimed(uint256,address,address,uint256)", Holder, Topic(2)),
    // Sablier: streams of the first version, and linear ones of the second. Later ones name the recipient in a topic beside
    // the sender, who pays, so that they need no row. Superfluid moves balances without logs of transfers, and has none.
    row(
        "CreateStream(uint256,address,address,uint256,address,uint256,uint256)",
        Beneficiary,
        Topic(3),
    ),
    row(
        "CreateLockupLinearStream(uint256,address,address,address,(uint128,uint128,uint128),address,bool,bool,(uint40,uint40,uint40),address)",
        Beneficiary,
        Topic(2),
    ),
];

/// The events by the hashes of their signatures, which stand in the logs.
static EVENTS: LazyLock<HashMap<[u8; 32], Row>> =
    LazyLock::new(|| TABLE.iter().map(|row| (keccak(row.signature), *row)).collect());

/// Events whose accounts are no beneficiaries: permissions to spend (ERC-20, ERC-721, ERC-1155).
const PERMISSIONS: [[u8; 32]; 2] = [
    // `Approval(address,address,uint256)`
    hex!("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"),
    // `ApprovalForAll(address,address,bool)`
    hex!("17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31"),
];

/// The account that an event of the table names, with the contract that holds the money. `transfers` are those of the
/// transaction. `None` if the log is no such event.
fn named_in_table(log: &LogAnswer, transfers: &[Transfer]) -> Option<ContractFact> {
    let (topic, _) = log.topics.split_first()?;
    let row = EVENTS.get(&topic.0)?;
    let named = account(&row.account.word(log)?)?;
    if named == AccountAddress::ZERO {
        return None;
    }
    let contract = match row.held {
        Some(held) => held.holder(row.kind, log, transfers).unwrap_or(log.address.0),
        None => log.address.0,
    };
    Some(ContractFact { contract, kind: row.kind, account: named })
}

/// The accounts that the indexed arguments of a log name, whatever its event is. A number below 2^96 is none: no key
/// leads to such an account.
fn named_in_topics(log: &LogAnswer) -> impl Iterator<Item = ContractFact> + '_ {
    let contract = log.address.0;
    let (topic, indexed) = log.topics.split_first().unzip();
    let is_permission = topic.is_none_or(|topic: &Hash| PERMISSIONS.contains(&topic.0));
    let indexed = indexed.filter(|_| !is_permission).unwrap_or_default();
    let accounts = indexed.iter().filter_map(|topic| account(&topic.0));
    let is_account = move |named: &AccountAddress| {
        named.0.first_chunk::<8>() != Some(&[0; 8]) && *named != contract
    };
    let fact = move |account| ContractFact { contract, kind: Beneficiary, account };
    accounts.filter(is_account).map(fact)
}

/// The accounts that events of the table name, and those that topics of other logs do. `transfers` are those of the transaction.
pub(crate) fn named(
    chain: ChainId,
    logs: &[LogAnswer],
    transfers: &[Transfer],
) -> (Vec<ContractFact>, Vec<ContractFact>) {
    let counterparts = Counterparts::of(chain, transfers);
    let (mut of_table, mut of_topics) = (Vec::new(), Vec::new());
    for log in logs {
        match named_in_table(log, transfers) {
            Some(fact) => of_table.push(fact),
            None if Event::read(chain, log).is_some() => {}
            None => of_topics.extend(named_in_topics(log)),
        }
    }
    of_table.retain(|fact| counterparts.differ_from(fact));
    of_topics.retain(|fact| {
        let has_row =
            |other: &ContractFact| (other.contract, other.kind) == (fact.contract, fact.kind);
        counterparts.differ_from(fact) && !of_table.iter().any(has_row)
    });
    (of_table, of_topics)
}

/// Payers and receivers of scored assets, by the other side.
struct Counterparts {
    payers: HashMap<AccountAddress, HashSet<AccountAddress>>,
    receivers: HashMap<AccountAddress, HashSet<AccountAddress>>,
}

impl Counterparts {
    fn of(chain: ChainId, transfers: &[Transfer]) -> Self {
        let mut payers = HashMap::<_, HashSet<_>>::new();
        let mut receivers = HashMap::<_, HashSet<_>>::new();
        let payments = transfers.iter().filter(|it| {
            let is_payment = it.kind != TransferKind::Fee && !it.amount.is_zero();
            is_payment && scored_asset(AssetId { chain, asset: it.asset }).is_some()
        });
        for payment in payments {
            payers.entry(payment.to).or_default().insert(payment.from);
            receivers.entry(payment.from).or_default().insert(payment.to);
        }
        Self { payers, receivers }
    }

    /// True if an event says more than the transfers do: its contract received something of another account than the one that
    /// it names, or paid something to another one.
    fn differ_from(&self, fact: &ContractFact) -> bool {
        let sides = if fact.kind == Holder { &self.receivers } else { &self.payers };
        let others = sides.get(&fact.contract);
        others.is_some_and(|others| others.iter().any(|other| *other != fact.account))
    }
}

impl Argument {
    fn word(self, log: &LogAnswer) -> Option<[u8; 32]> {
        match self {
            Self::Topic(number) => log.topics.get(number).map(|topic| topic.0),
            Self::Word(number) => log.data.0.as_chunks::<32>().0.get(number).copied(),
            Self::Credentials => credentials(&log.data.0),
        }
    }
}

/// The account of withdrawal credentials that name one: those of type 1 and 2. They are the second of five arguments of any
/// length, in whose place stands their position.
fn credentials(data: &[u8]) -> Option<[u8; 32]> {
    let words = data.as_chunks::<32>().0;
    let position = usize::try_from(U256::from_be_bytes(*words.get(1)?)).ok()?;
    let content = data.get(position.checked_add(32)?..)?;
    let mut word = *content.first_chunk::<32>()?;
    let kind = word.first_mut()?;
    if !matches!(*kind, 1 | 2) {
        return None;
    }
    *kind = 0;
    Some(word)
}

impl Held {
    /// The contract at which a pool's token lies: the receiver or payer of the last transfer of that token and amount.
    fn holder(
        self,
        kind: ContractFactKind,
        log: &LogAnswer,
        transfers: &[Transfer],
    ) -> Option<AccountAddress> {
        let token = account(&self.asset.word(log)?)?;
        let amount = U256::from_be_bytes(self.amount.word(log)?);
        // The pool logs after the transfer.
        let is_before = |it: &Transfer| match it.place.published {
            Some(PublishedPlace::Log(index)) => u64::from(index) < log.log_index.0,
            _ => false,
        };
        let moved = transfers.iter().rev().find(|it| {
            it.kind == TransferKind::Transfer
                && it.asset == Asset::Token(token)
                && it.amount == amount
                && is_before(it)
        })?;
        Some(if kind == Holder { moved.from } else { moved.to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The topics of some events, as explorers show them.
    #[test]
    fn events_are_found_by_the_hashes_of_their_signatures() {
        let known = [
            (
                "2da466a7b24304f47e87fa2e1e5a81b9831ce54fec19055ce277ca2f39ba42c4",
                "Deposited(address,uint256)",
            ),
            (
                "2b627736bca15cd5381dcf80b0bf11fd197d01a037c52b927a881a10fb73ba61",
                "Supply(address,address,address,uint256,uint16)",
            ),
            (
                "dcbc1c05240f31ff3ad067ef1ee35ce4997762752e3a095284754544f4c709d7",
                "Deposit(address,address,uint256,uint256)",
            ),
            (
                "649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5",
                "DepositEvent(bytes,bytes,bytes,bytes,bytes)",
            ),
        ];
        for (topic, signature) in known {
            let topic: [u8; 32] = hex::decode(topic).unwrap().try_into().unwrap();
            assert_eq!(EVENTS[&topic].signature, signature);
        }
        assert_eq!(EVENTS.len(), TABLE.len());
    }
}
