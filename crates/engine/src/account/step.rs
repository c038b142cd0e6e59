//! The ledgers after a transaction (`docs/model/accounts.md` B4).

use assay_address::ChainId;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    ScoredAsset,
    contracts::{
        self, AccountStates, Circumstances, DayValues, Named, NettedTransaction, Receipt, exchange,
    },
    conversion::Exchanges,
    dealings::DealingKey,
    ends::MoneyEnds,
    ledger::AccountLedger,
    netting::{Edge, MOST_PAIRS, net},
    origin::MoneyOrigin,
    scored,
    shares::{Hop, Shares},
};
use crate::{
    evidence::Direction,
    ledger::{OwnerNumber, TransactionNumber},
};

/// The number of an asset of a chain: of a scored asset its position in [`scored_assets`](super::scored_assets), of any
/// other [`Self::FIRST_OTHER`] and up, in the order in which the chain first had them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssetNumber(pub u32);

impl AssetNumber {
    /// The first number of assets outside the table.
    pub const FIRST_OTHER: Self = Self(256);

    /// True for the numbers of assets whose money is followed.
    #[must_use]
    pub const fn is_scored(self) -> bool {
        self.0 < Self::FIRST_OTHER.0
    }

    /// The scored asset of a chain with the number; `None` for any other asset.
    #[must_use]
    pub fn scored(self, chain: ChainId) -> Option<&'static ScoredAsset> {
        scored::of_chain(chain).get(usize::try_from(self.0).ok()?).copied()
    }

    /// The numbers of a chain's scored assets.
    pub fn all_scored(chain: ChainId) -> impl Iterator<Item = Self> {
        (0..Self::FIRST_OTHER.0).map(Self).take(scored::of_chain(chain).len())
    }
}

/// A transfer by numbers, as the model books it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Kind of the movement.
    pub kind: MovementKind,
    /// The asset.
    pub asset: AssetNumber,
    /// True if the asset's money is followed.
    pub is_scored: bool,
    /// The payer; [`OwnerNumber::NOBODY`] for new units.
    pub from: OwnerNumber,
    /// The receiver; [`OwnerNumber::NOBODY`] for destroyed units.
    pub to: OwnerNumber,
    /// Amount in base units.
    pub amount: u128,
}

impl Movement {
    /// True for a payment from one account to another, fees aside.
    pub(super) fn is_payment(&self) -> bool {
        self.kind == MovementKind::Payment
    }
}

/// Kind of a movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovementKind {
    /// A payment, also from and to the issuer of a token.
    Payment,
    /// A fee: a payment that is never direct and exchanges nothing.
    Fee,
    /// New coins.
    New,
    /// The receiver's balance as the chain states it.
    Balance,
    /// A part of an exchange: the receiver's own money, in another asset than the one that it gave.
    Exchange,
    /// Money that a contract pays back to who had put it in.
    Returned,
    /// A payment by a contract of what nobody is known to have put in for the receiver: of what is left in it.
    Excess,
}

impl MovementKind {
    /// True for what an account gets of its own money.
    #[must_use]
    pub const fn is_own_money(self) -> bool {
        matches!(self, Self::Exchange | Self::Returned)
    }

    /// True for a payment of one account to another, fees and own money aside.
    #[must_use]
    pub const fn is_payment(self) -> bool {
        matches!(self, Self::Payment | Self::Excess)
    }
}

/// A transaction by numbers.
#[derive(Clone, Copy, Debug)]
pub struct NumberedTransaction<'a> {
    /// The transaction.
    pub number: TransactionNumber,
    /// Time of its block.
    pub time: Timestamp,
    /// The account that sent it, if known.
    pub initiator: Option<OwnerNumber>,
    /// The movements in the order of the transaction.
    pub movements: &'a [Movement],
    /// The accounts that events of contracts name.
    pub named: &'a [Named],
}

impl NumberedTransaction<'_> {
    /// The UTC day of the transaction.
    #[must_use]
    pub fn day(&self) -> Date {
        self.time.to_zoned(TimeZone::UTC).date()
    }
}

/// A payment of one account to another in one asset within a transaction, with its breakdown at the payer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Kind of the movement.
    pub kind: MovementKind,
    /// The transaction.
    pub transaction: TransactionNumber,
    /// Place among the payments of the transaction, in the order in which [`LedgerBook::paid`] gets them.
    pub sequence: u32,
    /// The payer; [`OwnerNumber::NOBODY`] for new coins.
    pub from: OwnerNumber,
    /// The receiver; [`OwnerNumber::NOBODY`] for destroyed units.
    pub to: OwnerNumber,
    /// The asset.
    pub asset: AssetNumber,
    /// Amount in base units.
    pub amount: u128,
    /// Breakdown at the payer, before the decay of the hop.
    pub shares: Shares,
    /// The hop to the receiver.
    pub hop: Hop,
    /// True if the owner of the payer sent the transaction; `None` if the sender is not known.
    pub is_initiated: Option<bool>,
}

/// The state that transactions are booked into.
pub trait LedgerBook {
    /// The ledger of an account in a scored asset, for reading; `None` if the account never had the asset.
    fn ledger(&self, owner: OwnerNumber, asset: AssetNumber) -> Option<&AccountLedger>;
    /// The ledger of an account in a scored asset, for writing.
    fn ledger_mut(&mut self, owner: OwnerNumber, asset: AssetNumber) -> &mut AccountLedger;
    /// Keeps a payment. `is_late` tells that the payer paid after what it received within the transaction, and not before.
    fn paid(&mut self, payment: Payment, is_late: bool);
    /// Keeps that the chain states a balance, which ledgers take over.
    fn was_set(&mut self, _owner: OwnerNumber, _asset: AssetNumber, _balance: u128) {}
    /// Keeps that an account both received and paid an asset within the transaction, so that netting looked at it.
    fn passed(&mut self, _account: OwnerNumber) {}
    /// The states of accounts beside their ledgers, of at least all accounts of the transaction.
    fn states(&self) -> &AccountStates;
    /// The states of accounts beside their ledgers, for writing.
    fn states_mut(&mut self) -> &mut AccountStates;
    /// Keeps a direct dealing of an account with a listed or risky party.
    fn dealt(&mut self, account: OwnerNumber, dealing: DealingKey, time: Timestamp, amount: u128);
}

/// Books one transaction: nets its transfers, and moves money between ledgers with its breakdown. `values` are those of its day.
pub fn book(
    transaction: &NumberedTransaction<'_>,
    (ends, values): (&MoneyEnds, &DayValues),
    into: &mut impl LedgerBook,
) {
    let day = transaction.day();
    let mut booking = Booking { transaction, ends, values, day, paid: 0 };
    if let [movement @ Movement { kind: MovementKind::Payment, is_scored: true, .. }] =
        transaction.movements
        && ![movement.from, movement.to].iter().any(|account| into.states().is_contract(*account))
        // New units of a dollar token may be a loan.
        && (movement.from != OwnerNumber::NOBODY || !into.states().knows_contracts())
    {
        // Most transactions move one asset once: nothing to net, and nothing exchanged.
        if movement.amount > 0 && movement.from != movement.to {
            let edge = Edge { from: movement.from, to: movement.to, amount: movement.amount };
            booking.deal(movement.asset, edge, into);
            let shares = booking.shares(movement.asset, edge.from, edge.amount, &*into);
            booking.take(movement.asset, edge.from, edge.amount, into);
            let hop = booking.hop(edge.from);
            let (asset, kind) = (movement.asset, movement.kind);
            booking.put(Paid { asset, kind, edge, shares, hop }, (into, false));
        }
        return;
    }
    if into.states().knows_contracts() {
        booking.with_contracts(into);
    } else {
        booking.without_contracts(into);
    }
}

/// One transaction while it is booked.
struct Booking<'a> {
    transaction: &'a NumberedTransaction<'a>,
    ends: &'a MoneyEnds,
    values: &'a DayValues,
    day: Date,
    /// Number of payments that are kept.
    paid: u32,
}

/// A payment that has left its payer's ledger.
struct Paid {
    asset: AssetNumber,
    kind: MovementKind,
    edge: Edge,
    shares: Shares,
    hop: Hop,
}

impl Booking<'_> {
    /// Books with the rules of contracts: fees and new coins first, then all payments at once.
    fn with_contracts(&mut self, into: &mut impl LedgerBook) {
        let movements = self.transaction.movements;
        let others: Vec<_> = fees_and_new_coins(movements).collect();
        self.pay(&others, &Exchanges::default(), (into, false));
        let mut netted = NettedTransaction::default();
        for asset in assets(movements) {
            let paid = self.net(asset, into).into_iter();
            netted.scored.extend(paid.map(|edge| (asset, edge)));
        }
        for (asset, moved) in tokens(movements) {
            let paid = net(moved, |owner| self.never_passes(owner)).paid;
            // What rounding left on a way would count as another one.
            let largest = paid.iter().map(|edge| edge.amount).max().unwrap_or(0);
            let paid = paid.into_iter().filter(|edge| !exchange::is_tiny(edge.amount, largest));
            netted.tokens.extend(paid.map(|edge| (asset, edge)));
        }
        let circumstances = Circumstances {
            ends: self.ends,
            day: self.day,
            values: self.values,
            initiator: self.transaction.initiator,
            named: self.transaction.named,
        };
        for receipt in contracts::book(netted, circumstances, into) {
            self.receive(receipt, into);
        }
        self.set_balances(into);
    }

    /// Puts a receipt into its ledger.
    fn receive(&mut self, receipt: Receipt, into: &mut impl LedgerBook) {
        let Receipt { asset, edge, kind, shares, hop, kept } = receipt;
        self.put_as(Paid { asset, kind, edge, shares, hop }, kept.as_ref(), (into, false));
    }

    /// Nets the payments of an asset, and keeps its dealings.
    fn net(&self, asset: AssetNumber, into: &mut impl LedgerBook) -> Vec<Edge> {
        let movements = self.transaction.movements;
        let netted = net(payments(movements, asset), |owner| self.never_passes(owner));
        for account in passing(movements, asset) {
            into.passed(account);
        }
        for dealing in netted.dealings {
            self.deal(asset, dealing, into);
        }
        netted.paid
    }

    /// Sets the balances that the chain states.
    fn set_balances(&self, into: &mut impl LedgerBook) {
        let movements = self.transaction.movements.iter();
        let set = movements.filter(|it| it.kind == MovementKind::Balance && it.is_scored);
        for Movement { to, asset, amount, .. } in set.copied() {
            if self.holds(to) {
                into.ledger_mut(to, asset).set_balance(amount);
            }
            if to != OwnerNumber::NOBODY {
                into.was_set(to, asset, amount);
            }
        }
    }

    fn without_contracts(&mut self, into: &mut impl LedgerBook) {
        let movements = self.transaction.movements;
        let exchanges = Exchanges::of(movements);
        let mut edges: Vec<(AssetNumber, Edge, MovementKind)> = Vec::with_capacity(movements.len());
        for asset in assets(movements) {
            let paid = self.net(asset, into).into_iter();
            edges.extend(paid.map(|edge| (asset, edge, MovementKind::Payment)));
        }
        edges.extend(fees_and_new_coins(movements));
        let paid: FxHashSet<(AssetNumber, OwnerNumber)> =
            edges.iter().map(|(asset, edge, _)| (*asset, edge.to)).collect();
        let receives = |asset: AssetNumber, payer: OwnerNumber| {
            self.holds(payer) && paid.contains(&(asset, payer))
        };
        let (late, early): (Vec<_>, Vec<_>) =
            edges.iter().copied().partition(|(asset, edge, kind)| {
                edges.len() > MOST_PAIRS.isqrt()
                    && *kind == MovementKind::Payment
                    && receives(*asset, edge.from)
            });
        self.pay(&early, &exchanges, (into, false));
        self.pay_late(&late, &exchanges, into);
        self.set_balances(into);
    }

    /// Pays for accounts that netting could not leave out: each pays after its own payers did.
    fn pay_late(
        &mut self,
        late: &[(AssetNumber, Edge, MovementKind)],
        exchanges: &Exchanges,
        into: &mut impl LedgerBook,
    ) {
        let mut turns: Vec<_> = turns(late).into_iter().zip(late.iter().copied()).collect();
        turns.sort_by_key(|(turn, _)| *turn);
        for turn in turns.chunk_by(|(one, _), (next, _)| one == next) {
            let edges: Vec<_> = turn.iter().map(|(_, edge)| *edge).collect();
            self.pay(&edges, exchanges, (into, true));
        }
    }

    /// Pays edges, all from the ledgers as before.
    fn pay(
        &mut self,
        edges: &[(AssetNumber, Edge, MovementKind)],
        exchanges: &Exchanges,
        (into, is_late): (&mut impl LedgerBook, bool),
    ) {
        let mut totals: FxHashMap<(AssetNumber, OwnerNumber), u128> = FxHashMap::default();
        for (asset, edge, _) in edges {
            let total = totals.entry((*asset, edge.from)).or_default();
            *total = total.saturating_add(edge.amount);
        }
        let mut shares: FxHashMap<(AssetNumber, OwnerNumber), Shares> = FxHashMap::default();
        for ((asset, from), total) in totals {
            shares.insert((asset, from), self.shares(asset, from, total, &*into));
            self.take(asset, from, total, into);
        }
        for (asset, edge, kind) in edges.iter().copied() {
            let mut shares = shares.get(&(asset, edge.from)).cloned().unwrap_or_default();
            let mut hop = self.hop(edge.from);
            match kind {
                MovementKind::New => shares = Shares::wholly(MoneyOrigin::New),
                MovementKind::Fee => hop = Hop::FromPayer,
                MovementKind::Payment
                | MovementKind::Balance
                | MovementKind::Exchange
                | MovementKind::Returned
                | MovementKind::Excess => {
                    let pair = (edge.from, edge.to);
                    let is_end = self.ends.get(edge.from).is_some();
                    if !is_end && exchanges.is_conversion(pair, asset, self.transaction.initiator) {
                        shares = Shares::wholly(MoneyOrigin::Conversion);
                    }
                }
            }
            self.put(Paid { asset, kind, edge, shares, hop }, (into, is_late));
        }
    }

    /// True for accounts that never pass money on within a transaction: ends, and nobody.
    fn never_passes(&self, owner: OwnerNumber) -> bool {
        !self.holds(owner)
    }

    /// True if an account has ledgers: neither an end nor nobody.
    fn holds(&self, owner: OwnerNumber) -> bool {
        owner != OwnerNumber::NOBODY && self.ends.get(owner).is_none()
    }

    fn hop(&self, payer: OwnerNumber) -> Hop {
        if self.ends.get(payer).is_some() || payer == OwnerNumber::NOBODY {
            Hop::FromEnd
        } else {
            Hop::FromPayer
        }
    }

    /// The breakdown of what a payer pays within the transaction.
    fn shares(
        &self,
        asset: AssetNumber,
        payer: OwnerNumber,
        amount: u128,
        from: &impl LedgerBook,
    ) -> Shares {
        match self.ends.get(payer) {
            Some(end) => self.ends.shares(end, self.day),
            None => from.ledger(payer, asset).map_or(Shares::UNKNOWN, |it| it.shares_of(amount)),
        }
    }

    fn take(
        &self,
        asset: AssetNumber,
        payer: OwnerNumber,
        amount: u128,
        from: &mut impl LedgerBook,
    ) {
        if self.holds(payer) {
            from.ledger_mut(payer, asset).pay(amount);
        }
    }

    fn put(&mut self, paid: Paid, into: (&mut impl LedgerBook, bool)) {
        self.put_as(paid, None, into);
    }

    /// Puts a payment into its receiver's ledger, `entering` with another breakdown if one is given.
    fn put_as(
        &mut self,
        paid: Paid,
        entering: Option<&Shares>,
        (into, is_late): (&mut impl LedgerBook, bool),
    ) {
        let Paid { asset, kind, edge, shares, hop } = paid;
        if self.holds(edge.to) {
            let (entering, by) = entering.map_or((&shares, hop), |kept| (kept, Hop::Counted));
            into.ledger_mut(edge.to, asset).receive(edge.amount, entering, by);
        }
        let payment = Payment {
            kind,
            transaction: self.transaction.number,
            sequence: self.paid,
            from: edge.from,
            to: edge.to,
            asset,
            amount: edge.amount,
            shares,
            hop,
            is_initiated: self.transaction.initiator.map(|initiator| initiator == edge.from),
        };
        into.paid(payment, is_late);
        self.paid = self.paid.saturating_add(1);
    }

    /// Keeps dealings of both sides with each other, as far as they are listed or risky.
    fn deal(&self, asset: AssetNumber, edge: Edge, into: &mut impl LedgerBook) {
        for (account, party, direction) in
            [(edge.to, edge.from, Direction::Source), (edge.from, edge.to, Direction::Destination)]
        {
            if let Some(end) = self.ends.get(party).filter(|end| end.has_dealings()) {
                let period = end.period(self.day);
                let key = DealingKey { party, asset, period, direction };
                into.dealt(account, key, self.transaction.time, edge.amount);
            }
        }
    }
}

/// The turn at which each payment is due: one more than that of the last payment that its payer gets.
fn turns(edges: &[(AssetNumber, Edge, MovementKind)]) -> Vec<usize> {
    let mut paid: FxHashMap<(AssetNumber, OwnerNumber), Vec<usize>> = FxHashMap::default();
    let mut waits_for: FxHashMap<(AssetNumber, OwnerNumber), usize> = FxHashMap::default();
    for (index, (asset, edge, _)) in edges.iter().enumerate() {
        paid.entry((*asset, edge.from)).or_default().push(index);
        *waits_for.entry((*asset, edge.to)).or_default() += 1;
    }
    // Netting left no circles. What is on one nevertheless is due last.
    let mut turns = vec![usize::MAX; edges.len()];
    let mut ready: Vec<usize> = (0..edges.len())
        .filter(|index| {
            let payer = edges.get(*index).map(|(asset, edge, _)| (*asset, edge.from));
            payer.is_some_and(|payer| !waits_for.contains_key(&payer))
        })
        .collect();
    let mut turn = 0;
    while !ready.is_empty() {
        let mut next = Vec::new();
        for index in ready {
            let Some((asset, edge, _)) = edges.get(index) else { continue };
            if let Some(known) = turns.get_mut(index) {
                *known = turn;
            }
            let payee = (*asset, edge.to);
            let Some(left) = waits_for.get_mut(&payee) else { continue };
            *left -= 1;
            if *left == 0 {
                next.extend(paid.get(&payee).into_iter().flatten().copied());
            }
        }
        ready = next;
        turn += 1;
    }
    turns
}

/// The scored assets that a transaction pays, in the order of the transaction.
fn assets(movements: &[Movement]) -> Vec<AssetNumber> {
    let mut assets = Vec::new();
    for movement in movements.iter().filter(|movement| movement.is_payment() && movement.is_scored)
    {
        if !assets.contains(&movement.asset) {
            assets.push(movement.asset);
        }
    }
    assets
}

/// The transfers of each token outside the table, in the order of the transaction.
fn tokens(movements: &[Movement]) -> Vec<(AssetNumber, Vec<Edge>)> {
    let mut positions: FxHashMap<AssetNumber, usize> = FxHashMap::default();
    let mut tokens: Vec<(AssetNumber, Vec<Edge>)> = Vec::new();
    for movement in movements.iter().filter(|movement| !movement.is_scored) {
        let Movement { from, to, asset, amount, .. } = *movement;
        let next = tokens.len();
        let position = *positions.entry(asset).or_insert(next);
        let edge = Edge { from, to, amount };
        match tokens.get_mut(position) {
            Some((_, edges)) => edges.push(edge),
            None => tokens.push((asset, vec![edge])),
        }
    }
    tokens
}

/// The fees and new coins of a transaction.
fn fees_and_new_coins(
    movements: &[Movement],
) -> impl Iterator<Item = (AssetNumber, Edge, MovementKind)> {
    let is_other = |movement: &&Movement| {
        movement.is_scored
            && movement.amount > 0
            && matches!(movement.kind, MovementKind::Fee | MovementKind::New)
    };
    movements.iter().filter(is_other).map(|movement| {
        let Movement { from, to, amount, .. } = *movement;
        (movement.asset, Edge { from, to, amount }, movement.kind)
    })
}

/// The accounts that both receive and pay an asset in a transaction.
fn passing(movements: &[Movement], asset: AssetNumber) -> Vec<OwnerNumber> {
    let mut edges = payments(movements, asset);
    let (Some(first), Some(second)) = (edges.next(), edges.next()) else { return Vec::new() };
    let edges: Vec<Edge> = [first, second].into_iter().chain(edges).collect();
    let is_moved = |edge: &&Edge| edge.amount > 0 && edge.from != edge.to;
    let payers: FxHashSet<OwnerNumber> =
        edges.iter().filter(is_moved).map(|edge| edge.from).collect();
    let receivers: FxHashSet<OwnerNumber> =
        edges.iter().filter(is_moved).map(|edge| edge.to).collect();
    let both = payers.intersection(&receivers).copied();
    let mut passing: Vec<OwnerNumber> = both.filter(|it| *it != OwnerNumber::NOBODY).collect();
    passing.sort_unstable();
    passing
}

fn payments(movements: &[Movement], asset: AssetNumber) -> impl Iterator<Item = Edge> {
    let of_asset = movements.iter().filter(move |it| it.is_payment() && it.asset == asset);
    of_asset.map(|it| Edge { from: it.from, to: it.to, amount: it.amount })
}
