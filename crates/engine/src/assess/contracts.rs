//! Dealings with contracts, in words (`docs/model/accounts.md` C9).

use std::{collections::BTreeMap, fmt::Write};

use assay_address::ChainId;

use super::{
    MinimumScore,
    flows::{decimal, transactions, whole_units, words},
};
use crate::{
    account::decimals_of,
    assessment::{
        Amount, AssessedContractUse, AssessedHolding, AssessedKeptMoney, AssessedTokenDealing,
        ContractParty, ContractPool, HoldingBacking, HoldingKind, VerdictReason, Warning,
    },
    evidence::{
        AccountLimits, ChainState, ContractHolding, ContractUse, Direction, ExcessMoney, KeptMoney,
        KeptWay, NamedContract, TokenDealing,
    },
    facts::Facts,
    ledger::mass,
    policy::{LISTED_TOKEN_DEALING, Policy},
};

/// Smallest part of the received money, in millionths, from which on a reason tells that contracts paid it from their own.
const POOL_FROM: u64 = 100_000;
const MILLION: u64 = 1_000_000;

/// The subject's dealings with contracts; `None` where they were not searched.
fn of(facts: &Facts) -> Option<&ContractUse> {
    match &facts.chain {
        ChainState::Followed(chain) => chain.flows.contracts.as_deref(),
        ChainState::NotFollowed | ChainState::Unavailable(_) => None,
    }
}

/// The dealings as an answer shows them; `None` without any.
pub(super) fn shown(facts: &Facts, chain: ChainId) -> Option<Box<AssessedContractUse>> {
    let limits = super::accounts::limits(facts);
    let contract_pool =
        limits.map(|it| it.excess.iter().map(shown_pool).collect()).unwrap_or_default();
    let shown = of(facts).cloned().unwrap_or_default();
    let shown = AssessedContractUse {
        kept: shown.kept.into_iter().map(|it| shown_money(it, chain)).collect(),
        further_kept: shown.further_kept,
        holdings: shown.holdings.into_iter().map(|it| shown_holding(it, chain)).collect(),
        further_holdings: shown.further_holdings,
        contract_pool,
        token_dealings: shown.token_dealings.into_iter().map(shown_dealing).collect(),
    };
    let is_empty = shown == AssessedContractUse::default();
    (!is_empty).then(|| Box::new(shown))
}

/// The minimum score for tokens that the subject sent to a listed party, or fetched from one.
pub(super) fn listed_token_dealing(facts: &Facts, policy: &Policy) -> Option<MinimumScore> {
    let dealings = of(facts)?.token_dealings.iter().filter(|dealing| dealing.is_initiated);
    let dealings: Vec<&TokenDealing> = dealings.collect();
    if dealings.is_empty() {
        return None;
    }
    let parties: Vec<String> = dealings.iter().map(|dealing| with_party(dealing)).collect();
    let what = LISTED_TOKEN_DEALING.description.trim_end_matches('.');
    let message = format!("{what}: {}", parties.join("; "));
    let evidence = transactions(dealings.iter().flat_map(|dealing| &dealing.transactions));
    Some(MinimumScore::fixed(LISTED_TOKEN_DEALING, message, evidence, policy))
}

/// The warning about tokens that moved between the subject and listed parties in transactions of others.
pub(super) fn warning(facts: &Facts) -> Option<Warning> {
    let dealings = of(facts)?.token_dealings.iter().filter(|dealing| !dealing.is_initiated);
    let parties: Vec<String> = dealings.map(with_party).collect();
    (!parties.is_empty()).then(|| Warning {
        code: "listed_token_transfer",
        message: format!(
            "others sent transactions that moved tokens between the address and a listed party, as any contract can log: \
             {}",
            parties.join("; ")
        ),
    })
}

impl AccountLimits {
    /// The part of the received money that contracts paid beyond what was put in for the subject, in millionths, in the unit
    /// in which it is greatest.
    fn excess_part(&self) -> u64 {
        self.excess.iter().map(part).max().unwrap_or(0)
    }

    /// The remark on money that contracts paid beyond what was put in for the subject.
    pub(super) fn contract_pool(&self) -> Option<VerdictReason> {
        let part = Some(self.excess_part()).filter(|part| *part >= POOL_FROM)?;
        Some(VerdictReason {
            code: "contract_pool",
            message: format!(
                "contracts paid {} of the funds received beyond what anybody is known to have put in for the address: \
                 such funds have the origins of what is left in the contract",
                percent(part)
            ),
        })
    }

    /// The detail of the coverage of exposure.
    pub(super) fn excess_detail(&self) -> Option<String> {
        let part = Some(self.excess_part()).filter(|part| *part > 0)?;
        Some(format!(
            "{} of funds received are what contracts paid beyond what was put in",
            percent(part)
        ))
    }
}

fn part(excess: &ExcessMoney) -> u64 {
    let part = mass::share(MILLION.into(), excess.amount, excess.received);
    u64::try_from(part).unwrap_or(MILLION).min(MILLION)
}

/// Millionths in percent with one decimal.
fn percent(millionths: u64) -> String {
    format!("{}.{} %", millionths / 10_000, millionths / 1_000 % 10)
}

fn shown_pool(excess: &ExcessMoney) -> ContractPool {
    let asset = excess.unit.clone();
    let amount = Amount { value: excess.amount.to_string(), asset, usd: None, price_day: None };
    ContractPool { amount, share: decimal(part(excess)), transactions: excess.transactions.clone() }
}

fn shown_money(money: KeptMoney, chain: ChainId) -> AssessedKeptMoney {
    let KeptMoney { way, via, gave, got, payments, transactions } = money;
    let name = name_of(&via);
    let times = if payments == 1 { String::new() } else { format!(" in {payments} payments") };
    let (gave_words, got_words) = (sums(&gave, chain), sums(&got, chain));
    let detail = match way {
        KeptWay::Exchanged if gave.is_empty() => {
            format!(
                "bought {got_words} with own money at {name}{times}: what the contract holds is not the address's"
            )
        }
        KeptWay::Exchanged => format!(
            "bought {got_words} with own {gave_words} at {name}{times}: what the contract holds is not the address's"
        ),
        KeptWay::Returned => {
            format!(
                "got {got_words} of its own money back from {name}{times}: it had put as much in"
            )
        }
    };
    AssessedKeptMoney {
        way,
        via: party(via),
        gave: amounts(gave),
        got: amounts(got),
        payments,
        detail,
        transactions,
    }
}

fn shown_holding(holding: ContractHolding, chain: ChainId) -> AssessedHolding {
    let ContractHolding { token, contract, backing } = holding;
    let sums_by_asset: BTreeMap<String, u128> =
        backing.iter().map(|money| (money.asset.clone(), money.amount)).collect();
    let mut detail = match &token {
        Some(token) => format!("token {token}"),
        None => "claim without a token".to_owned(),
    };
    if let Some(contract) = &contract {
        let _ = write!(detail, " on {}", name_of(contract));
    }
    let _ = write!(detail, ", behind which are {}", sums(&sums_by_asset, chain));
    if backing.iter().any(|money| money.severe > 0) {
        detail.push_str(", in part of severe categories");
    }
    let backing = backing.into_iter().map(|money| HoldingBacking {
        amount: amount(money.asset, money.amount),
        severe_share: decimal(money.severe.into()),
    });
    AssessedHolding {
        kind: if token.is_some() { HoldingKind::Token } else { HoldingKind::Claim },
        token,
        contract: contract.map(party),
        backing: backing.collect(),
        detail,
    }
}

fn shown_dealing(dealing: TokenDealing) -> AssessedTokenDealing {
    let TokenDealing { party, entity, category, direction, is_initiated, tokens, transactions } =
        dealing;
    AssessedTokenDealing {
        party,
        entity: entity.as_deref().map(str::to_owned),
        category,
        direction,
        initiated: is_initiated,
        tokens,
        transactions,
    }
}

/// A dealing in words, such as `to DOE, Jane (sanctions)`.
fn with_party(dealing: &TokenDealing) -> String {
    let preposition = match dealing.direction {
        Direction::Source => "from",
        Direction::Destination => "to",
    };
    let name = dealing.entity.as_deref().unwrap_or(&dealing.party);
    format!("{preposition} {name} ({})", words(dealing.category.as_str()))
}

fn name_of(contract: &NamedContract) -> &str {
    contract.name.as_deref().unwrap_or(&contract.address)
}

fn party(contract: NamedContract) -> ContractParty {
    let NamedContract { address, name } = contract;
    ContractParty { address, entity: name.as_deref().map(str::to_owned) }
}

fn amounts(amounts: BTreeMap<String, u128>) -> Vec<Amount> {
    amounts.into_iter().map(|(asset, value)| amount(asset, value)).collect()
}

fn amount(asset: String, value: u128) -> Amount {
    Amount { value: value.to_string(), asset, usd: None, price_day: None }
}

/// Amounts in words, such as `1.5 ETH and 20 USDC`.
fn sums(amounts: &BTreeMap<String, u128>, chain: ChainId) -> String {
    let sums: Vec<String> = amounts
        .iter()
        .map(|(asset, value)| {
            let decimals = decimals_of(chain, asset).unwrap_or(0);
            format!("{} {asset}", whole_units(*value, decimals))
        })
        .collect();
    match sums.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}
