//! New coins for the producers of blocks.

use assay_engine::account::AccountAddress;
use ruint::aliases::U256;

use super::{answer::BlockAnswer, params::BlockRewards};

/// A coin in base units.
const COIN: u64 = 1_000_000_000_000_000_000;
/// First blocks of lower rewards on Ethereum: Byzantium and Constantinople.
const BYZANTIUM: u64 = 4_370_000;
const CONSTANTINOPLE: u64 = 7_280_000;
/// Blocks between lower rewards on Ethereum Classic (ECIP-1017).
const CLASSIC_ERA: u64 = 5_000_000;
/// An uncle's producer gets eighths of the reward, the fewer the older it is.
const EIGHTHS: u64 = 8;
/// A block gets one part of so many for each uncle that it names.
const UNCLE_PART: u64 = 32;

/// The receivers of new coins of a block, the block's producer first. None for a block without proof of work, whose header
/// states no difficulty.
pub(super) fn rewards<T, U>(
    rule: BlockRewards,
    block: &BlockAnswer<T>,
    uncles: &[BlockAnswer<U>],
) -> Vec<(AccountAddress, U256)> {
    let height = block.number.0;
    // The first block has no producer.
    if rule == BlockRewards::None || block.difficulty.0.is_zero() || height == 0 {
        return Vec::new();
    }
    let (reward, has_equal_uncles) = match rule {
        BlockRewards::None => return Vec::new(),
        BlockRewards::Ethereum if height < BYZANTIUM => (coins(5), false),
        BlockRewards::Ethereum if height < CONSTANTINOPLE => (coins(3), false),
        BlockRewards::Ethereum => (coins(2), false),
        BlockRewards::Classic => {
            let era = (height - 1) / CLASSIC_ERA;
            let lower = |reward, _| reward * U256::from(4) / U256::from(5);
            ((0..era.min(100)).fold(coins(5), lower), era > 0)
        }
    };
    let part = reward / U256::from(UNCLE_PART);
    let mut rewards = vec![(block.miner.0, reward + part * U256::from(uncles.len()))];
    rewards.extend(uncles.iter().map(|uncle| {
        let age = height.saturating_sub(uncle.number.0);
        let eighths = EIGHTHS.saturating_sub(age);
        let of_age = reward * U256::from(eighths) / U256::from(EIGHTHS);
        (uncle.miner.0, if has_equal_uncles { part } else { of_age })
    }));
    rewards
}

fn coins(number: u64) -> U256 {
    U256::from(number) * U256::from(COIN)
}
