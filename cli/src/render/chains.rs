//! The verdicts about one account on several chains.

use assay_service::ChainVerdict;

use super::page::Page;

/// Draws the verdict on each chain: chains with equal results share a line.
pub(crate) fn chains(chains: &[ChainVerdict], width: usize) -> String {
    let mut page = Page::new(width);
    page.section("Chains");
    let mut groups: Vec<(&ChainVerdict, Vec<&str>)> = Vec::new();
    for chain in chains {
        let name = chain.blockchain.as_str();
        match groups.iter_mut().find(|(first, _)| is_alike(first, chain)) {
            Some((_, names)) => names.push(name),
            None => groups.push((chain, vec![name])),
        }
    }
    for (first, names) in groups {
        let not_assessed = match &*first.not_assessed {
            [] => String::new(),
            kinds => format!("; not assessed: {}", kinds.join(", ")),
        };
        let verdict = first.verdict.as_str();
        let score = first.risk_score;
        page.hanging(
            "  ",
            "    ",
            format!("{verdict}, {score}: {}{not_assessed}", names.join(", ")),
        );
    }
    page.finish()
}

fn is_alike(one: &ChainVerdict, other: &ChainVerdict) -> bool {
    one.verdict == other.verdict
        && one.risk_score == other.risk_score
        && one.complete == other.complete
        && one.not_assessed == other.not_assessed
}
