//! Flows of money as a tree from left to right: the address, whom the money passed, where it ended.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use assay_engine::{
    assessment::{Assessment, Exposure},
    chain::Chain,
    evidence::{Direction, PathStep},
    fixed::apportion,
};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
/// Characters of an address on the way that are shown at either end.
const ADDRESS_ENDS: usize = 8;
/// Whom money passed that took none of the paths that are shown.
const FURTHER: &str = "further paths";

/// Draws both directions; nothing where no flow is known.
pub(super) fn draw(text: &mut String, chain: &Chain, assessment: &Assessment) -> fmt::Result {
    for (direction, title) in [
        (Direction::Source, "Where the money came from"),
        (Direction::Destination, "Where the money went"),
    ] {
        let lines: Vec<&Exposure> =
            assessment.exposure.iter().filter(|line| line.direction == direction).collect();
        if lines.is_empty() {
            continue;
        }
        let whole: u128 =
            lines.iter().filter_map(|line| line.amount.value.parse::<u128>().ok()).sum();
        writeln!(text, "\n{BOLD}{title}{BOLD:#}  {}", coins(chain, whole))?;
        let mut root = Node::default();
        for piece in lines.into_iter().flat_map(pieces) {
            root.add(&piece, piece.way());
        }
        root.draw(text, chain, "  ")?;
    }
    Ok(())
}

/// An amount split over its paths, the largest first, and what took none of them. What is missing by no
/// more than a base unit a path is what rounding took from them: the largest has it.
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

/// An amount in whole coins.
pub(crate) fn coins(chain: &Chain, amount: u128) -> String {
    let unit = 10_u128.saturating_pow(chain.decimals.into()).max(1);
    let decimals = usize::from(chain.decimals);
    format!("{}.{:0decimals$} {}", amount / unit, amount % unit, chain.asset)
}

/// What of a line took one way.
#[derive(Clone, Copy)]
struct Piece<'a> {
    line: &'a Exposure,
    amount: u128,
    /// Millionths of all money of the direction.
    share: u64,
    way: Way<'a>,
}

/// The way that money took.
#[derive(Clone, Copy)]
enum Way<'a> {
    /// Through nobody in between, or nobody who is known: all of a line, or all but its paths.
    Straight,
    /// One of the line's paths.
    Path(&'a [PathStep]),
    /// Through others than the line's paths, which are its largest only.
    Further,
}

/// A line by the ways that its money took. They sum to its amount and to its share.
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
    /// Whom it passed; the last step of a path leads to the end itself.
    fn way(&self) -> &'a [PathStep] {
        match self.way {
            Way::Path(steps) => steps.split_last().map_or(&[], |(_, between)| between),
            Way::Straight | Way::Further => &[],
        }
    }

    /// Fewest hops to the end.
    fn hops(&self) -> usize {
        match self.way {
            Way::Path(steps) => steps.len(),
            Way::Straight | Way::Further => self.line.hops.into(),
        }
    }

    /// A transaction that shows it.
    fn transaction(&self) -> Option<&'a str> {
        match self.way {
            Way::Path(steps) => steps.first().map(|step| step.transaction.as_str()),
            Way::Straight => self.line.transactions.first().map(String::as_str),
            Way::Further => None,
        }
    }
}

/// Somebody on the way, and what passed there.
#[derive(Default)]
struct Node<'a> {
    /// The address; where there is none, the transaction.
    key: &'a str,
    name: String,
    /// Millionths of all money of the direction.
    share: u64,
    amount: u128,
    /// What ended here.
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

    /// Somebody behind this one.
    fn next(&mut self, key: &'a str, name: impl FnOnce() -> String) -> Option<&mut Self> {
        let known = self.next.iter().position(|node| node.key == key);
        let place = known.unwrap_or_else(|| {
            self.next.push(Node { key, name: name(), ..Node::default() });
            self.next.len() - 1
        });
        self.next.get_mut(place)
    }

    /// Adds what ends here; of one line it is one end.
    fn end(&mut self, piece: &Piece<'a>) {
        match self.ends.iter_mut().find(|end| std::ptr::eq(end.line, piece.line)) {
            Some(end) => {
                end.share += piece.share;
                end.amount += piece.amount;
            }
            None => self.ends.push(*piece),
        }
    }

    fn draw(&self, text: &mut String, chain: &Chain, indent: &str) -> fmt::Result {
        let mut branches: Vec<Branch<'_, 'a>> = self.ends.iter().map(Branch::End).collect();
        branches.extend(self.next.iter().map(Branch::Node));
        branches.sort_by_key(|branch| std::cmp::Reverse(branch.share()));
        let last = branches.len().saturating_sub(1);
        for (index, branch) in branches.iter().enumerate() {
            let (joint, below) = if index == last { ("`-", "  ") } else { ("|-", "| ") };
            write!(text, "{DIM}{indent}{joint}{DIM:#} {:>7}  ", percent(branch.share()))?;
            match branch {
                Branch::End(piece) => end(text, chain, piece)?,
                Branch::Node(node) => {
                    writeln!(text, "{}  {DIM}{}{DIM:#}", node.name, coins(chain, node.amount))?;
                    node.draw(text, chain, &format!("{indent}{below}        "))?;
                }
            }
        }
        Ok(())
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

fn end(text: &mut String, chain: &Chain, piece: &Piece<'_>) -> fmt::Result {
    let line = piece.line;
    let style = match (line.listed, line.category) {
        (true, _) => AnsiColor::Red.on_default().bold(),
        (false, Some(_)) => BOLD,
        (false, None) => Style::new(),
    };
    let name = match (&line.entity, line.unresolved_reason) {
        (Some(entity), _) => format!("{} ({})", entity, line.endpoint_type),
        (None, Some(reason)) => {
            let reason = serde_json::to_value(reason).ok();
            let reason = reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or_default();
            format!("unresolved: {}", reason.replace('_', " "))
        }
        (None, None) => line.endpoint_type.to_owned(),
    };
    write!(text, "{style}{name}{style:#}")?;
    if let Some(category) = line.category.filter(|category| category.as_str() != line.endpoint_type)
        && !matches!(line.endpoint_type, "mining" | "coinjoin" | "bridge")
    {
        write!(text, " through {category}")?;
    }
    if piece.hops() > 1 {
        write!(text, ", {} hops", piece.hops())?;
    }
    if line.listed {
        write!(text, ", listed")?;
    }
    if !line.solicited {
        write!(text, ", unasked for")?;
    }
    write!(text, "  {DIM}{}{DIM:#}", coins(chain, piece.amount))?;
    if let Some(transaction) = piece.transaction() {
        write!(text, "  {DIM}tx {}{DIM:#}", short(Some(transaction)))?;
    }
    writeln!(text)
}

/// An identifier by its two ends.
fn short(text: Option<&str>) -> String {
    let Some(text) = text else { return "(no address)".to_owned() };
    let (length, ends) = (text.chars().count(), ADDRESS_ENDS);
    if length <= 2 * ends + 3 {
        return text.to_owned();
    }
    let first: String = text.chars().take(ends).collect();
    let last: String = text.chars().skip(length - ends).collect();
    format!("{first}...{last}")
}

fn millionths(share: &str) -> u64 {
    share.replace('.', "").parse().unwrap_or_default()
}

fn percent(millionths: u64) -> String {
    // Rounded to a tenth of a per cent.
    let tenths = (millionths + 500) / 1_000;
    if tenths == 0 && millionths > 0 {
        return "<0.1 %".to_owned();
    }
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_what_took_its_paths_and_the_rest() {
        assert_eq!(over_paths(100, &[10, 10, 10]), (vec![10, 10, 10], 70));
        assert_eq!(over_paths(33, &[10, 10, 10]), (vec![13, 10, 10], 0), "rounding");
        assert_eq!(over_paths(34, &[10, 10, 10]), (vec![10, 10, 10], 4));
        assert_eq!(over_paths(15, &[10, 10]), (vec![10, 5], 0), "never more than there is");
        assert_eq!(over_paths(1, &[]), (vec![], 1));
    }

    #[test]
    fn amounts_and_shares_are_written_for_people() {
        let bitcoin = assay_engine::chain::ChainId::BTC.info();
        assert_eq!(coins(bitcoin, 123_456_789), "1.23456789 BTC");
        assert_eq!(coins(bitcoin, 5), "0.00000005 BTC");
        assert_eq!(percent(millionths("0.123456")), "12.3 %");
        assert_eq!(percent(millionths("1.000000")), "100.0 %");
        assert_eq!(percent(1), "<0.1 %");
        assert_eq!(percent(0), "0.0 %");
        assert_eq!(short(Some("bc1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp25")), "bc1qft5p...pjaqlp25");
        assert_eq!(short(None), "(no address)");
    }
}
