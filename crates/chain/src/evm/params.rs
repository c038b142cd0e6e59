//! The chains with Ethereum's accounts: their numbers, first blocks, and what each does differently.

use alloy_primitives::hex;
use assay_address::ChainId;
use assay_engine::account::AccountAddress;

use crate::ProvenParts;

/// Parameters of a chain.
#[derive(Clone, Copy, Debug)]
pub struct EvmParams {
    /// The number that transactions and `eth_chainId` state (EIP-155).
    pub chain_id: u64,
    /// Hash of the first block; `None` if it is not known.
    pub first_block: Option<[u8; 32]>,
    /// Height of the first block of the form that is read: an upgrade changed the chain's blocks before.
    pub first_readable: u64,
    /// Parts of a block that can be recomputed.
    pub proven: ProvenParts,
    /// Parts of a block that are not compared, because the chain has them unlike Ethereum.
    pub unlike: Unlike,
    /// New coins for producers of blocks whose header states a difficulty.
    pub rewards: BlockRewards,
    /// Receiver of the base fee; `None` where it is destroyed.
    pub base_fee_to: Option<AccountAddress>,
    /// Receiver of the fee for the data on the chain below, which receipts state as `l1Fee`.
    pub data_fee_to: Option<AccountAddress>,
    /// Type of the transactions that nobody signs and that bring coins from the chain below. [`BELOW`] pays these coins.
    pub deposits: Option<u64>,
    /// A contract that logs transfers of the chain's coin as a token does.
    pub coin_contract: Option<CoinContract>,
    /// True if withdrawals of validators are of the chain's coin.
    pub pays_withdrawals: bool,
}

/// Parts of a block that a chain has unlike Ethereum, beside the proven ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// True if a transaction of a type of Ethereum may be signed or hashed in another way.
    pub signatures: bool,
    /// True if a call may be of another account than that in which the call above it runs.
    pub calls: bool,
    /// True if the root of transactions commits to some that nodes do not state.
    pub lists: bool,
}

impl Unlike {
    const NOTHING: Self = Self { signatures: false, calls: false, lists: false };
}

/// New coins for producers of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRewards {
    /// None, or none that a block states.
    None,
    /// Five, three and two coins, and parts of them for uncles.
    Ethereum,
    /// Five coins, a fifth less every five million blocks.
    Classic,
}

/// Account that pays coins from the chain below, which are of unknown origin. It is none that a chain has, so that nobody gives its
/// payments an origin by paying to it: payments to it are left out.
pub const BELOW: AccountAddress = AccountAddress(*b"coins-of-chain-below");

/// A contract that logs transfers of the chain's coin as a token does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoinContract {
    /// The contract.
    pub contract: AccountAddress,
    /// Relation of its logs to calls.
    pub logs: CoinLogs,
}

/// Relation of logs of a chain's coin to calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoinLogs {
    /// Calls state the same transfers: the logs are left out.
    Duplicate,
    /// Calls do not state these transfers.
    Additional,
    /// The logs state every transfer: calls are left out.
    Complete,
}

/// Parameters of a chain like Ethereum.
const fn chain(chain_id: u64) -> EvmParams {
    EvmParams {
        chain_id,
        first_block: None,
        first_readable: 0,
        proven: ProvenParts::ALL,
        unlike: Unlike::NOTHING,
        rewards: BlockRewards::None,
        base_fee_to: None,
        data_fee_to: None,
        deposits: None,
        coin_contract: None,
        pays_withdrawals: true,
    }
}

impl EvmParams {
    const fn begins_with(self, hash: [u8; 32]) -> Self {
        Self { first_block: Some(hash), ..self }
    }

    const fn readable_from(self, first_readable: u64) -> Self {
        Self { first_readable, ..self }
    }

    const fn rewards(self, rewards: BlockRewards) -> Self {
        Self { rewards, ..self }
    }

    /// A chain of the OP Stack: fees go to vaults, and deposits have a type of their own.
    const fn op_stack(self) -> Self {
        Self {
            base_fee_to: Some(AccountAddress(hex!("4200000000000000000000000000000000000019"))),
            data_fee_to: Some(AccountAddress(hex!("420000000000000000000000000000000000001a"))),
            deposits: Some(0x7e),
            ..self
        }
    }

    /// A chain of Arbitrum: transactions of its own types, which roots commit to in its own way.
    const fn arbitrum(self) -> Self {
        Self { deposits: Some(0x64), ..self }.proving(HEADER).unlike_in_calls()
    }

    /// A chain whose contracts of its own call in the name of others.
    const fn unlike_in_calls(self) -> Self {
        Self { unlike: Unlike { calls: true, ..self.unlike }, ..self }
    }

    /// A chain with transactions that look like Ethereum's and are signed in another way.
    const fn unlike_in_signatures(self) -> Self {
        Self { unlike: Unlike { signatures: true, ..self.unlike }, ..self }
    }

    /// A chain with transactions that nodes do not state.
    const fn unlike_in_lists(self) -> Self {
        Self { unlike: Unlike { lists: true, ..self.unlike }, ..self }
    }

    const fn proving(self, proven: ProvenParts) -> Self {
        Self { proven, ..self }
    }

    const fn coin(self, contract: [u8; 20], logs: CoinLogs) -> Self {
        let contract = AccountAddress(contract);
        Self { coin_contract: Some(CoinContract { contract, logs }), ..self }
    }

    /// The parameters of a chain; `None` for chains with other accounts.
    #[must_use]
    pub fn of(chain: ChainId) -> Option<Self> {
        TABLE.iter().find(|(id, _)| *id == chain.as_str()).map(|(_, params)| *params)
    }

    /// The chain of a number.
    #[must_use]
    pub fn chain_of(chain_id: u64) -> Option<&'static str> {
        TABLE.iter().find(|(_, params)| params.chain_id == chain_id).map(|(id, _)| *id)
    }
}

/// Headers are those of Ethereum, and transactions or receipts are not.
const HEADER: ProvenParts = ProvenParts { header: true, ..ProvenParts::NONE };

/// The chains. A part is proven where it is known to be computed as on Ethereum; elsewhere the node's word counts.
static TABLE: [(&str, EvmParams); 44] = [
    ("eth", chain(1).begins_with(FIRST_ETHEREUM).rewards(BlockRewards::Ethereum)),
    ("etc", chain(61).begins_with(FIRST_ETHEREUM).rewards(BlockRewards::Classic)),
    ("ethw", chain(10_001).begins_with(FIRST_ETHEREUM).rewards(BlockRewards::Ethereum)),
    // Fees collect at the system's account and pass to the producer without a transaction; they are booked to the producer,
    // who pays them on in system transactions.
    (
        "bsc",
        chain(56)
            .begins_with(hex!("0d21840abff46b96c84b2ac9e10e4f5cdaeb5693cb665db62a2f3b02d2d57b5b")),
    ),
    // Deposits are a last transaction outside of all roots; its coin logs every transfer too.
    (
        "polygon",
        chain(137)
            .begins_with(hex!("a9c28ce2141b56c474f1dc504bee9b01eb1bd7d1a507580d5519d4437a97de1b"))
            .proving(HEADER)
            .coin(hex!("0000000000000000000000000000000000001010"), CoinLogs::Duplicate),
    ),
    (
        "arbitrum",
        chain(42_161)
            .begins_with(hex!("7ee576b35482195fc49205cec9af72ce14f003b9ae69f6ba0faef4514be8b442"))
            .arbitrum(),
    ),
    ("arbitrum-nova", chain(42_170).arbitrum()),
    (
        "optimism",
        chain(10)
            .begins_with(hex!("7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b"))
            .readable_from(105_235_063)
            .op_stack(),
    ),
    (
        "base",
        chain(8_453)
            .begins_with(hex!("f712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd"))
            .op_stack(),
    ),
    ("opbnb", chain(204).op_stack()),
    ("mantle", chain(5_000).op_stack().proving(HEADER)),
    ("blast", chain(81_457).op_stack()),
    ("zora", chain(7_777_777).op_stack()),
    ("unichain", chain(130).op_stack()),
    ("worldchain", chain(480).op_stack()),
    ("ink", chain(57_073).op_stack()),
    ("soneium", chain(1_868).op_stack()),
    ("mode", chain(34_443).op_stack()),
    ("manta", chain(169).op_stack()),
    // Transfers of its coin as a token move it without value of a call; transactions may pay fees in tokens.
    (
        "celo",
        chain(42_220)
            .readable_from(31_056_500)
            .op_stack()
            .proving(HEADER)
            .unlike_in_signatures()
            .unlike_in_calls()
            .coin(hex!("471ece3750da237f93b8e339c536989b8978a438"), CoinLogs::Additional),
    ),
    // Roots are zeros, and the coin is a system contract.
    (
        "zksync",
        chain(324)
            .proving(ProvenParts::NONE)
            .unlike_in_signatures()
            .unlike_in_calls()
            .coin(ZK_COIN, CoinLogs::Complete),
    ),
    (
        "abstract",
        chain(2_741)
            .proving(ProvenParts::NONE)
            .unlike_in_signatures()
            .unlike_in_calls()
            .coin(ZK_COIN, CoinLogs::Complete),
    ),
    // Headers have fields of their own.
    ("avalanche", chain(43_114).proving(ProvenParts::NONE).unlike_in_calls()),
    // Early headers are sealed otherwise, and withdrawals are of a token. The base fee goes to a collector.
    (
        "gnosis",
        EvmParams {
            pays_withdrawals: false,
            base_fee_to: Some(AccountAddress(hex!("6bbe78ee9e474842dbd4ab4987b3cefe88426a92"))),
            ..chain(100)
                .begins_with(hex!(
                    "4f1dd23188aab3a76b463e4af801b52b1248ef073c648cbdc4c9333d3da79756"
                ))
                .proving(ProvenParts::NONE)
        },
    ),
    ("linea", chain(59_144).proving(ProvenParts::NONE)),
    ("scroll", chain(534_352).proving(ProvenParts::NONE)),
    ("polygon-zkevm", chain(1_101).proving(ProvenParts::NONE)),
    ("fantom", chain(250).proving(ProvenParts::NONE)),
    ("sonic", chain(146).proving(ProvenParts::NONE)),
    ("cronos", chain(25).proving(ProvenParts::NONE).unlike_in_lists()),
    ("moonbeam", chain(1_284).proving(ProvenParts::NONE).unlike_in_signatures().unlike_in_calls()),
    ("moonriver", chain(1_285).proving(ProvenParts::NONE).unlike_in_signatures().unlike_in_calls()),
    ("aurora", chain(1_313_161_554).proving(ProvenParts::NONE)),
    ("kaia", chain(8_217).proving(ProvenParts::NONE).unlike_in_signatures().unlike_in_calls()),
    ("metis", chain(1_088).proving(ProvenParts::NONE)),
    ("berachain", chain(80_094).proving(ProvenParts::NONE)),
    ("taiko", chain(167_000).proving(ProvenParts::NONE)),
    ("pulsechain", chain(369).proving(ProvenParts::NONE)),
    ("flare", chain(14).proving(ProvenParts::NONE).unlike_in_calls()),
    (
        "hyperevm",
        chain(999)
            .proving(ProvenParts::NONE)
            .unlike_in_signatures()
            .unlike_in_calls()
            .unlike_in_lists(),
    ),
    ("monad", chain(143).proving(ProvenParts::NONE)),
    ("plasma", chain(9_745).proving(ProvenParts::NONE)),
    ("apechain", chain(33_139).arbitrum()),
    ("ronin", chain(2_020).proving(ProvenParts::NONE)),
];

const FIRST_ETHEREUM: [u8; 32] =
    hex!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
const ZK_COIN: [u8; 20] = hex!("000000000000000000000000000000000000800a");

#[cfg(test)]
mod tests {
    use assay_address::AddressRules;

    use super::*;

    #[test]
    fn every_chain_with_ethereums_accounts_has_its_own_number() {
        let is_evm = |chain: &ChainId| matches!(chain.info().rules, AddressRules::Evm);
        let chains: Vec<_> = ChainId::all().filter(is_evm).collect();
        for chain in &chains {
            let params = EvmParams::of(*chain).unwrap_or_else(|| panic!("{chain} has no row"));
            assert_eq!(EvmParams::chain_of(params.chain_id), Some(chain.as_str()));
        }
        assert_eq!(TABLE.len(), chains.len());
        assert!(EvmParams::of(ChainId::BTC).is_none() && EvmParams::of(ChainId::TRX).is_none());
    }
}
