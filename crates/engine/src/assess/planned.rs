//! The assessment of a withdrawal that is not sent yet: that of its receiver's address, with the policy's rules by the
//! amount that is about to be paid, and a warning about receivers that look like it.

use assay_address::{Resemblance, SHOWN};
use jiff::{Timestamp, civil::Date};
use ruint::aliases::U256;

use super::{
    MeasuredFunds, MinimumScore, assess_with, attribute,
    flows::rules::{RuleFunds, RuleView, evaluate},
    usd,
};
use crate::{
    account::whole_units,
    assessment::{
        Amount, AssessedPlan, AssessedTransfer, Assessment, RuleClaim, Sender, TransferBasis,
        TransferStatus, VerdictReason, Warning,
    },
    evidence::Direction,
    planned::{EarlierReceiver, EarlierReceivers, KnownAsset, PlannedFacts, PlannedWithdrawal},
    policy::{Alternative, Policy, Rule},
    trace::Attribution,
    transfer::TransferDirection,
};

/// Code of the reason for a rule that the payment itself meets.
const PAYMENT_RULE: &str = "payment_rule";
/// Share of the payment's funds that go to the receiver.
const WHOLE: &str = "1";
/// Decimals of values in US dollars.
const USD_DECIMALS: u8 = 6;

/// Assesses a withdrawal that is not sent yet by the facts about it.
///
/// The receiver is assessed as a check of its address assesses it. In addition, the policy's rules are evaluated on the
/// payment itself, as funds that are sent directly to the receiver's parties. A rule that asks for a share of all funds
/// does not fire: a single payment has no share of the sender's funds.
#[must_use]
pub fn assess_planned(facts: &PlannedFacts, policy: &Policy, now: Timestamp) -> Assessment {
    let PlannedFacts { withdrawal, receiver, .. } = facts;
    let today = receiver.day(now);
    let rules = payment_rules(facts, policy, today);
    let has_fired = !rules.is_empty();
    let mut assessment = assess_with(&withdrawal.to, receiver, policy, now, rules);
    assessment.warnings.extend(warnings(facts, policy));
    let basis = if has_fired { TransferBasis::Payment } else { TransferBasis::Receiver };
    let mut transfer = view(facts, basis);
    usd::fill_transfer_on(&mut transfer, withdrawal.to.chain(), &receiver.prices, today);
    assessment.transfer = Some(Box::new(transfer));
    assessment
}

/// The rules that the payment itself meets, in the order of the policy.
fn payment_rules(facts: &PlannedFacts, policy: &Policy, today: Date) -> Vec<MinimumScore> {
    let PlannedFacts { withdrawal, receiver, .. } = facts;
    let Some(asset) = withdrawal.asset.known else { return Vec::new() };
    let attribution = attribute(receiver, policy, today);
    let claims = claims(&attribution);
    if attribution.is_unowned || claims.is_empty() {
        return Vec::new();
    }
    let own = Payment { amount: withdrawal.amount, unit: asset.ticker, decimals: asset.decimals };
    let in_dollars = dollars(facts, asset, today);
    let payments: Vec<Payment<'_>> = [Some(own), in_dollars].into_iter().flatten().collect();
    let rules = policy.rules().iter().filter_map(by_amount);
    let fired = rules.filter_map(|rule| {
        let fired = payments.iter().find_map(|payment| {
            let fired = evaluate(&rule, &payment.view(&claims), policy)?;
            Some((*payment, fired.can_block))
        });
        let (payment, can_block) = fired?;
        let amount = format!("{} {}", whole_units(payment.amount, payment.decimals), payment.unit);
        let message = format!(
            "{}: this payment of {amount} goes there{}",
            rule.description.trim_end_matches('.'),
            party(&attribution),
        );
        Some(MinimumScore {
            score: policy.minimum_score(rule.verdict, can_block),
            reason: VerdictReason { code: PAYMENT_RULE, message },
            tier: None,
            measured: Some(MeasuredFunds {
                direction: Direction::Destination,
                share: WHOLE.to_owned(),
                amount: amount_of(withdrawal),
            }),
            evidence: Vec::new(),
            rule: rule.id,
        })
    });
    fired.collect()
}

/// The rule without the alternatives that a single payment cannot meet: those that ask for a share of funds. `None` if
/// no alternative is left.
fn by_amount(rule: &Rule) -> Option<Rule> {
    let is_met_by_amount = |alternative: &&Alternative| {
        let thresholds = &alternative.thresholds;
        thresholds.share.is_none()
            && thresholds.recent_share.is_none()
            && thresholds.recent_part.is_none()
    };
    let alternatives: Vec<_> = rule.alternatives.iter().filter(is_met_by_amount).cloned().collect();
    (!alternatives.is_empty()).then(|| Rule { alternatives, ..rule.clone() })
}

/// The amount of a payment in one unit.
#[derive(Clone, Copy)]
struct Payment<'a> {
    /// Amount in base units.
    amount: u128,
    unit: &'a str,
    decimals: u8,
}

impl Payment<'_> {
    /// The payment as funds that are sent directly to the parties of some claims.
    fn view(&self, claims: &[RuleClaim]) -> RuleView<'_> {
        let funds = RuleFunds {
            amount: self.amount,
            recent: self.amount,
            outstanding: None,
            since_listing: Some(self.amount),
            scored: true,
            claims: claims.to_vec(),
        };
        RuleView {
            direction: Direction::Destination,
            unit: self.unit,
            decimals: self.decimals,
            funds: vec![funds],
        }
    }
}

/// The payment in US dollars by the price of the day; `None` if no price is known.
fn dollars(facts: &PlannedFacts, asset: KnownAsset, today: Date) -> Option<Payment<'static>> {
    let price = facts.receiver.prices.on(asset.id, today)?.price;
    let value = price.value(U256::from(facts.withdrawal.amount), asset.decimals)?;
    Some(Payment { amount: value.micros(), unit: "USD", decimals: USD_DECIMALS })
}

/// The claims about the receiver, that of the party to which the payment goes first.
fn claims(attribution: &Attribution) -> Vec<RuleClaim> {
    let plain = |category, tier, confidence, listed| RuleClaim {
        category,
        tier,
        hops: Some(1),
        direct: true,
        listed,
        confidence,
        joint: false,
        unasked: false,
        paid_back: false,
    };
    let end = attribution.end.iter();
    let end = end.map(|end| plain(end.category, end.tier, end.confidence, end.listed));
    let carried = attribution.carried.iter();
    end.chain(carried.map(|label| plain(label.category, label.tier, label.confidence, false)))
        .collect()
}

/// The receiver's party in a sentence.
fn party(attribution: &Attribution) -> String {
    let end = attribution.end.as_ref().map(|end| (end.entity.as_deref(), end.category));
    let carried = attribution.carried.first().map(|it| (it.entity.as_deref(), it.category));
    match end.or(carried) {
        Some((Some(name), category)) => format!("; {name} ({category})"),
        Some((None, category)) => format!("; an address labelled {category}"),
        None => String::new(),
    }
}

fn warnings(facts: &PlannedFacts, policy: &Policy) -> Vec<Warning> {
    let mut warnings = Vec::new();
    match &facts.earlier_receivers {
        EarlierReceivers::NotKept => {}
        EarlierReceivers::Unreadable => warnings.push(Warning {
            code: "earlier_receivers_unknown",
            message: "the receivers that you checked before cannot be read at present: addresses that look like one \
                      of them were not searched"
                .to_owned(),
        }),
        EarlierReceivers::Found(found) => warnings.extend(look_alike(found)),
    }
    let has_amounts = policy.rules().iter().filter_map(by_amount).any(|rule| {
        rule.alternatives.iter().any(|alternative| !alternative.thresholds.amounts.is_empty())
    });
    if facts.withdrawal.asset.known.is_none() && has_amounts {
        warnings.push(Warning {
            code: "amount_not_assessed",
            message: format!(
                "the decimals and the price of the asset {} are not known: rules by amount were not applied to this \
                 payment",
                facts.withdrawal.asset.text
            ),
        });
    }
    warnings
}

/// Warning about receivers of earlier checks that look like the receiver.
fn look_alike(found: &[EarlierReceiver]) -> Option<Warning> {
    let first = found.first()?;
    let how = match first.by {
        Resemblance::OneEdit => "differs by one character from".to_owned(),
        Resemblance::Ends => format!("shares its first {SHOWN} and last {SHOWN} characters with"),
    };
    let others = match found.len() {
        1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    Some(Warning {
        code: "look_alike_receiver",
        message: format!(
            "{how} {}{others}, which you checked as a receiver before ({}): poisoning imitates addresses so; compare \
             every character",
            first.address, first.first_checked_at
        ),
    })
}

fn amount_of(withdrawal: &PlannedWithdrawal) -> Amount {
    Amount {
        value: withdrawal.amount.to_string(),
        asset: withdrawal.asset.unit().to_owned(),
        usd: None,
        price_day: None,
    }
}

fn view(facts: &PlannedFacts, basis: TransferBasis) -> AssessedTransfer {
    let PlannedFacts { withdrawal, sender, .. } = facts;
    let senders: Vec<Sender> = withdrawal
        .from
        .iter()
        .map(|from| Sender {
            address: Some(from.as_str().to_owned()),
            amount: amount_of(withdrawal),
            category: sender.as_ref().map(|end| end.category),
            entity: sender.as_ref().and_then(|end| end.entity.as_deref()).map(str::to_owned),
            listed: sender.as_ref().is_some_and(|end| end.listed),
        })
        .collect();
    AssessedTransfer {
        transaction: None,
        direction: TransferDirection::Withdrawal,
        account: None,
        planned: Some(AssessedPlan {
            asset: withdrawal.asset.text.clone(),
            from: withdrawal.from.as_ref().map(|from| from.as_str().to_owned()),
            to: withdrawal.to.as_str().to_owned(),
        }),
        outputs: Vec::new(),
        outputs_count: 0,
        amount: amount_of(withdrawal),
        status: TransferStatus::Planned,
        confirmations: 0,
        block_height: None,
        block_time: None,
        senders_count: u64::try_from(senders.len()).unwrap_or(u64::MAX),
        senders,
        basis,
        destinations: Vec::new(),
    }
}
