//! The assessment of a withdrawal that is not sent yet: that of its receiver's address, with the policy's rules by the
//! amount that is about to be paid, and a warning about receivers that look like it.

use std::{collections::BTreeMap, fmt};

use assay_address::{Resemblance, SHOWN};
use jiff::{Timestamp, civil::Date};
use ruint::aliases::U256;

use super::{
    MeasuredFunds, MinimumScore, OtherFunds, assess_with, attribute,
    flows::rules::{RuleFunds, RuleView, evaluate},
    usd,
    verdict::MissingData,
};
use crate::{
    account::whole_units,
    assessment::{
        Amount, AssessedPlan, AssessedTransfer, Assessment, RuleClaim, Sender, TransferBasis,
        TransferStatus, VerdictReason, Warning,
    },
    evidence::Direction,
    planned::{
        EarlierReceiver, EarlierReceivers, KnownAsset, PlannedAsset, PlannedFacts,
        PlannedWithdrawal,
    },
    policy::{Alternative, Policy, Quantity, Rule},
    trace::Attribution,
    transfer::TransferDirection,
};

/// Code of the reason for a rule that the payment itself meets.
const PAYMENT_RULE: &str = "payment_rule";
/// Share of the payment's funds that go to the receiver.
const WHOLE: &str = "1";
/// Unit of values in US dollars.
const DOLLARS: &str = "USD";
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
    let found = payment_rules(facts, policy, today);
    let has_fired = !found.rules.is_empty();
    let mut assessment = assess_with(&withdrawal.to, receiver, policy, now, found);
    assessment.warnings.extend(warnings(facts, policy));
    let basis = if has_fired { TransferBasis::Payment } else { TransferBasis::Receiver };
    let mut transfer = view(facts, basis);
    usd::fill_transfer_on(&mut transfer, withdrawal.to.chain(), &receiver.prices, today);
    assessment.transfer = Some(Box::new(transfer));
    assessment
}

/// The rules that the payment itself meets, in the order of the policy, and the amount that is missing for others.
fn payment_rules(facts: &PlannedFacts, policy: &Policy, today: Date) -> OtherFunds {
    let PlannedFacts { withdrawal, receiver, .. } = facts;
    let attribution = attribute(receiver, policy, today);
    let claims = claims(&attribution);
    if attribution.is_unowned || claims.is_empty() {
        return OtherFunds::default();
    }
    let payments = payments(facts, today);
    let mut found = OtherFunds::default();
    for rule in policy.rules().iter().filter_map(by_amount) {
        let fired = payments.iter().find_map(|payment| {
            let fired = evaluate(&payment.stated(&rule)?, &payment.view(&claims), policy)?;
            Some((payment, fired.can_block))
        });
        if let Some((payment, can_block)) = fired {
            let message = format!(
                "{}: this payment of {payment} goes there{}",
                rule.description.trim_end_matches('.'),
                party(&attribution),
            );
            found.rules.push(MinimumScore {
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
            });
        } else {
            let may_fire = payments.iter().any(|payment| {
                let any = payment.unmeasured(&rule);
                any.is_some_and(|rule| evaluate(&rule, &payment.view(&claims), policy).is_some())
            });
            if may_fire && found.missing.is_none() {
                found.missing = Some(unmeasured(withdrawal, &rule));
            }
        }
    }
    found
}

/// The data that a rule by amount lacks about a payment.
fn unmeasured(withdrawal: &PlannedWithdrawal, rule: &Rule) -> MissingData {
    let PlannedAsset { text, known } = &withdrawal.asset;
    let lacking = match known {
        Some(known) => format!("the price of {} is", known.ticker),
        None => format!("the decimals and the price of the asset {text} are"),
    };
    let message = format!(
        "the rule {} holds from an amount on, and {lacking} not known: whether this payment meets it is not known",
        rule.id
    );
    MissingData { reason: VerdictReason { code: "payment_unmeasured", message }, source: None }
}

/// The rule without the alternatives that a single payment cannot meet: those that ask for a share of funds. `None` if
/// no alternative is left.
fn by_amount(rule: &Rule) -> Option<Rule> {
    with_alternatives(rule, |alternative| {
        let thresholds = &alternative.thresholds;
        thresholds.share.is_none()
            && thresholds.recent_share.is_none()
            && thresholds.recent_part.is_none()
    })
}

/// The rule with the alternatives that meet a condition. `None` if no alternative does.
fn with_alternatives(rule: &Rule, meets: impl Fn(&Alternative) -> bool) -> Option<Rule> {
    let alternatives: Vec<_> =
        rule.alternatives.iter().filter(|alternative| meets(alternative)).cloned().collect();
    (!alternatives.is_empty()).then(|| Rule { alternatives, ..rule.clone() })
}

/// The amount of a payment in one unit.
#[derive(Clone, Copy)]
struct Payment<'a> {
    /// Amount in base units.
    amount: u128,
    unit: &'a str,
    measure: Measure,
}

/// Least amounts of a rule, by unit.
type Amounts = BTreeMap<String, Quantity>;

/// Knowledge about a unit of amounts.
#[derive(Clone, Copy)]
enum Measure {
    /// The amount in dollars, by the price of the day.
    Dollars,
    /// The asset, whose value in dollars is known besides: only amounts of the asset itself are compared.
    Priced { decimals: u8 },
    /// The asset, whose value in dollars is estimated by its order of worth, if that is known.
    Unpriced { decimals: u8 },
    /// The asset, whose decimals are not known: no amount is compared.
    Unknown,
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
            decimals: self.decimals().unwrap_or_default(),
            funds: vec![funds],
        }
    }

    /// The rule with the alternatives whose amounts can be compared with the payment. `None` if none is left.
    fn stated(&self, rule: &Rule) -> Option<Rule> {
        with_alternatives(rule, |alternative| {
            let amounts = &alternative.thresholds.amounts;
            amounts.is_empty() || self.is_comparable(amounts)
        })
    }

    /// The rule as it would hold for any amount, with the alternatives whose amounts would be compared with the payment
    /// if its value were known. `None` if none is left.
    fn unmeasured(&self, rule: &Rule) -> Option<Rule> {
        let mut rule = with_alternatives(rule, |alternative| {
            let amounts = &alternative.thresholds.amounts;
            match self.measure {
                Measure::Dollars | Measure::Priced { .. } => false,
                Measure::Unpriced { .. } => {
                    amounts.contains_key(DOLLARS) && !self.is_comparable(amounts)
                }
                // Any of the units may be that of the token.
                Measure::Unknown => !amounts.is_empty(),
            }
        })?;
        for alternative in &mut rule.alternatives {
            alternative.thresholds.amounts.clear();
        }
        Some(rule)
    }

    fn is_comparable(&self, amounts: &Amounts) -> bool {
        match self.measure {
            Measure::Dollars | Measure::Unpriced { .. } => {
                Policy::amount_in(amounts, self.unit).is_some()
            }
            Measure::Priced { .. } => amounts.contains_key(self.unit),
            Measure::Unknown => false,
        }
    }

    const fn decimals(&self) -> Option<u8> {
        match self.measure {
            Measure::Dollars => Some(USD_DECIMALS),
            Measure::Priced { decimals } | Measure::Unpriced { decimals } => Some(decimals),
            Measure::Unknown => None,
        }
    }
}

impl fmt::Display for Payment<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decimals() {
            Some(decimals) => {
                write!(formatter, "{} {}", whole_units(self.amount, decimals), self.unit)
            }
            None => write!(formatter, "{} base units of {}", self.amount, self.unit),
        }
    }
}

/// The payment in the asset's own unit, and in US dollars if the price of the day is known.
fn payments(facts: &PlannedFacts, today: Date) -> Vec<Payment<'_>> {
    let PlannedWithdrawal { asset, amount, .. } = &facts.withdrawal;
    let own = |measure| Payment { amount: *amount, unit: asset.unit(), measure };
    let Some(known) = asset.known else { return vec![own(Measure::Unknown)] };
    let decimals = known.decimals;
    match dollars(facts, known, today) {
        Some(dollars) => vec![own(Measure::Priced { decimals }), dollars],
        None => vec![own(Measure::Unpriced { decimals })],
    }
}

/// The payment in US dollars by the price of the day; `None` if no price is known.
fn dollars(facts: &PlannedFacts, asset: KnownAsset, today: Date) -> Option<Payment<'static>> {
    let price = facts.receiver.prices.on(asset.id, today)?.price;
    let value = price.value(U256::from(facts.withdrawal.amount), asset.decimals)?;
    Some(Payment { amount: value.micros(), unit: DOLLARS, measure: Measure::Dollars })
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
