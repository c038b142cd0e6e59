//! The other accounts of a search: which of them are owners whose payments show a pattern.

use rustc_hash::FxHashMap;

use crate::{
    account::{AccountAttributions, ends_money},
    ledger::OwnerNumber,
    taxonomy::Category,
};

/// Kind of an account in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartyKind {
    /// A party at which lists or labels end money.
    End(Category),
    /// A contract, which moves money of its users by design, or nobody.
    Contract,
    /// Any other account.
    Owner,
}

impl PartyKind {
    /// True for an account that is no party to a pattern.
    pub(super) const fn is_contract(self) -> bool {
        matches!(self, Self::Contract)
    }

    /// True for an account that moves other people's money.
    pub(super) const fn is_service(self) -> bool {
        match self {
            Self::End(category) => category.info().service,
            Self::Contract => true,
            Self::Owner => false,
        }
    }
}

/// The kinds of other accounts, each looked up once.
pub(super) struct Parties<'a> {
    attributions: &'a dyn AccountAttributions,
    is_contract: &'a dyn Fn(OwnerNumber) -> bool,
    known: FxHashMap<OwnerNumber, PartyKind>,
}

impl<'a> Parties<'a> {
    pub(super) fn new(
        attributions: &'a dyn AccountAttributions,
        is_contract: &'a dyn Fn(OwnerNumber) -> bool,
    ) -> Self {
        Self { attributions, is_contract, known: FxHashMap::default() }
    }

    /// The kind of an account.
    pub(super) fn kind(&mut self, owner: OwnerNumber) -> PartyKind {
        if owner == OwnerNumber::NOBODY || owner == OwnerNumber::SEVERAL {
            return PartyKind::Contract;
        }
        let Self { attributions, is_contract, known } = self;
        *known.entry(owner).or_insert_with(|| {
            let attribution = attributions.of_account(owner);
            match attribution.as_ref().and_then(|it| it.end.as_ref()) {
                Some(end) if ends_money(end) => PartyKind::End(end.category),
                // Pools, lending and the like.
                Some(end) if end.category.info().service => PartyKind::Contract,
                _ if is_contract(owner) => PartyKind::Contract,
                _ => PartyKind::Owner,
            }
        })
    }
}
