//! What is said of flows beside their score: dust, dealings of services with listed parties, and money that was
//! not traced.

use super::{
    Flows,
    minimum_scores::{names, percent, whole_units},
    parts::{DirectionalFlows, Part, SHARE_WHOLE},
};
use crate::{
    assess::verdict::Missing,
    assessment::{Reason, Warning},
    evidence::{Direction, FlowEnd, Solicitation},
    policy::Policy,
};

impl Flows {
    /// Warnings about dust and, of a service, about direct dealings with listed parties: its flows are not scored.
    pub(in crate::assess) fn warnings(&self, is_service: bool) -> Vec<Warning> {
        let dust = self.directions.iter().filter_map(DirectionalFlows::dust);
        let dealings = self.directions.iter().filter(|_| is_service);
        dust.chain(dealings.filter_map(DirectionalFlows::dealings_with_listed)).collect()
    }

    /// The share of all received money whose origin was found, in millionths, of the ledger of which least was
    /// found; `None` if nothing was received.
    pub(in crate::assess) fn traced_share(&self) -> Option<u32> {
        let received = self.directions.iter().filter(|flows| flows.direction == Direction::Source);
        let traced =
            received.filter(|flows| flows.parts.iter().any(Part::is_of_whole)).map(|flows| {
                let found = flows.parts.iter().filter(|part| !part.is_unresolved());
                found.map(|part| part.share).sum::<u64>()
            });
        traced.min().and_then(|share| u32::try_from(share).ok())
    }

    /// The reason for which an answer says less than it seems to: the origin of most money was not found.
    pub(in crate::assess) fn mostly_untraced(&self) -> Option<Reason> {
        let share = self.traced_share().filter(|share| u64::from(*share) * 2 < SHARE_WHOLE)?;
        let message =
            format!("the origin of only {} of the funds received was found", percent(share));
        Some(Reason { code: "mostly_untraced", message })
    }

    /// The reason for which an `allow` does not hold under a policy that wants more of the funds traced.
    pub(in crate::assess) fn untraced(&self, policy: &Policy) -> Option<Missing> {
        let least = policy.spec().minimum_traced?;
        let share = self.traced_share().filter(|share| *share < least.millionths())?;
        let message = format!(
            "the origin of {} of the funds received was found; the policy requires {}",
            percent(share),
            percent(least.millionths()),
        );
        Some(Missing { reason: Reason { code: "flows_untraced", message }, source: None })
    }
}

impl DirectionalFlows {
    /// The warning about dust.
    fn dust(&self) -> Option<Warning> {
        let is_dust = |part: &&Part| part.flow.solicitation == Solicitation::Dust;
        let (amount, from) = self.sum_of(is_dust)?;
        let message = format!("{amount} of dust received{from}: it is not scored");
        Some(Warning { code: "dust", message })
    }

    fn dealings_with_listed(&self) -> Option<Warning> {
        let is_dealing = |part: &&Part| {
            part.flow.listed
                && part.flow.is_direct
                && part.flow.solicitation == Solicitation::Solicited
        };
        let (amount, with) = self.sum_of(is_dealing)?;
        let verb = self.verb();
        let message = format!(
            "the service {verb} {amount} directly{with}: flows of a service are not scored"
        );
        Some(Warning { code: "service_listed_counterparty", message })
    }

    /// The amount of some parts with its unit, and their parties; `None` if there are none.
    fn sum_of(&self, takes: impl Fn(&&Part) -> bool) -> Option<(String, String)> {
        let parts: Vec<&Part> = self.parts.iter().filter(takes).collect();
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

impl Part {
    const fn is_unresolved(&self) -> bool {
        matches!(self.flow.end, FlowEnd::Unresolved(_))
    }
}
