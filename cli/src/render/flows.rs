//! Flows of funds as a tree: the subject, the addresses that the funds passed, the endpoints.

use anstyle::{AnsiColor, Style};
use assay_engine::{
    assessment::{Assessment, Exposure},
    chain::Chain,
    evidence::{Direction, PathStep},
    fixed::apportion,
};

use super::{
    page::Page,
    text::{coins, further_than, hops, percent, short},
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

/// Draws both directions; nothing where no flow is known.
pub(super) fn draw(page: &mut Page, chain: &Chain, assessment: &Assessment) {
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
        let mut root = Node::default();
        for piece in lines.into_iter().flat_map(pieces) {
            root.add(&piece, piece.way());
        }
        root.draw(page, chain, "");
    }
}

/// Splits an amount over its paths, the largest first; the second value is the amount that took none of
/// them. A rest of at most one base unit a path comes from rounding and goes to the largest path.
pub(crate) fn over_paths(amount: u128, paths: &[u128]) -> (Vec<u128>, u128) {
    let mut left = amount;
    let mut taken: Vec<u128> = Vec::with_capacity(paths.len());
    for path in paths {
        let here = (*path).min(left);
        left -= here;
        taken.push(here);
    }
    if let Some(largest) = taken.first_mut()
        && left <= u128::try_from(paths.len()).unwrap_or(u128::MAX)
    {
        *largest += left;
        left = 0;
    }
    (taken, left)
}

/// The part of an exposure that took one way.
#[derive(Clone, Copy)]
struct Piece<'a> {
    line: &'a Exposure,
    amount: u128,
    /// Millionths of all funds of the direction.
    share: u64,
    way: Way<'a>,
}

/// The way that funds took.
#[derive(Clone, Copy)]
enum Way<'a> {
    /// Without a known address in between.
    Straight,
    /// One of the exposure's paths.
    Path(&'a [PathStep]),
    /// Another path than those of the exposure, which are its largest only.
    Further,
}

/// Splits an exposure by the ways that its funds took. The pieces sum to its amount and to its share.
fn pieces(line: &Exposure) -> Vec<Piece<'_>> {
    let amount = |value: &str| value.parse::<u128>().unwrap_or_default();
    let of_paths: Vec<u128> = line.paths.iter().map(|path| amount(&path.amount.value)).collect();
    let (taken, left) = over_paths(amount(&line.amount.value), &of_paths);
    let paths = line.paths.iter().map(|path| Way::Path(&path.steps));
    let mut ways: Vec<(Way<'_>, u128)> = paths.zip(taken).collect();
    let rest = if line.direct || line.paths.is_empty() { Way::Straight } else { Way::Further };
    ways.push((rest, left));
    let amounts: Vec<u128> = ways.iter().map(|(_, amount)| *amount).collect();
    let shares = apportion(millionths(&line.share), &amounts);
    let pieces = ways.into_iter().zip(shares);
    pieces
        .filter(|((_, amount), _)| *amount > 0)
        .map(|((way, amount), share)| Piece { line, amount, share, way })
        .collect()
}

impl<'a> Piece<'a> {
    /// The steps between the subject and the endpoint; the last step of a path leads to the endpoint itself.
    fn way(&self) -> &'a [PathStep] {
        match self.way {
            Way::Path(steps) => steps.split_last().map_or(&[], |(_, between)| between),
            Way::Straight | Way::Further => &[],
        }
    }

    /// Fewest hops to the endpoint; `None` if it is further away than the trace went.
    fn hops(&self) -> Option<usize> {
        match self.way {
            Way::Path(steps) => Some(steps.len()),
            Way::Straight | Way::Further => self.line.hops.map(usize::from),
        }
    }

    /// The transaction next to the subject.
    fn transaction(&self) -> Option<&'a str> {
        match self.way {
            Way::Path(steps) => steps.first().map(|step| step.transaction.as_str()),
            Way::Straight => self.line.transactions.first().map(String::as_str),
            Way::Further => None,
        }
    }
}

/// An address on the way, with the funds that passed it.
#[derive(Default)]
struct Node<'a> {
    /// The address, else the transaction.
    key: &'a str,
    name: String,
    /// Millionths of all funds of the direction.
    share: u64,
    amount: u128,
    /// Funds that ended here.
    ends: Vec<Piece<'a>>,
    next: Vec<Self>,
}

impl<'a> Node<'a> {
    /// Adds a piece that takes this way from here.
    fn add(&mut self, piece: &Piece<'a>, way: &'a [PathStep]) {
        self.share += piece.share;
        self.amount += piece.amount;
        match (way, piece.way) {
            ([step, further @ ..], _) => {
                let address = step.address.as_deref();
                let key = address.unwrap_or(&step.transaction);
                if let Some(next) = self.next(key, || short(address)) {
                    next.add(piece, further);
                }
            }
            ([], Way::Further) => {
                if let Some(all) = self.next(FURTHER, || FURTHER.to_owned()) {
                    all.share += piece.share;
                    all.amount += piece.amount;
                    all.end(piece);
                }
            }
            ([], Way::Straight | Way::Path(_)) => self.end(piece),
        }
    }

    /// The node behind this one with a key, added where it is missing.
    fn next(&mut self, key: &'a str, name: impl FnOnce() -> String) -> Option<&mut Self> {
        let known = self.next.iter().position(|node| node.key == key);
        let index = known.unwrap_or_else(|| {
            self.next.push(Node { key, name: name(), ..Node::default() });
            self.next.len() - 1
        });
        self.next.get_mut(index)
    }

    /// Adds funds that end here, to the endpoint of the same exposure where there is one.
    fn end(&mut self, piece: &Piece<'a>) {
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
    End(&'n Piece<'a>),
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

/// An endpoint: its name, the labels on the way, the distance, the amount and a transaction.
fn endpoint(chain: &Chain, piece: &Piece<'_>) -> String {
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
    let via = line.category.filter(|category| category.as_str() != line.endpoint_type);
    let via = via.filter(|_| !matches!(line.endpoint_type, "mining" | "coinjoin" | "bridge"));
    let via = via.map(|category| format!(" via an address labelled {category}"));
    let mut remarks = vec![format!("{style}{name}{style:#}{}", via.unwrap_or_default())];
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

fn millionths(share: &str) -> u64 {
    share.replace('.', "").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_the_sum_of_its_paths_and_the_rest() {
        assert_eq!(over_paths(100, &[10, 10, 10]), (vec![10, 10, 10], 70));
        assert_eq!(over_paths(33, &[10, 10, 10]), (vec![13, 10, 10], 0), "rounding");
        assert_eq!(over_paths(34, &[10, 10, 10]), (vec![10, 10, 10], 4));
        assert_eq!(over_paths(15, &[10, 10]), (vec![10, 5], 0), "never more than there is");
        assert_eq!(over_paths(1, &[]), (vec![], 1));
    }
}
