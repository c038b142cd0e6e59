//! How flows are shown.

use super::{
    Flows,
    parts::{Part, SHARE_WHOLE, Way},
};
use crate::{
    assessment::{
        Amount, ComponentKind, EvidenceKind, EvidenceReference, Exposure, ScoringComponent,
    },
    evidence::{Direction, FlowEnd},
    score::Score,
};

impl Flows {
    /// Every part that can carry risk, without contribution.
    pub(in crate::assess) fn components(&self) -> Vec<ScoringComponent> {
        let parts = self.ways.iter().flat_map(|way| way.parts.iter().map(move |part| (way, part)));
        parts.filter(|(_, part)| part.severity > 0).map(|(way, part)| way.component(part)).collect()
    }

    /// All flows, whatever they are worth.
    pub(in crate::assess) fn exposure(&self) -> Vec<Exposure> {
        let parts = self.ways.iter().flat_map(|way| way.parts.iter().map(move |part| (way, part)));
        parts.map(|(way, part)| way.exposure(part)).collect()
    }
}

impl Way {
    pub(super) fn component(&self, part: &Part) -> ScoringComponent {
        let flow = &part.flow;
        let way = match self.direction {
            Direction::Source => "received from",
            Direction::Destination => "sent to",
        };
        let distance = match flow.hops {
            0 | 1 => "directly".to_owned(),
            hops => format!("over {hops} hops"),
        };
        ScoringComponent {
            kind: ComponentKind::Exposure,
            worth: Score::from_fraction(self.alone(part)),
            detail: format!("{way} {} {distance}", flow.end.as_str()),
            category: flow.end.category(),
            entity: flow.entity.clone(),
            tier: Some(flow.tier),
            severity: Some(part.severity),
            confidence: Some(flow.confidence),
            direction: Some(self.direction),
            hops: Some(flow.hops.max(1)),
            share: Some(decimal(part.share)),
            amount: Some(self.amount(flow.amount)),
            evidence: transactions(&flow.transactions),
            ..ScoringComponent::default()
        }
    }

    fn exposure(&self, part: &Part) -> Exposure {
        let flow = &part.flow;
        Exposure {
            direction: self.direction,
            end: flow.end.as_str().to_owned(),
            unresolved_reason: match flow.end {
                FlowEnd::Unresolved(reason) => Some(reason),
                _ => None,
            },
            category: flow.end.category(),
            entity: flow.entity.clone(),
            amount: self.amount(flow.amount),
            share: decimal(part.share),
            hops: flow.hops.max(1),
            listed: flow.listed,
            solicited: flow.solicited,
            transactions: flow.transactions.clone(),
        }
    }

    fn amount(&self, value: u128) -> Amount {
        let usd = (self.unit == "USD").then(|| format!("{}.{:02}", value / 100, value % 100));
        Amount { value: value.to_string(), asset: self.unit.clone(), usd }
    }
}

/// Millionths as a decimal.
fn decimal(millionths: u64) -> String {
    format!("{}.{:06}", millionths / SHARE_WHOLE, millionths % SHARE_WHOLE)
}

pub(super) fn transactions<'a>(
    ids: impl IntoIterator<Item = &'a String>,
) -> Vec<EvidenceReference> {
    ids.into_iter()
        .map(|id| EvidenceReference { kind: EvidenceKind::Transaction, reference: id.clone() })
        .collect()
}
