//! Events by which the issuers of tokens freeze accounts, by token: for APIs that are asked for one kind of event at a time.

use assay_address::ChainId;
use assay_engine::account::{
    AccountAddress, Asset, AssetId, AssetRole, FreezeChange, IssueLog, ScoredAsset, scored_asset,
    scored_assets,
};

use super::events::topics;
use crate::histories::accounts::FreezeSignature;

const fn signature(name: &'static str, topic: [u8; 32], change: FreezeChange) -> FreezeSignature {
    FreezeSignature { name, topic, change }
}

const ADDED: FreezeSignature =
    signature("AddedBlackList", topics::ADDED_BLACK_LIST, FreezeChange::Frozen);
const REMOVED: FreezeSignature =
    signature("RemovedBlackList", topics::REMOVED_BLACK_LIST, FreezeChange::Lifted);
const DESTROYED: FreezeSignature =
    signature("DestroyedBlackFunds", topics::DESTROYED, FreezeChange::Destroyed);
const FROZEN: FreezeSignature =
    signature("AddressFrozen", topics::ADDRESS_FROZEN, FreezeChange::Frozen);
const UNFROZEN: FreezeSignature =
    signature("AddressUnfrozen", topics::ADDRESS_UNFROZEN, FreezeChange::Lifted);
const WIPED: FreezeSignature =
    signature("FrozenAddressWiped", topics::WIPED, FreezeChange::Destroyed);

/// Tether's first contracts, on Ethereum and TRON.
const FIRST_TETHER: [FreezeSignature; 3] = [ADDED, REMOVED, DESTROYED];
/// Tether's later contracts, which have either events.
const LATER_TETHER: [FreezeSignature; 6] = [
    ADDED,
    REMOVED,
    DESTROYED,
    signature("BlockPlaced", topics::BLOCK_PLACED, FreezeChange::Frozen),
    signature("BlockReleased", topics::BLOCK_RELEASED, FreezeChange::Lifted),
    signature("DestroyedBlockedFunds", topics::DESTROYED_BLOCKED, FreezeChange::Destroyed),
];
/// Circle's contracts.
const CIRCLE: [FreezeSignature; 2] = [
    signature("Blacklisted", topics::BLACKLISTED, FreezeChange::Frozen),
    signature("UnBlacklisted", topics::UN_BLACKLISTED, FreezeChange::Lifted),
];
/// Paxos's first contracts.
const FIRST_PAXOS: [FreezeSignature; 3] = [FROZEN, UNFROZEN, WIPED];
/// Paxos's contracts, which got other events later.
const LATER_PAXOS: [FreezeSignature; 5] = [
    FROZEN,
    UNFROZEN,
    WIPED,
    signature("FreezeAddress", topics::FREEZE_ADDRESS, FreezeChange::Frozen),
    signature("UnfreezeAddress", topics::UNFREEZE_ADDRESS, FreezeChange::Lifted),
];

/// The events by which a token's issuer freezes accounts; none for a token without known ones.
#[must_use]
pub fn freeze_signatures(chain: ChainId, token: AccountAddress) -> &'static [FreezeSignature] {
    scored_asset(AssetId { chain, asset: Asset::Token(token) }).map_or(&[], of_token)
}

/// The scored tokens of a chain whose issuers can freeze accounts.
pub fn freezable_tokens(chain: ChainId) -> impl Iterator<Item = AccountAddress> {
    scored_assets(chain).filter_map(|scored| match scored.id.asset {
        Asset::Token(contract) if !of_token(scored).is_empty() => Some(contract),
        _ => None,
    })
}

fn of_token(scored: &ScoredAsset) -> &'static [FreezeSignature] {
    if scored.role != AssetRole::Stablecoin {
        return &[];
    }
    match scored.ticker {
        "USDT" if scored.issue == IssueLog::Transfers => &LATER_TETHER,
        "USDT" => &FIRST_TETHER,
        "USDC" | "USDC.e" | "USDbC" => &CIRCLE,
        "PYUSD" => &LATER_PAXOS,
        "BUSD" => &FIRST_PAXOS,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::{answer::LogAnswer, events::Event};

    /// Given logs of all events of all tokens, then ingest reads the same changes from them.
    #[test]
    fn each_event_is_read_as_its_change() {
        let mut count = 0;
        for chain in ChainId::all() {
            for token in freezable_tokens(chain) {
                for signature in freeze_signatures(chain, token) {
                    let mut frozen = [0; 32];
                    frozen[12..].fill(7);
                    let topics = vec![signature.topic, frozen];
                    let has_amount = signature.name.starts_with("Destroyed");
                    let data = if has_amount { vec![0; 32] } else { Vec::new() };
                    let log = LogAnswer::new(token, topics, data, 3, [1; 32]);
                    let change = Event::read(chain, &log).and_then(Event::freeze_change);
                    let expected = Some((AccountAddress([7; 20]), signature.change));
                    assert_eq!(change, expected, "{chain} {token} {}", signature.name);
                    count += 1;
                }
            }
        }
        assert!(count > 50, "{count} events");
    }

    /// Given the tokens of Ethereum and TRON, then those of Tether and Circle can freeze, and those without an issuer cannot.
    #[test]
    fn tokens_with_an_issuer_freeze_accounts() {
        let of = |chain: ChainId| {
            let tokens = freezable_tokens(chain).filter_map(|token| {
                Some(scored_asset(AssetId { chain, asset: Asset::Token(token) })?.ticker)
            });
            let mut tokens: Vec<_> = tokens.collect();
            tokens.sort_unstable();
            tokens
        };
        assert_eq!(of(ChainId::ETH), ["BUSD", "PYUSD", "USDC", "USDT"]);
        assert_eq!(of(ChainId::TRX), ["USDC", "USDT"]);
    }
}
