//! Flows of funds as a tree: the subject, the addresses that the funds passed, the endpoints.

use anstyle::{AnsiColor, Style};
use assay_address::Chain;
use assay_engine::{
    assessment::{Assessment, Exposure},
    evidence::{Direction, PathStep},
    fixed::apportion,
    taxonomy::{Category, RISKY_FROM},
};

use super::{
    page::Page,
    text::{coins, counted, further_than, hops, percent, short},
};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
/// Name of the branch for paths that are not among those of an exposure.
const FURTHER: &str = "further paths";

/// Title of a direction.
pub(super) const fn title(direction: Direction) -> &'static str {
    match direction {
        Direction::Source => "Source of funds",
        Direction::Destination => "Destination of funds",
    }
}

/// Largest number of paths of a direction that are drawn unless all are requested.
pub(super) const MAX_PATHS: usize = 10;
/// Largest number of addresses of one path that are drawn, and how many of them from its beginning.
const MAX_ADDRESSES: (usize, usize) = (8, 4);

/// Draws both directions; nothing where no flow is known. Of a direction with many paths the risky ones come first, then
/// those with the largest amounts; `all` draws the others too, and every address on long paths.
pub(super) fn draw(page: &mut Page, chain: &Chain, assessment: &Assessment, all: bool) {
    for direction in [Direction::Source, Direction::Destination] {
        let lines: Vec<&Exposure> =
            assessment.exposure.iter().filter(|line| line.direction == direction).collect();
        if lines.is_empty() {
            continue;
        }
        let whole: u128 =
            lines.iter().filter_map(|line| line.amount.value.parse::<u128>().ok()).sum();
        page.gap();
        page.line(format!("{BOLD}{}{BOLD:#}  {}", title(direction), coins(chain, whole)));
        let mut pieces: Vec<FlowPiece<'_>> = lines.into_iter().flat_map(pieces).collect();
        let left_out = if all { Vec::new() } else { without_most_important(&mut pieces) };
        let mut root = Node::default();
        for piece in &pieces {
            root.add(piece, &piece.stops(all));
        }
        root.draw(page, chain, "");
        if !left_out.is_empty() {
            let share = left_out.iter().map(|piece| piece.share).sum();
            let amount = left_out.iter().map(|piece| piece.amount).sum();
            let count = u64::try_from(left_out.len()).unwrap_or(u64::MAX);
            let paths = counted(count, "path", "paths");
            let text = format!("{paths} more  {DIM}{}  (--all){DIM:#}", coins(chain, amount));
            page.hanging(&format!("  {:>7}  ", percent(share)), "           ", text);
        }
    }
}

/// Removes and returns the pieces that are not drawn: risky pieces are drawn first, then the largest.
fn without_most_important<'a>(pieces: &mut Vec<FlowPiece<'a>>) -> Vec<FlowPiece<'a>> {
    if pieces.len() <= MAX_PATHS {
        return Vec::new();
    }
    pieces.sort_by_key(|piece| (!is_risky(piece.line), std::cmp::Reverse(piece.amount)));
    pieces.split_off(MAX_PATHS)
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
    /// Millionths of all funds of the direction.
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

/// Splits an exposure by the routes that its funds took. The pieces sum to its amount and to its share.
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
    /// The addresses between the subject and the endpoint; the last step of a path leads to the endpoint itself. The
    /// middle of a long path is only counted, unless `all` is set.
    fn stops(&self, all: bool) -> Vec<Stop<'a>> {
        let FundsRoute::Path(steps) = self.route else { return Vec::new() };
        let between = steps.split_last().map_or(&[][..], |(_, between)| between);
        let stop = |step: &'a PathStep| {
            let address = step.address.as_deref();
            Stop { key: address.unwrap_or(&step.transaction), name: short(address) }
        };
        let (most, first) = MAX_ADDRESSES;
        if all || between.len() <= most {
            return between.iter().map(stop).collect();
        }
        let (begin, rest) = between.split_at(first);
        let (middle, end) = rest.split_at(rest.len() - (most - first));
        let count = u64::try_from(middle.len()).unwrap_or(u64::MAX);
        let name = format!("{} (--all)", counted(count, "more address", "more addresses"));
        let skipped = middle.first().map(|step| Stop { key: &step.transaction, name });
        begin.iter().map(stop).chain(skipped).chain(end.iter().map(stop)).collect()
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

/// An address on a path, or several that are not drawn.
#[derive(Clone)]
struct Stop<'a> {
    /// The address, else a transaction.
    key: &'a str,
    name: String,
}

/// An address on a path, with the funds that passed it.
#[derive(Default)]
struct Node<'a> {
    /// The address, else the transaction.
    key: &'a str,
    name: String,
    /// Millionths of all funds of the direction.
    share: u64,
    amount: u128,
    /// Funds that go from this node to their endpoints.
    ends: Vec<FlowPiece<'a>>,
    next: Vec<Self>,
}

impl<'a> Node<'a> {
    /// Adds a piece whose route goes from this node along `stops`.
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

    /// Adds funds that go from this node to their endpoint, to the piece of the same exposure if there is one.
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
    fn draw(&self, page: &mut Page, chain: &Chain, trunk: &str) {
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
                Branch::End(piece) => page.hanging(&first, &further, endpoint(chain, piece)),
                Branch::Node(node) => {
                    let amount = coins(chain, node.amount);
                    let text = format!("{}  {DIM}{amount}{DIM:#}", node.name);
                    page.hanging(&first, &further, text);
                    node.draw(page, chain, &below);
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

/// An endpoint: its name, the labels on the path, the distance, the amount and a transaction.
fn endpoint(chain: &Chain, piece: &FlowPiece<'_>) -> String {
    let line = piece.line;
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
    match (piece.hops(), line.further_than_transactions) {
        (Some(number), _) if number > 1 => remarks.push(hops(number)),
        (None, Some(transactions)) => remarks.push(further_than(transactions)),
        _ => {}
    }
    if line.listed {
        remarks.push("listed".to_owned());
    }
    if !line.solicited {
        remarks.push("unsolicited".to_owned());
    }
    let amount = coins(chain, piece.amount);
    let transaction = piece.transaction().map(|transaction| short(Some(transaction)));
    let transaction = transaction.map(|transaction| format!("  {DIM}tx:{transaction}{DIM:#}"));
    format!("{}  {DIM}{amount}{DIM:#}{}", remarks.join(", "), transaction.unwrap_or_default())
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
    use assay_address::ChainId;
    use assay_engine::assessment::RuleClaim;
    use assay_engine::{
        assessment::{Amount, ExposurePart, ExposurePath},
        evidence::Tier,
        score::Confidence,
    };
    use jiff::Timestamp;

    use super::*;

    fn coins_of(value: u128) -> Amount {
        Amount { value: value.to_string(), asset: "BTC".to_owned(), usd: None }
    }

    fn line(amount: u128, category: Category, between: usize) -> Exposure {
        let step = |number: usize| PathStep {
            transaction: format!("{number:064x}"),
            address: Some(format!("address-{number}")),
            time: Timestamp::UNIX_EPOCH,
            amount: None,
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
            share: "0.000001".to_owned(),
            recent_amount: coins_of(0),
            before_listing: None,
            since_listing: None,
            hops: Some(1),
            further_than_transactions: None,
            direct: between == 0,
            listed: false,
            solicited: true,
            dust: false,
            scored: true,
            parts: vec![ExposurePart {
                amount: amount.to_string(),
                recent_amount: "0".to_owned(),
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
    fn of_many_paths_the_risky_ones_stay_then_the_largest() {
        let mut lines: Vec<Exposure> =
            (0..30).map(|rank| line(100 - rank, Category::Exchange, 0)).collect();
        lines.push(line(1, Category::Scam, 0));
        let mut kept: Vec<FlowPiece<'_>> = lines.iter().flat_map(pieces).collect();
        let left_out = without_most_important(&mut kept);
        let amounts: Vec<u128> = kept.iter().map(|piece| piece.amount).collect();
        assert_eq!(amounts, [1, 100, 99, 98, 97, 96, 95, 94, 93, 92]);
        assert_eq!(left_out.len(), 21);
    }

    #[test]
    fn the_middle_of_a_long_path_is_counted_unless_all_is_asked_for() {
        let long = line(5, Category::Scam, 600);
        let pieces = pieces(&long);
        let names = |all| -> Vec<String> {
            pieces.iter().flat_map(|piece| piece.stops(all)).map(|stop| stop.name).collect()
        };
        assert_eq!(names(true).len(), 600);
        let short = names(false);
        assert_eq!((short.len(), short[4].as_str()), (9, "592 more addresses (--all)"));
        assert_eq!(short[8], "address-599");
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
        let text = endpoint(ChainId::BTC.info(), &shown[0]);
        assert!(text.contains("via an address labelled ransomware (community, 80 %)"), "{text}");
    }
}
