//! Parsing of TronGrid's answers about an account, a contract and the newest block.

use assay_engine::account::Asset;
use ruint::aliases::U256;
use serde::Deserialize;

use super::{
    super::{
        ApiTip,
        client::{AnswerError, json},
    },
    answer::{address, decimal, height_of, time},
    page::data_of,
};

#[derive(Deserialize)]
struct AccountAnswer {
    #[serde(default)]
    balance: u64,
    #[serde(default)]
    trc20: Vec<std::collections::BTreeMap<String, String>>,
    #[serde(default, rename = "assetV2")]
    numbered: Vec<NumberedBalance>,
    #[serde(default)]
    frozen: Vec<FrozenBalance>,
    #[serde(default, rename = "frozenV2")]
    stakes: Vec<Stake>,
    #[serde(default, rename = "unfrozenV2")]
    ended: Vec<EndedStake>,
    #[serde(default)]
    delegated_frozen_balance_for_bandwidth: u64,
    #[serde(default, rename = "delegated_frozenV2_balance_for_bandwidth")]
    lent_for_bandwidth: u64,
    #[serde(default)]
    account_resource: Resources,
}

#[derive(Default, Deserialize)]
struct FrozenBalance {
    #[serde(default)]
    frozen_balance: u64,
}

#[derive(Deserialize)]
struct Stake {
    #[serde(default)]
    amount: u64,
}

#[derive(Deserialize)]
struct EndedStake {
    #[serde(default)]
    unfreeze_amount: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resources {
    #[serde(rename = "frozen_balance_for_energy")]
    first_stake: FrozenBalance,
    #[serde(rename = "delegated_frozen_balance_for_energy")]
    first_lent: u64,
    #[serde(rename = "delegated_frozenV2_balance_for_energy")]
    lent: u64,
}

impl AccountAnswer {
    /// The staked coins, which stay the account's own: for bandwidth and energy, lent to others, and those that are not withdrawn yet.
    fn staked(&self) -> U256 {
        let Self { frozen, stakes, ended, account_resource, .. } = self;
        let Resources { first_stake, first_lent, lent } = account_resource;
        let for_energy = [first_stake.frozen_balance, *first_lent, *lent];
        let lists =
            frozen.iter().map(|it| it.frozen_balance).chain(stakes.iter().map(|it| it.amount));
        let lists = lists.chain(ended.iter().map(|it| it.unfreeze_amount));
        let for_bandwidth = [self.delegated_frozen_balance_for_bandwidth, self.lent_for_bandwidth];
        let all = lists.chain(for_bandwidth).chain(for_energy);
        all.fold(U256::ZERO, |sum, amount| sum.saturating_add(U256::from(amount)))
    }
}

#[derive(Deserialize)]
struct NumberedBalance {
    key: String,
    value: u64,
}

/// Reads the balance of an account; `None` for tokens of an account that is not activated, which the answer lacks.
pub(super) fn balance(body: &[u8], asset: Asset) -> Result<Option<U256>, AnswerError> {
    let accounts = data_of(body)?;
    let Some(account) = accounts.first() else {
        return Ok((asset == Asset::Native).then_some(U256::ZERO));
    };
    let account: AccountAnswer = json(account.get().as_bytes())?;
    match asset {
        Asset::Native => Ok(Some(U256::from(account.balance).saturating_add(account.staked()))),
        Asset::Numbered(number) => {
            let key = number.to_string();
            let found = account.numbered.iter().find(|balance| balance.key == key);
            Ok(Some(U256::from(found.map_or(0, |balance| balance.value))))
        }
        Asset::Token(contract) => {
            for (token, amount) in account.trc20.iter().flatten() {
                if address(token).map_err(AnswerError::Unreadable)? == contract {
                    return decimal(amount).map(Some).map_err(AnswerError::Unreadable);
                }
            }
            Ok(Some(U256::ZERO))
        }
    }
}

#[derive(Deserialize)]
struct BlockAnswer {
    block_header: Option<HeaderAnswer>,
    #[serde(rename = "Error")]
    error: Option<String>,
}

#[derive(Deserialize)]
struct HeaderAnswer {
    raw_data: HeaderData,
}

#[derive(Deserialize)]
struct HeaderData {
    timestamp: i64,
}

/// Reads the newest block.
pub(super) fn tip(body: &[u8]) -> Result<ApiTip, AnswerError> {
    let answer: BlockAnswer = json(body)?;
    let Some(header) = answer.block_header else {
        return Err(AnswerError::of_text(&answer.error.unwrap_or_default()));
    };
    let time = time(header.raw_data.timestamp).map_err(AnswerError::Invalid)?;
    Ok(ApiTip { height: height_of(time), time: Some(time) })
}

#[derive(Deserialize)]
struct ContractInfo {
    contract_address: Option<String>,
    #[serde(rename = "Error")]
    error: Option<String>,
}

/// Reads whether an account is a contract: the answer about another account is empty.
pub(super) fn has_code(body: &[u8]) -> Result<bool, AnswerError> {
    let answer: ContractInfo = json(body)?;
    match answer.error {
        Some(error) => Err(AnswerError::of_text(&error)),
        None => Ok(answer.contract_address.is_some_and(|address| !address.is_empty())),
    }
}
