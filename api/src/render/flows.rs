//! Flows of money as a tree from left to right: the address, whom the money passed, where it ended.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use assay_engine::{
    assessment::{Assessment, Exposure},
    chain::Chain,
    evidence::Direction,
};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
/// Characters of an address on the way that are shown at either end.
const ADDRESS_ENDS: usize = 8;

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
        for line in lines {
            root.add(line, 0);
        }
        root.draw(text, chain, "  ")?;
    }
    Ok(())
}

/// An amount in whole coins.
pub(crate) fn coins(chain: &Chain, amount: u128) -> String {
    let unit = 10_u128.saturating_pow(chain.decimals.into()).max(1);
    let decimals = usize::from(chain.decimals);
    format!("{}.{:0decimals$} {}", amount / unit, amount % unit, chain.asset)
}

/// Somebody on the way, and what passed there.
#[derive(Default)]
struct Node<'a> {
    name: String,
    /// Millionths of all money of the direction.
    share: u64,
    amount: u128,
    /// What ended here.
    ends: Vec<&'a Exposure>,
    next: Vec<Self>,
}

impl<'a> Node<'a> {
    /// Adds a line along its largest path; `at` counts the steps that lead here.
    fn add(&mut self, line: &'a Exposure, at: usize) {
        self.share += millionths(&line.share);
        self.amount += line.amount.value.parse::<u128>().unwrap_or_default();
        let steps = line.paths.first().map(|path| path.steps.as_slice()).unwrap_or_default();
        // The last step leads to the end itself.
        let between = steps.len().saturating_sub(1);
        match steps.get(at) {
            Some(step) if at < between => {
                let name = short(step.address.as_deref());
                let known = self.next.iter_mut().position(|node| node.name == name);
                let place = known.unwrap_or_else(|| {
                    self.next.push(Node { name, ..Node::default() });
                    self.next.len() - 1
                });
                if let Some(node) = self.next.get_mut(place) {
                    node.add(line, at + 1);
                }
            }
            _ => self.ends.push(line),
        }
    }

    fn draw(&self, text: &mut String, chain: &Chain, indent: &str) -> fmt::Result {
        let mut branches: Vec<Branch<'_, 'a>> =
            self.ends.iter().map(|line| Branch::End(line)).collect();
        branches.extend(self.next.iter().map(Branch::Node));
        branches.sort_by_key(|branch| std::cmp::Reverse(branch.share()));
        let last = branches.len().saturating_sub(1);
        for (index, branch) in branches.iter().enumerate() {
            let (joint, below) = if index == last { ("`-", "  ") } else { ("|-", "| ") };
            write!(text, "{DIM}{indent}{joint}{DIM:#} {:>7}  ", percent(branch.share()))?;
            match branch {
                Branch::End(line) => end(text, chain, line)?,
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
    End(&'a Exposure),
    Node(&'n Node<'a>),
}

impl Branch<'_, '_> {
    fn share(&self) -> u64 {
        match self {
            Self::End(line) => millionths(&line.share),
            Self::Node(node) => node.share,
        }
    }
}

fn end(text: &mut String, chain: &Chain, line: &Exposure) -> fmt::Result {
    let style = match (line.listed, line.category) {
        (true, _) => AnsiColor::Red.on_default().bold(),
        (false, Some(_)) => BOLD,
        (false, None) => Style::new(),
    };
    let name = match (&line.entity, line.unresolved_reason) {
        (Some(entity), _) => format!("{} ({})", entity, line.end),
        (None, Some(reason)) => {
            let reason = serde_json::to_value(reason).ok();
            let reason = reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or_default();
            format!("unresolved: {}", reason.replace('_', " "))
        }
        (None, None) => line.end.clone(),
    };
    write!(text, "{style}{name}{style:#}")?;
    if let Some(category) = line.category.filter(|category| category.as_str() != line.end)
        && !matches!(line.end.as_str(), "mining" | "coinjoin" | "bridge")
    {
        write!(text, " through {category}")?;
    }
    if line.hops > 1 {
        write!(text, ", {} hops", line.hops)?;
    }
    if line.listed {
        write!(text, ", listed")?;
    }
    if !line.solicited {
        write!(text, ", unasked for")?;
    }
    let amount = line.amount.value.parse().unwrap_or_default();
    write!(text, "  {DIM}{}{DIM:#}", coins(chain, amount))?;
    if let Some(transaction) = line.transactions.first() {
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
