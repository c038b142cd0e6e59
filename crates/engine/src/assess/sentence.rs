//! Describes a pattern in one sentence. The sentence states only facts of the chain: the form of payments does not show
//! their purpose.

use assay_address::{ChainId, LedgerKind};

use super::flows::whole_units;
use crate::evidence::{Pattern, PatternFact, PatternRole};

/// The sentence of a pattern: the occurrence with the largest amount, and the number of occurrences.
pub(super) fn sentence(fact: &PatternFact, chain: ChainId) -> String {
    let info = chain.info();
    let is_of_accounts = info.ledger == LedgerKind::Account;
    let coins = |amount| {
        if is_of_accounts {
            return format!("{} USD", dollars(amount));
        }
        format!("{} {}", whole_units(amount, info.native().decimals), info.native().code)
    };
    if fact.pattern.is_form_of_transaction() {
        return form_of_transaction(fact, &coins(fact.amount));
    }
    let sentence = of_largest(fact, &coins, is_of_accounts);
    let sums_up = matches!(
        fact.pattern,
        Pattern::RapidPassThrough
            | Pattern::MixerUse
            | Pattern::CoinjoinUse
            | Pattern::DepositForwarding
            | Pattern::AddressPoisoning
    );
    if fact.count < 2 || sums_up {
        return sentence;
    }
    format!(
        "{sentence}; the largest of {} occurrences with {} in all",
        fact.count,
        coins(fact.amount)
    )
}

/// Cents in dollars: without decimals for whole dollars.
fn dollars(cents: u128) -> String {
    match cents % 100 {
        0 => (cents / 100).to_string(),
        rest => format!("{}.{rest:02}", cents / 100),
    }
}

fn of_largest(fact: &PatternFact, coins: &impl Fn(u128) -> String, is_of_accounts: bool) -> String {
    let details = &fact.details;
    let (amount, all) = (coins(details.amount), coins(fact.amount));
    let parties = details.parties.unwrap_or_default();
    let payments = details.payments.unwrap_or_default();
    let length = details.length.unwrap_or_default();
    let span = duration(details.seconds.unwrap_or_default());
    let is_actor = fact.role == PatternRole::Actor;
    match (fact.pattern, is_actor) {
        (Pattern::PeelChain, true) => format!(
            "took part with {amount} in {length} transactions in a row, {span}, that each split off at most 30 % \
             and left the rest at another address"
        ),
        (Pattern::PeelChain, false) => format!(
            "received {amount} that {length} transactions in a row, {span}, split off or left: each split \
             off at most 30 % and left the rest at another address"
        ),
        (Pattern::Layering, true) => format!(
            "{amount} went through {length} unattributed addresses in a row, {span}, that each passed on \
             at least 90 % of all that they ever received to one other address, by their only payment"
        ),
        (Pattern::Layering, false) => format!(
            "received {amount} through {length} unattributed addresses in a row, {span}, that each passed \
             on at least 90 % of all that they ever received to one other address, by their only payment"
        ),
        (Pattern::FanIn, _) => format!("received {amount} from {parties} owners, {span}"),
        (Pattern::FanOut, _) => format!("paid {amount} to {parties} owners, {span}"),
        (Pattern::GatherScatter, _) => format!(
            "received {amount} from {parties} owners, {span}, and until 48 hours after the last payment \
             paid at least 80 % as much to at least 5 others"
        ),
        (Pattern::ScatterGather, true) => format!(
            "paid {amount} to {parties} owners that paid at least 80 % as much to the same further owner, \
             {span}"
        ),
        (Pattern::ScatterGather, false) => format!(
            "received {amount} from {parties} owners whom the same owner had paid at most a quarter more, \
             {span}"
        ),
        (Pattern::Cycle, _) => format!(
            "received {amount} in a circle of {length} owners, itself included, each of which paid the \
             next, {span}"
        ),
        (Pattern::Structuring, true) => format!(
            "made {payments} payments of {amount} together, {span}, that are each at most 10 % below {}",
            coins(details.threshold.unwrap_or_default())
        ),
        (Pattern::Structuring, false) => format!(
            "received {payments} payments of {amount} together from one payer, {span}, that are each at \
             most 10 % below {}",
            coins(details.threshold.unwrap_or_default())
        ),
        (Pattern::RapidPassThrough, _) => format!(
            "paid on {all} of {} payments, each {span}: at least 90 % of each, and at least 80 % of all \
             that it received",
            fact.count
        ),
        (Pattern::DormantReactivation, _) => format!(
            "moved {amount}, at least half of its balance, within 30 days after {} days without activity",
            details.seconds.unwrap_or_default() / 86_400
        ),
        (Pattern::MixerUse, true) => format!("paid {all} to mixing services{}", payments_of(fact)),
        (Pattern::MixerUse, false) => {
            format!("received {all} from mixing services{}", payments_of(fact))
        }
        (Pattern::CoinjoinUse, true) => format!("put {all} into {}", joint_transactions(fact)),
        (Pattern::CoinjoinUse, false) => {
            format!("received {all} from {}", joint_transactions(fact))
        }
        (Pattern::Dusting, true) => format!("sent {amount} of dust to {parties} owners, {span}"),
        (Pattern::Dusting, false) if is_of_accounts => format!(
            "received {amount} of dust from an owner that sent dust to {parties} owners within 24 hours"
        ),
        (Pattern::Dusting, false) => {
            format!("received {amount} of dust by a transaction that sent dust to {parties} owners")
        }
        (Pattern::MixerFunding, _) => {
            format!("received {amount} from a mixing service as its first payment above dust")
        }
        (Pattern::DepositForwarding, _) => format!(
            "passed {all} on to a custodial service{}, and paid nobody else",
            payments_of(fact)
        ),
        (_, true) => format!(
            "took part in transfers of dust, nothing or worthless tokens with {parties} owners whose \
             earlier counterparties it looks like"
        ),
        _ => format!(
            "got transfers of dust, nothing or worthless tokens with {} like its earlier \
             counterparties",
            addresses_that_look(fact.count)
        ),
    }
}

fn form_of_transaction(fact: &PatternFact, amount: &str) -> String {
    let count = transactions(fact.count);
    let is_actor = fact.role == PatternRole::Actor;
    let moved = if is_actor { "sent" } else { "received" };
    match fact.pattern {
        Pattern::PeelStep => format!(
            "sent {amount} by {count} with one input and two outputs, the smaller one at most 30 % of \
             both"
        ),
        Pattern::Consolidation => format!("joined at least 5 inputs in one output by {count}"),
        Pattern::BatchPayout => {
            format!("{moved} {amount} by {count} by which one owner pays at least 5 others")
        }
        Pattern::SelfTransfer => format!("paid nobody but itself by {count}"),
        Pattern::JointTransaction if is_actor => {
            format!("took part in {count} of several parties together")
        }
        Pattern::JointTransaction => {
            format!("received {amount} by {count} of several parties together")
        }
        Pattern::DataOutput => {
            format!("made {count} with an output without value or address, as data have")
        }
        _ => format!("took part in {count} with {amount} in outputs of dust"),
    }
}

fn addresses_that_look(count: u64) -> String {
    match count {
        1 => "an address that looks".to_owned(),
        count => format!("{count} addresses that look"),
    }
}

fn transactions(count: u64) -> String {
    match count {
        1 => "1 transaction".to_owned(),
        count => format!("{count} transactions"),
    }
}

fn payments_of(fact: &PatternFact) -> String {
    match fact.count {
        1 => String::new(),
        count => format!(" in {count} payments"),
    }
}

fn joint_transactions(fact: &PatternFact) -> String {
    let kind = fact.details.coinjoin.map(|kind| format!(" ({})", kind.as_str()));
    let (count, hide) = match fact.count {
        1 => ("1 joint transaction".to_owned(), "hides"),
        count => (format!("{count} joint transactions"), "hide"),
    };
    format!("{count}{} that {hide} who paid whom", kind.unwrap_or_default())
}

/// Formats a duration in its largest unit, rounded up.
fn duration(seconds: u64) -> String {
    let (unit, length) = match seconds {
        0 => return "within one block time".to_owned(),
        1..=3_600 => ("minute", 60),
        3_601..=172_800 => ("hour", 3_600),
        _ => ("day", 86_400),
    };
    match seconds.div_ceil(length) {
        1 => format!("within 1 {unit}"),
        many => format!("within {many} {unit}s"),
    }
}
