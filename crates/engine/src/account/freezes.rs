//! Freezes of accounts by issuers of tokens, and the labels that they are (`docs/model/accounts.md` B17).

use std::fmt::Write as _;

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{AssetId, FreezeChange, scored_asset, transaction_text, view::AccountView};
use crate::{
    evidence::{Label, Tier},
    ledger::OwnerNumber,
    score::Confidence,
    taxonomy::Category,
    utxo::Txid,
};

/// Most transactions with freezes of one account that a check reads, the newest ones.
const MOST_TRANSACTIONS: usize = 1_000;

/// Confidence of the label of a freeze: the chain proves the freeze, and tells no reason for it. By itself it leads to a
/// review, and a freeze by a second issuer beside it to a block.
const CONFIDENCE: Confidence = Confidence::from_percent(85);

/// A period in which the issuer of a token froze an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerFreeze {
    /// The token.
    pub asset: AssetId,
    /// The freeze; the first record of it, where it began before the records.
    pub frozen: FreezeMoment,
    /// The last destruction of the frozen funds; `None` if the issuer destroyed none.
    pub destroyed: Option<FreezeMoment>,
    /// The end of the freeze; `None` while it is in force.
    pub lifted: Option<FreezeMoment>,
}

/// The transaction that changed a freeze, with the time of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreezeMoment {
    /// The transaction.
    pub transaction: Txid,
    /// Time of its block.
    pub time: Timestamp,
}

impl FreezeMoment {
    /// The day in UTC.
    fn day(self) -> Date {
        self.time.to_zoned(TimeZone::UTC).date()
    }
}

/// The freezes of an account, in the order in which they began.
#[must_use]
pub fn issuer_freezes(view: &dyn AccountView, of: OwnerNumber) -> Vec<IssuerFreeze> {
    let transactions = view.with_freezes(of, MOST_TRANSACTIONS);
    if transactions.is_empty() {
        return Vec::new();
    }
    let account = view.address(of);
    let mut freezes = Vec::new();
    for number in transactions.into_iter().rev() {
        let Some(transaction) = view.transaction(number) else { continue };
        let moment = FreezeMoment { transaction: transaction.id, time: transaction.time };
        let own = transaction.freezes.iter().filter(|event| Some(event.account) == account);
        own.for_each(|event| {
            let asset = AssetId { chain: view.chain(), asset: event.asset };
            apply(&mut freezes, asset, event.change, moment);
        });
    }
    freezes
}

/// Companies that issue several of the scored tokens, by their tickers: as the companies publish them.
const ISSUERS: [(&[&str], &str); 3] = [
    (&["USDT", "USDT0", "EURT", "XAUT"], "Tether"),
    (&["USDC", "EURC"], "Circle"),
    (&["PYUSD", "BUSD", "USDP", "USDG", "PAXG"], "Paxos"),
];

/// Adds a change to the freezes before it. A change that does not fit its predecessor is left out: a freeze of a frozen account,
/// and the end of a freeze from before the records.
fn apply(
    freezes: &mut Vec<IssuerFreeze>,
    asset: AssetId,
    change: FreezeChange,
    moment: FreezeMoment,
) {
    let in_force = freezes.iter_mut().find(|it| it.asset == asset && it.lifted.is_none());
    let begun = IssuerFreeze { asset, frozen: moment, destroyed: None, lifted: None };
    match (change, in_force) {
        (FreezeChange::Frozen, None) => freezes.push(begun),
        // Issuers destroy funds of frozen accounts only.
        (FreezeChange::Destroyed, None) => {
            freezes.push(IssuerFreeze { destroyed: Some(moment), ..begun });
        }
        (FreezeChange::Destroyed, Some(freeze)) => freeze.destroyed = Some(moment),
        (FreezeChange::Lifted, Some(freeze)) => freeze.lifted = Some(moment),
        (FreezeChange::Frozen, Some(_)) | (FreezeChange::Lifted, None) => {}
    }
}

impl IssuerFreeze {
    /// The label of the account: in force from the day of the freeze on, until the day on which it was lifted. Its source is
    /// the chain, its upstream the issuer. `None` for a chain whose name is no name of a source.
    #[must_use]
    pub fn label(&self) -> Option<Label> {
        let Self { asset: AssetId { chain, .. }, frozen, destroyed, lifted } = *self;
        let token = self.token();
        let transaction = |moment: FreezeMoment| transaction_text(chain, moment.transaction);
        let first = transaction(frozen);
        let mut reason = format!("the issuer of {token} froze the account in transaction {first}");
        for (what, moment) in [("destroyed its funds", destroyed), ("lifted the freeze", lifted)] {
            if let Some(moment) = moment {
                let _ = write!(reason, ", and {what} in transaction {}", transaction(moment));
            }
        }
        Some(Label {
            category: Category::IssuerFrozen,
            entity: None,
            tier: Tier::OnChainProof,
            confidence: CONFIDENCE,
            source: format!("chain-{chain}").parse().ok()?,
            upstream: self.issuer().into(),
            author: None,
            term: None,
            cites_list: None,
            reason: Some(reason.into()),
            reference: Some(first.into()),
            valid_from: Some(frozen.day()),
            valid_until: lifted.map(FreezeMoment::day),
        })
    }

    /// The freeze as it was known at a time; `None` if it came later.
    #[must_use]
    pub fn as_of(self, past: Timestamp) -> Option<Self> {
        let known = |moment: Option<FreezeMoment>| moment.filter(|it| it.time <= past);
        let Self { asset, frozen, destroyed, lifted } = self;
        known(Some(frozen))?;
        Some(Self { asset, frozen, destroyed: known(destroyed), lifted: known(lifted) })
    }

    /// The issuer of the token: freezes of several tokens of one company are one statement.
    fn issuer(&self) -> String {
        let ticker = scored_asset(self.asset).map(|scored| scored.ticker);
        let company = ISSUERS.iter().find(|(tickers, _)| tickers.contains(&ticker.unwrap_or("")));
        match company {
            Some((_, name)) => (*name).to_owned(),
            None => format!("issuer of {}", self.asset.asset.text(self.asset.chain)),
        }
    }

    /// The token, by its ticker if the table of scored assets has it.
    fn token(&self) -> String {
        let contract = self.asset.asset.text(self.asset.chain);
        match scored_asset(self.asset) {
            Some(scored) => format!("{} ({contract})", scored.ticker),
            None => contract,
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;

    use super::*;
    use crate::account::{AccountAddress, Asset};

    const USDT: AssetId = token(1);
    const USDC: AssetId = token(2);

    const fn token(number: u8) -> AssetId {
        AssetId { chain: ChainId::ETH, asset: Asset::Token(AccountAddress([number; 20])) }
    }

    fn on(day: u8) -> FreezeMoment {
        let time = Timestamp::from_second(1_700_000_000 + 86_400 * i64::from(day)).unwrap();
        FreezeMoment { transaction: Txid::from_bytes([day; 32]), time }
    }

    fn after(changes: &[(AssetId, FreezeChange, u8)]) -> Vec<IssuerFreeze> {
        let mut freezes = Vec::new();
        for (asset, change, day) in changes {
            apply(&mut freezes, *asset, *change, on(*day));
        }
        freezes
    }

    /// Given a freeze of each of two tokens and the end of one, then the other is in force.
    #[test]
    fn freezes_of_two_tokens_end_each_by_itself() {
        use FreezeChange::{Frozen, Lifted};
        let freezes = after(&[(USDT, Frozen, 1), (USDC, Frozen, 2), (USDT, Lifted, 3)]);
        let periods: Vec<_> = freezes.iter().map(|it| (it.asset, it.frozen, it.lifted)).collect();
        assert_eq!(periods, [(USDT, on(1), Some(on(3))), (USDC, on(2), None)]);
    }

    /// Given changes that do not fit what came before, then they change nothing.
    #[test]
    fn repeated_freezes_and_ends_without_a_beginning_change_nothing() {
        use FreezeChange::{Frozen, Lifted};
        let odd = after(&[
            (USDT, Lifted, 1),
            (USDT, Frozen, 2),
            (USDT, Frozen, 3),
            (USDT, Lifted, 4),
            (USDT, Lifted, 5),
            (USDT, Frozen, 6),
        ]);
        let periods: Vec<_> = odd.iter().map(|it| (it.frozen, it.lifted)).collect();
        assert_eq!(periods, [(on(2), Some(on(4))), (on(6), None)]);
    }

    /// Given destroyed funds of an account, then it was frozen, whether the records have the freeze or not.
    #[test]
    fn destroyed_funds_are_those_of_a_frozen_account() {
        use FreezeChange::{Destroyed, Frozen};
        let known = after(&[(USDT, Frozen, 1), (USDT, Destroyed, 2)]);
        assert_eq!((known[0].frozen, known[0].destroyed), (on(1), Some(on(2))));
        let unknown = after(&[(USDT, Destroyed, 2)]);
        assert_eq!((unknown[0].frozen, unknown[0].destroyed), (on(2), Some(on(2))));
    }

    /// Given tokens of one company and of another one, then two labels have one upstream and the third has another.
    #[test]
    fn tokens_of_one_company_have_one_issuer() {
        let of = |ticker: &str| {
            let mut tokens = crate::account::scored_assets(ChainId::ETH);
            let asset = tokens.find(|token| token.ticker == ticker).unwrap().id;
            after(&[(asset, FreezeChange::Frozen, 1)])[0].label().unwrap().upstream
        };
        assert_eq!(of("PYUSD"), of("BUSD"));
        assert_ne!(of("USDT"), of("USDC"));
    }

    /// Given a freeze that was lifted later, then what is known between is that it is in force.
    #[test]
    fn a_past_day_knows_nothing_of_later_changes() {
        use FreezeChange::{Destroyed, Frozen, Lifted};
        let freezes = after(&[(USDT, Frozen, 2), (USDT, Destroyed, 4), (USDT, Lifted, 6)]);
        let known = [1, 3, 5, 7].map(|day| freezes[0].clone().as_of(on(day).time));
        assert_eq!(known[0], None);
        assert_eq!(known[1], after(&[(USDT, Frozen, 2)]).pop());
        assert_eq!(known[2], after(&[(USDT, Frozen, 2), (USDT, Destroyed, 4)]).pop());
        assert_eq!(known[3], freezes.first().cloned());
    }

    /// Given a freeze that was lifted, then its label is in force from the one day until the other, and names the transactions.
    #[test]
    fn a_label_is_in_force_until_the_freeze_is_lifted() {
        use FreezeChange::{Frozen, Lifted};
        let freezes = after(&[(USDT, Frozen, 1), (USDT, Lifted, 3)]);
        let label = freezes[0].label().unwrap();
        let in_force = [0, 1, 2, 3].map(|day| label.in_force(on(day).day()));
        assert_eq!(in_force, [false, true, true, false]);
        let (category, tier) = (label.category, label.tier);
        assert_eq!((category, tier), (Category::IssuerFrozen, Tier::OnChainProof));
        let reason = label.reason.unwrap();
        for day in [1, 3] {
            let transaction = transaction_text(ChainId::ETH, on(day).transaction);
            assert!(reason.contains(&transaction), "{reason}");
        }
        assert_eq!(label.source.as_str(), "chain-eth");
    }
}
