//! Accounts that are associated with a subject, with their listings and labels.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::{
        AccountCounterparty, AccountView, AssetNumber, IssuerFreeze, Payment, Valuation,
        counterparties, issuer_freezes, resource_partners, scored_asset, transaction_text,
    },
    evidence::AddressLabels,
    facts::{AccountRole, Counterparties, Counterparty, CounterpartyAsset},
    ledger::{OwnerNumber, TransactionNumber},
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::attributions::CheckAttributions;

/// Number of strongest counterparties in an answer, in addition to the funder, deposit addresses and listed ones.
const STRONGEST: usize = 10;
/// Number of listed counterparties, of contracts, and of lenders and borrowers of resources in an answer, in addition to the strongest.
const FURTHER: usize = 10;
/// Number of transactions that show a loan of resources.
const SHOWN_LOANS: usize = 20;

/// Returns the accounts that are associated with a subject, by the subject's own payments.
pub(super) fn associates(
    view: &dyn AccountView,
    (subject, own): (OwnerNumber, &[Payment]),
    attributions: &CheckAttributions<'_>,
    values: &mut Valuation<'_>,
) -> Counterparties {
    let found = counterparties(view, (subject, own), attributions, values);
    let number = u64::try_from(found.len()).unwrap_or(u64::MAX);
    let (chain, intel) = (attributions.chain, attributions.intel);
    let (mut others, mut listed) = (0, 0);
    let mut strongest = Vec::new();
    for party in found {
        let is_shown = party.is_funder || party.role.is_some() || others < STRONGEST;
        let Some(account) = view.address(party.owner).filter(|account| !account.is_unowned())
        else {
            continue;
        };
        if !is_shown && (listed == FURTHER || !attributions.named.accounts.contains(&account)) {
            continue;
        }
        let Some(address) = account.on(chain) else { continue };
        let listings = intel.listings_of(&address);
        if !is_shown && listings.is_empty() {
            continue;
        }
        listed += usize::from(!is_shown);
        others += usize::from(is_shown && !party.is_funder && party.role.is_none());
        strongest.push(counterparty(view, chain, address, &party, intel));
    }
    strongest.extend(contracts(view, chain, subject, intel));
    strongest.extend(partners(view, chain, subject, intel));
    Counterparties { strongest, found: number }
}

fn counterparty(
    view: &dyn AccountView,
    chain: ChainId,
    address: CanonicalAddress,
    party: &AccountCounterparty,
    intel: &IntelSnapshot,
) -> Counterparty {
    let by_asset = party.amounts.iter().filter_map(|(asset, (received, sent))| {
        let asset = scored_asset(*asset)?.ticker.to_owned();
        Some(CounterpartyAsset { asset, received: *received, sent: *sent })
    });
    let transactions = party.transactions.iter();
    let freezes = issuer_freezes(view, party.owner);
    Counterparty {
        labels: labels(intel, &address, &freezes),
        listings: intel.listings_of(&address),
        freezes,
        address,
        is_funder: party.is_funder,
        received: 0,
        sent: 0,
        by_asset: by_asset.collect(),
        role: party.role,
        transactions: transactions.map(|it| transaction_text(chain, view.txid(*it))).collect(),
        first_seen: party.first_seen,
        last_seen: party.last_seen,
    }
}

/// The labels of an account, those of its freezes included.
pub(in crate::chains) fn labels(
    intel: &IntelSnapshot,
    address: &CanonicalAddress,
    freezes: &[IssuerFreeze],
) -> AddressLabels {
    intel.labels().labels_of(address).and(freezes.iter().filter_map(IssuerFreeze::label))
}

/// The contracts that a subject created; of a contract, its creator and the creator's other contracts.
fn contracts(
    view: &dyn AccountView,
    chain: ChainId,
    subject: OwnerNumber,
    intel: &IntelSnapshot,
) -> Vec<Counterparty> {
    let deployer = view.deployer(subject);
    let own = view.deployed(subject, FURTHER).into_iter().map(|it| (it, AccountRole::Deployed));
    // The subject is one of them.
    let by_same = deployer.map(|deployer| view.deployed(deployer, FURTHER + 1)).unwrap_or_default();
    let by_same = by_same.into_iter().filter(|it| *it != subject);
    let by_same = by_same.map(|it| (it, AccountRole::SameDeployer));
    let deployer = deployer.map(|deployer| (deployer, AccountRole::Deployer));
    let all = deployer.into_iter().chain(own).chain(by_same).take(FURTHER);
    all.filter_map(|(owner, role)| {
        let address = view.address(owner)?.on(chain)?;
        let first_seen =
            first_payment(view, owner).map_or(Timestamp::UNIX_EPOCH, |it| view.time(it));
        let newest = view.payments(owner, 1).payments.pop();
        let last_seen = newest.map_or(first_seen, |payment| view.time(payment.transaction));
        Some(without_payments(view, (owner, address), role, [first_seen, last_seen], intel))
    })
    .collect()
}

/// The lenders and borrowers of a subject's resources, listed ones first.
fn partners(
    view: &dyn AccountView,
    chain: ChainId,
    subject: OwnerNumber,
    intel: &IntelSnapshot,
) -> Vec<Counterparty> {
    let known = resource_partners(view, subject).into_iter();
    let found = known.filter_map(|partner| Some((partner.account.on(chain)?, partner)));
    let (listed, others): (Vec<_>, Vec<_>) =
        found.partition(|(address, _)| !intel.listings_of(address).is_empty());
    let shown = listed.into_iter().chain(others).take(FURTHER);
    shown
        .filter_map(|(address, partner)| {
            let (newest, oldest) = (*partner.transactions.first()?, *partner.transactions.last()?);
            let owner = view.owner(partner.account)?;
            let period = [view.time(oldest), view.time(newest)];
            let transactions = partner.transactions.iter().take(SHOWN_LOANS);
            Some(Counterparty {
                transactions: transactions
                    .map(|it| transaction_text(chain, view.txid(*it)))
                    .collect(),
                ..without_payments(view, (owner, address), partner.role, period, intel)
            })
        })
        .collect()
}

/// An account that is associated with the subject by other things than payments, first and last in a period.
fn without_payments(
    view: &dyn AccountView,
    (owner, address): (OwnerNumber, CanonicalAddress),
    role: AccountRole,
    [first_seen, last_seen]: [Timestamp; 2],
    intel: &IntelSnapshot,
) -> Counterparty {
    let freezes = issuer_freezes(view, owner);
    Counterparty {
        labels: labels(intel, &address, &freezes),
        listings: intel.listings_of(&address),
        freezes,
        address,
        is_funder: false,
        received: 0,
        sent: 0,
        by_asset: Vec::new(),
        role: Some(role),
        transactions: Vec::new(),
        first_seen,
        last_seen,
    }
}

/// The transaction of an account's first payment.
fn first_payment(view: &dyn AccountView, owner: OwnerNumber) -> Option<TransactionNumber> {
    let first = AssetNumber::all_scored(view.chain())
        .filter_map(|asset| view.payments_from(owner, asset, TransactionNumber(0), 1).pop());
    first.map(|payment| payment.transaction).min()
}
