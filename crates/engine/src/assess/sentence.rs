//! A pattern in one sentence. It says what the chain shows, and no more: that payments are of one form does not show
//! why they were made.

use super::flows::whole_units;
use crate::{
    chain::ChainId,
    evidence::{Pattern, PatternFact, PatternRole},
};

/// The sentence of a pattern on a chain.
pub(super) fn sentence(fact: &PatternFact, chain: ChainId) -> String {
    let info = chain.info();
    let coins = |amount| format!("{} {}", whole_units(amount, info.decimals), info.asset);
    let amount = coins(fact.amount);
    let details = &fact.details;
    let parties = details.parties.unwrap_or_default();
    let length = details.length.unwrap_or_default();
    let span = duration(details.seconds.unwrap_or_default());
    let occasions = match fact.count {
        0 | 1 => String::new(),
        count => format!(" on {count} occasions"),
    };
    let chains = match fact.count {
        0 | 1 => String::new(),
        count => format!("; the longest of {count} chains"),
    };
    let is_actor = fact.role == PatternRole::Actor;
    match (fact.pattern, is_actor) {
        (Pattern::PeelChain, true) => format!(
            "{amount} went through {length} transactions in a row, within {span}, that each split \
             off at most 30 % and left the rest at another address{chains}"
        ),
        (Pattern::PeelChain, false) => format!(
            "received {amount} that {length} transactions in a row, within {span}, split off or left: \
             each split off at most 30 % and left the rest at another address{chains}"
        ),
        (Pattern::Layering, true) => format!(
            "{amount} went through {length} unattributed addresses in a row, within {span}, that each \
             passed on at least 90 % of what they received and did nothing else{chains}"
        ),
        (Pattern::Layering, false) => format!(
            "received {amount} through {length} unattributed addresses in a row, within {span}, that \
             each passed on at least 90 % of what they received and did nothing else{chains}"
        ),
        (Pattern::FanIn, _) => {
            format!("received {amount} from up to {parties} owners within 24 hours{occasions}")
        }
        (Pattern::FanOut, _) => {
            format!("paid {amount} to up to {parties} owners within 24 hours{occasions}")
        }
        (Pattern::GatherScatter, _) => format!(
            "collected {amount} from up to {parties} owners within 24 hours and paid at least 80 % of \
             it to at least 5 others within 48 hours{occasions}"
        ),
        (Pattern::ScatterGather, true) => format!(
            "paid {amount} to {parties} owners that all paid the same further owner, within \
             {span}{occasions}"
        ),
        (Pattern::ScatterGather, false) => format!(
            "received {amount} from {parties} owners that the same owner had paid, within \
             {span}{occasions}"
        ),
        (Pattern::Cycle, _) => format!(
            "{amount} went around {length} owners, its own included, and came back to the first within \
             {span}{occasions}"
        ),
        (Pattern::Structuring, true) => format!(
            "paid {amount} in transfers that are each less than 10 % below {}, up to {parties} within \
             24 hours{occasions}",
            coins(details.threshold.unwrap_or_default())
        ),
        (Pattern::Structuring, false) => format!(
            "received {amount} of one payer in transfers that are each less than 10 % below {}, up to \
             {parties} within 24 hours{occasions}",
            coins(details.threshold.unwrap_or_default())
        ),
        (Pattern::RapidPassThrough, _) => format!(
            "passed {amount} on within {span}, in {} payments: at least 90 % of each, and at least 80 % \
             of all that it received",
            fact.count
        ),
        (Pattern::DormantReactivation, _) => format!(
            "moved {amount}, at least half of its balance, within 30 days after {span} without \
             activity{occasions}"
        ),
        (Pattern::MixerUse, true) => format!("paid {amount} to mixing services{}", payments(fact)),
        (Pattern::MixerUse, false) => {
            format!("received {amount} from mixing services{}", payments(fact))
        }
        (Pattern::CoinjoinUse, true) => {
            format!("put {amount} into {}", joint_transactions(fact))
        }
        (Pattern::CoinjoinUse, false) => {
            format!("received {amount} from {}", joint_transactions(fact))
        }
        (Pattern::Dusting, true) => {
            format!("sent {amount} of dust to up to {parties} owners within 24 hours{occasions}")
        }
        (Pattern::Dusting, false) => format!(
            "received {amount} of dust by transactions that sent dust to up to {parties} owners{}",
            payments(fact)
        ),
        (Pattern::AddressPoisoning, _) => {
            "sent worthless transfers from addresses that look like those of a victim's \
             counterparties"
                .to_owned()
        }
        (form, _) => form_of_transaction(form, fact, &amount),
    }
}

fn form_of_transaction(form: Pattern, fact: &PatternFact, amount: &str) -> String {
    let count = transactions(fact.count);
    let is_actor = fact.role == PatternRole::Actor;
    let moved = if is_actor { "sent" } else { "received" };
    match form {
        Pattern::PeelStep => format!(
            "sent {amount} by {count} with one input and two outputs, the smaller one at most 30 % of \
             both"
        ),
        Pattern::Consolidation => {
            format!("joined at least 5 inputs in one output by {count}")
        }
        Pattern::BatchPayout => {
            format!("{moved} {amount} by {count} by which one owner pays at least 5 others")
        }
        Pattern::SelfTransfer => format!("paid nobody but itself by {count}"),
        Pattern::JointTransaction => format!("took part in {count} of several parties together"),
        Pattern::DataOutput => format!("wrote data into {count}"),
        _ => format!("{moved} dust by {count}"),
    }
}

fn transactions(count: u64) -> String {
    match count {
        1 => "1 transaction".to_owned(),
        count => format!("{count} transactions"),
    }
}

fn payments(fact: &PatternFact) -> String {
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

/// A duration in its largest unit, rounded up.
fn duration(seconds: u64) -> String {
    if seconds == 0 {
        return "one block".to_owned();
    }
    let (unit, length) = match seconds {
        0..=3_600 => ("minute", 60),
        3_601..=172_800 => ("hour", 3_600),
        _ => ("day", 86_400),
    };
    match seconds.div_ceil(length).max(1) {
        1 => format!("1 {unit}"),
        many => format!("{many} {unit}s"),
    }
}
