//! Endpoints of one direction: funds split by the routes that they took, the most important ones, and the sum of the
//! others.

use std::{cmp::Reverse, collections::BTreeMap};

use assay_address::ChainId;
use assay_engine::{
    evidence::{Direction, PathStep},
    fixed::apportion,
};

use crate::{
    AnswerView, ExposureView,
    text::{Unit, counted, further_than, hops, millionths, percent, short, words},
    tone::Tone,
};

/// Largest number of endpoints of a direction and unit that are drawn by themselves.
const MOST: usize = 10;
/// Largest number of lines about the steps of a path: the first ones, the number of those between, and the last one.
const MOST_STEPS: usize = 4;

/// Endpoints of one direction and unit.
pub(super) struct FlowGroup<'a> {
    pub(super) direction: Direction,
    pub(super) unit: Unit<'a>,
    pub(super) amount: u128,
    pub(super) leaves: Vec<Leaf<'a>>,
}

/// Funds of one endpoint that took one route.
pub(super) struct Leaf<'a> {
    pub(super) name: String,
    pub(super) tone: Tone,
    /// Share of all funds of the direction, in millionths.
    pub(super) share: u64,
    /// Amount in base units.
    pub(super) amount: u128,
    /// Address between the endpoint and the subject, next to the subject.
    pub(super) next: Option<&'a str>,
    route: Route<'a>,
    line: Option<&'a ExposureView>,
}

/// Route of funds.
#[derive(Clone, Copy)]
enum Route<'a> {
    /// Steps from the subject to the endpoint.
    Path(&'a [PathStep]),
    /// No steps are known, or there are none between.
    Unknown,
    /// Several endpoints together.
    Summed,
}

impl Tone {
    fn of(line: &ExposureView) -> Self {
        if line.listed {
            return Self::Severe;
        }
        if matches!(line.endpoint_type.as_str(), "unspent_by_subject" | "returned" | "fee") {
            return Self::Own;
        }
        Self::of_category(line.category.as_deref())
    }
}

/// True for funds that are drawn in the colors of risk: of a listed party, or of a risky category.
#[must_use]
pub fn is_risky(line: &ExposureView) -> bool {
    Tone::of(line) <= Tone::Risky
}

/// Returns the endpoints of a direction by unit, in the order of the answer.
pub(super) fn groups(answer: &AnswerView, direction: Direction) -> Vec<FlowGroup<'_>> {
    let mut found: Vec<FlowGroup<'_>> = Vec::new();
    let chain: ChainId = answer.blockchain;
    for line in answer.exposure.iter().filter(|line| line.direction == direction) {
        let unit = Unit::new(chain, &line.amount.asset);
        let leaves = leaves_of(line);
        let amount = line.amount.base_units();
        match found.iter_mut().find(|group| group.unit == unit) {
            Some(group) => {
                group.amount = group.amount.saturating_add(amount);
                group.leaves.extend(leaves);
            }
            None => found.push(FlowGroup { direction, unit, amount, leaves }),
        }
    }
    for group in &mut found {
        group.arrange();
    }
    found
}

/// Splits an exposure by the routes that its funds took. The parts sum to its amount and share.
fn leaves_of(line: &ExposureView) -> Vec<Leaf<'_>> {
    let amounts = line.paths.iter().map(|path| path.amount.base_units());
    let known = amounts.clone().fold(0_u128, u128::saturating_add);
    let left = line.amount.base_units().saturating_sub(known);
    let mut routes: Vec<(Route<'_>, u128)> =
        line.paths.iter().map(|path| Route::Path(&path.steps)).zip(amounts).collect();
    routes.push((Route::Unknown, left));
    let amounts: Vec<u128> = routes.iter().map(|(_, amount)| *amount).collect();
    let shares = apportion(millionths(&line.share), &amounts);
    let parts = routes.into_iter().zip(shares).filter(|((_, amount), _)| *amount > 0);
    let parts = parts.map(|((route, amount), share)| Leaf {
        name: name(line),
        tone: Tone::of(line),
        share,
        amount,
        next: route.next(),
        route,
        line: Some(line),
    });
    merged(parts.collect())
}

/// Joins the parts of one exposure that reach the subject by one address.
fn merged(parts: Vec<Leaf<'_>>) -> Vec<Leaf<'_>> {
    let mut found: Vec<Leaf<'_>> = Vec::new();
    for part in parts {
        match found.iter_mut().find(|known| known.next == part.next) {
            Some(known) => {
                known.share += part.share;
                known.amount = known.amount.saturating_add(part.amount);
            }
            None => found.push(part),
        }
    }
    found
}

impl<'a> Route<'a> {
    /// Returns the address next to the subject, if it is not the endpoint.
    fn next(self) -> Option<&'a str> {
        let Self::Path(steps) = self else { return None };
        let (_, between) = steps.split_last()?;
        let first = between.first()?;
        Some(first.address.as_deref().unwrap_or(&first.transaction))
    }
}

impl FlowGroup<'_> {
    /// Keeps the most important endpoints and sums up the others; endpoints over one address follow each other.
    fn arrange(&mut self) {
        self.leaves.sort_by_key(|leaf| (leaf.tone > Tone::Risky, Reverse(leaf.amount)));
        if self.leaves.len() > MOST + 1 {
            let others = self.leaves.split_off(MOST);
            let count = u64::try_from(others.len()).unwrap_or(u64::MAX);
            self.leaves.push(Leaf {
                name: counted(count, "more flow", "more flows"),
                tone: others.iter().map(|leaf| leaf.tone).min().unwrap_or(Tone::Plain),
                share: others.iter().map(|leaf| leaf.share).sum(),
                amount: others.iter().fold(0, |sum, leaf| sum.saturating_add(leaf.amount)),
                next: None,
                route: Route::Summed,
                line: None,
            });
        }
        let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
        for (rank, leaf) in self.leaves.iter().enumerate() {
            if let Some(next) = leaf.next {
                ranks.entry(next).or_insert(rank);
            }
        }
        let mut ranked: Vec<(usize, Leaf<'_>)> = std::mem::take(&mut self.leaves)
            .into_iter()
            .enumerate()
            .map(|(rank, leaf)| {
                (leaf.next.and_then(|next| ranks.get(next)).copied().unwrap_or(rank), leaf)
            })
            .collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        self.leaves = ranked.into_iter().map(|(_, leaf)| leaf).collect();
    }

    /// Returns the whole amount in words.
    pub(super) fn whole(&self) -> String {
        let verb = match self.direction {
            Direction::Source => "received",
            Direction::Destination => "sent or held",
        };
        format!("{verb} {}", self.unit.text(self.amount))
    }
}

impl Leaf<'_> {
    /// Returns remarks of one or two words: a listing, a swap or the distance.
    pub(super) fn remarks(&self) -> Vec<String> {
        let listed = self.line.filter(|line| line.listed).map(|_| "listed".to_owned());
        listed.into_iter().chain(self.distance()).collect()
    }

    fn distance(&self) -> Option<String> {
        let swapped = self.steps().iter().any(|step| !step.via.is_empty());
        if swapped {
            return Some("swapped".to_owned());
        }
        match (self.steps().len(), self.line.and_then(|line| line.hops)) {
            (0, Some(number)) if number > 1 => Some(hops(number.into())),
            (number, _) if number > 1 => Some(hops(number)),
            _ => None,
        }
    }

    /// Returns the flow in one sentence.
    pub(super) fn sentence(&self, group: &FlowGroup<'_>) -> String {
        self.details(group).join("; ")
    }

    /// Returns the flow in lines: endpoint, amount and share; listing; transactions and addresses of its largest path.
    pub(super) fn details(&self, group: &FlowGroup<'_>) -> Vec<String> {
        let preposition = match group.direction {
            Direction::Source => "from",
            Direction::Destination => "to",
        };
        let mut lines = vec![format!(
            "{preposition} {}: {}, {} of all",
            self.name,
            group.unit.text(self.amount),
            percent(self.share)
        )];
        let Some(line) = self.line else { return lines };
        let mut facts: Vec<String> = Vec::new();
        if let Some(listing) = &line.listing {
            let since = listing.listed_on.map(|day| format!(" since {day}")).unwrap_or_default();
            facts.push(format!("on {}{since}", listing.in_words()));
        }
        if let Some(transactions) = line.further_than_transactions {
            facts.push(further_than(transactions));
        }
        if line.untouched {
            facts.push("came unasked and was not moved".to_owned());
        } else if !line.solicited {
            facts.push("unsolicited".to_owned());
        }
        if !line.scored {
            facts.push("does not count for the score".to_owned());
        }
        if !facts.is_empty() {
            lines.push(facts.join(", "));
        }
        let steps = self.steps();
        if steps.is_empty() {
            lines.extend(line.transactions.first().map(|first| format!("transaction {first}")));
        }
        let is_cut = steps.len() > MOST_STEPS;
        for (index, step) in steps.iter().enumerate() {
            let is_last = index + 1 == steps.len();
            if !is_cut || index + 2 < MOST_STEPS || is_last {
                lines.push(step_in_words(index, step));
            } else if index + 2 == MOST_STEPS {
                lines.push(format!("{} more hops", steps.len() + 1 - MOST_STEPS));
            }
        }
        lines
    }

    fn steps(&self) -> &[PathStep] {
        match self.route {
            Route::Path(steps) => steps,
            Route::Unknown | Route::Summed => &[],
        }
    }
}

fn step_in_words(index: usize, step: &PathStep) -> String {
    let day = step.time.to_zoned(jiff::tz::TimeZone::UTC).date();
    let party = step.address.as_deref().unwrap_or("no address");
    let label = step.label.as_ref().map(|label| {
        let name = label.entity.as_deref().unwrap_or("no name");
        let listed = if label.listed { ", listed" } else { "" };
        format!(" ({name}, {}{listed})", words(label.category.as_str()))
    });
    let swaps = step.via.iter().map(|via| {
        let contract = via.entity.clone().unwrap_or_else(|| short(Some(&via.address)));
        match &via.gave {
            Some(asset) => format!(", swapped from {} at {contract}", short(Some(asset))),
            None => format!(", given back by {contract}"),
        }
    });
    let swaps: String = swaps.collect();
    format!(
        "hop {}: {day} {party}{}{swaps}, transaction {}",
        index + 1,
        label.unwrap_or_default(),
        short(Some(&step.transaction))
    )
}

/// The name of an endpoint, with its kind unless the name says it.
fn name(line: &ExposureView) -> String {
    match (&line.entity, line.unresolved_reason.as_deref()) {
        (Some(entity), _) => {
            let kind = words(&line.endpoint_type);
            let says_kind = entity.to_lowercase().contains(&kind);
            if says_kind { entity.clone() } else { format!("{entity} ({kind})") }
        }
        (None, Some(reason)) => format!("unresolved: {}", words(reason)),
        (None, None) => endpoint_in_words(&line.endpoint_type),
    }
}

/// An endpoint without a name in words.
#[must_use]
pub fn endpoint_in_words(endpoint: &str) -> String {
    match endpoint {
        "unspent_by_subject" => "still held by this address".to_owned(),
        "unspent_downstream" => "unspent at later addresses".to_owned(),
        "returned" => "came back to this address".to_owned(),
        "fee" => "transaction fees".to_owned(),
        "mining" => "newly mined coins".to_owned(),
        other => words(other),
    }
}
