//! Flows as an answer shows them.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use jiff::ToSpan;

use super::{
    Flows,
    basis::Decay,
    parts::{DirectionalFlows, Part, PartClaim, SHARE_WHOLE},
    rules::RuleFunds,
};
pub(in super::super) use crate::account::whole_units;
use crate::{
    assessment::{
        Amount, ComponentKind, EvidenceKind, EvidenceReference, Exposure, ExposurePart,
        ExposurePath, ScoringComponent,
    },
    evidence::{
        Direction, FlowDistance, FlowEnd, FlowPart, FlowPath, ListingPeriod, PartyListing,
        Solicitation,
    },
    policy::Role,
    score::Score,
    taxonomy::Category,
    utxo::coinjoin::CoinjoinKind,
};

impl Flows<'_> {
    /// Score components of all flow parts with a claim of a severity above 0, without contributions.
    pub(in crate::assess) fn components(&self) -> Vec<ScoringComponent> {
        let parts = self
            .directions
            .iter()
            .flat_map(|flows| flows.parts.iter().map(move |part| (flows, part)));
        parts
            .filter(|(_, part)| part.is_risk())
            .map(|(flows, part)| flows.component(part, part.shown_claim(), Decay::All))
            .collect()
    }

    /// All flows, scored or not: one line for each party, and separate lines for direct and indirect funds. The flows
    /// of a service do not count for its score.
    pub(in crate::assess) fn exposure(&self, is_service: bool) -> Vec<Exposure> {
        let lines = self.directions.iter().flat_map(DirectionalFlows::exposure);
        lines.map(|line| if is_service { without_score(line) } else { line }).collect()
    }
}

impl DirectionalFlows<'_> {
    /// A flow part as a component of the score, assessed by `claim`.
    pub(super) fn component(
        &self,
        part: &Part<'_>,
        claim: Option<&PartClaim<'_>>,
        decay: Decay,
    ) -> ScoringComponent {
        let flow = part.flow;
        let distance = claim.map_or(flow.distance, |claim| claim.distance).at_least_one();
        let amount = format!("{} {}", whole_units(flow.amount, self.decimals), self.unit);
        let mut detail = detail(self.direction, flow, claim, distance, &amount);
        if part.is_untouched() {
            detail.push_str(UNTOUCHED);
        }
        if let Some(outstanding) = flow.outstanding.filter(|_| !part.is_risky()) {
            let most = whole_units(outstanding, self.decimals);
            let _ = write!(detail, "; at most {most} of {amount} was outstanding at any time");
        }
        ScoringComponent {
            kind: ComponentKind::Exposure,
            standalone_score: Score::from_fraction(self.alone(part, decay)),
            detail,
            category: claim.and_then(|claim| claim.category),
            entity: claim.and_then(|claim| claim.entity).map(str::to_owned),
            tier: Some(claim.map_or(flow.tier, |claim| claim.tier)),
            severity: Some(claim.map_or(0, |claim| claim.severity)),
            confidence: Some(claim.map_or(flow.confidence, |claim| claim.confidence)),
            direction: Some(self.direction),
            hops: distance.hops(),
            share: Some(decimal(part.share)),
            amount: Some(self.amount(flow.amount)),
            evidence: transactions(&flow.transactions),
            ..ScoringComponent::default()
        }
    }

    /// The direction's lines: the line with the largest amount first, unresolved lines last.
    fn exposure(&self) -> Vec<Exposure> {
        let mut lines: Vec<(ExposureLineKey<'_>, ExposureLine)> = Vec::new();
        for part in &self.parts {
            let key = ExposureLineKey::of(part);
            if let Some((_, line)) = lines.iter_mut().find(|(known, _)| *known == key) {
                line.add(part);
            } else {
                let mut line = ExposureLine::default();
                line.add(part);
                lines.push((key, line));
            }
        }
        lines.sort_by(|(a, a_line), (b, b_line)| {
            let unresolved = |key: &ExposureLineKey<'_>| matches!(key.end, FlowEnd::Unresolved(_));
            (unresolved(a), b_line.amount).cmp(&(unresolved(b), a_line.amount))
        });
        lines.into_iter().map(|(key, line)| self.line(&key, line)).collect()
    }

    fn line(&self, key: &ExposureLineKey<'_>, mut line: ExposureLine) -> Exposure {
        line.paths.sort_by_key(|path| std::cmp::Reverse(path.amount));
        line.paths.truncate(MOST_PATHS);
        let mut transactions: Vec<String> = Vec::new();
        let of_paths = line.paths.iter().flat_map(|path| &path.steps).map(|step| &step.transaction);
        for transaction in of_paths.chain(&line.transactions) {
            if !transactions.contains(transaction) {
                transactions.push(transaction.clone());
            }
        }
        Exposure {
            direction: self.direction,
            endpoint_type: key.end.as_str(line.distance()),
            unresolved_reason: match key.end {
                FlowEnd::Unresolved(reason) => Some(reason),
                _ => None,
            },
            coinjoin: key.coinjoin.map(CoinjoinKind::as_str),
            category: key.assessed_as.or(key.end.category()),
            entity: key.entity.map(str::to_owned),
            listing: line.listed_by.as_deref().cloned(),
            amount: self.amount(line.amount),
            assets: std::mem::take(&mut line.assets)
                .into_iter()
                .map(|(asset, amount)| Amount {
                    value: amount.to_string(),
                    asset,
                    usd: None,
                    price_day: None,
                })
                .collect(),
            share: decimal(line.share),
            recent_amount: self.amount(line.recent),
            outstanding: (line.outstanding < line.amount).then(|| self.amount(line.outstanding)),
            before_listing: line.listing.map(|[before, _]| self.amount(before)),
            since_listing: line.listing.map(|[_, since]| self.amount(since)),
            hops: line.distance().hops(),
            further_than_transactions: line.distance().further_than(),
            direct: matches!(key.distance, LineDistance::None | LineDistance::Direct),
            listed: key.listed,
            solicited: !matches!(key.solicitation, Solicitation::Dust | Solicitation::Unsolicited),
            untouched: key.is_untouched,
            dust: key.solicitation == Solicitation::Dust,
            scored: line.scored,
            parts: line.parts.into_iter().map(|funds| self.exposure_part(funds)).collect(),
            transactions,
            paths: line
                .paths
                .into_iter()
                .map(|path| ExposurePath { amount: self.amount(path.amount), steps: path.steps })
                .collect(),
        }
    }

    /// An amount in base units, as a decimal string.
    fn base_units(&self, value: u128) -> String {
        self.of_ledger.in_base_units(value).to_string()
    }

    fn exposure_part(&self, funds: RuleFunds) -> ExposurePart {
        ExposurePart {
            amount: self.base_units(funds.amount),
            recent_amount: self.base_units(funds.recent),
            outstanding: funds.outstanding.map(|outstanding| self.base_units(outstanding)),
            since_listing: funds.since_listing.map(|since| self.base_units(since)),
            scored: funds.scored,
            claims: funds.claims,
        }
    }

    pub(super) fn amount(&self, value: u128) -> Amount {
        let usd = (self.unit == "USD").then(|| format!("{}.{:02}", value / 100, value % 100));
        let value = self.base_units(value);
        Amount { value, asset: self.unit.to_owned(), usd, price_day: None }
    }
}

/// Remark on funds of risky or listed parties that the subject neither asked for nor moved.
pub(super) const UNTOUCHED: &str = "; came unasked and was not moved";

/// Remark on funds that a victim may have got back.
const PAID_BACK: &str =
    "; possibly given back to a victim, who had sent it at least as much before";

/// Marks a line as not counted for the score.
fn without_score(mut line: Exposure) -> Exposure {
    line.scored = false;
    for part in &mut line.parts {
        part.scored = false;
    }
    line
}

/// Describes a flow part: the party, the party's attribution and the distance.
fn detail(
    direction: Direction,
    flow: &FlowPart,
    claim: Option<&PartClaim<'_>>,
    distance: FlowDistance,
    amount: &str,
) -> String {
    let hops = match distance {
        FlowDistance::Hops(hops) => hops,
        FlowDistance::Further(transactions) => return further(flow, claim, transactions),
    };
    let (moved, to_or_from, other_side) = match direction {
        Direction::Source => ("received", "from", "origin"),
        Direction::Destination => ("sent", "to", "destination"),
    };
    let by_label = claim.and_then(|claim| {
        let category = claim.category.filter(|_| claim.category != flow.end.category());
        category.map(|category| (claim, category))
    });
    if let Some((PartClaim { coinjoin: Some(kind), .. }, _)) = by_label {
        let distance = if hops > 1 { format!(" {hops} hops away") } else { String::new() };
        let kind = words(kind.as_str());
        return format!(
            "{moved} through a CoinJoin ({kind}){distance}; {other_side}: {}",
            party(flow)
        );
    }
    if let Some((claim, category)) = by_label {
        let tier = words(claim.tier.as_str());
        let distance = if hops > 1 { format!(" {hops} hops away") } else { String::new() };
        let role = match Role::towards(category, direction, claim.is_paid_back) {
            Role::PossibleVictim if claim.is_paid_back => PAID_BACK,
            _ => "",
        };
        return format!(
            "{moved} via an address labelled {} ({tier}){distance}; {other_side}: {}{role}",
            words(category.as_str()),
            party(flow)
        );
    }
    if let (true, Some(name)) = (flow.listed, &flow.entity) {
        let list = flow.listed_by.as_ref().map(|listing| listing.in_words());
        let list = list.as_deref().unwrap_or("a sanctions list");
        let what = match flow.listing_period {
            Some(ListingPeriod::Before) => before_listing(flow, moved, amount),
            _ => format!("funds {moved}"),
        };
        return match hops {
            1 => format!("direct exposure to a sanctioned party: {name} ({list}); {what}"),
            hops => format!(
                "indirect exposure to a sanctioned party over {hops} hops: {name} ({list}); {what}"
            ),
        };
    }
    if let FlowEnd::Unresolved(reason) = flow.end {
        return format!("{moved}, {other_side} not known ({})", reason.in_words());
    }
    let is_paid_back = claim.is_some_and(|claim| claim.is_paid_back);
    let role = flow.end.category().map(|category| Role::towards(category, direction, is_paid_back));
    let role = match (role, direction) {
        (Some(Role::PossibleVictim), Direction::Destination) => "; possibly lost to it as a victim",
        (Some(Role::PossibleVictim), Direction::Source) => PAID_BACK,
        _ => "",
    };
    match hops {
        1 => format!("{moved} directly {to_or_from} {}{role}", party(flow)),
        hops => format!("{moved} {to_or_from} {} over {hops} hops{role}", party(flow)),
    }
}

/// Describes funds that moved before their party was listed: the amount, the days before the listing, the list's entry
/// and the party's transaction.
fn before_listing(flow: &FlowPart, moved: &str, amount: &str) -> String {
    let mut text = format!("{amount} {moved}");
    let listing = flow.listed_by.as_deref();
    let listed_on = listing.and_then(|listing| listing.listed_on);
    if let Some(days) = flow.days_before_listing {
        let day = listed_on.and_then(|day| day.checked_sub(i64::from(days).days()).ok());
        let latest = if flow.paths.len() > 1 { ", the latest" } else { "" };
        if let Some(day) = day {
            let _ = write!(text, "{latest} on {day}");
        }
        let unit = if days == 1 { "day" } else { "days" };
        let _ = write!(text, ", {days} {unit} before it was listed");
    } else {
        text.push_str(" before it was listed");
    }
    if let Some(day) = listed_on {
        let _ = write!(text, " on {day}");
    }
    if let Some(listing) = listing {
        let _ = write!(text, " as entity {}", listing.entity_id);
    }
    let of_paths = flow.paths.iter().filter_map(|path| path.steps.last());
    let mut transactions: Vec<&String> = of_paths.map(|step| &step.transaction).collect();
    if transactions.is_empty() {
        transactions.extend(flow.transactions.first());
    }
    match transactions.as_slice() {
        [] => {}
        [one] => {
            let _ = write!(text, "; transaction {one}");
        }
        [largest, more @ ..] => {
            let _ = write!(text, "; transactions {largest} and {} more", more.len());
        }
    }
    text
}

/// Describes a flow part whose endpoint lies beyond the trace's last transactions.
fn further(flow: &FlowPart, claim: Option<&PartClaim<'_>>, transactions: u32) -> String {
    let further = match transactions {
        1 => "further than 1 transaction".to_owned(),
        transactions => format!("further than {transactions} transactions"),
    };
    if let Some(claim) = claim.filter(|claim| claim.category != flow.end.category()) {
        let via = match claim.category {
            Some(category) if !claim.is_joint() => format!(
                "via addresses labelled {} ({})",
                words(category.as_str()),
                words(claim.tier.as_str())
            ),
            _ => "through joint transactions".to_owned(),
        };
        return format!("received {via}, {further} away; origin: {}", party(flow));
    }
    let from = match flow.end.category() {
        Some(Category::Miner) | None => party(flow),
        Some(Category::Sanctions) => "sanctioned parties".to_owned(),
        Some(category) => format!("parties labelled {}", words(category.as_str())),
    };
    let before = match flow.listing_period {
        Some(ListingPeriod::Before) => " before they were listed",
        _ => "",
    };
    let path = match &flow.party_of_path {
        Some(party) => format!("; one of the paths begins at {party}"),
        None if !flow.paths.is_empty() => "; one of the paths is shown".to_owned(),
        None => String::new(),
    };
    format!("received from {from}{before}, {further} away{path}")
}

/// Describes the endpoint of a flow part.
fn party(flow: &FlowPart) -> String {
    match (flow.end, &flow.entity) {
        (FlowEnd::Attributed(category), Some(name)) => {
            format!("{} {name}", words(category.as_str()))
        }
        (FlowEnd::Attributed(category), None) => {
            format!("an address labelled {}", words(category.as_str()))
        }
        (FlowEnd::Mining, _) => "newly mined coins".to_owned(),
        (FlowEnd::Bridge, _) => "a bridge to another chain".to_owned(),
        (FlowEnd::Unspent, _) => "an unspent output".to_owned(),
        (FlowEnd::Fee, _) => "a transaction fee".to_owned(),
        (FlowEnd::Returned, _) => "the address itself".to_owned(),
        (FlowEnd::Destroyed, _) => "an address that nobody controls".to_owned(),
        (FlowEnd::Unresolved(reason), _) => format!("not known ({})", reason.in_words()),
    }
}

/// An identifier with spaces instead of underscores.
pub(in super::super) fn words(identifier: &str) -> String {
    identifier.replace('_', " ")
}

/// Most paths that an answer shows for one line.
const MOST_PATHS: usize = 3;

/// The key of an answer's line: flow parts with equal keys are one line.
#[derive(PartialEq, Eq)]
struct ExposureLineKey<'a> {
    end: FlowEnd,
    /// Category of a label on the path, if the label weighs more than the endpoint.
    assessed_as: Option<Category>,
    /// The kind of joint transaction, if the flow part is assessed as a joint transaction.
    coinjoin: Option<CoinjoinKind>,
    entity: Option<&'a str>,
    listed: bool,
    solicitation: Solicitation,
    is_untouched: bool,
    distance: LineDistance,
}

/// Distance of a line's funds from the subject.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineDistance {
    /// The subject holds the funds itself.
    None,
    Direct,
    Indirect,
    /// Beyond the trace's last transactions.
    Further,
}

impl<'a> ExposureLineKey<'a> {
    fn of(part: &Part<'a>) -> Self {
        let flow = part.flow;
        let claim = part.shown_claim();
        let assessed_as = claim.and_then(|claim| claim.category);
        Self {
            end: flow.end,
            assessed_as: assessed_as.filter(|category| Some(*category) != flow.end.category()),
            coinjoin: claim.and_then(|claim| claim.coinjoin),
            entity: flow.entity.as_deref(),
            listed: flow.listed,
            solicitation: flow.solicitation,
            is_untouched: part.is_untouched(),
            distance: match flow.distance {
                FlowDistance::Hops(0) => LineDistance::None,
                FlowDistance::Further(_) => LineDistance::Further,
                _ if claim.is_some_and(PartClaim::is_beyond) => LineDistance::Further,
                _ if flow.is_direct => LineDistance::Direct,
                FlowDistance::Hops(_) => LineDistance::Indirect,
            },
        }
    }
}

/// The totals of one line.
#[derive(Default)]
struct ExposureLine {
    amount: u128,
    recent: u128,
    /// Greatest sum that was outstanding with direct counterparties.
    outstanding: u128,
    share: u64,
    distance: Option<FlowDistance>,
    /// The entry of the list that names the party: of several entries the first in the order of entries.
    listed_by: Option<Arc<PartyListing>>,
    /// Amounts that moved before the listing and since; `None` if no flow part has a known day of listing.
    listing: Option<[u128; 2]>,
    scored: bool,
    parts: Vec<RuleFunds>,
    transactions: Vec<String>,
    paths: Vec<FlowPath>,
    /// Amounts by the asset's ticker.
    assets: BTreeMap<String, u128>,
}

impl ExposureLine {
    fn add(&mut self, part: &Part<'_>) {
        let flow = part.flow;
        self.amount = self.amount.saturating_add(flow.amount);
        self.recent = self.recent.saturating_add(flow.recent);
        self.outstanding = self.outstanding.saturating_add(part.outstanding(flow.amount));
        self.share += part.share;
        let beyond = part.shown_claim().filter(|claim| claim.is_beyond());
        let distance = beyond.map_or(flow.distance, |claim| claim.distance);
        self.distance = self.distance.into_iter().chain([distance]).min();
        self.scored |= part.counted;
        self.listed_by = self.listed_by.take().into_iter().chain(flow.listed_by.clone()).min();
        self.add_funds(part.rule_funds());
        if let Some(period) = flow.listing_period {
            let [before, since] = self.listing.get_or_insert([0, 0]);
            let sum = match period {
                ListingPeriod::Before => before,
                ListingPeriod::Since => since,
            };
            *sum = sum.saturating_add(flow.amount);
        }
        self.transactions.extend(flow.transactions.iter().cloned());
        self.paths.extend(flow.paths.iter().cloned());
        for (ticker, amount) in &flow.assets {
            let sum = self.assets.entry(ticker.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }
}

impl ExposureLine {
    /// Distance of the nearest flow part.
    fn distance(&self) -> FlowDistance {
        self.distance.unwrap_or(FlowDistance::Hops(0))
    }

    /// Adds funds to the line's funds with equal attributions. Funds with a known day of listing stay separate: a sum
    /// would not tell which amount moved both in the last 90 days and since the listing.
    fn add_funds(&mut self, funds: RuleFunds) {
        if funds.claims.is_empty() || funds.amount == 0 {
            return;
        }
        let alike = |known: &&mut RuleFunds| {
            known.since_listing.is_none()
                && funds.since_listing.is_none()
                && known.scored == funds.scored
                && known.claims == funds.claims
        };
        if let Some(known) = self.parts.iter_mut().find(alike) {
            let of = |funds: &RuleFunds| funds.outstanding.unwrap_or(funds.amount);
            let is_net = known.outstanding.or(funds.outstanding).is_some();
            let outstanding = is_net.then(|| of(known).saturating_add(of(&funds)));
            known.amount = known.amount.saturating_add(funds.amount);
            known.recent = known.recent.saturating_add(funds.recent);
            known.outstanding = outstanding;
        } else {
            self.parts.push(funds);
        }
    }
}

/// Formats millionths as a decimal.
pub(in super::super) fn decimal(millionths: u64) -> String {
    format!("{}.{:06}", millionths / SHARE_WHOLE, millionths % SHARE_WHOLE)
}

pub(in super::super) fn transactions<'a>(
    ids: impl IntoIterator<Item = &'a String>,
) -> Vec<EvidenceReference> {
    ids.into_iter()
        .map(|id| EvidenceReference { kind: EvidenceKind::Transaction, reference: id.clone() })
        .collect()
}
