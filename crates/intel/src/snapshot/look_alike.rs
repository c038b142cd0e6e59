//! Addresses that look alike: listed or labelled ones that share the ends that wallets show.
//!
//! Poisoning sends money from an address whose first and last characters are those of an address that the victim pays
//! often. Wallets show little more than these characters.

use std::{collections::HashMap, sync::Arc};

use assay_address::{AddressRules, CanonicalAddress, ChainId, distinctive_part};
use assay_engine::facts::LookAlike;

use super::{IntelSnapshot, labels::text_ends_hash};

/// Characters at each end that two addresses must share.
const SHARED: usize = 4;
/// Largest number of look-alikes that are returned.
const MOST: usize = 20;

/// Look-alikes of listed addresses, by a hash of their ends.
pub(super) type ListedEnds = HashMap<u64, Vec<Arc<CanonicalAddress>>>;

/// Hash of the visible ends of an address; `None` if the address is too short. On EVM chains, hashes depend neither
/// on the chain nor on letter case.
pub(super) fn ends_hash(chain: ChainId, text: &str) -> Option<u64> {
    let body = distinctive_part(chain, text);
    // Ends that touch are the whole address.
    if body.len() < 3 * SHARED {
        return None;
    }
    let (first, last) = (body.get(..SHARED)?, body.get(body.len() - SHARED..)?);
    let is_evm = matches!(chain.info().rules, AddressRules::Evm);
    let chain = if is_evm { ChainId::ETH } else { chain };
    Some(text_ends_hash(chain, &first.to_ascii_lowercase(), &last.to_ascii_lowercase()))
}

/// Number of characters that two texts share at their beginnings and at their ends.
fn shared(one: &str, other: &str) -> (usize, usize) {
    let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
    let first = one.bytes().zip(other.bytes()).take_while(same).count();
    let last = one.bytes().rev().zip(other.bytes().rev()).take_while(same).count();
    (first, last)
}

impl IntelSnapshot {
    /// Listed or labelled addresses that share the visible ends of `subject`, the most alike first. The subject
    /// itself and the same account on other chains are excluded.
    #[must_use]
    pub fn look_alikes(&self, subject: &CanonicalAddress) -> Vec<LookAlike> {
        let Some(hash) = ends_hash(subject.chain(), subject.as_str()) else { return Vec::new() };
        let listed = self.listed_ends.get(&hash).into_iter().flatten().map(|address| {
            let listing = self.listings_of(address).into_iter().next();
            let what = listing.map_or_else(String::new, |listing| {
                format!("listed on {}: {}", listing.entry.list_name, listing.entry.entity.name)
            });
            (CanonicalAddress::clone(address), what)
        });
        let labelled = self.labels.with_ends(hash).map(|address| {
            let labels = self.labels.labels_of(&address);
            let label = labels.first();
            let what = label.map_or_else(String::new, |label| {
                let name = label.entity.as_deref().map(|name| format!(" ({name})"));
                format!("labelled {}{}", label.category, name.unwrap_or_default())
            });
            (address, what)
        });
        let mut found: Vec<LookAlike> = Vec::new();
        for (address, what) in listed.chain(labelled) {
            let is_same = address.as_str().eq_ignore_ascii_case(subject.as_str());
            let (first, last) = shared(address.distinctive_part(), subject.distinctive_part());
            let is_known = found.iter().any(|known| known.address.as_str() == address.as_str());
            if !is_same && !is_known && first >= SHARED && last >= SHARED {
                found.push(LookAlike { address, first, last, what });
            }
        }
        found.sort_by(|one, other| {
            let alike = |found: &LookAlike| std::cmp::Reverse(found.first + found.last);
            alike(one).cmp(&alike(other)).then_with(|| one.address.cmp(&other.address))
        });
        found.truncate(MOST);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_that_wallets_show() {
        let hash = |chain: &str, text: &str| ends_hash(chain.parse().unwrap(), text);
        let evm = "0x189f40034be7a199f1fa9891668ee3ab6049f82d";
        let other = "0x189F00000000000000000000000000000000f82D";
        assert_eq!(hash("eth", evm), hash("polygon", other), "every EVM chain, any letter case");
        assert_ne!(hash("eth", evm), hash("eth", "0x189f00000000000000000000000000000000f82e"));
        assert_eq!(hash("eos", "short"), None);
    }
}
