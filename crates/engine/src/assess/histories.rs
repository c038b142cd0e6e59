//! The verdict where histories were read account by account (`docs/model/accounts.md` D): it holds if it would be the same
//! whatever the unread money is, or if little is unread.

use std::fmt::Write;

use assay_address::CanonicalAddress;
use jiff::Timestamp;
use ruint::aliases::U256;

use super::{OtherFunds, assess_with, flows::percent, verdict::MissingData};
use crate::{
    assessment::VerdictReason,
    evidence::{
        ChainState, DirectionFlows, FlowDistance, FlowEnd, FlowPart, Ledger, ReadHistories,
        SevereParties, Tier, UnresolvedReason,
    },
    facts::Facts,
    policy::Policy,
    score::{Confidence, Verdict},
    taxonomy::Category,
};

/// The whole, in millionths.
const WHOLE: u128 = 1_000_000;
/// Fewest requests before little unread money permits an `allow`.
const LEAST_REQUESTS: u32 = 10;
/// Limit of severe money, in millionths, of an address that received no more than [`LARGE_RECEIVED`].
const LIMIT: u128 = 100_000;
/// Least limit of severe money of an address that received more.
const LEAST_LIMIT: u128 = 20_000;
/// Severe money that is too much for any address, in US cents: 50,000 dollars.
const LARGE_SEVERE: u128 = 5_000_000;
/// Received money from which on the limit falls, in US cents: 500,000 dollars.
const LARGE_RECEIVED: u128 = 50_000_000;
/// Held money from which on its unread share counts, in US cents: 1,000 dollars.
const LEAST_HELD: u128 = 100_000;
/// Unit of ledgers in dollars, whose amounts are cents.
const DOLLARS: &str = "USD";
/// Inverse of the least part of all money that the last 90 days must be for their share to count.
const RECENT_ONE_IN: u128 = 4;
/// Multiple of the limit of severe money that may be unread.
const UNREAD_LIMITS: u128 = 2;
/// Severe share that unread money is taken to have, in millionths, beside [`TIMES_FOUND`] times what was found.
const TAKEN_SEVERE: u128 = 50_000;
/// Multiple of the severe share that was found, for unread money.
const TIMES_FOUND: u128 = 10;
/// Lowest severity of severe money.
const SEVERE_FROM: u8 = 80;
/// Category that stands for unread money where it is taken as severe.
const TAKEN_AS: Category = Category::StolenFunds;

/// Code of the reason for an `allow` although a little money was not followed.
const PARTLY_READ: &str = "histories_partly_read";

/// True for the reason that a little money was not followed.
pub(super) fn is_partly_read(reason: &VerdictReason) -> bool {
    reason.code == PARTLY_READ
}

/// True if the histories that were read suffice: every further one leaves the verdict as it is.
#[must_use]
pub fn histories_suffice(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    now: Timestamp,
) -> bool {
    of(facts).is_none_or(|read| unread(subject, facts, policy, (read, now)).is_none())
}

/// True if lists and labels alone lead to a review or a block.
#[must_use]
pub fn is_decided_by_lists(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    now: Timestamp,
) -> bool {
    let verdict = assess_with(subject, facts, policy, now, OtherFunds::default()).verdict;
    matches!(verdict, Verdict::Review | Verdict::Block)
}

/// Effect of unread histories on the verdict.
pub(super) enum Unread {
    /// They permit the verdict, for a reason to be told.
    Little(VerdictReason),
    /// They withhold an `allow`.
    Much(MissingData),
}

/// The histories that were read account by account; `None` where all transfers of the chain are recorded.
pub(super) fn of(facts: &Facts) -> Option<&ReadHistories> {
    match &facts.chain {
        ChainState::Followed(chain) => chain.flows.histories.as_deref(),
        ChainState::NotFollowed | ChainState::Unavailable(_) => None,
    }
}

/// Returns the effect of unread histories; `None` if every history was read, or if the verdict is the same whatever the unread
/// money is.
pub(super) fn unread(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    (read, now): (&ReadHistories, Timestamp),
) -> Option<Unread> {
    let ChainState::Followed(chain) = &facts.chain else { return None };
    let shares: Vec<Shares> = chain.flows.ledgers.iter().map(Shares::of).collect();
    let limits = chain.flows.account.as_deref();
    let lacks_receipts =
        read.lacks_receipts || limits.is_some_and(|limits| limits.has_unrecorded_money);
    if !read.is_subject_whole || lacks_receipts {
        return Some(Unread::Much(missing(read, lacks_receipts, &shares)));
    }
    let verdict =
        |facts: &Facts| assess_with(subject, facts, policy, now, OtherFunds::default()).verdict;
    let clean = verdict(&without_histories(facts, |_| {}));
    let severe = verdict(&without_histories(facts, take_as_severe));
    if clean == severe {
        return None;
    }
    let is_little = clean == Verdict::Allow
        && read.requests >= LEAST_REQUESTS
        && shares.iter().all(|shares| shares.permit(read));
    Some(if is_little {
        let message = sentence_of_little(&shares);
        Unread::Little(VerdictReason { code: PARTLY_READ, message })
    } else {
        Unread::Much(missing(read, false, &shares))
    })
}

/// The facts with each part of received and held money changed, as if all histories had been read.
fn without_histories(facts: &Facts, change: impl Fn(&mut FlowPart)) -> Facts {
    let mut facts = facts.clone();
    if let ChainState::Followed(chain) = &mut facts.chain {
        chain.flows.histories = None;
        for ledger in &mut chain.flows.ledgers {
            let parts = ledger.source.parts.iter_mut().chain(&mut ledger.held.parts);
            parts.for_each(&change);
        }
    }
    facts
}

fn take_as_severe(part: &mut FlowPart) {
    if is_unread(part.end) {
        part.end = FlowEnd::Attributed(TAKEN_AS);
        part.tier = Tier::Investigation;
        part.confidence = Confidence::CERTAIN;
        part.is_direct = false;
        part.distance = FlowDistance::Hops(2);
    }
}

/// True for money whose origin was not read.
const fn is_unread(end: FlowEnd) -> bool {
    matches!(
        end,
        FlowEnd::Unresolved(UnresolvedReason::TraceLimit | UnresolvedReason::UnknownOrigin)
    )
}

fn is_severe(end: FlowEnd) -> bool {
    end.category().is_some_and(|category| category.info().severity >= SEVERE_FROM)
}

/// Unread and severe shares of a ledger, in millionths, each the greatest of those of all money received, of the last 90 days, and of
/// what is held.
#[derive(Clone, Copy, Debug)]
struct Shares {
    unread: u128,
    severe: u128,
    limit: u128,
    /// All money received, with and without what went round with a counterparty.
    received: [u128; 2],
}

impl Shares {
    fn of(ledger: &Ledger) -> Self {
        let lifetime = Sums::of(&ledger.source, |part| part.amount);
        let recent = Sums::of(&ledger.source, |part| part.recent);
        let held = Sums::of(&ledger.held, |part| part.amount);
        let received = [ledger.source.received(), lifetime.all];
        let mut bases = vec![lifetime];
        if recent.all.saturating_mul(RECENT_ONE_IN) >= lifetime.all {
            bases.push(recent);
        }
        if ledger.unit != DOLLARS || held.all >= LEAST_HELD {
            bases.push(held);
        }
        let most = |of: fn(&Sums) -> u128| bases.iter().map(of).max().unwrap_or(0);
        let limit = if ledger.unit == DOLLARS && lifetime.all > LARGE_RECEIVED {
            LEAST_LIMIT.max(LARGE_SEVERE.saturating_mul(WHOLE) / lifetime.all)
        } else {
            LIMIT
        };
        let (unread, severe) = (most(Sums::unread_share), most(Sums::severe_share));
        Self { unread, severe, limit, received }
    }

    /// True if little enough is unread for an `allow`.
    fn permit(&self, read: &ReadHistories) -> bool {
        let Self { unread, severe, limit, received: [gross, whole] } = *self;
        // Shares of payers are those of all money: what went round must not dilute them.
        let of_whole = |share: u32| u128::from(share).saturating_mul(gross).div_ceil(whole.max(1));
        let without_payer = unread.saturating_sub(of_whole(read.of_payers));
        let taken = TAKEN_SEVERE.saturating_add(severe.saturating_mul(TIMES_FOUND));
        let expected = severe.saturating_add(unread.saturating_mul(taken) / WHOLE);
        unread <= limit.saturating_mul(UNREAD_LIMITS)
            && without_payer <= limit
            && of_whole(read.largest_unread) <= limit
            && of_whole(read.reached_unread).saturating_mul(5) <= limit
            && expected.saturating_mul(5) <= limit.saturating_mul(4)
    }
}

/// Sums of money on one basis.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    all: u128,
    unread: u128,
    severe: u128,
}

impl Sums {
    fn of(flows: &DirectionFlows, amount: impl Fn(&FlowPart) -> u128) -> Self {
        let mut sums = Self::default();
        for part in flows.parts.iter().filter(|part| part.end != FlowEnd::Returned) {
            let amount = amount(part);
            let mut counted = amount;
            if is_unread(part.end) {
                sums.unread = sums.unread.saturating_add(amount);
            } else if is_severe(part.end) {
                sums.severe = sums.severe.saturating_add(amount);
            } else {
                counted = outstanding(part, amount);
            }
            sums.all = sums.all.saturating_add(counted);
        }
        sums
    }

    fn unread_share(&self) -> u128 {
        share(self.unread, self.all)
    }

    fn severe_share(&self) -> u128 {
        share(self.severe, self.all)
    }
}

/// The part of an amount that counts in the whole: without what went round with a counterparty (B7).
fn outstanding(part: &FlowPart, amount: u128) -> u128 {
    match part.outstanding {
        Some(outstanding) if part.amount > 0 => {
            let product = U256::from(amount) * U256::from(outstanding);
            u128::try_from(product / U256::from(part.amount)).unwrap_or(amount)
        }
        _ => amount,
    }
}

/// A part in millionths of the whole, rounded up.
fn share(part: u128, whole: u128) -> u128 {
    if whole == 0 { 0 } else { part.saturating_mul(WHOLE).div_ceil(whole) }
}

fn in_percent(millionths: u128) -> String {
    if millionths == 0 {
        "0 %".to_owned()
    } else {
        percent(u32::try_from(millionths).unwrap_or(u32::MAX))
    }
}

fn sentence_of_little(shares: &[Shares]) -> String {
    let unread = shares.iter().map(|it| it.unread).max().unwrap_or(0);
    let limit = shares.iter().map(|it| it.limit).min().unwrap_or(LIMIT);
    format!(
        "{} of the money was followed, without severe money above the limits; {} was not, of no payer more than {}. If 5 % of it \
         were severe, and ten times the share that was found, the verdict would be the same",
        in_percent(WHOLE.saturating_sub(unread)),
        in_percent(unread),
        in_percent(limit),
    )
}

fn missing(read: &ReadHistories, lacks_receipts: bool, shares: &[Shares]) -> MissingData {
    let ReadHistories { api, requests, is_subject_whole, stopped, .. } = read;
    let unread = shares.iter().map(|it| it.unread).max().unwrap_or(0);
    let plural = if *requests == 1 { "" } else { "s" };
    let mut message = if lacks_receipts {
        "the address has or spent more than what was read gives it: transfers to it are missing"
            .to_owned()
    } else if *is_subject_whole {
        format!(
            "the origin of {} of the money is not known: the histories of its payers were not read",
            in_percent(unread)
        )
    } else {
        "not all transfers of the address were read".to_owned()
    };
    let _ = write!(message, " ({requests} request{plural} to {api}");
    if let Some(stopped) = stopped {
        message.push_str("; ");
        message.push_str(stopped.in_words());
    }
    message.push(')');
    MissingData { reason: VerdictReason { code: "histories_unread", message }, source: None }
}

impl ReadHistories {
    /// The details of the coverage of exposure.
    pub(super) fn details(&self) -> String {
        let Self { api, requests, accounts, rows, .. } = self;
        let mut detail = format!(
            "; reported by {api}, not checked against the chain: {rows} transfers of the address and {accounts} other \
             accounts, {requests} requests"
        );
        let SevereParties { all, read } = self.severe_parties;
        if all > 0 {
            let _ = write!(
                detail,
                "; payees in the newest transfers of {read} of {all} listed and severe addresses were read beforehand"
            );
        }
        let mut lacks: Vec<&str> = Vec::new();
        if self.lacks_internal_transfers {
            lacks.push("no transfers inside of transactions");
        }
        if self.lacks_order {
            lacks.push("no order of transfers within a block");
        }
        if self.lacks_exchange_orders {
            lacks.push("no payments by orders on exchanges of the chain itself");
        }
        if self.lacks_freezes {
            lacks.push("no freezes by issuers of tokens yet");
        }
        if !lacks.is_empty() {
            detail.push_str("; it states ");
            detail.push_str(&lacks.join(", "));
        }
        if !self.other_balances.is_empty() {
            let assets = self.other_balances.join(", ");
            detail.push_str("; it states another balance than its transfers amount to of ");
            detail.push_str(&assets);
        }
        if let Some(stopped) = self.stopped {
            detail.push_str("; reading stopped because ");
            detail.push_str(stopped.in_words());
        }
        detail
    }
}
