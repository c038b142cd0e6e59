//! Warnings and reasons about flows that do not change the score: dust, direct dealings of services with listed
//! parties, and funds that were not traced.

use super::{
    Flows,
    minimum_scores::{names, percent},
    parts::{DirectionalFlows, Part, SHARE_WHOLE},
    view::whole_units,
};
use crate::{
    assess::verdict::MissingData,
    assessment::{VerdictReason, Warning},
    evidence::{Direction, FlowEnd, Solicitation, UnresolvedReason},
    ledger::mass,
    policy::Policy,
};

impl Flows<'_> {
    /// Warnings about dust and, for a service, whose flows are not scored, about direct dealings with listed parties.
    pub(in crate::assess) fn warnings(&self, is_service: bool) -> Vec<Warning> {
        let dust = self.directions.iter().filter_map(DirectionalFlows::dust);
        let dealings = self.directions.iter().filter(|_| is_service);
        dust.chain(dealings.filter_map(DirectionalFlows::dealings_with_listed)).collect()
    }

    /// The share of all received funds whose origin was found, in millionths, in the ledger with the lowest share;
    /// `None` if nothing was received.
    pub(in crate::assess) fn traced_share(&self) -> Option<u32> {
        let received = self.directions.iter().filter(|flows| flows.direction == Direction::Source);
        let traced =
            received.filter(|flows| flows.parts.iter().any(Part::is_of_whole)).map(|flows| {
                let found = flows.parts.iter().filter(|part| !part.is_unresolved());
                found.map(|part| part.share).sum::<u64>()
            });
        traced.min().and_then(|share| u32::try_from(share).ok())
    }

    /// The reason that most funds have no known origin, which limits what the answer shows.
    pub(in crate::assess) fn mostly_untraced(&self) -> Option<VerdictReason> {
        let share = self.traced_share().filter(|share| u64::from(*share) * 2 < SHARE_WHOLE)?;
        let message =
            format!("the origin of only {} of the funds received was found", percent(share));
        Some(VerdictReason { code: "mostly_untraced", message })
    }

    /// The reasons that a trace stopped at a limit before the trace found the origin, or destination, of a large share
    /// of the funds.
    pub(in crate::assess) fn trace_limits(&self) -> Vec<VerdictReason> {
        let unread = self.unread().into_iter().filter(|unread| unread.share >= UNREAD_FROM);
        unread
            .map(|unread| VerdictReason { code: "trace_limit", message: unread.sentence() })
            .collect()
    }

    /// The reasons against an `allow` under a policy that permits a smaller share of unread funds.
    pub(in crate::assess) fn unread_beyond(&self, policy: &Policy) -> Vec<MissingData> {
        let Some(most) = policy.spec().maximum_unread else { return Vec::new() };
        let beyond = self.unread().into_iter().filter(|unread| unread.share > most.millionths());
        let missing = beyond.map(|unread| {
            let message =
                format!("{}; the policy permits {}", unread.sentence(), short(most.millionths()));
            MissingData { reason: VerdictReason { code: "flows_unread", message }, source: None }
        });
        missing.collect()
    }

    /// For each direction, the unread share of the ledger with the largest unread share.
    fn unread(&self) -> Vec<UnreadShare> {
        let of = |direction| {
            let flows = self.directions.iter().filter(|flows| flows.direction == direction);
            flows.map(DirectionalFlows::unread).max_by_key(|unread| unread.share)
        };
        [Direction::Source, Direction::Destination].into_iter().filter_map(of).collect()
    }

    /// The reason against an `allow` for money that came in exchange for another asset: a tenth or more of all funds
    /// received, of those of the last 90 days where they are a quarter of all, or of what the address holds.
    pub(in crate::assess) fn conversions(&self) -> Option<MissingData> {
        let received = self.directions.iter().filter(|flows| flows.direction == Direction::Source);
        let received = received.map(|flows| (flows.conversions(), "received"));
        let held = self.held.iter().filter(|flows| flows.is_of_accounts());
        let held = held.map(|flows| (flows.conversions(), "held"));
        let (share, verb) = received.chain(held).max_by_key(|(share, _)| *share)?;
        (share >= CONVERTED_FROM).then(|| MissingData {
            reason: VerdictReason {
                code: "conversion_unresolved",
                message: format!(
                    "{} of the funds {verb} came in exchange for another asset: where such funds come from is \
                     not known",
                    percent(share)
                ),
            },
            source: None,
        })
    }

    /// The reason against an `allow` under a policy that requires a larger traced share of the funds.
    pub(in crate::assess) fn untraced(&self, policy: &Policy) -> Option<MissingData> {
        let least = policy.spec().minimum_traced?;
        let share = self.traced_share().filter(|share| *share < least.millionths())?;
        let message = format!(
            "the origin of {} of the funds received was found; the policy requires {}",
            percent(share),
            percent(least.millionths()),
        );
        Some(MissingData {
            reason: VerdictReason { code: "flows_untraced", message },
            source: None,
        })
    }
}

/// Smallest share of conversions that withholds an `allow`, in millionths.
const CONVERTED_FROM: u32 = 100_000;

/// Inverse of the smallest part of all funds that the last 90 days must be for their conversions to count.
const RECENT_ONE_IN: u128 = 4;

/// Smallest unread share of a direction that a reason reports, in millionths.
const UNREAD_FROM: u32 = 100_000;

/// The funds of a direction that a trace did not follow because of the trace's limits.
struct UnreadShare {
    direction: Direction,
    /// Share of all funds of the direction, in millionths.
    share: u32,
    /// Number of transactions that the trace passed, besides the subject's own.
    transactions: u32,
}

impl UnreadShare {
    fn sentence(&self) -> String {
        let stopped = match self.transactions {
            0 => "did not read all transactions of the address".to_owned(),
            1 => "stopped reading after 1 transaction".to_owned(),
            more => format!("stopped reading after {} transactions", thousands(more)),
        };
        let what = match self.direction {
            Direction::Source => "origin",
            Direction::Destination => "destination",
        };
        let share = short(self.share);
        format!("Assay {stopped}; the {what} of {share} of the money is not known")
    }
}

/// A number with its thousands set apart, such as `100,000`.
fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats millionths as percent with one decimal, without a trailing zero.
fn short(millionths: u32) -> String {
    percent(millionths).replace(".0 %", " %")
}

impl DirectionalFlows<'_> {
    fn unread(&self) -> UnreadShare {
        let limit = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
        let unread = self.parts.iter().filter(|part| part.flow.end == limit);
        let share = unread.map(|part| part.share).sum::<u64>();
        UnreadShare {
            direction: self.direction,
            share: u32::try_from(share).unwrap_or(u32::MAX),
            transactions: self.transactions,
        }
    }

    /// The share of funds that came in exchange for another asset, in millionths: of all funds, or of those of the last
    /// 90 days where they are a quarter of all.
    fn conversions(&self) -> u32 {
        let conversion = FlowEnd::Unresolved(UnresolvedReason::Conversion);
        let (mut converted, mut whole) = ([0_u128; 2], [0_u128; 2]);
        for part in self.parts.iter().filter(|part| part.is_of_whole()) {
            let flow = part.flow;
            let is_conversion = flow.end == conversion;
            // What went round with a counterparty dilutes nothing.
            let all = if is_conversion { flow.amount } else { part.outstanding(flow.amount) };
            let recent = if is_conversion { flow.recent } else { part.outstanding(flow.recent) };
            for (index, amount) in [all, recent].into_iter().enumerate() {
                if let (Some(converted), Some(whole)) =
                    (converted.get_mut(index), whole.get_mut(index))
                {
                    *whole = whole.saturating_add(amount);
                    if is_conversion {
                        *converted = converted.saturating_add(amount);
                    }
                }
            }
        }
        let share = |index: usize| {
            let (part, all) = (converted.get(index)?, whole.get(index)?);
            let share = mass::share(SHARE_WHOLE.into(), *part, *all);
            u32::try_from(share).ok()
        };
        let [all, recent] = whole;
        let is_much = recent.saturating_mul(RECENT_ONE_IN) >= all;
        share(0).into_iter().chain(share(1).filter(|_| is_much)).max().unwrap_or(0)
    }

    /// The warning about dust that is not scored.
    fn dust(&self) -> Option<Warning> {
        let is_dust =
            |part: &&Part<'_>| part.flow.solicitation == Solicitation::Dust && !part.counted;
        let (amount, from) = self.sum_of(is_dust)?;
        let message = format!("{amount} of dust received{from}: it is not scored");
        Some(Warning { code: "dust", message })
    }

    fn dealings_with_listed(&self) -> Option<Warning> {
        let is_dealing = |part: &&Part<'_>| {
            part.flow.listed && part.flow.is_direct && !part.flow.solicitation.is_unasked()
        };
        let (amount, with) = self.sum_of(is_dealing)?;
        let verb = self.verb();
        let message = format!(
            "the service {verb} {amount} directly{with}: flows of a service are not scored"
        );
        Some(Warning { code: "service_listed_counterparty", message })
    }

    /// The sum of the selected flow parts with the unit, and the names of the parts' parties; `None` if no flow part is
    /// selected.
    fn sum_of(&self, takes: impl Fn(&&Part<'_>) -> bool) -> Option<(String, String)> {
        let parts: Vec<&Part<'_>> = self.parts.iter().filter(takes).collect();
        if parts.is_empty() {
            return None;
        }
        let sum = parts.iter().map(|part| part.flow.amount).fold(0, u128::saturating_add);
        let names = names(&parts);
        let preposition = match self.direction {
            Direction::Source => "from",
            Direction::Destination => "to",
        };
        let parties = if names.is_empty() {
            String::new()
        } else {
            format!(" {preposition} {}", names.join(", "))
        };
        Some((format!("{} {}", whole_units(sum, self.decimals), self.unit), parties))
    }
}

impl Part<'_> {
    const fn is_unresolved(&self) -> bool {
        matches!(self.flow.end, FlowEnd::Unresolved(_))
    }
}
