//! A label as evidence: its component of the score and its reason, which are written only if they are shown.

use crate::{
    assess::{
        Term, TermEvidence,
        claims::Claim,
        cluster,
        references::{address_reference, transaction_reference},
    },
    assessment::{ComponentKind, EvidenceKind, EvidenceReference, ScoringComponent, VerdictReason},
    evidence::{Label, Tier},
    facts::{AccountControl, ClusterMember, SameKey},
    fixed::Fraction,
    policy::Policy,
    score::{Confidence, Score},
    taxonomy::RISKY_FROM,
};

/// A label that counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::assess) struct LabelEvidence<'f> {
    pub(in crate::assess) label: &'f Label,
    /// Tier as which the label counts.
    pub(in crate::assess) tier: Tier,
    /// Confidence with which the label counts.
    pub(in crate::assess) confidence: Confidence,
    /// Severity of the category under the policy.
    pub(in crate::assess) severity: u8,
    pub(in crate::assess) holder: LabeledParty<'f>,
}

/// The address that has a label.
#[derive(Clone, Copy, Debug)]
pub(in crate::assess) enum LabeledParty<'f> {
    Subject,
    /// A member of the subject's cluster.
    Member(&'f ClusterMember),
    /// Another address of the subject's key.
    SameKey(&'f SameKey),
}

impl<'f> LabelEvidence<'f> {
    /// The label as a term; `upstream` is the number of its upstream.
    pub(in crate::assess) fn term(self, upstream: u32, policy: &Policy) -> Term<'f> {
        // Benign claims of several parties agree, and do not add up to a risk.
        let claim = if self.severity >= RISKY_FROM {
            Claim::of_upstream(upstream)
        } else {
            Claim::benign(self.label.category)
        };
        Term {
            rank: self.tier.into(),
            standalone_risk: policy.risk(self.severity, self.confidence),
            claim: Some(claim),
            evidence: TermEvidence::Label(self),
        }
    }

    /// Bytes of the texts that a component or a reason shows.
    pub(in crate::assess) fn text_bytes(&self) -> usize {
        let name = self.label.entity.as_deref().map_or(0, str::len);
        2 * name + self.label.upstream.len()
    }

    /// The component of the score.
    pub(in crate::assess) fn component(&self, standalone_risk: Fraction) -> ScoringComponent {
        let Self { label, tier, confidence, severity, holder } = *self;
        let name = label.entity.as_deref().unwrap_or("name not known");
        let category = label.category;
        let kind = match holder {
            LabeledParty::Subject => ComponentKind::Ownership,
            LabeledParty::Member(_) | LabeledParty::SameKey(_) => ComponentKind::Association,
        };
        let (evidence, detail) = match holder {
            LabeledParty::Subject => {
                (vec![reference(label)], format!("labelled {category}: {name}"))
            }
            LabeledParty::Member(member) => {
                let mut evidence = vec![reference(label), address_reference(&member.address)];
                let transactions = cluster::transactions(member);
                evidence.extend(transactions.iter().map(|txid| transaction_reference(txid)));
                let detail = format!(
                    "same owner as {}, as co-spends show; that address is labelled {category}: {name}",
                    member.address
                );
                (evidence, detail)
            }
            LabeledParty::SameKey(other) => {
                let evidence = vec![address_reference(&other.address), reference(label)];
                (evidence, same_key(other, label))
            }
        };
        ScoringComponent {
            kind,
            standalone_score: Score::from_fraction(standalone_risk),
            detail,
            category: Some(category),
            entity: label.entity.as_deref().map(str::to_owned),
            tier: Some(tier),
            severity: Some(severity),
            confidence: Some(confidence),
            source: Some(label.source.clone()),
            evidence,
            ..ScoringComponent::default()
        }
    }

    /// The reason for the verdict.
    pub(in crate::assess) fn reason(&self) -> VerdictReason {
        let Label { category, entity, source, .. } = self.label;
        let name = entity.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let labelled = format!("labelled {category}{name} by {source}");
        match self.holder {
            LabeledParty::Subject => VerdictReason { code: "labeled", message: labelled },
            LabeledParty::Member(member) => VerdictReason {
                code: "cluster_labeled",
                message: format!(
                    "same owner as {}, as co-spends show; it is {labelled}",
                    member.address
                ),
            },
            LabeledParty::SameKey(other) => {
                VerdictReason { code: "same_key_labeled", message: same_key(other, self.label) }
            }
        }
    }
}

impl SameKey {
    /// Strongest tier that a label of the address can have for another address of its key.
    pub(in crate::assess) fn strongest_label(&self) -> Tier {
        match self.control {
            AccountControl::Contract => Tier::Heuristic,
            AccountControl::Key | AccountControl::Unknown => Tier::OnChainProof,
        }
    }
}

fn same_key(other: &SameKey, label: &Label) -> String {
    let name = label.entity.as_deref().unwrap_or("name not known");
    format!(
        "controlled by the same key as {} address {}, labelled {}: {name}",
        other.address.chain(),
        other.address,
        label.category
    )
}

/// A reference to the label that makes a claim.
fn reference(label: &Label) -> EvidenceReference {
    EvidenceReference {
        kind: EvidenceKind::Label,
        reference: format!("{} ({})", label.source, label.upstream),
    }
}
