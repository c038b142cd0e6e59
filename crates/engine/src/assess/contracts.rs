//! Dealings with contracts, in words (`docs/model/accounts.md` C9).

use std::{collections::BTreeMap, fmt::Write};

use assay_address::ChainId;

use super::{
    MinimumScore,
    flows::{decimal, percent, transactions, whole_units, words},
};
use crate::{
    account::decimals_of,
    assessment::{
        Amount, AssessedContractUse, AssessedHolding, AssessedKeptMoney, AssessedTokenDealing,
        ContractParty, ContractPool, HoldingBacking, HoldingKind, VerdictReason, Warning,
    },
    evidence::{
        AccountLimits, BackingMoney, ChainState, ContractHolding, ContractUse, Direction,
        ExcessMoney, KeptMoney, KeptWay, NamedContract, TokenDealing,
    },
    facts::Facts,
    ledger::mass,
    policy::{LISTED_TOKEN_DEALING, Policy},
};

/// Smallest part of the received money, in millionths, from which on a reason tells that contracts paid it from their own.
const POOL_FROM: u32 = 100_000;
const MILLION: u32 = 1_000_000;

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

/// The minimum score for tokens that moved between the subject and a listed party in a transaction that the subject sent.
pub(super) fn listed_token_dealing(facts: &Facts, policy: &Policy) -> Option<MinimumScore> {
    let dealings = of(facts)?.token_dealings.iter().filter(|dealing| dealing.is_initiated);
    let dealings: Vec<&TokenDealing> = dealings.collect();
    if dealings.is_empty() {
        return None;
    }
    let parties: Vec<String> = dealings.iter().map(|dealing| with_party(dealing)).collect();
    let what = LISTED_TOKEN_DEALING.description.trim_end_matches('.');
    let message = format!("{what}: {}; any contract can log such transfers", parties.join("; "));
    let evidence = transactions(dealings.iter().flat_map(|dealing| &dealing.transactions));
    Some(MinimumScore::fixed(LISTED_TOKEN_DEALING, message, evidence, policy))
}

/// The warning about tokens that moved between the subject and listed parties, as far as no rule tells it: in transactions
/// of others, and those of a service.
pub(super) fn warning(facts: &Facts, is_service: bool) -> Option<Warning> {
    let dealings = of(facts)?.token_dealings.iter();
    let dealings = dealings.filter(|dealing| is_service || !dealing.is_initiated);
    let parties: Vec<String> = dealings.map(with_party).collect();
    (!parties.is_empty()).then(|| Warning {
        code: "listed_token_transfer",
        message: format!(
            "tokens moved between the address and a listed party, in transactions that {} or whose sender is not known; \
             any contract can log such transfers: {}",
            if is_service { "it or others sent" } else { "others sent" },
            parties.join("; ")
        ),
    })
}

impl AccountLimits {
    /// The greatest part of the received money of a unit that contracts paid beyond what was put in for the subject, in
    /// millionths, with the unit in words.
    fn excess_part(&self) -> Option<(u32, &str)> {
        let largest = self.excess.iter().max_by_key(|excess| part(excess))?;
        let unit = if largest.unit == "USD" { "funds" } else { &largest.unit };
        Some((part(largest), unit)).filter(|(part, _)| *part > 0)
    }

    /// The remark on money that contracts paid beyond what was put in for the subject.
    pub(super) fn contract_pool(&self) -> Option<VerdictReason> {
        let (part, unit) = self.excess_part().filter(|(part, _)| *part >= POOL_FROM)?;
        Some(VerdictReason {
            code: "contract_pool",
            message: format!(
                "contracts paid {} of the {unit} received beyond what anybody is known to have put in for the address: \
                 such funds have the origins of what is left in the contract",
                percent(part)
            ),
        })
    }

    /// The detail of the coverage of exposure.
    pub(super) fn excess_detail(&self) -> Option<String> {
        let (part, unit) = self.excess_part()?;
        let part = percent(part);
        Some(format!("{part} of {unit} received are what contracts paid beyond what was put in"))
    }
}

fn part(excess: &ExcessMoney) -> u32 {
    let part = mass::share(MILLION.into(), excess.amount, excess.received);
    u32::try_from(part).unwrap_or(MILLION).min(MILLION)
}

fn shown_pool(excess: &ExcessMoney) -> ContractPool {
    let asset = excess.unit.clone();
    let amount = Amount { value: excess.amount.to_string(), asset, usd: None, price_day: None };
    ContractPool {
        amount,
        share: decimal(part(excess).into()),
        transactions: excess.transactions.clone(),
    }
}

fn shown_money(money: KeptMoney, chain: ChainId) -> AssessedKeptMoney {
    let KeptMoney { way, via, is_contract, gave, got, payments, transactions } = money;
    let name = name_of(&via);
    let times = if payments == 1 { String::new() } else { format!(" in {payments} payments") };
    let got_words = sums(&got, chain);
    let given = if gave.is_empty() { "money".to_owned() } else { sums(&gave, chain) };
    let detail = match way {
        KeptWay::Exchanged if is_contract => format!(
            "bought {got_words} with own {given} at {name}{times}: what the contract holds is not the address's"
        ),
        KeptWay::Exchanged => {
            format!(
                "bought {got_words} with own {given} from {name}{times}, each within one transaction"
            )
        }
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
    let mut detail = match &token {
        Some(token) => format!("token {token}"),
        None => "claim without a token".to_owned(),
    };
    if let Some(contract) = &contract {
        let _ = write!(detail, " on {}", name_of(contract));
    }
    let layers = [(false, "that it put in"), (true, "of others")];
    let layers = layers.map(|(is_of_others, whose)| {
        let of_layer = backing.iter().filter(|money| money.is_of_others == is_of_others);
        backed_by(&of_layer.collect::<Vec<_>>(), whose, chain)
    });
    let layers: Vec<String> = layers.into_iter().flatten().collect();
    let _ = write!(detail, ", backed by {}", layers.join(" and "));
    let backing = backing.into_iter().map(|money| HoldingBacking {
        amount: amount(money.asset, money.amount),
        severe_share: decimal(money.severe.into()),
        of_others: money.is_of_others,
    });
    AssessedHolding {
        kind: if token.is_some() { HoldingKind::Token } else { HoldingKind::Claim },
        token,
        contract: contract.map(party),
        backing: backing.collect(),
        detail,
    }
}

/// The money of one layer in words; `None` without any.
fn backed_by(layer: &[&BackingMoney], whose: &str, chain: ChainId) -> Option<String> {
    let amounts = layer.iter().map(|money| (money.asset.clone(), money.amount)).collect();
    let is_severe = |least: u32| move |money: &&BackingMoney| money.severe >= least;
    let severe = if layer.iter().all(is_severe(MILLION)) {
        " (of severe categories)"
    } else if layer.iter().any(is_severe(1)) {
        " (in part of severe categories)"
    } else {
        ""
    };
    (!layer.is_empty()).then(|| format!("{} {whose}{severe}", sums(&amounts, chain)))
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
