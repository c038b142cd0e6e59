//! Flows of funds as a tree: the subject, the addresses that the funds passed, the endpoints.

use anstyle::{AnsiColor, Style};
use assay_address::ChainId;
use assay_engine::{
    assessment::{Assessment, Exposure},
    evidence::{Direction, PathStep},
    fixed::apportion,
    taxonomy::{Category, RISKY_FROM},
};

use super::{
    page::Page,
    text::{Unit, counted, further_than, hops, percent, short},
};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
/// Name of the branch for paths that the exposure does not name.
const FURTHER: &str = "further paths";

/// Title of a direction.
pub(super) const fn title(direction: Direction) -> &'static str {
    match direction {
        Direction::Source => "Source of funds",
        Direction::Destination => "Destination of funds",
    }
}

/// Largest number of endpoints of a direction that are drawn without their paths.
const MAX_ENDPOINTS: usize = 3;

/// Draws the flows of both directions as trees, one for each unit; nothing if no flow is known.
pub(super) fn draw(page: &mut Page, chain: ChainId, assessment: &Assessment) {
    for direction in [Direction::Source, Direction::Destination] {
        for (unit, lines) in lines_of(chain, assessment, direction) {
            page.gap();
            head(page, unit, direction, &lines);
            let mut root = Node::default();
            for piece in lines.into_iter().flat_map(pieces) {
                root.add(&piece, &piece.stops());
            }
            root.draw(page, unit, "");
        }
    }
}

/// Draws the endpoints of both directions without the paths to them: the risky endpoints, then the endpoints with the
/// largest amounts, and the sum of the others.
pub(super) fn draw_endpoints(page: &mut Page, chain: ChainId, assessment: &Assessment) {
    if !assessment.exposure.is_empty() {
        page.gap();
    }
    for direction in [Direction::Source, Direction::Destination] {
        for (unit, lines) in lines_of(chain, assessment, direction) {
            draw_endpoints_of(page, unit, direction, lines);
        }
    }
}

fn draw_endpoints_of(
    page: &mut Page,
    unit: Unit<'_>,
    direction: Direction,
    mut lines: Vec<&Exposure>,
) {
    head(page, unit, direction, &lines);
    let rest = without_most_important(&mut lines);
    let mut draw = |share: u64, text: String, amount: u128| {
        let text = format!("{text}  {DIM}{}{DIM:#}", unit.text(amount));
        page.hanging(&format!("  {:>7}  ", percent(share)), "           ", text);
    };
    for line in lines {
        draw(
            millionths(&line.share),
            endpoint_in_words(line, line.hops.map(usize::from)),
            amount(line),
        );
    }
    if !rest.is_empty() {
        let count = u64::try_from(rest.len()).unwrap_or(u64::MAX);
        let share = rest.iter().map(|line| millionths(&line.share)).sum();
        let text = format!("{} more (--all)", counted(count, "endpoint", "endpoints"));
        draw(share, text, rest.iter().map(|line| amount(line)).sum());
    }
}

/// The exposures of a direction by unit, in the order of the answer.
fn lines_of(
    chain: ChainId,
    assessment: &Assessment,
    direction: Direction,
) -> Vec<(Unit<'_>, Vec<&Exposure>)> {
    let mut units: Vec<(Unit<'_>, Vec<&Exposure>)> = Vec::new();
    for line in assessment.exposure.iter().filter(|line| line.direction == direction) {
        let unit = Unit::new(chain, &line.amount.asset);
        match units.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, lines)) => lines.push(line),
            None => units.push((unit, vec![line])),
        }
    }
    units
}

/// Draws the title of a direction with its whole amount.
fn head(page: &mut Page, unit: Unit<'_>, direction: Direction, lines: &[&Exposure]) {
    let whole: u128 = lines.iter().map(|line| amount(line)).sum();
    page.line(format!("{BOLD}{}{BOLD:#}  {}", title(direction), unit.text(whole)));
}

/// The amount of an exposure in base units.
fn amount(line: &Exposure) -> u128 {
    line.amount.value.parse().unwrap_or_default()
}

/// Removes and returns the lines that are not drawn: risky lines are drawn first, then the lines with the largest
/// amounts.
fn without_most_important<'a>(lines: &mut Vec<&'a Exposure>) -> Vec<&'a Exposure> {
    lines.sort_by_key(|line| (!is_risky(line), std::cmp::Reverse(amount(line))));
    let most = if lines.len() == MAX_ENDPOINTS + 1 { lines.len() } else { MAX_ENDPOINTS };
    lines.split_off(lines.len().min(most))
}

/// True if a list names the party, or its category or a label on the path is risky.
fn is_risky(line: &Exposure) -> bool {
    let mut claims = line.parts.iter().flat_map(|part| &part.claims);
    line.listed || claims.any(|claim| claim.category.info().severity >= RISKY_FROM)
}

/// The part of an exposure that took one route.
#[derive(Clone, Copy)]
struct FlowPiece<'a> {
    line: &'a Exposure,
    amount: u128,
    /// Share of the route in all funds of the direction, in millionths.
    share: u64,
    route: FundsRoute<'a>,
}

/// The route that funds took.
#[derive(Clone, Copy)]
enum FundsRoute<'a> {
    /// No known address between the subject and the endpoint.
    Direct,
    /// One of the exposure's paths.
    Path(&'a [PathStep]),
    /// A path that the exposure, which holds only its largest paths, does not name.
    Further,
}

/// Splits an exposure by the routes that its funds took. The parts sum to the amount and the share of the exposure.
fn pieces(line: &Exposure) -> Vec<FlowPiece<'_>> {
    let amount = |value: &str| value.parse::<u128>().unwrap_or_default();
    let of_paths: Vec<u128> = line.paths.iter().map(|path| amount(&path.amount.value)).collect();
    let left = amount(&line.amount.value).saturating_sub(of_paths.iter().sum());
    let paths = line.paths.iter().map(|path| FundsRoute::Path(&path.steps));
    let mut routes: Vec<(FundsRoute<'_>, u128)> = paths.zip(of_paths).collect();
    let rest =
        if line.direct || line.paths.is_empty() { FundsRoute::Direct } else { FundsRoute::Further };
    routes.push((rest, left));
    let amounts: Vec<u128> = routes.iter().map(|(_, amount)| *amount).collect();
    let shares = apportion(millionths(&line.share), &amounts);
    let pieces = routes.into_iter().zip(shares);
    pieces
        .filter(|((_, amount), _)| *amount > 0)
        .map(|((route, amount), share)| FlowPiece { line, amount, share, route })
        .collect()
}

impl<'a> FlowPiece<'a> {
    /// The addresses between the subject and the endpoint; the last step of a path leads to the endpoint itself.
    fn stops(&self) -> Vec<Stop<'a>> {
        let FundsRoute::Path(steps) = self.route else { return Vec::new() };
        let between = steps.split_last().map_or(&[][..], |(_, between)| between);
        let stop = |step: &'a PathStep| {
            let address = step.address.as_deref();
            Stop { key: address.unwrap_or(&step.transaction), name: short(address) }
        };
        between.iter().map(stop).collect()
    }

    /// Fewest hops to the endpoint; `None` if it is further away than the trace went.
    fn hops(&self) -> Option<usize> {
        match self.route {
            FundsRoute::Path(steps) => Some(steps.len()),
            FundsRoute::Direct | FundsRoute::Further => self.line.hops.map(usize::from),
        }
    }

    /// The transaction next to the subject.
    fn transaction(&self) -> Option<&'a str> {
        match self.route {
            FundsRoute::Path(steps) => steps.first().map(|step| step.transaction.as_str()),
            FundsRoute::Direct => self.line.transactions.first().map(String::as_str),
            FundsRoute::Further => None,
        }
    }
}

/// An address on a path.
#[derive(Clone)]
struct Stop<'a> {
    /// The address, or else the transaction, of the node.
    key: &'a str,
    name: String,
}

/// An address on a path, with the funds that passed it.
#[derive(Default)]
struct Node<'a> {
    /// The address on the path, or else the transaction.
    key: &'a str,
    name: String,
    /// Share of the address in all funds of the direction, in millionths.
    share: u64,
    amount: u128,
    /// Funds that go from this node to their endpoints.
    ends: Vec<FlowPiece<'a>>,
    next: Vec<Self>,
}

impl<'a> Node<'a> {
    /// Adds a part of an exposure whose route goes from this node along `stops`.
    fn add(&mut self, piece: &FlowPiece<'a>, stops: &[Stop<'a>]) {
        self.share += piece.share;
        self.amount += piece.amount;
        match (stops, piece.route) {
            ([stop, further @ ..], _) => {
                if let Some(next) = self.next(stop.key, || stop.name.clone()) {
                    next.add(piece, further);
                }
            }
            ([], FundsRoute::Further) => {
                if let Some(all) = self.next(FURTHER, || FURTHER.to_owned()) {
                    all.share += piece.share;
                    all.amount += piece.amount;
                    all.add_end(piece);
                }
            }
            ([], FundsRoute::Direct | FundsRoute::Path(_)) => self.add_end(piece),
        }
    }

    /// The next node with a key, added if it is missing.
    fn next(&mut self, key: &'a str, name: impl FnOnce() -> String) -> Option<&mut Self> {
        let known = self.next.iter().position(|node| node.key == key);
        let index = known.unwrap_or_else(|| {
            self.next.push(Node { key, name: name(), ..Node::default() });
            self.next.len() - 1
        });
        self.next.get_mut(index)
    }

    /// Adds funds that go from this node to their endpoint, to the part of the same exposure if there is such a part.
    fn add_end(&mut self, piece: &FlowPiece<'a>) {
        match self.ends.iter_mut().find(|end| std::ptr::eq(end.line, piece.line)) {
            Some(end) => {
                end.share += piece.share;
                end.amount += piece.amount;
            }
            None => self.ends.push(*piece),
        }
    }

    /// Draws the branches, each behind `trunk`.
    fn draw(&self, page: &mut Page, unit: Unit<'_>, trunk: &str) {
        let mut branches: Vec<Branch<'_, 'a>> = self.ends.iter().map(Branch::End).collect();
        branches.extend(self.next.iter().map(Branch::Node));
        branches.sort_by_key(|branch| std::cmp::Reverse(branch.share()));
        let last = branches.len().saturating_sub(1);
        for (index, branch) in branches.iter().enumerate() {
            let (joint, below) = if index == last { ("`-", "  ") } else { ("|-", "| ") };
            let first = format!("  {:>7}  {DIM}{trunk}{joint}{DIM:#} ", percent(branch.share()));
            let below = format!("{trunk}{below}");
            let further = format!("  {:7}  {DIM}{below}{DIM:#}   ", "");
            match branch {
                Branch::End(piece) => page.hanging(&first, &further, endpoint(unit, piece)),
                Branch::Node(node) => {
                    let amount = unit.text(node.amount);
                    let text = format!("{}  {DIM}{amount}{DIM:#}", node.name);
                    page.hanging(&first, &further, text);
                    node.draw(page, unit, &below);
                }
            }
        }
    }
}

enum Branch<'n, 'a> {
    End(&'n FlowPiece<'a>),
    Node(&'n Node<'a>),
}

impl Branch<'_, '_> {
    fn share(&self) -> u64 {
        match self {
            Self::End(piece) => piece.share,
            Self::Node(node) => node.share,
        }
    }
}

/// An endpoint with the amount and a transaction.
fn endpoint(unit: Unit<'_>, piece: &FlowPiece<'_>) -> String {
    let amount = unit.text(piece.amount);
    let transaction = piece.transaction().map(|transaction| short(Some(transaction)));
    let transaction = transaction.map(|transaction| format!("  {DIM}tx:{transaction}{DIM:#}"));
    let words = endpoint_in_words(piece.line, piece.hops());
    format!("{words}  {DIM}{amount}{DIM:#}{}", transaction.unwrap_or_default())
}

/// An endpoint: its name, the labels on the path and the distance.
fn endpoint_in_words(line: &Exposure, distance: Option<usize>) -> String {
    let style = match (line.listed, line.category) {
        (true, _) => AnsiColor::Red.on_default().bold(),
        (false, Some(_)) => BOLD,
        (false, None) => Style::new(),
    };
    let name = match (&line.entity, line.unresolved_reason) {
        (Some(entity), _) => format!("{} ({})", entity, line.endpoint_type.replace('_', " ")),
        (None, Some(reason)) => {
            let reason = serde_json::to_value(reason).ok();
            let reason = reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or_default();
            format!("unresolved: {}", reason.replace('_', " "))
        }
        (None, None) => line.endpoint_type.replace('_', " "),
    };
    let mut remarks = vec![format!("{style}{name}{style:#}{}", on_the_way(line).concat())];
    match (distance, line.further_than_transactions) {
        (Some(number), _) if number > 1 => remarks.push(hops(number)),
        (None, Some(transactions)) => remarks.push(further_than(transactions)),
        _ => {}
    }
    if line.listed {
        remarks.push("listed".to_owned());
    }
    if line.untouched {
        remarks.push("unasked and not moved".to_owned());
    } else if !line.solicited {
        remarks.push("unsolicited".to_owned());
    }
    remarks.join(", ")
}

/// Joint transactions on the paths of an exposure, and addresses with labels of other categories than the endpoint's.
fn on_the_way(line: &Exposure) -> Vec<String> {
    let mut passed: Vec<String> = Vec::new();
    for claim in line.parts.iter().flat_map(|part| &part.claims) {
        let text = if claim.joint {
            " through a CoinJoin".to_owned()
        } else if claim.category.as_str() == line.endpoint_type || claim.category == Category::Miner
        {
            continue;
        } else {
            let (tier, percent) = (claim.tier.as_str(), claim.confidence.percent());
            format!(" via an address labelled {} ({tier}, {percent} %)", claim.category)
        };
        if !passed.contains(&text) {
            passed.push(text);
        }
    }
    passed
}

fn millionths(share: &str) -> u64 {
    share.replace('.', "").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use assay_engine::assessment::RuleClaim;
    use assay_engine::{
        assessment::{Amount, ExposurePart, ExposurePath},
        evidence::Tier,
        score::Confidence,
    };
    use jiff::Timestamp;

    use super::*;

    fn coins_of(value: u128) -> Amount {
        Amount { value: value.to_string(), asset: "BTC".to_owned(), usd: None, price_day: None }
    }

    fn line(amount: u128, category: Category, between: usize) -> Exposure {
        let step = |number: usize| PathStep {
            blockchain: None,
            via: Vec::new(),
            transaction: format!("{number:064x}"),
            address: Some(format!("address-{number}")),
            time: Timestamp::UNIX_EPOCH,
            amount: None,
            asset: None,
            place: None,
            label: None,
        };
        let claim = RuleClaim {
            category,
            tier: Tier::Investigation,
            hops: Some(1),
            direct: true,
            listed: false,
            confidence: Confidence::CERTAIN,
            joint: false,
            unasked: false,
            paid_back: false,
        };
        Exposure {
            direction: Direction::Source,
            endpoint_type: category.as_str(),
            unresolved_reason: None,
            coinjoin: None,
            category: Some(category),
            entity: Some(format!("party of {amount}")),
            listing: None,
            amount: coins_of(amount),
            assets: Vec::new(),
            share: "0.000001".to_owned(),
            recent_amount: coins_of(0),
            outstanding: None,
            before_listing: None,
            since_listing: None,
            hops: Some(1),
            further_than_transactions: None,
            direct: between == 0,
            listed: false,
            solicited: true,
            untouched: false,
            dust: false,
            scored: true,
            parts: vec![ExposurePart {
                amount: amount.to_string(),
                recent_amount: "0".to_owned(),
                outstanding: None,
                since_listing: None,
                scored: true,
                claims: vec![claim],
            }],
            transactions: vec![],
            paths: vec![ExposurePath {
                amount: coins_of(amount),
                steps: (0..=between).map(step).collect(),
            }],
        }
    }

    #[test]
    fn of_many_endpoints_the_risky_ones_stay_then_the_largest() {
        let mut lines: Vec<Exposure> =
            (0..30).map(|rank| line(100 - rank, Category::Exchange, 0)).collect();
        lines.push(line(1, Category::Scam, 0));
        let mut drawn: Vec<&Exposure> = lines.iter().collect();
        let rest = without_most_important(&mut drawn);
        let amounts: Vec<u128> = drawn.into_iter().map(amount).collect();
        assert_eq!((amounts.as_slice(), rest.len()), ([1, 100, 99].as_slice(), 28));
    }

    #[test]
    fn an_endpoint_names_the_labels_on_the_way_to_it() {
        let mut reported = line(5, Category::Exchange, 0);
        let label = RuleClaim {
            category: Category::Ransomware,
            tier: Tier::Community,
            confidence: Confidence::from_percent(80),
            ..reported.parts[0].claims[0]
        };
        reported.parts[0].claims.push(label);
        let shown = pieces(&reported);
        let text = endpoint(Unit::native(ChainId::BTC), &shown[0]);
        assert!(text.contains("via an address labelled ransomware (community, 80 %)"), "{text}");
    }
}
